"""People at a game: what they are called, what is hidden from them, and what they declare."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal, NamedTuple, cast, get_args

from number_tower.catalogue import Rulebook, find_rulebook
from number_tower.game import Game
from number_tower.position import IllegalMoveError, Outcome
from number_tower.rules import UNNAMED
from number_tower.text import format_value

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from number_tower.catalogue import GameChoice
    from number_tower.position import Refusal

LONGEST_NAME = 40


Unplaceable = Literal["unavailable"]


"""All that may be said of a used block where blocks are hidden."""


_JOINERS = "\u200c\u200d"


class TableError(ValueError):
    """Something that people at a table cannot do, and why."""


class StaleError(TableError):
    """A change that answers a table as it was, and not as it is; and the table as it is."""

    def __init__(self, table: Table) -> None:
        super().__init__("the table has changed since")
        self.table = table


@dataclass(frozen=True)
class Table:
    """A game with the people at it; every change makes a new table with a higher version.

    The log holds every change, takebacks too, and the version is its length. The log and the rulebook are excluded from
    equality. A table that is made without a rulebook finds the one that its name and rules stand for.
    """

    game: Game
    rulebook: str = ""
    """The rulebook's name; if only that is given, the book is found by it."""
    names: tuple[str, str] | None = None
    hidden: bool = False
    declared: Outcome | None = None
    automatic: tuple[bool, bool] = field(default=(False, False), compare=False)
    """Which seats are played by a computer. It is part of no record: who plays on may be somebody else."""
    log: tuple[Change, ...] = field(default=(), compare=False, repr=False)
    book: Rulebook = field(default=cast("Rulebook", None), compare=False, repr=False, kw_only=True)

    def __post_init__(self) -> None:
        book = cast("Rulebook | None", self.book)
        if book is None or self.rulebook not in {"", book.name}:
            object.__setattr__(self, "book", find_rulebook(self.rulebook or UNNAMED, self.game.rules))
        object.__setattr__(self, "rulebook", self.book.name)
        if not self.log:
            object.__setattr__(self, "log", self._make_log())
        if self.names is not None:
            object.__setattr__(self, "names", check_player_names(self.names))

    @classmethod
    def start(cls, choice: GameChoice, names: tuple[str, str] | None = None) -> Table:
        """Return the table of a game that was chosen, before its first move."""
        game = Game(choice.rules, choice.first)
        return cls(game, names=names, hidden=choice.hidden, book=choice.book)

    def play(self, block: int) -> Table:
        """Place a block for the player to move."""
        if self.declared is not None:
            raise IllegalMoveError(block, "over")
        return replace(self, game=self.game.play(block), log=(*self.log, Change("place", block)))

    @property
    def version(self) -> int:
        """How many changes have been made."""
        return len(self.log)

    def answer(self, version: int, change: Change) -> Table:
        """Make a change that was meant for a version of this table; one that was made already counts once."""
        if self.is_repeated(version, change):
            return self
        match change.kind:
            case "place":
                return self.play(change.number)
            case "undo":
                return self.undo()
            case declaration:
                return self.declare(declaration, change.number)

    def is_repeated(self, version: int, change: Change, seats: Collection[int] = (0, 1)) -> bool:
        """Say whether a change that was meant for a version was made already, by a player of one of these seats.

        This is the one rule for changes that arrive late or twice. A change that is meant for this version is new.
        One that was made at the version it is meant for counts once. Any other is stale, and refused.
        """
        if version == self.version:
            return False
        if not 0 <= version < self.version or not change.repeats(self.log[version]):
            raise StaleError(self)
        if change.kind == "place" and len(seats) < 2:
            before = Game(self.game.rules, self.game.first, replay_moves(self.log[:version]))
            if before.to_move not in seats:
                raise StaleError(self)
        return True

    @property
    def may_undo(self) -> bool:
        """Whether a move can be taken back: also one that ended the game, but not once a result was declared."""
        return self.declared is None and any(not self.automatic[mover] for mover in self.game.movers)

    def undo(self, player: int | None = None) -> Table:
        """Take the last move of a person back, or of one player, and with it whatever was answered."""
        if not self.may_undo or player not in {None, *self.game.movers}:
            raise TableError("there is no move to take back")
        count = 1
        for mover in reversed(self.game.movers):
            if not self.automatic[mover] if player is None else mover == player:
                break
            count += 1
        return replace(self, game=self.game.undo(count), log=(*self.log, Change("undo", count)))

    def declare(self, reason: Declaration, player: int) -> Table:
        """End the game by word: a player resigns or forfeits and the other wins, or it is abandoned and nobody does."""
        if self.outcome is not None:
            raise TableError("the game is over")
        if reason not in get_args(Declaration) or player not in (0, 1):
            raise TableError(f"expected one of {', '.join(get_args(Declaration))}, by player 0 or 1")
        winner = None if reason == "abandoned" else 1 - player
        return replace(self, declared=Outcome(winner, reason), log=(*self.log, Change(reason, player)))

    @property
    def outcome(self) -> Outcome | None:
        """How the game ended, by the position or by word."""
        return self.declared or self.game.outcome

    @property
    def secret(self) -> bool:
        """Whether something is hidden that would help a player to know; once it is over, nothing would."""
        return self.hidden and self.outcome is None

    def left(self, player: int) -> tuple[int, ...] | None:
        """Return the blocks that a player can still use; None where they are hidden."""
        return None if self.hidden else self.game.rules.numbers(self.game.position.left[player])

    @property
    def legal(self) -> tuple[int, ...] | None:
        """The blocks that may be placed now; None where they are hidden."""
        if self.hidden:
            return None
        return () if self.declared is not None else self.game.legal

    def refusal(self, block: int) -> Refusal | Unplaceable | None:
        """Say why a block cannot be placed, as far as this table may know."""
        reason = self.game.position.refusal(block)
        if self.declared is not None and reason != "not_a_block":
            return "over"
        return "unavailable" if self.hidden and reason == "used" else reason

    def _make_log(self) -> tuple[Change, ...]:
        """Return the changes that lead straight to this table."""
        moves = tuple(Change("place", block) for block in self.game.moves)
        if self.declared is None:
            return moves
        loser = 0 if self.declared.winner is None else 1 - self.declared.winner
        return (*moves, Change(cast("Declaration", self.declared.reason), loser))


