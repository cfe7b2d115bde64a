#!/usr/bin/env python3
"""What `cargo publish --workspace` would send: whether anything is missing, and how large it is: .ci/package.py [--build]

--build unpacks the crates elsewhere and builds the program there as `cargo install` would: without this repository's
.cargo/config.toml, from nothing but what is in the crates.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
# Packed, all crates together. The registry takes 10 MB of each; this is only to notice a recording or a picture that
# slipped in (release/README.md).
LARGEST = 1_200_000
# A file that is compiled in, as long as no test module has begun.
INCLUDED = re.compile(r'include(?:_str|_bytes)?!\(\s*"([^"]+)"')
# A module in a file of its own that only tests have.
TEST_MODULE = re.compile(r'#\[cfg\(test\)\]\n(?:#\[path = "([^"]+)"\]\n)?(?:pub )?mod (\w+);')


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="hk-package-") as room:
        crates = package(Path(room))
        names = {}
        for packed in crates:
            with tarfile.open(packed) as tar:
                names |= {place(packed, member.name): packed for member in tar if member.isfile()}
                tar.extractall(Path(room) / "unpacked", filter="data")
        if "--build" in sys.argv:
            build(Path(room) / "unpacked")
        wrong = [f"{name} is compiled into {source}, but not in its package (`include` in Cargo.toml)"
                 for name, source in sorted(compiled_in()) if names.get(name) != names.get(source)]
        wrong += [f"{name} is in no package, but it is not declared below #[cfg(test)]"
                  for name in sorted(sources() - set(names) - for_tests())]
        size = sum(packed.stat().st_size for packed in crates)
        if size > LARGEST:
            wrong.append(f"the packages have {size:,} bytes, more than {LARGEST:,}")
    print("".join(f"package: {line}\n" for line in wrong), end="", file=sys.stderr)
    if not wrong:
        print(f"{len(crates)} crates, {len(names)} files, {size:,} bytes packed")
    sys.exit(1 if wrong else 0)


def package(room: Path) -> list[Path]:
    command = ["cargo", "package", "--workspace", "--no-verify", "--allow-dirty", "--quiet", "--target-dir", room]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    if ran.returncode != 0:
        sys.exit(f"package: {ran.stderr.strip()}")
    return sorted((room / "package").glob("*.crate"))


def place(packed: Path, member: str) -> str:
    """A file of a crate, by its path in the repository: `hookkeeper-base-0.1.0/lib.rs` is `src/base/lib.rs`."""
    crate, name = member.split("/", 1)
    folder = crate.removesuffix(f"-{version(packed)}").removeprefix("hookkeeper").removeprefix("-")
    return f"src/{folder}/{name}" if folder else name


def version(packed: Path) -> str:
    return re.search(r"-(\d+\.\d+\.\d+.*)\.crate$", packed.name).group(1)


def compiled_in() -> set[tuple[str, str]]:
    """All that the build scripts and the sources include, and what includes it, by their paths in the repository."""
    schemas = (ROOT / "src/commands/validate/schemas").glob("*.json")
    found = {(str(path.relative_to(ROOT)), "src/commands/build.rs") for path in schemas}
    for source in (ROOT / "src").rglob("*.rs"):
        text = source.read_text().split("#[cfg(test)]\nmod ", 1)[0]
        included = {str((source.parent / name).resolve().relative_to(ROOT)) for name in INCLUDED.findall(text)}
        found |= {(name, str(source.relative_to(ROOT))) for name in included}
    return found


def sources() -> set[str]:
    return {str(path.relative_to(ROOT)) for path in (ROOT / "src").rglob("*.rs")}


def for_tests() -> set[str]:
    """The files of modules that only tests have."""
    found = set()
    for source in (ROOT / "src").rglob("*.rs"):
        folder = source.parent if source.stem in ("mod", "lib", "main") else source.with_suffix("")
        for path, name in TEST_MODULE.findall(source.read_text()):
            found.add(str(((source.parent / path) if path else folder / f"{name}.rs").relative_to(ROOT)))
    return found


def build(unpacked: Path) -> None:
    folders = {folder.name.rsplit("-", 1)[0]: folder for folder in unpacked.iterdir()}
    root = folders.pop("hookkeeper")
    patches = "".join(f'{name} = {{ path = "{folder}" }}\n' for name, folder in sorted(folders.items()))
    (root / ".cargo").mkdir()
    (root / ".cargo/config.toml").write_text(f"[patch.crates-io]\n{patches}")
    subprocess.run(["cargo", "build", "--bin", "hookkeeper"], cwd=root, check=True)
    subprocess.run([root / "target/debug/hookkeeper", "--version"], check=True)


if __name__ == "__main__":
    main()
