"""Sessions: how they begin, go on and end."""
import time

from script import agent, bash, call, text, turns, wait_for

from .reading import all_heard, check_closed, events_of, heard, main_thread, only_entry, user_was_told

HELLO = "---\ndescription: Says hello\n---\nSay hello to $ARGUMENTS.\n"


def first_turn(bench, check):
    client = bench.run("hello there", rules=turns("Hello."))
    entry = only_entry(check, bench.books, client.session_id)
    check.holds("metrics", entry, {
        "ended": "other", "commands": {}, "compactions": 0, "files_modified": 0,
        "agents": {"spawned": 0, "completed": 0, "failed": 0},
        "errors": {"total": 0, "recovered": 0, "escalated": 0},
        "tokens": {"input": 1000, "output": 20, "cache_creation": 0, "cache_read": 0}})
    check.equal("cost, as the client reports it", entry.get("cost_usd"), client.results[-1]["total_cost_usd"])
    check_closed(check, bench.books)
    check.equal("events", events_of(bench.books.log(), client.session_id),
                ["SessionStart", "UserPromptSubmit", "Stop", "SessionEnd"])
    check.equal("git status", bench.git("status", "--porcelain", "--untracked-files=all"), "")
    check.lacks("what the model heard", all_heard(client), "HookKeeper")


def slash_command(bench, check):
    bench.write(".claude/commands/hello.md", HELLO)
    client = bench.run("/hello world", rules=turns("Hello, world."))
    entry = only_entry(check, bench.books, client.session_id)
    check.equal("commands", entry.get("commands"), {"hello": 1})
    check.contains("events", str(events_of(bench.books.log(), client.session_id)), "UserPromptExpansion")
    check.contains("what the model heard", all_heard(client), "Say hello to world.")


def edits(bench, check):
    note = str(bench.project / "note.txt")
    client = bench.run("write a note", rules=turns(
        call("Write", file_path=note, content="one\n"),
        call("Edit", file_path=note, old_string="one", new_string="two"),
        bench.copy_books("during")))
    check.equal("note.txt", (bench.project / "note.txt").read_text(), "two\n")
    check.equal("files in current.json", bench.copied("during").document("session/current.json")["files_modified"],
                ["note.txt"])
    check.equal("files_modified", only_entry(check, bench.books, client.session_id).get("files_modified"), 1)


def resume(bench, check):
    bench.write(".claude/commands/hello.md", HELLO)
    first = bench.run("/hello one", rules=_work(bench, "one.txt", "AUDIT-ONE"))
    second = bench.run("/hello two", rules=_work(bench, "two.txt", "AUDIT-TWO"), args=["--continue"])
    check.equal("the session's id", second.session_id, first.session_id)
    entry = only_entry(check, bench.books, first.session_id)
    check.holds("metrics of both stretches", entry, {
        "commands": {"hello": 2}, "agents": {"spawned": 2, "completed": 2, "failed": 0}})
    check.equal("files of both stretches", entry.get("files_modified"), 2)
    check.equal("tokens of both stretches, with an agent each", entry.get("tokens", {}).get("input"), 8000)
    tasks = sorted(result["task"] for result in bench.books.results(first.session_id).values())
    check.equal("archived results", tasks, ["do AUDIT-ONE", "do AUDIT-TWO"])
    check_closed(check, bench.books)


def _work(bench, file, audit):
    return turns(call("Write", file_path=str(bench.project / file), content="x\n"),
                 agent(f"do {audit}", audit), "done", agents={audit: "- **[S2]** Found by " + audit})


def fork(bench, check):
    first = bench.run("begin", rules=turns("begun"))
    # The client may write what it copies after the first turn.
    second = bench.run("try another way", "and on", args=["--continue", "--fork-session"],
                       rules=turns("tried", bench.copy_books("during"), "done"))
    check.that("the fork has an id of its own", second.session_id != first.session_id, second.session_id)
    check.equal("sessions in metrics.json", sorted(entry["session_id"] for entry in bench.books.metrics()),
                sorted([first.session_id, second.session_id]))
    live = bench.copied("during").live(second.session_id) or {}
    check.equal("source", live.get("source"), "fork")
    # The payload has no link to the original. Only a transcript that still names it proves the lineage.
    copied = next(path for path in bench.transcripts() if path.stem == second.session_id).read_text()
    proven = {"parent": first.session_id, "by": "fork"} if first.session_id in copied else None
    check.equal("lineage", live.get("lineage"), proven)
    check_closed(check, bench.books)


def clear(bench, check):
    client = bench.run("before", "/clear", "after", rules=turns("one", bench.copy_books("during"), "two"))
    ids = [entry["session_id"] for entry in bench.books.metrics()]
    check.equal("sessions in metrics.json", len(ids), 2)
    check.equal("how they ended", [entry["ended"] for entry in bench.books.metrics()], ["clear", "other"])
    check.equal("the first session", ids[:1], [client.session_id])
    live = bench.copied("during").live(ids[-1]) or {}
    check.equal("lineage", live.get("lineage"), {"parent": client.session_id, "by": "clear"})
    check_closed(check, bench.books)


