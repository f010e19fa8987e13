"""How much the tests try: a sample, or everything where NUMBER_TOWER_THOROUGH=1 is set.

`make soak` sets it.
"""

from __future__ import annotations

import os

THOROUGH = os.environ.get("NUMBER_TOWER_THOROUGH") == "1"


def size(sample: int, full: int) -> int:
    """Return how many of something to try."""
    return full if THOROUGH else sample


def examples(full: int) -> int:
    """Return how many random examples to try: a tenth, since every run tries others."""
    return size(max(10, full // 10), full)