def check_player_names(names: object) -> tuple[str, str]:
    """Return two names fit to be shown, or say what is wrong with them."""
    if not isinstance(names, list | tuple) or len(names) != 2:
        raise TableError("expected two names, such as Ann,Ben")
    first, second = (_check_name(name, "two names, such as Ann,Ben", "one") for name in names)
    if first.casefold() == second.casefold():
        raise TableError(f"expected two different names; both are {first}")
    return first, second


def check_player_name(name: object) -> str:
    """Return a name fit to be shown, or say what is wrong with it."""
    return _check_name(name, "a name, such as Ann", "it")


def _check_name(given: object, expected: str, this: str) -> str:
    if not isinstance(given, str):
        raise TableError(f"expected {expected}; {this} is no text")
    name = given.strip()
    if not name.strip(_JOINERS):
        raise TableError(f"expected {expected}; {this} is empty")
    if len(name) > LONGEST_NAME:
        raise TableError(f"expected names of at most {LONGEST_NAME} characters; {this} has {len(name)}")
    if not all(letter.isprintable() or letter in _JOINERS for letter in name):
        raise TableError(f"expected names without control characters; got {name!a}")
    return name


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
        raise ValueError(f"expected a change such as 9, undo 1 or resigned 2; got {format_value(text)}")


def replay_moves(log: Iterable[Change]) -> tuple[int, ...]:
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