def two_clients(bench, check):
    """Three agents of two sessions run at once, and the books are looked at while they do."""
    copied = wait_for("l1", "l2", "r1", then=bench.copying("during"))
    end = wait_for("../during")
    left = bench.start("left", rules=turns(
        [agent("left one", "LEFT-1"), agent("left two", "LEFT-2")],
        agents={"LEFT-1": (bash("touch l1"), copied, "- **[S2]** Left finding one"),
                "LEFT-2": (bash("touch l2"), end, "- **[S2]** Left finding two")}))
    right = bench.start("right", rules=turns(
        agent("right one", "RIGHT-1"), agents={"RIGHT-1": (bash("touch r1"), end, "- **[S2]** Right finding")}))
    left.finish()
    right.finish()
    during = bench.copied("during")
    check.equal("both were live at once", sorted(during.live_ids()), sorted([left.session_id, right.session_id]))
    running = during.document("agents/active.json")["agents"]
    check.equal("whose agents ran", sorted(entry["session_id"] for entry in running),
                sorted([left.session_id, left.session_id, right.session_id]))
    for client, tasks in ((left, ["left one", "left two"]), (right, ["right one"])):
        count = len(tasks)
        check.holds(f"metrics of {client.prompts[0]}", bench.books.entry(client.session_id), {
            "ended": "other", "agents": {"spawned": count, "completed": count, "failed": 0}})
        results = bench.books.results(client.session_id).values()
        check.equal(f"results of {client.prompts[0]}", sorted(result["task"] for result in results), tasks)
        check.contains(f"what {client.prompts[0]} heard", all_heard(client), f"HookKeeper: {count} marked finding")
    check.lacks("what left heard", all_heard(left), "Right finding")
    check.lacks("what right heard", all_heard(right), "Left finding")
    check.equal("sessions in metrics.json", len(bench.books.metrics()), 2)
    check_closed(check, bench.books)


def killed_client(bench, check):
    client = bench.start("wait", rules=turns(bash("touch started; sleep 30")))
    _wait_for(bench.project / "started")
    client.kill()
    check.equal("the record that the kill left", bench.books.live_ids(), [client.session_id])
    following = bench.run("go on", rules=turns("yes"))
    check.equal("how they ended", {entry["session_id"]: entry["ended"] for entry in bench.books.metrics()},
                {client.session_id: "abandoned", following.session_id: "other"})
    check_closed(check, bench.books)


def killed_with_agents(bench, check):
    client = bench.start("delegate", rules=turns(
        agent("wait", "WAIT"), agents={"WAIT": bash("touch started; sleep 30")}))
    _wait_for(bench.project / "started")
    client.kill()
    bench.run("go on", rules=turns("yes"))
    check.holds("metrics of the killed session", bench.books.entry(client.session_id), {
        "ended": "abandoned", "agents": {"spawned": 1, "completed": 0, "failed": 1}})
    results = bench.books.results(client.session_id).values()
    check.equal("its agent", [result["status"] for result in results], ["lost"])
    check_closed(check, bench.books)


def _wait_for(path, seconds=30):
    end = time.monotonic() + seconds
    while not path.exists():
        if time.monotonic() > end:
            raise TimeoutError(f"{path.name} did not appear within {seconds} s")
        time.sleep(0.05)


def switched_off(bench, check):
    bench.books_kept = False
    client = bench.run("hello", rules=turns(bash("ls /nowhere"), "done"), env={"HOOKKEEPER_OFF": "1"})
    check.that("only what install left", not {"session", "journal"} & set(bench.books.names(".")))
    check.lacks("what the model heard", all_heard(client), "HookKeeper")


def nearly_full(bench, check):
    """A context beyond the mark: the user is warned at the stop, the model with the next prompt, both once."""
    # The client writes its transcript a moment late; the last answer comes after what fills the context.
    full = {"reply": [bash("sleep 1")], "input_tokens": 820_000}
    last = [{"reply": [text(f"done {n}")], "input_tokens": 820_000} for n in range(3)]
    client = bench.run("read it all", "go on", "and on", rules=turns(full, *last))
    check.contains("what the user was told", user_was_told(bench), "the context is 82 % full (820k of 1000k tokens)", times=1)
    first, *later = main_thread(client, "read it all")
    check.lacks("what the model heard first", heard(first), "HookKeeper")
    check.contains("what the model heard last", heard(later[-1]), "HookKeeper: the context is 82 % full", times=1)


SCENARIOS = (nearly_full, first_turn, slash_command, edits, resume, fork, clear, two_clients, killed_client,
             killed_with_agents, switched_off)
