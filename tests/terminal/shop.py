"""A project with believable books, made by real payloads; its home is a scratch directory."""

import json
import os
import subprocess
from datetime import datetime, timezone
from pathlib import Path

LOGIN = "9f99b61b-a627-4cde-9856-7e07b84da7b2"
PRICES = "64e8a570-3961-4cd0-a06f-f8e7fbfda3cb"
AUDIT = "a849e6a7ce0708706"
SEARCH = "a0f70f058ee74f941"
TESTS = "ac22dcd4a33dbee73"


def built():
    """The debug build of this checkout."""
    target = Path(__file__).resolve().parents[2] / "target"
    found = [*target.glob("*/debug/hookkeeper"), *target.glob("debug/hookkeeper")]
    return str(found[0]) if found else "hookkeeper"


class Shop:
    def __init__(self, binary, home):
        self.binary, self.home, self.root = binary, home, home / "shop"
        (self.root / ".git/refs/heads").mkdir(parents=True)
        (self.root / ".git/HEAD").write_text("ref: refs/heads/feature/login\n")
        self.clock = None

    def env(self):
        path = os.environ.get("PATH", "/usr/bin:/bin")
        return {"HOME": str(self.home), "PATH": path, "CLAUDE_PID": "1", "LC_ALL": "C.UTF-8",
                "HISTFILE": "/dev/null"}

    def at(self, seconds):
        """The clock of the next events; `None` is the real one."""
        self.clock = None if seconds is None else datetime.fromtimestamp(seconds, timezone.utc)

    def event(self, name, session=LOGIN, **fields):
        transcript = self.home / f".claude/projects/-shop/{session}.jsonl"
        payload = {"hook_event_name": name, "session_id": session, "cwd": str(self.root),
                   "transcript_path": str(transcript), **fields}
        env = self.env() | {"CLAUDE_PROJECT_DIR": str(self.root)}
        if self.clock:
            env["HOOKKEEPER_FIXED_TIME"] = self.clock.strftime("%Y-%m-%dT%H:%M:%SZ")
        done = subprocess.run([self.binary, "hook"], env=env, cwd=self.root, text=True,
                              input=json.dumps(payload) + "\n", capture_output=True, check=True)
        assert not done.stderr, done.stderr

    def tool(self, name, tool_input, use, session=LOGIN, **fields):
        self.event("PostToolUse", session, tool_name=name, tool_input=tool_input, tool_use_id=use,
                   tool_response={}, **fields)

    def failure(self, name, tool_input, use, error, session=LOGIN, **fields):
        self.event("PostToolUseFailure", session, tool_name=name, tool_input=tool_input, tool_use_id=use,
                   error=error, is_interrupt=False, **fields)

    def agent(self, agent_id, kind, task, use, session=LOGIN):
        call = {"subagent_type": kind, "description": task, "prompt": task}
        self.event("PreToolUse", session, tool_name="Agent", tool_input=call, tool_use_id=use)
        self.event("SubagentStart", session, agent_id=agent_id, agent_type=kind)
        self.event("PostToolUse", session, tool_name="Agent", tool_input=call, tool_use_id=use,
                   tool_response={"isAsync": True, "status": "async_launched", "agentId": agent_id})

    def loop(self):
        """A work queue as a loop leaves it."""
        items = [("work-004", "S1", "Refuse empty passwords"), ("work-005", "S2", "Document the cookie")]
        items = [{"id": id, "priority": priority, "title": title, "description": title, "status": "pending",
                  "added_iteration": 2, "completed_iteration": None} for id, priority, title in items]
        queue = {"version": 1, "task": "login", "iteration": 3, "consecutive_passes": 0, "max_iterations": 50,
                 "status": "BUILDING", "items": items, "gate_results": {}}
        (self.root / ".claude/state/loop").mkdir(exist_ok=True)
        (self.root / ".claude/state/loop/work_queue.json").write_text(json.dumps(queue))

    def spend(self, session, tokens, dollars):
        """A transcript as the client leaves it, with what was used."""
        transcript = self.home / f".claude/projects/-shop/{session}.jsonl"
        transcript.parent.mkdir(parents=True, exist_ok=True)
        message = {"id": f"msg_{session}", "role": "assistant", "model": "claude-opus-4-1", "content": [],
                   "usage": {"input_tokens": tokens, "output_tokens": 250, "cache_read_input_tokens": 250}}
        line = {"type": "assistant", "sessionId": session, "costUSD": dollars, "message": message}
        transcript.write_text(json.dumps(line) + "\n")

    def fill(self, now):
        """Two sessions in the middle of their work, `now` being the time."""
        self.spend(LOGIN, 4000, 0.40)
        self.spend(PRICES, 500, 0.02)
        self.at(now - 2520)
        self.event("SessionStart", source="startup")
        self.event("UserPromptSubmit", prompt="Implement login with a session cookie, and tests for it")
        for n, file in enumerate(["src/login.ts", "src/session.ts", "test/login.test.ts"]):
            self.tool("Write", {"file_path": str(self.root / file), "content": ""}, f"toolu_w{n}")
        self.at(now - 1500)
        self.agent(SEARCH, "Explore", "Find where passwords are handled", "toolu_a0")
        report = {"findings": [
            {"severity": "S0", "title": "Passwords are written to the log", "file": "src/login.ts", "line": 42},
            {"severity": "S2", "title": "No test for an expired cookie", "file": "test/login.test.ts"},
            {"severity": "S3", "title": "The login form has no label", "file": "src/form.tsx", "line": 7}]}
        self.event("SubagentStop", agent_id=SEARCH, agent_type="Explore", stop_hook_active=False,
                   last_assistant_message=f"Done.\n```json\n{json.dumps(report)}\n```")
        self.at(now - 900)
        self.loop()
        self.event("PreCompact", trigger="auto", custom_instructions="")
        self.at(now - 610)
        self.agent(AUDIT, "general-purpose", "Audit the login routes", "toolu_a1")
        self.failure("Bash", {"command": "npm install"}, "toolu_f0", "npm error network request failed: ETIMEDOUT")
        self.tool("Bash", {"command": "npm install"}, "toolu_f1")
        self.at(now - 540)
        self.event("SessionStart", PRICES, source="startup")
        self.event("UserPromptSubmit", PRICES, prompt="Why does the price list load so slowly?")
        # The last events run by the real clock. The journal has the times that hooks took, and with a
        # clock that stands still it has none: it begins here.
        for journal in (self.root / ".claude/state/journal").iterdir():
            journal.unlink()
        self.at(None)
        self.event("UserPromptSubmit", prompt="Now the tests, and then fix what the audit finds")
        self.failure("Bash", {"command": "make all"}, "toolu_f2", "Command timed out after 2m 0.0s")
        self.failure("WebFetch", {"url": "https://example.com/docs"}, "toolu_f3",
                     "Request failed with status code 429: rate limit exceeded, retry after 90 seconds")
        self.failure("Write", {"file_path": "/etc/hosts"}, "toolu_f4", "EACCES: permission denied, open '/etc/hosts'")
        self.agent(TESTS, "general-purpose", "Write tests for the session cookie", "toolu_a2")
        self.tool("Edit", {"file_path": str(self.root / "src/form.tsx")}, "toolu_w3", agent_id=TESTS,
                  agent_type="general-purpose")
        for n in range(4):
            self.tool("Edit", {"file_path": str(self.root / f"src/routes/{n}.ts")}, f"toolu_x{n}")
        self.tool("Bash", {"command": "make all"}, "toolu_f5")
        self.event("Stop", PRICES, stop_hook_active=False, last_assistant_message="It asks for every price alone.")
        self.tool("Read", {"file_path": str(self.root / "src/prices.ts")}, "toolu_r0", PRICES)
