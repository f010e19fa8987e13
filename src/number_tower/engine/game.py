"""A game: its rules, who started, and the moves so far; everything else follows from these."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeVar

from number_tower.engine.position import MoveError, Outcome, Pair, Position
from number_tower.engine.rules import Rules
from number_tower.support.text import format_value

if TYPE_CHECKING:
    from random import Random

MAX_RANDOM_PLIES = 60
"""Moves of a random game."""

EventKind = Literal["start", "placed", "skipped", "turn", "end"]


class Event(NamedTuple):
    """An event to tell, and the player it is about; at the end, the player whose turn it would be.

    Examples:
        >>> [event.kind for event in nt.Game().play(9).events]
        ['placed', 'turn']
    """

    kind: EventKind
    player: int


@dataclass(frozen=True)
class Game:
    """An immutable game: a move makes a new one, and undo is dropping a move.

    Examples:
        >>> game = nt.Game(nt.Rules(target=15)).play(9).play(5)
        >>> game.legal, game.to_move, game.outcome
        ((1,), 0, None)
        >>> game.play(1).outcome
        Outcome(winner=0, reason='exact')
        >>> game.undo().moves, game.at(0).moves
        ((9,), ())
        >>> game = nt.Game(nt.Rules(towers="own"), first=1).play(9).play(5).play(1)
        >>> game.towers, game.heights
        (((5,), (9, 1)), (5, 10))
        >>> game.events
        (Event(kind='placed', player=1), Event(kind='turn', player=0))
    """

    rules: Rules = field(default_factory=Rules)
    first: int = 0
    moves: tuple[int, ...] = ()
    position: Position = field(init=False, repr=False, compare=False)
    movers: tuple[int, ...] = field(init=False, repr=False, compare=False)
    _positions: tuple[Position, ...] | None = field(init=False, repr=False, compare=False)
    """Every position from the start to now, so that going back needs no replay; not pickled."""

    def __post_init__(self) -> None:
        if not isinstance(self.rules, Rules):
            raise TypeError(
                'rules: expected Rules, such as number_tower.rules("mygame.toml");'
                f" got {format_value(self.rules)}"
            )
        if type(self.first) is not int or self.first not in (0, 1):
            raise ValueError(f"first: expected 0 or 1; got {format_value(self.first)}")
        moves = tuple(self.moves)
        positions = _replay(self.rules, self.first, moves)
        movers = tuple(position.to_move for position in positions[:-1])
        self.__dict__.update(
            moves=moves, movers=movers, position=positions[-1], _positions=positions
        )

    def __getstate__(self) -> dict[str, object]:
        # Pickle without the earlier positions, which follow from the moves.
        return {**self.__dict__, "_positions": None}

    def play(self, block: int) -> "Game":
        """Return the game after the player to move has placed a block.

        Examples:
            >>> nt.Game().play(4).play(5).moves
            (4, 5)
        """
        position = self.position.place(block)
        positions = None if self._positions is None else (*self._positions, position)
        return self._make((*self.moves, block), (*self.movers, self.to_move), position, positions)

    def undo(self, count: int = 1) -> "Game":
        """Return the game without its last move, or its last few.

        Examples:
            >>> nt.Game(moves=(4, 5, 6)).undo(2).moves
            (4,)
        """
        if not 1 <= count <= len(self.moves):
            raise ValueError("there is no move to undo")
        return self.at(len(self.moves) - count)

    def at(self, ply: int) -> "Game":
        """Return the game after its first `ply` moves."""
        if ply == len(self.moves):
            return self
        positions = self._positions
        if positions is None:
            positions = _replay(self.rules, self.first, self.moves)
            object.__setattr__(self, "_positions", positions)
        return self._make(self.moves[:ply], self.movers[:ply], positions[ply], positions[: ply + 1])

    def history(self) -> "Iterator[Game]":
        """Yield this game before its first move, after it, and so on to now.

        Examples:
            >>> game = nt.Game(nt.Rules(blocks=range(1, 4)), moves=(2, 1))
            >>> [earlier.legal for earlier in game.history()]
            [(1, 2, 3), (1, 3), (3,)]
        """
        return map(self.at, range(len(self.moves) + 1))

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
        """The height of each player's tower; of a shared tower, twice."""
        return self.position.heights

    @property
    def towers(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Each player's tower from the ground up; a shared tower twice."""
        if self.rules.towers == "shared":
            return self.moves, self.moves
        towers: tuple[list[int], list[int]] = ([], [])
        for block, mover in zip(self.moves, self.movers, strict=True):
            towers[mover].append(block)
        return tuple(towers[0]), tuple(towers[1])

    @property
    def outcome(self) -> Outcome | None:
        """How the game ended; None while it goes on."""
        return self.position.outcome

    @property
    def events(self) -> tuple[Event, ...]:
        """What the last move caused, or the start of the game if there is none."""
        over = self.outcome is not None
        last = Event("end" if over else "turn", self.to_move)
        if not self.moves:
            return Event("start", self.first), last
        mover = self.movers[-1]
        if mover == self.to_move and not over:  # the other player had to skip
            return Event("placed", mover), Event("skipped", 1 - mover), last
        return Event("placed", mover), last

    def _make(
        self,
        moves: tuple[int, ...],
        movers: tuple[int, ...],
        position: Position,
        positions: tuple[Position, ...] | None,
    ) -> "Game":
        """Return a game by the same rules whose moves are known to be legal."""
        game = object.__new__(Game)
        game.__dict__.update(
            self.__dict__, moves=moves, movers=movers, position=position, _positions=positions
        )
        return game


Playable = TypeVar("Playable", Game, Position)


def play_randomly(
    start: Playable, rng: "Random", most: int = MAX_RANDOM_PLIES
) -> Iterator[Playable]:
    """Yield a game or position, and what each random move makes of it, for up to `most` moves.

    A move is drawn only when the next item is requested, so callers may draw from `rng` in between.
    """
    yield start
    for _ in range(most):
        legal = start.legal
        if not legal:
            return
        block = legal[int(rng.random() * len(legal))]
        start = _play(start, block)
        yield start


def _play(state: Any, block: int) -> Any:  # returns the type that it is given
    return state.play(block) if isinstance(state, Game) else state.place(block)


def _replay(rules: Rules, first: int, moves: tuple[int, ...]) -> tuple[Position, ...]:
    """Return every position of a game from the start on; the first illegal move raises."""
    positions = [Position.start(rules, first)]
    for ply, block in enumerate(moves, 1):
        try:
            positions.append(positions[-1].place(block))
        except MoveError as refused:
            refused.ply = ply
            raise
    return tuple(positions)
