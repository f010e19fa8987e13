"""A game with its players: their names, what is hidden from them, results they declare, and a log of all changes."""

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field, replace
from typing import Literal, NamedTuple, cast, get_args

from number_tower.catalogue import GameChoice, Rulebook, find_rulebook
from number_tower.errors import NumberTowerError
from number_tower.game import Game
from number_tower.position import IllegalMoveError, Outcome, Refusal
from number_tower.rules import UNNAMED
from number_tower.text import format_value

LONGEST_NAME = 40

Unplaceable = Literal["unavailable"]
"""The only reason given for a used block where blocks are hidden."""

Declaration = Literal["resigned", "forfeit", "abandoned"]
"""A result that does not follow from the position: a player gives up, is ruled out, or both leave."""

_CHANGE = re.compile(r"(?:(?P<kind>[a-z]+) )?(?P<number>[0-9]{1,19})")
_JOINERS = "\u200c\u200d"


class TableError(NumberTowerError, ValueError):
    """Something cannot be done at a table, and why.

    Examples:
        >>> nt.Table(nt.Game(), names=("Ann", "ann"))
        Traceback (most recent call last):
            ...
        number_tower.table.TableError: expected two different names; both are Ann
    """

    reason = "bad_name"


class StaleError(TableError):
    """A change was meant for an earlier version of the table; `table` is the present one.

    Examples:
        >>> table = nt.Table(nt.Game(moves=(5, 6)))
        >>> table.answer(1, nt.Change("place", 7))
        Traceback (most recent call last):
            ...
        number_tower.table.StaleError: the game has changed meanwhile
    """

    reason = "stale"

    def __init__(self, table: "Table") -> None:
        super().__init__("the game has changed meanwhile")
        self.table = table


class Change(NamedTuple):
    """A block placed, a number of moves taken back, or a result declared by player 0 or 1.

    Examples:
        >>> nt.Change("undo", 2).written(), nt.Change.read("resigned 2")
        ('undo 2', Change(kind='resigned', number=1))
        >>> nt.Change("undo", 2).repeats(nt.Change("undo", 1))
        True
    """

    kind: Literal["place", "undo"] | Declaration
    number: int

    def repeats(self, other: "Change") -> bool:
        """Return whether this is the same change again; how many moves an `undo` takes back does not matter."""
        return self == other or self.kind == other.kind == "undo"

    def written(self) -> str:
        """Return the change as text: `9`, `undo 2`, `resigned 1`; players are written as 1 and 2."""
        if self.kind == "place":
            return str(self.number)
        return f"{self.kind} {self.number if self.kind == 'undo' else self.number + 1}"

    @classmethod
    def read(cls, text: str) -> "Change":
        """Read the text that `written` returns."""
        parts = _CHANGE.fullmatch(text)
        if parts is not None:
            kind, number = parts["kind"] or "place", int(parts["number"])
            if kind == "place" or (kind == "undo" and number > 0):
                return cls(cast("Literal['place', 'undo']", kind), number)
            if kind in get_args(Declaration) and number in {1, 2}:
                return cls(cast("Declaration", kind), number - 1)
        raise ValueError(
            f"expected a change such as 9, undo 1 or resigned 2; got {format_value(text)}"
        )


def replay_moves(log: Iterable[Change]) -> tuple[int, ...]:
    """Return the moves that remain after all changes of a log."""
    moves: list[int] = []
    declared = False
    for change in log:
        if declared:
            raise ValueError("there is a change after the end of the game")
        if change.kind == "place":
            moves.append(change.number)
        elif change.kind == "undo":
            if change.number > len(moves):
                raise ValueError("more moves are undone than were made")
            del moves[len(moves) - change.number :]
        else:
            declared = True
    return tuple(moves)


