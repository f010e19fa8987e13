"""A page for each game: its rules, what is known of it, and its start to be explored; all from its rule file."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from fastapi import APIRouter, Request
from fastapi.responses import Response  # noqa: TC002 - fastapi reads it at run time

from number_tower import catalogue, record
from number_tower.brief import describe_rules
from number_tower.game import Game
from number_tower.table import Table
from number_tower.text import summarize_numbers
from number_tower.voice import Voice
from number_tower.web import charts, drawing, tasks
from number_tower.web.limits import POSITION_TIMEOUT
from number_tower.web.pages import render_page
from number_tower.web.pages.analysis import build_analysis_url
from number_tower.web.questions import UnansweredError, add_retry_header, ask_cached

if TYPE_CHECKING:
    from collections.abc import Iterator

    from number_tower.coach.analysis import AnalysedMove, PositionAnalysis

router = APIRouter()

METHODS = {
    "the top alone": (
        "In this game only the top of the tower decides what can follow, so every block is worked out from the last one"
        " back: whoever can leave a losing top wins."
    ),
    "two separate towers": (
        "Nothing that one player does gets in the other's way, so each tower is worked out by itself: how few blocks it"
        " needs, and how many it can still take. Then the two are compared."
    ),
    "matching": (
        "Pair off the blocks that fit on each other, as many as can be paired. Whoever can always answer with a partner"
        " is never stuck: a block wins exactly if the others can be paired as well without it."
    ),
    "deep search": (
        "No shortcut is known for these rules, so the computer has tried every move and every answer to the end, and"
        " remembers each position that it has met."
    ),
}
"""How the truth is known, in words, by the solving method."""


_VERBS = {"win": "wins", "draw": "draws", "loss": "loses"}
_DIGITS = re.compile(r"\d+")


@router.get("/games")
async def show_games(request: Request) -> Response:
    """Show all games."""
    return _render_games(request)


@router.get("/games/{name}")
async def show_game(request: Request, name: str) -> Response:
    """Show one game: rules, theory, and its start to be explored."""
    if name not in catalogue.list_names():
        return render_unknown_game(request, name)
    book = catalogue.load_named(name)
    table, voice = Table(Game(book.rules), book=book), Voice(book)
    context: dict[str, Any] = {
        "book": book,
        "rules": describe_rules(book.rules, voice.noun),
        "noun": voice.noun,
        "towers": drawing.draw_sample(book),
        "explore": build_analysis_url(f"{name}:"),
    }
    try:
        line = record.to_line(table)
        analysed = await ask_cached(
            request, (line, book.title), tasks.analyse_table, table, book, seconds=POSITION_TIMEOUT
        )
    except UnansweredError as unanswered:
        return add_retry_header(
            render_page(request, "game.html", status=unanswered.status, wrong=unanswered.message, **context)
        )
    options = charts.list_options(
        analysed, lambda block: build_analysis_url(record.to_line(table.play(block)), 1), None
    )
    theory = tuple(describe_theory(analysed, voice.noun))
    how = METHODS.get(analysed.method, "")
    return render_page(request, "game.html", analysis=analysed, options=options, theory=theory, how=how, **context)


def describe_theory(analysis: PositionAnalysis, noun: str) -> Iterator[str]:
    """Say what is known of a game from what its start is worth, in a few true sentences."""
    if analysis.value is None:
        yield analysis.verdict
        return
    yield {
        "win": "Whoever begins can win, whatever the other does.",
        "draw": "Neither player can force a win: if both play their best, it is a draw.",
        "loss": "Whoever begins loses, if the other plays without a mistake.",
    }[analysis.value]
    if analysis.plies is not None:
        count = f"{analysis.plies:,} {noun}{'' if analysis.plies == 1 else 's'}"
        yield f"Played as well as it can be, the game takes {count}: winners hurry, and losers delay."
    yield from _describe_openings(analysis)


def _describe_openings(analysis: PositionAnalysis) -> Iterator[str]:
    """Say which first moves are good, and why the best of them is."""
    count = len(analysis.moves)
    of_all = f"of {count:,} first moves"
    good = sorted(move.block for move in analysis.moves if move.value == analysis.value)
    if analysis.value == "loss":
        yield f"No first move wins. The longest to last is {analysis.moves[0].block}."
    elif len(good) == count:
        yield f"Every first move {'wins' if analysis.value == 'win' else 'keeps the draw'}."
    else:
        verb = "win" if analysis.value == "win" else "keep the draw"
        one = {"win": "wins", "keep the draw": "keeps the draw"}[verb]
        yield f"{len(good):,} {of_all} {verb if len(good) != 1 else one}: {summarize_numbers(good, ', ')}."
    for move in _pick_examples(analysis):
        because = move.reason.removeprefix("loses: ") if move.reason.startswith("loses: ") else f"it {move.reason}"
        yield f"Why {move.block} {_VERBS[analysis.value or 'loss']}: {because}."


def _pick_examples(analysis: PositionAnalysis) -> list[AnalysedMove]:
    """Return up to two of the best first moves, with different reasons: numbers alone make no difference."""
    good = [move for move in analysis.moves if move.value == analysis.value and move.reason]
    return list({_DIGITS.sub("", move.reason): move for move in reversed(good)}.values())[::-1][:2]


def render_unknown_game(request: Request, name: str) -> Response:
    """Say that there is no such game, and which there are."""
    return _render_games(request, f"There is no game called “{name[:40]}” here. These are the games.", 404)


def _render_games(request: Request, wrong: str = "", status: int = 200) -> Response:
    books = [catalogue.load_named(name) for name in catalogue.list_names()]
    shelf = [(book, drawing.draw_sample(book)) for book in books]
    return render_page(request, "games.html", status=status, shelf=shelf, wrong=wrong)
