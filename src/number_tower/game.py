"""A game: rules, who started, and the moves so far; the position and everything else follow from them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, NamedTuple

from number_tower.position import MoveError, Position
from number_tower.rules import Rules
from number_tower.showing import shown

if TYPE_CHECKING:
    from collections.abc import Iterator

    from number_tower.position import Outcome, Pair

EventKind = Literal["start", "placed", "skipped", "turn", "end"]


class Event(NamedTuple):
    """Something to tell the players, and whom it is about; after the end, whose turn it would be."""

    kind: EventKind
    player: int


@dataclass(frozen=True)
class Game:
    """An immutable game: a move makes a new one, and undo is dropping a move."""

    rules: Rules = field(default_factory=Rules)
    first: int = 0
    moves: tuple[int, ...] = ()
    position: Position = field(init=False, repr=False, compare=False)
    movers: tuple[int, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not isinstance(self.rules, Rules):
            raise TypeError(
                f'rules: expected Rules, such as number_tower.rules("mygame.toml"); got {shown(self.rules)}'
            )
        if type(self.first) is not int or self.first not in (0, 1):
            raise ValueError(f"first: expected 0 or 1; got {shown(self.first)}")
        position = Position.start(self.rules, self.first)
        movers: list[int] = []
        moves = tuple(self.moves)
        for ply, block in enumerate(moves, 1):
            movers.append(position.to_move)
            try:
                position = position.place(block)
            except MoveError as refused:
                refused.ply = ply
                raise
        self._set(moves, position, tuple(movers))

    def play(self, block: int) -> Game:
        """Return the game after the player to move has placed a block."""
        position = self.position.place(block)
        after = object.__new__(Game)
        object.__setattr__(after, "rules", self.rules)
        object.__setattr__(after, "first", self.first)
        after._set((*self.moves, block), position, (*self.movers, self.to_move))
        return after

    def undo(self) -> Game:
        """Return the game without its last move."""
        if not self.moves:
            raise ValueError("no move has been made that could be taken back")
        return Game(self.rules, self.first, self.moves[:-1])

    def history(self) -> Iterator[Game]:
        """Give this game as it was before the first move, after it, and so on to now."""
        game = Game(self.rules, self.first)
        yield game
        for block in self.moves:
            game = game.play(block)
            yield game

    @property
    def to_move(self) -> int:
        """Whose turn it is, 0 or 1; once the game is over, whose turn it would be."""
        return self.position.to_move

    @property
    def legal(self) -> tuple[int, ...]:
        """The blocks that may be placed now, rising."""
        return self.position.legal

    @property
    def heights(self) -> Pair:
        """The height of each player's tower; a shared tower stands in both places."""
        return self.position.heights

    @property
    def towers(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Each player's tower, from the ground up; a shared tower stands in both places."""
        if self.rules.towers == "shared":
            return self.moves, self.moves
        mine, theirs = (
            tuple(block for block, mover in zip(self.moves, self.movers, strict=True) if mover == player)
            for player in (0, 1)
        )
        return mine, theirs

    @property
    def outcome(self) -> Outcome | None:
        """How the game ended, or None while it goes on."""
        return self.position.outcome

    @property
    def events(self) -> tuple[Event, ...]:
        """What the last move caused; without one, what the start of the game did.

        The same mover again means that the other player had to skip.
        """
        over = self.outcome is not None
        last = Event("end" if over else "turn", self.to_move)
        if not self.moves:
            return Event("start", self.first), last
        mover = self.movers[-1]
        if mover == self.to_move and not over:
            return Event("placed", mover), Event("skipped", 1 - mover), last
        return Event("placed", mover), last

    def _set(self, moves: tuple[int, ...], position: Position, movers: tuple[int, ...]) -> None:
        object.__setattr__(self, "moves", moves)
        object.__setattr__(self, "position", position)
        object.__setattr__(self, "movers", movers)
