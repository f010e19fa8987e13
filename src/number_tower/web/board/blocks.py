"""Blocks as a page offers them: to choose from, lying ready, and as a board where only the numbers count."""

from __future__ import annotations

from itertools import count
from typing import NamedTuple

from number_tower.brief import has_height
from number_tower.table import Table
from number_tower.text import summarize_numbers
from number_tower.voice import get_voice, join_messages

MOST_BLOCKS = 60
"""Blocks that are offered as buttons; in a game with more, only legal ones are offered."""


class NumberCell(NamedTuple):
    """A number of a game whose numbers are drawn as a board: who has placed it, when, and whether it is open now."""

    number: int
    seat: int | None = None
    ply: int = 0
    is_open: bool = False
    is_last: bool = False


class BlockOption(NamedTuple):
    """A block to choose; `refusal` says why it cannot be placed, and is empty if it can."""

    block: int
    refusal: str
    used: bool = False


class BlockMenu(NamedTuple):
    """The blocks to choose from, and how many more there are that are not shown."""

    options: tuple[BlockOption, ...]
    more: int = 0


class Tray(NamedTuple):
    """Blocks that lie ready, each with whether it can be placed now; `seat` is None where they are for both players."""

    seat: int | None
    title: str
    blocks: tuple[tuple[int, bool], ...]
    more: int = 0
    """How many more there are that are not shown."""


def draw_cells(table: Table) -> tuple[NumberCell, ...]:
    """Return the numbers of a game as a board, if that says more than a tower; otherwise nothing.

    It does where each number is placed once, on one tower whose height does not matter. Hidden blocks are never drawn
    so, nor more numbers than can be offered at once.
    """
    game = table.game
    rules = game.rules
    if (rules.towers, rules.supply) != ("shared", "shared") or has_height(rules):
        return ()
    if table.secret or len(rules.blocks) > MOST_BLOCKS:
        return ()
    placed = {
        number: (ply, seat)
        for ply, number, seat in zip(count(1), game.moves, game.movers, strict=False)
    }
    legal = frozenset(table.legal or ())
    cells = []
    for number in rules.blocks:
        ply, seat = placed.get(number, (0, None))
        is_last = bool(ply) and ply == len(game.moves)
        cells.append(NumberCell(number, seat, ply, number in legal, is_last))
    return tuple(cells)


def draw_supply(table: Table, names: tuple[str, str]) -> tuple[Tray, ...]:
    """Return the blocks that lie ready: each player's own, or those for both; at most as many as can be offered."""
    rules, legal = table.game.rules, frozenset(table.game.legal)
    blocks = tuple((block, block in legal) for block in rules.blocks[:MOST_BLOCKS])
    more = max(0, len(rules.blocks) - MOST_BLOCKS)
    match rules.supply:
        case "own":
            return tuple(Tray(seat, names[seat], blocks, more) for seat in (0, 1))
        case "shared":
            return (Tray(None, "One pool for both", blocks, more),)
        case "endless":
            return (Tray(None, "As often as you like", blocks, more),)


def build_menu(table: Table, seat: int, waiting: str = "") -> BlockMenu:
    """Return the blocks that a seat chooses from; `waiting` says why none can be placed now, if it is not its turn."""
    rules = table.game.rules
    left = table.game.position.left[seat]
    if table.hidden or len(rules.blocks) > MOST_BLOCKS:
        blocks = (
            rules.blocks if table.hidden else rules.numbers(left) if waiting else table.legal or ()
        )
        options = (BlockOption(block, waiting) for block in blocks[:MOST_BLOCKS])
        return BlockMenu(tuple(options), max(0, len(blocks) - MOST_BLOCKS))
    options = (
        BlockOption(block, waiting or explain_block(table, block), used=not left & rules.bit(block))
        for block in rules.blocks
    )
    return BlockMenu(tuple(options))


def explain_block(table: Table, block: int, reason: str | None = None) -> str:
    """Say in the game's words why a block cannot be placed, if it cannot; `reason` is used if the table has none."""
    reason = table.refusal(block) or reason
    return (
        ""
        if reason is None
        else join_messages(get_voice(table.book).refuse(table, reason, f"{block}", block))
    )


def format_remaining(table: Table, seat: int) -> str | None:
    """List the blocks that a seat has left, in short; None where they are hidden or never run out."""
    left = table.left(seat)
    if left is None or table.game.rules.supply == "endless":
        return None
    return summarize_numbers(left, ", ") if left else "none"
