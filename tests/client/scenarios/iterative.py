"""Iterative tasks: a unit is worked on, confirmed with the same prompt and verified, then the next one comes."""
import json

from script import bash, call, turns

from .compaction import FOR_SUMMARY, KEPT, SUMMARY
from .loops import _feedback, _told
from .reading import check_closed, heard, in_another_terminal, only_entry

NEW = ("hookkeeper iterative new auth --task 'User authentication' --mode development"
       " --unit 'T1: User model | its tests pass | max 4 | files user.py'"
       " --unit 'T2: Login | 401 without a password | needs T1'")


REVIEW = ("{before}\nTask auth: {task}\n{done} done. Review the whole now, as somebody would who did not do it: look at the work itself, "
          "run what checks it, and hold it against what .claude/iterative/auth/brief.md wants (Done When, Constraints).\n"
          "All of it holds: <signal>TASK_VERIFIED</signal>. Something is missing: add a unit for it, which then is next (`hookkeeper "
          "iterative unit auth 'ID: title | criteria | max 5'`). If you cannot go on: <signal>BLOCKED: why</signal>.")
ABOUT = "Task auth: Report\nUnit R1: Report\nCriteria: three pages\nOutput: outputs/report.md\n"
WORK = (ABOUT + "Read first: .claude/iterative/auth/context.md, guardrails.md (lessons) and progress.md (what was done).\n"
        "Do what is next, then note it: `hookkeeper iterative log auth R1 --did '…' --remaining '…'`.\n"
        "When every criterion holds, and you have seen that it does, end your message with <signal>R1_DONE</signal>. "
        "If you cannot go on: <signal>BLOCKED: why</signal>.")
VERIFY = (ABOUT + "It is said to be done. Verify it now: look at the work itself, run what checks it, and hold it against each criterion, "
          "as somebody would who did not do it.\nAll of them hold: <signal>R1_VERIFIED</signal>. Something is missing: note what "
          "(`hookkeeper iterative log auth R1 --did '…' --remaining '…'`), then <signal>R1_GAPS</signal>.")
MORE = ("Criteria: three pages\nOutput: outputs/report.md\nNote what you did: `hookkeeper iterative log auth R1 --did '…' --remaining '…'`. "
        "Every criterion holds: <signal>R1_DONE</signal>. You cannot go on: <signal>BLOCKED: why</signal>.")
OUTPUT = ".claude/iterative/auth/outputs/report.md"


def iterative_output(bench, check):
    """A report that is not there, one that a command changes while it is confirmed, one that is gone before the review."""
    client = bench.run("GO", rules=turns(
        bash("hookkeeper iterative new auth --task Report --mode knowledge --unit 'R1: Report | three pages | output outputs/report.md'"),
        said("R1_DONE"), bash(f"echo one > {OUTPUT}"), said("R1_DONE"), bash(f"sed -i s/one/two/ {OUTPUT}"), said("R1_DONE"),
        said("R1_DONE"), said("R1_DONE"), said("R1_VERIFIED"), bash(f"mv {OUTPUT} aside.md"), said("TASK_VERIFIED"),
        bash(f"mv aside.md {OUTPUT}"), said("TASK_VERIFIED")))
    refused, confirm, again, confirm_again, verify, review, gone = _reasons(check, client, 7)
    missing = "the output of R1, outputs/report.md, is missing or empty"
    check.equal("said to be done without it", refused,
                f"R1_DONE is refused: R1 is in_progress; {missing}.\nUnit R1 goes on, iteration 2 of 5.\n{WORK}")
    check.equal("said to be done with it", confirm, WORK)
    check.equal("a command has changed it", again, f"Unit R1 goes on, iteration 3 of 5.\n{MORE}")
    check.equal("said to be done once more", confirm_again, WORK)
    check.equal("nothing was changed", verify, VERIFY)
    review_text = {"task": "Report", "done": "1 of 1 unit"}
    check.equal("the review", review, REVIEW.format(before="Unit R1 is done.", **review_text))
    check.equal("reviewed without it", gone, REVIEW.format(before=f"TASK_VERIFIED is refused: {missing}.", **review_text))
    ends = [message for message in _told(client) if "is complete" in message]
    check.equal("what the user was told", ends, [
        'HookKeeper: the task auth "Report", 1 of 1 done is complete: its unit is done; delivered: outputs/report.md.'])
    check.holds("state.json", _state(bench), {"phase": "deliver", "verdict": "complete"})
    _check_rebuild(check, bench)


