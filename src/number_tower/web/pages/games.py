"""Pages of the games: all of them, and for each its rules, its theory and its first moves."""

from __future__ import annotations

import re
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import Response

from number_tower.coach.analysis import PositionAnalysis, describe_start
from number_tower.engine import catalogue, record
from number_tower.engine.game import Game
from number_tower.engine.table import Table
from number_tower.solve.worth import VALUE_VERBS
from number_tower.web.http.rates import THINKING, price
from number_tower.web.pages import await_answer, render_page
from number_tower.web.pages.analysis import MAX_SHOWN, build_analysis_url
from number_tower.web.thinking.questions import ask_analysis
from number_tower.words.voice import get_voice

router = APIRouter(include_in_schema=False)

METHODS = {
    "the top alone": (
        "In this game only the top of the tower decides what can follow, so every {noun} is "
        "worked out from the last one back: a player who can leave a losing top wins."
    ),
    "two separate towers": (
        "The players cannot get in each other's way, so each tower is worked out by itself: how "
        "few {noun}s it needs, and how many it can still take. Then the two are compared."
    ),
    "matching": (
        "Two {noun}s that fit on each other make a pair. Make as many pairs as you can, each "
        "{noun} in one at most. A {noun} wins if you can leave it out and still make as many "
        "pairs: whatever fits on it is then in a pair, and you answer with the other {noun} of "
        "that pair."
    ),
    "deep search": (
        "No shortcut is known for these rules, so the computer has tried every move and every "
        "answer to the end, and remembers each position that it has seen."
    ),
}
"""How values are found, by the solving method; {noun} is what the game calls a block."""


@router.get("/games")
async def show_games(request: Request) -> Response:
    """Show all games."""
    return render_page(request, "games.html")


@router.get("/games/{name}", dependencies=[price(THINKING)])
async def show_game(request: Request, name: str) -> Response:
    """Show one game: its rules, its theory, and its first moves."""
    book = catalogue.load_named(name)
    table, noun = Table(Game(book.rules), book=book), get_voice(book).noun
    analysis, missing, status = await await_answer(ask_analysis(request, table))
    context: dict[str, Any] = {"book": book, "noun": noun, "missing": missing}
    if analysis is not None:
        context |= {
            "analysis": analysis,
            "address": lambda block: build_analysis_url(record.to_line(table.play(block)), 1),
            "most": MAX_SHOWN,
            "theory": describe_theory(analysis, noun),
            "how": METHODS.get(analysis.method, "").format(noun=noun),
        }
    return render_page(request, "game.html", status=status, **context)


def describe_theory(analysis: PositionAnalysis, noun: str) -> list[str]:
    """Say what the value of a game's start means, and why up to two of the best moves are good."""
    sentences = list(describe_start(analysis, noun))
    kinds = set()
    for move in analysis.moves:
        # Reasons that differ in their numbers alone say the same.
        kind = re.sub(r"\d+", "", move.reason)
        if analysis.value is None or move.value != analysis.value or not kind or kind in kinds:
            continue
        kinds.add(kind)
        sentences.append(f"{move.block} {VALUE_VERBS[analysis.value]}. {move.reason}")
        if len(kinds) == 2:
            break
    return sentences
