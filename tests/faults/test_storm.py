"""Sixty-four processes at once, and processes that are killed at random."""

import json
import multiprocessing
import os
import random
import threading
import time

import books
from support import SESSION, event, kill, test

PROCESSES = 64
WRITERS = 8
KILLS_PER_TURN = 500
# A run waits a second for the lock at most; the rest is work.
LONGEST_WAIT = 1.1
# Every list has a cap; this is the largest of them.
LONGEST_LIST = 1000


@test
def storm_in_one_session(suite, checks):
    storm(suite, checks, [SESSION], suite.pick(100, 1000))


@test
def storm_in_eight_sessions(suite, checks):
    storm(suite, checks, [f"{SESSION[:-1]}{n}" for n in range(8)], suite.pick(50, 1000))


def storm(suite, checks, sessions, events):
    agents = events // 2
    project = suite.project()
    project.play([event("SessionStart", session_id=session) for session in sessions])

    def send(worker, codes):
        session = sessions[worker % len(sessions)]
        with Errors(project) as errors:
            for n in range(agents):
                for name in ("SubagentStart", "SubagentStop"):
                    pid = project.spawn(event(name, session_id=session, agent_id=f"w{worker}-{n}"), errors)
                    codes.append(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))

    with Load() as load, Journals(project) as journals:
        codes = in_processes(PROCESSES, send)
        project.play([event("UserPromptSubmit", session_id=sessions[0])])
    left = len(project.spooled())
    checks.that(left == 0, f"{left} events still wait in the spool after one more event")
    checks.that(set(codes) == {0}, f"exit codes {sorted(set(codes))}, {errors_of(project)[:300]!r}")
    for problem in books.problems(project):
        checks.that(left, problem)
    expected = PROCESSES * agents // len(sessions)
    for session in sessions:
        live = project.live(session)
        counts = [live["agents_spawned"], live["agents_completed"], live["agents_failed"], len(live["agents"])]
        wanted = [expected, expected, 0, 0]
        checks.that(counts == wanted, f"{session}: spawned, completed, failed, running are {counts}, expected {wanted}")
    active = project.read("agents/active.json")
    totals = [active["total_spawned"], active["total_completed"]]
    checks.that(totals == [expected * len(sessions)] * 2, f"active.json: {totals}")
    for name, document in books.documents(project, []).items():
        checks.that(longest_list(document) <= LONGEST_LIST, f"{name} has a list of {longest_list(document)} entries")
    told = [("SubagentStart", f"w{worker}-{n}") for worker in range(PROCESSES) for n in range(agents)]
    in_journal(journals, checks, told + [("SubagentStop", agent) for _, agent in told])
    log = project.log()
    longest = max(line["us"] for line in log) / 1e6
    spooled = sum(line["outcome"].startswith("spooled") for line in log)
    checks.note(f"{len(codes)} events, longest run {longest:.3f} s, longest delay by load {load.longest:.3f} s, {spooled} spooled")
    checks.that(longest < LONGEST_WAIT + load.longest, f"a run took {longest:.3f} s")


