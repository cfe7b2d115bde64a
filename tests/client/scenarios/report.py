"""A report of what the client really did, in a real browser: the lanes and figures are the journal's."""
import importlib.util
import sys
from pathlib import Path

from bench import json_lines
from script import agent, bash, turns

from .compaction import SUMMARY
from .loops import PASS, START
from .reading import in_another_terminal

REPORT = Path(__file__).resolve().parents[2] / "report"


class Shown:
    """The client's project, as the report's own suite wants it."""

    def __init__(self, bench):
        self.bench, self.project = bench, bench.project

    def run(self, *arguments):
        done = in_another_terminal(self.bench, *arguments)
        assert done.returncode == 0, (arguments, done.stdout, done.stderr)
        return done.stdout

    def journal(self, session):
        return json_lines(self.bench.books.root / "journal" / f"{session}.jsonl")


def report(bench, check):
    """Two agents side by side, an error, a compaction and a loop that ends, then `hookkeeper report`."""
    client = bench.run("GO", "/compact keep the findings", "finish", rules=[SUMMARY, *turns(
        [agent("audit auth", "AUDIT-AUTH"), agent("look for tests", "FIND-TESTS", kind="Explore")],
        bash("cat /nowhere/at-all"), "looked at", bash(f"{START} && {PASS}"), "one", bash(PASS), "two",
        agents={"AUDIT-AUTH": "- **[S1]** No rate limit (src/login.ts:3)", "FIND-TESTS": "- **S2**: Tests are missing"})])
    shown, suite = Shown(bench), _suite()
    kinds = [line["kind"] for line in shown.journal(client.session_id)]
    for kind, least in {"agent_end": 2, "error": 1, "compact": 1, "gate": 2, "loop": 2, "end": 1}.items():
        check.that(f"{kind} in the journal", kinds.count(kind) >= least, kinds)
    with suite.Chromium() as browser:
        page = suite.Suite(browser, shown)
        # Its findings are told like those of every scenario.
        page.check = lambda name, is_good, seen="": check.that(name, is_good, seen)
        file = bench.root / "report.html"
        shown.run("report", client.session_id, "-o", str(file))
        page.open(file)
        page.is_calm("report", file)
        page.like_the_journal("report", client.session_id)
        check.equal("lanes", browser.run("document.querySelectorAll('svg.lanes .lane').length"), 3)
        page.open(file, 390, 844, "dark")
        page.fits("report at 390 px")


def _suite():
    """tests/report/run.py, which has the name of the program that is running here."""
    sys.path.insert(0, str(REPORT))
    spec = importlib.util.spec_from_file_location("report_suite", REPORT / "run.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    sys.path.remove(str(REPORT))
    return module


SCENARIOS = (report,)
