"""The plugin: the project itself has no settings, and the client gets our hooks from the plugin's directory."""
import json
import os
import shutil
import subprocess
import sys
import urllib.parse
from collections import Counter
from contextlib import contextmanager
from pathlib import Path

from audit import hook_runs
from script import agent, bash, turns
from wiring import PLUGIN, REPOSITORY, by_plugin, path_without, wired

from .compaction import KEPT, SUMMARY
from .reading import all_heard, check_closed, events_of, heard, launched, only_entry, user_was_told

sys.path.append(str(REPOSITORY / "tests/npm"))
from registry import Registry  # noqa: E402

HINT = "the program hookkeeper is not installed"
ADVICE = "HookKeeper: network error, attempt 1 of 3"


@wired(by_plugin)
def plugin(bench, check):
    """An agent, a failure, a compaction and a resume, with the plugin's directory as it is."""
    first = bench.run("GO audit", "/compact", "go on", args=_loading(PLUGIN), rules=[SUMMARY, *turns(
        agent("audit auth", "AUDIT-AUTH"), bash("curl -sS http://127.0.0.1:9/items"), "done", "gone on",
        agents={"AUDIT-AUTH": "- **[S1]** No rate limit (src/login.ts:3)"})])
    second = bench.run("and again", args=[*_loading(PLUGIN), "--continue"], rules=turns("done"))
    check.equal("the session's id", second.session_id, first.session_id)
    check.holds("metrics", only_entry(check, bench.books, first.session_id), {
        "agents": {"spawned": 1, "completed": 1, "failed": 0}, "compactions": 1,
        "errors": {"total": 1, "recovered": 0, "escalated": 0}})
    results = bench.books.results(first.session_id)
    check.equal("results", sorted(results), sorted(launched(first)))
    check.equal("tasks", [result["task"] for result in results.values()], ["audit auth"])
    said = [heard(request) for request in first.requests]
    check.that("the model heard of the failure once", max(words.count(ADVICE) for words in said) == 1)
    check.contains("what the model heard after the compaction", said[-1], KEPT, times=1)
    _check_counts(check, bench, first, second)
    check_closed(check, bench.books)


def _check_counts(check, bench, first, second):
    """Each event ran one hook, by the client's account and by our log. The log has three events more,
    and none of a batch in which nothing was refused."""
    reported = [Counter(hook["hook_event"] for hook in hook_runs(client)) for client in (first, second)]
    check.equal("hooks of the first run", reported[0], {
        "SessionStart": 2, "UserPromptSubmit": 2, "PreToolUse": 1, "SubagentStart": 1, "SubagentStop": 2,
        "PostToolUse": 1, "PostToolBatch": 2, "PostToolUseFailure": 1, "Stop": 2})
    check.equal("hooks of the second run", reported[1], {"SessionStart": 1, "UserPromptSubmit": 1, "Stop": 1})
    logged = Counter(events_of(bench.books.log(), first.session_id))
    check.equal("events in our log", logged, reported[0] + reported[1] + Counter(
        {"PreCompact": 1, "PostCompact": 1, "SessionEnd": 2}) - Counter({"PostToolBatch": 2}))


@wired(by_plugin)
def plugin_at_a_path_with_spaces(bench, check):
    """The program is not on the PATH, but where `cargo install` puts it."""
    _link(bench, bench.home / ".cargo/bin")
    client = bench.run("fail", args=_loading(_copied(bench) / "hooks"), env={"PATH": path_without("hookkeeper")},
                       rules=turns(bash("curl -sS http://127.0.0.1:9/items"), "done"))
    check.contains("what the model heard", heard(client.requests[-1]), ADVICE, times=1)
    check.equal("errors in metrics", only_entry(check, bench.books, client.session_id).get("errors"),
                {"total": 1, "recovered": 0, "escalated": 0})
    check_closed(check, bench.books)


@wired(by_plugin)
def plugin_installed(bench, check):
    """From a marketplace, as a user does it. The program is in the plugin's own data directory."""
    folder = _copied(bench)
    _claude(bench, check, "plugin", "marketplace", "add", str(folder))
    _claude(bench, check, "plugin", "install", "hookkeeper@hookkeeper")
    _link(bench, bench.home / ".claude/plugins/data/hookkeeper-hookkeeper/bin")
    check.equal("what the client copied", _files(_installed(bench)), _files(PLUGIN))
    client = bench.run("hello", env={"PATH": path_without("hookkeeper")}, rules=turns("Hello."))
    check.equal("events", events_of(bench.books.log(), client.session_id),
                ["SessionStart", "UserPromptSubmit", "Stop", "SessionEnd"])
    check_closed(check, bench.books)


