"""The state of a room for programs, in the API and in events: what one reader may see."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field, TypeAdapter

from number_tower.coach.hints import HintText
from number_tower.engine import record
from number_tower.engine.position import Ending
from number_tower.engine.refusals import Refusal
from number_tower.engine.table import Table
from number_tower.rooms.room import OfferKind
from number_tower.store.rooms import Credentials, StoredRoom
from number_tower.web.http.schema import Described
from number_tower.words.voice import Reader, get_voice, narrate

MAX_LISTED_BLOCKS = 200
"""The state lists the blocks of a game that has at most this many."""

SeatNumber = Annotated[int, Field(ge=1, le=2)]


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
class ResultState:
    """How a game ended: the winner's seat (null for a draw), and why it was over."""

    winner: SeatNumber | None
    reason: Ending


@dataclass(frozen=True)
class OfferState:
    """What a player has offered."""

    kind: OfferKind
    seat: SeatNumber


@dataclass(frozen=True)
class TakenHint:
    """A hint that a player took against another.

    It says at which version of the game, and how much the hint showed.
    """

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
class RoomState(Described):
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
    result: ResultState | None
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
    hints_taken: list[TakenHint]
    """The hints of this game; none at one table or against a computer."""
    series: SeriesState
    hint: GivenHint | None = None
    """The hint, if the request asked for one."""


_STATE = TypeAdapter(RoomState)


def encode_event(stored: StoredRoom, credentials: Credentials | str | None = None) -> bytes:
    """Return the state of a room as a server-sent event."""
    state = encode_state(stored, credentials)
    return b"event: state\nid: %d\ndata: %s\n\n" % (stored.revision, state)


def encode_state(stored: StoredRoom, credentials: Credentials | str | None = None) -> bytes:
    """Return the state of a room as JSON, encoded once for all clients that read the same."""
    reader, encoded = Reader.of_seats(stored.find_seats(credentials)), stored.encoded
    if None not in encoded:
        # What all readers share is encoded only once; the rest is what is said.
        encoded[None] = _STATE.dump_json(_describe_room(stored, []), exclude={"said"})
    if reader not in encoded:
        said = json.dumps(_tell_last_change(stored.room.table, reader)).encode()
        encoded[reader] = b'%s,"said":%s}' % (encoded[None][:-1], said)
    return encoded[reader]


def describe_room(
    stored: StoredRoom,
    credentials: Credentials | str | None = None,
    hint: HintText | None = None,
) -> RoomState:
    """Return what the holder of these credentials, or else a spectator, may see of a room."""
    reader = Reader.of_seats(stored.find_seats(credentials))
    return _describe_room(stored, _tell_last_change(stored.room.table, reader), hint)


def _describe_room(stored: StoredRoom, said: list[str], hint: HintText | None = None) -> RoomState:
    room, table = stored.room, stored.room.table
    game, outcome, voice = table.game, table.outcome, get_voice(table.book)
    lists_blocks = not table.hidden and len(game.rules.blocks) <= MAX_LISTED_BLOCKS
    winner = None if outcome is None or outcome.winner is None else outcome.winner + 1
    players = [
        PlayerState(
            seat=place + 1,
            name=seat.name,
            kind=seat.kind,
            level=stored.game.seats.players[place],
            height=game.heights[place],
            top=game.position.tops[place] or None,
            tower=game.towers[place],
            left=table.left(place) if lists_blocks else None,
        )
        for place, seat in enumerate(room.seats)
    ]
    return RoomState(
        game=room.number,
        version=table.version,
        revision=stored.revision,
        rulebook=table.rulebook,
        title=voice.title,
        noun=voice.noun,
        rules=game.rules.to_dict(),
        record=record.to_line(table),
        hidden=table.hidden,
        first=game.first + 1,
        players=players,
        moves=game.moves,
        to_move=None if outcome is not None else game.to_move + 1,
        legal=table.legal if lists_blocks else None,
        refused=_list_refusals(table) if lists_blocks else None,
        result=outcome and ResultState(winner, outcome.reason),
        said=said,
        remark=room.remark,
        offer=room.offer and OfferState(room.offer.kind, room.offer.seat + 1),
        declined=room.declined and OfferState(room.declined.kind, room.declined.seat + 1),
        waiting=room.waiting,
        hints=room.hints_allowed,
        hints_taken=[
            TakenHint(taken.version, taken.seat + 1, taken.step) for taken in room.hints_taken
        ],
        series=SeriesState(len(room.winners) + 1, room.best_of, room.score, room.series_over),
        hint=hint and GivenHint(hint.texts, hint.more, hint.block),
    )


def _tell_last_change(table: Table, reader: Reader) -> list[str]:
    if table.log and table.log[-1].kind == "undo":
        messages = narrate(table, table.version, reader=reader)
    else:
        messages = get_voice(table.book, reader).tell(table)
    return [message.text.strip("\n") for message in messages]


def _list_refusals(table: Table) -> dict[int, Refusal]:
    """Return for each block that cannot be placed why not."""
    rules = table.game.rules
    if table.outcome is not None:
        return dict.fromkeys(rules.blocks, "over")
    refusals = table.game.position.refusals()
    return {block: reason for reason, mask in refusals for block in rules.numbers(mask)}
