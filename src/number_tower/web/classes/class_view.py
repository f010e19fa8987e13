"""A class as pages show it: its boards, pupils and standings, live events, and files to export."""

from __future__ import annotations

import csv
from collections.abc import AsyncGenerator, Hashable, Iterable
from contextlib import aclosing
from datetime import UTC, datetime, timedelta
from io import StringIO
from time import time
from typing import Any, NamedTuple

from markupsafe import Markup

from number_tower import record
from number_tower.class_actions import RIGHTS, Role, explain_no_round
from number_tower.classroom import Classroom, Pairing, Pupil
from number_tower.endings import label_ending
from number_tower.pairing import Standing
from number_tower.presence import Presence, judge_presence
from number_tower.store.classrooms import StoredClassroom
from number_tower.store.rooms import Credentials, StoredRoom
from number_tower.store.rows import StoredGame
from number_tower.text import format_count
from number_tower.voice import format_points
from number_tower.web.classes import Classes, ClassState
from number_tower.web.live import HEARTBEAT, KEEPALIVE, RECONNECT_HINT
from number_tower.web.pages import templates
from number_tower.web.view import RoomView

IDLE_MINUTES = 2
"""Minutes without a move after which a game counts as one that nobody moves in."""

ARRIVAL = timedelta(seconds=15)
"""How long the players of a new game count as here: their pages find it one after the other."""

TIE_BREAKS = {
    "buchholz": "Equal points: the points of all opponents, added up, decide (Buchholz). Strong opponents count more.",
    "head_to_head": "Equal points: the games that equal pupils played against each other decide (head-to-head).",
}
MAX_RENDERED = 1024
"""Boards that are remembered as HTML."""

POINTS = "A win is 1 point, a draw half a point. A round without an opponent is 1 point."


class Board(NamedTuple):
    """One game of a class, as the wall shows it."""

    pairing: Pairing
    names: tuple[str, str]
    view: RoomView | None
    idle: int
    """Full minutes without a move, if these are many."""
    presence: tuple[Presence, Presence] = ("here", "here")
    """Where the players are; computers are always here."""

    @property
    def status(self) -> str:
        """What happens there, in a few words."""
        if self.pairing.sits_out:
            return "sits out this round and gets the point"
        if self.view is None:
            return "This game is gone"
        if self.view.room.is_paused:
            return "Paused"
        if self.idle:
            return f"No move for {format_count(self.idle, 'minute')}"
        outcome = self.view.table.outcome
        if outcome is None:
            return f"{self.view.mover}'s turn"
        ended = "Draw" if outcome.winner is None else label_ending(outcome, self.names)
        return "Does not count" if self.pairing.cancelled else ended

    @property
    def kind(self) -> str:
        """The state for the style sheet; the status says the same in words."""
        if self.pairing.over:
            return "over"
        return "paused" if self.pairing.paused else "idle" if self.idle else "playing"

    @property
    def score(self) -> str:
        """The score of a match, if it has more than one game."""
        if self.view is None or self.view.room.best_of is None:
            return ""
        return " : ".join(str(format_points(points)) for points in self.view.room.score)


