"""Puzzles: one a day for everyone, and as many more as anybody likes; nothing is given away before it is asked for."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from secrets import randbelow
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple
from urllib.parse import urlencode

from fastapi import APIRouter, Query, Request
from fastapi.responses import RedirectResponse, Response

from number_tower import catalogue
from number_tower.brief import brief
from number_tower.coach.puzzles import GRADES
from number_tower.showing import sentence
from number_tower.voice import Voice
from number_tower.web import drawing, tasks
from number_tower.web.asking import Unanswered, asked, with_retry
from number_tower.web.limits import PUZZLE
from number_tower.web.lines import read
from number_tower.web.pages import page, read_form
from number_tower.web.pages.analysis import address

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Sequence

    from number_tower.catalogue import Rulebook
    from number_tower.table import Table
    from number_tower.web.tasks import Posed

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


class Asked(NamedTuple):
    """A question on a page, with all that is needed to draw it, and what came of the answers so far."""

    posed: Posed
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
        return brief(self.table.game.rules, self.voice.noun)

    @property
    def left(self) -> str:
        """Say what else there is to be reckoned with: the other's blocks, or the pool."""
        supply, other = self.table.game.rules.supply, 1 - self.table.game.to_move
        blocks = drawing.remaining(self.table, other)
        if blocks is None:
            return ""
        return (
            f"Left in the pool: {blocks}."
            if supply == "shared"
            else f"{self.voice.name(self.table, other)} has left: {blocks}."
        )

    @property
    def options(self) -> str:
        """How this game differs from the usual one."""
        chosen = self.book.options_of(self.table.game.rules) or {}
        return ", ".join(f"{key} {value}" for key, value in chosen.items())


def put(posed: Posed, answers: Sequence[str]) -> Asked:
    """Make a question of a position and the answers so far; what is no move of it is passed over."""
    table, book = read(posed.line)
    voice = Voice(book)
    choices = {f"{choice.block}": choice for choice in posed.choices}
    given = [choices[each] for each in answers[-_MOST_TRIES:] if each in choices]
    right = bool(given) and given[-1].right
    shown = not right and bool(answers) and answers[-1] == SHOW
    return Asked(
        posed,
        book,
        table,
        voice,
        tuple(dict.fromkeys(choice.block for choice in given if not choice.right)),
        "" if shown or not given else given[-1].said,
        right,
        shown,
        drawing.towers(table, (voice.name(table, 0), voice.name(table, 1))),
        address(posed.line),
    )


@router.get("/puzzle")
async def of_the_day(request: Request, day: str = "", answer: Annotated[list[str] | None, Query()] = None) -> Response:
    """Show the puzzle of a day; the day changes at midnight in UTC."""
    today = datetime.now(UTC).date()
    when = today if not day else _day(day)
    if when is None or not FIRST_DAY <= when <= today:
        wrong = (
            "That day has not come yet." if when and when > today else f"Expected a day such as {today.isoformat()}."
        )
        return page(request, "puzzle.html", status=404, wrong=wrong, heading="No puzzle", **_usual())
    heading = f"{when.day} {when:%B} {when.year}"
    context = {
        **_usual(),
        "heading": heading,
        "kicker": "Puzzle of the day" if when == today else "Puzzle of a day",
        "fields": {"day": when.isoformat()} if day else {},
        "action": "/puzzle",
        "before": None if when == FIRST_DAY else f"/puzzle?day={when - timedelta(days=1)}",
        "after": None if when == today else f"/puzzle?day={when + timedelta(days=1)}",
        "onward": "/puzzles",
    }
    return await _answered(request, when.isoformat(), answer or [], context, tasks.puzzle_of, when.isoformat())


@router.get("/puzzles")
async def endless(
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
    wrong = _wrong(grade, game, number)
    if wrong:
        return page(request, "puzzles.html", status=404, wrong=wrong, **_usual())
    if not seed:
        if not grade and not game:
            return page(request, "puzzles.html", **_usual())
        return RedirectResponse(_endless(chosen, str(randbelow(_SEEDS)), 1), 303)
    seed, place = seed[:40], int(number)
    context = {
        **_usual(),
        "heading": f"Puzzle {place}",
        "kicker": f"Puzzles: {catalogue.named(game).title}" if game else "Puzzles",
        "fields": {**{key: value for key, value in chosen.items() if value}, "seed": seed, "number": str(place)},
        "action": "/puzzles",
        "before": None if place == 1 else _endless(chosen, seed, place - 1),
        "after": None,
        "onward": _endless(chosen, seed, min(place + 1, _MOST_NUMBER)),
    }
    question = seed, place, level, game
    return await _answered(request, question, answer or [], context, tasks.numbered, seed, place, level, game or None)


@router.post("/puzzle")
@router.post("/puzzles")
async def answer(request: Request) -> Response:
    """Take an answer that was posted, and show it at an address of its own."""
    form = await read_form(request)
    fields = [(key, value) for key, value in form.multi_items() if isinstance(value, str)]
    return RedirectResponse(f"{request.url.path}?{urlencode([*request.query_params.multi_items(), *fields])}", 303)


async def _answered(
    request: Request,
    question: Hashable,
    answers: list[str],
    context: dict[str, Any],
    task: Callable[..., Posed],
    *args: object,
) -> Response:
    try:
        posed = await asked(request, question, task, *args, seconds=PUZZLE)
    except Unanswered as unanswered:
        return with_retry(page(request, "puzzle.html", status=unanswered.status, wrong=unanswered.words, **context))
    except LookupError as none:
        return page(request, "puzzle.html", status=404, wrong=sentence(str(none)), **context)
    return page(request, "puzzle.html", asked=put(posed, answers), **context)


def _usual() -> dict[str, Any]:
    return {"grades": ABOUT_GRADES, "games": [catalogue.named(name) for name in catalogue.names()]}


def _endless(chosen: dict[str, str], seed: str, number: int) -> str:
    given = {key: value for key, value in chosen.items() if value}
    return f"/puzzles?{urlencode({**given, 'seed': seed, 'number': number})}"


def _wrong(grade: str, game: str, number: str) -> str:
    """Say what is wrong with an address, if anything is."""
    if grade and grade not in {str(each) for each in GRADES}:
        return f"The grades are {', '.join(map(str, GRADES))}."
    if game and game not in catalogue.names():
        return f"There is no such game; the games are {', '.join(catalogue.names())}."
    if not (number.isascii() and number.isdigit() and len(number) <= 7 and 1 <= int(number) <= _MOST_NUMBER):
        return f"Puzzles have numbers from 1 to {_MOST_NUMBER:,}."
    return ""


def _day(text: str) -> date | None:
    try:
        return date.fromisoformat(text)
    except ValueError:
        return None
