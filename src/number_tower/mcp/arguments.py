"""The arguments of the tools, as types whose schemas the library shows to models.

Models also send numbers as text, and blocks in brackets, as other games ask for; both are read.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BeforeValidator, ConfigDict, Field, StringConstraints
from typing_extensions import TypedDict

from number_tower.engine import catalogue
from number_tower.engine.blocks import parse_number
from number_tower.engine.rules import Fit, Stuck, Supply, Towers
from number_tower.players import ALL_LEVELS

DEFAULT_SECONDS, MAX_SECONDS = 5.0, 30.0
"""Seconds for a hint or an analysis, unless others are asked for; and at most."""

NO_OPPONENT = "none"


def _read_number(value: object) -> object:
    """Return the number that a text, a float or a block in brackets stands for; else the value."""
    if isinstance(value, list) and len(value) == 1:
        return _read_number(value[0])
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, str):
        number = parse_number(value.strip().removeprefix("[").removesuffix("]"))
        return value if number is None else number
    return value


# Strict, since otherwise true would be the number 1.
_Number = Annotated[int, Field(strict=True), BeforeValidator(_read_number)]
_Word = Annotated[str, StringConstraints(strip_whitespace=True, to_lower=True)]
_Blocks = str | list[_Number]


class OwnRules(TypedDict, total=False):
    """Rules as in a rule file.

    step goes with the fit ascending; opening has the blocks that may lie on the ground.
    """

    __pydantic_config__ = ConfigDict(extra="allow")  # type: ignore[misc]

    blocks: _Blocks | None
    supply: Supply | None
    towers: Towers | None
    fit: Fit | None
    step: _Number | None
    target: _Number | None
    stuck: Stuck | None
    opening: _Blocks | None


_GAMES = {"enum": [*catalogue.list_names()]}
_OPPONENTS = {"enum": [NO_OPPONENT, *ALL_LEVELS]}

GameName = Annotated[
    _Word | None, Field(description="A game's name; see list_games.", json_schema_extra=_GAMES)
]
RulesGiven = Annotated[
    OwnRules | None, Field(description='Your own rules, such as {"blocks": "1-9", "target": 15}.')
]
PresetName = Annotated[
    _Word | None, Field(description="Settings of a named game; options override them.")
]
Target = Annotated[_Number | None, Field(description="The height to reach exactly.")]
Blocks = Annotated[
    _Blocks | None, Field(description="The blocks to play with, such as 1-9 or [1, 3, 5].")
]
Opening = Annotated[
    _Blocks | None, Field(description="The blocks that may lie on the ground, such as 1-5.")
]
Hidden = Annotated[
    bool, Field(description="Hide which blocks are left, if the game allows it: then no hints.")
]
Opponent = Annotated[
    _Word,
    Field(
        description="The computer's level, from the weakest; none: you move for both sides.",
        json_schema_extra=_OPPONENTS,
    ),
]
Seat = Annotated[
    _Number, Field(description="Your seat, 1 or 2, if there is an opponent.", ge=1, le=2)
]
FirstSeat = Annotated[
    Literal[1, 2, "random"],
    Field(description="Which seat begins; random tosses a coin by the seed."),
    BeforeValidator(_read_number),
]
Seed = Annotated[
    _Number | None, Field(description="With the same seed the opponent plays the same.", ge=0)
]
ListsLegal = Annotated[
    bool, Field(description="Whether the blocks that may be placed are listed on every turn.")
]
GameId = Annotated[str, Field(description="The id of a game from start_game, such as game-1.")]
Block = Annotated[_Number, Field(description="The number on the block to place, such as 6.")]
OneBlock = Annotated[
    _Number | None, Field(description="Show the value of this one block only, such as 6.")
]
Step = Annotated[
    _Number,
    Field(description="1: what to look for, 2: also the move, 3: also why.", ge=1, le=3),
]
Seconds = Annotated[float, Field(description="How long to search at most.", gt=0, le=MAX_SECONDS)]
