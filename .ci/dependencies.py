#!/usr/bin/env python3
"""Holds what .cargo/deny.toml says of licences, duplicates, banned crates and sources, without a network: .ci/dependencies.py

What `cargo deny --offline check licenses bans sources` would say, in a second and without a program to build first.
Known weaknesses need a database: the workflow asks it.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def main() -> None:
    rules = tomllib.loads((ROOT / ".cargo/deny.toml").read_text())
    ran = subprocess.run(["cargo", "metadata", "--locked", "--all-features", "--format-version", "1"], cwd=ROOT,
                         capture_output=True, text=True)
    if ran.returncode != 0:
        sys.exit(f"dependencies: {ran.stderr.strip()}")
    metadata = json.loads(ran.stdout)
    packages = metadata["packages"]
    skipped = below(metadata, {entry["crate"] for entry in rules["bans"]["skip-tree"]})
    counted = [package for package in packages if package.get("id") not in skipped]
    wrong = [*licences(packages, rules["licenses"]["allow"]), *duplicates(counted, rules["bans"]["skip"]),
             *banned(metadata, rules["bans"]["deny"]), *sources(packages, rules["sources"]["allow-registry"])]
    print("".join(f"dependencies: {line}\n" for line in wrong), end="", file=sys.stderr)
    if not wrong:
        print(f"{len(packages)} packages: licences, duplicates and sources are as .cargo/deny.toml wants them")
    sys.exit(1 if wrong else 0)


def licences(packages: list[dict], allowed: list[str]) -> list[str]:
    return [f"{package['name']} {package['version']}: the licence {package['license']!r} is not allowed"
            for package in packages if not is_allowed(package["license"] or "", set(allowed))]


def is_allowed(expression: str, allowed: set[str]) -> bool:
    """An SPDX expression: `AND` binds closer than `OR`; the old `/` is an `OR`."""
    words = re.findall(r"[()]|[^\s()]+", expression.replace("/", " OR "))

    def either() -> bool:
        fits = both()
        while words and words[0] == "OR":
            words.pop(0)
            fits = both() or fits
        return fits

    def both() -> bool:
        fits = single()
        while words and words[0] == "AND":
            words.pop(0)
            fits = single() and fits
        return fits

    def single() -> bool:
        word = words.pop(0) if words else ""
        if word == "(":
            fits = either()
            return (words.pop(0) if words else "") == ")" and fits
        if words and words[0] == "WITH":
            word = " ".join([word, words.pop(0), words.pop(0) if words else ""])
        return word in allowed

    fits = either()
    return fits and not words


def below(metadata: dict, names: set[str]) -> set[str]:
    """The ids of these packages and of all that they depend on."""
    needs = {node["id"]: node["dependencies"] for node in (metadata.get("resolve") or {}).get("nodes", [])}
    waiting = [package["id"] for package in metadata["packages"] if package["name"] in names]
    found: set[str] = set()
    while waiting:
        if (package := waiting.pop()) not in found:
            found.add(package)
            waiting += needs.get(package, [])
    return found


def duplicates(packages: list[dict], skipped: list[dict]) -> list[str]:
    versions = defaultdict(set)
    for package in packages:
        versions[package["name"]].add(package["version"])
    accepted = {entry["crate"] for entry in skipped}
    twice = {name for name, found in versions.items() if len(found) > 1}
    for name in sorted(accepted - twice):
        print(f"{name} is not there twice: it could be taken out of `skip` in .cargo/deny.toml")
    return [f"{name} is there in {len(versions[name])} versions: {', '.join(sorted(versions[name]))}"
            for name in sorted(twice - accepted)]


def banned(metadata: dict, rules: list[dict]) -> list[str]:
    """A crate that may not be there, or only below its `wrappers`."""
    names = {package["id"]: package["name"] for package in metadata["packages"] if "id" in package}
    users = defaultdict(set)
    for node in (metadata.get("resolve") or {}).get("nodes", []):
        for needed in node["dependencies"]:
            users[names.get(needed)].add(names.get(node["id"]))
    present = {package["name"] for package in metadata["packages"]}
    wrong = []
    for rule in rules:
        name, reason = rule["crate"], rule["reason"]
        if "wrappers" not in rule and name in present:
            wrong.append(f"{name}: {reason}")
        wrong += [f"{name} is used by {user}: {reason}" for user in sorted(users[name] - set(rule.get("wrappers", [])))
                  if "wrappers" in rule]
    return wrong


def sources(packages: list[dict], registries: list[str]) -> list[str]:
    known = {f"registry+{registry}" for registry in registries}
    return [f"{package['name']} comes from {package['source']}" for package in packages
            if package["source"] is not None and package["source"] not in known]


if __name__ == "__main__":
    main()
