"""Puzzle pages: one puzzle a day for everyone, endless ones, and the first lesson of a game.

The whole state of a page is in its address. No answer is in a page before the visitor has found it or asked for it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Sequence
from datetime import UTC, date, datetime, timedelta
from math import inf
from secrets import randbelow
from typing import Annotated, Any
from urllib.parse import urlencode

from fastapi import APIRouter, Query, Request
from fastapi.responses import RedirectResponse, Response

from number_tower import catalogue
from number_tower.blocks import parse_number
from number_tower.coach import quiz
from number_tower.coach.puzzles import GRADES
from number_tower.coach.quiz import PuzzleQuestion
from number_tower.players import LEVELS
from number_tower.text import make_sentence
from number_tower.voice import get_voice
from number_tower.web import tasks
from number_tower.web.drawing import format_remaining
from number_tower.web.limits import PUZZLE_TIMEOUT
from number_tower.web.pages import await_answer, read_form, render_page
from number_tower.web.pages.games import render_unknown_game
from number_tower.web.questions import ask_cached, ask_daily_puzzle, ask_numbered_puzzle

router = APIRouter(include_in_schema=False)

FIRST_DAY = date(2020, 1, 1)
SHOW = "show"
"""The answer of a visitor who wants to see the solution."""

LESSON_TRIES = 3
"""Wrong moves in a lesson after which the right one is shown."""

_SEEDS = 1_000_000
_MOST_NUMBER = 1_000_000
_MOST_TRIES = 100

ABOUT_GRADES = {
    1: "wins at once",
    2: "look at the next two moves",
    3: "look a few moves ahead",
    4: "look further ahead",
    5: "look very far ahead",
}

Answers = Annotated[list[str] | None, Query(alias="answer")]


def build_question(puzzle: PuzzleQuestion, answers: Sequence[str], most_tries: float = inf) -> dict[str, Any]:
    """Make a question of a puzzle and the answers so far; answers that are no legal move are ignored."""
    table = tasks.parse_record(puzzle.line)
    voice, seat = get_voice(table.book), table.game.to_move
    players = voice.get_name(table, 0), voice.get_name(table, 1)
    choices = {f"{choice.block}": choice for choice in puzzle.choices}
    given = [choices[answer] for answer in answers[-_MOST_TRIES:] if answer in choices]
    is_right = bool(given) and given[-1].is_right
    gave_up = not is_right and answers[-1:] == [SHOW]
    tried = tuple(dict.fromkeys(choice.block for choice in given if not choice.is_right))
    is_shown = gave_up or (not is_right and len(tried) >= most_tries)
    shown_choice = choices[f"{puzzle.answer}"] if is_shown else given[-1] if given else None
    return {
        "puzzle": puzzle,
        "table": table,
        "noun": voice.noun,
        "seat": seat,
        "players": players,
        "names": ("You", players[1]) if seat == 0 else (players[0], "You"),
        "remaining": format_remaining(table, 1 - seat),
        "tried": tried,
        "feedback": "" if gave_up or not given else given[-1].feedback,
        "shown_choice": shown_choice,
        "answer": given[-1].block if is_right else puzzle.answer,
        "is_right": is_right,
        "is_shown": is_shown,
        "is_done": is_right or is_shown,
    }


@router.get("/puzzle")
async def show_daily_puzzle(request: Request, day: str = "", answers: Answers = None) -> Response:
    """Show the puzzle of a day; the day changes at midnight in UTC."""
    today = datetime.now(UTC).date()
    when = _parse_day(day) if day else today
    if when is None or not FIRST_DAY <= when <= today:
        late = when is not None and when > today
        wrong = (
            "That day is in the future."
            if late
            else f"That is not a day with a puzzle. Write it like {today.isoformat()}."
        )
        return render_page(request, "puzzle.html", status=404, wrong=wrong, heading="No puzzle")
    written = f"{when.day} {when:%B} {when.year}"
    context = {
        "heading": written if when == today else f"Puzzle of {written}",
        "kicker": "Puzzle of the day" if when == today else "Puzzles",
        "fields": {"day": when.isoformat()} if day else {},
        "action": "/puzzle",
        "before": None if when == FIRST_DAY else f"/puzzle?day={when - timedelta(days=1)}",
        "after": None if when == today else f"/puzzle?day={when + timedelta(days=1)}",
        "onward": "/puzzles",
    }
    return await _render_puzzle(request, ask_daily_puzzle(request, when.isoformat()), answers, context)


@router.get("/puzzles")
async def show_puzzle(
    request: Request, grade: str = "", game: str = "", seed: str = "", number: str = "1", answers: Answers = None
) -> Response:
    """Show a puzzle of an endless row, or the form that chooses one."""
    wrong = _find_mistake(grade, game, number)
    chosen = {key: value for key, value in (("grade", grade), ("game", game)) if value}
    if wrong or not (seed or chosen):
        status = 404 if wrong else 200
        return render_page(request, "puzzles.html", status=status, grades=ABOUT_GRADES, wrong=wrong)
    if not seed:
        return RedirectResponse(_build_puzzle_url(chosen, str(randbelow(_SEEDS)), 1), 303)
    seed, place = seed[:40], int(number)
    context: dict[str, Any] = {
        "heading": f"Puzzle {place}",
        "kicker": f"Puzzles: {catalogue.load_named(game).title}" if game else "Puzzles",
        "fields": {**chosen, "seed": seed, "number": str(place)},
        "action": "/puzzles",
        "before": None if place == 1 else _build_puzzle_url(chosen, seed, place - 1),
        "onward": _build_puzzle_url(chosen, seed, min(place + 1, _MOST_NUMBER)),
    }
    asking = ask_numbered_puzzle(request, seed, place, int(grade) if grade else None, game or None)
    return await _render_puzzle(request, asking, answers, context)


@router.post("/puzzle")
@router.post("/puzzles")
async def redirect_answer(request: Request) -> Response:
    """Accept a posted answer, and redirect to the address that shows it."""
    form = await read_form(request)
    fields = [(key, value) for key, value in form.multi_items() if isinstance(value, str)]
    return RedirectResponse(f"{request.url.path}?{urlencode([*request.query_params.multi_items(), *fields])}", 303)


@router.get("/learn/{name}")
async def show_lesson(request: Request, name: str, at: str = "1", answers: Answers = None) -> Response:
    """Show a step of a game's first lesson: a position with something to find, or the game at its end."""
    if name not in catalogue.list_names():
        return render_unknown_game(request, name)
    book = catalogue.load_named(name)
    lesson, wrong, status = await await_answer(
        ask_cached(request, name, quiz.make_lesson, book, seconds=PUZZLE_TIMEOUT)
    )
    positions = lesson or ()
    step = int(at) if at in {str(each) for each in range(1, len(positions) + 2)} else 1
    context: dict[str, Any] = {
        "book": book,
        "noun": get_voice(book).noun,
        "level": next(iter(LEVELS)),
        "wrong": wrong,
        "count": len(positions),
        "at": step,
    }
    if step <= len(positions):
        question = build_question(positions[step - 1], answers or [], LESSON_TRIES)
        context |= {
            "question": question,
            "action": f"/learn/{name}",
            "fields": {"at": str(step)},
            "onward": f"/learn/{name}?{urlencode({'at': step + 1})}",
            "tries_left": LESSON_TRIES - len(question["tried"]),
        }
    return render_page(request, "lesson.html", status=status, **context)


