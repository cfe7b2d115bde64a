"""Payloads that come slowly, never, broken, huge or with the wrong types."""

import os
import subprocess
import time

from support import EVENTS, Run, event, test

MEGABYTE = 1 << 20
MOST_MEMORY = 64 * MEGABYTE
# A second of patience, and a busy machine.
SILENCE = 1.5


@test
def stdin_ends_oddly(suite, checks):
    project = suite.project()
    whole = project.payload(event("SubagentStart"))
    cases = {
        "empty": (b"", (1,)),
        "one newline": (b"\n", (1,)),
        "no newline": (whole.rstrip(b"\n"), (0,)),
        "CRLF": (whole.rstrip(b"\n") + b"\r\n", (0,)),
        "cut off": (whole[:-20], (1,)),
        "two objects": (whole + whole, (0, 1)),
        "text": (b"hello\n", (1,)),
        "null": (b"null\n", (1,)),
        "a list": (b"[1]\n", (1,)),
        "a NUL byte": (b"\0", (1,)),
        "a byte order mark": (b"\xef\xbb\xbf" + whole, (0,)),
    }
    for what, (payload, codes) in cases.items():
        checks.ran(project.run(payload), what, codes)
    for what, redirect in [("closed stdin", "<&-"), ("all streams closed", "<&- >&- 2>&-"), ("closed stderr", "2>&-")]:
        run = project.run(whole, prefix=("sh", "-c", f'exec "$0" "$@" {redirect}'))
        checks.that(run.code in (0, 1), f"{what}: exit {run.code}: {run.err!r}")
        checks.that("panicked" not in run.err, f"{what}: {run.err!r}")
    reader_gone = project.run(event("PostToolUseFailure"), prefix=("sh", "-c", '"$0" "$@" | true'))
    checks.ran(reader_gone, "nobody reads the reply", (0,))


@test
def stdin_is_slow(suite, checks):
    project = suite.project()
    small = b'{"session_id":"s","hook_event_name":"SubagentStart","agent_id":"a1"}\n'
    run = dribble(project, [bytes([byte]) for byte in small], pause=0.01)
    checks.ran(run, "one byte per 10 ms", (0,))
    big = project.payload(event("PostToolUse", tool_input={"file_path": "/x", "content": "y" * 100_000}))
    for what, payload in [("small", small), ("large", big)]:
        run = dribble(project, [payload], close=False)
        checks.ran(run, f"{what}, never closed after the newline", (0,))
        checks.that(run.seconds < SILENCE, f"{what}, never closed: took {run.seconds:.2f} s")
    for what, pieces in [("half a payload, then silence", [small[:30]]), ("nothing at all", []), ("a large half", [big[:70_000]])]:
        run = dribble(project, pieces, close=False)
        checks.ran(run, what, (1,))
        checks.that(run.seconds < SILENCE, f"{what}: took {run.seconds:.2f} s")


