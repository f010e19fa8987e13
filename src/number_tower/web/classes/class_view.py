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

from number_tower.engine import record
from number_tower.engine.table import Table
from number_tower.rooms.actions import RIGHTS, Role, explain_no_round
from number_tower.rooms.classroom import Classroom, Pairing, Pupil
from number_tower.rooms.presence import Presence, judge_presence
from number_tower.store.classrooms import StoredClassroom
from number_tower.store.rooms import Credentials
from number_tower.store.rows import StoredGame
from number_tower.support.text import format_count
from number_tower.web.board.templates import environment
from number_tower.web.board.view import GameView
from number_tower.web.classes.registry import Classes, ClassState
from number_tower.web.live.events import HEARTBEAT, KEEPALIVE, RECONNECT_HINT
from number_tower.web.pages.room_view import view_room
from number_tower.words.endings import label_ending
from number_tower.words.voice import format_points

IDLE_MINUTES = 2
"""Minutes without a move after which a game counts as one that nobody moves in."""

ARRIVAL = timedelta(seconds=15)
"""How long the players of a new game count as here: their pages find it one after the other."""

MAX_RENDERED = 1024
"""Boards that are remembered as HTML."""


class ClassBoard(NamedTuple):
    """One game of a class, as the wall shows it."""

    pairing: Pairing
    names: tuple[str, str]
    room: tuple[int, int] | None
    """The id and the revision of its room: boards that are equal look the same."""
    idle: int
    """Full minutes without a move, if these are many."""
    presence: tuple[Presence, Presence]
    """Where the players are; computers are always here."""
    view: GameView | None = None
    """The game, where the board is drawn."""

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
        """The number of a game that is shown alone, and large; None: all games."""
        self.path = path
        """The address of the class for this visitor."""
        self.no_round = explain_no_round(self.classroom)
        """Why the next round cannot start; None if it can."""

    @property
    def boards(self) -> list[ClassBoard]:
        """The boards of the present games; the unfinished ones of earlier rounds first."""
        if self.only is not None:
            return [draw_board(self.state, self.only)]
        return [draw_board(self.state, pairing.number) for pairing in self.classroom.current]

    @property
    def game_titles(self) -> list[str]:
        """The names of the games that are played."""
        return [choice.book.title.rstrip(":") for choice in self.classroom.settings.games]

    @property
    def round_title(self) -> str:
        """The name of the game of the present round; empty before the first round."""
        choice = self.classroom.round_game
        return "" if choice is None else choice.book.title.rstrip(":")

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
        points = pairing.points[:1] if pairing.sits_out else pairing.points
        return " : ".join(str(format_points(score)) for score in points)


def make_board(state: ClassState, number: int) -> ClassBoard:
    """Return the board of a pairing, without its view."""
    pairing, stored = state.classroom.get_pairing(number), state.rooms.get(number)
    names = state.classroom.get_names(pairing)
    here: tuple[Presence, Presence] = "here", "here"
    if stored is None:
        return ClassBoard(pairing, names, None, 0, here)
    key = stored.id, stored.revision
    if stored.room.over:
        return ClassBoard(pairing, names, key, 0, here)
    silence = datetime.now(UTC) - datetime.fromisoformat(stored.game.changed)
    minutes = 0 if pairing.over or pairing.paused else silence // timedelta(minutes=1)
    idle = minutes if minutes >= IDLE_MINUTES else 0
    if not stored.room.table.game.moves and silence < ARRIVAL:
        return ClassBoard(pairing, names, key, idle, here)
    first, second = (judge_presence(sighting, time()) for sighting in stored.seen)
    if pairing.level is not None:
        second = "here"
    return ClassBoard(pairing, names, key, idle, (first, second))


def draw_board(state: ClassState, number: int) -> ClassBoard:
    """Return the board of a pairing with the view of its game."""
    room = state.rooms.get(number)
    return make_board(state, number)._replace(view=None if room is None else view_room(room))


_rendered: dict[tuple[int, int], tuple[ClassBoard, Markup]] = {}
"""Boards as HTML by class and pairing, rendered once for all pages and followers."""


