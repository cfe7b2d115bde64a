#!/usr/bin/env python3
"""Reports in a real browser: python3 tests/report/run.py --binary PATH [--pictures DIR]

Sessions are played into a scratch project, their reports opened in Chromium without a window. Nothing may be written to the
console, nothing loaded but the file; lanes and counts are compared with the journal, everything is worked by keyboard, at
390 pixels nothing is wider than the screen. Exit status: 0 all good, 1 something is not. --pictures keeps screenshots.
"""
import argparse
import collections
import json
import re
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True
from chromium import Chromium  # noqa: E402
from shop import SCENARIOS, Shop  # noqa: E402

LARGEST = 3 << 20
QUIET = {"run", "spooled"}


class Suite:
    def __init__(self, browser, shop):
        self.browser, self.shop, self.failed = browser, shop, 0

    def check(self, name, is_good, seen=""):
        self.failed += not is_good
        print(f"{'ok  ' if is_good else 'FAIL'} {name}{'' if is_good else f': {seen}'}", flush=True)

    def equal(self, name, seen, wanted):
        self.check(name, seen == wanted, f"{seen!r}, not {wanted!r}")

    def report(self, *args):
        said = self.shop.run("report", *args)
        return self.shop.project / said.split(":")[0]

    def open(self, file, width=1280, height=1500, scheme="light"):
        self.browser.screen(width, height, scheme)
        self.browser.open(file.as_uri())

    def is_calm(self, name, file):
        """No console message, no request but the file, nothing wider than the screen."""
        self.equal(f"{name}: no console message", self.browser.messages(), [])
        self.equal(f"{name}: no request but the file", self.browser.requests(), [file.as_uri()])

    def fits(self, name):
        wide = self.browser.run("document.documentElement.scrollWidth - innerWidth")
        self.check(f"{name}: nothing is wider than the screen", wide <= 0, f"{wide} px")

    def like_the_journal(self, name, session):
        """Every line that tells something is on the timeline, in the lane of its agent."""
        journal = [line for line in self.shop.journal(session) if line["kind"] not in QUIET]
        wanted = collections.Counter(line.get("agent") or "main" for line in journal)
        wanted.setdefault("main", 0)
        seen = self.browser.run("""Object.fromEntries([...document.querySelectorAll("svg.lanes .lane")].map((lane) =>
            [lane.dataset.lane, [...lane.querySelectorAll(".m")].reduce((sum, mark) => sum + +mark.dataset.n, 0)]))""")
        self.equal(f"{name}: lanes and their marks are the journal's", seen, dict(wanted))
        calls = collections.Counter(line.get("agent") or "main" for line in journal if line["kind"] == "tool")
        table = self.browser.run("""Object.fromEntries([...document.querySelectorAll("table.lanes tbody tr")].map((row) =>
            [row.dataset.lane, +row.querySelector("[data-count=calls]").textContent]))""")
        self.equal(f"{name}: the table's calls are the journal's", table, {lane: calls[lane] for lane in wanted})
        figures = self.browser.run("""Object.fromEntries([...document.querySelectorAll("[data-figure]")].map((one) =>
            [one.dataset.figure, one.querySelector("dd").firstChild.textContent]))""")
        kinds = collections.Counter(line["kind"] for line in journal)
        for figure, kind in [("tool calls", "tool"), ("errors", "error"), ("prompts", "prompt")]:
            self.equal(f"{name}: {figure}", re.sub(r"\D", "", figures[figure]), str(kinds[kind]))
        shapes = self.browser.run("""Object.fromEntries([...document.querySelectorAll("[data-kind]")].map((one) =>
            [one.dataset.kind, +one.querySelector("small").textContent]))""")
        failed = sum(line["kind"] == "gate" and line.get("failed", False) for line in journal)
        self.equal(f"{name}: failed gates", shapes.get("refusal", 0), failed)
        shapes["gate"] = shapes.get("gate", 0) + failed
        for shape, kind in [("compaction", ("compacted",)), ("loop", ("loop",)), ("gate", ("gate",))]:
            self.equal(f"{name}: {shape} marks", shapes.get(shape, 0), sum(kinds[one] for one in kind))

    def has_everything(self, session):
        """What the recorded session is for is in its journal, and so on the page; its agents' tokens are those of `cost`."""
        kinds = collections.Counter(line["kind"] for line in self.shop.journal(session))
        for kind, least in [("agent_end", 2), ("error", 2), ("recovered", 1), ("compact", 1), ("compacted", 1), ("loop", 4), ("gate", 3)]:
            self.check(f"recorded whole session has {kind}", kinds[kind] >= least, kinds)
        figures = self.browser.run("""Object.fromEntries([...document.querySelectorAll("[data-figure]")].map((one) =>
            [one.dataset.figure, one.querySelector("dd").firstChild.textContent]))""")
        self.equal("agents and compactions", (figures["agents"], figures["compactions"]), ("2", "1"))
        cost = json.loads(self.shop.run("cost", "--by", "agent", "--json"))
        wanted = {line["agent"]: line["input"] + line["output"] for line in cost["lines"] if line.get("session") == session}
        seen = self.browser.run("""Object.fromEntries([...document.querySelectorAll("table.lanes tbody tr")].map((row) =>
            [row.dataset.lane, row.querySelector("[data-count=tokens]").textContent]))""")
        self.equal("tokens of each agent", {lane: text for lane, text in seen.items() if lane != "main"},
                   {agent: f"{tokens / 1000:.1f}k" for agent, tokens in wanted.items()})
        verdict = self.browser.run("document.body.innerText.includes('all gates passed and no item was open')")
        self.check("the loop's verdict is told", verdict)

    def keyboard(self):
        """Every element that can be used is reached by Tab and does its work by keys."""
        browser = self.browser
        wanted = browser.run("""(() => { const all = [...document.querySelectorAll("a[href], button, summary, [tabindex='0']")]
            .filter((one) => one.checkVisibility()); all.forEach((one, at) => { one.dataset.stop = at; }); return all.length })()""")
        browser.run("document.activeElement.blur()")
        seen = set()
        for _ in range(wanted + 5):
            browser.press("Tab")
            stop = browser.run("document.activeElement.dataset.stop ?? null")
            seen |= {stop} - {None}
        missed = browser.run(f"[...document.querySelectorAll('[data-stop]')].filter((one) => !{sorted(seen)}.includes(one.dataset.stop)).map((one) => one.outerHTML.slice(0, 200))")
        self.equal("Tab reaches all that can be used", missed, [])

        def focus(selector):
            browser.run(f"document.querySelector({selector!r}).focus()")

        def width():
            return browser.run("document.querySelector('svg.lanes').getBoundingClientRect().width")

        before = width()
        for selector, factor in [("[data-zoom=in]", 2), ("[data-zoom=in]", 4), ("[data-zoom=out]", 2), ("[data-zoom=all]", 1)]:
            focus(selector)
            browser.press("Enter")
            self.equal(f"Enter on {selector} zooms to {factor}", round(width() / before), factor)
        focus(".m[tabindex='0']")
        for key, factor in [("+", 2), ("+", 4), ("-", 2), ("0", 1)]:
            browser.press(key)
            self.equal(f"{key} zooms to {factor}", round(width() / before), factor)
        detail = "document.querySelector('.detail').innerText"
        titles = browser.run("""[...document.querySelectorAll(".lane")].map((lane) => [...lane.querySelectorAll(".m")]
            .sort((one, other) => parseFloat(one.getAttribute("x")) - parseFloat(other.getAttribute("x")))
            .map((mark) => mark.querySelector("title").textContent))""")
        browser.press("Home")
        walked = [browser.run(detail)]
        for _ in titles[0][1:]:
            browser.press("ArrowRight")
            walked.append(browser.run(detail))
        self.equal("arrows go through the main thread, mark by mark", walked, titles[0])
        browser.press("ArrowLeft")
        self.equal("and back", browser.run(detail), titles[0][-2])
        browser.press("ArrowDown")
        self.check("down goes to the next lane", browser.run(detail) in titles[1], browser.run(detail))
        browser.press("ArrowUp")
        self.check("up goes back", browser.run(detail) in titles[0], browser.run(detail))
        browser.press("Enter")
        kept = browser.run(detail)
        browser.press("ArrowLeft")
        self.equal("Enter keeps the detail", browser.run(detail), kept)
        browser.press("Escape")
        self.equal("Escape lets it go", browser.run("document.querySelectorAll('.kept').length"), 0)
        browser.press("ArrowLeft")
        self.check("then the next is told", browser.run(detail) != kept, kept)
        marks = "[...document.querySelectorAll('.m.tool')].filter((one) => getComputedStyle(one).display !== 'none').length"
        there = browser.run(marks)
        focus("[data-kind=tool]")
        browser.press(" ")
        self.equal("a kind of mark is hidden", (browser.run(marks), browser.run("document.activeElement.ariaPressed")), (0, "false"))
        browser.press("Enter")
        self.equal("and shown", browser.run(marks), there)
        # The mark that Tab leads to is hidden: another one takes its place.
        focus(".m.tool")
        browser.run("document.querySelector('.m.tool').dispatchEvent(new MouseEvent('click', {bubbles: true}))")
        focus("[data-kind=tool]")
        browser.press(" ")
        reached = """[...document.querySelectorAll(".timeline")].map((one) => [...one.querySelectorAll(".m[tabindex='0']")]
            .filter((mark) => getComputedStyle(mark).display !== "none").length)"""
        self.equal("a mark that is shown can be reached by Tab", browser.run(reached), [1])
        browser.press(" ")
        self.equal("and when it is shown again", browser.run(reached), [1])
        browser.press("Escape")
        focus("details.events summary")
        browser.press("Enter")
        self.check("the list of events opens", browser.run("document.querySelector('details.events').open"))

    def mouse(self):
        box = self.browser.run("(({x, y, width, height}) => [x + width / 2, y + height / 2])(document.querySelector('.m.error').getBoundingClientRect())")
        self.browser.send("Input.dispatchMouseEvent", type="mouseMoved", x=box[0], y=box[1])
        told = self.browser.run("document.querySelector('.detail').innerText")
        self.check("the mouse over an error tells it", told.startswith("Error"), told)
        for kind in ["mousePressed", "mouseReleased"]:
            self.browser.send("Input.dispatchMouseEvent", type=kind, x=box[0], y=box[1], button="left", clickCount=1)
        self.equal("a click keeps it", self.browser.run("document.querySelectorAll('.m.error.kept').length"), 1)
        self.browser.press("Escape")
        # Away: where the picture moves below the pointer, that is told.
        self.browser.send("Input.dispatchMouseEvent", type="mouseMoved", x=1, y=1)

    def spoken(self):
        tree = self.browser.send("Accessibility.getFullAXTree")["nodes"]
        named = lambda role: [node.get("name", {}).get("value") for node in tree if node.get("role", {}).get("value") == role]
        self.check("all buttons have names", all(named("button")) and len(named("button")) > 5, named("button"))
        self.check("all tables are tables", len(named("table")) >= 5, named("table"))
        self.check("headings lead through it", named("heading")[1:] == ["Timeline", "Findings", "Errors", "Tokens and cost", "Loops", "Hook times"],
                   named("heading"))

    def without_script(self, file):
        self.browser.send("Emulation.setScriptExecutionDisabled", value=True)
        self.browser.events.clear()
        self.browser.send("Page.navigate", url=file.as_uri())
        self.browser.wait("Page.loadEventFired")
        text = self.browser.run("document.body.innerText")
        self.browser.send("Emulation.setScriptExecutionDisabled", value=False)
        for words in ["security-auditor Audit the login", "Passwords are compared in plain text", "src/auth/login.ts:42", "ETIMEDOUT", "prettier"]:
            self.check(f"without script: {words}", words in text, text[-300:])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--binary", required=True)
    parser.add_argument("--pictures", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as home, Chromium() as browser:
        shop = Shop(options.binary, Path(home) / "home")
        suite = Suite(browser, shop)
        for scenario in SCENARIOS:
            session = shop.scenario(scenario)
            file = suite.report(session)
            suite.open(file)
            suite.is_calm(scenario, file)
            suite.like_the_journal(scenario, session)
        suite.shop = Shop(options.binary, Path(home) / "alone")
        session = suite.shop.whole_session()
        file = suite.report(session)
        suite.open(file)
        suite.is_calm("recorded whole session", file)
        suite.like_the_journal("recorded whole session", session)
        suite.has_everything(session)
        suite.keyboard()
        suite.open(file, 390, 860)
        suite.fits("recorded whole session, 390 px")
        suite.shop = shop
        session = shop.full_session()
        file = suite.report(session)
        for scheme in ["light", "dark"]:
            for width, height in [(1280, 860), (390, 860)]:
                suite.open(file, width, height, scheme)
                suite.fits(f"{width} px, {scheme}")
                if options.pictures:
                    browser.picture(options.pictures / f"report-{width}-{scheme}.png")
        suite.open(file)
        suite.like_the_journal("full session", session)
        suite.spoken()
        suite.mouse()
        suite.keyboard()
        suite.is_calm("full session", file)
        suite.without_script(file)
        week = suite.report("--since", "7d")
        suite.open(week)
        suite.equal("all sessions are listed", browser.run("document.querySelectorAll('tr[data-session]').length"), len(SCENARIOS) + 1)
        suite.check("only the newest session is open", browser.run("!document.querySelector('#s2').open"))
        for closed in ["", "document.querySelector('#s2').open = false"]:
            browser.run(f"{closed}; document.querySelector('a[href=\"#s2\"]').focus()")
            browser.press("Enter")
            suite.check("a link to a session opens it", browser.run("document.querySelector('#s2').open"))
        suite.is_calm("seven days", week)
        suite.open(week, 390, 860)
        suite.fits("seven days, 390 px")

        session = shop.long_session()
        file = suite.report(session)
        size = file.stat().st_size
        suite.check(f"10,000 events: {size >> 10} KB", size < LARGEST, size)
        empty = shop.project / "empty.html"
        empty.write_text("<!doctype html><title>empty</title><p>x")
        paint = """new Promise((done) => new PerformanceObserver((seen) => done(seen.getEntries()[0].startTime))
            .observe({type: "paint", buffered: true}))"""
        times = collections.defaultdict(list)
        for _ in range(5):
            for page in [empty, file]:
                suite.open(page)
                times[page].append(browser.run(paint))
        suite.like_the_journal("10,000 events", session)
        suite.is_calm("10,000 events", file)
        of_empty, of_long = (sorted(times[page])[2] for page in [empty, file])
        print(f"first paint: {of_long:.0f} ms, an empty page {of_empty:.0f} ms, {of_long / max(of_empty, 1):.1f} times that")
        suite.check("10,000 events are painted within a second", of_long < 1000, of_long)
    print(f"{suite.failed} failed" if suite.failed else "all good")
    return 1 if suite.failed else 0


if __name__ == "__main__":
    sys.exit(main())
