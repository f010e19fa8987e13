"""A room: a table whose seats are held by people wherever they are, what they may do there, and what they offer."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, NamedTuple

from number_tower.game import Game
from number_tower.match import Match, compute_score
from number_tower.table import Change, StaleError, Table, TableError, check_player_names

if TYPE_CHECKING:
    from collections.abc import Collection

OfferKind = Literal["takeback", "rematch"]
Reason = Literal["not_yours", "not_now", "waiting", "taken"]


class RoomError(ValueError):
    """Something that cannot be done in a room, or not by whoever tried: why, for programs and in words."""

    def __init__(self, reason: Reason, message: str) -> None:
        super().__init__(reason, message)
        self.reason = reason
        self.message = message

    def __str__(self) -> str:
        return self.message


class Seat(NamedTuple):
    """Who sits there, and what they are called, or will be."""

    kind: Literal["person", "computer", "free"]
    name: str


class Offer(NamedTuple):
    """What the player of a seat has offered, and the other has not answered yet."""

    kind: OfferKind
    seat: int


class Move(NamedTuple):
    """Place a block, in answer to a version of the table; of which game in the room, if not of the last."""

    version: int
    block: int
    game: int | None = None


class Undo(NamedTuple):
    """Take a move back at once, where nobody else has to agree."""

    version: int
    game: int | None = None


class Resign(NamedTuple):
    """Give the game up."""

    game: int | None = None


class MakeOffer(NamedTuple):
    """Offer something to the other player."""

    kind: OfferKind
    game: int | None = None


class Accept(NamedTuple):
    """Accept what the other player offers."""

    game: int | None = None


class Decline(NamedTuple):
    """Decline what the other player offers, or withdraw what was offered."""

    game: int | None = None


class Rematch(NamedTuple):
    """Begin the next game, where nobody else has to agree."""

    game: int | None = None


MOST_CHANGES = 5_000
"""Changes at one table after which none is taken back any more: all of them are kept, and told."""

MOST_GAMES = 500
"""Games in one room, after which a match that has begun is finished and no other game begins: all of them are kept."""

Action = Move | Undo | Resign | MakeOffer | Accept | Decline | Rematch


@dataclass(frozen=True)
class Room:
    """A table and its seats, the games that were played there before, and an offer that waits for an answer.

    Whoever acts says which seats they hold: none, one, or both of a table that two people share. Nobody else has to
    agree where all people in the room are one hand.
    """

    table: Table
    seats: tuple[Seat, Seat]
    number: int = 1
    """Which game in this room it is."""

    best_of: int | None = None
    """How long a match is; None: people play as often as they like."""

    winners: tuple[int | None, ...] = ()
    """Who won the earlier games of the match, or of all in the room; None: drawn."""

    hints: bool = True
    offer: Offer | None = None
    declined: Offer | None = None
    """What was offered last and declined, until something else happens."""

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
        """Who won each game of the series, this one too if it is over."""
        outcome = self.table.outcome
        return self.winners if outcome is None else (*self.winners, outcome.winner)

    @property
    def score(self) -> tuple[float, float]:
        """The points of each seat."""
        return compute_score(self.results)

    @property
    def series_over(self) -> bool:
        """Whether it is a match that is decided."""
        return self.best_of is not None and Match(self.best_of, winners=self.results).over

    @property
    def next_starter(self) -> int:
        """Who begins the next game: the one who did not begin this."""
        return 1 - self.table.game.first

    # What may be done -------------------------------------------------------------------------------------------------

    def may_move(self, held: Collection[int]) -> bool:
        """Whether it is their turn."""
        return not self.waiting and not self.over and self.table.game.to_move in held

    def may_undo(self, held: Collection[int]) -> bool:
        """Whether they can take a move back without asking."""
        return self._holds_all_people(held) and self.table.may_undo and self._may_take_back

    def may_resign(self, held: Collection[int]) -> bool:
        """Whether they can give the game up."""
        return bool(held) and not self.waiting and not self.over

    def may_offer(self, held: Collection[int], kind: OfferKind) -> bool:
        """Whether there is somebody to offer this to, and something to offer."""
        if len(held) != 1 or self.waiting or self.offer is not None or self._holds_all_people(held):
            return False
        (seat,) = held
        if kind == "rematch":
            return self.over and not self.may_rematch(held) and self._may_play_again
        return not self.over and seat in self.table.game.movers and self._may_take_back

    def may_answer(self, held: Collection[int]) -> bool:
        """Whether something is offered to them."""
        return self.offer is not None and bool(held) and self.offer.seat not in held

    def may_withdraw(self, held: Collection[int]) -> bool:
        """Whether what is offered was offered by them."""
        return self.offer is not None and self.offer.seat in held

    def may_rematch(self, held: Collection[int]) -> bool:
        """Whether they can begin the next game without asking: a match was agreed on as a whole."""
        return bool(held) and self.over and (self._in_match or (self._holds_all_people(held) and self._may_play_again))

    def may_hint(self, held: Collection[int]) -> bool:
        """Whether they can be helped."""
        return self.hints_allowed and self.may_move(held)

    @property
    def hints_allowed(self) -> bool:
        """Whether help can be had here: in casual games, unless it was not wanted, and where nothing is hidden."""
        return self.hints and self.best_of is None and not self.table.hidden

    @property
    def _may_take_back(self) -> bool:
        return self.table.version < MOST_CHANGES

    @property
    def _in_match(self) -> bool:
        """Whether it is a match that is not decided."""
        return self.best_of is not None and not self.series_over

    @property
    def _may_play_again(self) -> bool:
        """Whether there may be another game in this room."""
        return self._in_match or self.number < MOST_GAMES

    def _holds_all_people(self, held: Collection[int]) -> bool:
        """Whether all people in the room are whoever holds these seats."""
        people = {place for place, seat in enumerate(self.seats) if seat.kind == "person"}
        return not self.waiting and bool(people) and people <= set(held)

    # What is done -----------------------------------------------------------------------------------------------------

    def sit(self, name: str | None) -> tuple[Room, int]:
        """Take the free seat; return the room with somebody there, and which seat it is."""
        free = [place for place, seat in enumerate(self.seats) if seat.kind == "free"]
        if not free:
            raise RoomError("taken", "both seats are taken; you can watch")
        place = free[0]
        room = self if name is None else self._rename_seat(place, name)
        seats = tuple(Seat("person", seat.name) if at == place else seat for at, seat in enumerate(room.seats))
        return replace(room, seats=(seats[0], seats[1])), place

    def _rename_seat(self, place: int, name: str) -> Room:
        other = self.seats[1 - place].name
        if name.strip().casefold() == other.casefold():
            raise TableError(f"the other player is called {other}; choose another name")
        names = check_player_names((name, other) if place == 0 else (other, name))
        seats = Seat(self.seats[0].kind, names[0]), Seat(self.seats[1].kind, names[1])
        return replace(self, table=replace(self.table, names=names), seats=seats)

    def apply(self, held: Collection[int], action: Action) -> Room:
        """Return the room once something was done by whoever holds these seats; what was done already counts once."""
        if not held:
            raise RoomError("not_yours", "you hold no seat here; you can watch")
        room = self
        if self._was_done_before(action):
            return room
        match action:
            case Move():
                room = self._move(held, action)
            case Undo():
                room = self._undo(held, action)
            case Resign():
                room = self._resign(held)
            case MakeOffer(kind, _):
                room = self._make_offer(held, kind)
            case Accept():
                room = self._accept(held)
            case Decline():
                room = self._decline(held)
            case Rematch():
                self._check_game_count()
                self._check(self.may_rematch(held), "the next game begins when this one is over and both agree")
                room = self._start_next_game()
        return room

    def _was_done_before(self, action: Action) -> bool:
        """Say whether an action was done already: the next game has begun. Others about an earlier game are late."""
        if action.game in {None, self.number}:
            return False
        agreed = isinstance(action, Rematch | Accept) or (isinstance(action, MakeOffer) and action.kind == "rematch")
        if action.game == self.number - 1 and agreed:
            return True
        raise StaleError(self.table)

    def _resign(self, held: Collection[int]) -> Room:
        loser = self.table.game.to_move if len(held) == 2 else next(iter(held))
        if self.table.declared == (1 - loser, "resigned"):
            return self
        self._check(self.may_resign(held))
        return self._set_table(self.table.declare("resigned", loser))

    def _move(self, held: Collection[int], move: Move) -> Room:
        if self.table.is_repeated(move.version, Change("place", move.block), held):
            return self
        if self.waiting:
            raise RoomError("waiting", "nobody has taken the other seat yet")
        if not self.over and self.table.game.to_move not in held:
            raise RoomError("not_now", f"it is {self.seats[self.table.game.to_move].name}'s turn")
        return self._set_table(self.table.play(move.block))

    def _undo(self, held: Collection[int], undo: Undo) -> Room:
        if self.table.is_repeated(undo.version, Change("undo", 1), held):
            return self
        if not self._holds_all_people(held):
            raise RoomError("not_now", "the other player has to agree; offer a takeback")
        self._check(self._may_take_back, "so much was taken back here that no more can be")
        return self._set_table(self.table.undo())

    def _make_offer(self, held: Collection[int], kind: OfferKind) -> Room:
        if kind == "rematch":
            self._check_game_count()
        if self.offer is not None and self.offer.kind == kind and (self.may_withdraw(held) or kind == "rematch"):
            return self if self.may_withdraw(held) else self._accept(held)
        self._check(self.may_offer(held, kind))
        return replace(self, offer=Offer(kind, next(iter(held))), declined=None)

    def _decline(self, held: Collection[int]) -> Room:
        self._check(self.may_answer(held) or self.may_withdraw(held), "nothing is offered")
        return replace(self, offer=None, declined=None if self.may_withdraw(held) else self.offer)

    def _accept(self, held: Collection[int]) -> Room:
        if self.offer is None or not self.may_answer(held):
            raise RoomError("not_now", "nothing is offered to you")
        if self.offer.kind == "rematch":
            return self._start_next_game()
        return self._set_table(self.table.undo(self.offer.seat))

    def _start_next_game(self) -> Room:
        """Begin the next game: the other player begins, and a match that is decided is followed by another."""
        table = self.table
        following = replace(table, game=Game(table.game.rules, self.next_starter), declared=None, log=())
        winners = () if self.series_over else self.results
        return replace(self._set_table(following), number=self.number + 1, winners=winners)

    def _set_table(self, table: Table) -> Room:
        """Return the room once something was done at the table: with that, offers and their answers are over."""
        return replace(self, table=table, offer=None, declined=None)

    def _check_game_count(self) -> None:
        most = f"{MOST_GAMES} games were played here, and there can be no more; open a new room to play on"
        self._check(not self.over or self._may_play_again, most)

    def _check(self, may: bool, otherwise: str = "that cannot be done now") -> None:  # noqa: FBT001 - the one thing it checks
        if not may:
            raise RoomError("not_now", otherwise)
