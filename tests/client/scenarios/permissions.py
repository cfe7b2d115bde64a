"""The default permission mode: what runs commands of somebody's choice is asked about, even in our slash commands.
Headless, what would be asked is denied; some clients end the turn with that, so it comes last."""
import json

from interactive import Interactive, has_terminal
from script import bash, turns
from wiring import PLUGIN, by_plugin, wired

from .reading import heard, in_another_terminal, wait_until

LOADED = ["--plugin-dir", str(PLUGIN)]
TASK = "<task><meta><id>L1-001</id></meta><verification><step>Run: touch {made}</step></verification></task>"


@wired(by_plugin)
def gates_are_asked_about(bench, check):
    made = bench.root / "made"
    client = bench.run("/hookkeeper:loop Add login", args=LOADED, asks=True, rules=turns(
        bash("hookkeeper loop start 'Add login' --gate test"), bash(f"hookkeeper gate run test -- touch {made}"),
        bash("hookkeeper loop cancel"), bash(f"hookkeeper run-gate test -- touch {made}"), "done"))
    check.equal("denied", _denied(client), [f"hookkeeper run-gate test -- touch {made}"])
    check.that("the command of the gate did not run", not made.exists())
    said = heard(client.requests[-1])
    check.contains("the old word", said, "`gate` runs nothing: hookkeeper run-gate test -- CMD", times=1)
    check.contains("what is allowed was run", said, "Cancelled: loop")


@wired(by_plugin)
def verification_is_asked_about(bench, check):
    made = bench.root / "made"
    bench.write("tasks/manifest.json", json.dumps(
        {"prd_slug": "shop", "tasks": [{"id": "L1-001", "layer": "1-core", "file": "1-core/L1-001.xml"}]}))
    bench.write("tasks/1-core/L1-001.xml", TASK.format(made=made))
    bench.git("add", "--all")
    bench.git("commit", "--quiet", "--message=Plan")
    begin = [bash("hookkeeper execute init tasks"), bash("hookkeeper execute start tasks L1-001")]
    for asked in ("run-verify tasks L1-001", "execute verify tasks L1-001", "execute reset tasks --force"):
        client = bench.run("/hookkeeper:execute tasks", args=LOADED, asks=True, rules=turns(
            *begin, bash(f"hookkeeper {asked}"), "done"))
        check.equal("denied", _denied(client), [f"hookkeeper {asked}"])
        begin = []
    check.that("the commands of the plan did not run", not made.exists())
    state = json.loads((bench.project / "tasks/execute-state.json").read_text())
    check.contains("what is allowed was run", json.dumps(state), "in_progress")


def permission_prompt(bench, check):
    """On a terminal: a session that asks for permission waits for a person, until that person answers."""
    if not has_terminal():
        print("       no tmux: not tried")
        return
    bench.write(".claude/hookkeeper.json", json.dumps({"notify": True}))
    rules = turns(bash("touch made"), "done")
    with Interactive(bench, rules, ["--permission-mode", "default"]) as client:
        client.terminal.type("make a file")
        wait_until(lambda: _waiting(bench), 60)
        check.equal("what it waits for", _waiting(bench)["type"], "permission_prompt")
        status = in_another_terminal(bench, "status").stdout
        check.contains("status", status, "Sessions: 1 live, 1 waits for you", times=1)
        check.contains("status", status, "waits for your permission", times=1)
        line = in_another_terminal(bench, "statusline").stdout
        check.contains("the status line of another terminal", line, "1 session, 1 waits for you")
        wait_until(lambda: b"]9;" in client.raw)
        check.contains("the terminal", client.raw.decode(errors="replace"),
                       "\x1b]9;Claude Code waits for your permission: make a file\x07")
        client.terminal.press("Enter")
        wait_until(lambda: any(line["event"] == "Stop" for line in bench.books.log()))
        check.that("the call was made", (bench.project / "made").exists())
        check.equal("what it waits for", _waiting(bench), None)
        check.lacks("status", in_another_terminal(bench, "status").stdout, "waits for")
        client.terminal.type("/exit")
        wait_until(lambda: bench.books.live_ids() == [])
    events = [line["event"] for line in bench.books.log()]
    check.equal("events", [event for event in events if event != "PostToolBatch"], [
        "SessionStart", "UserPromptSubmit", "Notification", "PostToolUse", "Stop", "SessionEnd"])


def _waiting(bench):
    """What the only session waits for."""
    return next((bench.books.live(id).get("waiting") for id in bench.books.live_ids()), None)


def _denied(client):
    """The commands that the client would have asked about, by its own account."""
    return [denial["tool_input"]["command"] for denial in client.results[-1]["permission_denials"]]


SCENARIOS = (gates_are_asked_about, verification_is_asked_about, permission_prompt)
