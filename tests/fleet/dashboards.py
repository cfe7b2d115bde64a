#!/usr/bin/env python3
"""The queries of docs/fleet/grafana/hookkeeper.json, run by ClickHouse itself (chdb from PyPI) on what the program really
sends:

    python3 tests/fleet/dashboards.py --binary PATH

The tables have the columns that the collector's ClickHouse exporter makes. Exit status: 0, 1, or 3 if chdb cannot be had.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent.parent
CACHE = Path(os.environ.get("HOOKKEEPER_FLEET_DIR", Path.home() / ".cache/hookkeeper-fleet"))
PYTHON = CACHE / "bin/python"
TABLES = """
CREATE TABLE otel_logs (Timestamp DateTime64(9), TraceId String, SpanId String, SeverityText String, ServiceName String,
  Body String, ResourceAttributes Map(String, String), LogAttributes Map(String, String), EventName String)
  ENGINE = MergeTree ORDER BY Timestamp;
CREATE TABLE otel_traces (Timestamp DateTime64(9), TraceId String, SpanId String, ParentSpanId String, SpanName String,
  ResourceAttributes Map(String, String), SpanAttributes Map(String, String), Duration UInt64, StatusCode String)
  ENGINE = MergeTree ORDER BY Timestamp;
CREATE TABLE otel_metrics_gauge (TimeUnix DateTime64(9), MetricName String, ResourceAttributes Map(String, String),
  Attributes Map(String, String), Value Float64) ENGINE = MergeTree ORDER BY TimeUnix;
CREATE TABLE otel_metrics_histogram (StartTimeUnix DateTime64(9), TimeUnix DateTime64(9), MetricName String,
  ResourceAttributes Map(String, String), Attributes Map(String, String), Count UInt64, Sum Float64,
  BucketCounts Array(UInt64), ExplicitBounds Array(Float64)) ENGINE = MergeTree ORDER BY TimeUnix;
