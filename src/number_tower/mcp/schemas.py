"""The arguments and results of the tools, as pydantic types with JSON schemas.

Arguments are read leniently, since models send numbers as text, and every error says what was expected.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Annotated, NamedTuple, get_args

from pydantic import BaseModel, Field, GetCoreSchemaHandler, PlainValidator, ValidationInfo, WithJsonSchema

from number_tower import catalogue
from number_tower.blocks import LARGEST_NUMBER, parse_number
from number_tower.catalogue import First
from number_tower.players import ALL_LEVELS
from number_tower.position import Ending
from number_tower.rules import Fit, Stuck, Supply, Towers
from number_tower.solve.worth import Value
from number_tower.text import format_value

if TYPE_CHECKING:
    from pydantic_core import CoreSchema

SECONDS, MAX_SECONDS = 5.0, 30.0
"""Seconds for a hint or an analysis: the default, and the limit."""

NO_OPPONENT = "none"

_MAX_FLOAT = 2.0**53
"""From here on floats are not exact whole numbers."""


class ToolRequestError(ValueError):
    """A request cannot be fulfilled; the message says what was wrong and what is expected."""


# Readers of arguments -------------------------------------------------------------------------------------------------


def _parse_integer(given: object) -> int | None:
    """Return a whole number that is given as an integer, a float or plain digits; None for anything else."""
    if isinstance(given, float):
        return int(given) if given.is_integer() and abs(given) <= _MAX_FLOAT else None
    if isinstance(given, str):
        return parse_number(given)
    return given if isinstance(given, int) and not isinstance(given, bool) else None


def _check_integer(key: str, given: object, least: int, most: int) -> int:
    number = _parse_integer(given)
    if number is None or not least <= number <= most:
        expected = " or ".join(map(str, range(least, most + 1))) if most - least < 3 else f"{least} to {most:,}"
        raise ToolRequestError(f"{key}: expected a whole number, {expected}; got {format_value(given)}")
    return number


def _integer(least: int, most: int = LARGEST_NUMBER) -> Callable[[object, ValidationInfo], int]:
    return lambda given, info: _check_integer(str(info.field_name), given, least, most)


def _read_bool(given: object, info: ValidationInfo) -> bool:
    value = {"true": True, "false": False}.get(given.strip().lower()) if isinstance(given, str) else given
    if not isinstance(value, bool):
        raise ToolRequestError(f"{info.field_name}: expected true or false; got {format_value(given)}")
    return value


def _read_game(given: object) -> str:
    if not isinstance(given, str):
        raise ToolRequestError(f"game: expected one of {', '.join(catalogue.list_names())}; got {format_value(given)}")
    return given.strip()


def _read_rules(given: object) -> dict[str, object]:
    """Read the numbers among rules; everything else is checked by `Rules` itself."""
    if not isinstance(given, dict):
        example = '{"blocks": "1-9", "target": 15}'
        raise ToolRequestError(f"rules: expected an object such as {example}; got {format_value(given)}")
    rules = {key: _read_blocks(value) for key, value in given.items() if value is not None}
    for key in {"target", "step"} & set(rules):
        rules[key] = _check_integer(key, rules[key], 1, LARGEST_NUMBER)
    return rules


def _read_blocks(given: object) -> object:
    """Read the numbers in a list of blocks."""
    if not isinstance(given, list):
        return given
    return [each if (number := _parse_integer(each)) is None else number for each in given]


def _read_opponent(given: object) -> str:
    """Return the name of a level; no program is ever started."""
    name = given.strip().lower() if isinstance(given, str) else ""
    if name not in {NO_OPPONENT, *ALL_LEVELS}:
        expected = f"{NO_OPPONENT} or one of {', '.join(ALL_LEVELS)}"
        raise ToolRequestError(f"opponent: expected {expected}; got {format_value(given)}")
    return name


def _read_first(given: object) -> First:
    if isinstance(given, str) and given.strip().lower() == "random":
        return "random"
    seats: dict[int | None, First] = {1: 1, 2: 2}
    first = seats.get(_parse_integer(given))
    if first is None:
        raise ToolRequestError(f"first: expected 1, 2 or random; got {format_value(given)}")
    return first


def _read_block(given: object) -> int:
    """Read the number on a block, also in brackets, which other games ask for, and which make it a list."""
    inner = given[0] if isinstance(given, list) and len(given) == 1 else given
    if isinstance(inner, str):
        inner = inner.strip().removeprefix("[").removesuffix("]")
    number = _parse_integer(inner)
    if number is None:
        raise ToolRequestError(f"block: expected the number on a block, such as 6; got {format_value(given)}")
    return number


def _read_seconds(given: object) -> float:
    seconds: float | None = given if isinstance(given, float) else _parse_integer(given)
    if seconds is None and isinstance(given, str):
        with suppress(ValueError):
            seconds = float(given)
    if seconds is None or not 0 < seconds <= MAX_SECONDS:
        expected = f"a number above 0, at most {MAX_SECONDS:g}"
        raise ToolRequestError(f"seconds: expected {expected}; got {format_value(given)}")
    return float(seconds)


# Arguments ------------------------------------------------------------------------------------------------------------


class _Argument(NamedTuple):
    """An annotation for pydantic: the function that reads an argument, and its JSON schema."""

    read: Callable[..., object]
    schema: dict[str, object]

    def __get_pydantic_core_schema__(self, source: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        return PlainValidator(self.read).__get_pydantic_core_schema__(source, handler)

    def __get_pydantic_json_schema__(self, *_: object) -> dict[str, object]:
        return dict(self.schema)


_NUMBER = {"type": "integer", "minimum": 1, "maximum": LARGEST_NUMBER}
_BLOCKS = {
    "anyOf": [
        {"type": "string", "description": "written as in 1-9 or 1,3,5"},
        {"type": "array", "items": {"type": "integer", "minimum": 1}},
    ]
}
_RULES = {
    "type": "object",
    "properties": {
        "blocks": {**_BLOCKS, "description": "the blocks of the game; 1-9 if left out"},
        "supply": {"enum": get_args(Supply), "description": "own set each, one shared pool (default), or endless"},
        "towers": {"enum": get_args(Towers), "description": "a tower each, or one shared tower (default)"},
        "fit": {"enum": get_args(Fit), "description": "which block may lie on which; any if left out"},
        "step": {**_NUMBER, "description": 'with fit "ascending": by how much a block may be larger at most'},
        "target": {**_NUMBER, "description": "the height that wins at once and may not be passed; none if left out"},
        "stuck": {"enum": get_args(Stuck), "description": "what happens to who cannot move: loses (default) or skips"},
        "opening": {**_BLOCKS, "description": "the blocks that may lie on the ground; all if left out"},
    },
    "additionalProperties": False,
}
_GAME_NAME = {"type": "string", "enum": list(catalogue.list_names())}
_LEVEL = {"type": "string", "enum": [NO_OPPONENT, *ALL_LEVELS]}
_SEAT = {"type": "integer", "enum": [1, 2]}
_STEP = {"type": "integer", "enum": [1, 2, 3]}
_SEED = {"type": "integer", "minimum": 0}
_SECONDS = {"type": "number", "exclusiveMinimum": 0, "maximum": MAX_SECONDS}


def _optional(read: Callable[..., object], about: str, *kinds: Mapping[str, object]) -> _Argument:
    return _Argument(read, {"description": about, "anyOf": [*kinds, {"type": "null"}]})


def _flag(about: str) -> _Argument:
    return _optional(_read_bool, about, {"type": "boolean"})


def _block_set(about: str) -> _Argument:
    return _optional(_read_blocks, f"Option of a named game: the blocks {about}.", _BLOCKS)


GameName = Annotated[str | None, _optional(_read_game, "A game's name; see list_games.", _GAME_NAME)]
RulesGiven = Annotated[
    dict[str, object] | None, _optional(_read_rules, "Rules of your own, instead of a game's name.", _RULES)
]
Target = Annotated[int | None, _optional(_integer(1), "Option of a named game: the height to reach exactly.", _NUMBER)]
Blocks = Annotated[object, _block_set("to play with, such as 1-5 or 1,3,5")]
Opening = Annotated[object, _block_set("that may lie on an empty tower")]
Hidden = Annotated[bool, _flag("Tell nobody which blocks are left, where the game has that option; no hints then.")]
Opponent = Annotated[
    str,
    _optional(
        _read_opponent,
        "The computer's level, from the weakest to one that never errs; none: you move for both sides.",
        _LEVEL,
    ),
]
Seat = Annotated[int, _optional(_integer(1, 2), "Your seat, if there is an opponent.", _SEAT)]
FirstSeat = Annotated[
    First,
    _optional(
        _read_first, "Which seat begins; random tosses a coin by the seed.", {"enum": [1, 2]}, {"const": "random"}
    ),
]
Seed = Annotated[
    int | None, _optional(_integer(0), "What chance follows from: the same seed, the same opponent.", _SEED)
]
ListsLegal = Annotated[bool, _flag("Whether the blocks that may be placed are listed on every turn.")]
GameId = Annotated[
    object,
    WithJsonSchema({"description": "The id of a game, as start_game gave it, such as game-1.", "type": "string"}),
]
Block = Annotated[int, _Argument(_read_block, {"description": "The number on the block to place.", **_NUMBER})]
OneBlock = Annotated[
    int | None, _optional(_read_block, "Say more about placing this one block, and about no other.", _NUMBER)
]
Step = Annotated[
    int, _optional(_integer(1, 3), "How much to tell: 1 what to look for, 2 also the move, 3 also why.", _STEP)
]
Seconds = Annotated[float, _optional(_read_seconds, "How long to search at most.", _SECONDS)]


# Results --------------------------------------------------------------------------------------------------------------


class GameInfo(BaseModel):
    """A game of the catalogue."""

    name: str
    title: str
    summary: str
    options: list[str] = Field(description="what start_game may change about it")


class LevelInfo(BaseModel):
    """A level of the computer."""

    name: str
    about: str


class GamesResult(BaseModel):
    """What can be played, and against whom."""

    games: list[GameInfo]
    opponents: list[LevelInfo]


class RulesResult(BaseModel):
    """The rules of a game: in sentences, and as start_game takes them."""

    title: str
    about: str
    sentences: list[str]
    rules: dict[str, str | int]


class MoveInfo(BaseModel):
    """A move that was made."""

    seat: int
    block: int


class OutcomeInfo(BaseModel):
    """How a game ended."""

    winner: int | None = Field(description="the winner's seat; null if nobody won")
    reason: Ending


class PlayerInfo(BaseModel):
    """A side of a game; what the players share stands with both."""

    seat: int
    name: str
    computer: str | None = Field(description="the computer's level; null if you move for this side")
    tower: list[int] = Field(description="from the ground up")
    height: int
    left: list[int] | None = Field(description="the blocks left; null if they are hidden")


class StateResult(BaseModel):
    """A game as it stands."""

    id: str
    game: str
    rules: dict[str, str | int]
    hidden: bool
    seed: int
    players: list[PlayerInfo]
    moves: list[MoveInfo]
    to_move: int | None = Field(description="the seat whose turn it is; null once the game is over")
    legal: list[int] | None = Field(description="the blocks that may be placed now; null if they are not listed")
    result: OutcomeInfo | None = Field(description="null while the game goes on")
    record: str = Field(description="the game on one line, to be kept, replayed or reviewed elsewhere")


class SessionInfo(BaseModel):
    """A game in short."""

    id: str
    game: str
    moves: int
    to_move: int | None
    opponent: str | None
    result: OutcomeInfo | None


class OpenGamesResult(BaseModel):
    """The games that are kept, the oldest first."""

    games: list[SessionInfo]


class HintResult(BaseModel):
    """A hint, as much of it as was asked for."""

    id: str
    hints: list[str]
    block: int | None = Field(description="the block to place, if it was named")
    more: bool = Field(description="whether a higher step tells more")


class MoveValueInfo(BaseModel):
    """What placing a block is worth to the player to move."""

    block: int
    value: Value | None = Field(description="null: not found in the time there was")
    plies: int | None = Field(description="moves to the end, this one included; null: not known")
    reason: str


class AnalysisResult(BaseModel):
    """What a position is worth to the player to move, exactly."""

    id: str
    to_move: int | None
    value: Value | None = Field(description="null: not found in the time there was, or the game is over")
    plies: int | None = Field(description="moves to the end with best play; null: not known")
    result: OutcomeInfo | None = Field(description="null while the game goes on")
    verdict: str
    method: str
    moves: list[MoveValueInfo] | None = Field(description="the best first; null if legal blocks are not listed")
    note: str = Field(description="what is not known, and why not")
