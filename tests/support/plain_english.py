"""Phrases that no text for people may have: readers stumble over them."""

from __future__ import annotations

import re

STIFF = re.compile(
    r"\b(whoever|somebody|anybody|so many|just now|for ever|will not do|be told|"
    r"look(ed)? through|gone through|taken? in|go(es)? on with|no end of|came of|new form|"
    r"one[’']s own|the other[’']s|How it goes|What happened|not right yet|"
    r"(is|are|be|was|were) kept|widening|lapses?|is void|others were faster|puzzle of a day)\b",
    re.IGNORECASE,
)


def find_stiff(text: str) -> list[str]:
    """Return the stiff phrases of a text."""
    return [match[0] for match in STIFF.finditer(" ".join(text.split()))]
