#!/usr/bin/env python3
"""Records the session that `hookkeeper demo` plays: python3 tests/client/record_demo.py --binary PATH [--keep]

The real client works in a small shop (demo_story.py) with the real hooks; the model is scripted. What the client sent
to the hooks, what it wrote into its transcripts, and what the model's commands changed in the project become the
steps of src/cli/demo/session.jsonl, in order, each with its time. It takes about five minutes.

Paths and times are places in that file, which the program fills in when it plays:

    {{project}} {{client}}    the scratch project, the client's own directory
    {{session}}               the session's id
    {{transcript}}            its transcript without `.jsonl`, which is also the folder of its agents
    {{program}}               hookkeeper itself
    {{+12.345}}               a moment, in seconds since the session began
"""
import argparse
import datetime
import http.server
import json
import os
import re
import shlex
import shutil
import sys
import tempfile
import threading
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
REPOSITORY = HERE.parent.parent
sys.path.insert(0, str(HERE))
sys.dont_write_bytecode = True

import drive  # noqa: E402
from bench import Bench, json_lines  # noqa: E402
from demo_story import ADVISORIES_PORT, ADVISORY, DENIED, FILES, MODEL, TASK, Story  # noqa: E402
from scripted_api import text_of  # noqa: E402

RECORDING = REPOSITORY / "src/cli/demo/session.jsonl"
LARGEST = 150_000
# What is kept of a transcript: the kinds of lines and the fields that something of ours reads, and so many characters of
# what a tool gave back.
RESULT = 60
KINDS = {"assistant", "user", "system", "cost-state"}
FIELDS = {"type", "timestamp", "sessionId", "agentId", "isSidechain", "isMeta",
          "isApiErrorMessage", "message"}
MESSAGE = {"id", "role", "model", "content", "usage"}
USAGE = {"input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens", "cache_creation"}
MOMENT = re.compile(r"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")
# Keeps each payload with the moment when it came, then is the hook.
RECORDER = """\
#!/bin/sh
file="{folder}/$(date +%s%3N)-$$.json"
cat > "$file"
exec {program} hook < "$file"
"""


class Shop(Bench):
    """The project of the story, with a recorder in front of each hook."""

    def __init__(self, root, exe, binary):
        self.payloads = root / "payloads"
        self.payloads.mkdir(parents=True)
        super().__init__(root, exe, binary)

    def _make_project(self, wire):
        self.project = self.root / "shop"
        self.project.mkdir(parents=True)
        for path, content in FILES.items():
            self.write(path, content)
        self.git("init", "--quiet", "--initial-branch=main")
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message=Release 2.4.0")
        self.hooks = wire(self)
        self._put_recorder()

    def _put_recorder(self):
        recorder = self.root / "recorder.sh"
        recorder.write_text(RECORDER.format(folder=self.payloads, program=self.command))
        recorder.chmod(0o755)
        file = self.project / ".claude/settings.local.json"
        settings = json.loads(file.read_text())
        for groups in settings["hooks"].values():
            for hook in (hook for group in groups for hook in group["hooks"]):
                hook["command"] = str(recorder)
        settings["permissions"] = {"deny": [DENIED]}
        file.write_text(json.dumps(settings))


def main():
    options = arguments()
    binary = options.binary.resolve()
    client = drive.find_client()
    drive.leave_the_network([__file__, "--binary", str(binary)] + ["--keep"] * options.keep)
    drive.TURN_SECONDS = 900
    root = Path(tempfile.mkdtemp(prefix="hookkeeper-demo-"))
    print(f"recording in {root}", flush=True)
    shop = Shop(root, client, binary)
    threading.Thread(target=answer_at_the_second_try, args=(shop,), daemon=True).start()
    try:
        run = shop.run(TASK, rules=Story(shop.project).rules, args=["--model", MODEL])
    finally:
        shop.close()
    lines = [json.dumps(step, ensure_ascii=False, separators=(",", ":")) for step in steps(shop)]
    said = "\n".join(lines) + "\n"
    check(said, run)
    RECORDING.write_text(said)
    if not options.keep:
        shutil.rmtree(root)
    print(f"{len(lines)} steps, {len(said.encode())} bytes: {RECORDING.relative_to(REPOSITORY)}")


def arguments():
    parser = argparse.ArgumentParser(description="Records the session of `hookkeeper demo`")
    parser.add_argument("--binary", type=Path, required=True, help="the program whose hooks run")
    parser.add_argument("--keep", action="store_true", help="keep the directory of the session")
    return parser.parse_args()


