"""What `npm install` and `npx` leave, where everything is right and where something is missing."""
import base64
import hashlib
import io
import json
import os
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

from bench import Failure, copy_tree, expect, is_native

REPOSITORY = Path(__file__).resolve().parent.parent.parent
VERSION = "hookkeeper " + json.loads((REPOSITORY / "hooks/package.json").read_text())["version"]
NO_NODE = {"PATH": "/nowhere"}


def a_global_install_is_native(bench):
    """The program itself is on the PATH, hooks name it there, and Node is not needed any more."""
    bench.install_global().works()
    expect("native", is_native(bench.command), True)
    bench.run(bench.command, "--version", env=NO_NODE).says(VERSION)
    bench.run("hookkeeper", "install", env={"PATH": bench.path_with(bench.command.parent)}).works()
    expect("wired", bench.wired_programs(), {str(bench.command)})
    bench.install_global("--force").works()
    bench.run(bench.command, "--version", env=NO_NODE).says(VERSION)
    bench.npm("uninstall", "--global", "--prefix", bench.prefix, "hookkeeper").works()
    expect("left", bench.left_in_prefix(), [])


def packages_in_a_project(bench):
    """Beside the launcher or below it, with the install script or without it."""
    for strategy, place in (("hoisted", "@hookkeeper"), ("nested", "hookkeeper/node_modules/@hookkeeper")):
        for script in ("--ignore-scripts", "--no-ignore-scripts"):
            folder = bench.root / f"{strategy}{script}"
            folder.mkdir()
            bench.npm("install", "hookkeeper", f"--install-strategy={strategy}", script, cwd=folder).works()
            modules = folder / "node_modules"
            expect(f"{folder}: packages", os.listdir(modules / place), ["linux-x64"])
            expect(f"{folder}: native", is_native(modules / ".bin/hookkeeper"), script == "--no-ignore-scripts")
            bench.run("npx", "hookkeeper", "--version", cwd=folder).says(VERSION)


def npx_runs_but_is_not_wired(bench):
    """npm may empty the folder that it runs from."""
    bench.run("npx", "--yes", "hookkeeper", "--version").says(VERSION)
    bench.run("npx", "--yes", "hookkeeper", "install").fails("npm install --global hookkeeper")
    expect("made", (bench.project / ".claude").exists(), False)
    bench.run("npx", "--yes", "hookkeeper", "no-such-command").fails("no-such-command", code=64)


def the_registry_lacks_the_program(bench):
    """An optional package that is not there does not stop npm; our script does, and npm takes everything back."""
    bench.registry.missing = {"@hookkeeper/linux-x64"}
    bench.install_global().fails("@hookkeeper/linux-x64", "is not installed")
    expect("left", bench.left_in_prefix(), [])
    bench.install_global("--ignore-scripts").works()
    bench.run(bench.command, "--version").fails("@hookkeeper/linux-x64", "is not installed")


def optional_packages_are_left_out(bench):
    """In a project; npm does not heed it for global packages."""
    bench.npm("install", "hookkeeper", "--omit=optional").fails("--omit=optional", "--include=optional")
    expect("left", (bench.project / "node_modules").exists(), False)
    bench.npm("install", "hookkeeper", "--include=optional").works()
    bench.run("npx", "hookkeeper", "--version").says(VERSION)


def the_registry_lacks_everything(bench):
    bench.registry.missing = {"hookkeeper"}
    ended = bench.install_global()
    expect("npm's code", "E404" in ended.stderr and ended.code != 0, True, ended)
    expect("left", bench.left_in_prefix(), [])


def no_registry_at_all(bench):
    nobody = {"npm_config_registry": "http://127.0.0.1:9/"}
    ended = bench.install_global(env=nobody)
    expect("npm's code", "ECONNREFUSED" in ended.stderr and ended.code != 0, True, ended)
    expect("left", bench.left_in_prefix(), [])


def programs_for_another_processor(bench):
    """Installed for another machine; a machine that there is no program for; a program that does not run."""
    bench.install_global("--cpu=arm64").fails("for another machine", "@hookkeeper/linux-arm64", "linux-x64")
    expect("left", bench.left_in_prefix(), [])
    bench.install_global(env=bench.pretend("s390x")).fails("no program for linux-s390x", "linux-x64")
    expect("left", bench.left_in_prefix(), [])
    bench.install_global(env=bench.pretend("arm64")).fails("linux-arm64/bin/hookkeeper is not hookkeeper")
    expect("left", bench.left_in_prefix(), [])
    bench.install_global("--ignore-scripts", env=bench.pretend("arm64")).works()
    bench.run(bench.command, "--version").fails("for another machine", "@hookkeeper/linux-arm64")


