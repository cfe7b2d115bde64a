"""The autonomous loop: phases with receipts, a person's approval, and a promise that counts only at the end."""
import json

from script import bash, turns

from .loops import _check_count, _feedback, _told
from .reading import check_closed, heard, in_another_terminal, only_entry

START = "hookkeeper autonomous start 'Add login' --skip-brainstorm"
PROMISE = "<promise>SHIPPED</promise>"
# At the first block, and at the first after a person's prompt.
EXIT = "To end it: type \"stop the loop\", or run `hookkeeper autonomous cancel`"


def autonomous_ships(bench, check):
    """All phases. The acceptance tests wait for a person, who types `approve`; the model cannot do it for them."""
    first = bench.run("GO", "Approve? No, test 3 is wrong", "approve", rules=turns(
        bash(START), f"Planning.\n{PROMISE}",
        bash(f"{_write('docs/plan.md')} && {_advance('--artifact docs/plan.md')}"),
        bash(f"{_write('tests/auth.rb')} && {_advance('--artifact tests/auth.rb')}"),
        bash("hookkeeper autonomous approve; echo exit $?; env -u CLAUDECODE hookkeeper autonomous approve; echo exit $?"),
        "Please look at the tests.", "Which one?",
        bash(f"{_write('docs/plan.md', 'deeper')} && {_advance('--artifact docs/plan.md')}"),
        bash(f"{_write('src/auth.rb')} && {_advance(failed='Sessions in the address')}"),
        "Implemented.",
        bash(f"{_advance('--findings 1')} && {_write('src/auth.rb', 'better')} && {_advance()} && {_advance('--findings 0')}"),
        bash(f"{_write('docs/solutions.md')} && {_advance('--artifact docs/solutions.md')} && "
             f"{_write('docs/tests.md')} && {_advance('--findings 0')}"),
        f"Merged.\n{PROMISE}", bash(_advance("--pr-url https://example.com/pull/7")), f"Merged.\n{PROMISE}"))
    _check_count(check, first, 15)
    reasons = _feedback(first)
    check.equal("blocks", [reason.partition("\n")[0] for reason in reasons], [
        "The promise came too early. It counts in phase ship; this is plan. Not proven yet: plan: it has no receipt; "
        "spec_test: it has no receipt; deepen: it has no receipt; work: it has no receipt; review: it has no receipt; "
        "compound: it has no receipt; test: it has no receipt; ship: it has no receipt; "
        "spec_test: nobody has approved the acceptance tests. "
        "A receipt for an earlier phase: "
        "`hookkeeper autonomous advance --phase NAME …`.",
        'The autonomous loop "Add login", phase review, iteration 2 of 50 goes on.',
        "The promise came too early. Not proven yet: ship: it has no receipt. A receipt for an earlier phase: "
        "`hookkeeper autonomous advance --phase NAME …`."])
    for part in ("Read first: .claude/autonomous-loop.json (the state), docs/plan.md (plan), tests/auth.rb (acceptance tests).",
                 "Last checkpoint (work): Did it", "- Sessions in the address", "Phase review (iteration 1 of 10 in it)",
                 "`hookkeeper autonomous advance --summary '…' --findings N`"):
        check.contains("what re-anchors the model", reasons[1], part, times=1)
    check.contains("what ship asks for", reasons[-1], "`hookkeeper autonomous advance --summary '…' --pr-url URL`", times=1)
    refusals = heard(first.requests[5])
    check.contains("what the model heard when it approved by itself", refusals, "a person has to approve", times=2)
    check.contains("what the model heard when it approved by itself", refusals, "exit 1", times=2)
    check.lacks("what the model heard with the question", heard(first.requests[6]), "A person approved")
    approved = heard(first.requests[7])
    check.contains("what the model heard with the approval", approved, "A person approved the acceptance tests.", times=1)
    told = _told(first)
    check.equal("what the user was told", told, [
        f'HookKeeper: autonomous loop "Add login", phase plan, iteration 1 of 50. {EXIT}',
        'HookKeeper: the autonomous loop "Add login" waits for you to approve the acceptance tests in tests/auth.rb. '
        'Type "approve" and nothing else, or run `hookkeeper autonomous approve` in a terminal of your own.',
        'HookKeeper: the autonomous loop "Add login" waits for you to approve the acceptance tests in tests/auth.rb. '
        'Type "approve" and nothing else, or run `hookkeeper autonomous approve` in a terminal of your own.',
        f'HookKeeper: autonomous loop "Add login", phase review, iteration 2 of 50. {EXIT}',
        'HookKeeper: autonomous loop "Add login", phase ship, iteration 3 of 50',
        'HookKeeper: the autonomous loop "Add login", phase ship, iteration 3 of 50 is complete: the promise SHIPPED was made.'])
    state = _state(bench)
    check.holds("the state", state, {"version": 2, "phase": "ship", "verdict": "complete", "fix_review_cycles": 1,
                                     "global_iteration": 3, "session_id": first.session_id})
    check.equal("its phases", state["phases_completed"], ["plan", "spec_test", "deepen", "work", "review", "fix",
                                                           "re_review", "compound", "test", "ship"])
    known = [bench.git("cat-file", "-t", receipt["git_sha"]).strip() for receipt in state["receipts"]]
    check.equal("commits of its receipts", known, ["commit"] * 10)
    check.equal("the pull request", state["artifacts"]["pr_url"], "https://example.com/pull/7")
    check.equal("what git sees of it", bench.git("status", "--porcelain", ".claude/autonomous-loop.json"), "")
    check.equal("metrics", only_entry(check, bench.books, first.session_id).get("loop"), "complete")
    check_closed(check, bench.books)


