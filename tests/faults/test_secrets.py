"""Secrets in everything that a payload can carry: none is stored, not even while an event waits."""

import collections
import json
from concurrent.futures import ThreadPoolExecutor

from secret_shapes import shapes
from support import AGENT, SESSION, event, test
from test_lock import held

AT_ONCE = 16
SHOWN = 12
# Keys of structured input whose values are secret, whatever they look like.
SECRET_KEYS = ("password", "api_key", "Authorization", "client_secret", "AWS_SECRET_ACCESS_KEY", "X-Api-Key")


def report(findings=(), **fields):
    """An agent's last message with a fenced block."""
    findings = [{"severity": "S1", "title": "t", "details": "d", "recommendation": "r", **each} for each in findings]
    block = json.dumps({"findings": findings, **fields})
    return event("SubagentStop", last_assistant_message=f"```json\n{block}\n```")


def failing(**tool_input):
    return event("PostToolUseFailure", tool_use_id="toolu_secret", tool_input=tool_input)


def task(text):
    return [{"id": AGENT, "type": "subagent", "status": "running", "description": text}]


# Every place where free text comes in. Each makes the events that carry it.
CHANNELS = {
    "prompt": lambda text: [event("UserPromptSubmit", prompt=text)],
    "prompt after a line break": lambda text: [event("UserPromptSubmit", prompt=f"use this:\n{text}")],
    "command": lambda text: [failing(command=text)],
    "description of a command": lambda text: [failing(command="make", description=text)],
    "error": lambda text: [event("PostToolUseFailure", error=f"Exit code 1\n{text}")],
    "syntax error": lambda text: [event("PostToolUseFailure", error=f"Exit code 1\nsrc/a.js:3\nSyntaxError: {text}")],
    "url": lambda text: [event("PostToolUseFailure", tool_name="WebFetch", tool_input={"url": text, "prompt": text})],
    "structured input": lambda text: [failing(command="make", env={"NOTE": text}, list=[text, {"deep": text}])],
    "query": lambda text: [event("PostToolUseFailure", tool_name="WebSearch", tool_input={"query": text})],
    "finding in a list": lambda text: [
        event("SubagentStop", last_assistant_message=f"- [S1] Found {text}\n  Recommendation: rotate {text}\n\n## Recommendations\n- {text}")
    ],
    "finding's text": lambda text: [report([{"title": text, "details": text, "recommendation": text}])],
    "finding's category": lambda text: [report([{"category": text}])],
    "finding's file": lambda text: [report([{"file": text}])],
    "report's lists": lambda text: [report(recommendations=[text], files_analyzed=[text])],
    "call of an agent": lambda text: [event("PreToolUse", tool_input={"description": text, "prompt": text, "subagent_type": "x"})],
    "answer of an agent": lambda text: [
        event("PostToolUse", tool_name="Agent", tool_use_id="t", tool_input={"description": text, "prompt": text},
              tool_response={"status": "completed", "agentId": AGENT, "content": [{"type": "text", "text": text}]})
    ],
    "custom instructions": lambda text: [event("PreCompact", custom_instructions=text)],
    "compact summary": lambda text: [event("PostCompact", compact_summary=text)],
    "background task at Stop": lambda text: [event("Stop", background_tasks=task(text), last_assistant_message=text)],
    "background task at SubagentStop": lambda text: [event("SubagentStop", background_tasks=task(text))],
    "StopFailure message": lambda text: [event("StopFailure", last_assistant_message=text)],
    "StopFailure error": lambda text: [event("StopFailure", error=text)],
    "notification": lambda text: [event("Notification", message=text, title=text, notification_type=text)],
    "call that was refused": lambda text: [
        event("PostToolBatch", tool_calls=[{"tool_name": "Edit", "tool_use_id": "t", "tool_input": {"file_path": text},
                                            "tool_response": f"<tool_use_error>{text}</tool_use_error>"}])
    ],
    "call that was denied": lambda text: [event("PermissionDenied", reason=text, tool_input={"command": text})],
    "model": lambda text: [event("PostModelSwitch", to_model=text, from_model=text, source=text)],
    "slash command": lambda text: [
        event("UserPromptSubmit", prompt=f"/deploy {text}"), event("UserPromptExpansion", command_args=text, prompt=f"/deploy {text}")
    ],
    "tool response": lambda text: [event("PostToolUse", tool_response={"content": text, "stdout": text})],
}


@test
def secrets_in_events(suite, checks):
    leaks = Leaks(checks)

    def one(project, case):
        (name, text, secrets), (channel, events) = case
        started(project)
        for payload in events(text):
            checks.ran(project.run(payload), f"{name} in {channel}", (0,))
        leaks.look(project, channel, name, secrets)

    suite.parallel(one, [(shape, channel) for shape in shapes() for channel in CHANNELS.items()])
    leaks.report()


