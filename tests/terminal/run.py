#!/usr/bin/env python3
"""`hookkeeper status --watch` and `hookkeeper demo` on a real terminal, which tmux is here.

Exit status: 0 all passed, 1 something failed, 3 there is no tmux (nothing was tested).
"""

import argparse
import fcntl
import json
import os
import pty
import re
import shlex
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time
from itertools import count
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from shop import Shop, built  # noqa: E402
from tmux import Tmux  # noqa: E402

PANELS = ["Sessions", "Agents", "Errors", "findings", "Loop", "Backups", "Hooks"]
failures = []
asked = count()


def check(what, good, seen=""):
    print(f"{'ok  ' if good else 'FAIL'}  {what}")
    if not good:
        failures.append(what)
        print(seen)


def watching(tmux, shop, width, height, env="", args=""):
    """A shell on the terminal, with a watch running in it that tells its exit status."""
    tmux.start(width, height, shop.env(), shop.root)
    tmux.type(f"stty -a > {shop.home}/before; {env} {shlex.quote(shop.binary)} status --watch {args}; echo ended=$?")


def has_ended(text):
    """The command itself is on the screen too, and names the word."""
    return re.search(r"ended=\d", text)


def is_sane(tmux, shop):
    """The terminal is what it was: modes, main screen, cursor."""
    # A word of its own each time: the last one may still be on the screen.
    word = f"sane-{next(asked)}"
    tmux.type(f"clear; stty -a > {shop.home}/after; echo {word}")
    tmux.until(lambda text: text.startswith(word))
    same = (shop.home / "before").read_text() == (shop.home / "after").read_text()
    return same and tmux.ask("#{alternate_on} #{cursor_flag}") == "0 1"


def sizes(shop):
    for width, height in [(80, 24), (200, 50)]:
        with Tmux() as tmux:
            watching(tmux, shop, width, height)
            text = tmux.until(lambda text: all(panel in text for panel in PANELS))
            name = f"{width}x{height}"
            check(f"{name}: every panel is there", all(panel in text for panel in PANELS), text)
            check(f"{name}: the project is there, without the home", text.startswith("~/shop "), text)
            check(f"{name}: it fits", len(text.splitlines()) <= height, text)
            tmux.resize(20, 5)
            text = tmux.until(lambda text: "Agents" in text and len(text.splitlines()) <= 5)
            check(f"{name}: small, the agents stay", "Agents" in text, text)
            tmux.resize(1, 1)
            tmux.resize(width, height)
            text = tmux.until(lambda text: all(panel in text for panel in PANELS))
            check(f"{name}: large again, all is back", all(panel in text for panel in PANELS), text)
            tmux.press("?")
            text = tmux.until(lambda text: "this help" in text)
            check(f"{name}: help", "this help" in text, text)
            tmux.press("?")
            tmux.press("Down", "PageDown", "r")
            tmux.until(lambda text: "Agents" in text)
            tmux.press("q")
            text = tmux.until(has_ended)
            check(f"{name}: q ends it with 0", "ended=0" in text, text)
            check(f"{name}: the terminal is as it was", is_sane(tmux, shop), tmux.text())


def keys(shop):
    for key in ["Escape", "C-c"]:
        with Tmux() as tmux:
            watching(tmux, shop, 80, 24)
            tmux.until(lambda text: "Agents" in text)
            tmux.press(key)
            text = tmux.until(has_ended)
            check(f"{key} ends it with 0", "ended=0" in text, text)
            check(f"{key}: the terminal is as it was", is_sane(tmux, shop), tmux.text())


def input_elsewhere(shop):
    """Keys come from the terminal, whatever stdin is."""
    with Tmux() as tmux:
        watching(tmux, shop, 80, 24, args="< /dev/null")
        tmux.until(lambda text: "Agents" in text)
        tmux.press("?")
        text = tmux.until(lambda text: "this help" in text)
        check("stdin elsewhere: keys are heard", "this help" in text, text)
        tmux.press("q")
        text = tmux.until(has_ended)
        check("stdin elsewhere: q ends it with 0", "ended=0" in text, text)
        check("stdin elsewhere: the terminal is as it was", is_sane(tmux, shop), tmux.text())


