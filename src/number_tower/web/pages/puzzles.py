"""Puzzles: one a day for everyone, and as many more as anybody likes; nothing is given away before it is asked for."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from secrets import randbelow
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple
from urllib.parse import urlencode

from fastapi import APIRouter, Query, Request
from fastapi.responses import RedirectResponse, Response

from number_tower import catalogue
from number_tower.brief import describe_rules
from number_tower.coach.puzzles import GRADES
from number_tower.text import make_sentence
from number_tower.voice import Voice
from number_tower.web import drawing, tasks
from number_tower.web.limits import PUZZLE_TIMEOUT
from number_tower.web.pages import read_form, render_page
from number_tower.web.pages.analysis import build_analysis_url
from number_tower.web.questions import UnansweredError, add_retry_header, ask_cached
from number_tower.web.tasks import parse_record

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Sequence

    from number_tower.catalogue import Rulebook
    from number_tower.table import Table
    from number_tower.web.tasks import PuzzleQuestion

router = APIRouter()

FIRST_DAY = date(2020, 1, 1)
SHOW = "show"
"""The answer of somebody who wants to be told."""

_SEEDS = 1_000_000
_MOST_NUMBER = 1_000_000
_MOST_TRIES = 100

ABOUT_GRADES = {
    1: "wins at once",
    2: "shows within two blocks",
    3: "needs a little reading",
    4: "needs reading ahead",
    5: "needs reading far ahead",
}


class QuestionView(NamedTuple):
    """A question on a page, with all that is needed to draw it, and what came of the answers so far."""

    posed: PuzzleQuestion
    book: Rulebook
    table: Table
    voice: Voice
    tried: tuple[int, ...]
    said: str
    right: bool
    shown: bool
    towers: tuple[drawing.Tower, ...]
    analysis: str

    @property
    def done(self) -> bool:
        """Whether there is nothing more to find."""
        return self.right or self.shown

    @property
    def rules(self) -> tuple[str, ...]:
        """The rules in brief."""
        return describe_rules(self.table.game.rules, self.voice.noun)

    @property
    def left(self) -> str:
        """Say what else there is to be reckoned with: the other's blocks, or the pool."""
        supply, other = self.table.game.rules.supply, 1 - self.table.game.to_move
        blocks = drawing.format_remaining(self.table, other)
        if blocks is None:
            return ""
        return (
            f"Left in the pool: {blocks}."
            if supply == "shared"
            else f"{self.voice.get_name(self.table, other)} has left: {blocks}."
        )

    @property
    def options(self) -> str:
        """How this game differs from the usual one."""
        chosen = self.book.find_options(self.table.game.rules) or {}
        return ", ".join(f"{key} {value}" for key, value in chosen.items())


def build_question(posed: PuzzleQuestion, answers: Sequence[str]) -> QuestionView:
    """Make a question of a position and the answers so far; what is no move of it is passed over."""
    table, book = parse_record(posed.line)
    voice = Voice(book)
    choices = {f"{choice.block}": choice for choice in posed.choices}
    given = [choices[each] for each in answers[-_MOST_TRIES:] if each in choices]
    right = bool(given) and given[-1].is_right
    shown = not right and bool(answers) and answers[-1] == SHOW
    return QuestionView(
        posed,
        book,
        table,
        voice,
        tuple(dict.fromkeys(choice.block for choice in given if not choice.is_right)),
        "" if shown or not given else given[-1].feedback,
        right,
        shown,
        drawing.draw_towers(table, (voice.get_name(table, 0), voice.get_name(table, 1))),
        build_analysis_url(posed.line),
    )


@router.get("/puzzle")
async def show_daily_puzzle(
    request: Request, day: str = "", answer: Annotated[list[str] | None, Query()] = None
) -> Response:
    """Show the puzzle of a day; the day changes at midnight in UTC."""
    today = datetime.now(UTC).date()
    when = today if not day else _parse_day(day)
    if when is None or not FIRST_DAY <= when <= today:
        wrong = (
            "That day has not come yet." if when and when > today else f"Expected a day such as {today.isoformat()}."
        )
        return render_page(request, "puzzle.html", status=404, wrong=wrong, heading="No puzzle", **_build_context())
    heading = f"{when.day} {when:%B} {when.year}"
    context = {
        **_build_context(),
        "heading": heading,
        "kicker": "Puzzle of the day" if when == today else "Puzzle of a day",
        "fields": {"day": when.isoformat()} if day else {},
        "action": "/puzzle",
        "before": None if when == FIRST_DAY else f"/puzzle?day={when - timedelta(days=1)}",
        "after": None if when == today else f"/puzzle?day={when + timedelta(days=1)}",
        "onward": "/puzzles",
    }
    return await _render_question(
        request, when.isoformat(), answer or [], context, tasks.make_daily_puzzle, when.isoformat()
    )


