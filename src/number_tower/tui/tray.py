"""The tray: numbered blocks to place; those that cannot be placed are dimmed, unless blocks are hidden."""

from __future__ import annotations

from collections.abc import Mapping

from textual import events
from textual.containers import ItemGrid
from textual.content import Content
from textual.widgets import Static

from number_tower.blocks import parse_number
from number_tower.solve.worth import VALUE_VERBS, Value
from number_tower.table import Table
from number_tower.tui.choice import Choice

MOST_BLOCKS = 60
"""Blocks in the tray; of more than these, only such as can be placed now."""

_LONGEST_NUMBER = 19

_VALUE_STYLES: dict[Value, str] = {"win": "ansi_green", "draw": "ansi_yellow", "loss": "ansi_red"}


class BlockChoice(Choice):
    """A block in the tray."""

    DEFAULT_CSS = "BlockChoice { padding: 0; text-align: center; } BlockChoice.unplaceable { text-style: dim; }"

    def __init__(self, number: int) -> None:
        super().__init__(f"{number}", number)
        self.number = number

    def show_state(self, *, placeable: bool, value: Value | None = None) -> None:
        """Show whether it can be placed: with edges if so; and what it is worth, if that is to be seen."""
        self.set_class(not placeable, "unplaceable")
        text = Content(f"[{self.number}]" if placeable else f"{self.number}")
        if value is not None:
            text += Content.styled(f" {VALUE_VERBS[value]}", _VALUE_STYLES[value])
        self.set_text(text)


class Tray(ItemGrid):
    """The blocks of one player."""

    DEFAULT_CSS = "Tray { height: auto; max-height: 12; overflow-y: auto; }"

    async def show_table(
        self, table: Table, seat: int, *, active: bool, values: Mapping[int, Value] | None = None
    ) -> None:
        """Show the blocks of a seat; `active` says whether it is the turn of a person there."""
        values = values or {}
        numbers = list_blocks(table)
        if [each.number for each in self.query(BlockChoice)] != numbers:
            await self.remove_children()
            await self.mount_all(map(BlockChoice, numbers))
        self.min_column_width = len(f"{table.game.rules.blocks[-1]}") + 3 + (6 if values else 0)
        for block in self.query(BlockChoice):
            value = values.get(block.number)
            block.show_state(
                placeable=is_placeable(table, seat, block.number, active=active), value=value
            )


class NumberEntry(Static):
    """The number that is being typed, where blocks have more than one digit."""

    typed = ""

    def read_key(self, event: events.Key, largest: int) -> int | None:
        """Read a key, and return the number that it completes; a key that belongs to a number is stopped.

        A digit is a number at once where no block has two.
        """
        digit, number = event.character or "", None
        if digit.isascii() and digit.isdigit():
            event.stop()
            number = int(digit) if largest < 10 else None
            self.typed = "" if largest < 10 else f"{self.typed}{digit}"[:_LONGEST_NUMBER]
        elif self.typed and event.key in {"enter", "backspace", "escape"}:
            event.stop()
            number = parse_number(self.typed) if event.key == "enter" else None
            self.typed = self.typed[:-1] if event.key == "backspace" else ""
        self._show()
        return number

    def clear(self) -> None:
        """Forget what was typed."""
        self.typed = ""
        self._show()

    def _show(self) -> None:
        self.display = bool(self.typed)
        self.update(Content(f"Number: {self.typed}_  (Enter places it, Backspace corrects it)"))


def list_blocks(table: Table) -> list[int]:
    """Return the blocks to show: all, or of very many some that can be placed."""
    blocks = table.game.rules.blocks
    if len(blocks) <= MOST_BLOCKS:
        return [*blocks]
    return [] if table.hidden else [*table.game.legal[:MOST_BLOCKS]]


def is_placeable(table: Table, seat: int, block: int, *, active: bool) -> bool:
    """Say whether a block is shown as one that can be placed: with hidden blocks, every one is."""
    if table.secret:
        return True
    return active and seat == table.game.to_move and table.refusal(block) is None
