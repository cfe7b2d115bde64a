"""The plugin's own program: what `npm ci` makes of the committed lock file, and what hooks and commands then start."""
import json
import os
import shutil
import sys
from pathlib import Path

from bench import copy_tree, expect
from packages import REPOSITORY, VERSION

sys.path.append(str(REPOSITORY / "release"))
import targets  # noqa: E402

PLUGIN = REPOSITORY / "hooks"
START = '{"hook_event_name":"SessionStart","session_id":"s1","source":"startup","transcript_path":"/nowhere/s1.jsonl"}\n'
HINT = "the program hookkeeper is not installed"


def the_lock_names_no_host(bench):
    """Every machine has its own registry. And `release/npm` is what wrote it."""
    lock = json.loads((PLUGIN / "package-lock.json").read_text())
    expect("a host", "http" in (PLUGIN / "package-lock.json").read_text(), False)
    locked = {name: entry for name, entry in lock["packages"].items() if name}
    expect("versions", {entry["version"] for entry in locked.values()}, {targets.version(REPOSITORY)})
    expect("optional", all(entry["optional"] for entry in locked.values()), True)
    copy_tree(REPOSITORY, bench.root / "copy", ("Cargo.toml", "release"))
    (bench.root / "copy/hooks").mkdir()
    bench.run(bench.root / "copy/release/npm", "lock").works()
    for entry in locked.values():
        entry.pop("integrity", None)  # Of a release; the rest is always the same.
    expect("package-lock.json", json.loads((bench.root / "copy/hooks/package-lock.json").read_text()), lock)
    expect("package.json", (bench.root / "copy/hooks/package.json").read_text(), (PLUGIN / "package.json").read_text())


def npm_ci_brings_the_program(bench):
    """As the client calls it. Only this machine's package is fetched."""
    folder = installed_plugin(bench)
    expect("packages", os.listdir(folder / "node_modules/@hookkeeper"), ["linux-x64"])
    asked = [path for path in bench.registry.asked if path.endswith(".tgz")]
    expect("fetched", len(asked), 1)
    hook(bench, folder, "SessionStart", START).works()
    expect("recorded", (bench.project / ".claude/state/session/live/s1.json").exists(), True)
    command(bench, folder, "--version").says(VERSION)


def a_lock_with_digests(bench):
    """What is not what was released is not installed."""
    for digest, there in (("A" * 86 + "==", False), (None, True)):
        folder = bench.root / f"plugin-{there}"
        copy_plugin(folder)
        lock = json.loads((folder / "package-lock.json").read_text())
        entry = lock["packages"]["node_modules/@hookkeeper/linux-x64"]
        entry["integrity"] = f"sha512-{digest}" if digest else integrity(bench)
        (folder / "package-lock.json").write_text(json.dumps(lock))
        bench.npm("ci", "--ignore-scripts", cwd=folder).works()
        program = folder / "node_modules/@hookkeeper/linux-x64/bin/hookkeeper"
        expect(f"digest {digest}", program.exists(), there)


def integrity(bench):
    found = bench.npm("view", "@hookkeeper/linux-x64", "dist.integrity").works()
    return found.stdout.strip()


def a_registry_without_it_leaves_a_hint(bench):
    """npm says nothing of optional packages that are not there; the hook does, once a start, and blocks nothing."""
    bench.registry.missing = {"@hookkeeper/linux-x64"}
    folder = installed_plugin(bench)
    said = hook(bench, folder, "SessionStart", START).works()
    expect("hints", json.loads(said.stdout)["systemMessage"].count(HINT), 1)
    hook(bench, folder, "PostToolUse", '{"hook_event_name":"PostToolUse"}\n').says("")
    command(bench, folder, "status").fails(HINT, "npm install --global hookkeeper")


