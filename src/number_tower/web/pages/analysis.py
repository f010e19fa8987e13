"""The analysis page: any game or position, by its one-line record in the address."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlencode

from fastapi import APIRouter, Request
from fastapi.responses import RedirectResponse, Response

from number_tower import catalogue, record
from number_tower.players import LEVELS
from number_tower.record.line import EXAMPLE
from number_tower.table import Table
from number_tower.voice import Voice
from number_tower.web import charts, drawing, limits, tasks
from number_tower.web.limits import GAME_TIMEOUT, POSITION_TIMEOUT
from number_tower.web.lobby import Lobby, NewRoom
from number_tower.web.middleware.browser_cookie import get_browser_session
from number_tower.web.pages import read_form, render_page
from number_tower.web.questions import UnansweredError, add_retry_header, ask_cached, read_record
from number_tower.web.quota import admit_room
from number_tower.web.tasks import UnreadableRecordError
from number_tower.web.workers import BusyError

if TYPE_CHECKING:
    from number_tower.catalogue import Rulebook
    from number_tower.coach.analysis import PositionAnalysis
    from number_tower.web.tasks import GameReviewText

router = APIRouter()

MOST_ADDRESSES, FEWEST_SHOWN = 100_000, 10
"""Characters of all links to the moves of a position, and moves that are linked all the same."""

_EXAMPLE = EXAMPLE.removeprefix("such as ")


class NavigationLink(NamedTuple):
    """A way through the game; without an address where it leads nowhere."""

    word: str
    rel: str
    address: str | None


@router.get("/analysis")
async def show_analysis(request: Request, game: str = "", ply: str = "") -> Response:
    """Show a position of a game, what every move there is worth, and how the game went."""
    if not game.strip():
        return _render_form(request)
    try:
        table, book = await read_record(request, game)
    except UnreadableRecordError as wrong:
        return _render_form(request, game, str(wrong), 400)
    except BusyError as busy:
        return add_retry_header(_render_form(request, game, str(busy), 503))
    at = _parse_ply(ply, len(table.game.moves))
    here = restore_position(table, at)
    line = record.to_line(table)
    voice = Voice(book)
    names = voice.get_name(table, 0), voice.get_name(table, 1)
    secret = table.secret
    context: dict[str, Any] = {
        "book": book,
        "voice": voice,
        "table": here,
        "names": names,
        "line": line,
        "here_line": record.to_line(here),
        "at": at,
        "last": len(table.game.moves),
        "towers": drawing.draw_towers(here, names),
        "steps": list_steps(line, at, len(table.game.moves)),
        "levels": LEVELS.values(),
        "secret": secret,
        "mover": here.game.to_move,
        "over": here.game.outcome is not None,
        "example": _EXAMPLE,
    }
    if secret:
        return render_page(request, "analysis.html", **context)
    status, analysed, missing, reviewed, unreviewed = 200, None, "", None, ""
    try:
        analysed = await _ask_analysis(request, here, book)
    except UnansweredError as unanswered:
        status, missing = unanswered.status, unanswered.message
    if table.game.moves and status == 200:  # a server that is too busy for one question is not asked another
        try:
            reviewed = await _ask_review(request, table, book)
        except UnansweredError as unanswered:
            status, unreviewed = unanswered.status, unanswered.message
    played = table.game.moves[at] if at < len(table.game.moves) else None
    context |= {"analysis": analysed, "missing": missing, "reviewed": reviewed, "unreviewed": unreviewed}
    if analysed is not None:
        before = build_analysis_url(context["here_line"] + ("," if at else ""))
        most = max(FEWEST_SHOWN, MOST_ADDRESSES // len(before))
        links = {played: build_analysis_url(line, at + 1)}
        context["options"] = charts.list_options(
            analysed, lambda block: links.get(block) or f"{before}{block}&ply={at + 1}", played, most
        )
    if reviewed is not None:
        draws = table.game.rules.stuck == "skips"
        game = build_analysis_url(line)
        context["values"] = charts.draw_value_line(reviewed, names, at, lambda each: f"{game}&ply={each}", draws=draws)
        context["moves"] = tuple((move, f"{game}&ply={move.ply}") for move in reviewed.moves)
    return add_retry_header(render_page(request, "analysis.html", status=status, **context))


@router.post("/analysis/play")
async def play_on(request: Request) -> Response:
    """Open a room against the computer that goes on from a position; whoever asks plays the seat chosen."""
    form = await read_form(request)
    game, level, seat = (str(form.get(field, "")) for field in ("game", "level", "seat"))
    try:
        table, book = await read_record(request, game)
    except UnreadableRecordError as wrong:
        return _render_form(request, game, str(wrong), 400)
    if table.game.outcome is not None:
        return _render_form(
            request, game, "That game is over: there is nothing to play on from. Choose an earlier move.", 400
        )
    if level not in LEVELS:
        return _render_form(request, game, f"Choose one of the levels: {', '.join(LEVELS)}.", 400)
    lobby: Lobby = request.app.state.lobby
    session = get_browser_session(request)
    wish = NewRoom(book, arrange_seats(table, seat == "2"), "computer", level)
    with admit_room(request, wish):
        known, _ = await lobby.open_room(wish, session.current.secret)
    session.renew()
    await lobby.wait_for_computer(known)
    return RedirectResponse(f"/g/{known.address}", 303)


def build_analysis_url(line: str, ply: int | None = None) -> str:
    """Return where a game can be analysed, from some move on."""
    return f"/analysis?{urlencode({'game': line} if ply is None else {'game': line, 'ply': ply})}"


def restore_position(table: Table, ply: int) -> Table:
    """Return a table as it stood after so many moves, with nothing declared yet; of a game that is over, open."""
    return Table(table.game.at(ply), names=table.names, hidden=table.secret, book=table.book)


def arrange_seats(table: Table, second: bool) -> Table:  # noqa: FBT001 - which of two seats
    """Return a table for whoever sits in the first seat of a room: to take the second, the players change places."""
    game = replace(table.game, first=1 - table.game.first) if second else table.game
    return Table(game, hidden=table.hidden, book=table.book)


def list_steps(line: str, at: int, last: int) -> tuple[NavigationLink, ...]:
    """Return the ways through a game: first, previous, next and last."""
    return (
        NavigationLink("First", "first", build_analysis_url(line, 0) if at > 0 else None),
        NavigationLink("Previous", "prev", build_analysis_url(line, at - 1) if at > 0 else None),
        NavigationLink("Next", "next", build_analysis_url(line, at + 1) if at < last else None),
        NavigationLink("Last", "last", build_analysis_url(line, last) if at < last else None),
    )


async def _ask_analysis(request: Request, here: Table, book: Rulebook) -> PositionAnalysis:
    question = record.to_line(here), book.title
    return await ask_cached(request, question, tasks.analyse_table, here, book, seconds=POSITION_TIMEOUT)


async def _ask_review(request: Request, table: Table, book: Rulebook) -> GameReviewText:
    if len(table.game.moves) > tasks.MAX_REVIEWED_MOVES:
        most = f"{tasks.MAX_REVIEWED_MOVES:,}"
        words = f"A game of more than {most} moves is not gone through here; its positions can be looked at one by one."
        raise UnansweredError(words, is_temporary=False)
    question = record.to_line(table), book.title
    return await ask_cached(request, question, tasks.review_table, table, book, seconds=GAME_TIMEOUT)


def _render_form(request: Request, line: str = "", wrong: str = "", status: int = 200) -> Response:
    """Ask for a game."""
    starts = [(book, build_analysis_url(f"{book.name}:")) for book in map(catalogue.load_named, catalogue.list_names())]
    given = {"line": line[: 2 * limits.MAX_RECORD_LENGTH], "wrong": wrong, "starts": starts, "example": _EXAMPLE}
    return render_page(request, "analysis.html", status=status, asking=True, **given)


def _parse_ply(text: str, last: int) -> int:
    """Return the move that is asked for; without a number that can be, the last."""
    return min(int(text), last) if text.isascii() and text.isdigit() and len(text) <= 6 else last
