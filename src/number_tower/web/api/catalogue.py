"""What can be played, and against whom: the games of the catalogue, and the computer's levels."""

from __future__ import annotations

from dataclasses import dataclass

from fastapi import APIRouter

from number_tower.engine import catalogue
from number_tower.players import LEVELS
from number_tower.web.http.schema import Described
from number_tower.words.brief import describe_rules
from number_tower.words.voice import get_voice

router = APIRouter(tags=["catalogue"])


@dataclass(frozen=True)
class PresetInfo(Described):
    """Recommended settings of a game."""

    name: str
    options: dict[str, str | int]
    """The options as in a rule file."""
    about: str


@dataclass(frozen=True)
class RulebookInfo(Described):
    """A game of the catalogue."""

    name: str
    title: str
    summary: str
    about: str
    noun: str
    """What a block is called in this game."""
    players: tuple[str, str]
    """The default names of the players."""
    options: tuple[str, ...]
    """The options that players may choose."""
    presets: list[PresetInfo]
    """Recommended settings, for `preset` of a new game."""
    rules: dict[str, str | int]
    """The rules as in a rule file."""
    how: tuple[str, ...]
    """The rules in a few plain sentences."""


@dataclass(frozen=True)
class LevelInfo:
    """How strong the computer can be."""

    name: str
    about: str


@router.get("/rulebooks")
async def list_rulebooks() -> list[RulebookInfo]:
    """List the games of the catalogue, with their rules and options."""
    return [_describe_rulebook(book) for book in catalogue.load_all()]


@router.get("/rulebooks/{name}")
async def show_rulebook(name: str) -> RulebookInfo:
    """Show one game of the catalogue."""
    return _describe_rulebook(catalogue.load_named(name))


@router.get("/levels")
async def list_levels() -> list[LevelInfo]:
    """List the computer's levels, the weakest first."""
    return [LevelInfo(level.name, level.about) for level in LEVELS.values()]


def _describe_rulebook(book: catalogue.Rulebook) -> RulebookInfo:
    voice = get_voice(book)
    presets = book.presets.values()
    return RulebookInfo(
        name=book.name,
        title=book.title,
        summary=book.summary,
        about=book.about,
        noun=voice.noun,
        players=voice.players,
        options=tuple(book.options),
        presets=[PresetInfo(preset.name, dict(preset.options), preset.about) for preset in presets],
        rules=book.rules.to_dict(),
        how=tuple(describe_rules(book.rules, voice.noun)),
    )
