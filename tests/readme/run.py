#!/usr/bin/env python3
"""Runs every command in README and in docs/, as a newcomer would: python3 tests/readme/run.py

README comes first, then the pages in the order of docs/SUMMARY.md, then README's "Remove". Shell blocks run one after the
other in one shell's directory, commands in the text (`hookkeeper …`) in the project. The home directory is a scratch one,
with a project ~/shop in it. `cargo test` is not run from here but by .ci/run, whose parts are looked at. Links have to lead
somewhere, every page has to be in the summary, and README has a length. What is only shown (blocks that are not for a shell,
commands with placeholders) is not run, but the program has to know its words and flags. Exit status: 0 all good, 1 something is not.

`--shipped PATH` is measured by the benchmark's command; without it the command builds what is shipped first.
"""
import argparse
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
import time
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPOSITORY / "tests/terminal"))
sys.dont_write_bytecode = True
from shop import Shop  # noqa: E402

# A block, or a command in the text.
PIECE = re.compile(r"^```(\w+)\n(.*?)^```$|`((?:hookkeeper|python3|cargo) [^`]+)`", re.M | re.S)
# Shown, not to be run: what a user replaces is in capitals, and stands for one of these.
PLACEHOLDER = re.compile(r"…|\b(?!ID\b)[A-Z][A-Z_]{2,}\b|\bhook\b")
# Commands that want more words, where only they themselves are meant.
NAMES = {f"hookkeeper {name}" for name in ("loop", "branch loop", "autonomous", "iterative", "execute", "branch handoff",
                                           "config set", "run-gate", "run-verify")}
# These send: tests/it/export.rs runs them, with a collector.
ELSEWHERE = tuple(f"hookkeeper export {name}" for name in ("test", "flush", "follow", "backfill"))
# Where the repository will be, and its files.
ADDRESS = re.compile(r"https://github\.com/hookkeeper/hookkeeper/(?:blob|tree)/main/(.+)")
WORDS = 1500
# A line of ours in a block of whatever kind, or after an indent; a service's and cron's name the program by its path.
SHOWN = re.compile(r"^(?: {4,}|\$ )?(?:ExecStart=)?(?:\S*/)?hookkeeper (.*)$")
FENCE = re.compile(r"^\s*```")
# Where a shell goes on with something else.
OPERATORS = {"|", "||", "&&", ";", ">", ">>", "<", "2>&1", "2>", "&"}
IDS = {"agents": "agents/active.json", "errors": "errors/classified.json"}


class Newcomer:
    def __init__(self, home, shipped):
        self.home, self.cwd, self.shipped = home, REPOSITORY, shipped
        self.project = home / "shop"
        self.env = {**os.environ, "HOME": str(home), "CARGO_INSTALL_ROOT": str(home / ".cargo"),
                    "CARGO_HOME": os.environ.get("CARGO_HOME", str(Path.home() / ".cargo")),
                    "RUSTUP_HOME": os.environ.get("RUSTUP_HOME", str(Path.home() / ".rustup")),
                    "PATH": f"{home}/.cargo/bin:{os.environ['PATH']}"}
        for name in [name for name in self.env if name.startswith(("CLAUDE", "HOOKKEEPER"))]:
            del self.env[name]
        self.failed = self.ran = 0
        self.is_at_work = False
        self.seen = set()
        self.shop = Shop(str(home / ".cargo/bin/hookkeeper"), home)

    def block(self, text):
        for line in text.splitlines():
            if command := line.split("  #")[0].strip():
                self.run(command, f"cd {self.quoted(self.cwd)}; {command}; code=$?; pwd > '{self.home}/pwd'; exit $code")
                self.cwd = Path((self.home / "pwd").read_text().strip())
                self.take_out(command)

    def once(self, shown, script):
        if shown not in self.seen:
            self.run(shown, script)

    def inline(self, command):
        if command in self.seen:
            return
        self.seen.add(command)
        system = command.split()[1]
        if " ID" in command:
            command = command.replace(" ID", f" {self.an_id(system)}")
        self.run(command, f"cd {self.quoted(self.project)}; {command}")
        self.take_out(command)

    def take_out(self, command):
        """What is installed for others than this project's owner would run every hook twice from then on."""
        if command.startswith("hookkeeper install --scope"):
            scope = command.split()[3]
            self.run(f"(and out again: {scope})", f"cd {self.quoted(self.project)}; hookkeeper uninstall --scope {scope}")

    def an_id(self, system):
        if system == "sessions":
            return json.loads((self.project / ".claude/state/session/current.json").read_text())["session_id"]
        document = json.loads((self.project / ".claude/state" / IDS[system]).read_text())
        return document[system][-1]["id"]

    def run(self, shown, script):
        self.seen.add(shown)
        began = time.monotonic()
        done = subprocess.run(["bash", "-c", script], env=self.env, input="q\n", text=True, capture_output=True)
        self.ran += 1
        self.failed += done.returncode != 0
        print(f"{'ok  ' if done.returncode == 0 else 'FAIL'} {time.monotonic() - began:6.1f} s  {shown}", flush=True)
        if shown.startswith("hookkeeper re"):  # Claude Code works on after a reset, and while payloads are recorded.
            self.shop.event("UserPromptSubmit", prompt="Go on")
        if done.returncode:
            print(done.stdout[-2000:], done.stderr[-2000:], sep="\n")

    @staticmethod
    def quoted(path):
        return f"'{path}'"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shipped", type=Path, help="the program that is shipped, as it was built before")
    shipped = parser.parse_args().shipped
    pages = [REPOSITORY / "README.md", *summary()]
    wrong = [*missing_links([*pages, REPOSITORY / "ARCHITECTURE.md", REPOSITORY / "CONTRIBUTING.md"]), *misplaced(pages)]
    with tempfile.TemporaryDirectory(prefix="hookkeeper-readme-") as scratch:
        newcomer = Newcomer(Path(scratch).resolve(), shipped and shipped.resolve())
        readme, removal = pages[0].read_text().split("\n## Remove\n")
        for text in (readme, *(page.read_text() for page in pages[1:])):
            follow(newcomer, text)
        wrong += unknown_words(newcomer, pages)
        follow(newcomer, removal)
        gone = [path for path in (newcomer.project / ".claude", Path(newcomer.shop.binary)) if path.exists()]
        wrong += [f"after Remove there is still {path}" for path in gone]
    for what in wrong:
        print(f"FAIL  {what}")
    print(f"{newcomer.ran} commands, {newcomer.failed} failed; {len(pages)} pages, {len(wrong)} wrong")
    return 1 if newcomer.failed or wrong or newcomer.ran < 25 else 0


