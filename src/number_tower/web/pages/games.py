"""A page for each game: its rules, what is known of it, and its start to be explored; all from its rule file."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from fastapi import APIRouter, Request
from fastapi.responses import Response  # noqa: TC002 - fastapi reads it at run time

from number_tower import catalogue, record
from number_tower.blocks import summed_up
from number_tower.brief import brief
from number_tower.game import Game
from number_tower.table import Table
from number_tower.voice import Voice
from number_tower.web import drawing, tasks, worths
from number_tower.web.asking import Unanswered, asked, with_retry
from number_tower.web.limits import POSITION
from number_tower.web.pages import page
from number_tower.web.pages.analysis import address

if TYPE_CHECKING:
    from collections.abc import Iterator

    from number_tower.web.tasks import Analysis, Valued

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
async def games(request: Request) -> Response:
    """Show all games."""
    return _shelf(request)


@router.get("/games/{name}")
async def game(request: Request, name: str) -> Response:
    """Show one game: rules, theory, and its start to be explored."""
    if name not in catalogue.names():
        return unknown(request, name)
    book = catalogue.named(name)
    table, voice = Table(Game(book.rules), book=book), Voice(book)
    context: dict[str, Any] = {
        "book": book,
        "rules": brief(book.rules, voice.noun),
        "noun": voice.noun,
        "towers": drawing.idea(book),
        "explore": address(f"{name}:"),
    }
    try:
        line = record.to_line(table, book)
        analysed = await asked(request, (line, book.title), tasks.analysed, table, book, seconds=POSITION)
    except Unanswered as unanswered:
        return with_retry(page(request, "game.html", status=unanswered.status, wrong=unanswered.words, **context))
    options = worths.options(analysed, lambda block: address(record.to_line(table.play(block), book), 1), None)
    theory = tuple(told(analysed, voice.noun))
    how = METHODS.get(analysed.method, "")
    return page(request, "game.html", analysis=analysed, options=options, theory=theory, how=how, **context)


def told(analysis: Analysis, noun: str) -> Iterator[str]:
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
    yield from _openings(analysis)


def _openings(analysis: Analysis) -> Iterator[str]:
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
        yield f"{len(good):,} {of_all} {verb if len(good) != 1 else one}: {summed_up(good, ', ')}."
    for move in _teaching(analysis):
        because = move.reason.removeprefix("loses: ") if move.reason.startswith("loses: ") else f"it {move.reason}"
        yield f"Why {move.block} {_VERBS[analysis.value or 'loss']}: {because}."


def _teaching(analysis: Analysis) -> list[Valued]:
    """Return up to two of the best first moves, with different reasons: numbers alone make no difference."""
    good = [move for move in analysis.moves if move.value == analysis.value and move.reason]
    return list({_DIGITS.sub("", move.reason): move for move in reversed(good)}.values())[::-1][:2]


def unknown(request: Request, name: str) -> Response:
    """Say that there is no such game, and which there are."""
    return _shelf(request, f"There is no game called “{name[:40]}” here. These are the games.", 404)


def _shelf(request: Request, wrong: str = "", status: int = 200) -> Response:
    books = [catalogue.named(name) for name in catalogue.names()]
    shelf = [(book, drawing.idea(book)) for book in books]
    return page(request, "games.html", status=status, shelf=shelf, wrong=wrong)
