"""Ids that try to leave their folder or to share a file."""

import hashlib
import unicodedata

from support import EVENTS, OTHER_SESSION, SESSION, event, test

HOSTILE = (
    ". .. ... / \\ // ../.. ../../../../etc/passwd /etc/passwd ~ ~/x $HOME * ? | ; -rf - _ % %2e%2e%2f a/b a\\b a. .a "
    "CON con Con con.json PRN aux nul COM1 com1 lpt9 synthesis current metrics active classified Synthesis .lock .new "
    ".gitignore spool x- x-0 X-0 session.json live/../x 🦀 👩‍👩‍👧 ｆｕｌｌ ﬁ ß ẞ SS ı İ é É Å Å ñ à"
).split()
ODD = ["\0", "a\0b", "\n", " \n ", "a\nb", " ", " a", "a ", "\t", "\x7f", "\u202e", "\u200b", "a\u200b", "\ufeff", "\ufffd"]


def hostile_ids(count):
    """Distinct ids: the list above, pairs that only case or normal form tells apart, digests."""
    ids = dict.fromkeys(HOSTILE + ODD + ["a" * 64, "a" * 65, "x" * 4096, "é/" * 2048, "../" * 1300])
    n = 0
    while len(ids) < count:
        n += 1
        plain = f"Agent-{n}-é"
        variants = [
            unicodedata.normalize("NFC", plain), unicodedata.normalize("NFD", plain), plain.upper(), plain.lower(),
            f"../{n}", f"{n}/..", f"/{n}", f"{n}\0", f"con{n}", f"COM{n}", f"🦀{n}", f"{'y' * 4090}{n}",
            hashlib.sha256(str(n).encode()).hexdigest(), f"x-{hashlib.sha256(plain.encode()).hexdigest()[:40]}",
            f"x-{hashlib.sha256(f'../{n}'.encode()).hexdigest()[:40]}",
        ]
        ids.update(dict.fromkeys(variants))
    # An id of blanks alone is no id: such a payload is refused.
    return [name for name in list(ids)[:count] if name.strip()]


@test
def hostile_session_ids(suite, checks):
    ids = hostile_ids(suite.pick(1000, 10_000))
    check(suite, checks, ids, "session/live", lambda name: event("PreToolUse", session_id=name))


@test
def hostile_agent_ids(suite, checks):
    ids = hostile_ids(suite.pick(1000, 10_000))
    check(suite, checks, ids, "agents/results", lambda name: event("SubagentStop", agent_id=name), {"synthesis.json"})


@test
def hostile_ids_in_every_event(suite, checks):
    """A whole session with such ids: archives, backups and quarantine get no wrong names either."""
    project = suite.project()
    project.play([event("SessionStart"), event("SessionEnd")])
    around = surroundings(project)
    for name in hostile_ids(len(HOSTILE)):
        for kind in sorted(EVENTS, key="SessionEnd".__eq__):
            more = {"agent_id": name} if "agent_id" in event(kind) else {}
            run = project.run(event(kind, session_id=name, **more))
            checks.ran(run, f"{kind} of {name[:40]!r}", codes=(0,))
    checks.that(surroundings(project) == around, f"outside: {surroundings(project)}, before {around}")
    checks.that(not list((project.state / "session/live").iterdir()), "a live record is left")


@test
def blank_ids_are_refused(suite, checks):
    project = suite.project()
    for name in ["", " ", "\t\n", None, 7, [], {"a": 1}]:
        run = project.run(event("SubagentStart", agent_id="a") | {"session_id": name})
        checks.ran(run, f"session_id {name!r}", codes=(1,))
        run = project.run(event("SubagentStart") | {"agent_id": name})
        checks.ran(run, f"agent_id {name!r}", codes=(1,))
    checks.that(not (project.state / "session").exists(), "something was recorded")


def check(suite, checks, ids, room, payload, ours=frozenset()):
    project = suite.project()
    project.play([event("SessionStart"), event("SessionStart", session_id=OTHER_SESSION)])
    around = surroundings(project)
    for name in ids:
        checks.ran(project.run(payload(name)), f"{name[:60]!r}", codes=(0,))
    checks.that(surroundings(project) == around, f"outside: {surroundings(project)}, before {around}")
    files = {path.name for path in (project.state / room).iterdir()} - ours
    files -= {f"{SESSION}.json", f"{OTHER_SESSION}.json"}
    checks.that(len(files) == len(ids), f"{len(ids)} ids, {len(files)} files in {room}")
    folded = {name.lower() for name in files}
    checks.that(len(folded) == len(files), "two files differ only in case")
    odd = [name for name in files if not name.isascii() or len(name) > 100]
    checks.that(not odd, f"names that are not portable: {odd[:5]}")


def surroundings(project):
    """Everything in the scratch directory outside of `.claude/state`. Without git there is one branch, whatever the
    ids are: its folder is no news."""
    branches = project.claude / "branches"
    known = {branches, branches / ".gitignore", branches / "unknown", branches / "unknown/agents.json",
             branches / "unknown/state.json"}
    paths = (path for path in project.base.rglob("*") if project.state not in path.parents and path not in known)
    return sorted(str(path.relative_to(project.base)) for path in paths)
