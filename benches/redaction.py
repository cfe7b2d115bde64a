"""Payloads of a megabyte that are stored whole, so that all of it is redacted."""

from __future__ import annotations

from books import READ, Project
from rig import Contestant, Failed

SIZE = 1_000_000
# Each made for one rule: what could be the beginning of a secret, again and again.
REPEATED = (".", "-", "sk-", "token:", "mysql ", "a", "%3D", "eyJ", "ghp_", "glpat-", "://a:", "bearer ", "-u a:",
            "-----BEGIN ", "123456789:AA", "<password>", "key=key:", "'token', ")


def ordinary() -> str:
    """Code, logs and prose, as they come."""
    line = ("2026-01-29T10:11:12Z INFO worker-{0}: read src/part_{0}.rs in {0} ms\n"
            "let value_{0} = map.get(&name_{0}).unwrap_or(&default); // see docs/part-{0}.md\n"
            "The parser reads a word, looks it up in table {0} and goes on with the next one.\n"
            "GET https://example.com/items/{0}?page={0}&sort=name 200\n")
    text, n = "", 0
    while len(text) < SIZE:
        text, n = text + line.format(n), n + 1
    return text[:SIZE]


def repeated(part: str) -> str:
    return (part * (SIZE // len(part) + 1))[:SIZE]


def recorded(project: Project, text: str) -> Contestant:
    """A tool call whose payload is kept, without its secrets."""
    room = project.state / "recorded"

    def check(n: int) -> None:
        kept = list(room.iterdir())
        if len(kept) != 1 or not kept[0].stat().st_size:
            raise Failed(f"{len(kept)} payloads were kept")
        kept[0].unlink()

    fields = READ | {"tool_response": {"content": text}}
    # Whether it is also a sign of life depends on the time.
    return project.hook("PostToolUse", lambda n: fields, "", None, after=check)


def recording(project: Project) -> Project:
    (project.root / ".claude/hookkeeper.json").write_text('{"record": true}')
    return project