def typing(shop):
    """Characters of every width, typed and pasted, and keys that a terminal spells in several ways."""
    with Tmux() as tmux:
        watching(tmux, shop, 80, 24)
        tmux.until(lambda text: "Agents" in text)
        tmux.run("set-buffer", "--", "pä漢👍e\u0301x")
        tmux.press("/")
        tmux.run("paste-buffer")
        text = tmux.until(lambda text: "/pä漢👍e\u0301x▏" in text)
        check("what is pasted is typed", "/pä漢👍e\u0301x▏" in text, text)
        tmux.press("BSpace", "BSpace", "BSpace", "BSpace")
        text = tmux.until(lambda text: "/pä漢▏" in text)
        check("Backspace takes characters back", "/pä漢▏ Enter" in text, text)
        tmux.press("Escape")
        tmux.until(lambda text: "/pä" not in text)
        tmux.press("BTab")
        text = tmux.until(lambda text: "▸" in text)
        check("Shift-Tab goes round the other way", "▸Backups" in text, text)
        # The end of a terminal's answer is no `?`, and an arrow to the right no letter.
        tmux.press("-H", *"1b 5b 31 3b 35 43 1b 5b 3f 31 63 1b 4f 50".split())
        tmux.press("?")
        text = tmux.until(lambda text: "this help" in text)
        check("what is no key does nothing", "this help" in text, text)
        tmux.press("?")
        tmux.resize(80, 12)
        focus(tmux, "Sessions")
        tmux.press("Enter")
        tmux.until(lambda text: "Started:" in text)
        for home in ["1b 5b 48", "1b 4f 48", "1b 5b 31 7e", "1b 5b 37 7e"]:
            tmux.press("PageDown")
            below = tmux.until(lambda text: "Started:" not in text)
            tmux.press("-H", *home.split())
            text = tmux.until(lambda text: "Started:" in text)
            check(f"PageDown, and Home as {home}", "Started:" in text and "Started:" not in below, text)


def looking(shop):
    """Focus, detail and filter, at both sizes; Escape goes back step by step."""
    for width, height in [(80, 24), (200, 50)]:
        with Tmux() as tmux:
            name = f"{width}x{height}"
            watching(tmux, shop, width, height)
            # The last row is drawn last.
            text = tmux.until(lambda text: "tokens, $" in text and "q quit" in text)
            check(f"{name}: tokens and cost of the live sessions", "live sessions: 5.5k tokens, $0.42" in text, text)
            check(f"{name}: a session whose hooks run is at work", "at work" in text, text)
            check(f"{name}: what is over is one line", "Backups" in text and "backup_" not in text, text)
            errors, agents = text.find(" Errors "), text.find(" Agents ")
            check(f"{name}: what was escalated comes before the agents", width > 80 or -1 < errors < agents, text)
            check(f"{name}: and before the sessions", -1 < errors < text.find(" Sessions "), text)
            for _ in range(12):
                tmux.press("Tab")
                text = tmux.until(lambda text: "▸" in text)
                if "▸Backups" in text:
                    break
            text = tmux.until(lambda text: "backup_" in text)
            check(f"{name}: Tab goes to a panel and opens it", "▸Backups" in text and "backup_" in text, text)
            tmux.press("Escape")
            tmux.until(lambda text: "▸" not in text)
            focus(tmux, "Errors")
            tmux.press("Enter")
            text = tmux.until(lambda text: "Esc back" in text)
            check(f"{name}: Enter shows an error's message", "EACCES: permission denied" in text, text)
            check(f"{name}: its time is local", re.search(r"Last seen: \d\d:\d\d:\d\d", text), text)
            tmux.press("Escape")
            focus(tmux, "Sessions")
            tmux.press("Enter")
            text = tmux.until(lambda text: "What happened" in text)
            check(f"{name}: Enter shows a session's journal", "Edit src/routes/3.ts" in text, text)
            check(f"{name}: its start is local", re.search(r"Started: (\d{4}-\d\d-\d\d \d\d:\d\d|\d\d:\d\d:\d\d)", text), text)
            tmux.press("PageDown", "Up", "Escape")
            tmux.until(lambda text: "Esc back" not in text)
            tmux.press("/", "p", "r", "i", "c", "e", "q")
            text = tmux.until(lambda text: "/priceq" in text)
            check(f"{name}: what is typed is no command", "/priceq" in text, text)
            tmux.press("BSpace", "Enter")
            text = tmux.until(lambda text: "only rows with `price`" in text)
            check(f"{name}: / keeps the rows with a text", "Why does the price" in text and "Audit" not in text, text)
            tmux.press("Escape")
            text = tmux.until(lambda text: "Audit" in text and "only rows" not in text)
            check(f"{name}: Escape drops the filter", "Audit" in text and "only rows" not in text, text)
            tmux.press("q")
            text = tmux.until(has_ended)
            check(f"{name}: q ends it with 0", "ended=0" in text, text)