def autonomous_approved_elsewhere(bench, check):
    """Approved in another terminal, compacted on the way, cancelled in the end."""
    first = bench.run("GO", rules=turns(
        bash(f"{START} && {_write('docs/plan.md')} && {_advance('--artifact docs/plan.md')} && "
             f"{_write('tests/auth.rb')} && {_advance('--artifact tests/auth.rb')}"), "Please look."))
    _check_count(check, first, 2)
    check.holds("the state", _state(bench), {"phase": "spec_test", "awaiting_approval": True})
    said = in_another_terminal(bench, "autonomous", "approve")
    check.contains("what the terminal said", said.stdout + said.stderr, "Approved.", times=1)
    second = bench.run("go on", rules=turns("What now?", bash("hookkeeper autonomous cancel"), "Stopped."),
                       args=["--continue"])
    _check_count(check, second, 3)
    check.contains("what the model heard after the resume", heard(second.requests[0]),
                   "- an autonomous loop in .claude/autonomous-loop.json: Add login, phase deepen, iteration 1 of 50")
    check.equal("blocks", len(_feedback(second)), 1)
    check.contains("the block", _feedback(second)[0], "Phase deepen (iteration 1 of 10 in it)", times=1)
    check.holds("how it ended", _state(bench), {"verdict": "cancelled", "phase": "deepen"})
    check.equal("metrics", only_entry(check, bench.books, first.session_id).get("loop"), "cancelled")
    check_closed(check, bench.books)


def autonomous_edited_by_hand(bench, check):
    """A model that edits the file itself: moved back for want of a receipt, and for a commit that git does not have;
    with a real one it is taken at its word."""
    client = bench.run("GO", rules=turns(
        bash(START), bash(_edit('s["phase"] = "work"')), "Working already.",
        bash(f"{_write('docs/plan.md')} && " + _edit(
            's["phase"] = "spec_test"; s["phases_completed"].append("plan"); s["receipts"].append({"phase": "plan", '
            '"artifact": "docs/plan.md", "git_sha": "a1b2c3d", "timestamp": s["started_at"]})')), "Planned.",
        bash(_edit('import subprocess; s["phase"] = "spec_test"; s["receipts"][-1]["git_sha"] = '
                   'subprocess.check_output(["git", "rev-parse", "--short", "HEAD"], text=True).strip()')), "Really.",
        bash("hookkeeper autonomous cancel"), "Stopped."))
    _check_count(check, client, 9)
    back, wrong, on = _feedback(client)
    check.equal("why it was moved back", back.partition("\n")[0],
                "The phase was moved from plan to work although work does not follow plan and plan has no new receipt. "
                "It is plan again.")
    check.equal("why it was not taken at its word", wrong.partition("\n")[0],
                "The phase was moved from plan to spec_test again although plan: git has no commit a1b2c3d. It is let "
                "through, and written down under errors; the loop is not complete without the receipt.")
    check.contains("the next block", on, "phase spec_test, iteration 3 of 50 goes on.", times=1)
    check.equal("the next block, in a phase that is known", on.partition("\n")[2],
                "Phase spec_test (iteration 2 of 10 in it) ends with `hookkeeper autonomous advance --summary '…' --artifact PATH`. "
                "`hookkeeper autonomous status` says more.")
    check.holds("how it ended", _state(bench), {"verdict": "cancelled", "phase": "spec_test"})
    check_closed(check, bench.books)


