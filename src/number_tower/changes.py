"""What can be done at a table, one change at a time: place a block, take moves back, or declare a result."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal, NamedTuple, cast, get_args

from number_tower.showing import shown

if TYPE_CHECKING:
    from collections.abc import Iterable

Declaration = Literal["resigned", "forfeit", "abandoned"]
"""What ends a game although the position does not: a player gives up, is ruled out, or both leave."""

_WRITTEN = re.compile(r"(?:(?P<kind>[a-z]+) )?(?P<number>[0-9]{1,19})")


class Change(NamedTuple):
    """A change: a block placed, so many moves taken back, or what was declared and by whom (0 or 1)."""

    kind: Literal["place", "undo"] | Declaration
    number: int

    def repeats(self, other: Change) -> bool:
        """Say whether this is the same change once more; how far `undo` goes back follows from what it answers."""
        return self == other or self.kind == other.kind == "undo"

    def written(self) -> str:
        """Write a change as a word or two: `9`, `undo 2`, `resigned 1`; seats are 1 and 2 there."""
        if self.kind == "place":
            return str(self.number)
        return f"{self.kind} {self.number if self.kind == 'undo' else self.number + 1}"

    @classmethod
    def read(cls, text: str) -> Change:
        """Read back what `written` wrote."""
        parts = _WRITTEN.fullmatch(text)
        if parts is not None:
            kind, number = parts["kind"] or "place", int(parts["number"])
            if kind == "place" or (kind == "undo" and number > 0):
                return cls(cast("Literal['place', 'undo']", kind), number)
            if kind in get_args(Declaration) and number in {1, 2}:
                return cls(cast("Declaration", kind), number - 1)
        raise ValueError(f"expected a change such as 9, undo 1 or resigned 2; got {shown(text)}")


def moves_after(log: Iterable[Change]) -> tuple[int, ...]:
    """Return the moves that a log of changes leaves standing."""
    moves: list[int] = []
    declared = False
    for change in log:
        if declared:
            raise ValueError("something was done after a result was declared")
        if change.kind == "place":
            moves.append(change.number)
        elif change.kind == "undo":
            if change.number > len(moves):
                raise ValueError("more moves are taken back than were made")
            del moves[len(moves) - change.number :]
        else:
            declared = True
    return tuple(moves)