def focus(tmux, title):
    for _ in range(12):
        if f"▸{title}" in tmux.text():
            return
        before = tmux.text()
        tmux.press("Tab")
        tmux.until(lambda text: text != before)


def signals(shop):
    for name in ["TERM", "HUP", "INT"]:
        with Tmux() as tmux:
            watching(tmux, shop, 80, 24)
            tmux.until(lambda text: "Agents" in text)
            os.kill(tmux.child(), getattr(signal, f"SIG{name}"))
            text = tmux.until(has_ended)
            check(f"SIG{name} ends it", "ended=0" in text, text)
            check(f"SIG{name}: the terminal is as it was", is_sane(tmux, shop), tmux.text())


def closed(shop):
    """A terminal that is closed takes the watch with it, whatever was shown. Twice: it is a race."""
    for show in ["", "--interval 0.1"]:
        with Tmux() as tmux:
            watching(tmux, shop, 80, 24, args=show)
            tmux.until(lambda text: "Agents" in text)
            child = tmux.child()
            tmux.run("kill-server", check=False)
            end = time.monotonic() + 20
            while (alive := Path(f"/proc/{child}").exists()) and time.monotonic() < end:
                time.sleep(0.1)
            check(f"a closed terminal ends it {show}", not alive)
            if alive:
                os.kill(child, signal.SIGKILL)


def stuck(shop):
    """A terminal that takes nothing any more does not keep it from ending."""
    child, terminal = pty.fork()
    if child == 0:
        os.chdir(shop.root)
        os.execve(shop.binary, [shop.binary, "status", "--watch", "--interval", "0.1"], {**shop.env(), "TERM": "xterm"})
    # Each change of the size is a whole picture, and nobody reads them.
    for rows in range(200):
        fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 50 + rows % 2, 200, 0, 0))
        time.sleep(0.02)
    os.kill(child, signal.SIGTERM)
    end = time.monotonic() + 20
    while not (ended := os.waitpid(child, os.WNOHANG)[0]) and time.monotonic() < end:
        time.sleep(0.1)
    check("a terminal that takes nothing: SIGTERM ends it", ended)
    if not ended:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    os.close(terminal)


def stop_and_go_on(shop):
    with Tmux() as tmux:
        watching(tmux, shop, 80, 24)
        tmux.until(lambda text: "Agents" in text)
        tmux.press("C-z")
        tmux.until(lambda text: "Stopped" in text)
        check("Ctrl-Z stops it, the terminal is as it was", is_sane(tmux, shop), tmux.text())
        tmux.type("fg")
        text = tmux.until(lambda text: "Agents" in text and "Stopped" not in text)
        check("fg brings it back", "Agents" in text, text)
        tmux.press("q")
        tmux.until(lambda text: text.rstrip().endswith("$"))
        check("and it ends well", is_sane(tmux, shop), tmux.text())


def changes(shop):
    """Books that change, vanish and come back are shown, and end nothing."""
    state, away = shop.root / ".claude", shop.home / "away"
    with Tmux() as tmux:
        watching(tmux, shop, 80, 24)
        tmux.until(lambda text: "2 live" in text)
        shop.event("SessionStart", session="11111111-0000-4000-8000-000000000000", source="startup")
        text = tmux.until(lambda text: "3 live" in text)
        check("a new session is seen", "3 live" in text, text)
        state.rename(away)
        text = tmux.until(lambda text: "No state" in text)
        check("state that is gone is said", "No state" in text, text)
        state.write_text("no directory")
        text = tmux.until(lambda text: "cannot be read" in text)
        check("state that cannot be opened is said", "cannot be read" in text, text)
        state.unlink()
        away.rename(state)
        errors = state / "state/errors/classified.json"
        kept = errors.read_text()
        errors.write_text("{")
        text = tmux.until(lambda text: "cannot be read now" in text)
        check("a document that cannot be read is said", "classified.json cannot" in text, text)
        errors.write_text(kept)
        text = tmux.until(lambda text: "3 live" in text and "cannot" not in text)
        check("state that is back is seen", "3 live" in text, text)


