"""What must agree between the plugin's files, settings.example.json and Cargo.toml. Needs no client."""
import json
import os
import subprocess
import sys

from wiring import PLUGIN, REPOSITORY, path_without, plugin_hooks

sys.path.append(str(REPOSITORY / "release"))
import targets  # noqa: E402

LAUNCHER = "hookkeeper.sh"
# The oldest client that is promised does not know it, and drops all hooks of a plugin that has it.
NOT_IN_PLUGIN = {"PostModelSwitch"}
GUARD = "command -v hookkeeper >/dev/null && exec hookkeeper hook; "


def check_packaging(check):
    settings, plugin = read("settings.example.json")["hooks"], plugin_hooks()
    expected = {event: groups for event, groups in shape(settings).items() if event not in NOT_IN_PLUGIN}
    check.equal("hooks.json and settings.example.json: events, matchers, time-outs", shape(plugin), expected)
    for event, hook in handlers(settings):
        check.contains(f"settings.example.json: {event}", hook["command"], GUARD, times=1)
    for event, hook in handlers(plugin):
        check.holds(f"hooks.json: {event}", hook, {"command": "${CLAUDE_PLUGIN_ROOT}/" + LAUNCHER, "args": [event]})
    package = targets.package(REPOSITORY)
    check_launcher(check, package)
    check_npm(check, package["version"])
    same = {key: package[key] for key in ("name", "description", "license", "keywords")}
    manifest = read("hooks/.claude-plugin/plugin.json")
    check.holds("plugin.json and Cargo.toml", manifest, {**same, "version": package["version"], "hooks": "./hooks.json"})
    check.that("the plugin has its icon", (PLUGIN / manifest["icon"]).is_file())
    entries = read(".claude-plugin/marketplace.json")["plugins"]
    check.equal("plugins of the marketplace", len(entries), 1)
    check.holds("marketplace.json and Cargo.toml", entries[0], {**same, "source": "./hooks"})


def check_launcher(check, package):
    """Without the program: what it says, and that what it says is JSON whatever the plugin's path is."""
    launcher = PLUGIN / LAUNCHER
    ways = (f"npm install --global hookkeeper, or with Rust {package['rust-version']} or newer: "
            f"cargo install --locked --git {package['repository']} hookkeeper")
    check.that(f"{LAUNCHER} is executable", os.access(launcher, os.X_OK))
    for event, source, root, said in (
            ("SessionStart", "startup", "/a plugin", ways), ("SessionStart", "resume", "/b", ways),
            ("SessionStart", "startup", "/a\"'\\b", ways), ("SessionStart", "compact", "/b", None),
            ("PostToolUse", "startup", "/b", None)):
        payload = json.dumps({"session_id": "s", "source": source}, separators=(",", ":")) + "\n"
        done = subprocess.run([launcher, event], input=payload, capture_output=True, text=True, env={
            "PATH": path_without("hookkeeper"), "HOME": "/nowhere", "CLAUDE_PLUGIN_ROOT": root})
        what = f"{LAUNCHER} without the program, {event} {source} at {root}"
        check.equal(what, (done.returncode, done.stderr), (0, ""))
        if said is None:
            check.equal(what, done.stdout, "")
        else:
            check.contains(what, json.loads(done.stdout)["systemMessage"], said, times=1)


def check_npm(check, version):
    """What the client gives to npm, and the version that an older program is told."""
    manifest, lock = read("hooks/package.json"), read("hooks/package-lock.json")
    platforms = set(manifest["optionalDependencies"])
    check.equal("package.json: versions", {manifest["version"], *manifest["optionalDependencies"].values()}, {version})
    locked = {name.removeprefix("node_modules/"): entry for name, entry in lock["packages"].items() if name}
    check.equal("package-lock.json: packages", set(locked), platforms)
    check.equal("package-lock.json: versions", {lock["version"], *(entry["version"] for entry in locked.values())}, {version})
    check.contains(LAUNCHER, (PLUGIN / LAUNCHER).read_text(), f"\nversion={version}\n", times=1)
    check.that("bin/hookkeeper is executable", os.access(PLUGIN / "bin/hookkeeper", os.X_OK))


def read(name):
    return json.loads((REPOSITORY / name).read_text())


def shape(hooks):
    """What decides when a hook runs and how long, without what it runs."""
    return {event: [(group.get("matcher"), [_bare(hook) for hook in group["hooks"]]) for group in groups]
            for event, groups in hooks.items()}


def _bare(hook):
    return {key: value for key, value in hook.items() if key not in ("command", "args")}


def handlers(hooks):
    return [(event, hook) for event, groups in hooks.items() for group in groups for hook in group["hooks"]]
