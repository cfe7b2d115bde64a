#!/usr/bin/env python3
"""A real client on two machines → hookkeeper export → a real collector (rotel) → a real store (Phoenix, SQLite):

    python3 tests/fleet/otlp.py [--binary PATH] [--picture FILE] [--keep]

The lead's questions are asked of the store: what do my agents do now, who waits, what did it cost. Logs and metrics
leave the collector for a sink of this program, which decodes them; Phoenix keeps traces only.

The engines come from PyPI, once, into HOOKKEEPER_FLEET_DIR (default ~/.cache/hookkeeper-fleet, about 900 MB).
Exit status: 0 all holds, 1 something does not, 3 an engine or the client cannot be had (nothing was tested).
"""
import argparse
import gzip
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

HERE = Path(__file__).resolve().parent
REPOSITORY = HERE.parent.parent
CLIENT = REPOSITORY / "tests/client"
sys.path.insert(0, str(CLIENT))
sys.dont_write_bytecode = True

CACHE = Path(os.environ.get("HOOKKEEPER_FLEET_DIR", Path.home() / ".cache/hookkeeper-fleet"))
PYTHON = CACHE / "bin/python"
PHOENIX = "http://127.0.0.1:16006"
COLLECTOR = "http://127.0.0.1:14318"
PATIENCE = 240


def main():
    options = arguments()
    if not have_engines():
        print("nothing was tested: rotel and arize-phoenix cannot be had")
        return 3
    if Path(sys.prefix).resolve() != CACHE.resolve():
        os.execv(PYTHON, [str(PYTHON), *sys.argv])
    from drive import NoClient, find_client, leave_the_network
    try:
        client = find_client()
    except NoClient as why:
        print(f"nothing was tested: the client cannot be had: {why}")
        return 3
    leave_the_network(sys.argv)
    root = Path(tempfile.mkdtemp(prefix="hookkeeper-otlp-"))
    engines = Engines(root)
    try:
        engines.start()
        failures = Session(root, client, options.binary.resolve(), engines).run()
        if options.picture:
            picture(options.picture)
    finally:
        engines.stop()
    for failure in failures:
        print(f"  - {failure}")
    print("FAILED" if failures else "ok")
    if options.keep or failures:
        print(f"kept: {root}")
    else:
        shutil.rmtree(root, ignore_errors=True)
    return 1 if failures else 0


def arguments():
    parser = argparse.ArgumentParser(description="HookKeeper's export with real engines")
    parser.add_argument("--binary", type=Path, required=True)
    parser.add_argument("--picture", type=Path, help="take a picture of the trace in Phoenix")
    parser.add_argument("--keep", action="store_true")
    return parser.parse_args()


def have_engines():
    if not PYTHON.exists() and subprocess.run([sys.executable, "-m", "venv", CACHE]).returncode:
        return False
    known = subprocess.run([PYTHON, "-c", "import rotel, phoenix"], capture_output=True)
    if known.returncode == 0:
        return True
    pip = [PYTHON, "-m", "pip", "install", "--quiet", "rotel", "arize-phoenix"]
    return subprocess.run(pip, stdout=subprocess.DEVNULL).returncode == 0


def get(path):
    with urllib.request.urlopen(PHOENIX + path, timeout=20) as answer:
        return json.load(answer)


def until(what, holds, patience=PATIENCE):
    """Waits until something holds, and gives what came of it."""
    end = time.monotonic() + patience
    while True:
        try:
            found = holds()
        except OSError:
            found = None
        if found:
            return found
        if time.monotonic() > end:
            raise TimeoutError(what)
        time.sleep(0.5)


