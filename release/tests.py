#!/usr/bin/env python3
"""The scripts of this folder, without building anything: python3 release/tests.py"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import unittest
import zipfile
from pathlib import Path

sys.dont_write_bytecode = True
import archive  # noqa: E402
import executable  # noqa: E402
import targets  # noqa: E402
from tools import Tools  # noqa: E402

HERE = Path(__file__).resolve().parent
LINUX = next(target for target in targets.TARGETS if target.triple == "x86_64-unknown-linux-musl")
ARM = next(target for target in targets.TARGETS if target.triple == "aarch64-unknown-linux-musl")
ENTRIES = [("folder/b", b"two", False), ("folder/a", b"one", True)]


class Room(unittest.TestCase):
    def setUp(self) -> None:
        room = tempfile.TemporaryDirectory(prefix="hk-release-")
        self.addCleanup(room.cleanup)
        self.room = Path(room.name)

    def script(self, name: str, *arguments: str, **env: str) -> subprocess.CompletedProcess:
        command = [sys.executable, HERE / name, *arguments]
        return subprocess.run(command, env=os.environ | env, capture_output=True, text=True)


class Licence(unittest.TestCase):
    def test_both_are_in_the_one_file(self) -> None:
        lines = (HERE.parent / "LICENSE").read_text().splitlines()
        self.assertEqual(lines[0], f"SPDX-License-Identifier: {targets.package(HERE.parent)['license']}")
        heads = [line for line in lines if line.startswith("# ")]
        self.assertEqual(heads, ["# MIT License", "# Apache License, Version 2.0"])
        apache = lines.index(heads[1])
        mit = lines[lines.index(heads[0]):apache]
        self.assertTrue(mit[4].startswith("Permission is hereby granted, free of charge, "))
        self.assertEqual(mit[-2:], ["SOFTWARE.", ""])
        sections = [line.split(".")[0] for line in lines[apache:] if line[:1].isdigit()]
        self.assertEqual(sections, [str(number) for number in range(1, 10)])
        self.assertEqual(lines[-1], "END OF TERMS AND CONDITIONS")


class Archives(Room):
    def test_the_same_files_give_the_same_bytes(self) -> None:
        for suffix in (".tar.gz", ".zip"):
            first, second = self.room / f"first{suffix}", self.room / f"second{suffix}"
            archive.write(first, ENTRIES, 1_700_000_000)
            archive.write(second, ENTRIES[::-1], 1_700_000_000)
            self.assertEqual(first.read_bytes(), second.read_bytes())

    def test_a_program_can_be_run_and_belongs_to_nobody(self) -> None:
        archive.write(self.room / "it.tar.gz", ENTRIES, 1_700_000_000)
        with tarfile.open(self.room / "it.tar.gz") as tar:
            seen = [(member.name, member.mode, member.uid, member.uname, member.mtime) for member in tar]
        self.assertEqual(seen, [("folder/a", 0o755, 0, "", 1_700_000_000), ("folder/b", 0o644, 0, "", 1_700_000_000)])
        archive.write(self.room / "it.zip", ENTRIES, 1_700_000_000)
        with zipfile.ZipFile(self.room / "it.zip") as packed:
            self.assertEqual([info.external_attr >> 16 for info in packed.infolist()], [0o100755, 0o100644])

    def test_checksums_are_those_of_the_archives(self) -> None:
        (self.room / "a.tar.gz").write_bytes(b"abc")
        (self.room / "notes.txt").write_bytes(b"not an archive")
        self.assertEqual(self.script("build", "--sums-only", "--out", str(self.room)).returncode, 0)
        wanted = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        self.assertEqual(archive.read_sums(self.room), {"a.tar.gz": wanted})

    @unittest.skipUnless(sys.platform == "linux", "looks at a program of Linux")
    def test_an_archive_with_something_missing_is_named(self) -> None:
        packed = self.room / f"hookkeeper-{targets.version(HERE.parent)}-{LINUX.triple}.tar.gz"
        folder = packed.name.removesuffix(".tar.gz")
        archive.write(packed, [(f"{folder}/hookkeeper", Path("/bin/true").read_bytes(), True)], 0)
        ran = self.script("smoke", str(packed))
        self.assertEqual(ran.returncode, 1)
        self.assertIn("FAILED: not in it: README.md, LICENSE, settings", ran.stderr)


@unittest.skipUnless(sys.platform == "linux" and targets.host_machine() == "x86_64", "looks at a program of this machine")
class Executables(Room):
    def test_a_dynamic_program_is_refused(self) -> None:
        self.assertEqual(executable.faults(Path("/bin/true"), LINUX, []), ["wants a dynamic loader"])

    def test_a_program_for_another_machine_is_refused(self) -> None:
        self.assertIn("is for linux x86_64, not for linux aarch64", executable.faults(Path("/bin/true"), ARM, []))

    def test_a_program_without_the_order_of_functions_is_seen(self) -> None:
        self.assertFalse(executable.is_ordered(Path("/bin/true")))
        (self.room / "ordered").write_bytes(b"\x7fELF\0.text\0.text.hooks\0")
        self.assertTrue(executable.is_ordered(self.room / "ordered"))

    def test_what_is_no_program_is_refused(self) -> None:
        (self.room / "text").write_bytes(b"text")
        self.assertIn("is for unknown ?, not for linux x86_64", executable.faults(self.room / "text", LINUX, []))

    def test_a_path_of_this_machine_is_found(self) -> None:
        copy = self.room / "copy"
        copy.write_bytes(Path("/bin/true").read_bytes() + b"\0/home/somebody/src/main.rs\0")
        found = executable.faults(copy, LINUX, ["/home/somebody"])
        self.assertIn("has a path of this machine in it: /home/somebody/src/main.rs", found)


class Formula(Room):
    def make(self, triples: list[str]) -> subprocess.CompletedProcess:
        for triple in triples:
            (self.room / f"hookkeeper-{targets.version(HERE.parent)}-{triple}.tar.gz").write_text(triple)
        archive.write_sums(self.room)
        return self.script("formula", str(self.room))

    def test_every_archive_has_its_checksum(self) -> None:
        triples = [target.triple for target in targets.TARGETS if target.system != "windows"]
        ran = self.make(triples)
        self.assertEqual(ran.returncode, 0, ran.stderr)
        for name, digest in archive.read_sums(self.room).items():
            self.assertRegex(ran.stdout, rf'/{name}"\n +sha256 "{digest}"')
        if shutil.which("ruby"):
            checked = subprocess.run(["ruby", "-c"], input=ran.stdout, capture_output=True, text=True)
            self.assertEqual(checked.stdout, "Syntax OK\n", checked.stderr)

    def test_a_missing_archive_is_named(self) -> None:
        ran = self.make(["aarch64-apple-darwin"])
        self.assertEqual(ran.returncode, 1)
        self.assertIn("x86_64-apple-darwin.tar.gz", ran.stderr)


class Tooling(Room):
    def test_an_unknown_target_is_refused(self) -> None:
        ran = self.script("build", "--target", "sparc64", "--out", str(self.room))
        self.assertIn("unknown target sparc64; there are x86_64-unknown-linux-musl", ran.stderr)

    def test_a_program_that_wine_or_qemu_would_run_is_not_left_out_in_silence(self) -> None:
        if targets.host_system() != "linux":
            self.skipTest("on a Mac only Apple's programs run")
        could = {target.triple for target in targets.TARGETS if target.could_be_run}
        self.assertEqual({triple for triple in could if "apple" in triple}, set())
        self.assertLessEqual({"aarch64-unknown-linux-musl", "x86_64-pc-windows-gnu"}, could)

    def test_what_is_missing_is_named_before_anything_is_built(self) -> None:
        ran = self.script("build", "--out", str(self.room), PATH=str(self.room))
        self.assertEqual((ran.returncode, ran.stdout), (1, ""))
        self.assertIn("cargo (Rust)", ran.stderr)

    def test_what_other_systems_need_is_named(self) -> None:
        for name, text in (("cargo", ""), ("rustc", "echo /nowhere")):
            program = self.room / name
            program.write_text(f"#!/bin/sh\n{text}\n")
            program.chmod(0o755)
        tools = Tools(self.room)
        tools.env = {"PATH": str(self.room)}
        self.assertIn(f"Rust's library for {LINUX.triple}", tools.missing([LINUX]))
        windows = next(target for target in targets.TARGETS if target.system == "windows")
        self.assertIn("cargo-zigbuild and zig", tools.missing([windows]))


if __name__ == "__main__":
    unittest.main()