@test
def random_kills(suite, checks):
    """What was acknowledged is in the books, whatever was killed in between."""
    project = suite.project()
    project.play([event("SessionStart"), event("UserPromptSubmit")])
    kills = torn = 0
    acknowledged = []
    # In rounds: a session holds a thousand running agents, and those whose end is killed go on.
    for turn in range(suite.pick(500, 10_000) // KILLS_PER_TURN):
        with Journals(project) as journals:
            killed, finished = kill_some(project, turn)
        kills += killed
        acknowledged += finished
        torn += in_journal(journals, checks, [(name, agent) for name, agent, _ in finished])
        project.play([event("UserPromptSubmit", prompt="go on"), event("Stop", background_tasks=[])])
    checks.note(f"{kills} kills, {len(acknowledged)} acknowledged, at most {torn} lines of the journal torn")
    checks.that(all(code == 0 for _, _, code in acknowledged), f"not only exit 0: {errors_of(project)[:300]!r}")
    for problem in books.problems(project):
        checks.that(False, problem)
    for name, agent, _ in acknowledged:
        status = (project.read(f"agents/results/{agent}.json") or {}).get("status")
        wanted = ("success",) if name == "SubagentStop" else ("success", "lost")
        checks.that(status in wanted, f"{name} of {agent} was acknowledged, its result is {status}")


def in_journal(journals, checks, events):
    """Every event is told of, in what is there or in what had to make room. Gives how many lines are torn."""
    present, gone, torn = journals.read()
    missing = [each for each in events if each not in present | gone]
    checks.that(not missing, f"{len(missing)} acknowledged events are not in the journal: {missing[:3]}")
    made_room = sum(each not in present for each in events) - len(missing)
    if made_room:
        checks.note(f"{made_room} of {len(events)} events were told of in {journals.removed()} files that had to make room")
    return torn


class Journals:
    """Holds every file of the journal open: one that was turned over twice is gone from its folder, and can
    still be read. Only what was in such a file may be missing there."""

    def __init__(self, project):
        self.folder = project.state / "journal"
        self.held = {}
        self.done = threading.Event()
        self.thread = threading.Thread(target=self._hold)

    def __enter__(self):
        self._look()
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.done.set()
        self.thread.join()
        self._look()

    def _hold(self):
        # To fill a file takes many times as long.
        while not self.done.wait(0.02):
            self._look()

    def _look(self):
        for path in self.folder.glob("*.jsonl"):
            try:
                file = path.open("rb")
            except FileNotFoundError:
                continue
            kept = self.held.setdefault(os.fstat(file.fileno()).st_ino, file)
            if kept is not file:
                file.close()

    def removed(self):
        return sum(os.fstat(file.fileno()).st_nlink == 0 for file in self.held.values())

    def read(self):
        """What is told in the files that are there, what in those that are gone, and how many lines are torn."""
        present, gone, torn = set(), set(), 0
        for file in self.held.values():
            told = gone if os.fstat(file.fileno()).st_nlink == 0 else present
            file.seek(0)
            for line in file.read().splitlines():
                try:
                    line = json.loads(line)
                except ValueError:
                    torn += bool(line)
                    continue
                if "event" in line:
                    told.add((line["event"], line.get("agent")))
        return present, gone, torn


def kill_some(project, turn):
    """Eight writers, and kills at random until there were enough."""
    done = multiprocessing.Value("i", 0)

    def send(worker, acknowledged):
        chance = random.Random(turn * WRITERS + worker)
        number = 0
        with Errors(project) as errors:
            while done.value < KILLS_PER_TURN:
                number += 1
                agent = f"t{turn}-w{worker}-{number}"
                for name in ("SubagentStart", "SubagentStop"):
                    pid = project.spawn(event(name, agent_id=agent), errors)
                    time.sleep(chance.uniform(0, 0.008))
                    if chance.random() < 0.8:
                        kill(pid)
                    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
                    if code == -9:
                        with done.get_lock():
                            done.value += 1
                    else:
                        acknowledged.append((name, agent, code))

    finished = in_processes(WRITERS, send)
    return done.value, finished


def longest_list(value):
    if isinstance(value, list):
        return max([len(value), *map(longest_list, value)])
    return max(map(longest_list, value.values()), default=0) if isinstance(value, dict) else 0


def in_processes(count, send):
    """Runs `send(worker, results)` in so many processes at once and gives all results."""
    context = multiprocessing.get_context("fork")
    queue = context.SimpleQueue()

    def work(worker):
        results = []
        send(worker, results)
        queue.put(results)

    workers = [context.Process(target=work, args=(n,)) for n in range(count)]
    for worker in workers:
        worker.start()
    results = [result for _ in workers for result in queue.get()]
    for worker in workers:
        worker.join()
    return results


class Errors:
    """A file that collects what runs say on stderr."""

    def __init__(self, project):
        self.path = project.base / "stderr"

    def __enter__(self):
        self.fd = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        return self.fd

    def __exit__(self, *_):
        os.close(self.fd)


def errors_of(project):
    return (project.base / "stderr").read_text()


class Load:
    """How late a process that wants to run is woken: what the machine itself adds to every wait."""

    STEP = 0.005

    def __enter__(self):
        self.longest = 0.0
        self.over = threading.Event()
        self.thread = threading.Thread(target=self._watch)
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        self.thread.join()

    def _watch(self):
        while not self.over.is_set():
            begun = time.monotonic()
            time.sleep(self.STEP)
            self.longest = max(self.longest, time.monotonic() - begun - self.STEP)
