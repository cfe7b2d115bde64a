#!/usr/bin/env python3
"""How fast `hookkeeper export flush` is, and how large what it sends: python3 benches/export.py --binary PATH

10,000 lines of a journal (tool calls, prompts, agents, errors, as sessions have them) go to a sink on loopback.
"""
import argparse
import gzip
import json
import os
import resource
import subprocess
import tempfile
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

LINES = 10_000


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--binary", type=Path, required=True)
    binary = parser.parse_args().binary.resolve()
    for packs in ("off", "on"):
        bodies = []
        server = ThreadingHTTPServer(("127.0.0.1", 0), handler(bodies))
        threading.Thread(target=server.serve_forever, daemon=True).start()
        with tempfile.TemporaryDirectory(prefix="hookkeeper-bench-") as home:
            measure(binary, Path(home), server.server_port, packs, bodies)
        server.shutdown()


def handler(bodies):
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        # One packet for an answer: with two, the second would wait for the other side's delayed acknowledgement.
        wbufsize = 1 << 16

        def do_POST(self):
            bodies.append((self.path, self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(200)
            self.send_header("Content-Length", "2")
            self.end_headers()
            self.wfile.write(b"{}")

        def log_message(self, *_):
            pass

    return Handler


def measure(binary, home, port, packs, bodies):
    project = home / "shop"
    project.mkdir()
    environment = {"HOME": str(home), "PATH": os.environ["PATH"], "CLAUDE_PID": "1", "CLAUDE_PROJECT_DIR": str(project),
                   "HOOKKEEPER_OTLP_ENDPOINT": f"http://127.0.0.1:{port}", "HOOKKEEPER_OTLP_GZIP": packs}
    start = {"session_id": "bench", "hook_event_name": "SessionStart", "cwd": str(project), "source": "startup"}
    subprocess.run([binary, "hook"], input=json.dumps(start) + "\n", text=True, cwd=project, env=environment, check=True)
    subprocess.run([binary, "export", "flush"], cwd=project, env=environment, check=True, capture_output=True)
    bodies.clear()
    journal = project / ".claude/state/journal/bench.jsonl"
    lines = [json.dumps(line(n), separators=(",", ":")) for n in range(LINES)]
    size = sum(len(text) + 1 for text in lines)
    assert size < 3 << 20, "the file would be turned over"
    with open(journal, "a") as file:
        file.write("\n".join(lines) + "\n")
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    began = time.perf_counter()
    child = subprocess.Popen([binary, "export", "flush", "--json"], cwd=project, env=environment, stdout=subprocess.PIPE,
                             text=True)
    peak = watched(child)
    stdout = child.communicate()[0]
    took = time.perf_counter() - began
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    flushed = json.loads(stdout)
    records = flushed["flushed"]["logs"] + flushed["flushed"]["spans"]
    plain = flushed["flushed"]["bytes"]
    wire = flushed["bytes_on_the_wire"]
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    print(f"gzip {packs}: {LINES} lines ({size} bytes), {records} records in {took:.3f} s: {records / took:,.0f} records/s, "
          f"{cpu:.3f} s of CPU; {plain} bytes, on the wire {wire}; {peak / 1024:.1f} MB at most")
    if packs == "off":
        packed = sum(len(gzip.compress(body, 1)) for _, body in bodies)
        print(f"  bytes for a record: {plain / records:.0f}, packed {packed / records:.0f}")


def watched(child):
    """The most memory that it had, in kilobytes, as far as that was seen."""
    peak = 0
    while child.poll() is None:
        try:
            status = Path(f"/proc/{child.pid}/status").read_text()
        except OSError:
            break
        peak = max([peak, *(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM"))])
        time.sleep(0.002)
    return peak


def line(n):
    """Every tenth is something else than a tool call."""
    common = {"v": 1, "time": f"2026-01-29T10:{n // 600 % 60:02}:{n // 10 % 60:02}.{n % 1000:03}Z", "session": "bench",
              "prompt_id": f"0b7c9f9e-5c1d-4a50-9f6e-{n // 50:012}", "us": 700 + n % 300, "outcome": "quiet"}
    kinds = {0: {"kind": "prompt", "event": "UserPromptSubmit", "text": "look at the till and mend it"},
             1: {"kind": "stop", "event": "Stop", "text": "It is mended, and all tests pass."},
             2: {"kind": "error", "what": "transient", "target": "Bash cargo test"},
             3: {"kind": "agent_start", "agent": f"a{n}", "what": "Explore", "target": "look for tests"}}
    if n % 10 == 0:
        return {**common, **kinds[n // 10 % 4]}
    return {**common, "kind": "tool", "event": "PostToolUse", "call": f"toolu_01{n:020}", "ms": n % 900,
            "target": ("Bash cargo test --lib till", "Read src/till/limit.rs", "Edit src/till/limit.rs")[n % 3]}


if __name__ == "__main__":
    main()
