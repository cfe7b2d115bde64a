#!/usr/bin/env python3
"""Draws what the benchmarks wrote with --json, as pictures for docs/performance.md.

    python3 benches/plot.py --speed SPEED.json --public PUBLIC.json --out docs

`performance-others.svg` has a start of each program as a multiple of an empty one, on a logarithmic axis;
`performance-limits.svg` each row of the table against its limit. Both are light or dark as their reader is.
"""

from __future__ import annotations

import argparse
import json
import math
from html import escape
from pathlib import Path

WIDTH, LABEL, RIGHT, LINE, TOP = 920, 465, 80, 24, 56
STYLE = """
text { font: 13px system-ui, sans-serif; fill: #1f2328 } .head { font-weight: 600; font-size: 15px }
.soft { fill: #59636e; font-size: 11px } .grid { stroke: #d1d9e0 } .ours { fill: #0969da } .theirs { fill: #9a6700 }
.over { fill: #cf222e } .limit { stroke: #1f2328; stroke-width: 2 }
@media (prefers-color-scheme: dark) {
  text { fill: #f0f6fc } .soft { fill: #9198a1 } .grid { stroke: #3d444d } .ours { fill: #4493f8 }
  .theirs { fill: #d29922 } .over { fill: #f85149 } .limit { stroke: #f0f6fc } .back { fill: #0d1117 }
}
.back { fill: #ffffff } @media (prefers-color-scheme: dark) { .back { fill: #0d1117 } }
"""
# Whose bar has which colour: rows of others are named so.
OTHERS = ("script", "hooks-mastery", "ralph-wiggum")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--speed", type=Path, required=True, help="what speed.py wrote")
    parser.add_argument("--public", type=Path, required=True, help="what public.py wrote")
    parser.add_argument("--out", type=Path, required=True, help="the folder for the pictures")
    options = parser.parse_args()
    speed, public = (json.loads(path.read_text())["rows"] for path in (options.speed, options.public))
    (options.out / "performance-others.svg").write_text(others(speed, public))
    (options.out / "performance-limits.svg").write_text(limits(speed))


def others(speed: list[dict], public: list[dict]) -> str:
    """Each run's rows are multiples of the floor of that run."""
    rows = [row for row in public if "us" in row]
    rows += [row for row in speed if "us" in row and row["path"] in ("Python script", "Node script") or "script with jq" in row["path"]]
    rows.sort(key=lambda row: row["floors"])
    most = max(row["floors"] for row in rows)
    ticks = [10**power for power in range(math.ceil(math.log10(most)) + 1)]
    # From half a floor, so that a bar of one floor is seen.
    low, high = math.log10(0.5), math.log10(ticks[-1])

    def x(value: float) -> float:
        return LABEL + (math.log10(value) - low) / (high - low) * (WIDTH - LABEL - RIGHT)

    bars = []
    for n, row in enumerate(rows):
        kind = "theirs" if any(word in row["path"] for word in OTHERS) else "ours"
        bars += bar(n, row["path"], x(row["floors"]), kind, f"{row['floors']:.1f} ×")
    return picture("One start, in multiples of an empty program (logarithmic)", len(rows), grid(ticks, x, len(rows)) + bars)


def limits(speed: list[dict]) -> str:
    """How much of its limit each row takes: for a row with several, of the one it comes nearest to."""
    rows = []
    for row in speed:
        held = [value / most for value, most in row.get("held", [])]
        # What repeats itself has a dozen rows of its own in the table.
        if held and not row["path"].startswith("recorded"):
            rows.append((row["path"], max(held)))
    high = max(1.5, *(share for _, share in rows))

    def x(value: float) -> float:
        return LABEL + value / high * (WIDTH - LABEL - RIGHT)

    bars = []
    for n, (path, share) in enumerate(rows):
        bars += bar(n, path, x(share), "over" if share > 1 else "ours", f"{share:.0%}")
    line = f'<line class="limit" x1="{x(1):.1f}" x2="{x(1):.1f}" y1="{TOP - 8}" y2="{TOP + LINE * len(rows)}"/>'
    return picture("Each row of the table, as a share of its limit", len(rows), [*bars, line])


def grid(ticks: list[int], x, rows: int) -> list[str]:
    lines = []
    for tick in ticks:
        at = f"{x(tick):.1f}"
        lines += [f'<line class="grid" x1="{at}" x2="{at}" y1="{TOP - 6}" y2="{TOP + LINE * rows}"/>',
                  f'<text class="soft" x="{at}" y="{TOP - 12}" text-anchor="middle">{tick:,} ×</text>']
    return lines


def bar(n: int, label: str, end: float, kind: str, figure: str) -> list[str]:
    y = TOP + n * LINE
    return [f'<text x="{LABEL - 8}" y="{y + 16}" text-anchor="end">{escape(label)}</text>',
            f'<rect class="{kind}" x="{LABEL}" y="{y + 4}" width="{max(end - LABEL, 1):.1f}" height="{LINE - 8}" rx="2"/>',
            f'<text x="{WIDTH - 12}" y="{y + 16}" text-anchor="end">{figure}</text>']


def picture(title: str, rows: int, parts: list[str]) -> str:
    height = TOP + rows * LINE + 16
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" role="img">',
        f"<title>{escape(title)}</title>", f"<style>{STYLE.strip()}</style>",
        f'<rect class="back" width="{WIDTH}" height="{height}"/>',
        f'<text class="head" x="12" y="24">{escape(title)}</text>', *parts, "</svg>", ""])


if __name__ == "__main__":
    main()