@dataclass(frozen=True)
class Table:
    """A game and its players; immutable, every change makes a new table with a higher version.

    The log holds every change, takebacks too, and the version is its length. The log, the rulebook and who is a
    computer are excluded from equality. A table made without a rulebook, or with the name of another one, looks it up
    by the name and the rules.

    Examples:
        >>> table = nt.Table(nt.Game(nt.Rules(target=20)), names=("Ann", "Ben")).play(9).play(8)
        >>> table.undo().play(7).version
        4
        >>> table.legal, table.refusal(9), table.left(0)
        ((1, 2, 3), 'used', (1, 2, 3, 4, 5, 6, 7))
        >>> table.declare("resigned", 0).outcome, table.may_undo
        (Outcome(winner=1, reason='resigned'), True)
        >>> secret = nt.Table(table.game, hidden=True)  # neither player is told which blocks are left
        >>> secret.secret, secret.legal, secret.refusal(9)
        (True, None, 'unavailable')
    """

    game: Game
    rulebook: str = ""
    """The rulebook's name."""
    names: tuple[str, str] | None = None
    hidden: bool = False
    declared: Outcome | None = None
    automatic: tuple[bool, bool] = field(default=(False, False), compare=False)
    """Which seats a computer plays; not part of a record."""
    log: tuple[Change, ...] = field(default=(), compare=False, repr=False)
    book: Rulebook = field(default=cast("Rulebook", None), compare=False, repr=False, kw_only=True)

    def __post_init__(self) -> None:
        book = cast("Rulebook | None", self.book)
        if book is None or self.rulebook != book.name:
            if book is None or self.rulebook:
                book = find_rulebook(self.rulebook or UNNAMED, self.game.rules)
            object.__setattr__(self, "book", book)
            object.__setattr__(self, "rulebook", book.name)
        if not self.log:
            object.__setattr__(self, "log", self._make_log())
        if self.names is not None:
            object.__setattr__(self, "names", check_player_names(self.names))

    @classmethod
    def start(cls, choice: GameChoice, names: tuple[str, str] | None = None) -> "Table":
        """Return the table of a chosen game before its first move.

        Examples:
            >>> from number_tower.catalogue import choose
            >>> nt.Table.start(choose("draft", {"target": 21}), names=("Ann", "Ben")).game.rules.target
            21
        """
        return cls(
            Game(choice.rules, choice.first), names=names, hidden=choice.hidden, book=choice.book
        )

    def play(self, block: int) -> "Table":
        """Place a block for the player to move."""
        if self.declared is not None:
            raise IllegalMoveError(block, "over")
        return replace(self, game=self.game.play(block), log=(*self.log, Change("place", block)))

    @property
    def version(self) -> int:
        """How many changes have been made."""
        return len(self.log)

    def answer(self, version: int, change: Change) -> "Table":
        """Make a change that is meant for a version of this table; return the table itself if it is a repetition.

        Examples:
            >>> table = nt.Table(nt.Game())
            >>> table = table.answer(0, nt.Change("place", 9))
            >>> table.answer(0, nt.Change("place", 9)) is table
            True
        """
        if self.check_version(version, change):
            return self
        match change.kind:
            case "place":
                return self.play(change.number)
            case "undo":
                return self.undo()
            case declaration:
                return self.declare(declaration, change.number)

    def check_version(self, version: int, change: Change, seats: Collection[int] = (0, 1)) -> bool:
        """Return whether a change for a version has been made already, by a player of one of these seats.

        This is the one rule for changes that arrive late or twice: a change for the present version is new, one that
        was made at its version is a repetition and counts once, and any other raises StaleError.

        Examples:
            >>> table = nt.Table(nt.Game(moves=(9, 8)))
            >>> table.check_version(2, nt.Change("place", 7)), table.check_version(1, nt.Change("place", 8))
            (False, True)
        """
        if version == self.version:
            return False
        if not 0 <= version < self.version or not change.repeats(self.log[version]):
            raise StaleError(self)
        if change.kind == "place" and self.replay_to(version).to_move not in seats:
            raise StaleError(self)
        return True

    def replay_to(self, version: int) -> Game:
        """Return the game at a version of this table; only moves that were taken back since are replayed.

        Examples:
            >>> table = nt.Table(nt.Game()).play(9).undo().play(8)
            >>> [table.replay_to(version).moves for version in range(table.version + 1)]
            [(), (9,), (), (8,)]
        """
        moves, game = replay_moves(self.log[:version]), self.game
        pairs = zip(moves, game.moves, strict=False)
        common = next(
            (ply for ply, (one, other) in enumerate(pairs) if one != other),
            min(len(moves), len(game.moves)),
        )
        game = game.at(common)
        for block in moves[common:]:
            game = game.play(block)
        return game

    @property
    def may_undo(self) -> bool:
        """Whether a move can be taken back: also the last of a game, but not after a declared result."""
        return self.declared is None and any(
            not self.automatic[mover] for mover in self.game.movers
        )

    def undo(self, player: int | None = None) -> "Table":
        """Take back the last move of a person, or of one player, and all moves after it."""
        if not self.may_undo or player not in {None, *self.game.movers}:
            raise TableError("there is no move to undo")
        count = 1
        for mover in reversed(self.game.movers):
            if not self.automatic[mover] if player is None else mover == player:
                break
            count += 1
        return replace(self, game=self.game.undo(count), log=(*self.log, Change("undo", count)))

    def declare(self, reason: Declaration, player: int) -> "Table":
        """End the game by a declaration: the other player wins, or nobody if it is abandoned."""
        if self.outcome is not None:
            raise TableError("the game is over")
        if reason not in get_args(Declaration) or player not in (0, 1):
            raise TableError(
                f"expected one of {', '.join(get_args(Declaration))}, by player 0 or 1"
            )
        winner = None if reason == "abandoned" else 1 - player
        return replace(
            self, declared=Outcome(winner, reason), log=(*self.log, Change(reason, player))
        )

    @property
    def outcome(self) -> Outcome | None:
        """How the game ended, by a declaration or by the position."""
        return self.declared or self.game.outcome

    @property
    def secret(self) -> bool:
        """Whether blocks are hidden and the game goes on."""
        return self.hidden and self.outcome is None

    def left(self, player: int) -> tuple[int, ...] | None:
        """Return the blocks that a player can still use; None if they are hidden."""
        return None if self.hidden else self.game.rules.numbers(self.game.position.left[player])

    @property
    def legal(self) -> tuple[int, ...] | None:
        """The blocks that may be placed now; None if they are hidden."""
        if self.hidden:
            return None
        return () if self.declared is not None else self.game.legal

    def refusal(self, block: int) -> Refusal | Unplaceable | None:
        """Return why a block cannot be placed, without telling what is hidden; None if it can."""
        reason = self.game.position.refusal(block)
        if self.declared is not None and reason != "not_a_block":
            return "over"
        return "unavailable" if self.hidden and reason == "used" else reason

    def _make_log(self) -> tuple[Change, ...]:
        """Return the shortest log that leads to this table."""
        moves = tuple(Change("place", block) for block in self.game.moves)
        if self.declared is None:
            return moves
        loser = 0 if self.declared.winner is None else 1 - self.declared.winner
        return (*moves, Change(cast("Declaration", self.declared.reason), loser))


def check_player_names(names: object) -> tuple[str, str]:
    """Return two stripped, different names that are safe to show."""
    if not isinstance(names, list | tuple) or len(names) != 2:
        raise TableError("expected two names, such as Ann,Ben")
    first, second = (_check_name(name, "two names, such as Ann,Ben", "one") for name in names)
    if first.casefold() == second.casefold():
        raise TableError(f"expected two different names; both are {first}")
    return first, second


def check_player_name(name: object) -> str:
    """Return a stripped name that is safe to show."""
    return _check_name(name, "a name, such as Ann", "it")


def _check_name(given: object, expected: str, this: str) -> str:
    if not isinstance(given, str):
        raise TableError(f"expected {expected}; {this} is not text")
    name = given.strip()
    if not name.strip(_JOINERS):
        raise TableError(f"expected {expected}; {this} is empty")
    if len(name) > LONGEST_NAME:
        raise TableError(
            f"expected names of at most {LONGEST_NAME} characters; {this} has {len(name)}"
        )
    if not all(letter.isprintable() or letter in _JOINERS for letter in name):
        raise TableError(f"expected names without control characters; got {name!a}")
    return name
