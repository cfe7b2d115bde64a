"""Runs the real Claude Code client, headless, against a scripted model, so that real hooks fire.

The client is an npm package (about 350 MB), installed once. Its key is a placeholder and its model is on
loopback. The project's own .claude/settings.json decides which hooks run.
"""
import fcntl
import json
import os
import shutil
import signal
import socket
import struct
import subprocess
import sys
import threading
from pathlib import Path

from scripted_api import ScriptedApi

VERSION = os.environ.get("CLAUDE_CLIENT_VERSION", "2.1.327")
TURN_SECONDS = 60
INSTALL_SECONDS = 600
INSIDE = "HOOKKEEPER_TEST_LOOPBACK_ONLY"


class NoClient(Exception):
    """The client cannot be had on this machine."""


def find_client():
    """The client's program, installed from the npm registry if it is not there yet. Each version has its directory."""
    root = Path(os.environ.get("CLAUDE_CLIENT_DIR") or Path.home() / ".cache/claude-client") / VERSION
    exe = root / "node_modules/.bin/claude"
    if not exe.exists():
        _install(root)
    if not exe.exists():
        raise NoClient(f"npm left no client in {root}")
    return exe.resolve()


def _install(root):
    if not shutil.which("npm"):
        raise NoClient("npm is not installed")
    root.mkdir(parents=True, exist_ok=True)
    command = ["npm", "install", "--loglevel=error", "--no-audit", "--no-fund", "--fetch-retries=1",
               "--fetch-retry-mintimeout=1000", "--prefix", str(root), f"@anthropic-ai/claude-code@{VERSION}"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=INSTALL_SECONDS)
    except subprocess.TimeoutExpired:
        raise NoClient(f"npm install took longer than {INSTALL_SECONDS} s") from None
    if done.returncode:
        raise NoClient(f"npm install failed: {' '.join(done.stderr.split())[:200]}")


def leave_the_network(arguments):
    """Starts this program again in a network namespace where loopback is all there is."""
    if os.environ.get(INSIDE):
        _raise_loopback()
        return
    unshare = ["unshare", "-n"] if os.geteuid() == 0 else ["unshare", "-rn"]
    if not shutil.which("unshare") or subprocess.run([*unshare, "true"], capture_output=True).returncode:
        print("no network namespace can be made here: the client runs on this machine's own network")
        return
    sys.stdout.flush()
    command = [*unshare, sys.executable, *arguments]
    os.execvpe(command[0], command, {**os.environ, INSIDE: "1"})


def _raise_loopback():
    set_flags, up_and_running = 0x8914, 0x41
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, set_flags, struct.pack("16sh14x", b"lo", up_and_running))


class Client:
    """One process of the client. Several prompts are said one after another, turn by turn."""

    def __init__(self, exe, project, home, out, prompts, rules=(), args=(), env=None, asks=False):
        self.prompts = prompts
        self.out = out
        self.events = []  # The client's own account of what it did, line by line.
        self.killed = False
        self._turns = threading.Semaphore(0)
        home.mkdir(parents=True, exist_ok=True)
        self.api = ScriptedApi(rules, out / "requests")
        self._errors = open(out / "client.err", "wb")
        self.process = subprocess.Popen(
            [exe, *_arguments(prompts, asks), *args], cwd=project, env={**_environment(home, self.api.url), **(env or {})},
            stdin=subprocess.PIPE if len(prompts) > 1 else subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=self._errors, start_new_session=True)
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    @property
    def requests(self):
        return self.api.requests

    @property
    def session_id(self):
        """The first session's id. Events before `init` carry an id that a resumed session drops again."""
        return next((event["session_id"] for event in self.events if event.get("subtype") == "init"), None)

    @property
    def results(self):
        """How each turn ended."""
        return [event for event in self.events if event.get("type") == "result"]

    @property
    def stderr(self):
        return (self.out / "client.err").read_text(errors="replace")

    def finish(self):
        """Says every prompt, waits for the end, returns self."""
        try:
            if self.process.stdin:
                for prompt in self.prompts:
                    self._say(prompt)
                self.process.stdin.close()
            self.process.wait(TURN_SECONDS)
        except subprocess.TimeoutExpired:
            raise TimeoutError(f"the client did not end within {TURN_SECONDS} s; see {self.out}") from None
        except BrokenPipeError:
            pass  # It ended early; what it lacks is told below.
        finally:
            self._close()
        if len(self.results) < len(self.prompts):
            raise RuntimeError(f"the client ended {len(self.results)} of {len(self.prompts)} turns: {self.stderr}")
        return self

    def kill(self):
        """SIGKILL: no SessionEnd, no clean-up. What the client had started is ended too."""
        self.killed = True
        self._close()

    def _say(self, prompt):
        message = {"type": "user", "message": {"role": "user", "content": prompt}}
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()
        if not self._turns.acquire(timeout=TURN_SECONDS):
            raise TimeoutError(f"no end of the turn {prompt!r} within {TURN_SECONDS} s; see {self.out}")

    def _read(self):
        with open(self.out / "client.jsonl", "wb") as copy:
            for line in self.process.stdout:
                copy.write(line)
                if not line.endswith(b"\n"):
                    break  # It was killed in the middle of a line.
                event = json.loads(line)
                self.events.append(event)
                if event.get("type") == "result":
                    self._turns.release()
        self._turns.release()  # No turn comes any more, so nobody has to wait for one.

    def _close(self):
        if self.process.poll() is None:
            children = descendants(self.process.pid)
            self.process.kill()
            self.process.wait()
            for pid in children:
                _end(pid)
        self._reader.join(5)
        self._errors.close()
        self.api.stop()


def _arguments(prompts, asks):
    """`asks`: the default permission mode. Nobody is there to answer, so what would be asked is denied."""
    options = ["--output-format", "stream-json", "--verbose", "--include-hook-events"]
    options += [] if asks else ["--dangerously-skip-permissions"]
    if len(prompts) > 1:
        return [*options, "--input-format", "stream-json", "-p"]
    return [*options, "-p", *prompts]


def _environment(home, url):
    return {"PATH": os.environ["PATH"], "HOME": str(home), "CLAUDE_CODE_TMPDIR": str(home), "TERM": "xterm",
            "LANG": "C.UTF-8", "IS_SANDBOX": "1",
            "ANTHROPIC_API_KEY": "placeholder-not-a-key", "ANTHROPIC_BASE_URL": url,
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "DISABLE_TELEMETRY": "1",
            "DISABLE_AUTOUPDATER": "1", "DISABLE_ERROR_REPORTING": "1", "CLAUDE_CODE_MAX_RETRIES": "0"}


def descendants(pid):
    """The processes below one, as far as /proc shows them."""
    parents = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            parents[int(stat.parent.name)] = int(stat.read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue
    found = [pid]
    for known in found:
        found.extend(child for child, parent in parents.items() if parent == known)
    return found[1:]


def _end(pid):
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
