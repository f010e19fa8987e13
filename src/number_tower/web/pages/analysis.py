"""The analysis page: any game or position, by its one-line record in the address."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any
from urllib.parse import urlencode

from fastapi import APIRouter, Request
from fastapi.responses import Response

from number_tower import catalogue, record
from number_tower.coach.review import ReviewText
from number_tower.players import LEVELS
from number_tower.record.line import EXAMPLE
from number_tower.table import Table
from number_tower.voice import get_voice
from number_tower.web import charts, drawing
from number_tower.web.limits import MAX_RECORD_LENGTH, MAX_REVIEWED_MOVES
from number_tower.web.pages import await_answer, read_form, render_page
from number_tower.web.pages.new_game import open_room
from number_tower.web.questions import ask_analysis, ask_review, read_record
from number_tower.web.room_cache import NewRoom
from number_tower.web.tasks import UnreadableRecordError
from number_tower.web.workers import BusyError

router = APIRouter(include_in_schema=False)

MOST_ADDRESSES, FEWEST_SHOWN = 100_000, 10
"""Characters of all links to the moves of a position, and moves that are linked all the same."""

_EXAMPLE = EXAMPLE.removeprefix("such as ")


@router.get("/analysis")
async def show_analysis(request: Request, game: str = "", ply: str = "") -> Response:
    """Show a position of a game, the value of every move there, and a review of the game."""
    if not game.strip():
        return _render_form(request)
    try:
        table = await read_record(request, game)
    except UnreadableRecordError as error:
        return _render_form(request, game, str(error), 400)
    except BusyError as busy:
        return _render_form(request, game, str(busy), 503)
    moves, voice, line = table.game.moves, get_voice(table.book), record.to_line(table)
    at = _parse_ply(ply, len(moves))
    here = restore_position(table, at)
    names = voice.get_name(table, 0), voice.get_name(table, 1)
    context: dict[str, Any] = {
        "book": table.book,
        "noun": voice.noun,
        "names": names,
        "line": line,
        "here_line": record.to_line(here),
        "at": at,
        "last": len(moves),
        "towers": drawing.draw_towers(here, names),
        "steps": _list_steps(line, at, len(moves)),
        "levels": LEVELS.values(),
        "secret": table.secret,
        "mover": here.game.to_move,
        "over": here.game.outcome is not None,
        "example": _EXAMPLE,
    }
    if table.secret:
        return render_page(request, "analysis.html", **context)
    analysis, missing, status = await await_answer(ask_analysis(request, here))
    review, unreviewed = None, ""
    if moves and status == 200:  # do not ask a busy server twice
        if len(moves) > MAX_REVIEWED_MOVES:
            long = f"A game of more than {MAX_REVIEWED_MOVES:,} moves"
            unreviewed = f"{long} is not gone through here; its positions can be looked at one by one."
        else:
            review, unreviewed, status = await await_answer(ask_review(request, table))
    context |= {"analysis": analysis, "missing": missing, "review": review, "unreviewed": unreviewed}
    if analysis is not None:
        played = moves[at] if at < len(moves) else None
        before = build_analysis_url(context["here_line"] + ("," if at else ""))
        most = max(FEWEST_SHOWN, MOST_ADDRESSES // len(before))
        links = {played: build_analysis_url(line, at + 1)}
        context["options"] = charts.list_options(
            analysis, lambda block: links.get(block) or f"{before}{block}&ply={at + 1}", played, most
        )
    if review is not None:
        draws = table.game.rules.stuck == "skips"
        whole = build_analysis_url(line)
        context["values"] = charts.draw_value_line(review, names, at, lambda each: f"{whole}&ply={each}", draws=draws)
        context["moves"] = tuple((move, f"{whole}&ply={move.ply}") for move in review.moves)
        context["words"] = ReviewText(names, voice.noun)
    return render_page(request, "analysis.html", status=status, **context)


@router.post("/analysis/play")
async def play_on(request: Request) -> Response:
    """Open a room against the computer that goes on from a position; the visitor plays the chosen seat."""
    form = await read_form(request)
    game, level, seat = (str(form.get(field, "")) for field in ("game", "level", "seat"))
    try:
        table = await read_record(request, game)
    except UnreadableRecordError as error:
        return _render_form(request, game, str(error), 400)
    if table.game.outcome is not None:
        over = "That game is over: there is nothing to play on from. Choose an earlier move."
        return _render_form(request, game, over, 400)
    if level not in LEVELS:
        return _render_form(request, game, f"Choose one of the levels: {', '.join(LEVELS)}.", 400)
    return await open_room(request, NewRoom(arrange_seats(table, second=seat == "2"), "computer", level))


def build_analysis_url(line: str, ply: int | None = None) -> str:
    """Return where a game can be analysed, from some move on."""
    return f"/analysis?{urlencode({'game': line} if ply is None else {'game': line, 'ply': ply})}"


def restore_position(table: Table, ply: int) -> Table:
    """Return a table as it was after so many moves, without a declared result, and open once the game is over."""
    return Table(table.game.at(ply), names=table.names, hidden=table.secret, book=table.book)


def arrange_seats(table: Table, *, second: bool) -> Table:
    """Return a table for a visitor in the first seat of a room; to play the second player, swap the players."""
    game = replace(table.game, first=1 - table.game.first) if second else table.game
    return Table(game, hidden=table.hidden, book=table.book)


def _list_steps(line: str, at: int, last: int) -> Iterator[tuple[str, str, str | None]]:
    """Yield the word, relation and address of the links through a game; without an address where none leads on."""
    steps = ("First", "first", 0), ("Previous", "prev", at - 1), ("Next", "next", at + 1), ("Last", "last", last)
    for word, rel, ply in steps:
        yield word, rel, build_analysis_url(line, ply) if ply != at and 0 <= ply <= last else None


def _render_form(request: Request, line: str = "", wrong: str = "", status: int = 200) -> Response:
    """Ask for a game."""
    starts = [(book, build_analysis_url(f"{book.name}:")) for book in catalogue.load_all()]
    given = {"line": line[: 2 * MAX_RECORD_LENGTH], "wrong": wrong, "starts": starts, "example": _EXAMPLE}
    return render_page(request, "analysis.html", status=status, asking=True, **given)


def _parse_ply(text: str, last: int) -> int:
    """Return the requested ply; the last one if there is no such number."""
    return min(int(text), last) if text.isascii() and text.isdigit() and len(text) <= 6 else last
