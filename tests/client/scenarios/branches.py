"""What belongs to a branch: saved before a compaction and given back, the witness, hand-offs."""
import json
import os
from datetime import datetime, timedelta, timezone

from script import agent, bash, call, text, turns, wait_for

from .compaction import FOR_SUMMARY, KEPT, SUMMARY
from .reading import check_closed, heard, in_another_terminal, launched, only_entry, wait_until

START = "hookkeeper branch loop start 'Make all tests pass' --max 9 --promise 'ALL GREEN'"
HANDOFFS = " && ".join(f"hookkeeper branch handoff --type {kind}" for kind in ("task", "triage", "session"))
# The client has these tools in some versions only; a project can ask for them.
LISTS = {"CLAUDE_CODE_ENABLE_TODO_TOOLS": "1", "CLAUDE_CODE_ENABLE_TASKS": "0"}
TASKS = {"CLAUDE_CODE_ENABLE_TODO_TOOLS": "1"}


def branch_through_a_compaction(bench, check):
    """A loop runs and three hand-offs were written when the context fills up in the middle of a turn."""
    bench.git("checkout", "--quiet", "-b", "feat/login")
    bench.write(".claude/plans/feat-login.md", "# Login\n\n1. A form\n2. A check\n")
    todos = [{"content": content, "status": status, "activeForm": f"On {content}"}
             for content, status in (("A-form", "completed"), ("A-check", "in_progress"), ("Some-docs", "pending"))]
    client = bench.run("make it green", env=LISTS, rules=[SUMMARY, *turns(
        [bash(f"{START} && {HANDOFFS}"), call("TodoWrite", todos=todos)], _full(written("Some-docs")),
        "on it", text("<promise>ALL GREEN</promise>"))])
    said = [heard(request) for request in client.requests]
    summarising = next(words for words in said if FOR_SUMMARY in words).partition(FOR_SUMMARY)[2]
    after = next(words for words in said if KEPT in words).partition(KEPT)[2]
    loop = "- a loop of branch feat/login in .claude/branches/feat-login/state.json: iteration 1 of 9, " \
           "complete with <promise>ALL GREEN</promise>: Make all tests pass"
    open_todos = ("A-check (in progress)\n", "- Some-docs\n")
    for part in ("- the plan: .claude/plans/feat-login.md\n", "- 2 open todos:\n", *open_todos, loop):
        check.contains("what the summariser heard", summarising, part, times=1)
    rest = after
    for part in ("- on branch feat/login:\n", "  - plan: .claude/plans/feat-login.md, which begins:\n",
                 "      1. A form\n", "  - todos: 2 pending, 1 completed\n", *open_todos, loop):
        check.contains("what the model heard after it", after, part, times=1)
        check.contains("in this order", rest, part)
        rest = rest.partition(part)[2]
    check.lacks("what the model heard after it", after, "A-form")
    check.lacks("it wrote the hand-offs itself", after, "hand-off")
    state = _document(bench, "feat-login/state.json")
    check.holds("state.json", state, {
        "branch": "feat/login", "session": client.session_id, "handoff": {"count": 3},
        "execution": {"todos": todos, "pending_count": 2, "completed_count": 1},
        "loop": {"verdict": "complete", "maxIterations": 9, "session_id": client.session_id}})
    check.equal("the loop went on after it", state["loop"]["iteration"], 2)
    check.equal("hand-offs", len(list((bench.project / ".claude/branches/feat-login/handoffs").iterdir())), 3)
    last = (bench.project / state["handoff"]["last"]).read_text()
    check.contains("the last hand-off", last, f'branch: feat/login\nsession: "{client.session_id}"\nstatus: open\n')
    check.contains("what git sees", bench.git("status", "--porcelain", "--untracked-files=all"), ".claude/plans/")
    check.lacks("what git sees", bench.git("status", "--porcelain", "--untracked-files=all"), ".claude/branches")
    check.holds("metrics", only_entry(check, bench.books, client.session_id), {"loop": "complete", "compactions": 1})
    check_closed(check, bench.books)


