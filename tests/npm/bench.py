"""A scratch machine for one test: a home, a project, an npm that asks the registry on loopback."""
import json
import os
import shutil
import subprocess

ELF = b"\x7fELF"


class Failure(Exception):
    """Something is not as it must be."""


class Bench:
    def __init__(self, root, registry):
        self.root = root
        self.registry = registry
        self.home = root / "home"
        self.project = root / "project"
        self.prefix = root / "prefix"
        for folder in (self.home, self.project, self.prefix):
            folder.mkdir(parents=True)
        subprocess.run(["git", "init", "--quiet"], cwd=self.project, check=True)

    def run(self, *words, cwd=None, env=None, stdin="", **more):
        """A program's end; nothing of this machine's own settings reaches it."""
        environment = {"PATH": os.environ["PATH"], "HOME": str(self.home),
                       **self.registry.environment(self.root / "cache"), **(env or {})}
        done = subprocess.run([str(word) for word in words], cwd=cwd or self.project, env=environment, input=stdin,
                              capture_output=True, text=True, timeout=120, **more)
        return Ended(words, done)

    def npm(self, *words, **more):
        return self.run("npm", *words, **more)

    def install_global(self, *words, **more):
        return self.npm("install", "--global", "--prefix", self.prefix, "hookkeeper", *words, **more)

    @property
    def command(self):
        """What a global install puts on the PATH."""
        return self.prefix / "bin/hookkeeper"

    @property
    def package(self):
        return self.prefix / "lib/node_modules/hookkeeper"

    def path_with(self, *folders):
        return os.pathsep.join([*map(str, folders), os.environ["PATH"]])

    def wired_programs(self):
        """The programs that the project's own settings file starts."""
        settings = json.loads((self.project / ".claude/settings.local.json").read_text())
        return {hook["command"] for groups in settings["hooks"].values() for group in groups for hook in group["hooks"]}

    def left_in_prefix(self):
        """What npm left of ours."""
        return sorted(str(path.relative_to(self.prefix)) for path in self.prefix.rglob("*hookkeeper*"))

    def pretend(self, processor):
        """An environment in which Node takes this machine for another one."""
        script = self.root / f"pretend-{processor}.js"
        script.write_text(f"Object.defineProperty(process, 'arch', {{ value: '{processor}' }});\n")
        return {"NODE_OPTIONS": f"--require {script}"}

    def as_nobody(self):
        """Options for `run`: a user who may not write everywhere."""
        if os.geteuid() != 0:
            return {}
        for folder in (self.home, self.project):
            os.chown(folder, 65534, 65534)
        (self.root / "cache").mkdir(exist_ok=True)
        os.chown(self.root / "cache", 65534, 65534)
        return {"user": 65534, "group": 65534, "extra_groups": []}


class Ended:
    def __init__(self, words, done):
        self.what = " ".join(map(str, words))
        self.code = done.returncode
        self.stdout = done.stdout
        self.stderr = done.stderr

    def works(self):
        expect(self.what, (self.code, self.own_lines()), (0, []), self)
        return self

    def says(self, text):
        expect(self.what, (self.code, self.stdout.strip(), self.own_lines()), (0, text, []), self)
        return self

    def fails(self, *parts, code=1):
        """With one line of ours, which has these parts."""
        expect(self.what, self.code, code, self)
        lines = self.own_lines()
        expect(f"{self.what}: lines of ours", len(lines), 1, self)
        for part in parts:
            if part not in lines[0]:
                raise Failure(f"{self.what}: {lines[0]!r} has no {part!r}")
        return self

    def own_lines(self):
        """npm puts its own words before what a script says."""
        lines = (line.removeprefix("npm error ") for line in self.stderr.splitlines())
        return [line for line in lines if line.startswith("hookkeeper: ")]


def expect(what, found, wanted, ended=None):
    if found != wanted:
        about = f"\n{ended.stdout}\n{ended.stderr}" if ended else ""
        raise Failure(f"{what}: {found!r} instead of {wanted!r}{about}")


def is_native(path):
    with open(path, "rb") as file:
        return file.read(4) == ELF


def copy_tree(source, target, names):
    target.mkdir(parents=True)
    for name in names:
        copy = shutil.copytree if (source / name).is_dir() else shutil.copy2
        copy(source / name, target / name)