def iterative_state_removed(bench, check):
    """The model removes the state in the middle of a unit, and breaks it later: both times the log makes it anew."""
    state = ".claude/iterative/auth/state.json"
    client = bench.run("GO", rules=turns(
        bash(NEW), bash(f"rm {state}"), "looked around", bash(f"echo '{{' > {state}"), said("BLOCKED: no key")))
    (first,) = _reasons(check, client, 1)
    check.that("what the model heard", first.startswith(
        "state.json was missing; it was made anew from progress.md.\nUnit T1 goes on, iteration 2 of 4.\n"), first)
    told = "\n".join(_told(client))
    check.contains("what the user heard", told, f"HookKeeper: {state} was missing; it was made anew from progress.md.", times=1)
    check.contains("what the user heard", told, f"HookKeeper: {state} could not be read (", times=1)
    check.contains("where it is", told, "The file as it was is now .claude/state/quarantine/iterative-auth-state.json.", times=1)
    kept = list((bench.project / ".claude/state/quarantine").iterdir())
    check.equal("what is there", [file.read_text() for file in kept], ["{\n"])
    # The room has to be empty after every scenario; here it was meant to be used.
    for file in kept:
        file.unlink()
    check.holds("the unit", _state(bench)["tasks"]["T1"], {"status": "blocked", "reason": "no key", "iterations_used": 2})
    _check_rebuild(check, bench)


def iterative_two_units(bench, check):
    """Work, a confirmation that changes a file, another one that does not, a verification; then the second unit."""
    file = str(bench.project / "user.py")
    client = bench.run("GO", "and now?", rules=turns(
        bash(NEW), call("Write", file_path=file, content="a\n"),
        bash("hookkeeper iterative log auth T1 --did 'Added it' --remaining 'Names may be empty'"), "not yet",
        said("T1_DONE"), call("Edit", file_path=file, old_string="a", new_string="b"), said("T1_DONE"), said("T1_DONE"), said("T1_DONE"),
        bash("hookkeeper iterative status auth"), said("T1_VERIFIED"),
        said("T2_DONE"), said("T2_DONE"), said("T2_VERIFIED"), said("TASK_VERIFIED"), "no more"))
    check.equal("requests", len(client.requests), 16)
    work_2, confirm, work_3, confirm_again, verify, next_unit, confirm_2, verify_2, review = _reasons(check, client, 9)
    created = heard(client.requests[1])
    for part in ("Created: .claude/iterative/auth, 2 units, driven by session", "Unit T1: User model"):
        check.contains("what `new` told the model", created, part)
    check.that("the second iteration", work_2.startswith("Unit T1 goes on, iteration 2 of 4."), work_2)
    check.contains("the second iteration", work_2, "Remaining, by the log: Names may be empty.", times=1)
    check.contains("the first prompt", created, confirm, times=1)
    check.equal("every confirmation is the first prompt again", confirm_again, confirm)
    for word in ("confirm", "again", "iteration"):
        check.lacks("what a confirmation says of itself", confirm.lower(), word)
    check.that("a changed file is work", work_3.startswith("Unit T1 goes on, iteration 3 of 4."), work_3)
    check.contains("the verification", verify, "Verify it now", times=1)
    check.contains("what comes after it", next_unit, "Unit T1 is done.\nTask auth: User authentication\nUnit T2: Login\n")
    check.contains("the second unit's confirmation", next_unit, confirm_2, times=1)
    check.contains("the second unit's verification", verify_2, "<signal>T2_VERIFIED</signal>", times=1)
    check.equal("the review of the whole", review, REVIEW.format(before="Unit T2 is done.", task="User authentication", done="2 of 2 units"))
    told = [message for message in _told(client) if "task auth" in message]
    places = [message.partition('", ')[2] for message in told]
    check.equal("what the user was told", places, [
        "T1 iteration 2 of 4, 0 of 2 done. To end it: type \"stop the loop\", or run `hookkeeper iterative cancel auth`",
        "T1 confirmation 1, 0 of 2 done", "T1 iteration 3 of 4, 0 of 2 done",
        "T1 confirmation 2, 0 of 2 done", "T1 verification, 0 of 2 done", "T2 iteration 1 of 5, 1 of 2 done",
        "T2 confirmation 1, 1 of 2 done", "T2 verification, 1 of 2 done", "phase verify, 2 of 2 done",
        "2 of 2 done is complete: all 2 units are done."])
    state = _state(bench)
    check.holds("state.json", state, {"phase": "deliver", "verdict": "complete", "session_id": client.session_id})
    for unit, iterations, confirmations in (("T1", 3, 2), ("T2", 1, 1)):
        check.holds(unit, state["tasks"][unit], {
            "status": "done", "iterations_used": iterations, "confirmations_used": confirmations,
            "verification_passed": True})
    check.contains("tasks.md", _text(bench, "tasks.md"), "**Status:** 2 done, 0 in progress, 0 pending\n", times=1)
    check.contains("progress.md", _text(bench, "progress.md"), "**Status:** verifying → done\n", times=2)
    _check_rebuild(check, bench)
    check.equal("metrics", only_entry(check, bench.books, client.session_id).get("loop"), "complete")
    check_closed(check, bench.books)


