"""The launcher, where install scripts do not run: it does what the program does."""
import json
import os
import signal
import subprocess
import time

from bench import Failure, expect, is_native
from packages import NO_NODE, VERSION

START = {"hook_event_name": "SessionStart", "session_id": "s1", "source": "startup", "transcript_path": "/nowhere/s1.jsonl"}


def launched_commands_are_the_programs(bench):
    """Arguments, exit codes, both streams; and the hooks that it wires do not start Node."""
    bench.install_global("--ignore-scripts").works()
    expect("native", is_native(bench.command), False)
    bench.run(bench.command, "--version").says(VERSION)
    bench.run(bench.command, "no-such-command").fails("no-such-command", code=64)
    shown = bench.run(bench.command, "man", "install").works().stdout
    expect("a page", "hookkeeper" in shown and "install" in shown, True)
    bench.run("hookkeeper", "install", env={"PATH": bench.path_with(bench.command.parent)}).works()
    native = bench.package / "node_modules/@hookkeeper/linux-x64/bin/hookkeeper"
    expect("wired", bench.wired_programs(), {str(native)})
    bench.run(native, "--version", env=NO_NODE).says(VERSION)


def launched_hooks_know_their_client(bench):
    """Node stands between the client and the program, and is gone at once: the record names the client."""
    bench.install_global("--ignore-scripts").works()
    payload = json.dumps({**START, "cwd": str(bench.project)})
    bench.run(bench.command, "hook", stdin=payload).works()
    live = json.loads((bench.project / ".claude/state/session/live/s1.json").read_text())
    expect("the client", live["client"]["pid"], os.getpid())


def signals_reach_the_program(bench):
    """Who ends the launcher ends the program, and the launcher ends as the program did."""
    bench.install_global("--ignore-scripts").works()
    bench.run(bench.command, "hook", stdin=json.dumps({**START, "cwd": str(bench.project)})).works()
    native = bench.package / "node_modules/@hookkeeper/linux-x64/bin/hookkeeper"
    for sent in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        alone = ended_by(bench, native, sent, itself, itself)
        expect(f"the end by {sent}", ended_by(bench, bench.command, sent, itself, child_of), alone)
    killed = ended_by(bench, bench.command, signal.SIGKILL, child_of, child_of)
    expect("the end by SIGKILL", killed, -signal.SIGKILL)


def ended_by(bench, command, sent, target, program):
    """How a command that would go on ends when `target` of its process gets a signal; `program` of it is the program
    itself. Nothing is left of it."""
    environment = {"PATH": os.environ["PATH"], "HOME": str(bench.home)}
    with subprocess.Popen([str(command), "log", "--follow"], cwd=bench.project, env=environment,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdout.readline()
        wait_for(lambda: catches_signals(program(process.pid)))
        os.kill(target(process.pid), sent)
        process.communicate(timeout=60)  # Both streams end when nobody has them open any more.
    return process.returncode


def itself(pid):
    return pid


def catches_signals(pid):
    """Whether a process has its handlers: it takes some time to set them."""
    with open(f"/proc/{pid}/status") as status:
        caught = next(line.split()[1] for line in status if line.startswith("SigCgt:"))
    return int(caught, 16) >> (signal.SIGTERM - 1) & 1 == 1


def child_of(pid):
    def children():
        with open(f"/proc/{pid}/task/{pid}/children") as found:
            return found.read().split()

    return int(wait_for(children)[0])


def wait_for(what):
    for _ in range(400):
        if found := what():
            return found
        time.sleep(0.05)
    raise Failure("it did not come to that within 20 seconds")


def another_version_is_refused(bench):
    """Half of an update."""
    bench.install_global("--ignore-scripts").works()
    manifest = bench.package / "node_modules/@hookkeeper/linux-x64/package.json"
    manifest.write_text(json.dumps({**json.loads(manifest.read_text()), "version": "0.0.9"}))
    bench.run(bench.command, "--version").fails("@hookkeeper/linux-x64 is 0.0.9")
    manifest.write_text("{")
    bench.run(bench.command, "--version").fails("is not installed")


def a_broken_program_is_not_started(bench):
    """A shell would read it as a script, and end with 2, which blocks."""
    bench.install_global("--ignore-scripts").works()
    native = bench.package / "node_modules/@hookkeeper/linux-x64/bin/hookkeeper"
    content = bytearray(native.read_bytes())
    content[18] = 183
    native.write_bytes(content)
    bench.run(bench.command, "hook", stdin="{}").fails("does not run on linux-x64")
    native.write_bytes(b"")
    bench.run(bench.command, "hook", stdin="{}").fails("does not run on linux-x64")
    native.unlink()
    bench.run(bench.command, "hook", stdin="{}").fails("is not there")


def a_launcher_that_cannot_be_replaced_stays(bench):
    """It is said, and everything works."""
    bench.install_global("--ignore-scripts").works()
    (bench.package / "bin").chmod(0o555)
    ended = bench.run("node", "install.js", cwd=bench.package, **bench.as_nobody())
    ended.fails("it works, but is started through Node", code=0)
    expect("bin", os.listdir(bench.package / "bin"), ["hookkeeper"])
    bench.run(bench.command, "--version").says(VERSION)


TESTS = (launched_commands_are_the_programs, launched_hooks_know_their_client, signals_reach_the_program,
         another_version_is_refused, a_broken_program_is_not_started, a_launcher_that_cannot_be_replaced_stays)