@wired(by_plugin)
def plugin_brings_its_program(bench, check):
    """From a marketplace that is a git repository: the client runs npm, and there is no other program."""
    with registry_of(bench) as registry:
        folder = _installed_from_git(bench, check, registry)
        check.equal("archives that npm fetched", [path.partition("/archives/")[2] for path in registry.asked
                                                  if path.endswith(".tgz")], [_archive()])
    programs = sorted(folder.glob("node_modules/@hookkeeper/*/bin/hookkeeper"))
    check.equal("programs in the plugin", [path.parent.parent.name for path in programs], [_platform()])
    client = bench.run("GO audit", "/hookkeeper:status", env={"PATH": path_without("hookkeeper")}, rules=turns(
        bash("command -v hookkeeper; hookkeeper --version"), "done", "It says so."))
    last = heard(client.requests[-1])
    check.contains("what the shell found", last, f"{folder}/bin/hookkeeper\n{_version()}", times=1)
    check.contains("what the model heard", last, "`hookkeeper status` says:", times=1)
    check.contains("what the model heard", last, client.session_id[:8])
    check.equal("hints", user_was_told(bench).count(HINT), 0)
    check.equal("commands", only_entry(check, bench.books, client.session_id).get("commands"), {"hookkeeper:status": 1})
    check_closed(check, bench.books)


@wired(by_plugin)
def plugin_whose_program_is_nowhere(bench, check):
    """The registry does not have it: npm is content, the plugin is installed, and the user hears what is missing."""
    bench.books_kept = False
    with registry_of(bench) as registry:
        registry.missing = {f"@hookkeeper/{_platform()}"}
        _installed_from_git(bench, check, registry)
    bench.run("GO", env={"PATH": path_without("hookkeeper")}, rules=turns(bash("echo made > made.txt"), "done"))
    check.equal("hints", user_was_told(bench).count(HINT), 1)
    check.equal("made.txt", (bench.project / "made.txt").read_text(), "made\n")
    check.that("no .claude in the project", not (bench.project / ".claude").exists())


@wired(by_plugin)
def plugin_newer_than_the_program(bench, check):
    """The user hears of it once, and what the program knows is recorded."""
    folder = _copied(bench) / "hooks"
    script = folder / "hookkeeper.sh"
    script.write_text(script.read_text().replace(f"version={_version().split()[1]}\n", "version=99.0.0\n"))
    client = bench.run("GO", args=_loading(folder), rules=turns(bash("echo made > made.txt"), "done"))
    check.equal("what the user heard", user_was_told(bench).count("the plugin is 99.0.0"), 1)
    check.lacks("what the model heard", all_heard(client), "99.0.0")
    check.equal("events", events_of(bench.books.log(), client.session_id),
                ["SessionStart", "UserPromptSubmit", "PostToolUse", "Stop", "SessionEnd"])
    check_closed(check, bench.books)


@wired(by_plugin)
def plugin_without_program(bench, check):
    """One hint per start, and nothing else changes."""
    bench.books_kept = False
    folder = _copied(bench) / "hooks"
    nowhere = {"PATH": path_without("hookkeeper")}
    first = bench.run("GO audit", "/compact", "go on", args=_loading(folder), env=nowhere, rules=[SUMMARY, *turns(
        agent("audit auth", "AUDIT-AUTH"), bash("echo made > made.txt"), bash("curl -sS http://127.0.0.1:9/items"), "done", "gone on",
        agents={"AUDIT-AUTH": "- **[S1]** No rate limit (src/login.ts:3)"})])
    check.equal("hints after the first run", user_was_told(bench).count(HINT), 1)
    check.contains("the hint", user_was_told(bench), "cargo install --locked --git https://", times=1)
    check.contains("the hint", user_was_told(bench), "npm install --global hookkeeper", times=1)
    check.equal("made.txt", (bench.project / "made.txt").read_text(), "made\n")
    second = bench.run("and again", args=[*_loading(folder), "--continue"], env=nowhere, rules=turns("done"))
    check.equal("hints after the second run", user_was_told(bench).count(HINT), 2)
    for client in (first, second):
        said = [hook["hook_name"] for hook in hook_runs(client) if hook["stdout"]]
        check.equal("hooks that said something", len(said), 1)
        check.lacks("what the model heard", all_heard(client), HINT)
    check.that("no .claude in the project", not (bench.project / ".claude").exists())


@wired(by_plugin)
def plugin_command(bench, check):
    """/hookkeeper:status in the second turn, when the books have something to say."""
    client = bench.run("GO audit", "/hookkeeper:status", args=_loading(PLUGIN), rules=turns(
        bash("curl -sS http://127.0.0.1:9/items"), "done", "It says so."))
    last = heard(client.requests[-1])
    check.contains("what the model heard", last, "`hookkeeper status` says:", times=1)
    check.contains("what the model heard", last, client.session_id[:8])
    entry = only_entry(check, bench.books, client.session_id)
    check.equal("commands", entry.get("commands"), {"hookkeeper:status": 1})
    check_closed(check, bench.books)