def plain(shop):
    """Without a terminal that knows escape sequences there are none."""
    with Tmux() as tmux:
        watching(tmux, shop, 80, 24, env="TERM=dumb")
        text = tmux.until(lambda text: "Backups:" in text)
        check("TERM=dumb: text", "Backups:" in text and tmux.ask("#{alternate_on}") == "0", text)
        tmux.type("q")
        text = tmux.until(has_ended)
        check("TERM=dumb: a line with q ends it", "ended=0" in text, text)
    for name in ["SIGINT", "SIGTERM"]:
        command = [shop.binary, "status", "--watch"]
        child = subprocess.Popen(command, cwd=shop.root, env=shop.env(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
        first = child.stdout.readline()
        child.send_signal(getattr(signal, name))
        rest = child.communicate(timeout=20)[0]
        check(f"a pipe: no escape sequence, {name} ends it", b"\x1b" not in first + rest and child.returncode == 0, rest)
    for env in ["", "NO_COLOR=1"]:
        with Tmux() as tmux:
            watching(tmux, shop, 80, 24, env=env)
            tmux.until(lambda text: "Hooks" in text)
            coloured = re.findall(r"\x1b\[(?:\d+;)*(?:3[1-7]|38;5;\d+)m", tmux.text("-e"))
            check(f"{env or 'with'} colours: {len(coloured)}", bool(coloured) == (not env), coloured)
    with Tmux() as tmux:
        tmux.start(80, 24, shop.env(), shop.root)
        tmux.type(f"{shlex.quote(shop.binary)} statusline")
        text = tmux.until(lambda text: "\nshop" in text)
        check("statusline does not wait for a person", "\nshop" in text, text)
        tmux.resize(50, 24)
        tmux.type(f"clear; {shlex.quote(shop.binary)} cost --by agent")
        text = tmux.until(lambda text: "No room for" in text)
        check("a narrow table names the columns that it has not", "No room for: cache write" in text, text)


def wrapped(shop):
    """In 80 columns no line of words goes on where the terminal ends: each is broken between words."""
    command = shlex.quote(shop.binary)
    for words in ["doctor", "loop status", "record on; {} record list"]:
        with Tmux() as tmux:
            tmux.start(80, 90, shop.env(), shop.root)
            tmux.type(f"PS1='$ '; clear; {command} {words.format(command)}; echo ended=$?")
            tmux.until(has_ended)
            lines, joined = tmux.text().rstrip().splitlines(), tmux.text("-J").rstrip().splitlines()
            # What was typed may be longer than a line; what was printed is not.
            check(f"80 columns: {words}", len(lines) - len(joined) <= 1, "\n".join(lines))


def escapes(shop):
    """State that is full of what a terminal obeys is shown as text, in the live view too."""
    state = shop.root / ".claude/state"
    kept = {path: path.read_bytes() for path in state.rglob("*.json*") if path.is_file()}
    for path, old in kept.items():
        lines = old.decode().splitlines() if path.suffix == ".jsonl" else [old.decode()]
        path.write_text("\n".join(json.dumps(planted(json.loads(line))) for line in lines if line) + "\n")
    with Tmux() as tmux:
        watching(tmux, shop, 200, 50)
        text = tmux.until(lambda text: "Agents" in text and "evil" in text)
        check("planted: it is shown", "evil" in text, text)
        check("planted: nothing of it is hidden or turned", not re.search("[\u200b-\u200f\u202a-\u202e\u2066-\u2069]", text), text)
        check("planted: it begins no line", not re.search(r"^HookKeeper: planted", text, re.M), text)
        check("planted: the title is not set", tmux.ask("#{pane_title}") != "stolen", tmux.ask("#{pane_title}"))
        check("planted: no colour of its own", not re.search(r"\x1b\[(?:\d+;)*45m", tmux.text("-e")), tmux.text("-e"))
        tmux.press("q")
        text = tmux.until(has_ended)
        check("planted: q ends it with 0", "ended=0" in text, text)
        check("planted: the terminal is as it was", is_sane(tmux, shop), tmux.text())
    for path, old in kept.items():
        path.write_bytes(old)


def progress(shop):
    """What takes longer than a second says so on the terminal, and leaves nothing there; in a pipe nothing is said."""
    slow = shop.home / "bin/claude"
    slow.parent.mkdir(exist_ok=True)
    slow.write_text("#!/bin/sh\nsleep 3\necho '2.1.325 (Claude Code)'\n")
    slow.chmod(0o755)
    path = f"{slow.parent}:{os.environ['PATH']}"
    with Tmux() as tmux:
        tmux.start(80, 24, {**shop.env(), "PATH": path}, shop.root)
        tmux.type(f"clear; {shlex.quote(shop.binary)} doctor > {shop.home}/said; echo ended=$?")
        text = tmux.until(lambda text: "this installation …" in text or has_ended(text))
        check("progress: a line for who waits", "looking at this installation …" in text, text)
        text = tmux.until(has_ended)
        check("progress: it is gone in the end", "this installation …" not in text, text)
        tmux.type(f"clear; {shlex.quote(shop.binary)} doctor > {shop.home}/said 2> {shop.home}/errors; echo again=$?")
        text = tmux.until(lambda text: re.search(r"again=\d", text))
        check("progress: nothing in a pipe", not (shop.home / "errors").read_text(), (shop.home / "errors").read_text())


def demo(shop):
    """`hookkeeper demo` at both sizes: the view while it plays, then what it came to; left early by Ctrl-C and by q."""
    tmp = shop.home / "tmp"
    tmp.mkdir(exist_ok=True)
    for width, height, key in [(80, 24, None), (200, 50, "C-c"), (80, 24, "q")]:
        name = f"demo {width}x{height}{f' left by {key}' if key else ''}"
        with Tmux() as tmux:
            tmux.start(width, height, {**shop.env(), "TMPDIR": str(tmp)}, shop.root)
            tmux.type(f"stty -a > {shop.home}/before; {shlex.quote(shop.binary)} demo; echo ended=$?")
            began = time.monotonic()
            text = tmux.until(lambda text: "4 running" in text)
            check(f"{name}: four agents run", "4 running" in text and "times as fast" in text, text)
            check(f"{name}: it fits", len(text.splitlines()) <= height, text)
            if key:
                tmux.press(key)
            else:
                text = tmux.until(lambda text: "Loop 3/10" in text)
                check(f"{name}: the loop is seen", "Loop 3/10" in text, text)
            text = tmux.until(has_ended)
            took = time.monotonic() - began
            check(f"{name}: it ends with 0", "ended=0" in text, text)
            check(f"{name}: in its time", took < 15 if key else 20 < took < 32, f"{took:.1f} s")
            said = "Stopped before the end" if key else "loop complete in 3 iterations"
            check(f"{name}: it says what it came to", said in text and "rm -r" in text, text)
            check(f"{name}: the terminal is as it was", is_sane(tmux, shop), tmux.text())
    check("demo: three scratch projects stay", len(list(tmp.glob("hookkeeper-demo-*/shop"))) == 3)


# Said in free text only: what says which thing is meant has to stay.
FREE = {"task", "title", "message", "description", "target", "outcome", "text", "reason", "details", "event"}
EVIL = "\x1b[45mevil\x1b]2;stolen\x07\x9b2J\u202erlo\u2066\u200b\r\nHookKeeper: planted"


def planted(value, key=""):
    if isinstance(value, dict):
        return {name: planted(inner, name) for name, inner in value.items()}
    if isinstance(value, list):
        return [planted(inner, key) for inner in value]
    return EVIL + value if isinstance(value, str) and key in FREE else value


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--binary", default=built(), help="the program to test (default: the debug build)")
    parser.add_argument("--only", metavar="PART", help="one part, by its function's name")
    options = parser.parse_args()
    binary = str(Path(options.binary).resolve())
    if not shutil.which("tmux"):
        print("there is no tmux: nothing was tested")
        return 3
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as scratch:
        shop = Shop(binary, Path(scratch).resolve())
        shop.fill(time.time())
        for part in [sizes, keys, input_elsewhere, typing, looking, signals, closed, stuck, stop_and_go_on, changes, plain, wrapped, escapes, progress, demo]:
            if options.only in (None, part.__name__):
                part(shop)
    print(f"{len(failures)} failed" if failures else "all good")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