def a_prefix_that_is_read_only(bench):
    """npm's own words, and nothing is left."""
    bench.prefix.chmod(0o555)
    ended = bench.install_global(**bench.as_nobody())
    expect("npm's code", "EACCES" in ended.stderr and ended.code != 0, True, ended)
    expect("left", bench.left_in_prefix(), [])


def releases_refuse_what_is_wrong(bench):
    """What is packed is for its platform, of this version, and complete."""
    release = [sys.executable, REPOSITORY / "release/npm"]
    program = bench.root.parent / "hookkeeper"

    def refuses(*words, part):
        ended = bench.run(*release, *words)
        expect(ended.what, (ended.code, ended.stdout, part in ended.stderr), (1, "", True), ended)

    out = bench.root / "out"
    refuses("pack", "--out", out, "--program", f"darwin-x64={program}", part="is no program for darwin-x64")
    refuses("pack", "--out", out, "--program", "linux-x64=/nowhere", part="no such file")
    refuses("pack", "--out", out, "--program", f"amiga={program}", part="not PLATFORM=PATH")
    refuses("pack", "--out", out, part="name the programs")
    (bench.root / "programs/linux-x64").mkdir(parents=True)
    os.link(program, bench.root / "programs/linux-x64/hookkeeper")
    refuses("pack", "--out", out, "--programs", bench.root / "programs", part="no program for linux-arm64")
    refuses("lock", "--packed", bench.root.parent / "packed", part="the lock needs all platforms")
    expect("made", out.exists(), False)


def releases_are_made_of_archives(bench):
    """As release/build leaves them: each platform's package has the program of its archive, and the lock their digests."""
    program = (bench.root.parent / "hookkeeper").read_bytes()
    version = VERSION.removeprefix("hookkeeper ")
    heads = {"x86_64-unknown-linux-musl": program, "aarch64-unknown-linux-musl": program[:18] + b"\xb7\0",
             "aarch64-apple-darwin": b"\xcf\xfa\xed\xfe\x0c\0\0\x01", "x86_64-apple-darwin": b"\xcf\xfa\xed\xfe\x07\0\0\x01",
             "x86_64-pc-windows-gnu": b"MZ" + bytes(58) + b"\x40\0\0\0PE\0\0\x64\x86"}
    archives = bench.root / "archives"
    archives.mkdir()
    for target, content in heads.items():
        name = f"hookkeeper-{version}-{target}"
        if "windows" in target:
            with zipfile.ZipFile(archives / f"{name}.zip", "w") as made:
                made.writestr(f"{name}/hookkeeper.exe", content)
        else:
            with tarfile.open(archives / f"{name}.tar.gz", "w:gz", compresslevel=1) as made:
                member = tarfile.TarInfo(f"{name}/hookkeeper")
                member.size = len(content)
                made.addfile(member, io.BytesIO(content))
    copy_tree(REPOSITORY, bench.root / "copy", ("Cargo.toml", "release", "LICENSE"))
    (bench.root / "copy/hooks").mkdir()
    release, packed = bench.root / "copy/release/npm", bench.root / "packed"
    bench.run(release, "pack", "--out", packed, "--programs", archives).works()
    expect("archives", len(list(packed.glob("*.tgz"))), 6)
    bench.run(release, "lock", "--packed", packed).works()
    lock = json.loads((bench.root / "copy/hooks/package-lock.json").read_text())["packages"]
    for name, entry in lock.items():
        if name:
            archive = packed / f"hookkeeper-{name.rpartition('/')[2]}-{version}.tgz"
            digest = base64.b64encode(hashlib.sha512(archive.read_bytes()).digest()).decode()
            expect(f"{name}: integrity", entry["integrity"], f"sha512-{digest}")
    with tarfile.open(packed / f"hookkeeper-win32-x64-{version}.tgz") as made:
        expect("win32-x64", made.getmember("package/bin/hookkeeper.exe").mode & 0o111, 0o111)


def without_npm_nothing_passes(bench):
    done = subprocess.run([sys.executable, str(REPOSITORY / "tests/npm/run.py")], env={"PATH": "/nowhere"},
                          capture_output=True, text=True)
    if done.returncode != 1 or "npm is not installed" not in done.stdout:
        raise Failure(f"{done.returncode} {done.stdout} {done.stderr}")


TESTS = (a_global_install_is_native, packages_in_a_project, npx_runs_but_is_not_wired, the_registry_lacks_the_program,
         optional_packages_are_left_out, the_registry_lacks_everything, no_registry_at_all,
         programs_for_another_processor, a_prefix_that_is_read_only, releases_refuse_what_is_wrong,
         releases_are_made_of_archives, without_npm_nothing_passes)
