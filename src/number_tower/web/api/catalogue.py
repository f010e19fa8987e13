"""What there is to play: the games of the catalogue, and the levels of the computer."""

from __future__ import annotations

from typing import cast

from fastapi import APIRouter, Path

from number_tower import catalogue
from number_tower.brief import describe_rules
from number_tower.players import LEVELS
from number_tower.voice import Voice
from number_tower.web.api import schemas
from number_tower.web.api.deps import describe_refusals
from number_tower.web.errors import ProblemError

router = APIRouter(tags=["catalogue"])


@router.get("/rulebooks", responses=describe_refusals())
async def list_rulebooks() -> schemas.RulebookList:
    """Give the games of the catalogue, with their rules and the options that they take."""
    return schemas.RulebookList(rulebooks=[_describe_rulebook(book) for book in catalogue.load_all()])


@router.get("/rulebooks/{name}", responses=describe_refusals(404))
async def show_rulebook(name: str = Path(examples=list(catalogue.list_names()[:1]))) -> schemas.RulebookResponse:
    """Give one game of the catalogue."""
    if name not in catalogue.list_names():
        raise ProblemError(
            404, "no_such_rulebook", f"There is no such game; the games are {', '.join(catalogue.list_names())}."
        )
    return _describe_rulebook(catalogue.load_named(name))


@router.get("/levels", responses=describe_refusals())
async def list_levels() -> schemas.LevelList:
    """Give the computer's levels, the weakest first."""
    return schemas.LevelList(
        levels=[schemas.LevelResponse(name=level.name, about=level.about) for level in LEVELS.values()]
    )


def _describe_rulebook(book: catalogue.Rulebook) -> schemas.RulebookResponse:
    voice = Voice(book)
    return schemas.RulebookResponse(
        name=book.name,
        title=book.title,
        summary=book.summary,
        about=book.about,
        noun=voice.noun,
        players=list(voice.players),
        options=list(book.options),
        rules=cast("dict[str, str | int]", book.rules.written()),
        how=list(describe_rules(book.rules, voice.noun)),
    )