class Engines:
    """Phoenix, rotel before it, and a sink for what Phoenix does not keep."""

    def __init__(self, root):
        self.root = root
        self.processes = []
        self.logs = []
        self.metrics = []

    def start(self):
        environment = {**os.environ, "PHOENIX_WORKING_DIR": str(self.root / "phoenix"), "PHOENIX_PORT": "16006",
                       "PHOENIX_GRPC_PORT": "16007", "PHOENIX_HOST": "127.0.0.1",
                       "PHOENIX_TELEMETRY_ENABLED": "false", "PHOENIX_ALLOW_EXTERNAL_RESOURCES": "false"}
        (self.root / "phoenix").mkdir()
        self._run("phoenix", [CACHE / "bin/phoenix", "serve"], environment)
        sink = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        threading.Thread(target=sink.serve_forever, daemon=True).start()
        there = f"http://127.0.0.1:{sink.server_port}"
        import rotel
        agent = Path(rotel.__file__).parent / "rotel-agent"
        self._run("rotel", [agent, "start", "--otlp-http-endpoint", "127.0.0.1:14318", "--otlp-grpc-endpoint",
                            "127.0.0.1:14319", "--exporter", "otlp", "--otlp-exporter-protocol", "http",
                            "--batch-timeout", "500ms",
                            "--otlp-exporter-traces-endpoint", f"{PHOENIX}/v1/traces",
                            "--otlp-exporter-logs-endpoint", f"{there}/v1/logs",
                            "--otlp-exporter-metrics-endpoint", f"{there}/v1/metrics"], dict(os.environ))
        until("Phoenix", lambda: urllib.request.urlopen(f"{PHOENIX}/healthz", timeout=5).status == 200)

    def _run(self, name, command, environment):
        log = open(self.root / f"{name}.log", "wb")
        self.processes.append(subprocess.Popen([str(word) for word in command], env=environment, stdout=log,
                                               stderr=subprocess.STDOUT))

    def _handler(self):
        from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
        from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
        engines = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                if self.headers.get("Content-Encoding") == "gzip":
                    body = gzip.decompress(body)
                if self.path == "/v1/logs":
                    for resource in ExportLogsServiceRequest.FromString(body).resource_logs:
                        for scope in resource.scope_logs:
                            engines.logs.extend((values(resource.resource.attributes), record.event_name,
                                                 values(record.attributes)) for record in scope.log_records)
                else:
                    for resource in ExportMetricsServiceRequest.FromString(body).resource_metrics:
                        for scope in resource.scope_metrics:
                            engines.metrics.extend((values(resource.resource.attributes), metric)
                                                   for metric in scope.metrics)
                self.send_response(200)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_):
                pass

        return Handler

    def stop(self):
        for process in self.processes:
            process.terminate()
        for process in self.processes:
            try:
                process.wait(15)
            except subprocess.TimeoutExpired:
                process.kill()


def values(attributes):
    def value(any_value):
        kind = any_value.WhichOneof("value")
        return getattr(any_value, kind) if kind else None
    return {attribute.key: value(attribute.value) for attribute in attributes}


def spans():
    """All spans in the store."""
    found, cursor = [], ""
    while True:
        page = get(f"/v1/projects/default/spans?limit=500{cursor}")
        found += page["data"]
        if not page.get("next_cursor"):
            return found
        cursor = f"&cursor={page['next_cursor']}"


# The lead's questions, as the documentation has them (docs/fleet.md).

def running_now(all_spans):
    """Agents that have begun and are not over: the mark is there, the span that it belongs to is not."""
    over = {span["context"]["span_id"] for span in all_spans}
    return [span["attributes"] for span in all_spans
            if span["attributes"].get("hookkeeper.kind") == "agent_start" and span["parent_id"] not in over]


def waiting_now(all_spans):
    """Sessions whose newest span says that a person is waited for."""
    newest = {}
    for span in sorted(all_spans, key=lambda span: (span["end_time"], span["start_time"])):
        newest[span["attributes"].get("session.id")] = span
    waits = ("permission_prompt", "idle_prompt", "agent_needs_input")
    return [session for session, span in newest.items() if span["attributes"].get("hookkeeper.what") in waits]


def cost(all_spans):
    """Dollars by session: of a session that went on, the last end tells the whole."""
    ends = sorted((span for span in all_spans if span["attributes"].get("hookkeeper.kind") == "session"),
                  key=lambda span: span["end_time"])
    return {span["attributes"]["session.id"]: span["attributes"].get("hookkeeper.cost.usd", 0.0) for span in ends}


