"""A room: a table with seats for remote players, what each may do, and their offers."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

from number_tower.engine.game import Game
from number_tower.engine.match import Match, compute_score
from number_tower.engine.table import Change, StaleError, Table, TableError, check_player_names
from number_tower.support.errors import NumberTowerError

OfferKind = Literal["takeback", "rematch"]
Reason = Literal["not_yours", "not_now", "waiting", "taken"]


class RoomError(NumberTowerError, ValueError):
    """Something cannot be done in a room, or not by this player."""

    reason: Reason

    def __init__(self, reason: Reason, message: str) -> None:
        super().__init__(message)
        self.reason = reason


class Seat(NamedTuple):
    """Who has a seat, and the player's name, or the one that a free seat will have."""

    kind: Literal["person", "computer", "free"]
    name: str


class Offer(NamedTuple):
    """An offer of the player of a seat that the other has not answered yet."""

    kind: OfferKind
    seat: int


class HintTaken(NamedTuple):
    """A hint that a player took: the table's version, the seat, and the step.

    Step 1 is what to look for, step 2 the move, and step 3 why.
    """

    version: int
    seat: int
    step: int


@dataclass(frozen=True)
class Move:
    """Place a block at a version of the table.

    In all actions, `game` is the game's number in the room; None means the last.
    """

    version: int
    block: int
    game: int | None = None
    do: Literal["move"] = "move"


@dataclass(frozen=True)
class Undo:
    """Take a move back without asking, which needs all seats of people."""

    version: int
    game: int | None = None
    do: Literal["undo"] = "undo"


@dataclass(frozen=True)
class Resign:
    """Resign the game."""

    game: int | None = None
    do: Literal["resign"] = "resign"


@dataclass(frozen=True)
class MakeOffer:
    """Offer something to the other player."""

    kind: OfferKind
    game: int | None = None
    do: Literal["offer"] = "offer"


@dataclass(frozen=True)
class Accept:
    """Accept what the other player offers."""

    game: int | None = None
    do: Literal["accept"] = "accept"


@dataclass(frozen=True)
class Decline:
    """Decline the other player's offer, or withdraw your own."""

    game: int | None = None
    do: Literal["decline"] = "decline"


@dataclass(frozen=True)
class Rematch:
    """Begin the next game without asking, which needs all seats of people, or an open match."""

    game: int | None = None
    do: Literal["rematch"] = "rematch"


@dataclass(frozen=True)
class TakeHint:
    """Take a hint at a version of the table, which the other player sees."""

    version: int
    step: Literal[1, 2, 3] = 1
    game: int | None = None
    do: Literal["hint"] = "hint"


@dataclass(frozen=True)
class Claim:
    """Claim the game, since the player to move has been gone for long."""

    game: int | None = None
    do: Literal["claim"] = "claim"


CLAIM_AFTER = 300
"""Default seconds for which the player to move is gone before the other may claim the game."""

MAX_CHANGES = 5_000
"""Changes at one table after which no move can be taken back: all of them are stored and told."""

MAX_GAMES = 500
"""Games in one room after which none begins, except to finish a match: all are stored."""

Action = Move | Undo | Resign | MakeOffer | Accept | Decline | Rematch | TakeHint | Claim


