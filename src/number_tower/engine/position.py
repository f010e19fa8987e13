"""A position: the blocks left, the towers' heights and tops, and whose turn it is.

Legality is decided here.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from number_tower.engine.refusals import Refusal
from number_tower.engine.rules import EMPTY, Rules
from number_tower.support.errors import NumberTowerError
from number_tower.support.text import format_value

Ending = Literal["exact", "stuck", "higher", "level", "resigned", "forfeit", "abandoned"]
"""Why a game is over: the first four follow from the position, the others are declared."""

Pair = tuple[int, int]
"""One value for each player; both are the same if the players share it."""


class Outcome(NamedTuple):
    """How a game ended: the winner (None: a draw), and the reason.

    Examples:
        >>> winner, reason = nt.Game(nt.Rules(target=9)).play(9).outcome
        >>> winner, reason
        (0, 'exact')
    """

    winner: int | None
    reason: Ending


class MoveError(NumberTowerError, ValueError):
    """A block cannot be placed: the block, the reason, and the ply at which it was tried, if known.

    Examples:
        >>> try:
        ...     nt.Game().play(9).play(9)
        ... except nt.MoveError as error:
        ...     print(error.block, error.reason)
        9 used
    """

    reason: Refusal

    def __init__(self, block: int, reason: Refusal, ply: int | None = None) -> None:
        super().__init__(block, reason, ply)
        self.block = block
        self.reason = reason
        self.ply = ply

    def __str__(self) -> str:
        where = "" if self.ply is None else f"move {self.ply}: "
        reason = self.reason.replace("_", " ")
        return f"{where}{format_value(self.block)} cannot be placed ({reason})"


class NotABlockError(MoveError):
    """The number is not a block of this game.

    Examples:
        >>> nt.Game().play(10)
        Traceback (most recent call last):
            ...
        number_tower.engine.position.NotABlockError: 10 cannot be placed (not a block)
    """


class IllegalMoveError(MoveError):
    """The block exists, but cannot be placed now.

    Examples:
        >>> nt.Game(nt.Rules(target=12), moves=(9, 4))
        Traceback (most recent call last):
            ...
        number_tower.engine.position.IllegalMoveError: move 2: 4 cannot be placed (target)
    """


@dataclass(frozen=True, slots=True)
class Position:
    """All that matters for the rest of a game.

    The player to move can move, or the game is over: a forced skip is resolved when a block is
    placed. Once the game is over, `to_move` is the player whose turn it would be.

    Examples:
        >>> rules = nt.Rules(blocks=range(1, 9), fit="ascending", step=2)
        >>> position = nt.Position.start(rules).place(5)
        >>> position.legal, position.tops, position.to_move
        ((6, 7), (5, 5), 1)
        >>> position.refusal(8), position.place(7).place(8).outcome
        ('fit', Outcome(winner=0, reason='stuck'))
        >>> {reason: rules.numbers(mask) for reason, mask in position.refusals()}
        {'used': (5,), 'fit': (1, 2, 3, 4, 8), 'target': ()}
        >>> rules.numbers(position.legal_mask), rules.numbers(position.find_reachable(0))
        ((6, 7), (6, 7, 8))
    """

    rules: Rules = field(hash=False, repr=False)
    left: Pair
    heights: Pair
    tops: Pair
    to_move: int
    _legal: int | None = field(default=None, init=False, repr=False, compare=False)
    """Cache of `legal_mask`, which most callers need several times."""

    @classmethod
    def start(cls, rules: Rules, first: int = 0) -> "Position":
        """Return the position before the first move."""
        return cls(rules, (rules.every, rules.every), (0, 0), (EMPTY, EMPTY), first)

    @property
    def legal_mask(self) -> int:
        """The blocks that may be placed now, as a mask; none once the target is reached."""
        legal = self._legal
        if legal is None:
            legal = 0 if self._reached else self._find_placeable(self.to_move)
            object.__setattr__(self, "_legal", legal)
        return legal

    @property
    def legal(self) -> tuple[int, ...]:
        """The blocks that may be placed now, rising."""
        return self.rules.numbers(self.legal_mask)

    @property
    def outcome(self) -> Outcome | None:
        """The ending, if this position is one."""
        # Most games go on, and most positions know their legal blocks already.
        if self._legal or self.legal_mask:
            return None
        other = 1 - self.to_move
        if self._reached:
            return Outcome(other, "exact")
        if self.rules.stuck == "loses":
            return Outcome(other, "stuck")
        # Both are stuck, and the higher tower wins.
        mine, theirs = self.heights
        if mine == theirs:
            return Outcome(None, "level")
        return Outcome(0 if mine > theirs else 1, "higher")

    def refusal(self, block: int) -> Refusal | None:
        """Return why a block cannot be placed now; None if it can."""
        bit = self.rules.bit(block)
        return None if self.legal_mask & bit else self._find_refusal(bit)

    def refusals(self) -> Iterator[tuple[Refusal, int]]:
        """Yield masks of the blocks that cannot be placed now, each under its first reason."""
        rules, mover = self.rules, self.to_move
        left, top = self.left[mover], self.tops[mover]
        fits = left & rules.fits(top)
        yield "used", rules.every & ~left
        yield "opening" if top == EMPTY else "fit", left & ~fits
        yield "target", fits & ~rules.room(self.heights[mover])

    def place(self, block: int) -> "Position":
        """Return the position after the player to move has placed a block."""
        rules, mover = self.rules, self.to_move
        bit = rules.bit(block)
        if not self.legal_mask & bit:
            raise (IllegalMoveError if bit else NotABlockError)(block, self._find_refusal(bit))
        left = self.left
        if rules.supply == "shared":
            # A shared pool is stored for both players.
            pool = left[mover] & ~bit
            left = (pool, pool)
        elif rules.supply == "own":
            left = _replace_at(left, mover, left[mover] & ~bit)
        height = self.heights[mover] + block
        if rules.towers == "shared":
            heights, tops = (height, height), (block, block)
        else:
            heights = _replace_at(self.heights, mover, height)
            tops = _replace_at(self.tops, mover, block)
        # The turn passes, unless the other player has to skip and the mover can go on.
        after = Position(rules, left, heights, tops, 1 - mover)
        if (
            rules.stuck == "skips"
            and not after.legal_mask
            and not after._reached
            and after._find_placeable(mover)
        ):
            return Position(rules, left, heights, tops, mover)
        return after

    def find_reachable(self, player: int) -> int:
        """Return the blocks that can still be placed on a player's tower, now or after others."""
        rules = self.rules
        left = self.left[player] if rules.towers == "own" else self.left[0] | self.left[1]
        within = left & rules.room(self.heights[player])
        reached = new = within & rules.fits(self.tops[player])
        while new and reached != within:
            lowest = new & -new
            more = within & rules.fits(rules.blocks[lowest.bit_length() - 1]) & ~reached
            reached |= more
            # Follow each block once: what fits on it is reached as well.
            new = new & ~lowest | more
        return reached

    def _find_refusal(self, bit: int) -> Refusal:
        """Return why a block cannot be placed, given that it cannot."""
        if not bit:
            return "not_a_block"
        if self.outcome is not None:
            return "over"
        return next(reason for reason, mask in self.refusals() if mask & bit)

    @property
    def _reached(self) -> bool:
        """Whether the player who has just placed brought a tower to the target."""
        return self.heights[1 - self.to_move] == self.rules.target

    def _find_placeable(self, player: int) -> int:
        rules = self.rules
        return self.left[player] & rules.fits(self.tops[player]) & rules.room(self.heights[player])


def _replace_at(pair: Pair, slot: int, value: int) -> Pair:
    return (value, pair[1]) if slot == 0 else (pair[0], value)
