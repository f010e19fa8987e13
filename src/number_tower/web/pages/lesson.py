"""The first lesson: the rules, a few positions with something to find, and then a game; all of it in the address."""

from __future__ import annotations

from typing import Annotated, Any
from urllib.parse import urlencode

from fastapi import APIRouter, Query, Request
from fastapi.responses import Response  # noqa: TC002 - fastapi reads it at run time

from number_tower import catalogue
from number_tower.brief import describe_rules
from number_tower.players import LEVELS
from number_tower.voice import Voice
from number_tower.web import tasks
from number_tower.web.limits import PUZZLE_TIMEOUT
from number_tower.web.pages import render_page
from number_tower.web.pages.games import render_unknown_game
from number_tower.web.pages.puzzles import build_question
from number_tower.web.questions import UnansweredError, add_retry_header, ask_cached

router = APIRouter()

TRIES = 3
"""Wrong moves after which the right one is shown."""

_COUNTS = {1: "One position", 2: "Two positions", 3: "Three positions"}


@router.get("/learn/{name}")
async def show_lesson(
    request: Request, name: str, at: str = "1", answer: Annotated[list[str] | None, Query()] = None
) -> Response:
    """Show a step of the lesson: a position, or the game at its end."""
    if name not in catalogue.list_names():
        return render_unknown_game(request, name)
    book = catalogue.load_named(name)
    context: dict[str, Any] = {
        "book": book,
        "rules": describe_rules(book.rules, Voice(book).noun),
        "level": next(iter(LEVELS)),
        "line": f"{name}:",
    }
    try:
        posed = await ask_cached(request, name, tasks.make_lesson, book, seconds=PUZZLE_TIMEOUT)
    except UnansweredError as unanswered:
        context |= {"wrong": unanswered.message, "count": 0, "at": 1}
        return add_retry_header(render_page(request, "lesson.html", status=unanswered.status, **context))
    place = int(at) if at in {str(each) for each in range(1, len(posed) + 2)} else 1
    context |= {"count": len(posed), "at": place, "announced": _COUNTS.get(len(posed), "")}
    if place > len(posed):
        return render_page(request, "lesson.html", **context)
    question = build_question(posed[place - 1], answer or [])
    if len(question.tried) >= TRIES and not question.right:
        question = question._replace(shown=True)
    return render_page(
        request,
        "lesson.html",
        asked=question,
        action=f"/learn/{name}",
        fields={"at": str(place)},
        onward=f"/learn/{name}?{urlencode({'at': place + 1})}",
        tries_left=TRIES - len(question.tried),
        **context,
    )
