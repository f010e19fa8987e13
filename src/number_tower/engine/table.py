"""A game with its players: names, hidden blocks, declared results, and a log of all changes."""

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field, replace
from typing import Literal, NamedTuple, cast, get_args

from number_tower.engine.catalogue import GameChoice, Rulebook, find_rulebook
from number_tower.engine.game import Game
from number_tower.engine.position import IllegalMoveError, Outcome
from number_tower.engine.refusals import Refusal, Unplaceable
from number_tower.engine.rules import UNNAMED, Rules
from number_tower.support.errors import NumberTowerError
from number_tower.support.text import format_value

MAX_NAME = 40

Declaration = Literal["resigned", "forfeit", "abandoned"]
"""A result that does not follow from the position: a player gives up, is ruled out, or both
leave."""

_NO_BOOK = find_rulebook(UNNAMED, Rules())
"""Stands for the rulebook of a table that was made without one: the table looks it up."""

_CHANGE = re.compile(r"(?:(?P<kind>[a-z]+) )?(?P<number>[0-9]{1,19})")
_JOINERS = "\u200c\u200d"


class TableError(NumberTowerError, ValueError):
    """Something cannot be done at a table, and why.

    Examples:
        >>> nt.Table(nt.Game(), names=("Ann", "ann"))
        Traceback (most recent call last):
            ...
        number_tower.engine.table.TableError: expected two different names; both are Ann
    """

    reason = "bad_name"


class StaleError(TableError):
    """A change was meant for an earlier version of the table; `table` is the present one.

    Examples:
        >>> table = nt.Table(nt.Game(moves=(5, 6)))
        >>> table.answer(1, nt.Change("place", 7))
        Traceback (most recent call last):
            ...
        number_tower.engine.table.StaleError: the game has changed meanwhile
    """

    reason = "stale"

    def __init__(self, table: "Table") -> None:
        super().__init__("the game has changed meanwhile")
        self.table = table


