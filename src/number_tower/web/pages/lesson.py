"""The first lesson of a game: positions with something to find, and then a game."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote, urlencode

from fastapi import APIRouter, Request
from fastapi.responses import Response

from number_tower.coach import quiz
from number_tower.engine import catalogue
from number_tower.players import LEVELS
from number_tower.web.http.rates import THINKING, price
from number_tower.web.limits import PUZZLE_TIMEOUT
from number_tower.web.pages import await_answer, render_page
from number_tower.web.pages.puzzles import (
    build_question,
    read_answer,
    read_answers,
    redirect_with_answers,
)
from number_tower.web.thinking.questions import ask_cached
from number_tower.words.voice import get_voice

router = APIRouter(include_in_schema=False)

LESSON_TRIES = 3
"""Wrong moves in a lesson after which the right one is shown."""


@router.get("/learn/{name}", dependencies=[price(THINKING)])
async def show_lesson(request: Request, name: str, at: str = "1") -> Response:
    """Show a step of a game's first lesson: a position with something to find, or a game."""
    book = catalogue.load_named(name)
    lesson, wrong, status = await await_answer(
        ask_cached(request, name, quiz.make_lesson, book, seconds=PUZZLE_TIMEOUT)
    )
    positions = lesson or ()
    step = int(at) if at in set(map(str, range(1, len(positions) + 2))) else 1
    context: dict[str, Any] = {
        "book": book,
        "noun": get_voice(book).noun,
        "level": next(iter(LEVELS)),
        "wrong": wrong,
        "count": len(positions),
        "at": step,
    }
    if step <= len(positions):
        answers = read_answers(request, f"/learn/{name}?at={step}")
        question = build_question(positions[step - 1], answers, LESSON_TRIES)
        context |= {
            "question": question,
            "action": f"/learn/{name}",
            "fields": {"at": str(step)},
            "onward": f"/learn/{name}?at={step + 1}",
            "tries_left": LESSON_TRIES - len(question["tried"]),
        }
    return render_page(request, "lesson.html", status=status, **context)


@router.post("/learn/{name}")
async def answer_lesson(request: Request, name: str) -> Response:
    """Accept an answer in a lesson."""
    fields, answers = await read_answer(request)
    address = f"/learn/{quote(name[:80], safe='')}?{urlencode({'at': fields.get('at', '1')[:4]})}"
    return redirect_with_answers(request, address, answers)
