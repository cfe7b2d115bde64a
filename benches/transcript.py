"""Transcripts of any size, in the client's shape."""

from __future__ import annotations

import json
import random
from pathlib import Path


def compact(value: dict) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False) + "\n"


def write(path: Path, size: int) -> Path:
    """A conversation of file reads and edits. There is no compaction in it, and it is about so
    few files that a reader who collects them is never done before the beginning."""
    dice = random.Random(1)
    sources = [source(dice) for _ in range(60)]
    with open(path, "w") as file:
        for n in range(size):
            name, text = f"/home/dev/shop/src/part{n % 120}.ts", dice.choice(sources)
            file.write(call(n, name) + result(n, name, text[: size // 10]))
            if file.tell() > size:
                return path


def source(dice: random.Random) -> str:
    words = ["const", "login", "=", "(user)", "=>", "{", "return", '"name"', "await", "\t", "};"]
    count = dice.randint(40, 160)
    lines = (" ".join(dice.choices(words, k=dice.randint(2, 12))) for _ in range(count))
    return "\n".join(f"{n:6}→{text}" for n, text in enumerate(lines, 1))


def line(n: int, fields: dict) -> str:
    head = {"parentUuid": f"55decf7c-7ea9-4805-95e7-{n:012}", "isSidechain": False}
    foot = {"uuid": f"5cc17b4a-1283-4ecd-ac23-{n:012}", "timestamp": "2026-11-16T00:25:50.687Z",
            "userType": "external", "entrypoint": "cli", "cwd": "/home/dev/shop",
            "sessionId": "9f99b61b-a627-4cde-9856-7e07b84da7b2", "version": "2.1.325",
            "gitBranch": "main"}
    return compact(head | fields | foot)


def call(n: int, name: str) -> str:
    """Every fourth call is an edit."""
    edit = {"old_string": "const a = 1;", "new_string": "const a = 2;"} if n % 4 == 3 else {}
    block = {"type": "tool_use", "id": f"toolu_{n:06}", "name": "Edit" if edit else "Read",
             "input": {"file_path": name} | edit}
    usage = {"input_tokens": 4, "cache_creation_input_tokens": 900, "output_tokens": 96,
             "cache_read_input_tokens": 10 * n, "service_tier": "standard"}
    message = {"id": f"msg_{n:06}", "type": "message", "role": "assistant",
               "model": "claude-opus-5-5", "content": [block], "stop_reason": "tool_use",
               "stop_sequence": None, "usage": usage}
    return line(n, {"message": message, "requestedModel": "claude-opus-5-5", "type": "assistant"})


def result(n: int, name: str, text: str) -> str:
    """The client keeps what was read twice: for the model and for itself."""
    block = {"tool_use_id": f"toolu_{n:06}", "type": "tool_result", "content": text}
    file = {"filePath": name, "content": text, "numLines": text.count("\n"), "startLine": 1}
    return line(n, {"type": "user", "message": {"role": "user", "content": [block]},
                    "toolUseResult": {"type": "text", "file": file}})