@wired(by_plugin)
def plugin_validates(bench, check):
    """The client's own validator has nothing to complain of. It looks at a limited number of files: what builds leave
    is not part of the plugin."""
    folder = bench.root / "repository"
    shutil.copytree(REPOSITORY, folder, ignore=shutil.ignore_patterns("target", ".git", "node_modules"))
    # README and licence are the repository's, whose top is known by this.
    subprocess.run(["git", "init", "--quiet", folder], check=True)
    plugin = str(folder / "hooks")
    for what in ([str(folder)], [plugin], [plugin, "--profile", "directory"]):
        said = _claude(bench, check, "plugin", "validate", *what, "--strict", "--json")
        report = json.loads(said)
        found = [*report["contents"], report["manifest"]]
        check.equal("errors", [entry["errors"] for entry in found if entry["errors"]], [])
        check.equal("warnings", [entry["warnings"] for entry in found if entry["warnings"]], [])
        # The directory takes plugins, not marketplaces.
        if what[0] == plugin:
            check.holds("the directory's checks", report["directory"], {
                "findings": [], "undecided": [], "incomplete": False, "failure": None})


def _loading(folder):
    return ["--plugin-dir", str(folder)]


def _copied(bench):
    """The marketplace and its plugin, at a path of their own."""
    folder = bench.root / "a plugin folder"
    shutil.copytree(REPOSITORY / ".claude-plugin", folder / ".claude-plugin")
    shutil.copytree(PLUGIN, folder / "hooks", ignore=shutil.ignore_patterns("node_modules"))
    return folder


def _link(bench, folder):
    folder.mkdir(parents=True)
    (folder / "hookkeeper").symlink_to(bench.command)


@contextmanager
def registry_of(bench):
    """A registry on loopback with the program that is tested."""
    packed = bench.root / "packed"
    subprocess.run([str(REPOSITORY / "release/npm"), "pack", "--out", str(packed),
                    "--program", f"{_platform()}={bench.command}"], check=True, stdout=subprocess.DEVNULL)
    registry = Registry(packed)
    try:
        yield registry
    finally:
        registry.close()


def _installed_from_git(bench, check, registry):
    """As a user does it; returns the plugin's folder. Git finds the repository on this machine."""
    origin, address = _copied(bench), "https://git.invalid/hookkeeper.git"
    for command in (["init", "--quiet", "--initial-branch=main"], ["add", "--all"], ["commit", "--quiet", "--message=Start"]):
        author = ["-c", "user.name=Test", "-c", "user.email=test@example.com"]
        subprocess.run(["git", *author, *command], cwd=origin, check=True)
    bench.home.mkdir(exist_ok=True)
    where = f"file://{urllib.parse.quote(str(origin))}"
    (bench.home / ".gitconfig").write_text(f'[url "{where}"]\n\tinsteadOf = {address}\n')
    for arguments in (("marketplace", "add", address), ("install", "hookkeeper@hookkeeper")):
        _claude(bench, check, "plugin", *arguments, env=registry.environment(bench.root / "cache"))
    return _installed(bench)


def _installed(bench):
    """The plugin's folder in the client's own."""
    installed = json.loads((bench.home / ".claude/plugins/installed_plugins.json").read_text())
    return Path(installed["plugins"]["hookkeeper@hookkeeper"][0]["installPath"])


def _files(folder):
    """All that is in a plugin's folder, but for what npm brings and the client's own marks."""
    names = (path.relative_to(folder) for path in folder.rglob("*") if path.is_file())
    return sorted(str(name) for name in names if name.parts[0] not in ("node_modules", ".in_use"))


def _platform():
    return {"x86_64": "linux-x64", "aarch64": "linux-arm64"}[os.uname().machine]


def _archive():
    return f"hookkeeper-{_platform()}-{_version().split()[1]}.tgz"


def _version():
    return "hookkeeper " + json.loads((PLUGIN / "package.json").read_text())["version"]


# Nobody is there, and npm does not ask again: the client would wait a minute for it.
NO_REGISTRY = {"npm_config_registry": "http://127.0.0.1:9/", "npm_config_fetch_retries": "0"}


def _claude(bench, check, *arguments, env=NO_REGISTRY):
    """One of the client's own commands; returns what it printed."""
    bench.home.mkdir(exist_ok=True)
    done = subprocess.run([bench.exe, *arguments], cwd=bench.project, stdin=subprocess.DEVNULL, timeout=60,
                          capture_output=True, text=True,
                          env={"PATH": os.environ["PATH"], "HOME": str(bench.home), **env})
    check.equal(f"claude {' '.join(arguments)}", (done.returncode, done.stderr), (0, ""))
    return done.stdout


SCENARIOS = (plugin, plugin_at_a_path_with_spaces, plugin_installed, plugin_brings_its_program,
             plugin_whose_program_is_nowhere, plugin_newer_than_the_program, plugin_without_program, plugin_command,
             plugin_validates)
