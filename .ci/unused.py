#!/usr/bin/env python3
"""What is declared for other crates and used by none of them: .ci/unused.py

The compiler sees what nobody uses inside a crate; of what is `pub` it cannot know. A name that stands nowhere in src/ but
where it is declared, tests apart, is one that nobody needs.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DECLARED = re.compile(r"^\s*pub (?:const fn|fn|struct|enum|const|static|type|trait) (\w+)", re.M)
# What only tests have: the rest of a file, or the item below.
TESTS = re.compile(r"#\[cfg\(test\)\]\n(?:#\[[^\]]*\]\n)*(?:pub )?mod \w+ \{.*", re.S)
TESTING = re.compile(r'#\[cfg\(feature = "testing"\)\]\n(?:\s*#\[.*\]\n)*\s*(?:pub )?(?:mod|fn|struct|use|const|enum) \w+')


def main() -> None:
    texts = {}
    for path in sorted((ROOT / "src").rglob("*.rs")):
        name = str(path.relative_to(ROOT))
        if name.endswith("tests.rs") or "/testing" in name:
            continue
        text = TESTS.sub("", path.read_text())
        texts[name] = "\n".join(line for line in text.split("\n") if not line.lstrip().startswith("//"))
    words = Counter(word for text in texts.values() for word in re.findall(r"\w+", text))
    for_tests = {found.split()[-1] for text in texts.values() for found in TESTING.findall(text)}
    unused = [f"{name}: {declared}" for name, text in texts.items() for declared in DECLARED.findall(text)
              if words[declared] == 1 and not {declared, Path(name).stem} & for_tests]
    print("".join(f"unused: {line}\n" for line in unused), end="", file=sys.stderr)
    if not unused:
        print(f"{sum(len(DECLARED.findall(text)) for text in texts.values())} names, all of them used")
    sys.exit(1 if unused else 0)


if __name__ == "__main__":
    main()
