"""Agents that nobody lists: of a workflow, of another agent, that only think, or whose client has ended."""
import json
import signal
import time

from script import agent, bash, call, turns, wait_for, wait_for_event

from .reading import all_heard, check_closed, heard, in_another_terminal, main_thread, only_entry, wait_until

WORKFLOW = """export const meta = { name: 'review-all', description: 'Review everything', phases: [{ title: 'Review' }] }
phase('Review')
const r = await parallel([
  () => agent('WF-AUTH look at auth', { label: 'review:auth', phase: 'Review' }),
  () => agent('WF-TESTS look at tests', { label: 'review:tests', phase: 'Review' }),
])
return { r }
"""
LOST = ("- 1 agent lost when the client ended, unfinished. The ways on: take one up again (SendMessage to its id), run it "
        "anew (`hookkeeper agents show ID` has its prompt), read what it changed, or drop it.")


def workflow_agents(bench, check):
    """They are not in the client's list; the turn that started them ends while they work."""
    client = bench.run("ultracode GO use a workflow", rules=turns(
        call("Workflow", script=WORKFLOW), "launched", "noted",
        agents={"WF-AUTH": (wait_for_event("Stop"), bash(bench.copying("during")), "- **[S1]** No rate limit (src/login.ts:3)"),
                "WF-TESTS": (wait_for_event("Stop"), wait_for("../during"), "- **[S2]** Tests are missing")}))
    running = bench.copied("during").document("agents/active.json")["agents"]
    check.equal("who runs after the turn", sorted(str(entry["task"]) for entry in running), ["review:auth", "review:tests"])
    results = bench.books.results(client.session_id).values()
    check.equal("results", sorted((result["task"], result["status"], len(result["findings"])) for result in results),
                [("review:auth", "success", 1), ("review:tests", "success", 1)])
    check.that("all of one run", len({result.get("workflow") for result in results}) == 1, str(results))
    check.contains("what the parent heard in the end", heard(main_thread(client, "ultracode")[-1]),
                   "HookKeeper: 2 marked findings (1 S1, 1 S2); the reports of 2 agents have 2 lines.", times=1)
    check.equal("agents in metrics", only_entry(check, bench.books, client.session_id).get("agents"),
                {"spawned": 2, "completed": 2, "failed": 0})
    check_closed(check, bench.books)


def nested_agents(bench, check):
    """An agent in the background has started two more, and the turn ends while they work."""
    inner = {f"INNER-{n}": (wait_for_event("Stop"), wait_for("../tree"), f"- **[S2]** Finding {n}") for n in (1, 2)}
    client = bench.start("GO delegate", rules=turns(
        agent("outer work", "OUTER", background=True), "launched", "noted",
        agents={"OUTER": ([agent("inner one", "INNER-1"), agent("inner two", "INNER-2")], "outer done"), **inner}))
    active = bench.books.root / "agents/active.json"
    wait_until(lambda: active.exists() and len(json.loads(active.read_text())["agents"]) == 3
               and any(line["event"] == "Stop" for line in bench.books.log()))
    time.sleep(0.5)
    said = in_another_terminal(bench, "agents").stdout
    (bench.root / "tree").touch()
    client.finish()
    lines = said.splitlines()[1:]  # Below the head.
    check.equal("agents that are shown", len(lines), 3)
    check.that("the outer one first", lines and lines[0].endswith("outer work"), said)
    check.equal("those below it", sorted((line[:2], line.split("  ")[-1].strip()) for line in lines[1:]),
                [("└ ", "inner one"), ("└ ", "inner two")])
    results = bench.books.results(client.session_id).values()
    check.equal("results", sorted((result["task"], result["status"], len(result["findings"])) for result in results),
                [("inner one", "success", 1), ("inner two", "success", 1), ("outer work", "success", 0)])
    outer = next(result["agent_id"] for result in results if result["task"] == "outer work")
    check.equal("parents", sorted(str(result.get("parent_agent")) for result in results), sorted(["None", outer, outer]))
    check.equal("agents in metrics", only_entry(check, bench.books, client.session_id).get("agents"),
                {"spawned": 3, "completed": 3, "failed": 0})
    check_closed(check, bench.books)


def agents_that_only_think(bench, check):
    """No tool call tells of them: the client's side files do, to the next event and to every view."""
    numbers = (1, 2, 3)
    client = bench.start("GO think", rules=turns(
        [agent(f"think about {n}", f"THINK-{n}") for n in numbers], "done",
        agents={f"THINK-{n}": {"reply": [{"type": "text", "text": f"Thought {n}."}], "delay": 6 + n} for n in numbers}))
    active = bench.books.root / "agents/active.json"
    wait_until(lambda: active.exists() and len(json.loads(active.read_text())["agents"]) == 3)
    time.sleep(1.5)
    wanted = [f"think about {n}" for n in numbers]
    said = in_another_terminal(bench, "agents").stdout
    check.equal("what `agents` says", sorted(line.split("  ")[-1].strip() for line in said.splitlines()[1:]), wanted)
    status = json.loads(in_another_terminal(bench, "status", "--json").stdout)
    check.equal("what `status` says", sorted(str(entry["task"]) for entry in status["agents"]["agents"]), wanted)
    wait_until(lambda: any(line["event"] == "SubagentStop" for line in bench.books.log()))
    left = json.loads(active.read_text())["agents"]
    check.that("active.json after the next event", all(entry["task"] in wanted for entry in left), str(left))
    client.finish()
    results = bench.books.results(client.session_id).values()
    check.equal("results", sorted(result["task"] for result in results), wanted)
    check_closed(check, bench.books)


def resume_with_a_lost_agent(bench, check):
    """The client ends while an agent works in the background."""
    _lose(bench, check, lambda client: client.process.send_signal(signal.SIGTERM))


def resume_after_a_kill_with_an_agent(bench, check):
    """The same without a SessionEnd."""
    _lose(bench, check, lambda client: client.kill())


def _lose(bench, check, end):
    first = bench.start("GO in the background", rules=turns(
        agent("slow audit", "SLOW-AUDIT", background=True), "launched",
        agents={"SLOW-AUDIT": (call("Write", file_path=str(bench.project / "notes.md"), content="half\n"),
                               bash("touch started; until [ -e never ]; do sleep 1; done"))}))
    wait_until((bench.project / "started").exists)
    end(first)
    first.process.wait(20)
    first.kill()
    second = bench.run("go on", rules=turns("yes"), args=["--continue"])
    told = all_heard(second)
    check.contains("what the resumed model heard", told, LOST, times=1)
    check.contains("of which agent", told, " (general-purpose): slow audit; ran for ", times=1)
    check.contains("and what it left", told, "changed notes.md", times=1)
    third = bench.run("and on", rules=turns("yes"), args=["--continue"])
    last = heard(third.requests[-1])
    check.contains("it is said once: all that the third client hears of it is the old conversation", last, LOST, times=1)
    results = bench.books.results(second.session_id).values()
    check.equal("its result", [(result["status"], result["task"], result.get("prompt")) for result in results],
                [("lost", "slow audit", "SLOW-AUDIT")])
    check.equal("agents in metrics", only_entry(check, bench.books, second.session_id).get("agents"),
                {"spawned": 1, "completed": 0, "failed": 1})
    check_closed(check, bench.books)


SCENARIOS = (workflow_agents, nested_agents, agents_that_only_think, resume_with_a_lost_agent,
             resume_after_a_kill_with_an_agent)