def a_program_of_another_system(bench):
    """A plugin folder that two machines share: one hint, not an error at every event."""
    folder = bench.root / "plugin"
    copy_plugin(folder)
    for other in ("darwin-arm64", "linux-arm64", "win32-x64", 'x"y\\z'):
        program = folder / f"node_modules/@hookkeeper/{other}/bin/hookkeeper"
        program.parent.mkdir(parents=True)
        program.write_bytes(b"\xcf\xfa\xed\xfe\0\0) ( ;; &\n")
        program.chmod(0o755)
    said = hook(bench, folder, "SessionStart", START).works()
    message = json.loads(said.stdout)["systemMessage"]
    expect("the hint", (HINT in message, "which does not run here" in message), (True, True))
    command(bench, folder, "status").fails("which does not run here")
    ours = folder / "node_modules/@hookkeeper/linux-x64/bin/hookkeeper"
    ours.parent.mkdir(parents=True)
    shutil.copy2(bench.root.parent / "hookkeeper", ours)
    command(bench, folder, "--version").says(VERSION)


def the_plugins_own_program_comes_first(bench):
    """An older one on the PATH does no harm beside it, and is told of where it is the only one."""
    folder = installed_plugin(bench)
    old = bench.root / "old/hookkeeper"
    old.parent.mkdir()
    old.write_text('#!/bin/sh\necho "old $HOOKKEEPER_PLUGIN $*"\n')
    old.chmod(0o755)
    on_path = {"PATH": bench.path_with(old.parent)}
    hook(bench, folder, "PostToolUse", "{}", on_path).fails("no hook_event_name", code=1)
    shutil.rmtree(folder / "node_modules")
    version = VERSION.removeprefix("hookkeeper ")
    hook(bench, folder, "PostToolUse", "{}", on_path).says(f"old {version} hook")
    command(bench, folder, "status", "--json", env=on_path).says(f"old {version} status --json")


def an_older_program_says_so(bench):
    """Once a start. What it knows is recorded all the same."""
    program = bench.root.parent / "hookkeeper"
    for plugin, told in (("99.0.0", True), (VERSION.removeprefix("hookkeeper "), False), ("0.0.1", False)):
        said = bench.run(program, "hook", stdin=START, env={"HOOKKEEPER_PLUGIN": plugin}).works()
        expect(f"told of {plugin}", f"the plugin is {plugin}" in said.stdout, told, said)
    later = START.replace("startup", "compact")
    bench.run(program, "hook", stdin=later, env={"HOOKKEEPER_PLUGIN": "99.0.0"}).says("")


def without_a_root_the_path_stays(bench):
    """A client that does not name the plugin's folder: `/bin` is not taken for the plugin's own."""
    program = bench.root / "found/hookkeeper"
    program.parent.mkdir()
    program.write_text('#!/bin/sh\necho "$PATH"\n')
    program.chmod(0o755)
    said = bench.run(PLUGIN / "hookkeeper.sh", "PostToolUse", stdin="{}",
                     env={"CLAUDE_PLUGIN_ROOT": "", "PATH": f"{program.parent}:/usr/bin:/bin"}).works()
    expect("the PATH", said.stdout.startswith(f"{program.parent}:/usr/bin:/bin:"), True, said)


def copy_plugin(folder):
    shutil.copytree(PLUGIN, folder, ignore=shutil.ignore_patterns("node_modules"))


def installed_plugin(bench):
    """The plugin's folder, after what the client does; whether the program is in it is the registry's to say."""
    folder = bench.root / "a plugin"
    copy_plugin(folder)
    bench.npm("ci", "--ignore-scripts", cwd=folder).works()
    return folder


def hook(bench, folder, event, payload, env=None):
    return bench.run(folder / "hookkeeper.sh", event, stdin=payload,
                     env={"CLAUDE_PLUGIN_ROOT": str(folder), **without_program(), **(env or {})})


def command(bench, folder, *words, env=None):
    """As in the client's shell: the plugin's bin/ is on the PATH."""
    path = (env or without_program())["PATH"]
    return bench.run("sh", "-c", 'hookkeeper "$@"', "sh", *words, env={"PATH": f"{folder / 'bin'}:{path}"})


def without_program():
    parts = os.environ["PATH"].split(os.pathsep)
    return {"PATH": os.pathsep.join(part for part in parts if not (Path(part) / "hookkeeper").exists())}


TESTS = (the_lock_names_no_host, npm_ci_brings_the_program, a_lock_with_digests, a_registry_without_it_leaves_a_hint,
         a_program_of_another_system, the_plugins_own_program_comes_first, without_a_root_the_path_stays,
         an_older_program_says_so)