@test
def stdin_is_huge(suite, checks):
    project = suite.project()
    head = project.payload(event("PostToolUse")).rstrip(b"}\n") + b',"content":"'
    for what, size, end, codes in [
        ("100 MB", 100 * MEGABYTE, b'"}\n', (1,)),
        ("100 MB without an end", 100 * MEGABYTE, b"", (1,)),
        ("15 MB", 15 * MEGABYTE, b'"}\n', (0,)),
    ]:
        run, memory = measured(project, [head, *([b"x" * MEGABYTE] * (size // MEGABYTE)), end])
        checks.ran(run, what, codes)
        checks.that(memory < MOST_MEMORY, f"{what}: {memory / MEGABYTE:.0f} MB of memory")
        checks.note(f"{what}: {memory / MEGABYTE:.0f} MB, {run.seconds:.2f} s")
    kept = sorted((project.state / "rejected").iterdir())
    checks.that(all(path.stat().st_size <= MEGABYTE for path in kept), "a rejected payload is larger than 1 MB")
    for _ in range(25):
        project.run(b"{")
    kept = list((project.state / "rejected").iterdir())
    checks.that(len(kept) <= 20, f"{len(kept)} rejected payloads are kept")


@test
def stdin_is_malformed(suite, checks):
    project = suite.project()
    whole = project.payload(event("SubagentStop")).rstrip(b"}\n")
    deep = b"[" * 100_000 + b"]" * 100_000
    cases = {
        "invalid UTF-8 in a value": (whole + b',"x":"\xff\xfe"}\n', (0, 1)),
        "invalid UTF-8 in a key": (whole + b',"\xc3\x28":1}\n', (0, 1)),
        "invalid UTF-8 alone": (b"\xff\xfe\xfd\n", (1,)),
        "half a surrogate pair": (whole + b',"x":"\\ud83d"}\n', (0,)),
        "depth 100,000": (whole + b',"x":' + deep + b"}\n", (0, 1)),
        "depth 100,000 in tool_input": (whole + b',"tool_input":' + deep + b"}\n", (0, 1)),
        "objects to depth 100,000": (whole + b',"x":' + b'{"a":' * 100_000 + b"1" + b"}" * 100_000 + b"}\n", (0, 1)),
        "unclosed depth": (b"[" * 1_000_000, (1,)),
        "duplicate keys": (whole + b',"agent_id":"other","agent_id":"last"}\n', (0,)),
        "a huge number": (whole + b',"duration_ms":1e999,"x":-0,"y":123456789012345678901234567890}\n', (0,)),
        "trailing garbage": (whole + b"} and more\n", (1,)),
        "a line break in the event's name": (b'{"session_id":"s","hook_event_name":"Stop\\nhookkeeper: fine"}\n', (0, 1)),
    }
    for what, (payload, codes) in cases.items():
        checks.ran(project.run(payload), what, codes)
    checks.that(project.read("agents/results/last.json") is not None, "of duplicate keys the last one does not count")
    contradiction = project.run(event("Stop"), args=("hook", "SessionEnd"))
    checks.ran(contradiction, "an event that contradicts the command", (1,))
    name = {"session_id": "s", "hook_event_name": "No\nsuch\nevent" * 1000}
    checks.ran(project.run(name, args=("hook", "Stop")), "a contradiction with line breaks", (1,))
    checks.ran(project.run(event("Stop", hook_event_name="PostToolBatch")), "an event that is not ours", (0,))


@test
def stdin_with_wrong_types(suite, checks):
    """A wrong type in an optional field is a field that is not there."""
    wrong = [None, True, 7, -1.5, "", "text", [], [1, "a", None], {}, {"a": {"b": []}}, "x" * 5000, [[[]]]]
    required = {"SubagentStart": {"agent_id"}, "SubagentStop": {"agent_id"}}
    common = {"session_id", "hook_event_name"}
    optional = {
        "prompt_id", "permission_mode", "effort", "transcript_path", "cwd", "agent_id", "agent_type", "tool_input",
        "tool_response", "tool_name", "background_tasks", "session_crons", "last_assistant_message", "error",
        "is_interrupt", "duration_ms", "trigger", "custom_instructions", "compact_summary", "source", "reason",
        "prompt", "command_name", "agent_transcript_path", "stop_hook_active", "model",
    }
    cases = [
        (name, key, value)
        for name in EVENTS
        for key in sorted((optional | event(name).keys()) - common - required.get(name, set()))
        for value in wrong[:: suite.pick(3, 1)]
    ]

    def one(project, case):
        name, key, value = case
        payload = event(name) | {key: value}
        checks.ran(project.run(payload), f"{name} with {key} = {str(value)[:40]!r}", (0,))

    suite.parallel(one, cases)


def dribble(project, pieces, pause=0.0, close=True):
    """Sends pieces with pauses; without `close` the stream stays open until the program ends."""
    begun = time.monotonic()
    process = subprocess.Popen(
        [project.binary, "hook"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        env=project.env, cwd=project.root,
    )
    for piece in pieces:
        process.stdin.write(piece)
        process.stdin.flush()
        time.sleep(pause)
    if close:
        process.stdin.close()
    try:
        code = process.wait(10)
    except subprocess.TimeoutExpired:
        process.kill()
        code = process.wait()
    spent = time.monotonic() - begun
    with process.stdout as out, process.stderr as err:
        run = Run(code, out.read().decode(), err.read().decode(), spent)
    if not close:
        process.stdin.close()
    return run


def measured(project, pieces):
    """A run with its peak of memory in bytes."""
    begun = time.monotonic()
    errors = project.base / "stderr"
    with open(errors, "wb") as err:
        process = subprocess.Popen(
            [project.binary, "hook"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=err,
            env=project.env, cwd=project.root,
        )
        try:
            for piece in pieces:
                process.stdin.write(piece)
            process.stdin.close()
        except BrokenPipeError:
            pass
        _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    run = Run(process.returncode, "", errors.read_text(), time.monotonic() - begun)
    return run, usage.ru_maxrss * 1024