class Session:
    """Two machines with a project each; the second one is looked at while it works."""

    def __init__(self, root, client, binary, engines):
        from bench import Bench
        from wiring import install
        self.engines = engines
        self.failures = []

        def wire(name):
            def made(bench):
                settings = {"export": {"endpoint": COLLECTOR, "resource": {"host.name": name, "team": "till"}}}
                (bench.home / ".claude").mkdir(parents=True)
                (bench.home / ".claude/hookkeeper.json").write_text(json.dumps(settings))
                return install(bench, "settings.local.json")
            return made
        self.one = Bench(root / "one", client, binary, wire("machine-one"))
        self.two = Bench(root / "two", client, binary, wire("machine-two"))

    def holds(self, what, is_so, found):
        print(f"{'ok    ' if is_so else 'FAILED'} {what}", flush=True)
        if not is_so:
            self.failures.append(f"{what}: {found}")

    def run(self):
        from script import agent, turns, wait_for
        hooks = json.loads((self.one.project / ".claude/settings.local.json").read_text())["hooks"]
        flushes = [event for event, groups in hooks.items() if "--hook" in json.dumps(groups)]
        self.holds("install wires the flush", "SessionEnd" in flushes and "Stop" in flushes, flushes)
        try:
            first = self.one.run("GO audit everything", rules=turns(
                [agent("audit auth", "AUDIT-AUTH"), agent("look for tests", "FIND-TESTS", kind="Explore")], "done",
                agents={"AUDIT-AUTH": "- **[S1]** No rate limit (src/login.ts:3)", "FIND-TESTS": "- **S2**: none"}))
            second = self.two.start("GO look", rules=turns(
                agent("watch the till", "WATCH", kind="Explore"), "done",
                agents={"WATCH": (wait_for("../go"), "- **[S2]** All is well")}))
            self.while_it_runs(second)
            (self.two.root / "go").touch()
            second.finish()
            self.in_the_end(first, second)
        finally:
            self.one.close()
            self.two.close()
        return self.failures

    def while_it_runs(self, second):
        runs = until("an agent that runs", lambda: [found for found in running_now(spans())
                                                    if found["session.id"] == second.session_id])
        names = [(found.get("gen_ai.agent.name"), found.get("gen_ai.agent.description")) for found in runs]
        self.holds("what do my agents do now", [name for name, _ in names] == ["Explore"], names)
        # The client asks nobody in a run with -p: this one event is made up.
        payload = {"session_id": second.session_id, "hook_event_name": "Notification", "cwd": str(self.two.project),
                   "notification_type": "permission_prompt", "message": "Claude needs your permission"}
        self.hookkeeper("hook", stdin=json.dumps(payload) + "\n")
        self.hookkeeper("export", "flush")
        waits = until("who waits", lambda: waiting_now(spans()))
        self.holds("who waits", waits == [second.session_id], waits)

    def hookkeeper(self, *words, stdin="", bench=None):
        bench = bench or self.two
        done = subprocess.run([bench.command, *words], cwd=bench.project, input=stdin, capture_output=True, text=True,
                              env={"PATH": bench.path(), "HOME": str(bench.home), "CLAUDE_PID": "1"})
        if done.returncode:
            self.failures.append(f"{words}: {done.stderr}")
        return done.stdout

    def in_the_end(self, first, second):
        ids = {first.session_id, second.session_id}
        # Nobody flushes by hand: the hook at the session's end does.
        all_spans = until("both sessions", lambda: (found := spans()) and ids <= set(cost(found)) and found)
        self.holds("nobody runs any more", not running_now(all_spans), running_now(all_spans))
        self.holds("nobody waits any more", not waiting_now(all_spans), waiting_now(all_spans))
        told = {bench: json.loads(self.hookkeeper("cost", "--json", bench=bench))["total"]["cost_usd"]
                for bench in (self.one, self.two)}
        wanted = sum(value or 0.0 for value in told.values())
        found = sum(cost(all_spans).values())
        self.holds("what did it cost", wanted > 0 and abs(found - wanted) < 1e-6, (found, wanted))
        traces = {span["context"]["trace_id"] for span in all_spans}
        self.holds("a trace for each session", len(traces) == 2, traces)
        known = {span["context"]["span_id"] for span in all_spans}
        self.holds("every span once", len(known) == len(all_spans), len(all_spans) - len(known))
        lost = [span["name"] for span in all_spans if span["parent_id"] and span["parent_id"] not in known]
        self.holds("every span has its parent", not lost, lost)
        kinds = {(span["name"], span["span_kind"]) for span in all_spans}
        self.holds("the store knows agents by the conventions", ("invoke_agent Explore", "AGENT") in kinds, kinds)
        until("logs of both", lambda: sum(1 for _, name, _ in list(self.engines.logs) if name == "hookkeeper.end") >= 2)
        hosts = {resource["host.name"] for resource, _, _ in self.engines.logs}
        self.holds("two machines in one place", hosts == {"machine-one", "machine-two"}, hosts)
        usage = {values["log.record.uid"]: values.get("hookkeeper.cost.usd", 0.0)
                 for _, name, values in self.engines.logs if name == "hookkeeper.usage"}
        self.holds("the same cost from the logs", abs(sum(usage.values()) - wanted) < 1e-6, usage)
        names = {metric.name for _, metric in self.engines.metrics}
        self.holds("metrics", {"hookkeeper.cost", "hookkeeper.agents", "gen_ai.client.token.usage"} <= names, names)
        last = {}
        for resource, metric in self.engines.metrics:
            if metric.name == "hookkeeper.cost":
                last[resource["host.name"]] = sum(point.as_double for point in metric.sum.data_points)
        self.holds("the same cost from the metrics", abs(sum(last.values()) - wanted) < 1e-6, last)
        prompts = json.dumps([span["attributes"] for span in all_spans]) + repr(self.engines.logs)
        self.holds("no prompt and no report went out", "AUDIT-AUTH" not in prompts and "No rate limit" not in prompts, "")


def picture(path):
    trace = next(span for span in spans() if span["name"] == "session")["context"]["trace_id"]
    project = get("/v1/projects")["data"][0]["id"]
    subprocess.run(["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--window-size=1500,900", "--hide-scrollbars",
                    "--virtual-time-budget=60000", f"--screenshot={path}", f"{PHOENIX}/projects/{project}/traces/{trace}"],
                   check=True, capture_output=True, timeout=240)


if __name__ == "__main__":
    sys.exit(main())