async def _render_puzzle(
    request: Request, asking: Awaitable[PuzzleQuestion], answers: Sequence[str] | None, context: dict[str, Any]
) -> Response:
    try:
        puzzle, wrong, status = await await_answer(asking)
    except LookupError as error:
        puzzle, wrong, status = None, make_sentence(str(error)), 404
    question = None if puzzle is None else build_question(puzzle, answers or [])
    context |= {"grades": ABOUT_GRADES, "question": question, "wrong": wrong}
    return render_page(request, "puzzle.html", status=status, **context)


def _build_puzzle_url(chosen: dict[str, str], seed: str, number: int) -> str:
    return f"/puzzles?{urlencode({**chosen, 'seed': seed, 'number': number})}"


def _find_mistake(grade: str, game: str, number: str) -> str:
    """Say what is wrong with an address, if anything is."""
    if grade and grade not in {str(each) for each in GRADES}:
        return f"The grades are {', '.join(map(str, GRADES))}."
    if game and game not in catalogue.list_names():
        return f"There is no such game. The games are {', '.join(catalogue.list_names())}."
    if not 1 <= (parse_number(number) or 0) <= _MOST_NUMBER:
        return f"Puzzles have numbers from 1 to {_MOST_NUMBER:,}."
    return ""


def _parse_day(text: str) -> date | None:
    try:
        return date.fromisoformat(text)
    except ValueError:
        return None