@dataclass(frozen=True)
class Room:
    """A table and its seats, the results of earlier games, and an open offer; immutable.

    Every action names the seats that its client holds: none, one, or both if two people share a
    screen. A client that holds the seats of all people needs nobody's consent.
    """

    table: Table
    seats: tuple[Seat, Seat]
    number: int = 1
    """The number of the game in this room."""

    best_of: int | None = None
    """The games of a match; None: casual games without end."""

    winners: tuple[int | None, ...] = ()
    """The winners of the earlier games of the match, or else of the room (None: drawn)."""

    hints: bool = True
    offer: Offer | None = None
    declined: Offer | None = None
    """The last offer, if it was declined and nothing has happened since."""

    hints_taken: tuple[HintTaken, ...] = ()
    """Hints taken in this game against another person, in their order."""

    claim_after: int | None = CLAIM_AFTER
    """Seconds after which a game can be claimed from a player who is gone; None: never."""

    class_state: Literal["open", "paused", "closed"] | None = None
    """Whether the teacher of the class has paused the game or ended the match; None: no class."""

    class_values: bool = False
    """Whether the teacher of the class lets the players see the value of every move."""

    remark: str = ""
    """What a computer says about its last move, such as that it could not be sure."""

    @property
    def waiting(self) -> bool:
        """Whether a seat is still free."""
        return any(seat.kind == "free" for seat in self.seats)

    @property
    def over(self) -> bool:
        """Whether the game is over."""
        return self.table.outcome is not None

    @property
    def results(self) -> tuple[int | None, ...]:
        """The winners of the games of the series, including this one if it is over."""
        outcome = self.table.outcome
        return self.winners if outcome is None else (*self.winners, outcome.winner)

    @property
    def score(self) -> tuple[float, float]:
        """The points of each seat."""
        return compute_score(self.results)

    @property
    def series_over(self) -> bool:
        """Whether this is a match, and decided."""
        return self.best_of is not None and Match(self.best_of, winners=self.results).over

    @property
    def next_starter(self) -> int:
        """Who begins the next game: the one who did not begin this."""
        return 1 - self.table.game.first

    # What may be done -----------------------------------------------------------------------------

    def may_move(self, held: Collection[int]) -> bool:
        """Whether it is their turn."""
        return self._is_running and self.table.game.to_move in held

    @property
    def _is_running(self) -> bool:
        return self.may_continue and not self.waiting and not self.over

    @property
    def may_continue(self) -> bool:
        """Whether no teacher has paused the game or ended the match."""
        return self.class_state in {None, "open"}

    @property
    def is_paused(self) -> bool:
        """Whether a teacher has paused the game."""
        return self.class_state == "paused" and not self.over

    def may_undo(self, held: Collection[int]) -> bool:
        """Whether they may take a move back without asking."""
        may_take_back = self._may_take_back and not self._is_final
        return may_take_back and self.table.may_undo and self.holds_all_people(held)

    def may_resign(self, held: Collection[int]) -> bool:
        """Whether they may resign."""
        return bool(held) and self._is_running

    def may_offer(self, held: Collection[int], kind: OfferKind) -> bool:
        """Whether they may offer this to another player."""
        if not self.may_continue:
            return False
        if len(held) != 1 or self.waiting or self.offer is not None or self.holds_all_people(held):
            return False
        (seat,) = held
        if kind == "rematch":
            return self.over and not self.may_rematch(held) and self._may_play_again
        # Only a player who has moved has a move to take back.
        return not self.over and seat in self.table.game.movers and self._may_take_back

    def may_answer(self, held: Collection[int]) -> bool:
        """Whether an offer waits for their answer."""
        return self.offer is not None and bool(held) and self.offer.seat not in held

    def may_withdraw(self, held: Collection[int]) -> bool:
        """Whether the open offer is theirs."""
        return self.offer is not None and self.offer.seat in held

    def may_rematch(self, held: Collection[int]) -> bool:
        """Whether they may begin the next game without asking; in a match everyone may."""
        if not held or not self.over:
            return False
        return self._in_match or (self.holds_all_people(held) and self._may_play_again)

    def may_hint(self, held: Collection[int]) -> bool:
        """Whether they may ask for a hint now."""
        return self.hints_allowed and self.may_move(held)

    def may_see_values(self, held: Collection[int]) -> bool:
        """Whether they may see every move's value: at one screen, or in a class that allows it."""
        if self._in_class:
            return self.class_values and bool(held) and not self.over and not self.table.hidden
        return self.hints_allowed and not self.over and self.holds_all_people(held)

    def may_claim(self, held: Collection[int], gone_for: float) -> bool:
        """Whether they may claim the game: the other is to move, and has been gone for long."""
        absent = self.table.game.to_move
        if self.claim_after is None or len(held) != 1 or absent in held or not self._is_running:
            return False
        return self.seats[absent].kind == "person" and gone_for >= self.claim_after

    def is_watched(self, held: Collection[int]) -> bool:
        """Whether they play against another person, who sees each hint that they take."""
        return bool(held) and not self.holds_all_people(held)

    @property
    def hints_allowed(self) -> bool:
        """Whether hints are given here: only in casual games without hidden blocks."""
        return self.hints and (self.best_of is None or self._in_class) and not self.table.hidden

    @property
    def _in_class(self) -> bool:
        return self.class_state is not None

    @property
    def _is_final(self) -> bool:
        """Whether the result stands: in a class, the standings count it at once."""
        return self._in_class and self.over

    @property
    def _may_take_back(self) -> bool:
        return self.table.version < MAX_CHANGES and self.may_continue

    @property
    def _in_match(self) -> bool:
        """Whether this is a match, undecided, and no teacher has ended it."""
        return self.best_of is not None and not self.series_over and self.may_continue

    @property
    def _may_play_again(self) -> bool:
        """Whether another game may begin in this room."""
        return self._in_match or (self.number < MAX_GAMES and not self._in_class)

    def holds_all_people(self, held: Collection[int]) -> bool:
        """Whether these are the seats of all people in the room."""
        people = {number for number, seat in enumerate(self.seats) if seat.kind == "person"}
        return not self.waiting and bool(people) and people <= set(held)

    # What is done ---------------------------------------------------------------------------------

    def sit(self, name: str | None) -> tuple[Room, int]:
        """Take the free seat; return the room, and the seat's number."""
        kinds = [seat.kind for seat in self.seats]
        if "free" not in kinds:
            raise RoomError("taken", "both seats are taken, but you can watch")
        mine = kinds.index("free")
        other = self.seats[1 - mine]
        table, own_name = self.table, self.seats[mine].name
        if name is not None:
            if name.strip().casefold() == other.name.casefold():
                problem = f"the other player is already called {other.name}; choose another name"
                raise TableError(problem)
            names = check_player_names((name, other.name) if mine == 0 else (other.name, name))
            table, own_name = replace(table, names=names), names[mine]
        person = Seat("person", own_name)
        seats = (person, other) if mine == 0 else (other, person)
        return replace(self, table=table, seats=seats), mine

    def apply(  # noqa: C901, PLR0911 - a line for each action
        self, held: Collection[int], action: Action, gone_for: float = 0.0
    ) -> Room:
        """Return the room after an action of the client that holds these seats.

        A repeated action counts once. `gone_for` are the seconds for which the player to move has
        been gone.
        """
        if not held:
            raise RoomError("not_yours", "you are watching this game, so you cannot do that")
        if self._check_game(action):
            return self
        match action:
            case MakeOffer():
                return self._make_offer(held, action.kind)
            case Accept():
                return self._accept(held)
            case Decline():
                self._check(self.may_answer(held) or self.may_withdraw(held), "there is no offer")
                declined = None if self.may_withdraw(held) else self.offer
                return replace(self, offer=None, declined=declined)
            case TakeHint():
                return self._take_hint(held, action)
            case Rematch():
                self._check_game_count()
                casual = "the next game starts when this one is over and both players agree"
                in_class = "your next game starts when your teacher starts the next round"
                self._check(self.may_rematch(held), in_class if self._in_class else casual)
                return self._start_next_game()
            case Move():
                return self._move(held, action)
            case Undo():
                return self._undo(held, action)
            case Resign():
                # At one screen, the player to move resigns.
                loser = self.table.game.to_move if len(held) == 2 else next(iter(held))
                if self.table.declared == (1 - loser, "resigned"):
                    return self
                self._check(self.may_resign(held))
                return self._set_table(self.table.declare("resigned", loser))
            case Claim():
                return self._claim(held, gone_for)

    def _check_game(self, action: Action) -> bool:
        """Return whether an action led to this game from the one before.

        Any other action about an earlier game is stale.
        """
        if action.game in {None, self.number}:
            may = self.may_continue or self.over
            self._check(may, "your teacher has paused the game; it continues soon")
            return False
        kind = action.kind if isinstance(action, MakeOffer) else None
        agreed = isinstance(action, Rematch | Accept) or kind == "rematch"
        if action.game == self.number - 1 and agreed:
            return True
        raise StaleError(self.table)

    def _claim(self, held: Collection[int], gone_for: float) -> Room:
        absent = self.table.game.to_move
        if self.table.declared == (1 - absent, "forfeit") and absent not in held:
            return self
        problem = "a game can be claimed only if the player to move is gone for long"
        self._check(self.may_claim(held, gone_for), problem)
        return self._set_table(self.table.declare("forfeit", absent))

    def _take_hint(self, held: Collection[int], hint: TakeHint) -> Room:
        if hint.version != self.table.version:
            raise StaleError(self.table)
        problem = "there is no hint now: this game has none, or it is not your turn"
        self._check(self.may_hint(held), problem)
        # Only another person is told of hints.
        taken = HintTaken(hint.version, self.table.game.to_move, hint.step)
        if not self.is_watched(held) or taken in self.hints_taken:
            return self
        return replace(self, hints_taken=(*self.hints_taken, taken))

    def _move(self, held: Collection[int], move: Move) -> Room:
        if self.table.check_version(move.version, Change("place", move.block), held):
            return self
        if self.waiting:
            raise RoomError("waiting", "the other player is not here yet")
        if not self.over and self.table.game.to_move not in held:
            raise RoomError("not_now", f"it is {self.seats[self.table.game.to_move].name}'s turn")
        return self._set_table(self.table.play(move.block))

    def _undo(self, held: Collection[int], undo: Undo) -> Room:
        # A repeated undo counts once, however many moves it took back.
        if self.table.check_version(undo.version, Change("undo", 1), held):
            return self
        if not self.holds_all_people(held):
            raise RoomError("not_now", "the other player has to agree first; offer to undo")
        self._check(not self._is_final, "the game is over, and its result counts in the class")
        problem = "too many moves were undone in this game, so no more can be undone"
        self._check(self._may_take_back, problem)
        self._check(self.table.may_undo, "there is no move to undo")
        return self._set_table(self.table.undo())

    def _make_offer(self, held: Collection[int], kind: OfferKind) -> Room:
        if kind == "rematch":
            self._check_game_count()
        if self.offer is not None and self.offer.kind == kind:
            if self.may_withdraw(held):
                return self
            # Two who offer each other a rematch agree.
            if kind == "rematch":
                return self._accept(held)
        self._check(self.may_offer(held, kind))
        return replace(self, offer=Offer(kind, next(iter(held))), declined=None)

    def _accept(self, held: Collection[int]) -> Room:
        if self.offer is None or not self.may_answer(held):
            raise RoomError("not_now", "the other player has not offered anything")
        if self.offer.kind == "rematch":
            return self._start_next_game()
        return self._set_table(self.table.undo(self.offer.seat))

    def _start_next_game(self) -> Room:
        """Return the room with a next game, which the other player begins."""
        game = Game(self.table.game.rules, self.next_starter)
        room = self._set_table(replace(self.table, game=game, declared=None, log=()))
        # A decided match is followed by a new one.
        winners = () if self.series_over else self.results
        return replace(room, number=self.number + 1, winners=winners, hints_taken=())

    def _set_table(self, table: Table) -> Room:
        """Return the room with a changed table; that ends any offer."""
        return replace(self, table=table, offer=None, declined=None, remark="")

    def _check_game_count(self) -> None:
        limit = f"{MAX_GAMES} games were played here, which is the limit"
        may = not self.over or self._may_play_again or self._in_class
        self._check(may, f"{limit}; open a new room to continue")

    def _check(self, may: object, otherwise: str = "that cannot be done now") -> None:
        if not may:
            raise RoomError("not_now", otherwise)
