"""A scripted stand-in for the model's HTTP API, on loopback only.

    api = ScriptedApi(rules, folder)    a client can talk to api.url now
    api.requests                        what reached the model: the request bodies, in order
    api.stop()

A rule is tried for every request, in order:

    {"match": "text",            looked for in what users and tools said since the last assistant message
     "in": "last|first|any",     where to look instead (default last)
     "times": 1,                 how often the rule may answer
     "delay": 0.5,               seconds to wait first
     "input_tokens": 1000,       what the request is said to have cost
     "usage": {...},             the same in the API's own fields
     "reply": [blocks]}          content blocks: {"type":"text",...} or {"type":"tool_use","name":...,"input":...}
    {"match": "text", "status": 429, "etype": "rate_limit_error", "emsg": "slow down"}    an API error instead

No rule left: it answers the text "ok". Every request body is also kept as folder/request-NNN.json.
"""
import json
import threading
import time
import uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class ScriptedApi:
    def __init__(self, rules, folder):
        self.rules = list(rules)
        self.folder = folder
        self.requests = []
        # Ids must be new in every run: a conversation that goes on meets the old ones again.
        self.run = uuid.uuid4().hex[:8]
        self._used = [0] * len(self.rules)
        self._lock = threading.Lock()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        folder.mkdir(parents=True, exist_ok=True)
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()

    def stop(self):
        self._server.shutdown()
        self._server.server_close()

    def take(self, raw):
        """Keeps a request; returns its number, its body and the rule that answers it."""
        body = json.loads(raw)
        with self._lock:
            self.requests.append(body)
            number = len(self.requests)
            rule = self._choose(body.get("messages", []))
        (self.folder / f"request-{number:03d}.json").write_bytes(raw)
        return number, body, rule

    def _choose(self, messages):
        for i, rule in enumerate(self.rules):
            place = said(messages, rule.get("in", "last"))
            if self._used[i] < rule.get("times", 1) and rule.get("match", "") in place:
                self._used[i] += 1
                return rule
        return {"reply": [{"type": "text", "text": "ok"}]}


def said(messages, where):
    """What users and tools said; the client's own system messages do not count."""
    if where == "last":
        last = max((i for i, m in enumerate(messages) if m["role"] == "assistant"), default=-1)
        messages = messages[last + 1:]
    users = [text_of(m["content"]) for m in messages if m["role"] == "user"]
    return "\n".join(users[:1] if where == "first" else users)


def text_of(content):
    if isinstance(content, str):
        return content
    parts = []
    for block in content or []:
        if block.get("type") == "text":
            parts.append(block["text"])
        elif block.get("type") == "tool_result":
            parts.append(text_of(block.get("content")))
    return "\n".join(parts)


def _handler(api):
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *args):
            pass

        def do_GET(self):
            self.answer({})

        def do_HEAD(self):
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def do_POST(self):
            raw = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            if "/v1/messages" not in self.path or "count_tokens" in self.path:
                return self.answer({"input_tokens": 100})
            number, body, rule = api.take(raw)
            time.sleep(rule.get("delay", 0))
            try:
                self.reply(number, body, rule)
            except (BrokenPipeError, ConnectionResetError):
                pass  # The client is gone: some scenarios kill it.

        def reply(self, number, body, rule):
            if rule.get("status"):
                error = {"type": rule.get("etype", "api_error"), "message": rule.get("emsg", "scripted error")}
                return self.answer({"type": "error", "error": error}, rule["status"])
            blocks = [dict(block) for block in rule["reply"]]
            for j, block in enumerate(blocks):
                if block["type"] == "tool_use":
                    block.setdefault("id", f"toolu_{api.run}{number:03d}{j:02d}")
            stop = "tool_use" if any(b["type"] == "tool_use" for b in blocks) else "end_turn"
            usage = {"input_tokens": rule.get("input_tokens", 1000), "output_tokens": 20,
                     "cache_read_input_tokens": 0, "cache_creation_input_tokens": 0, **rule.get("usage", {})}
            head = {"id": f"msg_{api.run}{number:03d}", "type": "message", "role": "assistant",
                    "model": body.get("model"), "stop_sequence": None}
            if body.get("stream"):
                self.stream(head, blocks, stop, usage)
            else:
                self.answer({**head, "content": blocks, "stop_reason": stop, "usage": usage})

        def answer(self, obj, code=200):
            data = json.dumps(obj).encode()
            self.send_response(code)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def stream(self, head, blocks, stop, usage):
            self.close_connection = True
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream")
            self.send_header("Connection", "close")
            self.end_headers()
            start = {**head, "content": [], "stop_reason": None, "usage": {**usage, "output_tokens": 1}}
            self.event("message_start", message=start)
            for j, block in enumerate(blocks):
                if block["type"] == "text":
                    empty = {"type": "text", "text": ""}
                    delta = {"type": "text_delta", "text": block["text"]}
                else:
                    empty = {**block, "input": {}}
                    delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
                self.event("content_block_start", index=j, content_block=empty)
                self.event("content_block_delta", index=j, delta=delta)
                self.event("content_block_stop", index=j)
            self.event("message_delta", delta={"stop_reason": stop, "stop_sequence": None},
                       usage={"output_tokens": usage["output_tokens"]})
            self.event("message_stop")

        def event(self, kind, **data):
            self.wfile.write(f"event: {kind}\ndata: {json.dumps({'type': kind, **data})}\n\n".encode())
            self.wfile.flush()

    return Handler