def iterative_survives(bench, check):
    """A compaction and a resume in the middle of a unit; then it is blocked, and the user is asked."""
    first = bench.run("GO", "/compact", "go on", rules=[SUMMARY, *turns(
        bash(f"{NEW} && hookkeeper iterative log auth T1 --did 'Begun' --remaining 'The index'"), said("T1_DONE"),
        bash("hookkeeper iterative phase auth plan"), "talk", "more talk")])
    line = ("- an iterative task in .claude/iterative/auth/state.json: User authentication, phase plan, "
            "0 of 2 units done; at work: T1 User model; remaining: The index")
    summarising = next(heard(request) for request in first.requests if FOR_SUMMARY in heard(request))
    following = next(heard(request) for request in first.requests if KEPT in heard(request))
    check.contains("what the summariser heard", summarising.partition(FOR_SUMMARY)[2], line, times=1)
    check.contains("what the model heard after it", following.partition(KEPT)[2], line, times=1)
    check.equal("its owner after the end", _state(bench).get("session_id"), first.session_id)
    second = bench.run("GO on", "and now?", rules=turns(
        bash("hookkeeper iterative phase auth execute"), said("BLOCKED: the key is missing"), "waiting"),
        args=["--continue"])
    check.equal("requests after the resume", len(second.requests), 3)
    check.contains("what the model heard first", heard(second.requests[0]), "remaining: The index")
    told = [message for message in _told(second) if "task auth" in message]
    check.equal("what the user was asked", told, [
        "HookKeeper: the task auth waits for you. T1 is blocked (the key is missing): `hookkeeper iterative unblock "
        "auth T1` when that is settled. To do without a unit: `hookkeeper iterative skip auth UNIT`."])
    check.holds("the unit", _state(bench)["tasks"]["T1"], {"status": "blocked", "reason": "the key is missing"})
    _check_rebuild(check, bench)
    check_closed(check, bench.books)


def said(signal):
    return f"So it is.\n<signal>{signal}</signal>"


def _state(bench):
    return json.loads(_text(bench, "state.json"))


def _text(bench, name):
    return (bench.project / ".claude/iterative/auth" / name).read_text()


def _check_rebuild(check, bench):
    done = in_another_terminal(bench, "iterative", "rebuild", "auth")
    check.equal("what a rebuild says", (done.returncode, done.stdout, done.stderr), (0, "Task auth: nothing differed.\n", ""))


def _reasons(check, client, count):
    reasons = [reason.rstrip("\n") for reason in _feedback(client)]
    check.equal("blocks", len(reasons), count)
    return (reasons + [""] * count)[:count]


SCENARIOS = (iterative_two_units, iterative_survives, iterative_output, iterative_state_removed)