def follow(newcomer, text):
    for language, block, command in PIECE.findall(text):
        if "cargo test" in (block.strip(), command):
            ci = (REPOSITORY / ".ci/parts.py").read_text()
            assert re.search(r'"README\'s test command", \["cargo", "test"', ci), "README's test command is not in .ci/run"
        elif command.startswith("python3 benches/speed.py"):
            options = f"--quick --binary {newcomer.quoted(newcomer.shipped)}" if newcomer.shipped else "--quick"
            newcomer.once(command, f"cd {newcomer.quoted(REPOSITORY)}; {command} {options} || test $? = 1")
        elif command.startswith(("python3", "cargo")):
            continue  # For who works on the repository; .ci/run has them, or they take long.
        elif language == "sh":
            newcomer.block(block)
        elif language == "json":
            for line in re.findall(r'"command": "(hookkeeper [^"]+)"', block):
                newcomer.inline(line)
        elif command and newcomer.is_at_work and not is_mentioned(command):
            newcomer.inline(command)
        if not newcomer.is_at_work and "~/shop install" in block:
            newcomer.shop.fill(time.time())  # Claude Code has been given something to do.
            newcomer.is_at_work = True


def unknown_words(newcomer, pages):
    """What the pages show and the program does not know: it says so before it prints the help that is asked for."""
    lines = {(page.name, line) for page in pages for line in shown_lines(page.read_text())}
    for name, line in sorted(lines):
        if not (words := asking_for_help(line)):
            continue
        done = subprocess.run([newcomer.shop.binary, *words], env=newcomer.env, cwd=newcomer.project, capture_output=True, text=True)
        # A placeholder is no number: that the flag is known is enough.
        if done.returncode and "invalid value" not in done.stderr:
            yield f"{name}: `hookkeeper {line}`: {done.stderr.strip().splitlines()[0]}"
    print(f"{len(lines)} commands are shown in {len(pages)} pages")


def shown_lines(text):
    is_in_fence = False
    for line in text.replace("\\\n", " ").splitlines():
        if FENCE.match(line):
            is_in_fence = not is_in_fence
        elif (found := SHOWN.match(line)) and (is_in_fence or line.startswith("    ")):
            yield found[1]
    yield from (command for command in re.findall(r"`hookkeeper ([^`]+)`", text) if "…" not in command)


def asking_for_help(line):
    """The words of a command, with `--help` behind those that are ours."""
    words = shlex.split(line, comments=True)
    end = next((n for n, word in enumerate(words) if word in OPERATORS or word == "--"), len(words))
    return [*(word.strip("[]") for word in words[:end] if word.strip("[]")), "--help"]


def is_mentioned(command):
    """Whether it is named and not shown: words are missing, or it needs what a newcomer does not have."""
    return PLACEHOLDER.search(command) or command in NAMES or command.startswith(ELSEWHERE)


def summary():
    """The pages of docs/, in their order."""
    text = (REPOSITORY / "docs/SUMMARY.md").read_text()
    return [REPOSITORY / "docs" / name for name in re.findall(r"\]\(([^)]+)\)", text)]


def misplaced(pages):
    for page in sorted((REPOSITORY / "docs").glob("*.md")):
        if page not in pages and page.name != "SUMMARY.md":
            yield f"{page.name} is not in docs/SUMMARY.md"
    words = len(pages[0].read_text().split())
    if words > WORDS:
        yield f"README has {words} words, more than {WORDS}"


def missing_links(pages):
    """Links to files of the repository, and to headings in them. Pages of docs/ are a book too, which has nothing but
    docs/: they name other files by the repository's address."""
    for page in pages:
        for target in re.findall(r"\]\(([^)\s]+)\)|(?:src|srcset)=\"([^\"]+)\"", page.read_text()):
            path, _, heading = (target[0] or target[1]).partition("#")
            by_address = ADDRESS.match(path)
            if "://" in path and not by_address:
                continue
            if by_address:
                to = REPOSITORY / by_address[1]
            else:
                to = (page.parent / path).resolve() if path else page
                if page.parent == REPOSITORY / "docs" and page.parent not in to.parents:
                    yield f"{page.name} leads to {path}, which is outside the book"
            if not to.exists() or heading and heading not in headings(to):
                yield f"{page.name} leads to {path}#{heading}, which is not there"


def headings(page):
    titles = re.findall(r"^#+ (.+)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title).strip().lower().replace(" ", "-") for title in titles}


if __name__ == "__main__":
    sys.exit(main())
