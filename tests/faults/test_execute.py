"""Executions: kills at every system call of `start`, `verify` and `merge`, of the program and of the git that it runs, then
`resume`: the end is that of a run that nobody interrupted."""

import json
import os
import pathlib
import pty
import re
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor

import calls
from support import Project, delete, needs_strace, test
from test_walk import ALL_ERRORS, ERRORS, IO

TASKS = ("L1-001", "L1-002")
STEPS = [("start", TASKS[0]), ("verify", TASKS[0]), ("merge", None)]
# What git does to the repository, by its first words; the rest only asks.
CHANGES = ("worktree add", "worktree remove", "merge-tree", "commit-tree", "merge ", "branch -D")
# Calls of git that leave something behind.
LEAVING = {"openat", "open", "write", "rename", "renameat", "renameat2", "unlink", "unlinkat", "mkdir", "rmdir", "link", "symlink",
           "close", "exit_group", "clone", "clone3", "vfork", "wait4"}
WHO = {f"GIT_{who}_{what}": value for who in ("AUTHOR", "COMMITTER")
       for what, value in (("NAME", "Dev"), ("EMAIL", "dev@example.com"), ("DATE", "2026-01-29T10:00:00Z"))}

# Stands in front of git. At the call that is named it traces git, or has it killed and then who started it.
GIT = """#!/bin/sh
words() {
  while :; do case $1 in -[Cc]) shift 2;; -*) shift;; *) break;; esac; done
  echo "$1 $2"
}
n=$(($(cat "$KILL_DIR/count" 2>/dev/null || echo 0) + 1))
echo $n > "$KILL_DIR/count"
echo "$n $(words "$@")" >> "$KILL_DIR/calls"
export PATH=$REAL_PATH
if [ "$n" = "$KILL_AT" ]; then
  [ -n "$TRACE" ] && exec strace -o "$TRACE" git "$@"
  strace -o /dev/null -e trace=$CALL -e inject=$CALL:signal=KILL:when=$WHEN git "$@"
  kill -9 $PPID
  exit 1
fi
exec git "$@"
"""


