"""The loop of a branch: what the model is given again, and what ends it."""
import json

from script import api_error, bash, text, turns

from .loops import END, FEEDBACK
from .reading import check_closed, heard, only_entry

START = "hookkeeper branch loop start 'Make all tests pass' --promise 'ALL GREEN'"


def branch_loop_completes(bench, check):
    """Words about the promise are none. The promise, alone on a line, is."""
    client = bench.run("GO", "and now?", rules=turns(
        bash(START), text("I will say <promise>ALL GREEN</promise> at the end."),
        text("- <promise>ALL GREEN</promise>"), text("All tests pass.\n\n<promise>ALL GREEN</promise>"), "no more"))
    first, second = (_given(client) + ["", ""])[:2]
    head = _head(bench, 2, 15)
    check.equal("what the model was given first", first, f"{head}\nMake all tests pass\n"
                "It is complete when a message has <promise>ALL GREEN</promise> alone on a line, and that is true. "
                f"State: {_path(bench)}")
    check.equal("what the model was given then", second, f"{_head(bench, 3, 15)}\nMake all tests pass\n"
                "Complete with <promise>ALL GREEN</promise> alone on a line.")
    check.equal("how often it was given anything", len(_given(client)), 2)
    check.holds("the loop", _loop(bench), {"active": False, "verdict": "complete", "iteration": 3})
    check.equal("metrics", only_entry(check, bench.books, client.session_id).get("loop"), "complete")
    check_closed(check, bench.books)


def branch_loop_capped(bench, check):
    """Every iteration works, and only the limit ends it."""
    client = bench.run("GO", "and now?", rules=turns(
        bash(f"{START} --max-iterations 3"), "one", bash("true"), "two", bash("true"), "three", "no more"))
    check.equal("what the model was given", [given.partition("\n")[0] for given in _given(client)],
                [_head(bench, 2, 3), _head(bench, 3, 3)])
    check.holds("the loop", _loop(bench), {
        "active": False, "verdict": "capped", "verdict_reason": "the limit of 3 iterations", "iteration": 3})
    check_closed(check, bench.books)


def branch_loop_is_paused_by_a_prompt(bench, check):
    """An API error ends the turn, and the user has seen enough; the loop can go on later."""
    busy = {**api_error(529, "overloaded_error", "busy"), "match": "iteration 2 of 15 goes on."}
    client = bench.run("GO", "cancel", rules=[busy, *turns(bash(START), "one", "paused")])
    check.contains("what the model heard", heard(client.requests[-1]),
                   "is paused: the user asked to stop. To go on: `hookkeeper branch loop resume`.", times=1)
    check.holds("the loop", _loop(bench), {"active": False, "verdict": "cancelled", "iteration": 2})
    check.equal("how the turn ended", client.results[-1]["result"], "paused")
    check_closed(check, bench.books)


def _given(client):
    """What the model got of stops that went on: each is the last user message of one request."""
    last = ([m for m in request["messages"] if m["role"] == "user"][-1:] for request in client.requests)
    said = (heard({"messages": found}) for found in last)
    return [words.removeprefix(FEEDBACK).removesuffix(END) for words in said if words.startswith(FEEDBACK)]


def _path(bench):
    [path] = (bench.project / ".claude/branches").glob("*/state.json")
    return str(path.relative_to(bench.project))


def _loop(bench):
    return json.loads((bench.project / _path(bench)).read_text())["loop"]


def _head(bench, iteration, most):
    branch = json.loads((bench.project / _path(bench)).read_text())["branch"]
    return f'The loop of branch {branch} "Make all tests pass", iteration {iteration} of {most} goes on. Its task:'


SCENARIOS = (branch_loop_completes, branch_loop_capped, branch_loop_is_paused_by_a_prompt)
