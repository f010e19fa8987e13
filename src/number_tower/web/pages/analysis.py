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
from number_tower.web import bounds, drawing, tasks, worths
from number_tower.web.asking import Unanswered, asked, read_record, with_retry
from number_tower.web.browser_cookie import browser_session
from number_tower.web.limits import GAME, POSITION
from number_tower.web.lines import Unreadable
from number_tower.web.lobby import Lobby, Wish
from number_tower.web.pages import page, read_form
from number_tower.web.quota import admitted
from number_tower.web.workers import BusyError

if TYPE_CHECKING:
    from number_tower.catalogue import Rulebook
    from number_tower.web.tasks import Analysis, Reviewed

router = APIRouter()

MOST_ADDRESSES, FEWEST_SHOWN = 100_000, 10
"""Characters of all links to the moves of a position, and moves that are linked all the same."""

_EXAMPLE = EXAMPLE.removeprefix("such as ")


class Step(NamedTuple):
    """A way through the game; without an address where it leads nowhere."""

    word: str
    rel: str
    address: str | None


@router.get("/analysis")
async def analysis(request: Request, game: str = "", ply: str = "") -> Response:
    """Show a position of a game, what every move there is worth, and how the game went."""
    if not game.strip():
        return _form(request)
    try:
        table, book = await read_record(request, game)
    except Unreadable as wrong:
        return _form(request, game, str(wrong), 400)
    except BusyError as busy:
        return with_retry(_form(request, game, str(busy), 503))
    at = _ply(ply, len(table.game.moves))
    here = position(table, at)
    line = record.to_line(table, book)
    voice = Voice(book)
    names = voice.name(table, 0), voice.name(table, 1)
    secret = table.secret
    context: dict[str, Any] = {
        "book": book,
        "voice": voice,
        "table": here,
        "names": names,
        "line": line,
        "here_line": record.to_line(here, book),
        "at": at,
        "last": len(table.game.moves),
        "towers": drawing.towers(here, names),
        "steps": steps(line, at, len(table.game.moves)),
        "levels": LEVELS.values(),
        "secret": secret,
        "mover": here.game.to_move,
        "over": here.game.outcome is not None,
        "example": _EXAMPLE,
    }
    if secret:
        return page(request, "analysis.html", **context)
    status, analysed, missing, reviewed, unreviewed = 200, None, "", None, ""
    try:
        analysed = await _analysed(request, here, book)
    except Unanswered as unanswered:
        status, missing = unanswered.status, unanswered.words
    if table.game.moves and status == 200:  # a server that is too busy for one question is not asked another
        try:
            reviewed = await _reviewed(request, table, book)
        except Unanswered as unanswered:
            status, unreviewed = unanswered.status, unanswered.words
    played = table.game.moves[at] if at < len(table.game.moves) else None
    context |= {"analysis": analysed, "missing": missing, "reviewed": reviewed, "unreviewed": unreviewed}
    if analysed is not None:
        before = address(context["here_line"] + ("," if at else ""))
        most = max(FEWEST_SHOWN, MOST_ADDRESSES // len(before))
        links = {played: address(line, at + 1)}
        context["options"] = worths.options(
            analysed, lambda block: links.get(block) or f"{before}{block}&ply={at + 1}", played, most
        )
    if reviewed is not None:
        draws = table.game.rules.stuck == "skips"
        game = address(line)
        context["values"] = worths.line(reviewed, names, at, lambda each: f"{game}&ply={each}", draws=draws)
        context["moves"] = tuple((move, f"{game}&ply={move.ply}") for move in reviewed.moves)
    return with_retry(page(request, "analysis.html", status=status, **context))


@router.post("/analysis/play")
async def play_on(request: Request) -> Response:
    """Open a room against the computer that goes on from a position; whoever asks plays the seat chosen."""
    form = await read_form(request)
    game, level, seat = (str(form.get(field, "")) for field in ("game", "level", "seat"))
    try:
        table, book = await read_record(request, game)
    except Unreadable as wrong:
        return _form(request, game, str(wrong), 400)
    if table.game.outcome is not None:
        return _form(request, game, "That game is over: there is nothing to play on from. Choose an earlier move.", 400)
    if level not in LEVELS:
        return _form(request, game, f"Choose one of the levels: {', '.join(LEVELS)}.", 400)
    lobby: Lobby = request.app.state.lobby
    session = browser_session(request)
    wish = Wish(book, seen_from(table, seat == "2"), "computer", level)
    with admitted(request, wish):
        known, _ = await lobby.begin(wish, session.current.secret)
    session.renew()
    await lobby.settled(known)
    return RedirectResponse(f"/g/{known.address}", 303)


def address(line: str, ply: int | None = None) -> str:
    """Return where a game can be analysed, from some move on."""
    return f"/analysis?{urlencode({'game': line} if ply is None else {'game': line, 'ply': ply})}"


def position(table: Table, ply: int) -> Table:
    """Return a table as it stood after so many moves, with nothing declared yet; of a game that is over, open."""
    return Table(table.game.at(ply), names=table.names, hidden=table.secret, book=table.book)


def seen_from(table: Table, second: bool) -> Table:  # noqa: FBT001 - which of two seats
    """Return a table for whoever sits in the first seat of a room: to take the second, the players change places."""
    game = replace(table.game, first=1 - table.game.first) if second else table.game
    return Table(game, hidden=table.hidden, book=table.book)


def steps(line: str, at: int, last: int) -> tuple[Step, ...]:
    """Return the ways through a game: first, previous, next and last."""
    return (
        Step("First", "first", address(line, 0) if at > 0 else None),
        Step("Previous", "prev", address(line, at - 1) if at > 0 else None),
        Step("Next", "next", address(line, at + 1) if at < last else None),
        Step("Last", "last", address(line, last) if at < last else None),
    )


async def _analysed(request: Request, here: Table, book: Rulebook) -> Analysis:
    question = record.to_line(here, book), book.title
    return await asked(request, question, tasks.analysed, here, book, seconds=POSITION)


async def _reviewed(request: Request, table: Table, book: Rulebook) -> Reviewed:
    if len(table.game.moves) > tasks.LONGEST_REVIEW:
        most = f"{tasks.LONGEST_REVIEW:,}"
        words = f"A game of more than {most} moves is not gone through here; its positions can be looked at one by one."
        raise Unanswered(words, later=False)
    question = record.to_line(table, book), book.title
    return await asked(request, question, tasks.reviewed, table, book, seconds=GAME)


def _form(request: Request, line: str = "", wrong: str = "", status: int = 200) -> Response:
    """Ask for a game."""
    starts = [(book, address(f"{book.name}:")) for book in map(catalogue.named, catalogue.names())]
    given = {"line": line[: 2 * bounds.LONGEST_LINE], "wrong": wrong, "starts": starts, "example": _EXAMPLE}
    return page(request, "analysis.html", status=status, asking=True, **given)


def _ply(text: str, last: int) -> int:
    """Return the move that is asked for; without a number that can be, the last."""
    return min(int(text), last) if text.isascii() and text.isdigit() and len(text) <= 6 else last
