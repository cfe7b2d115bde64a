"""What the client does with a settings file in which one hook entry is wrong: the table in docs/doctor.md.

A hook of another event and a permission rule show whether the file is applied, a second entry of the same event
whether only the wrong one is dropped."""
import json
import subprocess

from script import bash, turns

from .reading import heard

GOOD = {"type": "command", "command": "true"}
FAULTS = {
    "`matcher` is no string": [{"matcher": 7, "hooks": [GOOD]}],
    "`type` is unknown": [{"hooks": [{"type": "shell", "command": "true"}]}],
    "`command` is missing": [{"hooks": [{"type": "command"}]}],
    "`command` is a list": [{"hooks": [{"type": "command", "command": ["true"]}]}],
    "`timeout` is a string": [{"hooks": [{"type": "command", "command": "true", "timeout": "10"}]}],
    "a group without `hooks`": [{"matcher": "Bash"}],
    "`hooks` of a group is an object": [{"hooks": GOOD}],
    "an entry is no object": [7],
    "an object instead of the list": {"hooks": [GOOD]},
}
EVENTS = ("PreToolUse", "PermissionRequest", "PostToolUse", "Stop")
WHOLE_FILE, ENTRY, EVENT = "the whole file", "the entry", "all of the event"


def settings_faults(bench, check):
    for fault, wrong in FAULTS.items():
        for event in EVENTS:
            does = _effect(bench, event, wrong)
            guards = event in ("PreToolUse", "PermissionRequest")
            expected = WHOLE_FILE if guards else EVENT if isinstance(wrong, dict) else ENTRY
            check.equal(f"{fault} under {event}", does, expected)
            level = "error" if guards else "warning"
            check.equal(f"doctor: {fault} under {event}", _doctor(bench), [level])
    (bench.project / ".claude/settings.json").unlink()
    bench.books_kept = False  # Hooks ran that are not ours.


def _effect(bench, event, wrong):
    """What the client ignores."""
    for mark in ("other", "same"):
        (bench.root / mark).unlink(missing_ok=True)
    same = [{"hooks": [{"type": "command", "command": "touch ../same"}]}]
    hooks = {event: same + wrong if isinstance(wrong, list) else wrong,
             "UserPromptSubmit": [{"hooks": [{"type": "command", "command": "touch ../other"}]}]}
    bench.write(".claude/settings.json", json.dumps({"permissions": {"deny": ["Bash(rm:*)"]}, "hooks": hooks}))
    client = bench.run("go", rules=turns(bash("rm x"), bash("ls"), "done"))
    is_denied = "has been denied" in heard(client.requests[-1])
    if not is_denied:
        return WHOLE_FILE if not (bench.root / "other").exists() else "the rules only"
    ran = (bench.root / "same").exists()
    return ENTRY if ran else EVENT


def _doctor(bench):
    """The levels of what HK005 reports."""
    done = subprocess.run(["hookkeeper", "doctor", "--json"], cwd=bench.project, capture_output=True, text=True,
                          env={"PATH": bench.path(), "HOME": str(bench.home)})
    findings = json.loads(done.stdout)["checks"]
    return [finding["level"] for finding in findings if finding["id"] == "HK005" and finding["level"] != "ok"]


SCENARIOS = (settings_faults,)
