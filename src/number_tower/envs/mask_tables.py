"""The three mask tables of some rules as plain lists, for everything that plays many games at once.

The compiled loops (`games`, `kernel`) and the arrays of an accelerator (`array_rules`) copy them into numbers of their
own size. So the rules are asked in one place, and in the same order.
"""

from __future__ import annotations

from typing import NamedTuple

from number_tower.rules import EMPTY, Rules

LARGEST_IN_TABLE = 1024
"""The largest number on a block for which there is a table of rooms; larger ones are compared one by one."""


class MaskTables(NamedTuple):
    """The masks of some rules. A top is the place of its block counted from 1; 0 is an empty tower."""

    fits: list[int]
    """The blocks that may lie on each top."""
    rooms: list[int]
    """The blocks that fit into each gap below the largest number; in a larger gap, all do. Empty if that is too large."""


def make_mask_tables(rules: Rules) -> MaskTables:
    """Return the masks of some rules."""
    largest = rules.blocks[-1]
    gaps = range(largest if largest <= LARGEST_IN_TABLE else 0)
    return MaskTables([rules.fits(top) for top in (EMPTY, *rules.blocks)], [rules.up_to(gap) for gap in gaps])
