"""The real client as a person has it: on a terminal, which tmux is here, with the same scripted model."""
import json
import shutil
import sys
from pathlib import Path

from drive import VERSION, _environment
from scripted_api import ScriptedApi

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "terminal"))
from tmux import Tmux  # noqa: E402

WIDTH, HEIGHT = 120, 40


def has_terminal():
    return shutil.which("tmux") is not None


class Interactive:
    """One client on a terminal: `type`, `press` and `until` are the terminal's."""

    def __init__(self, bench, rules, args=()):
        self.out = bench.root / "terminal"
        self.out.mkdir()
        self.api = ScriptedApi(rules, self.out / "requests")
        environment = {**_environment(bench.home, self.api.url), "PATH": bench.path()}
        self._answer_first_questions(bench, environment["ANTHROPIC_API_KEY"])
        self.terminal = Tmux()
        self.terminal.start(WIDTH, HEIGHT, environment, bench.project)
        self.terminal.run("pipe-pane", "-o", f"cat > {self.out}/raw")
        self.terminal.type(" ".join([str(bench.exe), *args]))
        self.terminal.until(lambda text: "\n❯" in text)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.terminal.run("kill-server", check=False)
        self.api.stop()

    @property
    def raw(self):
        """All that was written to the terminal, its sequences too."""
        return (self.out / "raw").read_bytes()

    def _answer_first_questions(self, bench, key):
        """What the client would ask a new user before the first prompt."""
        known = {"hasTrustDialogAccepted": True, "hasCompletedProjectOnboarding": True}
        settings = {"hasCompletedOnboarding": True, "lastOnboardingVersion": VERSION, "theme": "dark",
                    "customApiKeyResponses": {"approved": [key[-20:]], "rejected": []},
                    "projects": {str(bench.project): known}}
        bench.home.mkdir(parents=True, exist_ok=True)
        (bench.home / ".claude.json").write_text(json.dumps(settings))