class Change(NamedTuple):
    """A block placed, a number of moves taken back, or a result declared by player 0 or 1.

    Examples:
        >>> nt.Change("undo", 2).to_text(), nt.Change.from_text("resigned 2")
        ('undo 2', Change(kind='resigned', number=1))
    """

    kind: Literal["place", "undo"] | Declaration
    number: int

    def to_text(self) -> str:
        """Return the change as text: `9`, `undo 2`, `resigned 1`.

        Players are written as 1 and 2.
        """
        if self.kind == "place":
            return str(self.number)
        return f"{self.kind} {self.number if self.kind == 'undo' else self.number + 1}"

    @classmethod
    def from_text(cls, text: str) -> "Change":
        """Read the text that `to_text` returns."""
        parts = _CHANGE.fullmatch(text)
        if parts is not None:
            kind, number = parts["kind"] or "place", int(parts["number"])
            if kind == "place" or (kind == "undo" and number > 0):
                return cls(cast("Literal['place', 'undo']", kind), number)
            if kind in get_args(Declaration) and number in {1, 2}:
                return cls(cast("Declaration", kind), number - 1)
        expected = "expected a change such as 9, undo 1 or resigned 2"
        raise ValueError(f"{expected}; got {format_value(text)}")


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

    The log holds every change, takebacks too, and the version is its length. The log, the rulebook
    and who is a computer are excluded from equality. A table made without a rulebook, or with the
    name of another one, looks it up by the name and the rules.

    Examples:
        >>> table = nt.Table(nt.Game(nt.Rules(target=20)), names=("Ann", "Ben")).play(9).play(8)
        >>> table.undo().play(7).version
        4
        >>> table.legal, table.refusal(9), table.left(0)
        ((1, 2, 3), 'used', (1, 2, 3, 4, 5, 6, 7))
        >>> table.declare("resigned", 0).outcome, table.may_undo
        (Outcome(winner=1, reason='resigned'), True)
        >>> secret = nt.Table(table.game, hidden=True)  # players are not told what is left
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
    book: Rulebook = field(default=_NO_BOOK, compare=False, repr=False, kw_only=True)

    def __post_init__(self) -> None:
        book = self.book
        if book is _NO_BOOK or self.rulebook not in {"", book.name}:
            book = find_rulebook(self.rulebook or UNNAMED, self.game.rules)
        object.__setattr__(self, "book", book)
        object.__setattr__(self, "rulebook", book.name)
        if not self.log:
            log = [Change("place", block) for block in self.game.moves]
            if self.declared is not None:
                loser = 0 if self.declared.winner is None else 1 - self.declared.winner
                log.append(Change(cast("Declaration", self.declared.reason), loser))
            object.__setattr__(self, "log", tuple(log))
        if self.names is not None:
            object.__setattr__(self, "names", check_player_names(self.names))

    @classmethod
    def start(cls, choice: GameChoice, names: tuple[str, str] | None = None) -> "Table":
        """Return the table of a chosen game before its first move.

        Examples:
            >>> from number_tower.engine.catalogue import choose
            >>> nt.Table.start(choose("draft", {"target": 21})).game.rules.target
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
        """Make a change that is meant for a version of this table.

        Return the table itself if it is a repetition.

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
        """Return whether a change for a version was made already, by a player of one of the seats.

        This is the one rule for changes that arrive late or twice: a change for the present version
        is new, one that was made at its version is a repetition and counts once, and any other
        raises StaleError.

        Examples:
            >>> table = nt.Table(nt.Game(moves=(9, 8)))
            >>> table.check_version(2, nt.Change("place", 7))
            False
            >>> table.check_version(1, nt.Change("place", 8))
            True
        """
        if version == self.version:
            return False
        if not 0 <= version < self.version:
            raise StaleError(self)
        # A repeated undo is the same change, however many moves it took back.
        made = self.log[version]
        if change != made and not change.kind == made.kind == "undo":
            raise StaleError(self)
        if change.kind == "place" and self.replay_to(version).to_move not in seats:
            raise StaleError(self)
        return True

    def replay_to(self, version: int) -> Game:
        """Return the game at a version of this table.

        Only moves that were taken back since are replayed.

        Examples:
            >>> table = nt.Table(nt.Game()).play(9).undo().play(8)
            >>> [table.replay_to(version).moves for version in range(table.version + 1)]
            [(), (9,), (), (8,)]
        """
        moves, game = replay_moves(self.log[:version]), self.game
        pairs = zip(moves, game.moves, strict=False)
        # Moves that were not taken back since need no replay.
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
        """Whether a move can be taken back, even the last one; not after a declared result."""
        by_people = [mover for mover in self.game.movers if not self.automatic[mover]]
        return self.declared is None and bool(by_people)

    def undo(self, player: int | None = None) -> "Table":
        """Take back the last move of a person, or of one player, and all moves after it."""
        if not self.may_undo or player not in {None, *self.game.movers}:
            raise TableError("there is no move to undo")
        # Answers of a computer are taken back together with the move before them.
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
            expected = ", ".join(get_args(Declaration))
            raise TableError(f"expected one of {expected}, by player 0 or 1")
        winner = None if reason == "abandoned" else 1 - player
        log = (*self.log, Change(reason, player))
        return replace(self, declared=Outcome(winner, reason), log=log)

    @property
    def outcome(self) -> Outcome | None:
        """How the game ended, by a declaration or by the position."""
        return self.declared or self.game.position.outcome

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


def _check_name(value: object, expected: str, this: str) -> str:
    if not isinstance(value, str):
        raise TableError(f"expected {expected}; {this} is not text")
    name = value.strip()
    if not name.strip(_JOINERS):
        raise TableError(f"expected {expected}; {this} is empty")
    if len(name) > MAX_NAME:
        raise TableError(f"expected names of at most {MAX_NAME} characters; {this} has {len(name)}")
    if not all(letter.isprintable() or letter in _JOINERS for letter in name):
        raise TableError(f"expected names without control characters; got {name!a}")
    return name
