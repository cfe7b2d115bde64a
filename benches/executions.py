"""Executions of many tasks, and the commands that are measured on them."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

from rig import Contestant, Failed, environment

WHO = {"GIT_AUTHOR_NAME": "Dev", "GIT_AUTHOR_EMAIL": "dev@example.com",
       "GIT_COMMITTER_NAME": "Dev", "GIT_COMMITTER_EMAIL": "dev@example.com"}
LAYERS = 4


class Execution:
    """A repository and a plan of so many tasks in four layers; the first half of them is merged."""

    def __init__(self, root: Path, binary: Path, tasks: int):
        self.binary, self.tasks, self.count = binary, root / "tasks", tasks
        self.env = environment(root / "project") | WHO
        (root / "project").mkdir(parents=True)
        self.git("init", "-q", "-b", "main")
        self.git("commit", "-q", "--allow-empty", "-m", "Begin")
        manifest, graph = {"prd_slug": "many", "tasks": []}, {}
        for n in range(tasks):
            layer = f"{n * LAYERS // tasks}-layer"
            task, file = f"T{n:05}", f"{layer}/T{n:05}.xml"
            (self.tasks / layer).mkdir(parents=True, exist_ok=True)
            (self.tasks / file).write_text(
                f"<task><meta><id>{task}</id><priority>{n % 7}</priority></meta>"
                f"<objective>Write {task}</objective>"
                "<verification><step>Run: true</step></verification></task>")
            manifest["tasks"].append({"id": task, "layer": layer, "name": task, "file": file})
            graph[task] = [f"T{n - 1:05}"] if n % 10 else []
        (self.tasks / "manifest.json").write_text(json.dumps(manifest))
        (self.tasks / "layer_plan.json").write_text(json.dumps({"dependency_graph": graph}))
        subprocess.run(self.argv("init"), env=self.env, check=True, capture_output=True,
                       cwd=root / "project")
        file = self.tasks / "execute-state.json"
        state = json.loads(file.read_text())
        for n, task in enumerate(state["tasks"].values()):
            if n < tasks // 2:
                commit = {"hash": f"{n:040x}", "type": "implementation", "attempt": 1}
                task |= {"status": "completed", "attempts": 1, "commits": [commit]}
        file.write_text(json.dumps(state, indent=2))

    def git(self, *args: str) -> None:
        subprocess.run(["git", *args], cwd=self.env["CLAUDE_PROJECT_DIR"], env=self.env, check=True)

    def argv(self, what: str) -> list[str]:
        return [str(self.binary), "execute", what, str(self.tasks)]

    def asked(self, what: str) -> Contestant:
        """`next` and `status`, as JSON; that it says the right thing is seen once."""
        argv = [*self.argv(what), "--json"]
        said = json.loads(subprocess.run(argv, env=self.env, check=True, capture_output=True).stdout)
        right = len(said["tasks"]) == (3 if what == "next" else self.count)
        if not right or said["status"] != "in_progress":
            raise Failed(f"{argv} says {str(said)[:300]}")
        return Contestant(argv, self.env)
