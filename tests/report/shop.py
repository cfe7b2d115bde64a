"""A scratch project with sessions in it: recorded payloads, and a long journal."""
import json
import os
import shutil
import subprocess
import time
from datetime import datetime, timedelta, timezone
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
PAYLOADS = REPOSITORY / "tests/payloads"
TRANSCRIPTS = REPOSITORY / "tests/transcripts"
# Two agents side by side, errors, a compaction and a loop, as the client sent them; what the model ran of ours is run again.
WHOLE = "whole-session"
SCENARIOS = ["resume-and-compact", "background-agent", "nested-agents", "workflow", "stop-blocked-three-times", "refused-calls",
             "implement-login"]
REPORTED = """I looked at the login.

| Severity | File | Finding |
|---|---|---|
| S0 | src/auth/login.ts:42 | Passwords are compared in plain text |
| S1 | src/auth/login.ts:17 | Nothing limits the number of attempts |
| S2 | src/auth/session.ts:88 | Sessions outlive a change of password |
| S3 | src/auth/session.ts:3 | An import is not used |
"""


class Shop:
    def __init__(self, binary, home):
        self.binary, self.home = str(Path(binary).resolve()), Path(home).resolve()
        self.project = self.home / "shop"
        self.project.mkdir(parents=True)
        self.env = {"HOME": str(self.home), "PATH": os.environ["PATH"], "CLAUDE_PID": "1", "LANG": "C.UTF-8",
                    "CLAUDE_PROJECT_DIR": str(self.project)}
        self.clock = datetime.now(timezone.utc) - timedelta(days=2)

    def run(self, *args, stdin="", code=0, **env):
        done = subprocess.run([self.binary, *args], input=stdin, text=True, capture_output=True, cwd=self.project,
                              env={**self.env, **env})
        assert done.returncode == code, (args, done.stdout, done.stderr)
        return done.stdout + done.stderr

    def hook(self, payload, seconds=4.0):
        """One event; the clock goes on by so much."""
        self.clock += timedelta(seconds=seconds)
        text = json.dumps(payload).replace("/home/dev", str(self.home))
        self.run("hook", stdin=text + "\n", HOOKKEEPER_FIXED_TIME=self.clock.strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "Z")

    def scenario(self, name, pace=(3, 9, 1.5, 14, 0.4, 6)):
        """Plays what the client sent; returns the session of the last event."""
        self.clock += timedelta(hours=3)
        session = None
        for at, path in enumerate(sorted((PAYLOADS / name).glob("*.json"))):
            payload = json.loads(path.read_text())
            session = payload["session_id"]
            self.run_our_commands(session, payload)
            self.hook(payload, pace[at % len(pace)])
        return session

    def run_our_commands(self, session, payload):
        """A call of the shell that had our program in it was made before its event came."""
        command = payload.get("tool_input", {}).get("command", "")
        if not payload["hook_event_name"].startswith("PostToolUse") or "hookkeeper " not in command:
            return
        bin = self.home / "bin"
        bin.mkdir(exist_ok=True)
        if not (bin / "hookkeeper").exists():
            (bin / "hookkeeper").symlink_to(self.binary)
        moment = (self.clock + timedelta(milliseconds=300)).strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "Z"
        subprocess.run(["sh", "-c", command], cwd=self.project, capture_output=True, env={
            **self.env, "PATH": f"{bin}:{self.env['PATH']}", "CLAUDE_CODE_SESSION_ID": session, "HOOKKEEPER_FIXED_TIME": moment})

    def whole_session(self):
        """The recorded session that has everything, with its transcripts where the client keeps them."""
        root = "".join(c if c.isalnum() else "-" for c in str(self.project))
        shutil.copytree(TRANSCRIPTS / WHOLE, self.home / ".claude/projects" / "-home-dev-shop", dirs_exist_ok=True)
        shutil.copytree(TRANSCRIPTS / WHOLE, self.home / ".claude/projects" / root, dirs_exist_ok=True)
        return self.scenario(WHOLE)

    def event(self, session, name, seconds=4.0, **fields):
        self.hook({"session_id": session, "hook_event_name": name, "cwd": "/home/dev/shop", **fields}, seconds)

    def call(self, session, tool, target, seconds=5.0, agent=None, failed=None, ms=900):
        fields = {"tool_name": tool, "tool_use_id": f"t{self.clock.timestamp()}", "duration_ms": ms,
                  "tool_input": {"command" if tool == "Bash" else "file_path": target}}
        if agent:
            fields |= {"agent_id": agent, "agent_type": "Explore"}
        if failed:
            self.event(session, "PostToolUseFailure", seconds, error=failed, **fields)
        else:
            self.event(session, "PostToolUse", seconds, tool_response={}, **fields)

    def journal(self, session):
        path = self.project / ".claude/state/journal" / f"{session}.jsonl"
        return [json.loads(line) for line in path.read_text().splitlines()]

    def full_session(self):
        """A session with all that a report shows: agents side by side, errors, a compaction, a loop with gates."""
        session, root = "5e55104e-0a4b-4c1d-9f0e-7a2b3c4d5e6f", str(self.project)
        transcript = self.home / ".claude/projects" / "".join(c if c.isalnum() else "-" for c in root) / f"{session}.jsonl"
        transcript.parent.mkdir(parents=True, exist_ok=True)
        usage = {"input_tokens": 48_200, "output_tokens": 21_300, "cache_creation_input_tokens": 96_400,
                 "cache_read_input_tokens": 612_000}
        lines = [{"type": "assistant", "costUSD": 4.62, "timestamp": self.clock.isoformat(), "message": {
            "id": "m1", "model": "claude-opus-4-1", "role": "assistant", "content": [], "usage": usage}}]
        for event, command, millis in [("PreToolUse:Bash", "hookkeeper hook", 3), ("PostToolUse:Edit", "npx prettier --write", 640),
                                       ("PostToolUse:Edit", "npx prettier --write", 910), ("Stop", "./notify.sh", 88)]:
            lines.append({"type": "attachment", "timestamp": self.clock.isoformat(), "attachment": {
                "type": "hook_success", "hookName": event, "hookEvent": event.split(":")[0], "command": command,
                "durationMs": millis, "exitCode": 0}})
        transcript.write_text("".join(json.dumps(line) + "\n" for line in lines))
        for agent, output in [("a1f0e2d3c4b5a6978", 6100), ("a2e1d0c9b8a796857", 3900), ("a3d2c1b0a98877665", 2400)]:
            used = {"input_tokens": 9 * output, "output_tokens": output, "cache_read_input_tokens": 31 * output}
            line = {"type": "assistant", "isSidechain": True, "costUSD": round(output / 9000, 4), "timestamp": self.clock.isoformat(), "message": {
                "id": f"m-{agent}", "model": "claude-opus-4-1", "role": "assistant", "content": [], "usage": used}}
            own = transcript.with_suffix("") / "subagents" / f"agent-{agent}.jsonl"
            own.parent.mkdir(parents=True, exist_ok=True)
            own.write_text(json.dumps(line) + "\n")
        path = {"transcript_path": str(transcript)}
        self.clock += timedelta(hours=2)
        self.event(session, "SessionStart", source="startup", **path)
        self.event(session, "UserPromptSubmit", prompt="Add rate limits to the login and prove that they hold", prompt_id="p1", **path)
        for n, name in enumerate(["src/auth/login.ts", "src/auth/session.ts", "src/server.ts", "package.json"]):
            self.call(session, "Read", f"{root}/{name}", 2 + n, ms=40)
        agents = [("a1f0e2d3c4b5a6978", "security-auditor", "Audit the login"), ("a2e1d0c9b8a796857", "Explore", "Map the middleware"),
                  ("a3d2c1b0a98877665", "test-writer", "Write tests for limits")]
        for number, (agent, kind, task) in enumerate(agents):
            self.event(session, "PreToolUse", 1.5, tool_name="Agent", tool_use_id=f"toolu_{number}",
                       tool_input={"description": task, "prompt": f"{task}, please", "subagent_type": kind})
            self.event(session, "SubagentStart", 1, agent_id=agent, agent_type=kind)
        for step in range(14):
            for number, (agent, _, _) in enumerate(agents):
                if step < 14 - 3 * number:
                    self.call(session, ["Read", "Grep", "Bash"][step % 3], f"{root}/src/{step}-{number}.ts" if step % 3 < 2 else
                              f"npm test -- {step}", 2.5, agent, ms=[60, 210, 5200][step % 3])
            if step == 6:
                self.call(session, "WebFetch", "https://example.com/limits", 1, agents[1][0], failed="connect ETIMEDOUT 10.0.0.1:443")
        for number, (agent, kind, _) in enumerate(agents[::-1]):
            self.event(session, "SubagentStop", 6, agent_id=agent, agent_type=kind, agent_transcript_path=None,
                       last_assistant_message=REPORTED if kind == "security-auditor" else "Done: nothing to report.")
        self.call(session, "Edit", f"{root}/src/auth/login.ts", 9, ms=30)
        self.call(session, "Bash", "npm test", 20, failed="Exit code 1\nFAIL src/auth/login.test.ts: expected 429, got 200", ms=14_000)
        self.event(session, "PreCompact", 4, trigger="auto", custom_instructions="", **path)
        self.event(session, "PostCompact", 25, trigger="auto", compact_summary="Limits are written; one test fails.", **path)
        self.run("loop", "start", "All tests of the login pass", "--gate", "test", "--session", session,
                 HOOKKEEPER_FIXED_TIME=self.clock.strftime("%Y-%m-%dT%H:%M:%SZ"))
        for iteration in range(4):
            self.clock += timedelta(seconds=4)
            self.call(session, "Edit", f"{root}/src/auth/limits{iteration}.ts", 8, ms=35)
            self.call(session, "Bash", "npm test", 15, ms=9000, failed="Exit code 1\n2 failed" if iteration == 0 else None)
            self.run("gate", "test", "pass" if iteration else "fail", HOOKKEEPER_FIXED_TIME=(self.clock).strftime("%Y-%m-%dT%H:%M:%S.500Z"))
            self.event(session, "Stop", 3, stop_hook_active=iteration > 0, last_assistant_message="Going on.", **path)
        self.event(session, "Notification", 5, message="Claude is waiting for your input", notification_type="idle_prompt")
        self.event(session, "SessionEnd", 30, reason="prompt_input_exit", **path)
        return session

    def long_session(self, events=10_000):
        """A journal of so many lines, as the hooks would have written it."""
        session, began = "10000000-aaaa-4bbb-8ccc-ddddeeeeffff", datetime.now(timezone.utc) - timedelta(hours=9)
        self.event(session, "UserPromptSubmit", prompt="Migrate every module", prompt_id="p1")
        lines = []
        for n in range(events - 1):
            moment = began + timedelta(seconds=3 * n, milliseconds=n % 977)
            agent = None if n % 3 == 0 else f"a{n % 12:016x}"
            line = {"v": 1, "time": moment.strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "Z", "kind": "tool", "session": session,
                    "event": "PostToolUse", "call": f"toolu_{n:024}", "target": f"Bash cargo test --package module_{n % 251} -- --nocapture {'x' * (n % 60)}",
                    "ms": n * 37 % 9000, "outcome": "noted", "wrote": ["session/live/x.json"], "us": 700 + n * 31 % 900}
            if n % 97 == 0:
                line |= {"kind": "error", "what": "deterministic", "record": {"message": "cannot find value in this scope " * 4, "status": "logged"}}
            line |= {"agent": agent} if agent else {}
            lines.append(json.dumps(line))
        path = self.project / ".claude/state/journal" / f"{session}.jsonl"
        path.write_text("\n".join(lines) + "\n")
        os.utime(path, (time.time(), time.time()))
        return session
