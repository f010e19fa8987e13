"""The state of a room as programs get it: what one reader may see, in the API and in events."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import ConfigDict, Field, TypeAdapter

from number_tower import record
from number_tower.coach.hints import HintText
from number_tower.position import Ending, Refusal
from number_tower.room import Offer, OfferKind
from number_tower.store.rooms import Credentials, StoredRoom
from number_tower.table import Table
from number_tower.voice import Reader, get_voice, narrate

MOST_LISTED_BLOCKS = 200
"""Blocks of a game up to which the state lists them."""

SeatNumber = Annotated[int, Field(ge=1, le=2)]


class Described:
    """Lets the docstrings of an object's fields describe them in openapi.json."""

    __pydantic_config__ = ConfigDict(use_attribute_docstrings=True)


@dataclass(frozen=True)
class PlayerState(Described):
    """A seat and its tower."""

    seat: SeatNumber
    name: str
    kind: Literal["person", "computer", "free"]
    level: str | None
    """How strong the computer is."""
    height: int
    top: int | None
    tower: tuple[int, ...]
    left: tuple[int, ...] | None
    """The blocks that the player can still use; null if they are hidden or too many to list."""


@dataclass(frozen=True)
class Result:
    """How a game ended: the winner's seat (null for a draw), and why it was over."""

    winner: SeatNumber | None
    reason: Ending


@dataclass(frozen=True)
class OfferState:
    """What a player has offered."""

    kind: OfferKind
    seat: SeatNumber


@dataclass(frozen=True)
class HintState:
    """A hint that a player took against another: at which version of the game, and how much it showed."""

    version: int
    seat: SeatNumber
    step: int


@dataclass(frozen=True)
class SeriesState:
    """The games in this room so far, and the points of each seat."""

    number: int
    best_of: int | None
    score: tuple[float, float]
    over: bool


@dataclass(frozen=True)
class GivenHint(Described):
    """A hint for the player to move."""

    texts: tuple[str, ...]
    """One text for each step."""
    more: bool
    """Whether there is another step."""
    block: int | None
    """The recommended block, from the second step on."""


@dataclass(frozen=True)
class State(Described):
    """What its reader may see of a game: the holder of the token that was sent, or a spectator."""

    game: int
    """The number of the game in this room, from 1."""
    version: int
    """Rises with every change of the game; a move names the version that it answers."""
    revision: int
    """Rises with everything that happens in the room; also the id of the event."""
    rulebook: str
    """The name of the game."""
    title: str
    noun: str
    """What a block is called in this game."""
    rules: dict[str, str | int]
    record: str
    """The game on one line."""
    hidden: bool
    first: SeatNumber
    """Who started."""
    players: list[PlayerState]
    moves: tuple[int, ...]
    to_move: SeatNumber | None
    legal: tuple[int, ...] | None
    """The blocks that can be placed now; null if they are hidden or too many to list."""
    refused: dict[int, Refusal] | None
    """Why each of the other blocks cannot be placed."""
    result: Result | None
    said: list[str]
    """What was said of the last change and of the turn or the end, in words for the reader."""
    remark: str
    """What a computer says about its last move."""
    offer: OfferState | None
    declined: OfferState | None
    """The last offer, if it was declined and nothing has happened since."""
    waiting: bool
    """Whether a seat is still free."""
    hints: bool
    """Whether players may ask for hints."""
    hints_taken: list[HintState]
    """The hints of this game; none at one table or against a computer."""
    series: SeriesState
    hint: GivenHint | None = None
    """The hint, if the request asked for one."""


_STATE = TypeAdapter(State)


def encode_event(stored: StoredRoom, credentials: Credentials | str | None = None) -> bytes:
    """Return the state of a room as a server-sent event."""
    return b"event: state\nid: %d\ndata: %s\n\n" % (
        stored.revision,
        encode_state(stored, credentials),
    )


def encode_state(stored: StoredRoom, credentials: Credentials | str | None = None) -> bytes:
    """Return the state of a room as JSON, encoded once for all clients that read the same."""
    reader, encoded = Reader.of_seats(stored.find_seats(credentials)), stored.encoded
    if None not in encoded:
        # What all readers share is encoded only once; the rest is what is said.
        encoded[None] = _STATE.dump_json(describe_room(stored), exclude={"said"})
    if reader not in encoded:
        said = json.dumps(_tell_last_change(stored.room.table, reader)).encode()
        encoded[reader] = b'%s,"said":%s}' % (encoded[None][:-1], said)
    return encoded[reader]


def describe_room(
    stored: StoredRoom,
    credentials: Credentials | str | None = None,
    hint: HintText | None = None,
) -> State:
    """Return what the holder of these credentials may see of a room; without them, what spectators may."""
    reader = Reader.of_seats(stored.find_seats(credentials))
    room, table = stored.room, stored.room.table
    game, outcome, voice = table.game, table.outcome, get_voice(table.book)
    lists_blocks = not table.hidden and len(game.rules.blocks) <= MOST_LISTED_BLOCKS
    return State(
        game=room.number,
        version=table.version,
        revision=stored.revision,
        rulebook=table.rulebook,
        title=voice.title,
        noun=voice.noun,
        rules=game.rules.written(),
        record=record.to_line(table),
        hidden=table.hidden,
        first=game.first + 1,
        players=[_describe_player(stored, place, lists_blocks=lists_blocks) for place in (0, 1)],
        moves=game.moves,
        to_move=None if outcome is not None else game.to_move + 1,
        legal=table.legal if lists_blocks else None,
        refused=_list_refusals(table) if lists_blocks else None,
        result=outcome
        and Result(None if outcome.winner is None else outcome.winner + 1, outcome.reason),
        said=_tell_last_change(table, reader),
        remark=room.remark,
        offer=_describe_offer(room.offer),
        declined=_describe_offer(room.declined),
        waiting=room.waiting,
        hints=room.hints_allowed,
        hints_taken=[
            HintState(taken.version, taken.seat + 1, taken.step) for taken in room.hints_taken
        ],
        series=SeriesState(len(room.winners) + 1, room.best_of, room.score, room.series_over),
        hint=hint and GivenHint(hint.texts, hint.more, hint.block),
    )


def _tell_last_change(table: Table, reader: Reader) -> list[str]:
    told = get_voice(table.book, reader).tell(table)
    if table.log and table.log[-1].kind == "undo":
        told = narrate(table, table.version, reader=reader)
    return [message.text.strip("\n") for message in told]


def _describe_offer(offer: Offer | None) -> OfferState | None:
    return offer and OfferState(offer.kind, offer.seat + 1)


def _describe_player(stored: StoredRoom, place: int, *, lists_blocks: bool) -> PlayerState:
    table, seat = stored.room.table, stored.room.seats[place]
    return PlayerState(
        seat=place + 1,
        name=seat.name,
        kind=seat.kind,
        level=stored.game.seats.players[place],
        height=table.game.heights[place],
        top=table.game.position.tops[place] or None,
        tower=table.game.towers[place],
        left=table.left(place) if lists_blocks else None,
    )


def _list_refusals(table: Table) -> dict[int, Refusal]:
    """Return for each block that cannot be placed why not."""
    rules = table.game.rules
    if table.outcome is not None:
        return dict.fromkeys(rules.blocks, "over")
    return {
        block: reason
        for reason, mask in table.game.position.refusals()
        for block in rules.numbers(mask)
    }