def answer_at_the_second_try(shop):
    """The service that one agent asks is there only once that has failed."""
    while not any("Couldn't connect" in file.read_text() for file in shop.payloads.glob("*.json")):
        time.sleep(0.2)

    class Advisories(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.end_headers()
            self.wfile.write(ADVISORY.encode())

        def log_message(self, *_):
            pass
    http.server.HTTPServer(("127.0.0.1", ADVISORIES_PORT), Advisories).serve_forever()


def steps(shop):
    """What happened, in order: {"at": seconds, …} with one of

    "hook": a payload · "append", "line": a line of a transcript · "write", "text": a file · "run": a command of ours
    """
    hooks = [(int(file.stem.split("-")[0]), json.loads(file.read_text())) for file in sorted(shop.payloads.glob("*.json"))]
    start = hooks[0][0]
    found = [(start, {"write": f"{{{{project}}}}/{path}", "text": content}) for path, content in FILES.items()]
    for at, payload in hooks:
        found += [(at, step) for step in done_by(payload, shop)]
        found.append((at, {"hook": payload}))
    found += transcript_lines(shop, start)
    found += side_files(shop)
    # Of what has one time, files come before the hook that may read them; else the order stays.
    found.sort(key=lambda step: step[0])
    places = fill_ins(shop, hooks[0][1]["session_id"])
    for at, step in found:
        step = anonymous(step, places, start)
        if "line" in step:
            step["line"] = slim(step["line"])
        yield {"at": round((at - start) / 1000, 3), **step}


def done_by(payload, shop, contents=dict(FILES)):
    """What the tool call of a payload had changed, so that the player can change it too."""
    tool, given = payload.get("tool_name"), payload.get("tool_input") or {}
    if tool == "Bash" and given["command"].startswith("hookkeeper "):
        return [{"run": shlex.split(given["command"])[1:]}] if payload["hook_event_name"].startswith("PostToolUse") else []
    if tool not in ("Write", "Edit") or payload["hook_event_name"] != "PostToolUse":
        return []
    path = str(Path(given["file_path"]).relative_to(shop.project))
    if tool == "Write":
        contents[path] = given["content"]
    else:
        contents[path] = contents[path].replace(given["old_string"], given["new_string"], 1)
    return [{"write": f"{{{{project}}}}/{path}", "text": contents[path]}]


def transcript_lines(shop, start):
    for path in shop.transcripts():
        at = start
        for line in json_lines(path):
            if line.get("type") not in KINDS or line.get("subtype") == "stop_hook_summary" or line.get("isCompactSummary"):
                continue
            if spelled := line.get("timestamp"):
                at = max(at, millis(spelled))
            yield at, {"append": str(path), "line": line}


def slim(line):
    """A line without what nobody reads here; the client's own lines are kept whole."""
    if line["type"] not in ("assistant", "user"):
        return line
    message = only(line["message"], MESSAGE)
    for block in message["content"] if isinstance(message["content"], list) else []:
        if block["type"] == "tool_result":
            # The hooks had the whole of it. A name is not cut in two.
            block["content"] = re.sub(r"\{\{[^}]*$", "", text_of(block["content"])[:RESULT])
    if "usage" in message:
        message["usage"] = only(message["usage"], USAGE)
    return {**only(line, FIELDS), "message": message}


def only(fields, wanted):
    return {key: value for key, value in fields.items() if key in wanted}


def side_files(shop):
    """The client writes one when an agent begins, and touches it again later."""
    for path in (shop.home / ".claude/projects").rglob("*.meta.json"):
        first = json_lines(path.with_name(path.name.replace(".meta.json", ".jsonl")))[0]
        yield millis(first["timestamp"]), {"write": str(path), "text": path.read_text()}


def fill_ins(shop, session):
    """What the machine's own paths are called in the recording, the longest first."""
    folder = re.sub(r"[^A-Za-z0-9]", "-", str(shop.project))
    client = shop.home / ".claude"
    return {str(client / "projects" / folder / session): "{{transcript}}", session: "{{session}}",
            str(shop.root / "recorder.sh"): "{{program}}", str(shop.project): "{{project}}",
            str(client): "{{client}}", str(shop.home): "{{client}}"}


def anonymous(value, places, start):
    if isinstance(value, dict):
        return {key: anonymous(inner, places, start) for key, inner in value.items()}
    if isinstance(value, list):
        return [anonymous(inner, places, start) for inner in value]
    if not isinstance(value, str):
        return value
    for path, name in places.items():
        value = value.replace(path, name)
    return MOMENT.sub(lambda found: f"{{{{+{(millis(found[0]) - start) / 1000:.3f}}}}}", value)


def millis(spelled):
    return int(datetime.datetime.fromisoformat(spelled).timestamp() * 1000)


def check(said, run):
    """What must be in it, and what must not."""
    for part in ("SubagentStop", "PreCompact", '"compact"', "Couldn't connect", "run-gate", "SessionEnd"):
        if part not in said:
            sys.exit(f"the recording lacks {part}: {run.out}")
    for place in ("/tmp", "/root", "/home/", "/work/"):
        if place in said:
            at = said.index(place)
            sys.exit(f"the recording has a path of this machine: {said[at - 80:at + 80]}")
    if len(said.encode()) > LARGEST:
        sys.exit(f"the recording is too large: {len(said.encode())} bytes")


if __name__ == "__main__":
    os.environ.pop("HOOKKEEPER_OFF", None)
    main()
