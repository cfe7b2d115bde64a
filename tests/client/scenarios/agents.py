"""Agents: the right task on the right agent, what they found, and who is told."""
from script import agent, api_error, bash, turns, wait_for, wait_for_event

from .reading import check_closed, heard, launched, main_thread, only_entry


def agents_in_parallel(bench, check):
    client = bench.run("GO audit everything", rules=turns(
        [agent("audit auth", "AUDIT-AUTH"), agent("look for tests", "FIND-TESTS", kind="Explore")], "done",
        agents={"AUDIT-AUTH": "- **[S1]** No rate limit (src/login.ts:3)",
                "FIND-TESTS": "- **S2**: Tests are missing"}))
    titles = {"audit auth": ["No rate limit"], "look for tests": ["Tests are missing"]}
    _check_results(check, bench.books, client, titles)
    synthesis = bench.books.synthesis(client.session_id) or {}
    check.holds("synthesis", synthesis, {"complete": True, "summary": {"total": 2, "S1": 1, "S2": 1}})
    check.equal("findings, worst first", [finding["title"] for finding in synthesis.get("findings", [])],
                ["No rate limit", "Tests are missing"])
    main = main_thread(client, "GO audit everything")
    check.contains("what the parent heard in the end", heard(main[-1]), "HookKeeper: 2 marked findings (1 S1, 1 S2); the reports of 2 agents have 2 lines.", times=1)
    others = "\n".join(heard(request) for request in client.requests if request not in main)
    check.lacks("what the agents heard", others, "HookKeeper")
    check.holds("metrics", only_entry(check, bench.books, client.session_id), {
        "agents": {"spawned": 2, "completed": 2, "failed": 0}, "quality": {"issues_found": 2}})
    check_closed(check, bench.books)


def three_of_one_type(bench, check):
    """All run at once, and then end at once; the third looks at the books in between."""
    numbers = (1, 2, 3)
    steps = {1: bash("touch one"), 2: bash("touch two"), 3: wait_for("one", "two", then=bench.copying("during"))}
    client = bench.run("GO check", rules=turns(
        [agent(f"check part {n}", f"CHECK-{n}") for n in numbers], "done",
        agents={f"CHECK-{n}": (steps[n], wait_for("../during"), f"- **[S2]** Finding {n}") for n in numbers}))
    _check_results(check, bench.books, client, {f"check part {n}": [f"Finding {n}"] for n in numbers})
    known = {id: call["description"] for id, call in launched(client).items()}
    running = bench.copied("during").document("agents/active.json")["agents"]
    check.equal("agents that ran at once", sorted(entry["id"] for entry in running), sorted(known))
    for entry in running:
        check.that(f"the task of {entry['id']} is right or not known yet",
                   entry["task"] in (None, known.get(entry["id"])), entry)
    last = heard(main_thread(client, "GO check")[-1])
    check.contains("what the parent heard in the end", last, "HookKeeper: 3 marked findings (", times=1)


def background_agent(bench, check):
    """The agent ends after the turn that launched it; the client then starts a turn by itself."""
    client = bench.run("GO in the background", rules=turns(
        agent("slow audit", "SLOW-AUDIT", background=True), bench.copy_books("during"), "launched", "noted",
        agents={"SLOW-AUDIT": (wait_for_event("Stop"), "- **[S1]** No rate limit (src/login.ts:3)")}))
    _check_results(check, bench.books, client, {"slow audit": ["No rate limit"]}, background=True)
    running = bench.copied("during").document("agents/active.json")["agents"]
    check.equal("while it ran", [(entry["task"], entry["background"]) for entry in running], [("slow audit", True)])
    main = main_thread(client, "GO in the background")
    told = [request for request in main if "HookKeeper: 1 marked finding" in heard(request)]
    check.equal("requests that tell of it", len(told), 1)
    check.contains("it comes with the notification", heard(main[-1]), "<task-notification>", times=1)
    check.contains("it comes with the notification", heard(main[-1]), "HookKeeper: 1 marked finding (1 S1); the report has 1 line.", times=1)
    check.equal("agents in metrics", only_entry(check, bench.books, client.session_id).get("agents"),
                {"spawned": 1, "completed": 1, "failed": 0})
    check_closed(check, bench.books)


def background_agent_within_the_turn(bench, check):
    """The agent ends while the turn that launched it still works."""
    client = bench.run("GO on meanwhile", rules=turns(
        agent("quick audit", "QUICK-AUDIT", background=True), wait_for_event("SubagentStop"), bash("sleep 0.5"), "done",
        agents={"QUICK-AUDIT": "- **[S1]** No rate limit (src/login.ts:3)"}))
    _check_results(check, bench.books, client, {"quick audit": ["No rate limit"]}, background=True)
    last = heard(main_thread(client, "GO on meanwhile")[-1])
    check.contains("the notification", last, "<task-notification>", times=1)
    check.contains("what the parent heard in the end", last, "HookKeeper: 1 marked finding (1 S1); the report has 1 line.", times=1)
    check_closed(check, bench.books)


def agent_with_api_failure(bench, check):
    """No SubagentStop comes for such an agent. Its transcript ends in the error, its side file has its task."""
    client = bench.run("GO audit", rules=turns(
        agent("audit auth", "AUDIT-AUTH"), "done",
        agents={"AUDIT-AUTH": {**api_error(529, "overloaded_error", "busy"), "times": 9}}))
    (id, call), = launched(client).items()
    check.holds("its result", bench.books.results(client.session_id).get(id), {
        "status": "failed", "task": "audit auth", "tool_use_id": call["tool_use_id"]})
    check.equal("agents in metrics", only_entry(check, bench.books, client.session_id).get("agents"),
                {"spawned": 1, "completed": 0, "failed": 1})
    check_closed(check, bench.books)


def _check_results(check, books, client, titles, background=False):
    """Every agent that the client launched has its own result, with its own task and findings."""
    agents = launched(client)
    results = books.results(client.session_id)
    check.equal("agents launched", sorted(call["description"] for call in agents.values()), sorted(titles))
    check.equal("results", sorted(results), sorted(agents))
    for id, call in agents.items():
        task = call["description"]
        check.holds(f"result of {task!r}", results.get(id), {
            "task": task, "type": call["subagent_type"], "tool_use_id": call["tool_use_id"], "status": "success",
            "background": background, "session_id": client.session_id, "parent_task": client.prompts[0]})
        found = [finding["title"] for finding in results.get(id, {}).get("findings", [])]
        check.equal(f"findings of {task!r}", found, titles[task])


SCENARIOS = (agents_in_parallel, three_of_one_type, background_agent, background_agent_within_the_turn,
             agent_with_api_failure)
