#!/usr/bin/env python3
"""What `cargo publish` would send: whether anything is missing in it, and how large it is: .ci/package.py [--build]

--build unpacks it elsewhere and builds it there as `cargo install` would: without this repository's .cargo/config.toml.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
# Packed. The registry takes 10 MB; this is only to notice a recording or a picture that slipped in (release/README.md).
LARGEST = 1_000_000
# A file that is compiled in, as long as no test module has begun.
INCLUDED = re.compile(r'include(?:_str|_bytes)?!\(\s*"([^"]+)"')
# A module in a file of its own that only tests have.
TEST_MODULE = re.compile(r'#\[cfg\(test\)\]\n(?:#\[path = "([^"]+)"\]\n)?(?:pub )?mod (\w+);')


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="hk-package-") as room:
        packed = package(Path(room))
        with tarfile.open(packed) as tar:
            names = {member.name.split("/", 1)[1] for member in tar if member.isfile()}
            if "--build" in sys.argv:
                tar.extractall(room, filter="data")
                build(Path(room) / packed.stem)
        wrong = [f"{name} is compiled in, but not in the package (`include` in Cargo.toml)"
                 for name in sorted(compiled_in() - names)]
        wrong += [f"{name} is not in the package, but it is not declared below #[cfg(test)]"
                  for name in sorted(left_out(names) - for_tests())]
        size = packed.stat().st_size
    if size > LARGEST:
        wrong.append(f"{size:,} bytes are more than {LARGEST:,}")
    print("".join(f"package: {line}\n" for line in wrong), end="", file=sys.stderr)
    if not wrong:
        print(f"{len(names)} files, {size:,} bytes packed")
    sys.exit(1 if wrong else 0)


def package(room: Path) -> Path:
    command = ["cargo", "package", "--no-verify", "--allow-dirty", "--quiet", "--target-dir", room]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    if ran.returncode != 0:
        sys.exit(f"package: {ran.stderr.strip()}")
    return next((room / "package").glob("*.crate"))


def compiled_in() -> set[str]:
    """All that build.rs and the sources include, by its path in the repository."""
    found = {"build.rs", "link-order.ld", *(str(path.relative_to(ROOT)) for path in (ROOT / "schemas").glob("*.json"))}
    for source in (ROOT / "src").rglob("*.rs"):
        text = source.read_text().split("#[cfg(test)]\nmod ", 1)[0]
        found |= {str((source.parent / name).resolve().relative_to(ROOT)) for name in INCLUDED.findall(text)}
    return found


def left_out(names: set[str]) -> set[str]:
    return {str(path.relative_to(ROOT)) for path in (ROOT / "src").rglob("*.rs")} - names


def for_tests() -> set[str]:
    """The files of modules that only tests have."""
    found = set()
    for source in (ROOT / "src").rglob("*.rs"):
        folder = source.parent if source.stem in ("mod", "lib", "main") else source.with_suffix("")
        for path, name in TEST_MODULE.findall(source.read_text()):
            found.add(str(((source.parent / path) if path else folder / f"{name}.rs").relative_to(ROOT)))
    return found


def build(unpacked: Path) -> None:
    subprocess.run(["cargo", "build", "--locked", "--bin", "hookkeeper"], cwd=unpacked, check=True)
    subprocess.run([unpacked / "target/debug/hookkeeper", "--version"], check=True)


if __name__ == "__main__":
    main()
