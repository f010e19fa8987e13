"""Blocks as a page offers them: to choose from, and as a board where only the numbers count."""

from __future__ import annotations

from typing import NamedTuple

from number_tower.engine.table import Table
from number_tower.support.text import summarize_numbers
from number_tower.words.brief import has_height
from number_tower.words.voice import get_voice, join_messages

MAX_BLOCKS = 60
"""Blocks that are offered as buttons; in a game with more, only legal ones are offered."""


class NumberCell(NamedTuple):
    """A number on a board of numbers: who has placed it, when, and whether it is open now."""

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


def draw_cells(table: Table) -> tuple[NumberCell, ...]:
    """Return the numbers of a game as a board, if that says more than a tower; otherwise nothing.

    It does where each number is placed once, on one tower whose height does not matter. Hidden
    blocks are never drawn so, nor more numbers than can be offered at once.
    """
    game = table.game
    rules = game.rules
    if (rules.towers, rules.supply) != ("shared", "shared") or has_height(rules):
        return ()
    if table.secret or len(rules.blocks) > MAX_BLOCKS:
        return ()
    legal = frozenset(table.legal or ())
    cells = {number: NumberCell(number, is_open=number in legal) for number in rules.blocks}
    moves = zip(game.moves, game.movers, strict=False)
    for ply, (number, seat) in enumerate(moves, 1):
        cells[number] = NumberCell(number, seat, ply, is_last=ply == len(game.moves))
    return tuple(cells.values())


def build_menu(table: Table, seat: int, waiting: str = "") -> BlockMenu:
    """Return the blocks to choose from; `waiting` says why it is not this seat's turn."""
    rules = table.game.rules
    left = table.game.position.left[seat]
    if table.hidden:
        blocks = rules.blocks
    elif len(rules.blocks) > MAX_BLOCKS:
        blocks = rules.numbers(left) if waiting else table.legal or ()
    else:
        options = []
        for block in rules.blocks:
            refusal = waiting or explain_block(table, block)
            options.append(BlockOption(block, refusal, used=not left & rules.bit(block)))
        return BlockMenu(tuple(options))
    some = tuple(BlockOption(block, waiting) for block in blocks[:MAX_BLOCKS])
    return BlockMenu(some, max(0, len(blocks) - MAX_BLOCKS))


def explain_block(table: Table, block: int, reason: str | None = None) -> str:
    """Say in the game's words why a block is refused; `reason` counts if the table has none."""
    reason = table.refusal(block) or reason
    if reason is None:
        return ""
    return join_messages(get_voice(table.book).refuse(table, reason, f"{block}", block))


def format_remaining(table: Table, seat: int) -> str | None:
    """List the blocks that a seat has left; None where they are hidden or never run out."""
    left = table.left(seat)
    if left is None or table.game.rules.supply == "endless":
        return None
    return summarize_numbers(left, ", ") if left else "none"
