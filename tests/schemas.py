#!/usr/bin/env python3
"""Our own schema checker beside a complete one: python3 tests/schemas.py

A test writes thousands of documents, mutated ones among them, each with our verdict; jsonschema, from PyPI, gives its own.
Exit status: 0 both agree on all, 1 they do not.
"""
import json
import os
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SCHEMAS = ROOT / "src/commands/validate/schemas"
TOOLS = ROOT / "target/schema-tools"


def main():
    if not (TOOLS / "bin/python").exists():
        venv.create(TOOLS, with_pip=True)
        subprocess.run([TOOLS / "bin/pip", "install", "--quiet", "--disable-pip-version-check", "jsonschema"], check=True)
    with tempfile.TemporaryDirectory(prefix="hk-schemas-") as room:
        verdicts = Path(room) / "verdicts.jsonl"
        test = ["cargo", "test", "--locked", "--quiet", "--test", "inside", "schemas::mutated_documents_are_told_apart"]
        subprocess.run(test, cwd=ROOT, env=os.environ | {"HOOKKEEPER_VERDICTS": str(verdicts)}, check=True)
        judge = [TOOLS / "bin/python", __file__, "--judge", verdicts]
        return subprocess.run(judge).returncode


def with_ends(schema):
    """In JSON Schema a pattern's `$` is the end of the text; Python's is before a last line break, too."""
    if isinstance(schema, list):
        return [with_ends(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    return {key: value.removesuffix("$") + r"\Z" if key == "pattern" and str(value).endswith("$") else with_ends(value)
            for key, value in schema.items()}


def compare(verdicts):
    from jsonschema import Draft202012Validator

    validators = {}
    for path in SCHEMAS.glob("*.schema.json"):
        schema = json.loads(path.read_text())
        Draft202012Validator.check_schema(schema)
        validators[path.name.removesuffix(".schema.json")] = Draft202012Validator(with_ends(schema))
    count, wrong = 0, []
    for line in verdicts.read_text().splitlines():
        said = json.loads(line)
        count += 1
        if validators[said["schema"]].is_valid(said["value"]) != said["good"]:
            wrong.append(f"{said['schema']}: {said['what']}: we say {'good' if said['good'] else 'bad'}")
    print("".join(f"FAIL  {line}\n" for line in wrong[:40]), end="")
    print(f"{count} documents of {len(validators)} schemas, {len(wrong)} verdicts differ")
    return 1 if wrong or count < 1000 else 0


if __name__ == "__main__":
    sys.exit(compare(Path(sys.argv[2])) if sys.argv[1:2] == ["--judge"] else main())
