"""Collects what is wrong, in words: what was expected and what was found."""
import json

LONGEST = 800


class Check:
    def __init__(self):
        self.failures = []

    def equal(self, what, found, expected):
        self._note(found == expected, what, expected, found)

    def holds(self, what, found, expected):
        """Compares the fields that are named in `expected`, at any depth; others do not matter."""
        self._note(_holds(found, expected), what, expected, found)

    def that(self, what, true, found=""):
        self._note(true, what, "this to be true", found)

    def contains(self, what, text, part, times=None):
        count = text.count(part)
        wanted = "at least once" if times is None else f"exactly {times} times"
        right = count > 0 if times is None else count == times
        end = f"{count} times in {len(text)} characters, which end: {text[-LONGEST:]}"
        self._note(right, what, f"{wanted}: {part}", end)

    def lacks(self, what, text, part):
        self.contains(what, text, part, times=0)

    def _note(self, right, what, expected, found):
        if not right:
            self.failures.append(f"{what}\n  expected: {_spell(expected)}\n  found:    {_spell(found)}")


def _holds(found, expected):
    if not isinstance(expected, dict):
        return found == expected
    return isinstance(found, dict) and all(
        key in found and _holds(found[key], value) for key, value in expected.items())


def _spell(value):
    text = value if isinstance(value, str) else json.dumps(value, default=str, ensure_ascii=False)
    return text if len(text) <= 2 * LONGEST else f"{text[:2 * LONGEST]} … ({len(text)} characters)"
