"""The tray: numbered blocks to place; those that cannot be placed are dimmed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from textual import events
from textual.binding import Binding, BindingType
from textual.containers import ItemGrid
from textual.content import Content
from textual.widgets import Button, Static

from number_tower.engine.blocks import parse_number
from number_tower.engine.table import Table
from number_tower.solve.worth import VALUE_VERBS, Value

MAX_SHOWN = 60
"""The tray shows at most this many blocks; of more, only such as can be placed now."""

_MAX_DIGITS = 10

_VALUE_STYLES: dict[Value, str] = {"win": "ansi_green", "draw": "ansi_yellow", "loss": "ansi_red"}


class BlockButton(Button):
    """A block in the tray."""

    def __init__(self, number: int) -> None:
        super().__init__(f"{number}", compact=True)
        self.styles.line_pad = 0
        self.number = number

    def show_state(self, *, placeable: bool, value: Value | None = None) -> None:
        """Show whether it can be placed, by edges; and what it is worth, if given."""
        self.set_class(not placeable, "unplaceable")
        text = Content(f"[{self.number}]" if placeable else f"{self.number}")
        if value is not None:
            text += Content.styled(f" {VALUE_VERBS[value]}", _VALUE_STYLES[value])
        self.label = text
        self.refresh(layout=True)  # the columns may have become wider


class BlockTray(ItemGrid):
    """The blocks of one player; arrow keys walk over them."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left", "walk(-1, 0)", "left", show=False),
        Binding("right", "walk(1, 0)", "right", show=False),
        Binding("up", "walk(0, -1)", "up", show=False),
        Binding("down", "walk(0, 1)", "down", show=False),
    ]

    async def show_table(
        self, table: Table, seat: int, *, active: bool, values: Mapping[int, Value] | None = None
    ) -> None:
        """Show the blocks of a seat; `active` says whether it is the turn of a person there."""
        values, blocks = values or {}, table.game.rules.blocks
        numbers = [*blocks]
        if len(blocks) > MAX_SHOWN:
            numbers = [] if table.hidden else [*table.game.legal[:MAX_SHOWN]]
        if [button.number for button in self.query(BlockButton)] != numbers:
            await self.remove_children()
            await self.mount_all(map(BlockButton, numbers))
        self.min_column_width = len(f"{blocks[-1]}") + 3 + (6 if values else 0)
        turn = active and seat == table.game.to_move
        for button in self.query(BlockButton):
            # With hidden blocks, every one looks as if it could be placed.
            placeable = table.secret or (turn and table.refusal(button.number) is None)
            button.show_state(placeable=placeable, value=values.get(button.number))

    def action_walk(self, columns: int, rows: int) -> None:
        """Move the focus to another block."""
        buttons = list(self.query(BlockButton))
        in_row = len({button.region.x for button in buttons})
        focused = next((index for index, button in enumerate(buttons) if button.has_focus), 0)
        index = focused + columns + rows * in_row
        if 0 <= index < len(buttons):
            buttons[index].focus()


class NumberEntry(Static):
    """The number that is being typed, where blocks have more than one digit."""

    typed = ""

    def read_key(self, event: events.Key, largest: int) -> int | None:
        """Read a key, and return the number that it completes; stop the keys of a number.

        A digit is a number at once where no block has two.
        """
        digit, number = event.character or "", None
        if digit.isascii() and digit.isdigit():
            event.stop()
            number = int(digit) if largest < 10 else None
            self.typed = "" if largest < 10 else f"{self.typed}{digit}"[:_MAX_DIGITS]
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
