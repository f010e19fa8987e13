"""The analysis page: any game or position, by its one-line record in the address."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import groupby
from typing import Any
from urllib.parse import urlencode

from fastapi import APIRouter, Depends, Request
from fastapi.responses import Response

from number_tower import record
from number_tower.blocks import parse_number
from number_tower.coach.review import JudgedMove, ReviewText
from number_tower.coach.sentences import Idea, introduce_idea
from number_tower.players import LEVELS
from number_tower.record import RecordError
from number_tower.record.line import EXAMPLE
from number_tower.table import Table
from number_tower.web.limits import MAX_RECORD_LENGTH, MAX_REVIEWED_MOVES
from number_tower.web.new_room import NewRoom
from number_tower.web.pages import await_answer, is_watch_address, read_form, render_page
from number_tower.web.pages.new_game import open_room
from number_tower.web.pages.share import build_share_url
from number_tower.web.questions import ask_analysis, ask_review, read_record
from number_tower.web.quota import admit_room
from number_tower.web.rates import NEW_GAME, THINKING, price

router = APIRouter(include_in_schema=False)

MOST_SHOWN, FEWEST_SHOWN = 160, 10
"""Moves of a position that are shown one by one, and those that are shown whatever their links take."""

MOST_ADDRESSES = 100_000
"""Characters of all links to the moves of a position."""

_EXAMPLE = EXAMPLE.removeprefix("such as ")


@router.get("/analysis", dependencies=[price(THINKING)])
async def show_analysis(
    request: Request, game: str = "", ply: str = "", room: str = ""
) -> Response:
    """Show a position of a game, the value of every move there, and a review of the game.

    `room` is the watch address of the room that the game comes from: there is a way back to it.
    """
    room = room if is_watch_address(room) else ""
    if not game.strip():
        return _render_form(request)
    try:
        table = await read_record(request, game)
    except RecordError as error:
        return _render_form(request, game, str(error), 400)
    moves, words, line = table.game.moves, ReviewText.for_table(table), record.to_line(table)
    number = parse_number(ply)
    at = len(moves) if number is None else min(number, len(moves))
    # Without a declared result, and open once the game is over.
    here = Table(table.game.at(at), names=table.names, hidden=table.secret, book=table.book)
    context: dict[str, Any] = {
        "table": table,
        "position": here,
        "noun": words.noun,
        "names": words.names,
        "line": line,
        "here_line": record.to_line(here),
        "whole": build_analysis_url(line, room=room),
        "room": room,
        "at": at,
        "example": _EXAMPLE,
        "share_url": None if table.outcome is None else build_share_url(line),
    }
    if table.secret:
        return render_page(request, "analysis.html", **context)
    analysis, missing, status = await await_answer(ask_analysis(request, here))
    review, unreviewed = None, ""
    if moves and status == 200:  # do not ask a busy server twice
        if len(moves) > MAX_REVIEWED_MOVES:
            long = f"Games of more than {MAX_REVIEWED_MOVES:,} moves"
            unreviewed = f"{long} are not reviewed here. You can still look at each position."
        else:
            review, unreviewed, status = await await_answer(ask_review(request, table))
    before = build_analysis_url(context["here_line"] + ("," if at else ""))
    after = f"&ply={at + 1}" + (f"&room={room}" if room else "")
    played = moves[at] if at < len(moves) else None
    introduced = {idea.name for idea in analysis.ideas} if analysis else set()
    links = {played: build_analysis_url(line, at + 1, room)}
    context |= {
        "analysis": analysis,
        "missing": missing,
        "review": review,
        "unreviewed": unreviewed,
        "played": played,
        "address": lambda block: links.get(block) or f"{before}{block}{after}",
        "most": min(MOST_SHOWN, max(FEWEST_SHOWN, MOST_ADDRESSES // len(before))),
        "leaders": review and [_format_leader(value, words.names) for value in review.values],
        "description": review and " ".join(_describe_line(review.values, words.names)),
        "words": words,
        "introduce": partial(_introduce_ideas, words=words, introduced=introduced),
    }
    return render_page(request, "analysis.html", status=status, **context)


@router.post("/analysis/play", dependencies=[price(NEW_GAME), Depends(admit_room)])
async def play_on(request: Request) -> Response:
    """Open a room against the computer that goes on from a position; the visitor plays the chosen seat."""
    form = await read_form(request)
    game, level, seat = (str(form.get(field, "")) for field in ("game", "level", "seat"))
    try:
        table = await read_record(request, game)
    except RecordError as error:
        return _render_form(request, game, str(error), 400)
    if table.game.outcome is not None:
        over = "That game is over. Choose an earlier move to continue from."
        return _render_form(request, game, over, 400)
    if level not in LEVELS:
        return _render_form(request, game, f"Choose one of the levels: {', '.join(LEVELS)}.", 400)
    return await open_room(request, NewRoom(arrange_seats(table, second=seat == "2"), level))


def build_analysis_url(line: str, ply: int | None = None, room: str = "") -> str:
    """Return where a game can be analysed, from some move on, with a way back to the room with this watch address."""
    fields = {"game": line, "ply": ply, "room": room}
    return f"/analysis?{urlencode({key: value for key, value in fields.items() if value not in {'', None}})}"


def arrange_seats(table: Table, *, second: bool) -> Table:
    """Return a table for a visitor in the first seat of a room; to play the second player, swap the players."""
    game = replace(table.game, first=1 - table.game.first) if second else table.game
    return Table(game, hidden=table.hidden, book=table.book)


def _introduce_ideas(move: JudgedMove, words: ReviewText, introduced: set[str]) -> list[Idea]:
    """Return the ideas behind the remarks on a move that the page has not introduced yet."""
    reasons = words.list_reasons(move)
    return [idea for reason in reasons if (idea := introduce_idea(reason, words.noun, introduced))]


def _render_form(request: Request, line: str = "", wrong: str = "", status: int = 200) -> Response:
    """Ask for a game."""
    given = {"line": line[: 2 * MAX_RECORD_LENGTH], "wrong": wrong, "example": _EXAMPLE}
    return render_page(request, "analysis.html", status=status, **given)


def _describe_line(values: Sequence[int | None], names: tuple[str, str]) -> Iterator[str]:
    """Put the line into words: who is ahead, from when to when."""
    ply = 0
    for value, run in groupby(values):
        last = ply + len(list(run)) - 1
        began, ended = (f"move {each}" if each else "the start" for each in (ply, last))
        when = f"from {began} to {ended}"
        if ply == last:
            when = f"after {began}" if ply else f"at {began}"
        yield f"{when[0].upper()}{when[1:]}: {_format_leader(value, names)}."
        ply = last + 1


def _format_leader(value: int | None, names: tuple[str, str]) -> str:
    if value is None:
        return "unknown"
    return f"{names[0 if value > 0 else 1]} wins" if value else "a draw"
