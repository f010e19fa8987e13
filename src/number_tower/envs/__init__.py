"""The games as environments for learning agents, one module for each library.

None is loaded before it is used.

Here is what they share: ids, the number of an action, who has which seat, the masks of many games
at once, and how a game is rendered.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping
from operator import index
from typing import TYPE_CHECKING, Literal, NamedTuple

from number_tower.engine.catalogue import list_names
from number_tower.engine.rules import EMPTY, Rules
from number_tower.engine.table import Table
from number_tower.support.text import format_value
from number_tower.words.voice import narrate

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["GameSource", "SeatOrder", "list_ids", "register"]

GameSource = str | os.PathLike[str] | Rules | Mapping[str, object]
"""A game of the catalogue by its name, a rule file by its path, or rules, which may be written as
JSON takes them."""

SeatOrder = int | Literal["alternating", "random"]
"""A seat, 0 or 1; or how it changes from game to game."""

_SEAT_ORDERS = (0, 1, "alternating", "random")
ALTERNATING, AT_RANDOM = 2, 3
"""The numbers of the orders that are no seats; Numba's cache of `kernel` does not notice if they
change."""

RENDER_MODES = ("human", "ansi", "rgb_array")


def list_ids(prefix: str = "NumberTower/") -> dict[str, dict[str, str]]:
    """Return the ids of the environments, with their settings: for any game, and for each.

    Examples:
        >>> list(list_ids())[:2]
        ['NumberTower-v0', 'NumberTower/climb-v0']
    """
    return {"NumberTower-v0": {}, **{f"{prefix}{name}-v0": {"game": name} for name in list_names()}}


def register() -> None:
    """Register the games with Gymnasium; to call it again does no harm.

    Examples:
        >>> import gymnasium
        >>> register()
        >>> gymnasium.make("NumberTower-v0", game=nt.Rules(target=15)).action_space
        Discrete(9)
    """
    import gymnasium  # noqa: PLC0415 - optional, and only this function needs it

    for name, settings in list_ids().items():
        if name not in gymnasium.registry:
            gymnasium.register(
                name,
                "number_tower.envs.gymnasium:NumberTowerEnv",
                vector_entry_point="number_tower.envs.vector:NumberTowerVectorEnv",
                kwargs=settings,
            )


def parse_action(action: object) -> int:
    """Return the number of an action, which may be of any integer type."""
    try:
        return index(action)  # type: ignore[arg-type]  # anything else is refused here
    except TypeError:
        raise TypeError(
            f"expected an action, which is a whole number; got {format_value(action)}"
        ) from None


def encode_seat_order(key: str, order: SeatOrder) -> int:
    """Return the number of an order: a seat, `ALTERNATING` or `AT_RANDOM`."""
    if type(order) not in {int, str} or order not in _SEAT_ORDERS:
        expected = 'expected 0, 1, "alternating" or "random"'
        raise ValueError(f"{key}: {expected}; got {format_value(order)}")
    return _SEAT_ORDERS.index(order)


class SeatRotation:
    """Who has a seat in game after game.

    A seed restarts it, so that the same seed gives the same games.
    """

    def __init__(self, key: str, order: SeatOrder) -> None:
        self._order = encode_seat_order(key, order)
        self._next = 0

    def next_seat(self, rng: np.random.Generator, seed: int | None) -> int:
        """Return who has the seat now.

        Alternating, it is 0 first and then the other. After a seed it is 0 if that is even and 1 if
        it is odd: so seats alternate as well where every game has its own seed.
        """
        if self._order == AT_RANDOM:
            return int(rng.integers(2))
        if self._order != ALTERNATING:
            return self._order
        seat = self._next if seed is None else seed % 2
        self._next = 1 - seat
        return seat


MAX_IN_TABLE = 1024
"""The largest number on a block for which there is a table of rooms."""


class MaskTables(NamedTuple):
    """The masks of some rules as lists. A top is the place of its block counted from 1.

    0 is an empty tower.
    """

    fits: list[int]
    """The blocks that may lie on each top."""
    rooms: list[int]
    """The blocks that fit into each gap below the largest number, above which all do; no list if it
    would be long."""


def make_mask_tables(rules: Rules) -> MaskTables:
    """Return the masks of some rules, for the loops of `games` and the arrays of `jax`."""
    largest = rules.blocks[-1]
    gaps = range(largest if largest <= MAX_IN_TABLE else 0)
    fits = [rules.fits(top) for top in (EMPTY, *rules.blocks)]
    return MaskTables(fits, [rules.up_to(gap) for gap in gaps])


class Renderer:
    """Renders a game: as text in the game's own words, or as a picture."""

    def __init__(self, mode: str | None) -> None:
        if mode is not None and mode not in RENDER_MODES:
            expected = f"None or one of {', '.join(RENDER_MODES)}"
            raise ValueError(f"render_mode: expected {expected}; got {format_value(mode)}")
        self._mode = mode

    def render(self, table: Table, before: Table | None) -> str | NDArray[np.uint8] | None:
        """Return the events since `before` as text, or the table as a picture.

        People have been shown them already.
        """
        if self._mode is None:
            modes = ", ".join(RENDER_MODES)
            warnings.warn(f"nothing is shown without a render_mode: {modes}", stacklevel=3)
        if self._mode == "ansi":
            return narrate_since(table, before)
        if self._mode == "rgb_array":
            from number_tower.envs.render import draw_table  # noqa: PLC0415 - only pictures

            return draw_table(table)
        return None

    def print_events(self, table: Table, before: Table | None) -> None:
        """Print the events since `before`, if people look on."""
        if self._mode == "human":
            print(narrate_since(table, before), end="", flush=True)


def narrate_since(table: Table, before: Table | None) -> str:
    """Return the dialogue since a table stood as `before`, up to whose turn it is now.

    If that is None, return all of it.
    """
    since = 0 if before is None else before.version + 1
    return "".join(said.text for said in narrate(table, since, answers=True))
