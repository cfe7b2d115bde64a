#!/usr/bin/env python3
"""Several clones work on one execution over one remote, while things go wrong: commands and their gits
are killed, pushes are lost before and after they arrive, machines sleep for longer than a lease and wake
up, and no two clocks agree. At the end every task must be merged exactly once, on a base branch whose
every merge stands on the one before, and every clone must count the same.

    python3 tests/fleet/claims.py --binary PATH            # 3 clones, 12 tasks
    python3 tests/fleet/claims.py --binary PATH --full     # 8 clones, 100 tasks
"""

import argparse
import collections
import json
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from datetime import datetime, timedelta, timezone
from pathlib import Path

HERE = Path(__file__).resolve().parent
DEBUG = HERE.parent.parent / "target/x86_64-unknown-linux-gnu/debug/hookkeeper"
NAME = "shop"
BASE = "trunk"
# Seconds by which the clocks of the clones are wrong. Those that are ahead have only hookkeeper killed,
# not its git: files here are dated by the real clock, and a lock that git left would look old.
SKEW = [0, -3 * 3600, 2 * 86400, -86400, 5 * 3600, -1800, 400 * 86400, -7]


class Fleet:
    def __init__(self, options):
        self.options = options
        self.clones, self.tasks = (8, 100) if options.full else (3, 12)
        self.lease = 15 if options.full else 8
        self.dice = random.Random(options.seed)
        self.root = Path(tempfile.mkdtemp(prefix="hk-fleet-", dir=options.dir))
        self.remote = self.root / "remote.git"
        self.counts = collections.Counter()
        self.lock = threading.Lock()
        self.errors = []
        self.done = threading.Event()
        self.trouble = threading.Event()
        self.trouble.set()
        self.env = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.root),
            "GIT_CONFIG_NOSYSTEM": "1",
            "CLAUDE_PID": "1",
            "LC_ALL": "C.UTF-8",
        }

    # -- what there is

    def git(self, where, *args, check=True):
        done = subprocess.run(["git", "-C", str(where), *args], env=self.env, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        if check and done.returncode:
            raise RuntimeError(f"git {args}: {done.stderr}")
        return done.stdout.strip()

    def ids(self):
        return [f"t{n:03}" for n in range(self.tasks)]

    def make(self):
        (self.root / ".gitconfig").write_text(
            "[user]\n name = Fleet\n email = fleet@localhost\n[init]\n defaultBranch = trunk\n"
            "[gc]\n auto = 0\n[receive]\n autogc = false\n[protocol]\n version = 2\n")
        subprocess.run(["git", "init", "-q", "--bare", str(self.remote)], env=self.env, check=True)
        seed = self.root / "seed"
        subprocess.run(["git", "init", "-q", str(seed)], env=self.env, check=True)
        tasks, half = [], self.tasks // 2
        for n, task in enumerate(self.ids()):
            layer = "1-core" if n < half else "2-api"
            needs = [f"t{n - 3:03}"] if n % half >= half - 3 else []
            (seed / "tasks" / layer).mkdir(parents=True, exist_ok=True)
            (seed / "tasks" / layer / f"{task}.xml").write_text(
                f"<task><meta><id>{task}</id><name>Do {task}</name><layer>{layer}</layer>"
                f"<priority>{n % 4}</priority></meta><objective>Write done/{task}</objective>"
                f"<verification><step>Run: sleep 0.1; test -s done/{task}</step></verification></task>\n")
            tasks.append({"id": task, "layer": layer, "name": f"Do {task}",
                          "file": f"{layer}/{task}.xml", "depends_on": needs})
        (seed / "tasks/manifest.json").write_text(json.dumps({"prd_slug": NAME, "tasks": tasks}))
        (seed / "shared.txt").write_text("nobody yet\n")
        self.git(seed, "add", "-A")
        self.git(seed, "commit", "-qm", "The plan")
        self.git(seed, "push", "-q", str(self.remote), BASE)
        self.start_daemon()
        for n in range(self.clones):
            url = f"git://127.0.0.1:{self.port}/remote.git" if n == 0 else str(self.remote)
            self.git(self.root, "clone", "-q", url, str(self.clone(n)))
        self.make_hooks()

    def clone(self, n):
        return self.root / f"clone{n}"

    def start_daemon(self):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.daemon = subprocess.Popen(
            ["git", "daemon", "--reuseaddr", "--listen=127.0.0.1", f"--port={self.port}", "--export-all",
             "--enable=receive-pack", f"--base-path={self.root}", str(self.root)],
            env=self.env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for _ in range(100):
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
                return
            except OSError:
                time.sleep(0.05)
        raise RuntimeError("git daemon does not listen")

    def make_hooks(self):
        """A push that never arrives, and one that arrives while its sender hears of an error."""
        noted = self.root / "lost"
        noted.mkdir()
        roll = "[ $(( $(od -An -N2 -tu2 /dev/urandom) % 1000 )) -lt {chance} ]"
        trouble = f"[ -e {self.root}/calm ] && exit 0\n"
        hooks = {
            "pre-receive": f"#!/bin/sh\n{trouble}cat >/dev/null\n"
                           f"if {roll.format(chance=25)}; then mktemp {noted}/before.XXXXXX >/dev/null; kill -9 $PPID; fi\n"
                           f"if {roll.format(chance=15)}; then mktemp {noted}/refused.XXXXXX >/dev/null; exit 1; fi\nexit 0\n",
            "reference-transaction": f"#!/bin/sh\n{trouble}cat >/dev/null\n[ \"$1\" = committed ] || exit 0\n"
                                     f"if {roll.format(chance=30)}; then mktemp {noted}/after.XXXXXX >/dev/null; kill -9 $PPID; fi\nexit 0\n",
        }
        for name, text in hooks.items():
            hook = self.remote / "hooks" / name
            hook.write_text(text)
            hook.chmod(0o755)

    # -- what is done

    def run(self, n, *args, kill=0.0):
        """A command in a clone, by its own clock; perhaps it is killed on its way."""
        now = datetime.now(timezone.utc) + timedelta(seconds=SKEW[n % len(SKEW)])
        env = {**self.env, "HOOKKEEPER_HOST": f"host{n}", "USER": f"user{n}",
               "HOOKKEEPER_FIXED_TIME": now.strftime("from %Y-%m-%dT%H:%M:%SZ")}
        process = subprocess.Popen([str(self.options.binary), *args], cwd=self.clone(n), env=env, text=True,
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        timer = None
        if kill and self.trouble.is_set() and self.dice.random() < kill:
            timer = threading.Timer(self.dice.random() * 0.6, self.kill, (n, process))
            timer.start()
        try:
            out, err = process.communicate(timeout=240)
        except subprocess.TimeoutExpired:
            process.kill()
            out, err = process.communicate()
            self.complain(f"clone {n}: {args} hung: {out} {err}")
        if timer:
            timer.cancel()
        if process.returncode not in (0, 1, -9) or "panicked" in err:
            self.complain(f"clone {n}: {args}: {process.returncode} {err}")
        with self.lock:
            self.counts["commands"] += 1
            self.counts["killed"] += process.returncode == -9
            self.counts["told that others have it"] += "works on it" in err or "has verified it" in err
        if self.options.verbose:
            print(f"{n} {' '.join(args)} -> {process.returncode} {err.strip()}", flush=True)
        return process.returncode, out, err

    def kill(self, n, process):
        victims = [process.pid]
        if SKEW[n % len(SKEW)] <= 0 and self.dice.random() < 0.4:
            try:
                children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
                victims += [int(child) for child in children]
            except OSError:
                pass
        for pid in victims:
            try:
                os.kill(pid, signal.SIGKILL)
            except OSError:
                pass

    def complain(self, text):
        with self.lock:
            self.errors.append(text)

    def work(self, n):
        """An agent of a clone, until all is merged. After a kill the clone is put right, or not."""
        dice = random.Random(f"{self.options.seed} {n}")
        time.sleep(dice.random() * 0.5)
        while not self.done.is_set():
            code, out, _ = self.run(n, "execute", "next", "tasks", "--json")
            if code:
                self.after_trouble(n, dice)
                continue
            batch = json.loads(out)
            if batch["status"] == "completed":
                return
            ready = [t["id"] for t in batch["tasks"] if t["status"] in ("pending", "failed")]
            mine = [t["id"] for t in batch["tasks"] if t["status"] == "in_progress"]
            if mine and dice.random() < 0.7:
                self.go_on(n, dice, dice.choice(mine))
            elif ready:
                self.begin(n, dice, dice.choice(ready))
            else:
                if self.run(n, "execute", "merge", "tasks", kill=0.08)[0] == -9:
                    self.after_trouble(n, dice)
                time.sleep(dice.random() * 0.5)

    def after_trouble(self, n, dice):
        if dice.random() < 0.3:
            with self.lock:
                self.counts["machines that slept for more than a lease"] += 1
            time.sleep(self.lease * 2 + 2)
        if dice.random() < 0.7:
            self.run(n, "execute", "resume", "tasks", kill=0.1)
        time.sleep(0.2)

    def begin(self, n, dice, task):
        code, _, _ = self.run(n, "execute", "start", "tasks", task, kill=0.08)
        if code == -9:
            return self.after_trouble(n, dice)
        if code == 0:
            self.go_on(n, dice, task)

    def go_on(self, n, dice, task):
        tree = self.clone(n) / ".worktrees" / task
        if not tree.is_dir():
            self.run(n, "execute", "resume", "tasks")
            return
        if self.trouble.is_set() and dice.random() < 0.04:
            with self.lock:
                self.counts["machines that slept for more than a lease"] += 1
            time.sleep(self.lease * 2 + 2)
        self.do_the_work(n, task, tree, dice)
        if task.endswith("7") and dice.random() < 0.3:
            code = self.run(n, "execute", "fail", "tasks", task, "--message", f"no luck {n}",
                            "--feedback", "try again", kill=0.08)[0]
        else:
            code = self.run(n, "run-verify", "tasks", task, kill=0.08)[0]
        if code == -9:
            return self.after_trouble(n, dice)
        if dice.random() < 0.6 and self.run(n, "execute", "merge", "tasks", kill=0.08)[0] == -9:
            self.after_trouble(n, dice)

    def do_the_work(self, n, task, tree, dice):
        """Begins anew on the base branch, so that a conflict of the last attempt is gone."""
        git = lambda *args: self.git(tree, *args, check=False)
        git("fetch", "-q", "origin", BASE)
        git("reset", "-q", "--hard", f"refs/remotes/origin/{BASE}")
        if git("symbolic-ref", "--short", "HEAD") != f"worktree-{task}":
            return
        (tree / "done").mkdir(exist_ok=True)
        (tree / "done" / task).write_text(f"{task} by {n}, {dice.random()}\n")
        if task.endswith("3"):
            (tree / "shared.txt").write_text(f"{task} by {n}\n")
        git("add", "-A")
        git("commit", "-qm", f"{task} by clone {n}")

    def watch(self, limit):
        """Ends the run when the base branch has everything, or when nothing comes any more."""
        ends = time.monotonic() + limit
        while time.monotonic() < ends:
            merged = len(self.merges())
            if merged >= self.tasks:
                self.done.set()
                return True
            if self.options.full and merged % 10 == 0 and not self.options.verbose:
                print(f"{merged} of {self.tasks} merged", file=sys.stderr, flush=True)
            time.sleep(1)
        self.done.set()
        return False

    # -- what must hold

    def merges(self):
        log = self.git(self.remote, "log", "--first-parent", "--reverse",
                       "--format=%H %P %(trailers:key=Task-Id,valueonly,separator=%x2C)", BASE)
        rows = [line.split(" ") for line in log.splitlines()]
        return [(row[0], row[1:-1], row[-1]) for row in rows if row[-1]]

    def claims(self, task):
        log = self.git(self.remote, "log", "--first-parent", "--reverse", "--format=%ct%x1f%B%x1e",
                       f"refs/hookkeeper/claims/{NAME}/{task}")
        found = []
        for record in filter(str.strip, log.split("\x1e")):
            at, message = record.strip().split("\x1f")
            line = next(line for line in message.splitlines() if line.startswith("{"))
            found.append((int(at), json.loads(line)))
        return found

    def check_claims(self, check):
        allowed = {("held", "held"), ("held", "verified"), ("held", "failed"), ("held", "free"),
                   ("free", "held"), ("failed", "held"), ("verified", "merged"), ("verified", "failed"),
                   ("verified", "verified"), ("failed", "failed"), ("failed", "verified"), ("failed", "free"),
                   ("free", "verified"), ("verified", "held"), ("free", "free"), ("free", "failed")}
        odd, early, foreign, twice = [], [], [], []
        for task in self.ids():
            history = self.claims(task)
            states = [claim["state"] for _, claim in history]
            twice += [task] if states.count("merged") != 1 or states[-1] != "merged" else []
            for (then, before), (now, after) in zip(history, history[1:]):
                step = (before["state"], after["state"])
                odd += [(task, step)] if step not in allowed else []
                changed = before["clone_id"] != after["clone_id"]
                if before["state"] == "held" and changed:
                    self.counts["take-overs"] += 1
                    foreign += [(task, step)] if after["state"] != "held" else []
                    early += [(task, now - then)] if now - then < self.lease - 1 else []
            self.counts["claims"] += len(history)
            self.counts["attempts"] += history[-1][1]["attempts"]
        check("every step of every claim is one that the protocol has", not odd, odd)
        check("nobody ends what another clone holds", not foreign, foreign)
        check("nothing is taken over before a lease is over", not early, early)
        check("the history of every claim ends with one merge", not twice, twice)

    def check_base(self, check):
        merges = self.merges()
        ids = [task for _, _, task in merges]
        check("every task is merged", sorted(set(ids)) == self.ids(), sorted(set(self.ids()) - set(ids)))
        check("no task is merged twice", len(ids) == len(set(ids)), collections.Counter(ids).most_common(3))
        chain = self.git(self.remote, "rev-list", "--first-parent", "--reverse", BASE).splitlines()
        before = dict(zip(chain[1:], chain))
        straight = all(len(parents) == 2 and parents[0] == before[commit] for commit, parents, _ in merges)
        check("every merge stands on the base branch before it", straight and len(chain) == self.tasks + 1,
              len(chain))
        files = self.git(self.remote, "ls-tree", "--name-only", BASE, "done/").split()
        check("the work of every task is there", files == [f"done/{task}" for task in self.ids()], files)
        broken = self.git(self.remote, "fsck", "--no-dangling", "--connectivity-only", check=False)
        check("the remote is whole", broken == "", broken)

    def check_clones(self, check):
        commits = sum(
            int(self.git(self.remote, "rev-list", "--count", f"{parents[0]}..{parents[1]}"))
            for _, parents, _ in self.merges())
        for n in range(self.clones):
            for what in ("resume", "merge"):
                code, out, err = self.run(n, "execute", what, "tasks")
                check(f"clone {n}: {what}", code == 0, out + err)
            code, out, err = self.run(n, "execute", "status", "tasks", "--json")
            state = json.loads(out) if code == 0 else {"metrics": {}, "merge_queue": [], "layers": {}}
            metrics = state["metrics"]
            wanted = {"total_tasks": self.tasks, "completed_tasks": self.tasks, "failed_tasks": 0,
                      "total_attempts": self.counts["attempts"], "total_commits": commits}
            found = {name: metrics.get(name) for name in wanted}
            check(f"clone {n}: every count is right", found == wanted, f"{found}, not {wanted} {err}")
            queue = [entry["task_id"] for entry in state["merge_queue"]]
            check(f"clone {n}: the queue is the order of the base branch",
                  queue == [task for _, _, task in self.merges()], queue)
            check(f"clone {n}: all layers are complete", state.get("status") == "completed"
                  and all(layer["status"] == "completed" for layer in state["layers"].values()), state["layers"])
        code, out, err = self.run(self.clones - 1, "fleet", "status", "--json")
        shown = json.loads(out)["executions"][0] if code == 0 else {}
        check("fleet status knows it", (shown.get("merged"), shown.get("held"), shown.get("verified"))
              == (self.tasks, 0, 0), err or shown)

    def everything(self):
        passed, failed = 0, []

        def check(name, good, seen=""):
            nonlocal passed
            if good:
                passed += 1
            else:
                failed.append(name)
                print(f"FAILED {name}: {str(seen)[:1500]}")

        began = time.monotonic()
        self.make()
        starters = [threading.Thread(target=self.run, args=(
            n, "execute", "init", "tasks", "--remote", "origin", "--lease", f"{self.lease}s"))
            for n in range(self.clones)]
        [thread.start() for thread in starters]
        [thread.join() for thread in starters]
        for n in range(self.clones):
            while not (self.clone(n) / "tasks/execute-state.json").exists():
                self.run(n, "execute", "init", "tasks", "--remote", "origin", "--lease", f"{self.lease}s")
        agents = list(range(self.clones)) + [1]
        threads = [threading.Thread(target=self.work, args=(n,)) for n in agents]
        [thread.start() for thread in threads]
        in_time = self.watch(1500 if self.options.full else 180)
        took = time.monotonic() - began
        check("all is merged in time", in_time, f"{len(self.merges())} of {self.tasks}")
        [thread.join() for thread in threads]
        # From here on nothing goes wrong any more.
        self.trouble.clear()
        (self.root / "calm").touch()
        self.check_base(check)
        self.check_claims(check)
        self.check_clones(check)
        check("no command fell over", not self.errors, self.errors[:3])
        lost = collections.Counter(path.name.split(".")[0] for path in (self.root / "lost").iterdir())
        print(f"{self.clones} clones, {self.tasks} tasks, lease {self.lease} s, {took:.0f} s until the last merge, "
              f"seed {self.options.seed}")
        for name, count in sorted(self.counts.items()):
            print(f"  {count:6} {name}")
        for name, words in (("before", "pushes that died before they arrived"), ("refused", "pushes that a hook refused"),
                            ("after", "pushes that arrived while their sender saw an error")):
            print(f"  {lost[name]:6} {words}")
        print(f"{passed} passed, {len(failed)} failed")
        return not failed

    def end(self):
        self.daemon.terminate()
        self.daemon.wait()
        if not self.options.keep:
            shutil.rmtree(self.root, ignore_errors=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", type=Path, default=DEBUG)
    parser.add_argument("--full", action="store_true", help="8 clones, 100 tasks")
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--dir", help="where the clones are made")
    parser.add_argument("--keep", action="store_true", help="leave them there")
    parser.add_argument("--verbose", action="store_true")
    options = parser.parse_args()
    options.binary = options.binary.resolve()
    fleet = Fleet(options)
    try:
        return 0 if fleet.everything() else 1
    finally:
        fleet.end()


if __name__ == "__main__":
    sys.exit(main())
