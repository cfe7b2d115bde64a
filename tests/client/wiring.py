"""The ways to make the client start our hooks. Each takes a Bench whose project is empty, and returns the hooks as
the client will read them: {event: groups}."""
import json
import os
import subprocess
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent.parent
# The plugin: what the client copies when it is installed from the marketplace, which is the repository.
PLUGIN = REPOSITORY / "hooks"


def by_default(bench):
    """What every scenario gets that does not ask for another way."""
    return by_install(bench)


def by_install(bench):
    """`hookkeeper install`, run in the project by a user who has the program on the PATH."""
    return install(bench, "settings.local.json")


def by_shared_file(bench):
    """The file that everybody reads who works in the project, whether they have the program or not."""
    return install(bench, "settings.json", "--scope", "project")


def install(bench, file, *options):
    bench.home.mkdir(parents=True, exist_ok=True)
    subprocess.run(["hookkeeper", "install", *options], cwd=bench.project, check=True, stdin=subprocess.DEVNULL,
                   capture_output=True, text=True, env={"PATH": bench.path(), "HOME": str(bench.home)})
    return json.loads((bench.project / ".claude" / file).read_text())["hooks"]


def by_plugin(bench):
    """The project has no settings; the scenario starts the client with the plugin."""
    return plugin_hooks()


def plugin_hooks():
    return json.loads((PLUGIN / "hooks.json").read_text())["hooks"]


def wired(way):
    """Says how a scenario's project is wired."""
    def mark(scenario):
        scenario.wiring = way
        return scenario
    return mark


def path_without(program):
    """The PATH of this machine without the directories that have the program."""
    parts = os.environ["PATH"].split(os.pathsep)
    return os.pathsep.join(part for part in parts if part and not os.access(Path(part) / program, os.X_OK))
