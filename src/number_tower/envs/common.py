"""What an environment of one game stands on: which game it is, who begins, and how it is shown."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from operator import index
from typing import TYPE_CHECKING, Literal

from number_tower.catalogue import find_rulebook, load
from number_tower.game import Game
from number_tower.rules import UNNAMED, Rules
from number_tower.table import Table
from number_tower.text import format_value
from number_tower.voice import Voice

if TYPE_CHECKING:
    import os

    import numpy as np
    from numpy.typing import NDArray

    from number_tower.catalogue import Rulebook

SeatOrder = int | Literal["alternating", "random"]
"""A seat, 0 or 1; or how it changes from game to game."""

RENDER_MODES = ("human", "ansi", "rgb_array")


def choose_game(
    game: str | os.PathLike[str] | Rules | Mapping[str, object], options: Mapping[str, object]
) -> tuple[Rulebook, Rules]:
    """Return the rulebook and the rules of the game that is asked for; rules may be written out, as JSON takes them."""
    if isinstance(game, Mapping):
        game = Rules.read(game)
    if isinstance(game, Rules):
        rules = game.changed(options)
        return find_rulebook(UNNAMED, rules), rules
    book = load(game)
    return book, book.apply_options(options)


def parse_action(action: object) -> int:
    """Return the number of an action, of whatever kind of whole number it is."""
    try:
        return index(action)  # type: ignore[arg-type]  # what is no whole number is refused here
    except TypeError:
        raise TypeError(f"expected an action, which is a whole number; got {format_value(action)}") from None


def check_seat_order(key: str, turns: SeatOrder) -> SeatOrder:
    """Return how a seat is taken, if there is such a way."""
    if type(turns) not in {int, str} or turns not in {0, 1, "alternating", "random"}:
        raise ValueError(f'{key}: expected 0, 1, "alternating" or "random"; got {format_value(turns)}')
    return turns


class SeatRotation:
    """Who takes a seat in game after game. A seed starts it anew, so that the same seed gives the same games."""

    def __init__(self, key: str, turns: SeatOrder) -> None:
        self._order = check_seat_order(key, turns)
        self._next = 0

    def next_seat(self, rng: np.random.Generator, seed: int | None) -> int:
        """Return who has the seat now.

        By turns it is 0 first and then the other. After a seed it is 0 if that is even and 1 if it is odd: so turns
        are taken as well where every game has a seed of its own.
        """
        if isinstance(self._order, int):
            return self._order
        if self._order == "random":
            return int(rng.integers(2))
        now = self._next if seed is None else seed % 2
        self._next = 1 - now
        return now


class Renderer:
    """Shows a game: in its own words, as a terminal would tell it, or as a picture."""

    def __init__(self, book: Rulebook, render_mode: str | None) -> None:
        if render_mode is not None and render_mode not in RENDER_MODES:
            expected = f"None or one of {', '.join(RENDER_MODES)}"
            raise ValueError(f"render_mode: expected {expected}; got {format_value(render_mode)}")
        self.book = book
        self._mode = render_mode
        self._voice: Voice | None = None

    def render(self, table: Table, before: Table | None) -> str | NDArray[np.uint8] | None:
        """Return what happened since the table stood as before, as text; or the table as a picture.

        What people see was printed when it happened, and is not printed again.
        """
        if self._mode is None:
            warnings.warn(f"nothing is shown without a render_mode: {', '.join(RENDER_MODES)}", stacklevel=3)
        if self._mode == "ansi":
            return self.narrate(table, before)
        if self._mode == "rgb_array":
            from number_tower.envs.render import draw_table  # noqa: PLC0415 - only who wants pictures needs what draws them

            return draw_table(table, self.voice)
        return None

    def print_events(self, table: Table, before: Table | None) -> None:
        """Print what happened since the table stood as before, if people look on."""
        if self._mode == "human":
            print(self.narrate(table, before), end="", flush=True)

    def narrate(self, table: Table, before: Table | None) -> str:
        """Tell what happened since the table stood as before, up to whose turn it is now; all of it if that is None."""
        now = before or Table(Game(table.game.rules, table.game.first), book=table.book)
        pieces = [said.text for said in self.voice.tell(now)] if before is None else []
        for block in table.game.moves[len(now.game.moves) :]:
            pieces.append(f"{self.voice.format_prompt(now)}{block}\n")
            now = now.play(block)
            pieces += [said.text for said in self.voice.tell(now)]
        if table.declared is not None:
            pieces += [said.text for said in self.voice.tell(table)]
        return "".join(pieces)

    @property
    def voice(self) -> Voice:
        """The game's own words, read when they are first needed."""
        if self._voice is None:
            self._voice = Voice(self.book)
        return self._voice