class ClassView:
    """A class as one visitor sees it."""

    def __init__(
        self,
        state: ClassState,
        role: Role,
        pupil: Pupil | None,
        path: str,
        only: int | None = None,
    ) -> None:
        self.state, self.stored, self.classroom = state, state.stored, state.classroom
        self.role, self.pupil = role, pupil
        """Who sees it, and which pupil that is."""
        self.only = only
        """The number of the one game that is shown large, if it is one."""
        self.settings = self.classroom.settings
        self.path = path
        """The address of the class for this visitor."""
        self.no_round = explain_no_round(self.classroom)
        """Why the next round cannot start; None if it can."""

    @property
    def boards(self) -> list[Board]:
        """The boards of the present games; the unfinished ones of earlier rounds first."""
        numbers = (
            [each.number for each in self.classroom.current] if self.only is None else [self.only]
        )
        return [make_board(self.state, number) for number in numbers]

    def render_board(self, board: Board) -> Markup:
        """Return a board as HTML."""
        return render_board(self.state, board.pairing.number)

    @property
    def standings(self) -> list[tuple[Standing, Pupil]]:
        """The standings, each with its pupil."""
        return [(each, self.classroom.get_pupil(each.player)) for each in self.classroom.standings]

    @property
    def explanation(self) -> str:
        """How points and the tie-break are counted."""
        return f"{POINTS} {TIE_BREAKS[self.settings.tie_break]}"

    @property
    def game_titles(self) -> list[str]:
        """The names of the games that are played."""
        return [choice.book.title.rstrip(":") for choice in self.settings.games]

    @property
    def round_title(self) -> str:
        """The name of the game of the present round; empty before the first round."""
        choice = self.classroom.round_game
        return "" if choice is None else choice.book.title.rstrip(":")

    @property
    def finished(self) -> list[Pairing]:
        """The games that are over, the newest first."""
        return [
            each
            for each in reversed(self.classroom.pairings)
            if each.over and each.number in self.stored.rooms
        ]

    def list_games(self, pupil: int) -> list[Pairing]:
        """Return the games of a pupil that are over, the newest first, and the rounds without one."""
        return [
            each
            for each in reversed(self.classroom.pairings)
            if each.over and each.has_pupil(pupil)
        ]

    def describe_pupil(self, pupil: Pupil) -> str:
        """Say what a pupil does now."""
        if pupil.state == "left":
            return "has left"
        pairing = self.classroom.find_pairing(pupil.number)
        if pairing is not None and not pairing.over:
            return "is playing"
        if pupil in self.classroom.waiting:
            return "is waiting"
        if pairing is not None and pairing.sits_out and pairing.round == self.classroom.round:
            return "sits out"
        return "is done"

    def describe_result(self, pairing: Pairing) -> str:
        """Say how a game ended, with the points of both."""
        if pairing.points is None:
            return "does not count"
        if pairing.sits_out:
            return str(format_points(pairing.points[0]))
        return " : ".join(str(format_points(points)) for points in pairing.points)


def make_board(state: ClassState, number: int) -> Board:
    """Return the board of a pairing."""
    pairing, room = state.classroom.get_pairing(number), state.rooms.get(number)
    view = None if room is None else RoomView(room, frozenset())
    idle, presence = _count_idle_minutes(pairing, room), _find_presence(state, pairing)
    return Board(pairing, state.classroom.get_names(pairing), view, idle, presence)


def compute_look(state: ClassState, number: int) -> Hashable:
    """Return what the board of a pairing shows: boards that are equal in this look the same."""
    pairing, room = state.classroom.get_pairing(number), state.rooms.get(number)
    names, idle = state.classroom.get_names(pairing), _count_idle_minutes(pairing, room)
    seen = None if room is None else (room.id, room.revision)
    return seen, pairing, names, idle, _find_presence(state, pairing)


def _find_presence(state: ClassState, pairing: Pairing) -> tuple[Presence, Presence]:
    room = state.rooms.get(pairing.number)
    if room is None or room.room.over:
        return "here", "here"
    if not room.room.table.game.moves and _get_silence(room) < ARRIVAL:
        return "here", "here"
    first, second = (judge_presence(sighting, time()) for sighting in room.seen)
    return first, "here" if pairing.level is not None else second


def _count_idle_minutes(pairing: Pairing, room: StoredRoom | None) -> int:
    if room is None or pairing.over or pairing.paused or room.room.over:
        return 0
    minutes = _get_silence(room) // timedelta(minutes=1)
    return minutes if minutes >= IDLE_MINUTES else 0


def _get_silence(room: StoredRoom) -> timedelta:
    """Return how long ago the last move was made, or the game began."""
    return datetime.now(UTC) - datetime.fromisoformat(room.game.changed)


_rendered: dict[tuple[int, int], tuple[Hashable, Markup]] = {}
"""Boards as HTML, by class and pairing, each with its look: they are rendered once for all pages and followers."""


def render_board(state: ClassState, number: int) -> Markup:
    """Return the board of a pairing as HTML in one line."""
    key, look = (state.stored.id, number), compute_look(state, number)
    if _rendered.get(key, (None, ""))[0] != look:
        macros: Any = templates.get_template("class_parts.html").module
        html = macros.board(make_board(state, number))
        _rendered[key] = look, Markup(" ".join(html.split()))  # noqa: S704 - the template has escaped it
        if len(_rendered) > MAX_RENDERED:
            del _rendered[next(iter(_rendered))]
    return _rendered[key][1]


