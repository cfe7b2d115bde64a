"""What is shipped: one row for each archive. How a target is built and run on this machine follows from it."""

from __future__ import annotations

import platform
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Target:
    triple: str
    system: str
    machine: str
    # Starts a program for this target on a machine of another kind: the first that is installed.
    runners: tuple[str, ...] = ()

    @property
    def is_native(self) -> bool:
        """Programs for this target run here as they are."""
        return (self.system, self.machine) == (host_system(), host_machine())

    @property
    def program(self) -> str:
        return "hookkeeper.exe" if self.system == "windows" else "hookkeeper"

    @property
    def archive_suffix(self) -> str:
        return ".zip" if self.system == "windows" else ".tar.gz"

    @property
    def c_compiler(self) -> str | None:
        """A C compiler for this target that cargo finds by itself; without one zig takes its place."""
        if self.system == "macos" == host_system():
            return "cc"
        return shutil.which("musl-gcc") if self.system == "linux" and self.is_native else None

    @property
    def needs_zig(self) -> bool:
        return self.c_compiler is None

    @property
    def is_linked_by_zig(self) -> bool:
        """rustc's own linker makes the Linux programs anywhere, and knows link-order.ld."""
        return self.needs_zig and self.system != "linux"

    @property
    def could_be_run(self) -> bool:
        """A program that anybody can install runs it here: where it was not run, that is missing."""
        return self.is_native or host_system() == "linux" and bool(self.runners)

    def runner(self) -> list[str] | None:
        """What to put before the program to run it; None if it cannot be run here."""
        if self.is_native:
            return []
        # Rosetta runs the other kind, if it is there; smoke.py sees whether it does.
        if self.system == "macos" == host_system() and self.machine == "x86_64":
            return ["arch", "-x86_64"]
        if host_system() != "linux":
            return None
        found = next((name for name in self.runners if shutil.which(name)), None)
        return [found] if found else None


def host_system() -> str:
    return {"linux": "linux", "darwin": "macos", "win32": "windows"}.get(sys.platform, sys.platform)


def host_machine() -> str:
    return {"arm64": "aarch64", "AMD64": "x86_64"}.get(platform.machine(), platform.machine())


TARGETS = (
    Target("x86_64-unknown-linux-musl", "linux", "x86_64", ("qemu-x86_64", "qemu-x86_64-static")),
    Target("aarch64-unknown-linux-musl", "linux", "aarch64", ("qemu-aarch64", "qemu-aarch64-static")),
    Target("aarch64-apple-darwin", "macos", "aarch64"),
    Target("x86_64-apple-darwin", "macos", "x86_64"),
    Target("x86_64-pc-windows-gnu", "windows", "x86_64", ("wine64", "wine")),
)


def named(triples: list[str]) -> list[Target]:
    known = {target.triple: target for target in TARGETS}
    unknown = [triple for triple in triples if triple not in known]
    if unknown:
        sys.exit(f"release/build: unknown target {unknown[0]}; there are {', '.join(known)}")
    return [known[triple] for triple in triples] or list(TARGETS)


def package(root: Path) -> dict:
    """What Cargo.toml says of the package that has the program, with what all members of the workspace share."""
    import tomllib

    manifest = tomllib.loads((root / "Cargo.toml").read_text())
    shared, own = manifest["workspace"]["package"], manifest["package"]
    return {key: shared[key] if value == {"workspace": True} else value for key, value in own.items()}


def version(root: Path) -> str:
    return package(root)["version"]
