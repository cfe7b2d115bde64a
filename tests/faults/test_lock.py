"""The lock is held by somebody who does not let go."""

import collections
import contextlib
import datetime
import fcntl
import os
import pathlib
import re
import signal
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor

import books
from support import AGENT, Skip, event, kill, needs_strace, test

# A second of patience, and starting ten programs at once on a busy machine.
LONGEST = 1.3
AT_ONCE = 10
SPOOLERS = 24
SPOOL_CALLS = "openat mkdirat write fdatasync renameat close fstat getdents64 exit_group".split()


@test
def lock_held_by_another_program(suite, checks):
    project = suite.project()
    project.play([event("SessionStart"), event("UserPromptSubmit")])
    with held(project):
        spooled_while_held(project, checks)
    applied_when_free(project, checks)


@test
def lock_held_by_a_stopped_hook(suite, checks):
    needs_strace()
    project = suite.project()
    project.play([event("SessionStart"), event("UserPromptSubmit")])
    with stopped_hook(project) as pid:
        spooled_while_held(project, checks)
        kill(pid, signal.SIGCONT)
    applied_when_free(project, checks, [AGENT])


@test
def spool_keeps_what_cannot_be_redacted(suite, checks):
    """Payloads that are whole and valid wait like all others, however odd."""
    project = suite.project()
    project.play([event("SessionStart")])
    start = project.payload(event("SubagentStart", agent_id="odd")).rstrip()[:-1]
    odd = {
        "half a surrogate pair": start + b',"x":"cut \\ud83d"}\n',
        "depth 1,000": start + b',"x":' + b"[" * 1000 + b"]" * 1000 + b"}\n",
        "a byte order mark": b"\xef\xbb\xbf" + start + b"}\n",
        "a huge number": start + b',"x":1e999}\n',
        "duplicate keys": start + b',"agent_id":"odd"}\n',
    }
    with held(project):
        for what, payload in odd.items():
            run = project.run(payload)
            checks.ran(run, f"{what}, while the lock is held", codes=(0,))
    checks.that(len(project.spooled()) == len(odd), f"{len(project.spooled())} of {len(odd)} wait in the spool")
    project.play([event("UserPromptSubmit")])
    checks.that(project.live()["agents_spawned"] == 1, "the agent that waited is not in the books")


@test
def kill_while_spooling(suite, checks):
    """A kill at every system call of an event that waits: it is in the spool, or it is not."""
    needs_strace()
    calls = spooling_calls(suite)
    pairs = [(name, k) for name, count in calls.items() for k in range(1, count + 1)]

    def one(pair):
        name, k = pair
        what = f"killed at {name} {k} while spooling"
        project = suite.project()
        project.play([event("SessionStart"), event("UserPromptSubmit")])
        fault = ("-e", f"trace={name}", "-e", f"inject={name}:signal=KILL:when={k}")
        with held(project):
            run = project.run(event("SubagentStart"), prefix=("strace", "-f", "-o", os.devnull, *fault))
            checks.that(run.code == -9, f"{what}: exit {run.code}")
        waits = len(project.spooled())
        # Half an entry is left alone while its writer may still live.
        for path in (project.state / "spool").glob(".*"):
            os.utime(path, (0, 0))
        checks.ran(project.run(event("SubagentStart", agent_id="last")), f"{what}: the event after", codes=(0,))
        known = [agent["id"] for agent in project.live()["agents"]]
        checks.that(known == [AGENT] * waits + ["last"], f"{what}: {waits} waited, then the agents are {known}")
        for problem in books.problems(project):
            checks.that(False, f"{what}: {problem}")
        project.remove()

    with ThreadPoolExecutor(SPOOLERS) as pool:
        list(pool.map(one, pairs if suite.full else pairs[::2]))


def spooling_calls(suite):
    """How often an event that waits makes each system call before and after its wait."""
    project = suite.project()
    project.play([event("SessionStart")])
    trace = project.base / "trace"
    with held(project):
        project.run(event("SubagentStart"), prefix=("strace", "-f", "-o", str(trace)))
    pid = trace.read_text().split(maxsplit=1)[0]
    own = (re.match(rf"{pid} +(\w+)\(", line) for line in trace.read_text().splitlines())
    counts = collections.Counter(match[1] for match in own if match)
    return {name: count for name, count in counts.items() if name in SPOOL_CALLS}


def spooled_while_held(project, checks):
    # Ten milliseconds apart by their own clocks: which of ten processes begins first, a busy machine decides.
    now = datetime.datetime.now(datetime.timezone.utc)

    def send(n):
        clock = now + datetime.timedelta(milliseconds=10 * n)
        return project.run(event("SubagentStart", agent_id=f"late-{n}"), clock=clock.strftime("%Y-%m-%dT%H:%M:%S.%fZ"))

    with ThreadPoolExecutor(AT_ONCE) as pool:
        runs = list(pool.map(send, range(AT_ONCE)))
    for n, run in enumerate(runs):
        checks.ran(run, f"event {n} while the lock is held", codes=(0,))
        checks.that(run.seconds < LONGEST, f"event {n} took {run.seconds:.2f} s")
        checks.that(run.out == "", f"event {n} printed {run.out!r}")
    checks.note(f"longest wait {max(run.seconds for run in runs):.2f} s")
    checks.that(len(project.spooled()) == AT_ONCE, f"{len(project.spooled())} events wait, expected {AT_ONCE}")


def applied_when_free(project, checks, before=()):
    checks.ran(project.run(event("SubagentStart", agent_id="last")), "the event after", codes=(0,))
    agents = [agent["id"] for agent in project.live()["agents"]]
    expected = [*before, *(f"late-{n}" for n in range(AT_ONCE)), "last"]
    checks.that(agents == expected, f"applied {agents}, expected {expected}")
    checks.that(not (project.state / "spool").exists(), "spool/ is still there")
    for problem in books.problems(project):
        checks.that(False, problem)


@contextlib.contextmanager
def held(project):
    with open(project.state / ".lock", "r+b") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


@contextlib.contextmanager
def stopped_hook(project):
    """A real hook that is stopped between two of its writes, with the lock in its hands."""
    trace = ("strace", "-f", "-o", os.devnull, "-e", "trace=renameat2", "-e", "inject=renameat2:signal=STOP:when=1")
    command = [*trace, project.binary, "hook"]
    holder = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=project.env)
    try:
        holder.stdin.write(project.payload(event("SubagentStart")))
        holder.stdin.close()
        yield wait_until_stopped(holder.pid)
        holder.wait(10)
    finally:
        if holder.poll() is None:
            holder.kill()
            holder.wait()
        holder.stdout.close()
        holder.stderr.close()


def wait_until_stopped(parent):
    """The pid of the program that a tracer runs, once it is stopped."""
    for _ in range(200):
        for pid in pathlib.Path(f"/proc/{parent}/task/{parent}/children").read_text().split():
            state = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
            if state in "tT" and lock_is_held_by(pid):
                return int(pid)
        time.sleep(0.02)
    raise Skip("the hook could not be stopped while it holds the lock")


def lock_is_held_by(pid):
    return any(line.split()[4] == pid for line in pathlib.Path("/proc/locks").read_text().splitlines() if "FLOCK" in line)