@test
def secrets_in_a_side_file(suite, checks):
    """The description that the client keeps beside a subagent's transcript."""
    project = suite.project()
    leaks = Leaks(checks)
    side = project.home / f".claude/projects/-home-dev-shop/{SESSION}/subagents/agent-{AGENT}.meta.json"
    side.parent.mkdir(parents=True)
    for name, text, secrets in shapes():
        started(project)
        side.write_text(json.dumps({"description": text, "toolUseId": "t"}))
        project.play([event("PostToolUse", tool_name="Read", agent_id=AGENT), event("SubagentStop")])
        leaks.look(project, "side file", name, secrets)
    leaks.report()


@test
def secrets_in_rejected_payloads(suite, checks):
    """A payload that cannot be used is kept as text, and that text is clean too."""
    leaks = Leaks(checks)

    def one(project, shape):
        name, text, secrets = shape
        for what, payload in broken(project, text).items():
            checks.ran(project.run(payload), f"{name}, {what}", (1,))
            leaks.look(project, f"rejected payload, {what}", name, secrets)
            project.restore({})

    suite.parallel(one, shapes())
    leaks.report()


@test
def secrets_in_the_spool(suite, checks):
    """Nothing is stored in clear while events wait, nor when they were played."""
    project = suite.project()
    leaks = Leaks(checks)
    started(project)
    waiting = [(name, secrets, failing(command=text, note=f"see\n{text}", deep=[{"x": text}])) for name, text, secrets in shapes()]
    for key in SECRET_KEYS:
        secret = f"Zq81mmxw04TT{key}"
        waiting.append((f"value of {key}", [secret], failing(command="make", headers={key: secret})))
    with held(project), ThreadPoolExecutor(AT_ONCE) as pool:
        for (name, _, _), run in zip(waiting, pool.map(lambda entry: project.run(entry[2]), waiting)):
            checks.ran(run, f"{name}, while the lock is held", (0,))
        for name, secrets, _ in waiting:
            leaks.look(project, "event that waits", name, secrets)
    while project.spooled():
        project.play([event("Stop")])
    for name, secrets, _ in waiting:
        leaks.look(project, "event that waited", name, secrets)
    leaks.report()


@test
def secrets_of_a_project(suite, checks):
    """A project's own patterns hold everywhere."""
    project = suite.project()
    leaks = Leaks(checks)
    secret = ["CORP-481516"]
    text = f"use {secret[0]}"
    project.play([event("SessionStart")])
    (project.claude / "hookkeeper.json").write_text(json.dumps({"redact": ["CORP-[0-9]+"]}))
    project.play([event("UserPromptSubmit", prompt=text)])
    leaks.look(project, "prompt", "a project's pattern", secret)
    project.run(b'{"hook_event_name": "Stop", "prompt": "' + text.encode())
    leaks.look(project, "rejected payload", "a project's pattern", secret)
    with held(project):
        project.run(event("UserPromptSubmit", prompt=text))
    leaks.look(project, "event that waits", "a project's pattern", secret)
    leaks.report()


def started(project):
    """A session with an agent, and a log with every detail."""
    project.env["HOOKKEEPER_LOG"] = "trace"
    project.restore({})
    project.play([event("SessionStart"), event("UserPromptSubmit"), event("SubagentStart")])


def broken(project, text):
    """Payloads that cannot be used, with a secret in them."""
    payload = project.payload(event("PostToolUseFailure", tool_input={"command": text}, error=f"Exit code 1\n{text}\t{text}"))
    return {
        "cut off": payload[:-10],
        "without a session": project.payload({"hook_event_name": "Stop", "prompt": f"{text}\n{text}"}),
        "plain text": f"oops\n{text}\n".encode(),
        "invalid UTF-8 in front": b"\xff" + payload,
    }


class Leaks:
    """What was found in clear: by the place it came in and the folder it went to, which shapes."""

    def __init__(self, checks):
        self.checks = checks
        self.found = collections.defaultdict(list)

    def look(self, project, channel, shape, secrets):
        for path in project.claude.rglob("*"):
            if path.is_file():
                content = path.read_text(errors="replace")
                self.checks.that(True, "")
                if any(secret in content for secret in secrets):
                    self.found[channel, path.relative_to(project.claude).parts[1:2]].append(shape)

    def report(self):
        for (channel, folder), names in self.found.items():
            names = list(dict.fromkeys(names))
            shown = ", ".join(names[:SHOWN]) + (" and more" if names[SHOWN:] else "")
            self.checks.that(False, f"{channel}: {len(names)} shapes in clear under {'/'.join(folder)}: {shown}")