class Execution(Project):
    """A repository, a plan of two tasks, and a step that comes next."""

    def __init__(self, suite, step):
        super().__init__(suite.binary, suite.scratch)
        self.tasks = self.base / "tasks"
        self.bin = self.base / "bin"
        self.step = step
        self.env |= {**WHO, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
        self.env |= {"REAL_PATH": self.env["PATH"], "KILL_DIR": str(self.bin)}
        (self.root / "README").write_text("A shop.\n")
        self.git("init", "-q", "-b", "trunk")
        self.git("add", "-A")
        self.git("commit", "-q", "-m", "Begin")
        self.bin.mkdir()
        (self.bin / "git").write_text(GIT)
        (self.bin / "git").chmod(0o755)
        (self.tasks / "1-core").mkdir(parents=True)
        manifest = {"prd_slug": "shop", "tasks": []}
        for task in TASKS:
            file = f"1-core/{task}.xml"
            text = f"<task><meta><id>{task}</id></meta><verification><step>Run: test -s {task}.txt</step></verification></task>"
            (self.tasks / file).write_text(text)
            manifest["tasks"].append({"id": task, "layer": "1-core", "file": file})
        (self.tasks / "manifest.json").write_text(json.dumps(manifest))
        self.must("init")
        for what, task in STEPS[:STEPS.index(step)]:
            self.take(what, task)
        if step[0] == "verify":
            self.work(step[1])
        self.saved = self.base.with_name(self.base.name + ".saved")
        shutil.copytree(self.base, self.saved, symlinks=True)

    def put_back(self):
        delete(self.base)
        shutil.copytree(self.saved, self.base, symlinks=True)
        self.mark()

    def done(self):
        delete(self.saved)
        self.remove()

    def args(self, what, *more):
        return (*(("run-verify",) if what == "verify" else ("execute", what)), str(self.tasks), *(word for word in more if word))

    def must(self, what, *more):
        run = self.run(b"", args=self.args(what, *more))
        if run.code != 0:
            raise AssertionError(f"{what} {more}: {run}")
        return run.out

    def git(self, *args, cwd=None):
        done = subprocess.run(["git", *args], cwd=cwd or self.root, env=self.env, capture_output=True, check=True, text=True)
        return done.stdout.strip()

    def work(self, task):
        place = self.root / ".worktrees" / task
        if not (place / f"{task}.txt").exists():
            (place / f"{task}.txt").write_text(task)
            self.git("add", "-A", cwd=place)
            self.git("commit", "-q", "-m", task, cwd=place)

    def take(self, what, task):
        if what == "verify":
            self.work(task)
        self.must(what, task)

    def status(self, task):
        return json.loads((self.tasks / "execute-state.json").read_text())["tasks"][task]["status"]

    def go_on(self):
        for task in TASKS:
            if self.status(task) == "pending":
                self.must("start", task)
            if self.status(task) == "in_progress":
                self.take("verify", task)
            self.must("merge")

    def end(self):
        """What must be the same whatever happened: all but times and places."""
        text = (self.tasks / "execute-state.json").read_text().replace(str(self.base), "BASE")
        text = re.sub(r'"20[-0-9]+T[:0-9]+Z"', '"TIME"', text)
        text = re.sub(r'(seconds": )\d+', r"\1N", text)
        left = [path.name for path in (self.root / ".worktrees").glob("*")] + [path.name for path in self.tasks.glob("*.new")]
        refs = self.git("for-each-ref", "--format=%(refname) %(objectname)", "refs/heads")
        trees = self.git("worktree", "list", "--porcelain").count("worktree /")
        self.git("fsck", "--no-dangling")
        return {"state": text, "left": left, "refs": refs, "worktrees": trees, "checkout": self.git("status", "--porcelain"),
                "head": self.git("symbolic-ref", "HEAD"), "log": self.git("log", "--format=%H %s")}

    def behind(self, **more):
        """Runs the step with git behind the wrapper."""
        for name in ("count", "calls"):
            (self.bin / name).unlink(missing_ok=True)
        env = {"PATH": f"{self.bin}:{self.env['PATH']}", **more}
        return self.run(b"", args=self.args(*self.step), env=env)


def resumed(execution, checks, what, wanted):
    run = execution.run(b"", args=execution.args("resume"))
    if not checks.that(run.code == 0, f"{what}: resume: {run.err}"):
        return
    try:
        execution.go_on()
        is_now = execution.end()
    except (AssertionError, subprocess.CalledProcessError) as error:
        checks.that(False, f"{what}: {error}")
        return
    for key, value in wanted.items():
        checks.that(is_now[key] == value, f"{what}: {key} is {is_now[key]!r}, not {value!r}")


def spread(suite, step, faults, one):
    """Calls `one(execution, fault)` for all faults; every thread has an execution of its own."""
    count = os.cpu_count() or 2

    def share(own):
        execution = Execution(suite, step)
        for fault in own:
            execution.put_back()
            one(execution, fault)
        execution.done()

    with ThreadPoolExecutor(count) as pool:
        list(pool.map(share, [faults[n::count] for n in range(count)]))


def reference(suite, step):
    execution = Execution(suite, step)
    execution.take(*step)
    execution.go_on()
    wanted = execution.end()
    execution.put_back()
    return execution, wanted


@test
def execute_killed_at_every_system_call(suite, checks):
    needs_strace()
    for step in STEPS:
        clean, wanted = reference(suite, step)
        found = calls.of(clean, clean.args(*step))
        clean.done()
        faults = calls.thinned(suite, found, step=12)

        def one(execution, call):
            name, k, _ = call
            what = f"{step[0]}: killed at {name} {k}"
            run = calls.inject(execution, execution.args(*step), name, f"signal=KILL:when={k}")
            # How often it waits for a child differs from run to run.
            if run.code == 0:
                execution.go_on()
                return
            checks.that(run.code == -9, f"{what}: exit {run.code}: {run.err}")
            resumed(execution, checks, what, wanted)

        spread(suite, step, faults, one)


@test
def execute_killed_together_with_its_git(suite, checks):
    needs_strace()
    for step in STEPS:
        clean, wanted = reference(suite, step)
        clean.behind()
        lines = (clean.bin / "calls").read_text().splitlines()
        changing = [line.split(" ", 1) for line in lines if line.split(" ", 1)[1].startswith(CHANGES)]
        faults = []
        for at, words in changing:
            clean.put_back()
            trace = clean.base.with_name("trace")
            clean.behind(KILL_AT=at, TRACE=str(trace))
            counted = {}
            own = []
            for line in trace.read_text().splitlines():
                match = re.match(r"(\w+)\((.*)", line)
                if not match:
                    continue
                name = match[1]
                counted[name] = counted.get(name, 0) + 1
                if name in LEAVING and (name != "openat" or "O_CREAT" in line):
                    own.append((at, words, name, counted[name]))
            trace.unlink()
            faults += own if suite.full else own[:: max(1, len(own) // 8)]
        clean.done()
        if step[0] != "verify":
            checks.that(faults, f"{step[0]}: no git that changes anything")

        def one(execution, fault):
            at, words, name, k = fault
            what = f"{step[0]}: git {words} killed at {name} {k}"
            run = execution.behind(KILL_AT=at, CALL=name, WHEN=str(k))
            checks.that(run.code == -9, f"{what}: exit {run.code}: {run.err}")
            resumed(execution, checks, what, wanted)

        spread(suite, step, faults, one)


@test
def execute_errors_at_every_io_call(suite, checks):
    """What `fail` records is there or not, never half, and exit 0 means that it is there."""
    needs_strace()
    step = ("fail", TASKS[0], "--message", "no")
    before = ("verify", TASKS[0])
    clean = Execution(suite, before)
    found = [call for call in calls.of(clean, clean.args(*step)) if call[0] in IO]
    clean.done()
    errors = ALL_ERRORS if suite.full else ERRORS
    faults = [(call, error) for n, call in enumerate(found) for error in (errors if suite.full else [errors[n % len(errors)]])]

    def one(execution, fault):
        (name, k, _), error = fault
        what = f"fail: {error} at {name} {k}"
        run = calls.inject(execution, execution.args(*step), name, f"error={error}:when={k}")
        checks.that(run.code in (0, 1) and "panicked" not in run.err, f"{what}: {run}")
        status = execution.status(TASKS[0])
        checks.that(status in ("in_progress", "failed"), f"{what}: {status}")
        if run.code == 0:
            checks.that(status == "failed", f"{what}: exit 0, and nothing is recorded")
        if status == "in_progress":
            execution.must(*step)
        left = [path.name for path in pathlib.Path(execution.tasks).glob("*.new")]
        checks.that(not left, f"{what}: {left}")

    spread(suite, before, faults, one)


@test
def execute_verify_shows_its_commands_on_a_terminal(suite, checks):
    execution = Execution(suite, STEPS[1])
    task = execution.tasks / f"1-core/{TASKS[0]}.xml"
    task.write_text(task.read_text().replace("Run: ", "Run: echo work; echo trouble &gt;&amp;2; "))
    outside, inside = pty.openpty()
    streams = {"stdin": inside, "stdout": inside, "stderr": inside}
    done = subprocess.run([execution.binary, *execution.args(*STEPS[1])], cwd=execution.root, env=execution.env, **streams)
    os.close(inside)
    shown = b""
    try:
        while chunk := os.read(outside, 1 << 16):
            shown += chunk
    except OSError:
        pass  # Nobody has the other end any more.
    os.close(outside)
    lines = shown.decode().replace("\r", "").splitlines()
    checks.that(done.returncode == 0, f"exit {done.returncode}: {lines}")
    checks.that(lines[0].startswith("[1/1] echo work;"), f"no progress: {lines}")
    checks.that({"work", "trouble"} <= set(lines[1:3]), f"no output: {lines}")
    checks.that(any(line.startswith(f"Verified {TASKS[0]}: 1 command passed") for line in lines), f"no summary: {lines}")
    execution.done()
