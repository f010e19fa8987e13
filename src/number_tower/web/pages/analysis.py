"""The analysis page: any game or position, by its one-line record in the address."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any
from urllib.parse import urlencode

from fastapi import APIRouter, Depends, HTTPException, Request
from fastapi.responses import Response

from number_tower.coach.review import JudgedMove, ReviewText
from number_tower.coach.sentences import Idea, introduce_idea
from number_tower.engine import record
from number_tower.engine.blocks import parse_number
from number_tower.engine.record import RecordError
from number_tower.engine.record.line import EXAMPLE
from number_tower.engine.table import Table
from number_tower.players import LEVELS
from number_tower.web.http.rates import NEW_GAME, THINKING, price
from number_tower.web.limits import MAX_RECORD_LENGTH, MAX_REVIEWED_MOVES
from number_tower.web.live.new_room import NewRoom
from number_tower.web.live.quota import admit_room
from number_tower.web.pages import await_answer, is_watch_address, read_form, render_page
from number_tower.web.pages.new_game import open_room
from number_tower.web.pages.share import build_share_url
from number_tower.web.thinking.questions import ask_analysis, ask_review, read_record

router = APIRouter(include_in_schema=False)

MAX_SHOWN, MIN_SHOWN = 160, 10
"""Moves of a position that are shown one by one: at most, and at least."""

MAX_ADDRESSES = 100_000
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
    try:
        table = await read_record(request, game) if game.strip() else None
        wrong = ""
    except RecordError as error:
        table, wrong = None, str(error)
    if table is None:  # ask for a game
        form = {"line": game[: 2 * MAX_RECORD_LENGTH], "wrong": wrong, "example": _EXAMPLE}
        return render_page(request, "analysis.html", status=400 if wrong else 200, **form)
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
    links = {played: build_analysis_url(line, at + 1, room)}
    introduced = {idea.name for idea in analysis.ideas} if analysis else set()

    def list_new_ideas(move: JudgedMove) -> list[Idea]:
        """Return the ideas behind the remarks on a move that the page has not introduced yet."""
        reasons = words.list_reasons(move)
        ideas = [introduce_idea(reason, words.noun, introduced) for reason in reasons]
        return [idea for idea in ideas if idea]

    context |= {
        "analysis": analysis,
        "missing": missing,
        "review": review,
        "unreviewed": unreviewed,
        "played": played,
        "address": lambda block: links.get(block) or f"{before}{block}{after}",
        "most": min(MAX_SHOWN, max(MIN_SHOWN, MAX_ADDRESSES // len(before))),
        "leaders": review and [_format_leader(value, words.names) for value in review.values],
        "description": review and _describe_line(review.values, words.names),
        "words": words,
        "introduce": list_new_ideas,
    }
    return render_page(request, "analysis.html", status=status, **context)


@router.post("/analysis/play", dependencies=[price(NEW_GAME), Depends(admit_room)])
async def play_on(request: Request) -> Response:
    """Open a room against the computer that continues from a position."""
    form = await read_form(request)
    game, level, seat = (str(form.get(field, "")) for field in ("game", "level", "seat"))
    table = await read_record(request, game)
    if table.game.outcome is not None:
        raise HTTPException(400, "That game is over. Choose an earlier move to continue from.")
    if level not in LEVELS:
        raise HTTPException(400, f"Choose one of the levels: {', '.join(LEVELS)}.")
    # The visitor has the first seat: to play the second player, the players change places.
    first = 1 - table.game.first if seat == "2" else table.game.first
    changed = replace(table.game, first=first)
    arranged = Table(changed, hidden=table.hidden, book=table.book)
    return await open_room(request, NewRoom(arranged, level))


def build_analysis_url(line: str, ply: int | None = None, room: str = "") -> str:
    """Return the address of an analysis; `room` is the watch address that it leads back to."""
    fields: dict[str, object] = {"game": line} if line else {}
    if ply is not None:
        fields["ply"] = ply
    if room:
        fields["room"] = room
    return f"/analysis?{urlencode(fields)}"


def _describe_line(values: Sequence[int | None], names: tuple[str, str]) -> str:
    """Put the line into words: who is ahead, from when to when."""
    sentences = []
    ply = 0
    for value, run in groupby(values):
        last = ply + len(list(run)) - 1
        began = f"move {ply}" if ply else "the start"
        when = f"From {began} to move {last}"
        if ply == last:
            when = f"After {began}" if ply else f"At {began}"
        sentences.append(f"{when}: {_format_leader(value, names)}.")
        ply = last + 1
    return " ".join(sentences)


def _format_leader(value: int | None, names: tuple[str, str]) -> str:
    if value is None:
        return "unknown"
    return f"{names[0 if value > 0 else 1]} wins" if value else "a draw"
