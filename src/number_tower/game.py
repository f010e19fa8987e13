"""A game: rules, who started, and the moves so far; the position and everything else follow from them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeVar

from number_tower.position import MoveError, Position
from number_tower.rules import Rules
from number_tower.text import format_value

if TYPE_CHECKING:
    from collections.abc import Iterator
    from random import Random

    from number_tower.position import Outcome, Pair

LONGEST_RANDOM_GAME = 60
"""Moves of a random game."""

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
    _positions: tuple[Position, ...] | None = field(init=False, repr=False, compare=False)
    """Every position from the start to now, so that going back costs no replay; not pickled, and then not known."""

    def __post_init__(self) -> None:
        if not isinstance(self.rules, Rules):
            raise TypeError(
                f'rules: expected Rules, such as number_tower.rules("mygame.toml"); got {format_value(self.rules)}'
            )
        if type(self.first) is not int or self.first not in (0, 1):
            raise ValueError(f"first: expected 0 or 1; got {format_value(self.first)}")
        moves = tuple(self.moves)
        positions = _replay(self.rules, self.first, moves)
        self._set(moves, tuple(each.to_move for each in positions[:-1]), positions[-1], positions)

    def __getstate__(self) -> dict[str, object]:
        """Leave the earlier positions out: they follow from the moves."""
        return {**self.__dict__, "_positions": None}

    def play(self, block: int) -> Game:
        """Return the game after the player to move has placed a block."""
        position = self.position.place(block)
        positions = None if self._positions is None else (*self._positions, position)
        return self._make((*self.moves, block), (*self.movers, self.to_move), position, positions)

    def undo(self, count: int = 1) -> Game:
        """Return the game without its last move, or its last few."""
        if not 1 <= count <= len(self.moves):
            raise ValueError("no move has been made that could be taken back")
        return self.at(len(self.moves) - count)

    def at(self, ply: int) -> Game:
        """Return the game as it was after so many moves."""
        if ply == len(self.moves):
            return self
        positions = self._positions
        if positions is None:
            positions = _replay(self.rules, self.first, self.moves)
            object.__setattr__(self, "_positions", positions)
        return self._make(self.moves[:ply], self.movers[:ply], positions[ply], positions[: ply + 1])

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

    def _make(
        self,
        moves: tuple[int, ...],
        movers: tuple[int, ...],
        position: Position,
        positions: tuple[Position, ...] | None,
    ) -> Game:
        """Return another game by the same rules, whose moves have been checked already."""
        game = object.__new__(Game)
        object.__setattr__(game, "rules", self.rules)
        object.__setattr__(game, "first", self.first)
        game._set(moves, movers, position, positions)
        return game

    def _set(
        self,
        moves: tuple[int, ...],
        movers: tuple[int, ...],
        position: Position,
        positions: tuple[Position, ...] | None,
    ) -> None:
        object.__setattr__(self, "moves", moves)
        object.__setattr__(self, "movers", movers)
        object.__setattr__(self, "position", position)
        object.__setattr__(self, "_positions", positions)


Playable = TypeVar("Playable", Game, Position)


def play_randomly(start: Playable, rng: Random, most: int = LONGEST_RANDOM_GAME) -> Iterator[Playable]:
    """Give a game, or a position, and what it becomes by random moves, until it is over or so many were made.

    Chance is used only when the next one is asked for, so the same random numbers can serve in between.
    """
    yield start
    for _ in range(most):
        legal = start.legal
        if not legal:
            return
        block = legal[int(rng.random() * len(legal))]
        start = _play(start, block)
        yield start


def _play(state: Any, block: int) -> Any:  # what comes in comes out
    return state.play(block) if isinstance(state, Game) else state.place(block)


def _replay(rules: Rules, first: int, moves: tuple[int, ...]) -> tuple[Position, ...]:
    """Return every position of a game, from the start to the last move; the first illegal move is refused."""
    positions = [Position.start(rules, first)]
    for ply, block in enumerate(moves, 1):
        try:
            positions.append(positions[-1].place(block))
        except MoveError as refused:
            refused.ply = ply
            raise
    return tuple(positions)
