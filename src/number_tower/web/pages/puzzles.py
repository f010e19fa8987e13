"""Puzzle pages: one puzzle a day for everyone, and endless ones.

The address of a page says which puzzle it is, and never its answer: a cookie remembers what was
tried. No answer is in a page before the visitor has found it or asked for it.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Sequence
from datetime import date, timedelta
from functools import partial
from hashlib import sha256
from math import inf
from secrets import randbelow
from typing import Any, NamedTuple
from urllib.parse import urlencode

from fastapi import APIRouter, HTTPException, Request
from fastapi.responses import RedirectResponse, Response

from number_tower.coach.daily import DailyRecord, format_share_text
from number_tower.coach.puzzles import GRADES
from number_tower.coach.quiz import PuzzleQuestion
from number_tower.engine import catalogue
from number_tower.engine.blocks import parse_number
from number_tower.support.text import make_sentence
from number_tower.web.board.blocks import format_remaining
from number_tower.web.http.middleware.browser_cookie import set_cookie
from number_tower.web.http.rates import THINKING, price
from number_tower.web.live.quota import DAY
from number_tower.web.pages import await_answer, describe_origin, read_form, render_page
from number_tower.web.thinking import tasks
from number_tower.web.thinking.questions import (
    FIRST_DAY,
    ask_daily_puzzle,
    ask_numbered_puzzle,
    get_today,
)
from number_tower.words.voice import get_voice

router = APIRouter(include_in_schema=False)

SHOW = "show"
"""The answer of a visitor who wants to see the solution."""

_SEEDS = 1_000_000
_MAX_NUMBER = 1_000_000
_MAX_TRIES = 100
_ANSWER = re.compile(rf"\d{{1,9}}|{SHOW}", re.ASCII)

_DAILY_COOKIE, _PUZZLE_COOKIE = "daily", "puzzle"
"""The cookies with the results of the daily puzzles, and with the answers to the last puzzle."""

ABOUT_GRADES = {
    1: "wins at once",
    2: "look at the next two moves",
    3: "look a few moves ahead",
    4: "look further ahead",
    5: "look very far ahead",
}


def build_question(
    puzzle: PuzzleQuestion, answers: Sequence[str], max_tries: float = inf
) -> dict[str, Any]:
    """Make a question of a puzzle and the answers so far; illegal moves are ignored."""
    table = tasks.parse_record(puzzle.line)
    voice, seat = get_voice(table.book), table.game.to_move
    players = voice.get_name(table, 0), voice.get_name(table, 1)
    choices = {f"{choice.block}": choice for choice in puzzle.choices}
    attempts = [choices[answer] for answer in answers[-_MAX_TRIES:] if answer in choices]
    is_right = bool(attempts) and attempts[-1].is_right
    gave_up = not is_right and answers[-1:] == [SHOW]
    tried = tuple(dict.fromkeys(choice.block for choice in attempts if not choice.is_right))
    is_shown = gave_up or (not is_right and len(tried) >= max_tries)
    shown_choice = choices[f"{puzzle.answer}"] if is_shown else attempts[-1] if attempts else None
    answer = attempts[-1].block if is_right else puzzle.answer
    shown_table = table.play(answer) if is_right or is_shown else table
    return {
        "puzzle": puzzle,
        "table": table,
        "shown_table": shown_table,
        "noun": voice.noun,
        "seat": seat,
        "players": players,
        "names": ("You", players[1]) if seat == 0 else (players[0], "You"),
        "remaining": format_remaining(shown_table, 1 - seat),
        "tried": tried,
        "feedback": "" if gave_up or not attempts else attempts[-1].feedback,
        "shown_choice": shown_choice,
        "answer": answer,
        "is_right": is_right,
        "is_shown": is_shown,
        "is_done": is_right or is_shown,
    }


class PuzzlePage(NamedTuple):
    """A puzzle that an address asks for, and what its page shows beside it."""

    address: str
    """Where it is, without any answer."""
    asking: Callable[[], Awaitable[PuzzleQuestion]]
    context: dict[str, Any]
    is_today: bool = False
    """Whether it is the puzzle of this day, of which the device remembers the results."""


# The puzzle of the day --------------------------------------------------------------------------


@router.get("/puzzle", dependencies=[price(THINKING)])
async def show_daily_puzzle(request: Request, day: str = "") -> Response:
    """Show the puzzle of a day; the day changes at midnight in UTC."""
    return await _show_puzzle(request, _find_daily_page(request, day))


@router.post("/puzzle")
async def answer_daily_puzzle(request: Request) -> Response:
    """Accept an answer to the puzzle of a day."""
    fields, answers = await read_answer(request)
    return await _store_answer(request, _find_daily_page(request, fields.get("day", "")), answers)


def read_daily_record(request: Request) -> DailyRecord:
    """Return what this device remembers of the puzzles of the day, as it is today."""
    return DailyRecord.from_text(request.cookies.get(_DAILY_COOKIE, "")).turn_to(get_today())


def _find_daily_page(request: Request, day: str) -> PuzzlePage:
    today = get_today()
    try:
        when = date.fromisoformat(day) if day else today
    except ValueError:
        when = date.min
    if when > today:
        raise HTTPException(404, "That day is in the future.")
    if when < FIRST_DAY:
        right = f"Write it like {today.isoformat()}."
        raise HTTPException(404, f"That is not a day with a puzzle. {right}")
    written = f"{when.day} {when:%B} {when.year}"
    context: dict[str, Any] = {
        "heading": written if when == today else f"Puzzle of {written}",
        "kicker": "Puzzle of the day" if when == today else "Puzzles",
        "fields": {"day": when.isoformat()},  # the answer may come after midnight
        "action": "/puzzle",
        "before": None if when == FIRST_DAY else f"/puzzle?day={when - timedelta(days=1)}",
        "after": None if when == today else f"/puzzle?day={when + timedelta(days=1)}",
        "onward": "/puzzles",
    }
    asking = partial(ask_daily_puzzle, request, when.isoformat())
    address = "/puzzle" if when == today else f"/puzzle?day={when}"
    return PuzzlePage(address, asking, context, is_today=when == today)


# Endless puzzles --------------------------------------------------------------------------------


@router.get("/puzzles", dependencies=[price(THINKING)])
async def show_puzzle(
    request: Request, grade: str = "", game: str = "", seed: str = "", number: str = "1"
) -> Response:
    """Show a puzzle of an endless row, or the form that chooses one."""
    chosen = {key: value for key, value in (("grade", grade), ("game", game)) if value}
    _check_address(grade, game, number)
    if seed:
        return await _show_puzzle(request, _find_numbered_page(request, chosen, seed, number))
    if chosen:
        return RedirectResponse(_build_puzzle_url(chosen, str(randbelow(_SEEDS)), 1), 303)
    return render_page(request, "puzzles.html", grades=ABOUT_GRADES)


@router.post("/puzzles")
async def answer_puzzle(request: Request) -> Response:
    """Accept an answer to a puzzle of an endless row."""
    fields, answers = await read_answer(request)
    chosen = {key: fields[key] for key in ("grade", "game") if fields.get(key)}
    number = fields.get("number", "1")
    _check_address(chosen.get("grade", ""), chosen.get("game", ""), number)
    if not fields.get("seed"):
        return RedirectResponse("/puzzles", 303)
    page = _find_numbered_page(request, chosen, fields["seed"], number)
    return await _store_answer(request, page, answers)


def _find_numbered_page(
    request: Request, chosen: dict[str, str], seed: str, number: str
) -> PuzzlePage:
    grade, game = chosen.get("grade", ""), chosen.get("game", "")
    seed, position = seed[:40], int(number)
    context: dict[str, Any] = {
        "heading": f"Puzzle {position}",
        "kicker": f"Puzzles: {catalogue.load_named(game).title}" if game else "Puzzles",
        "fields": {**chosen, "seed": seed, "number": str(position)},
        "action": "/puzzles",
        "before": None if position == 1 else _build_puzzle_url(chosen, seed, position - 1),
        "onward": _build_puzzle_url(chosen, seed, min(position + 1, _MAX_NUMBER)),
    }
    asking = partial(
        ask_numbered_puzzle, request, seed, position, int(grade) if grade else None, game or None
    )
    return PuzzlePage(_build_puzzle_url(chosen, seed, position), asking, context)


# Answers ----------------------------------------------------------------------------------------


async def _show_puzzle(request: Request, page: PuzzlePage) -> Response:
    """Show a puzzle with the answers that the device remembers."""
    puzzle, wrong, status = await _await_puzzle(page)
    context = page.context | {"grades": ABOUT_GRADES, "wrong": wrong}
    answers = read_answers(request, page.address)
    if page.is_today:
        record = read_daily_record(request)
        context["record"] = record
        answers = [*map(str, record.tries)]
        if record.result == "shown":
            answers.append(SHOW)
        if record.result == "solved":
            link = f"{describe_origin(request)['origin']}/puzzle?day={record.day}"
            context["share_text"] = format_share_text(record, link)
    context["question"] = puzzle and build_question(puzzle, answers)
    return render_page(request, "puzzle.html", status=status, **context)


async def _store_answer(request: Request, page: PuzzlePage, answers: list[str]) -> Response:
    """Let the device remember an answer, and redirect to the puzzle."""
    if not page.is_today:
        return redirect_with_answers(request, page.address, answers)
    puzzle, _, _ = await _await_puzzle(page)
    if puzzle is None:
        return await _show_puzzle(request, page)
    record = read_daily_record(request)
    choices = {f"{choice.block}": choice for choice in puzzle.choices}
    for answer in answers:
        if answer in choices:
            record = record.add_try(choices[answer].block, is_right=choices[answer].is_right)
        elif answer == SHOW:
            record = record.give_up()
    response = RedirectResponse(page.address, 303)
    set_cookie(request, response, _DAILY_COOKIE, record.to_text())
    return response


async def _await_puzzle(page: PuzzlePage) -> tuple[PuzzleQuestion | None, str, int]:
    """Return a puzzle, why there is none, and the status of its page."""
    try:
        return await await_answer(page.asking())
    except LookupError as error:
        return None, make_sentence(str(error)), 404


async def read_answer(request: Request) -> tuple[dict[str, str], list[str]]:
    """Return the fields of a posted form, and the answers in it: all so far."""
    form = await read_form(request)
    fields = {key: value for key, value in form.items() if isinstance(value, str)}
    return fields, [value for value in form.getlist("answer") if isinstance(value, str)]


def redirect_with_answers(request: Request, address: str, answers: Sequence[str]) -> Response:
    """Redirect to a puzzle; the device remembers its answers instead of the last puzzle's."""
    response = RedirectResponse(address, 303)
    kept = "-".join(answer for answer in answers[-_MAX_TRIES:] if _ANSWER.fullmatch(answer))
    value = f"{_digest_address(address)}.{kept}"
    set_cookie(request, response, _PUZZLE_COOKIE, value, max_age=DAY)
    return response


def read_answers(request: Request, address: str) -> list[str]:
    """Return the answers to a puzzle that the device remembers."""
    key, _, answers = request.cookies.get(_PUZZLE_COOKIE, "").partition(".")
    return answers.split("-") if key == _digest_address(address) else []


def _digest_address(address: str) -> str:
    return sha256(address.encode("utf-8", "backslashreplace")).hexdigest()[:16]


def _build_puzzle_url(chosen: dict[str, str], seed: str, number: int) -> str:
    return f"/puzzles?{urlencode({**chosen, 'seed': seed, 'number': number})}"


def _check_address(grade: str, game: str, number: str) -> None:
    if grade and grade not in set(map(str, GRADES)):
        raise HTTPException(404, f"The grades are {', '.join(map(str, GRADES))}.")
    if game:
        catalogue.load_named(game)
    if not 1 <= (parse_number(number) or 0) <= _MAX_NUMBER:
        raise HTTPException(404, f"Puzzles have numbers from 1 to {_MAX_NUMBER:,}.")
