"""The default permission mode: what runs commands of somebody's choice is asked about, even in our slash commands.
Headless, what would be asked is denied; some clients end the turn with that, so it comes last."""
import json

from script import bash, turns
from wiring import REPOSITORY, by_plugin, wired

from .reading import heard

PLUGIN = ["--plugin-dir", str(REPOSITORY)]
TASK = "<task><meta><id>L1-001</id></meta><verification><step>Run: touch {made}</step></verification></task>"


@wired(by_plugin)
def gates_are_asked_about(bench, check):
    made = bench.root / "made"
    client = bench.run("/hookkeeper:loop Add login", args=PLUGIN, asks=True, rules=turns(
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
        client = bench.run("/hookkeeper:execute tasks", args=PLUGIN, asks=True, rules=turns(
            *begin, bash(f"hookkeeper {asked}"), "done"))
        check.equal("denied", _denied(client), [f"hookkeeper {asked}"])
        begin = []
    check.that("the commands of the plan did not run", not made.exists())
    state = json.loads((bench.project / "tasks/execute-state.json").read_text())
    check.contains("what is allowed was run", json.dumps(state), "in_progress")


def _denied(client):
    """The commands that the client would have asked about, by its own account."""
    return [denial["tool_input"]["command"] for denial in client.results[-1]["permission_denials"]]


SCENARIOS = (gates_are_asked_about, verification_is_asked_about)