"""


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--binary", type=Path, required=True)
    options = parser.parse_args()
    if not have_chdb():
        print("nothing was tested: chdb cannot be had")
        return 3
    if Path(sys.prefix).resolve() != CACHE.resolve():
        os.execv(PYTHON, [str(PYTHON), *sys.argv])
    from chdb import session
    store = session.Session()
    store.query("CREATE DATABASE otel")
    store.query("USE otel")
    for table in TABLES.split(";"):
        if table.strip():
            store.query(table)
    bodies = sent(options.binary.resolve())
    fill(store, bodies)
    failures = 0
    answers = {}
    for panel in json.loads((REPOSITORY / "docs/fleet/grafana/hookkeeper.json").read_text())["panels"]:
        sql = panel["targets"][0]["rawSql"]
        for column in ("Timestamp", "TimeUnix"):
            sql = sql.replace(f"$__timeFilter({column})", "1")
        try:
            rows = [json.loads(line) for line in str(store.query(sql, "JSONEachRow")).splitlines()]
        except Exception as error:
            rows, failures = str(error)[:300], failures + 1
        answers[panel["title"]] = rows
    failures += check(answers, medians(bodies))
    print("FAILED" if failures else "ok")
    return 1 if failures else 0


def have_chdb():
    if not PYTHON.exists() and subprocess.run([sys.executable, "-m", "venv", CACHE]).returncode:
        return False
    if subprocess.run([PYTHON, "-c", "import chdb"], capture_output=True).returncode == 0:
        return True
    return subprocess.run([PYTHON, "-m", "pip", "install", "--quiet", "chdb"], stdout=subprocess.DEVNULL).returncode == 0


def sent(binary):
    """What the program sends of three sessions in one project: one has ended, in one an agent runs and a person is waited
    for, one ended with an agent and was resumed with another. In a second project one more agent runs."""
    bodies = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            bodies.append((self.path, json.loads(self.rfile.read(int(self.headers["Content-Length"])))))
            self.send_response(200)
            self.send_header("Content-Length", "2")
            self.end_headers()
            self.wfile.write(b"{}")

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with tempfile.TemporaryDirectory(prefix="hookkeeper-dashboards-") as home:
        project, other = Path(home) / "shop", Path(home) / "bakery"
        project.mkdir()
        other.mkdir()
        transcript = Path(home) / "t.jsonl"
        answer = {"type": "assistant", "timestamp": now(), "message": {
            "id": "m1", "model": "claude-opus-4-5", "role": "assistant", "content": [],
            "usage": {"input_tokens": 1000, "output_tokens": 500, "cache_read_input_tokens": 0,
                      "cache_creation_input_tokens": 0}}}
        transcript.write_text(json.dumps(answer) + "\n")
        environment = {"HOME": home, "PATH": os.environ["PATH"], "CLAUDE_PID": "1", "CLAUDE_PROJECT_DIR": str(project),
                       "HOOKKEEPER_OTLP_ENDPOINT": f"http://127.0.0.1:{server.server_port}"}

        def run(*words, stdin="", at=project):
            done = subprocess.run([binary, *words], cwd=at, env={**environment, "CLAUDE_PROJECT_DIR": str(at)},
                                  input=stdin, text=True, capture_output=True)
            assert done.returncode == 0, done.stderr

        def event(session, name, at=project, **fields):
            payload = {"session_id": session, "hook_event_name": name, "cwd": str(at),
                       "transcript_path": str(transcript), **fields}
            run("hook", stdin=json.dumps(payload) + "\n", at=at)

        for session in ("ended", "lives"):
            event(session, "SessionStart", source="startup")
            event(session, "UserPromptSubmit", prompt="look at the till", prompt_id=f"p-{session}")
            event(session, "SubagentStart", agent_id=f"a-{session}", agent_type="Explore")
            event(session, "PostToolUseFailure", tool_name="Bash", tool_use_id=f"t-{session}", error="Exit code 2",
                  tool_input={"command": "make"}, duration_ms=40)
            if session == "ended":
                event(session, "SubagentStop", agent_id="a-ended", agent_type="Explore", last_assistant_message="ok",
                      background_tasks=[], stop_hook_active=False)
                event(session, "Stop", stop_hook_active=False, background_tasks=[])
                event(session, "SessionEnd", reason="other")
        event("lives", "Notification", notification_type="permission_prompt", message="May I?")
        event("resumed", "SessionStart", source="startup")
        event("resumed", "SubagentStart", agent_id="a-lost", agent_type="Lost")
        event("resumed", "SessionEnd", reason="other")
        event("resumed", "SessionStart", source="resume")
        event("resumed", "SubagentStart", agent_id="a-new", agent_type="Plan")
        event("oven", "SessionStart", at=other, source="startup")
        event("oven", "SubagentStart", at=other, agent_id="a-oven", agent_type="Baker")
        run("loop", "start", "tidy up", "--session", "lives")
        run("loop", "cancel", "--session", "lives")
        for at in (project, other, project):
            run("export", "flush", at=at)
        # What is sent twice counts once.
        run("export", "backfill", "--since", "1d")
    server.shutdown()
    return bodies


def now():
    import datetime
    return datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.000Z")


def attributes(holder):
    return {one["key"]: str(next(iter(one["value"].values()))) for one in holder["attributes"]}


def fill(store, bodies):
    def insert(table, rows):
        if rows:
            store.query(f"INSERT INTO {table} FORMAT JSONEachRow " + "\n".join(json.dumps(row) for row in rows))

    def time(record, key):
        nanos = int(record[key])
        return f"{nanos // 10**9}.{nanos % 10**9:09}"
    logs, spans, gauges, histograms = [], [], [], []
    for path, body in bodies:
        (resources,) = body.values()
        for of_resource in resources:
            resource = attributes(of_resource["resource"])
            for scope in next(value for key, value in of_resource.items() if key.startswith("scope")):
                for one in scope.get("logRecords", []):
                    logs.append({"Timestamp": time(one, "timeUnixNano"), "TraceId": one["traceId"], "SpanId": one["spanId"],
                                 "SeverityText": one["severityText"], "ServiceName": resource["service.name"],
                                 "Body": one["body"]["stringValue"], "ResourceAttributes": resource,
                                 "LogAttributes": attributes(one), "EventName": one["eventName"]})
                for one in scope.get("spans", []):
                    length = int(one["endTimeUnixNano"]) - int(one["startTimeUnixNano"])
                    spans.append({"Timestamp": time(one, "startTimeUnixNano"), "TraceId": one["traceId"],
                                  "SpanId": one["spanId"], "ParentSpanId": one.get("parentSpanId", ""),
                                  "SpanName": one["name"], "ResourceAttributes": resource,
                                  "SpanAttributes": attributes(one), "Duration": length,
                                  "StatusCode": "Error" if one["status"]["code"] == 2 else "Unset"})
                for one in scope.get("metrics", []):
                    for point in one.get("gauge", {}).get("dataPoints", []):
                        gauges.append({"TimeUnix": time(point, "timeUnixNano"), "MetricName": one["name"],
                                       "ResourceAttributes": resource, "Attributes": attributes(point),
                                       "Value": point["asDouble"]})
                    for point in one.get("histogram", {}).get("dataPoints", []):
                        histograms.append({
                            "StartTimeUnix": time(point, "startTimeUnixNano"), "TimeUnix": time(point, "timeUnixNano"),
                            "MetricName": one["name"], "ResourceAttributes": resource, "Attributes": attributes(point),
                            "Count": int(point["count"]), "Sum": point["sum"],
                            "BucketCounts": [int(count) for count in point["bucketCounts"]],
                            "ExplicitBounds": point["explicitBounds"]})
    insert("otel_logs", logs)
    insert("otel_traces", spans)
    insert("otel_metrics_gauge", gauges)
    insert("otel_metrics_histogram", histograms)


def medians(bodies):
    """The bucket that the median of all hook runs is in, in milliseconds: from the newest point of each series."""
    newest = {}
    for path, body in bodies:
        if path != "/v1/metrics":
            continue
        for of_resource in body["resourceMetrics"]:
            instance = attributes(of_resource["resource"])["service.instance.id"]
            for one in of_resource["scopeMetrics"][0]["metrics"]:
                for point in one.get("histogram", {}).get("dataPoints", []):
                    if one["name"] == "hookkeeper.hook.duration":
                        newest[instance, str(point["attributes"])] = point
    counts = [sum(int(point["bucketCounts"][n]) for point in newest.values())
              for n in range(len(next(iter(newest.values()))["bucketCounts"]))]
    bounds = [0, *next(iter(newest.values()))["explicitBounds"]]
    at = next(n for n in range(len(counts)) if sum(counts[:n + 1]) >= sum(counts) / 2)
    return bounds[at] * 1000, bounds[min(at + 1, len(bounds) - 1)] * 1000, sum(counts)


def check(answers, hook_times):
    failures = 0

    def holds(title, is_so):
        nonlocal failures
        rows = answers[title]
        good = isinstance(rows, list) and bool(rows) and is_so(rows)
        print(f"{'ok    ' if good else 'FAILED'} {title}: {json.dumps(rows)[:300]}")
        failures += not good
    # Not the one that went with its session, which was resumed without it.
    holds("What agents do now", lambda rows: [row["agent"] for row in rows] == ["Explore", "Plan", "Baker"])
    holds("Who waits for a person", lambda rows: [row["session"] for row in rows] == ["lives"])
    holds("Cost of the last 7 days", lambda rows: rows[0]["model"] == "claude-opus-4-5" and float(rows[0]["dollars"]) > 0)
    holds("Cost by day", lambda rows: len(rows) == 1)
    holds("Errors by class", lambda rows: sum(int(row["errors"]) for row in rows) == 2)
    holds("Tools", lambda rows: rows[0]["tool"] == "Bash" and int(rows[0]["failed"]) == 2)
    least, most, runs = hook_times
    print(f"       {runs} hook runs; their median is between {least} and {most} ms")
    holds("Hook time", lambda rows: len(rows) == 1 and runs == 19 and least <= float(rows[0]["median"]) <= most
          and float(rows[0]["p99"]) >= float(rows[0]["median"]))
    holds("Agents that run", lambda rows: float(rows[-1]["agents"]) == 3)
    holds("What became of loops", lambda rows: [tuple(row.values()) for row in rows] == [("queue", "cancelled", 1)])
    return failures


if __name__ == "__main__":
    sys.exit(main())