def render_board(state: ClassState, number: int) -> Markup:
    """Return the board of a pairing as HTML in one line."""
    key, board = (state.stored.id, number), make_board(state, number)
    if key not in _rendered or _rendered[key][0] != board:
        macros: Any = environment.get_template("class_parts.html").module
        html = macros.board(draw_board(state, number))
        line = Markup(" ".join(html.split()))  # noqa: S704 - the template has escaped it
        _rendered[key] = board, line
        # The first is the board that was rendered first.
        if len(_rendered) > MAX_RENDERED:
            del _rendered[next(iter(_rendered))]
    return _rendered[key][1]


environment.globals["render_board"] = render_board

# Live events ------------------------------------------------------------------------------------


async def stream_wall(
    classes: Classes, code: str, credentials: Credentials | None = None
) -> AsyncGenerator[bytes, None]:
    """Yield an event for every board that changes, and one when the rest of the page has changed.

    The page has the boards as they were when it was made: the first event makes it load again if
    they have changed. With credentials the stream ends when their holder loses the right to the
    wall; spectators always have it.
    """
    yield RECONNECT_HINT
    sent_revision = 0
    sent: dict[int, ClassBoard] = {}
    async with aclosing(classes.follow(code, HEARTBEAT)) as states:
        async for state in states:
            boards = {number: make_board(state, number) for number in state.rooms}
            events = []
            if state.stored.revision != sent_revision:
                role = None if credentials is None else state.stored.find_role(credentials)
                if role is not None and role not in RIGHTS["wall"]:
                    return
                events.append(_encode_state(state.revision))
            if sent_revision:
                for number, board in boards.items():
                    if board != sent.get(number):
                        html = render_board(state, number).encode()
                        events.append(b"event: board\ndata: %s\n\n" % html)
            sent_revision, sent = state.stored.revision, boards
            # A stream that waits keeps no class in memory.
            del state
            yield b"".join(events) or KEEPALIVE


async def stream_rounds(classes: Classes, code: str, pupil: int) -> AsyncGenerator[bytes, None]:
    """Yield an event for each change that matters to a pupil, not for every pupil who joins."""
    yield RECONNECT_HINT
    sent: Hashable = None
    async with aclosing(classes.follow_rounds(code, HEARTBEAT)) as states:
        async for stored in states:
            classroom = stored.classroom
            mine = next((member for member in classroom.pupils if member.number == pupil), None)
            last = classroom.find_pairing(pupil)
            key = classroom.state, classroom.round, mine, last and (last.number, last.over)
            changed, sent = key != sent, key
            yield _encode_state(f"{stored.revision}") if changed else KEEPALIVE
            # A stream that waits keeps no class in memory.
            del stored, classroom


def _encode_state(revision: str) -> bytes:
    return f"event: state\nid: {revision}\ndata: {{}}\n\n".encode()


# Files ------------------------------------------------------------------------------------------


def export_standings(classroom: Classroom) -> str:
    """Return the standings as CSV."""
    head = ("place", "name", "points", "buchholz", "head_to_head", "won", "drawn", "lost")
    rows = []
    for standing in classroom.standings:
        name = classroom.get_pupil(standing.player).name
        rows.append((standing.place, name, *standing[2:]))
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
    tables: dict[int, list[Table]] = {}
    for number, game in games:
        tables.setdefault(number, []).append(game.table)
    classroom = stored.classroom
    rows = []
    for pairing in classroom.pairings:
        played = tables.get(pairing.number, [])
        outcome = played[-1].outcome if played else None
        ended: str = outcome.reason if outcome is not None else ""
        if pairing.cancelled:
            ended = "cancelled"
        elif pairing.sits_out:
            ended = "sits out"
        title = "" if pairing.sits_out else classroom.get_game(pairing.round).book.name
        names, points = classroom.get_names(pairing), pairing.points or ("", "")
        lines = " | ".join(record.to_line(table) for table in played)
        rows.append((pairing.round, pairing.number, title, *names, *points, ended, lines))
    return _write_csv(head, rows)


def _write_csv(head: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
    text = StringIO()
    writer = csv.writer(text)
    writer.writerow(head)
    # An apostrophe keeps a spreadsheet from taking a name for a formula.
    formula = ("=", "+", "-", "@", "\t", "\r")
    for row in rows:
        writer.writerow([f"'{cell}" if str(cell).startswith(formula) else cell for cell in row])
    return text.getvalue()