def branch_is_given_back_to_its_own(bench, check):
    """Tasks instead of a list, a slash command that is executed, a compaction between two turns. Another session in
    the same project hears nothing of it, the same one does when it is resumed."""
    bench.write(".claude/commands/build.md", "Build $ARGUMENTS\n")
    # A turn of its own waits for the transcript, which the client writes late.
    first = bench.run("/build the login form", "/compact", "go on", env=TASKS, rules=[SUMMARY, *turns(
        [call("TaskCreate", subject=f"Task-{name}", description="d") for name in ("one", "two", "three")],
        [call("TaskUpdate", taskId="1", status="completed"), call("TaskUpdate", taskId="3", status="deleted"),
         call("TaskUpdate", taskId="2", status="in_progress", activeForm="On-two")], written("On-two"),
        "built", "gone on")])
    after = heard(first.requests[-1]).partition(KEPT)[2]
    workflow = "  - workflow: /build the login form (executing)\n"
    tasks = "  - todos: 1 pending, 1 completed\n    - Task-two (in progress)\n"
    check.contains("what the model heard after it", after, workflow + tasks, times=1)
    check.holds("state.json", _document(bench, "main/state.json"), {
        "session": first.session_id, "workflow": {"phase": "executing", "active": "build", "args": "the login form"},
        "plan": {"exists": False}})
    other = bench.run("hello", rules=turns("hi"))
    check.lacks("what another session heard", heard(other.requests[0]), "Task-two")
    again = bench.run("and?", rules=turns("on"), args=["--resume", first.session_id])
    then = workflow.replace("executing", "the last one then")
    check.contains("what it heard when it was resumed", heard(again.requests[-1]), then + tasks, times=1)
    check_closed(check, bench.books)


def branch_witness(bench, check):
    """An agent in the background. By the clock of another terminal, minutes later: if its transcript was written to
    seconds ago it is not stuck, if it was not it is. It is nudged, and finishes after all."""
    client = bench.start("GO in the background", rules=turns(
        agent("slow audit", "SLOW-AUDIT", background=True), wait_for("seen", then="true"), "launched", "noted",
        agents={"SLOW-AUDIT": (bash("touch started"), wait_for("seen", then="touch ended"), "All is well.")}))
    wait_until((bench.project / "started").exists)
    wait_until(lambda: any(bench.home.rglob("subagents/agent-*.jsonl")))
    written, = bench.home.rglob("subagents/agent-*.jsonl")
    id = written.stem.removeprefix("agent-")
    wait_until(lambda: _entry(bench, id).get("description"))
    check.holds("agents.json while it runs", _entry(bench, id), {
        "id": id, "type": "general-purpose", "description": "slow audit", "background": True, "status": "running",
        "completed_at": None, "result": None, "nudge_count": 0, "session_id": client.session_id})

    later = datetime.now(timezone.utc) + timedelta(minutes=40)
    clock = {"HOOKKEEPER_FIXED_TIME": later.isoformat()}
    now = written.stat().st_mtime
    for seconds, stuck in ((10, []), (6 * 60, [id])):
        os.utime(written, (later.timestamp() - seconds,) * 2)
        listed = json.loads(in_another_terminal(bench, "agents", "stuck", "--json", **clock).stdout)
        check.equal(f"stuck if it wrote {seconds} s ago", [entry["agent"]["id"] for entry in listed], stuck)
    os.utime(written, (now, now))
    said = in_another_terminal(bench, "agents", "nudge", id, "--message", "How far are you?")
    check.contains("what the terminal said", said.stdout, "nudged (1 time)", times=1)
    check.holds("agents.json after the nudge", _entry(bench, id), {"nudge_count": 1, "status": "running"})
    (bench.project / "seen").touch()
    client.finish()
    told = [request for request in client.requests if "How far are you?" in heard(request)]
    check.that("the agent was told", told and all("SLOW-AUDIT" in heard(request) for request in told))
    check.equal("agents that the client launched", list(launched(client)), [id])
    check.holds("agents.json in the end", _entry(bench, id), {
        "status": "completed", "result": "All is well.", "nudge_count": 1})
    check.holds("its counts", _document(bench, "main/agents.json"), {
        "branch": "main", "stats": {"total_spawned": 1, "completed": 1, "failed": 0, "stuck": 0}})
    page = in_another_terminal(bench, "branch", "show").stdout
    check.contains("the page", page, "1 spawned: 1 completed, 0 failed, 0 running\n", times=1)
    check_closed(check, bench.books)


def written(words):
    """A tool call that lasts until the client has written this into its transcript. The words that it looks for are
    spelled so that it does not find itself."""
    return bash(f"until grep -rqs '[{words[0]}]{words[1:]}' \"$HOME/.claude/projects\"; do sleep 0.05; done")


def _full(block):
    """A reply that fills the context up."""
    return {"reply": [block], "input_tokens": 995_000}


def _document(bench, name):
    return json.loads((bench.project / ".claude/branches" / name).read_text())


def _entry(bench, id):
    """An agent's entry in the book of its branch; empty if there is none yet."""
    path = bench.project / ".claude/branches/main/agents.json"
    agents = json.loads(path.read_text())["agents"] if path.exists() else []
    return next((entry for entry in agents if entry["id"] == id), {})


SCENARIOS = (branch_through_a_compaction, branch_is_given_back_to_its_own, branch_witness)
