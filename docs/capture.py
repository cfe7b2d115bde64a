#!/usr/bin/env python3
"""Writes the pictures in this directory: `status` and `status --watch` as a terminal shows them.

The books are a scratch project's, made by real payloads; tmux is the terminal; the SVG files are
made here, for a light and for a dark background.
"""

import argparse
import re
import sys
import tempfile
import time
import unicodedata
from pathlib import Path
from xml.sax.saxutils import escape

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "tests/terminal"))
from shop import Shop, built  # noqa: E402
from tmux import Tmux  # noqa: E402

SIZES = [(80, 24), (200, 50)]
CELL, LINE, MARGIN = 8.4, 18, 14
# The sixteen names that a terminal gives its own colours to; these are for the pictures only.
PALETTES = {
    "dark": {"back": "#16181d", "text": "#d5d8de", 31: "#f2777a", 32: "#8fc97a", 33: "#e6c15a", 36: "#66c3cc"},
    "light": {"back": "#ffffff", "text": "#24292f", 31: "#b3261e", 32: "#2c7a2c", 33: "#8a6100", 36: "#0b7285"},
}


def pieces(line, codes):
    """A captured line as (column, text, codes), with the codes that hold for the text. They go on
    holding in the next line: `codes` is changed."""
    column = 0
    for part in re.split(r"(\x1b\[[0-9;]*m)", line):
        if part.startswith("\x1b["):
            # A name can be spelled as an index, too.
            for code in re.sub(r"38;5;([0-7])(?=[;m])", r"3\1", part)[2:-1].split(";"):
                code = int(code or 0)
                if code == 0:
                    codes.clear()
                elif 30 <= code <= 39:
                    codes.difference_update(range(30, 40))
                if code not in (0, 39):
                    codes.add(code)
        elif part:
            yield column, part, set(codes)
            column += sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in part)


def svg(text, columns, rows, palette):
    width, height = round(columns * CELL + 2 * MARGIN), rows * LINE + 2 * MARGIN
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}">',
           f'<rect width="100%" height="100%" rx="8" fill="{palette["back"]}"/>',
           f'<g font-family="ui-monospace, Menlo, Consolas, DejaVu Sans Mono, monospace" font-size="14" fill="{palette["text"]}" xml:space="preserve">']
    codes = set()
    for row, line in enumerate(text.split("\n")[:rows]):
        y = MARGIN + row * LINE + 13
        for column, part, codes in pieces(line, codes):
            if not part.strip():
                continue
            colour = next((palette[c] for c in codes if c in palette), None)
            style = f' fill="{colour}"' if colour else ""
            style += ' font-weight="bold"' if 1 in codes else ""
            style += ' opacity="0.65"' if 2 in codes else ""
            # Piece by piece between wide gaps: not every viewer keeps blanks, or has the font.
            for word in re.finditer(r"\S+( \S+)*", part):
                x, long = MARGIN + (column + word.start()) * CELL, len(word.group()) * CELL
                out.append(f'<text x="{x:.1f}" y="{y}" textLength="{long:.1f}"{style}>{escape(word.group())}</text>')
    return "\n".join([*out, "</g>", "</svg>", ""])


def captured(shop, width, height, command, ready):
    with Tmux() as tmux:
        tmux.start(width, height, shop.env() | {"PATH": f"{shop.home}/bin:{shop.env()['PATH']}"}, shop.root)
        tmux.type(f"clear; {command}")
        tmux.until(ready)
        return tmux.text("-e").rstrip("\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--binary", default=built(), help="the program to show (default: the debug build)")
    binary = Path(parser.parse_args().binary).resolve()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as scratch:
        shop = Shop(str(binary), Path(scratch).resolve())
        (shop.home / "bin").mkdir()
        (shop.home / "bin/hookkeeper").symlink_to(binary)
        shop.fill(time.time())
        for width, height in SIZES:
            watch = captured(shop, width, height, "hookkeeper status --watch", lambda text: "Hooks" in text)
            # Taller than the window would be, so that nothing has scrolled away.
            text = captured(shop, width, 50, "hookkeeper status", lambda text: text.rstrip().endswith("$"))
            text = "\n".join(text.split("\n")[:-1]).rstrip("\n")
            for name, palette in PALETTES.items():
                size = f"{width}x{height}"
                (HERE / f"watch-{size}-{name}.svg").write_text(svg(watch, width, height, palette))
                rows = text.count("\n") + 1
                (HERE / f"status-{size}-{name}.svg").write_text(svg(text, width, rows, palette))
            assert str(shop.home) not in watch + text


if __name__ == "__main__":
    main()
