"""The request for a new game, and the room that it asks for. Bounds that rules and records check are not repeated."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Literal

from fastapi import Request
from pydantic import BaseModel, ConfigDict, Field, JsonValue

from number_tower import catalogue
from number_tower.blocks import LARGEST_NUMBER
from number_tower.match import MOST_GAMES
from number_tower.players import LEVELS
from number_tower.rules import UNNAMED, Fit, Stuck, Supply, Towers
from number_tower.table import Table
from number_tower.web import limits
from number_tower.web.errors import ProblemError
from number_tower.web.new_room import NewRoom
from number_tower.web.questions import read_record

DEFAULT_LEVEL = list(LEVELS)[len(LEVELS) // 2]
OWN_NAME = "own rules"
"""The name of a game whose rule file has none."""

_GAMES = catalogue.list_names()

Number = Annotated[int, Field(ge=1, le=LARGEST_NUMBER)]
GameName = Annotated[str, Field(pattern=f"^({'|'.join(_GAMES)})$")]
LevelName = Annotated[str, Field(pattern=f"^({'|'.join(LEVELS)})$")]
Line = Annotated[str, Field(max_length=limits.MAX_RECORD_LENGTH, examples=["draft:9,8"])]
Blocks = Annotated[str, Field(max_length=limits.MAX_RECORD_LENGTH, examples=["1-9", "1,3,5"])]


EXAMPLES: list[dict[str, JsonValue]] = [
    {"game": _GAMES[0], "names": ["Ann"], "opponent": {"kind": "link"}},
    {"game": _GAMES[0], "opponent": {"kind": "computer", "level": "fair"}, "first": "toss"},
    {
        "rules": {"blocks": "1-12", "fit": "descending", "target": 21},
        "opponent": {"kind": "table"},
    },
]


class RequestModel(BaseModel):
    """The body of a request; unknown keys are rejected."""

    model_config = ConfigDict(
        extra="forbid", strict=True, hide_input_in_errors=True, use_attribute_docstrings=True
    )


class GameOptions(RequestModel):
    """Options of a game; its rulebook says which of them it takes."""

    target: Number | None = None
    blocks: Blocks | None = None
    opening: Blocks | None = None
    """The blocks that may lie on the ground."""


class CustomRules(GameOptions):
    """Rules as in a rule file; the defaults are those of the plain game: blocks 1-9, shared, any fit."""

    supply: Supply | None = None
    towers: Towers | None = None
    fit: Fit | None = None
    step: Number | None = None
    """How much larger a block may be than the last one; with fit "ascending"."""
    stuck: Stuck | None = None


class Opponent(RequestModel):
    """Another person at the same table, the computer, or the person who opens the link."""

    kind: Literal["table", "computer", "link"] = "link"
    level: LevelName | None = None
    """How strong the computer is; one in the middle if left out."""


class NewGame(RequestModel):
    """A new game; exactly one of `game`, `rules`, `rulefile` and `record` says which."""

    model_config = ConfigDict(json_schema_extra={"examples": [*EXAMPLES]})

    game: GameName | None = None
    """A game of the catalogue."""
    rules: CustomRules | None = None
    rulefile: str | None = None
    """The text of your own rule file, in TOML."""
    record: Line | None = None
    """A game on one line, to continue from there."""
    preset: str | None = None
    """Recommended settings of the game, by their name; `options` override them."""
    options: GameOptions = GameOptions()
    hidden: bool = False
    """Whether the remaining blocks are hidden from both players."""
    names: Annotated[list[str | None], Field(max_length=2)] = []
    """The names of the players in seats 1 and 2; the player who joins by the link chooses a name then."""
    first: Literal[1, 2, "toss"] = 1
    """Which seat starts; a record says it already."""
    opponent: Opponent = Opponent()
    best_of: Annotated[int, Field(ge=1, le=MOST_GAMES)] | None = None
    """The number of games in the match; without it there is no match."""
    hints: bool = True
    """Whether players may ask for hints; never in a match."""


async def read_new_room(request: Request, wanted: NewGame) -> NewRoom:
    """Return the room that was asked for, or refuse it."""
    table = await _read_table(request, wanted)
    limits.check_rules(table.game.rules)
    if table.outcome is not None:
        raise ProblemError(422, "over", "That game is over. Send one that is not finished yet.")
    kind, level = wanted.opponent.kind, wanted.opponent.level
    if kind == "computer":
        level = level or DEFAULT_LEVEL
    elif level is not None:
        text = 'Only a computer has a level. To play one, set opponent.kind to "computer".'
        raise ProblemError(422, "bad_request", text)
    first, second = (*wanted.names, None, None)[:2]
    return NewRoom(table, kind, level, (first, second), best_of=wanted.best_of, hints=wanted.hints)


async def _read_table(request: Request, wanted: NewGame) -> Table:
    sources = (wanted.game, wanted.rules, wanted.rulefile, wanted.record)
    if sources.count(None) != len(sources) - 1:
        text = "Choose the game with exactly one of game, rules, rulefile and record."
        raise ProblemError(422, "bad_request", text)
    options = wanted.options.model_dump(exclude_none=True)
    limits.check_text(f"{options.get('blocks')},{options.get('opening')}")
    if wanted.record is not None:
        if options or wanted.hidden or wanted.preset is not None:
            text = "A record contains its own options, so send no others with it."
            raise ProblemError(422, "bad_request", text)
        limits.check_text(wanted.record.rpartition(":")[0])
        return await read_record(request, wanted.record)
    choice = catalogue.choose(
        _read_rulebook(wanted),
        options,
        preset=wanted.preset,
        hidden=wanted.hidden,
        first="random" if wanted.first == "toss" else wanted.first,
    )
    return Table.start(choice)


def _read_rulebook(wanted: NewGame) -> catalogue.Rulebook:
    if wanted.game is not None:
        return catalogue.load_named(wanted.game)
    if wanted.rules is not None:
        limits.check_text(f"{wanted.rules.blocks},{wanted.rules.opening}")
        return catalogue.choose(wanted.rules.model_dump(exclude_none=True)).book
    content = (wanted.rulefile or "").encode("utf-8", "surrogatepass")
    own = limits.read_rule_file(content, OWN_NAME, "rulefile")
    return replace(own, source=UNNAMED)
