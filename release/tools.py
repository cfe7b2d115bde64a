"""The programs that a build needs: whether they are here, how to get them, and a folder of our own for them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from targets import Target

# Pinned, so that a build of next year is made by the same linker.
ZIG = ("cargo-zigbuild==0.24.0", "ziglang==0.17.0")


class Tools:
    def __init__(self, root: Path):
        self.folder = root / "target/release-tools"
        self.env = self.environment()

    def environment(self) -> dict[str, str]:
        """Ours first. zigbuild looks for the module `ziglang` with the python that is first on the PATH."""
        scripts = self.folder / ("Scripts" if os.name == "nt" else "bin")
        path = os.environ["PATH"]
        return os.environ | {"PATH": f"{scripts}{os.pathsep}{path}" if scripts.exists() else path}

    def has(self, name: str) -> bool:
        return shutil.which(name, path=self.env["PATH"]) is not None

    def missing(self, targets: list[Target]) -> dict[str, list[str]]:
        """What is missing, each with the command that gets it."""
        if not self.has("cargo"):
            return {"cargo (Rust)": ["see", "rustup.rs"]}
        wanted: dict[str, list[str]] = {}
        absent = [target.triple for target in targets if not self.has_library(target.triple)]
        if absent:
            wanted[f"Rust's library for {', '.join(absent)}"] = ["rustup", "target", "add", *absent]
        if any(target.needs_zig for target in targets) and not self.has("cargo-zigbuild"):
            wanted["cargo-zigbuild and zig"] = [sys.executable, "-m", "pip", "install", *ZIG]
        return wanted

    def has_library(self, triple: str) -> bool:
        asked = ["rustc", "--print", "target-libdir", "--target", triple]
        ran = subprocess.run(asked, env=self.env, capture_output=True, text=True)
        return ran.returncode == 0 and any(Path(ran.stdout.strip()).glob("libstd-*"))

    def zig_environment(self, target: Target, folder: Path) -> dict[str, str]:
        """Has C code compiled by zig, where cargo links by itself: small scripts, since cargo wants one word."""
        folder.mkdir(parents=True, exist_ok=True)
        found = {}
        for name, start in (("CC", f"cc -- -fno-sanitize=all -target {target.machine}-linux-musl"), ("AR", "ar --")):
            script = folder / f"{name.lower()}-{target.triple}"
            script.write_text(f'#!/bin/sh\nexec cargo-zigbuild zig {start} "$@"\n')
            script.chmod(0o755)
            found[f"{name}_{target.triple.replace('-', '_')}"] = str(script)
        return found

    def install(self, missing: dict[str, list[str]]) -> None:
        """Libraries by rustup; zig into a folder below target/, which nobody else uses."""
        for command in missing.values():
            if "pip" in command:
                subprocess.run([sys.executable, "-m", "venv", self.folder], check=True)
                self.env = self.environment()
                python = shutil.which("python", path=self.env["PATH"])
                subprocess.run([python, *command[1:]], env=self.env, check=True, stdout=subprocess.DEVNULL)
            else:
                subprocess.run(command, env=self.env, check=True)