def autonomous_out_of_rounds(bench, check):
    """Findings stay open with no round left: the loop ends as capped with what is open; a person says ship."""
    client = bench.run("GO", "ship it?", "ship", rules=turns(
        bash(f"{START} --skip-test-review --max-fix-cycles 0"),
        bash(f"{_write('docs/plan.md')} && {_advance('--artifact docs/plan.md')}"),
        bash(f"{_write('tests/auth.rb')} && {_advance('--artifact tests/auth.rb')}"),
        bash(f"{_write('docs/plan.md', 'deeper')} && {_advance('--artifact docs/plan.md')}"),
        bash(f"{_write('src/auth.rb')} && {_advance()}"),
        bash(f"{_advance()}; {_advance('--findings 2')}"), f"Reviewed.\n{PROMISE}", "No.",
        bash("hookkeeper autonomous cancel"), "Stopped."))
    _check_count(check, client, 10)
    review = heard(client.requests[6])
    check.contains("what a review without findings hears", review, "phase review ends with --findings N", times=1)
    open_ones = ("phase review ended with 2 P1 findings or failing tests open, and no round of fix and re_review is left "
                 '(0 of 0); a person who types "ship" and nothing else lets it go on all the same')
    check.contains("what the model hears", review, f"The loop ends with this turn: {open_ones}.", times=1)
    check.equal("blocks", _feedback(client), [])
    check.contains("what the user was told", _told(client)[0],
                   f'phase review, iteration 1 of 50 is capped: {open_ones}.', times=1)
    check.lacks("what the model heard with the question", heard(client.requests[7]), "A person lets it go on")
    check.contains("what the model heard with the word", heard(client.requests[8]),
                   "A person lets it go on with 2 P1 findings or failing tests open.", times=1)
    state = _state(bench)
    check.holds("how it ended", state, {"verdict": "cancelled", "phase": "compound"})
    check.equal("its errors", [error["message"] for error in state["errors"]],
                [open_ones, "a person said ship with 2 P1 findings or failing tests open"])
    check_closed(check, bench.books)


def autonomous_budget(bench, check):
    """The client's own transcript says what was spent while the session runs."""
    # The first stop may come before its answer is in the transcript: then the second one ends it.
    client = bench.run("GO", "and now?", rules=turns(
        bash(f"{START} --budget 0.0001"), "Planning.", bash("hookkeeper autonomous status"), "Stopped.", "Stopped."))
    check.contains("what the user was told", " ".join(_told(client)),
                   "is capped: the budget of $0.0001 is spent ($0.0", times=1)
    spent = heard(client.requests[-1])
    check.contains("status while the session runs", spent, "of $0.0001; rounds of fix and re_review: 0 of 3", times=1)
    check.lacks("status while the session runs", spent, "the price is not known")
    check.holds("how it ended", _state(bench), {"verdict": "capped", "phase": "plan"})


def _state(bench):
    return json.loads((bench.project / ".claude/autonomous-loop.json").read_text())


def _write(path, text="text"):
    return (f"mkdir -p $(dirname {path}) && echo {text} >> {path} && git add {path} && "
            f"git -c user.name=A -c user.email=a@b.c commit --quiet --message 'Write {path}'")


def _advance(more="", failed=None):
    failed = f" --failed '{failed}'" if failed else ""
    return f"hookkeeper autonomous advance --summary 'Did it' {more}{failed}"


def _edit(change):
    return ("python3 -c 'import json; f = \".claude/autonomous-loop.json\"; s = json.load(open(f)); "
            f"{change}; json.dump(s, open(f, \"w\"))'")


SCENARIOS = (autonomous_ships, autonomous_approved_elsewhere, autonomous_edited_by_hand, autonomous_out_of_rounds,
             autonomous_budget)
