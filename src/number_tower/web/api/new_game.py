"""The request for a new game, and the room that it asks for.

Bounds that rules and records check are not repeated.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Literal

from fastapi import Request
from pydantic import BaseModel, ConfigDict, Field, JsonValue

from number_tower.engine import catalogue
from number_tower.engine.match import MAX_GAMES
from number_tower.engine.rules import UNNAMED
from number_tower.engine.table import Table
from number_tower.players import LEVELS
from number_tower.web import limits
from number_tower.web.http.problems import ProblemError
from number_tower.web.live.new_room import NewRoom
from number_tower.web.thinking.questions import read_record

OWN_NAME = "own rules"
"""The name of a game whose rule file has none."""

_GAMES = catalogue.list_names()

GameName = Annotated[str, Field(pattern=f"^({'|'.join(_GAMES)})$")]
Line = Annotated[str, Field(max_length=limits.MAX_RECORD_LENGTH, examples=["draft:9,8"])]
RuleTable = dict[str, str | int]

EXAMPLES: list[dict[str, JsonValue]] = [
    {"game": _GAMES[0], "names": ["Ann"], "opponent": "link"},
    {"game": _GAMES[0], "opponent": "fair", "first": "toss"},
    {"rules": {"blocks": "1-12", "fit": "descending", "target": 21}, "opponent": "table"},
]


class RequestModel(BaseModel):
    """The body of a request; unknown keys are rejected."""

    model_config = ConfigDict(
        extra="forbid", strict=True, hide_input_in_errors=True, use_attribute_docstrings=True
    )


class NewGame(RequestModel):
    """A new game; exactly one of `game`, `rules`, `rulefile` and `record` says which."""

    model_config = ConfigDict(json_schema_extra={"examples": [*EXAMPLES]})

    game: GameName | None = None
    """A game of the catalogue."""
    rules: RuleTable | None = None
    """Rules as in a rule file; the defaults are those of the plain game: blocks 1-9, shared, any
    fit."""
    rulefile: str | None = None
    """The text of your own rule file, in TOML."""
    record: Line | None = None
    """A game on one line, to continue from there."""
    preset: str | None = None
    """Recommended settings of the game, by their name; `options` override them."""
    options: RuleTable = {}
    """Options of the game, such as target, blocks and opening; its rulebook says which it takes."""
    hidden: bool = False
    """Whether the remaining blocks are hidden from both players."""
    names: Annotated[list[str | None], Field(max_length=2)] = []
    """The names of the players in seats 1 and 2; the player who joins by the link chooses a name
    then."""
    first: Literal[1, 2, "toss"] = 1
    """Which seat starts; a record says it already."""
    opponent: Annotated[str, Field(pattern=f"^(table|link|{'|'.join(LEVELS)})$")] = "link"
    """A person at the same table, the person who opens the link, or the computer at a level."""
    best_of: Annotated[int, Field(ge=1, le=MAX_GAMES)] | None = None
    """The number of games in the match; without it there is no match."""
    hints: bool = True
    """Whether players may ask for hints; never in a match."""


async def read_new_room(request: Request, wanted: NewGame) -> NewRoom:
    """Return the room that was asked for, or refuse it."""
    table = await _read_table(request, wanted)
    limits.check_rules(table.game.rules)
    if table.outcome is not None:
        raise ProblemError(422, "over", "That game is over. Send one that is not finished yet.")
    first, second = (*wanted.names, None, None)[:2]
    return NewRoom(
        table, wanted.opponent, (first, second), best_of=wanted.best_of, hints=wanted.hints
    )


async def _read_table(request: Request, wanted: NewGame) -> Table:
    sources = (wanted.game, wanted.rules, wanted.rulefile, wanted.record)
    if sources.count(None) != len(sources) - 1:
        text = "Choose the game with exactly one of game, rules, rulefile and record."
        raise ProblemError(422, "bad_request", text)
    limits.check_rule_table(wanted.options)
    if wanted.record is not None:
        if wanted.options or wanted.hidden or wanted.preset is not None:
            text = "A record contains its own options, so send no others with it."
            raise ProblemError(422, "bad_request", text)
        limits.check_text(wanted.record.rpartition(":")[0])
        return await read_record(request, wanted.record)
    choice = catalogue.choose(
        _read_rulebook(wanted),
        wanted.options,
        preset=wanted.preset,
        hidden=wanted.hidden,
        first="random" if wanted.first == "toss" else wanted.first,
    )
    return Table.start(choice)


def _read_rulebook(wanted: NewGame) -> catalogue.Rulebook:
    if wanted.game is not None:
        return catalogue.load_named(wanted.game)
    if wanted.rules is not None:
        limits.check_rule_table(wanted.rules)
        return catalogue.choose(wanted.rules).book
    content = (wanted.rulefile or "").encode("utf-8", "surrogatepass")
    own = limits.read_rule_file(content, OWN_NAME, "rulefile")
    return replace(own, source=UNNAMED)
