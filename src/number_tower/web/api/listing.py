"""What there is to play: the games of the catalogue, and the levels of the computer."""

from __future__ import annotations

from typing import cast

from fastapi import APIRouter, Path

from number_tower import catalogue
from number_tower.brief import brief
from number_tower.players import LEVELS
from number_tower.voice import Voice
from number_tower.web import replies
from number_tower.web.api.access import refusals
from number_tower.web.problems import Refused

router = APIRouter(tags=["catalogue"])


@router.get("/rulebooks", responses=refusals())
async def list_rulebooks() -> replies.Rulebooks:
    """Give the games of the catalogue, with their rules and the options that they take."""
    return replies.Rulebooks(rulebooks=[_told(book) for book in catalogue.games()])


@router.get("/rulebooks/{name}", responses=refusals(404))
async def show_rulebook(name: str = Path(examples=list(catalogue.names()[:1]))) -> replies.Rulebook:
    """Give one game of the catalogue."""
    if name not in catalogue.names():
        raise Refused(404, "no_such_rulebook", f"There is no such game; the games are {', '.join(catalogue.names())}.")
    return _told(catalogue.named(name))


@router.get("/levels", responses=refusals())
async def list_levels() -> replies.Levels:
    """Give the computer's levels, the weakest first."""
    return replies.Levels(levels=[replies.Level(name=level.name, about=level.about) for level in LEVELS.values()])


def _told(book: catalogue.Rulebook) -> replies.Rulebook:
    voice = Voice(book)
    return replies.Rulebook(
        name=book.name,
        title=book.title,
        summary=book.summary,
        about=book.about,
        noun=voice.noun,
        players=list(voice.players),
        options=list(book.options),
        rules=cast("dict[str, str | int]", book.rules.written()),
        how=list(brief(book.rules, voice.noun)),
    )