# Live events ----------------------------------------------------------------------------------------------------------


async def stream_wall(
    classes: Classes, code: str, credentials: Credentials | None = None
) -> AsyncGenerator[bytes, None]:
    """Yield an event for every board that changes, and one when the rest of the page has changed.

    The page has the boards as they were when it was made: the first event makes it load again if they have changed.
    With credentials the stream ends when their holder has no right to the wall any more; spectators always have it.
    """
    yield RECONNECT_HINT
    sent_revision = 0
    sent: dict[int, Hashable] = {}
    async with aclosing(classes.follow(code, HEARTBEAT)) as states:
        async for state in states:
            looks = {number: compute_look(state, number) for number in state.rooms}
            events = []
            if state.stored.revision != sent_revision:
                role = None if credentials is None else state.stored.find_role(credentials)
                if role is not None and role not in RIGHTS["wall"]:
                    return
                events.append(_encode_state(state.revision))
            if sent_revision:
                changed = (number for number, look in looks.items() if look != sent.get(number))
                for number in changed:
                    board = render_board(state, number).encode()
                    events.append(b"event: board\ndata: %s\n\n" % board)
            sent_revision, sent = state.stored.revision, looks
            del state
            yield b"".join(events) or KEEPALIVE


async def stream_rounds(classes: Classes, code: str, pupil: int) -> AsyncGenerator[bytes, None]:
    """Yield an event whenever something changes that matters to a pupil, but not for every pupil who joins."""
    yield RECONNECT_HINT
    known: Hashable = None
    async with aclosing(classes.follow_rounds(code, HEARTBEAT)) as states:
        async for stored in states:
            classroom = stored.classroom
            mine = next((each for each in classroom.pupils if each.number == pupil), None)
            last = classroom.find_pairing(pupil)
            key = classroom.state, classroom.round, mine, last and (last.number, last.over)
            changed, known = key != known, key
            yield _encode_state(f"{stored.revision}") if changed else KEEPALIVE
            del stored, classroom


def _encode_state(revision: str) -> bytes:
    return f"event: state\nid: {revision}\ndata: {{}}\n\n".encode()


_FORMULA = ("=", "+", "-", "@", "\t", "\r")

# Files ----------------------------------------------------------------------------------------------------------------


def export_standings(classroom: Classroom) -> str:
    """Return the standings as CSV."""
    head = ("place", "name", "points", "buchholz", "head_to_head", "won", "drawn", "lost")
    rows = (
        (each.place, classroom.get_pupil(each.player).name, *each[2:])
        for each in classroom.standings
    )
    return _write_csv(head, rows)


def export_results(stored: StoredClassroom, games: Iterable[tuple[int, StoredGame]]) -> str:
    """Return all pairings as CSV, each with its games as records."""
    head = [
        "round",
        "board",
        "game",
        "first",
        "second",
        "points_first",
        "points_second",
        "ended_by",
        "records",
    ]
    played: dict[int, list[StoredGame]] = {}
    for number, game in games:
        played.setdefault(number, []).append(game)
    classroom = stored.classroom
    rows = [
        _describe_pairing(classroom, pairing, played.get(pairing.number, []))
        for pairing in classroom.pairings
    ]
    return _write_csv(head, rows)


def _describe_pairing(
    classroom: Classroom, pairing: Pairing, games: list[StoredGame]
) -> tuple[object, ...]:
    title = "" if pairing.sits_out else classroom.get_game(pairing).book.name
    outcome = games[-1].table.outcome if games else None
    ended: str = outcome.reason if outcome is not None else ""
    if pairing.cancelled:
        ended = "cancelled"
    elif pairing.sits_out:
        ended = "sits out"
    names, points = classroom.get_names(pairing), pairing.points or ("", "")
    lines = " | ".join(record.to_line(game.table) for game in games)
    return pairing.round, pairing.number, title, *names, *points, ended, lines


def _write_csv(head: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
    """Write a table; texts that a spreadsheet would take for a formula get an apostrophe in front."""
    text = StringIO()
    writer = csv.writer(text)
    writer.writerow(head)
    for row in rows:
        writer.writerow([f"'{cell}" if str(cell).startswith(_FORMULA) else cell for cell in row])
    return text.getvalue()
