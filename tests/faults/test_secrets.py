"""Secrets in everything that a payload can carry: none is stored, not even while an event waits."""

import json
from concurrent.futures import ThreadPoolExecutor

from secret_shapes import shapes
from support import AGENT, SESSION, event, test
from test_lock import held

AT_ONCE = 16


def finding(text, **fields):
    block = {"severity": "S1", "title": "t", "details": "d", "recommendation": "r", **fields}
    return event("SubagentStop", last_assistant_message="```json\n" + json.dumps({"findings": [block]}) + "\n```")


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
    "finding's title": lambda text: [finding(text, title=text, details=text, recommendation=text)],
    "finding's category": lambda text: [finding(text, category=text)],
    "finding's file": lambda text: [finding(text, file=text)],
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
    "slash command": lambda text: [
        event("UserPromptSubmit", prompt=f"/deploy {text}"), event("UserPromptExpansion", command_args=text, prompt=f"/deploy {text}")
    ],
    "tool response": lambda text: [event("PostToolUse", tool_response={"content": text, "stdout": text})],
}


@test
def secrets_in_events(suite, checks):
    def one(project, case):
        (name, text, secrets), (channel, events) = case
        tree = started(project)
        project.restore(tree)
        for payload in events(text):
            run = project.run(payload)
            checks.ran(run, f"{name} in {channel}", (0,))
        check(project, checks, f"{name} in {channel}", secrets)

    suite.parallel(one, [(shape, channel) for shape in shapes() for channel in CHANNELS.items()])


@test
def secrets_in_a_side_file(suite, checks):
    """The description that the client keeps beside a subagent's transcript."""
    project = suite.project()
    tree = started(project)
    side = project.home / f".claude/projects/-home-dev-shop/{SESSION}/subagents/agent-{AGENT}.meta.json"
    side.parent.mkdir(parents=True)
    for name, text, secrets in shapes():
        project.restore(tree)
        side.write_text(json.dumps({"description": text, "toolUseId": "t"}))
        project.play([event("PostToolUse", tool_name="Read", agent_id=AGENT), event("SubagentStop")])
        check(project, checks, f"{name} in a side file", secrets)


@test
def secrets_in_rejected_payloads(suite, checks):
    """A payload that cannot be used is kept as text, and that text is clean too."""
    def one(project, shape):
        name, text, secrets = shape
        for what, payload in broken(project, name, text).items():
            checks.ran(project.run(payload), f"{name}, {what}", (1,))
            check(project, checks, f"{name} in a rejected payload, {what}", secrets)
            project.restore({})

    suite.parallel(one, shapes())


@test
def secrets_in_the_spool(suite, checks):
    """Nothing is stored in clear while events wait, nor when they were played."""
    project = suite.project()
    project.restore(started(project))
    waiting = [(name, text, secrets, failing(command=text, note=f"see\n{text}", deep=[{"x": text}])) for name, text, secrets in shapes()]
    value = "Zq81mmxw04TT"
    for key in ("password", "api_key", "Authorization", "client_secret", "AWS_SECRET_ACCESS_KEY", "X-Api-Key"):
        waiting.append((f"value of {key}", "", [f"{value}{key}"], failing(command="make", headers={key: f"{value}{key}"})))
    with held(project), ThreadPoolExecutor(AT_ONCE) as pool:
        for (name, _, _, _), run in zip(waiting, pool.map(lambda entry: project.run(entry[3]), waiting)):
            checks.ran(run, f"{name}, while the lock is held", (0,))
        for name, _, secrets, _ in waiting:
            check(project, checks, f"{name} in the spool", secrets)
    while project.spooled():
        project.play([event("Stop")])
    for name, _, secrets, _ in waiting:
        check(project, checks, f"{name} played from the spool", secrets)


@test
def secrets_of_a_project(suite, checks):
    """A project's own patterns hold everywhere."""
    project = suite.project()
    secret = "CORP-481516"
    project.play([event("SessionStart")])
    (project.claude / "hookkeeper.json").write_text(json.dumps({"redact": ["CORP-[0-9]+"]}))
    project.play([event("UserPromptSubmit", prompt=f"use {secret}")])
    check(project, checks, "a project's pattern in a prompt", [secret])
    project.run(b'{"hook_event_name": "Stop", "prompt": "' + secret.encode())
    check(project, checks, "a project's pattern in a rejected payload", [secret])
    with held(project):
        project.run(event("UserPromptSubmit", prompt=f"use {secret}"))
    check(project, checks, "a project's pattern in the spool", [secret])


def started(project):
    """A session with an agent, and a log with every detail."""
    project.env["HOOKKEEPER_LOG"] = "trace"
    project.restore({})
    project.play([event("SessionStart"), event("UserPromptSubmit"), event("SubagentStart")])
    return project.save()


def broken(project, name, text):
    """Payloads that cannot be used, with a secret in them."""
    payload = project.payload(event("PostToolUseFailure", tool_input={"command": text}, error=f"Exit code 1\n{text}\t{text}"))
    return {
        "cut off": payload[:-10],
        "without a session": project.payload({"hook_event_name": "Stop", "prompt": f"{text}\n{text}"}),
        "plain text": f"oops\n{text}\n".encode(),
        "invalid UTF-8 in front": b"\xff" + payload,
    }


def check(project, checks, what, secrets):
    for path in project.claude.rglob("*"):
        if path.is_file():
            content = path.read_text(errors="replace")
            leaked = [secret for secret in secrets if secret in content]
            checks.that(not leaked, f"{what}: in clear in {path.relative_to(project.claude)}: {leaked[:1]}")