@router.get("/puzzles")
async def show_puzzle(
    request: Request,
    grade: str = "",
    game: str = "",
    seed: str = "",
    number: str = "1",
    answer: Annotated[list[str] | None, Query()] = None,
) -> Response:
    """Show a puzzle of an endless row, or let somebody choose one."""
    chosen = {"grade": grade, "game": game}
    level = int(grade) if grade in {str(each) for each in GRADES} else None
    wrong = _find_mistake(grade, game, number)
    if wrong:
        return render_page(request, "puzzles.html", status=404, wrong=wrong, **_build_context())
    if not seed:
        if not grade and not game:
            return render_page(request, "puzzles.html", **_build_context())
        return RedirectResponse(_build_puzzle_url(chosen, str(randbelow(_SEEDS)), 1), 303)
    seed, place = seed[:40], int(number)
    context = {
        **_build_context(),
        "heading": f"Puzzle {place}",
        "kicker": f"Puzzles: {catalogue.load_named(game).title}" if game else "Puzzles",
        "fields": {**{key: value for key, value in chosen.items() if value}, "seed": seed, "number": str(place)},
        "action": "/puzzles",
        "before": None if place == 1 else _build_puzzle_url(chosen, seed, place - 1),
        "after": None,
        "onward": _build_puzzle_url(chosen, seed, min(place + 1, _MOST_NUMBER)),
    }
    question = seed, place, level, game
    return await _render_question(
        request, question, answer or [], context, tasks.make_numbered_puzzle, seed, place, level, game or None
    )


@router.post("/puzzle")
@router.post("/puzzles")
async def redirect_answer(request: Request) -> Response:
    """Take an answer that was posted, and show it at an address of its own."""
    form = await read_form(request)
    fields = [(key, value) for key, value in form.multi_items() if isinstance(value, str)]
    return RedirectResponse(f"{request.url.path}?{urlencode([*request.query_params.multi_items(), *fields])}", 303)


async def _render_question(
    request: Request,
    question: Hashable,
    answers: list[str],
    context: dict[str, Any],
    task: Callable[..., PuzzleQuestion],
    *args: object,
) -> Response:
    try:
        posed = await ask_cached(request, question, task, *args, seconds=PUZZLE_TIMEOUT)
    except UnansweredError as unanswered:
        return add_retry_header(
            render_page(request, "puzzle.html", status=unanswered.status, wrong=unanswered.message, **context)
        )
    except LookupError as none:
        return render_page(request, "puzzle.html", status=404, wrong=make_sentence(str(none)), **context)
    return render_page(request, "puzzle.html", asked=build_question(posed, answers), **context)


def _build_context() -> dict[str, Any]:
    return {"grades": ABOUT_GRADES, "games": [catalogue.load_named(name) for name in catalogue.list_names()]}


def _build_puzzle_url(chosen: dict[str, str], seed: str, number: int) -> str:
    given = {key: value for key, value in chosen.items() if value}
    return f"/puzzles?{urlencode({**given, 'seed': seed, 'number': number})}"


def _find_mistake(grade: str, game: str, number: str) -> str:
    """Say what is wrong with an address, if anything is."""
    if grade and grade not in {str(each) for each in GRADES}:
        return f"The grades are {', '.join(map(str, GRADES))}."
    if game and game not in catalogue.list_names():
        return f"There is no such game; the games are {', '.join(catalogue.list_names())}."
    if not (number.isascii() and number.isdigit() and len(number) <= 7 and 1 <= int(number) <= _MOST_NUMBER):
        return f"Puzzles have numbers from 1 to {_MOST_NUMBER:,}."
    return ""


def _parse_day(text: str) -> date | None:
    try:
        return date.fromisoformat(text)
    except ValueError:
        return None
