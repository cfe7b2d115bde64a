"""What `install` wires: a file of one's own, and the file that a team shares."""
import json
import os

from audit import hook_runs
from drive import VERSION
from script import agent, bash, turns
from wiring import by_shared_file, path_without, wired

from .compaction import KEPT, SUMMARY
from .reading import (all_heard, check_closed, events_of, heard, in_another_terminal, launched, only_entry,
                      user_was_told)

HINT = "HookKeeper: this project uses it, but the program hookkeeper is not on the PATH here"
AUDIT = {"AUDIT-AUTH": "- **[S1]** No rate limit (src/login.ts:3)"}


def local_scope(bench, check):
    """The default: nobody else reads the file, git does not see it, and the PATH does not matter."""
    check.that("no shared file", not (bench.project / ".claude/settings.json").exists())
    check.equal("git status", bench.git("status", "--porcelain", "--untracked-files=all"), "")
    check.equal("files in git", bench.git("ls-files").split(), ["README.md"])
    client = bench.run("hello", env={"PATH": path_without("hookkeeper")}, rules=turns("Hello."))
    check.equal("events", events_of(bench.books.log(), client.session_id),
                ["SessionStart", "UserPromptSubmit", "Stop", "SessionEnd"])
    check_closed(check, bench.books)


@wired(by_shared_file)
def project_scope(bench, check):
    """Everything reaches the program through the guard, and what it says reaches the model."""
    client = bench.run("GO audit", "/compact", "go on", rules=[SUMMARY, *turns(
        [agent("audit auth", "AUDIT-AUTH"), bash("true"), bash("echo two")], bash("cat nothing.txt"), "done", "gone on",
        agents=AUDIT)])
    check.holds("metrics", only_entry(check, bench.books, client.session_id), {
        "agents": {"spawned": 1, "completed": 1, "failed": 0}, "compactions": 1, "errors": {"total": 1}})
    check.equal("results", sorted(bench.books.results(client.session_id)), sorted(launched(client)))
    check.contains("what the model heard after the compaction", heard(client.requests[-1]), KEPT, times=1)
    check.lacks("what the user was told", user_was_told(bench), HINT)
    check_closed(check, bench.books)


@wired(by_shared_file)
def teammate_without_program(bench, check):
    """One hint for each start, no error at any event, and nothing else changes."""
    bench.books_kept = False
    before = bench.books.names(".")
    nowhere = {"PATH": path_without("hookkeeper")}
    bench.write("long.txt", "a line of a large file\n" * 20_000)
    first = bench.run("GO audit " + "x" * 300_000, "/compact", "go on", env=nowhere, rules=[SUMMARY, *turns(
        [agent("audit auth", "AUDIT-AUTH"), bash("echo made > made.txt"), bash("cat long.txt")],
        bash("cat nothing.txt"), "done", "gone on", agents=AUDIT)])
    check.equal("hints after the first run", user_was_told(bench).count(HINT), 1)
    check.equal("made.txt", (bench.project / "made.txt").read_text(), "made\n")
    second = bench.run("and again", args=["--continue"], env=nowhere, rules=turns("done"))
    check.equal("hints after the second run", user_was_told(bench).count(HINT), 2)
    for client in (first, second):
        check.equal("hooks that said something", len([hook for hook in hook_runs(client) if hook["stdout"]]), 1)
        check.lacks("what the model heard", all_heard(client), "HookKeeper")
    check.equal("the state, as install left it", bench.books.names("."), before)


def install_finds_this_client(bench, check):
    """`install` and `doctor` ask the client for its version, and are content with it."""
    (bench.root / "client").mkdir()
    (bench.root / "client/claude").symlink_to(bench.exe)
    path = os.pathsep.join([str(bench.root / "client"), bench.path()])
    said = in_another_terminal(bench, "install", PATH=path)
    check.equal("install", (said.returncode, said.stderr), (0, ""))
    check.lacks("install", said.stdout, "Note: ")
    report = in_another_terminal(bench, "doctor", "--json", PATH=path)
    line = next(entry for entry in json.loads(report.stdout)["checks"] if entry["id"] == "HK021")
    older = [int(number) for number in VERSION.split(".")] < [2, 1, 145]
    check.equal("doctor on the client", line["level"], "warning" if older else "ok")
    check.contains("doctor on the client", line["message"], f"Claude Code {VERSION} ", times=1)
    bench.run("hello", rules=turns("Hello."))


NOTE = "HookKeeper's slash commands are here for the user"
FOLDER = ".claude/commands/hookkeeper"


def slash_commands(bench, check):
    """`install --commands`: the model is told once, the commands work by their names, `uninstall` leaves nothing."""
    said = in_another_terminal(bench, "install", "--commands")
    check.equal("install", (said.returncode, said.stderr), (0, ""))
    check.equal("files", sorted(path.stem for path in (bench.project / FOLDER).iterdir()), sorted(NAMES))
    check.equal("git status", bench.git("status", "--porcelain", "--untracked-files=all"), "")
    first = bench.run("hello", rules=turns("Hello."))
    check.contains("what the model heard at first", all_heard(first), NOTE, times=1)
    listed = next(event for event in first.events if event.get("subtype") == "init")
    names = [name for name in listed["slash_commands"] if name.startswith("hookkeeper:")]
    check.equal("the client's list", sorted(names), sorted(f"hookkeeper:{name}" for name in NAMES))
    second = bench.run("/hookkeeper:status", rules=turns("Nothing is open."))
    check.lacks("what the model heard then", all_heard(second), NOTE)
    check.contains("what the command gave the model", str(second.requests[0]), "`hookkeeper status` says:", times=1)
    check.lacks("what the command gave the model", str(second.requests[0]), "hookkeeper-digest")
    check.equal("commands", bench.books.entry(second.session_id).get("commands"), {"hookkeeper:status": 1})
    check_closed(check, bench.books)
    bench.books_kept = False
    said = in_another_terminal(bench, "uninstall", "--purge")
    check.equal("uninstall", (said.returncode, said.stderr), (0, ""))
    check.that("nothing is left", not (bench.project / ".claude").exists())


NAMES = ("loop", "branch-loop", "autonomous", "iterative", "execute", "handoff", "status")

SCENARIOS = (local_scope, project_scope, teammate_without_program, install_finds_this_client, slash_commands)
