"""The arguments and results of the tools, as pydantic types with JSON schemas.

Arguments are read leniently, since models send numbers as text, and every error says what was expected.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Annotated, NamedTuple, get_args

from pydantic import BaseModel, Field, PlainValidator, WithJsonSchema

from number_tower import catalogue
from number_tower.blocks import LARGEST_NUMBER, parse_number
from number_tower.catalogue import First
from number_tower.players import ALL_LEVELS
from number_tower.position import Ending
from number_tower.rules import Fit, Stuck, Supply, Towers
from number_tower.solve.worth import Value
from number_tower.text import format_value

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


def _read_bool(given: object) -> object:
    value = (
        {"true": True, "false": False}.get(given.strip().lower())
        if isinstance(given, str)
        else given
    )
    return value if isinstance(value, bool) else None


def _read_name(given: object) -> str | None:
    return given.strip() if isinstance(given, str) else None


def _read_rules(given: object) -> dict[str, object] | None:
    """Read the numbers among rules; everything else is checked by `Rules` itself."""
    if not isinstance(given, dict):
        return None
    rules = {key: _read_blocks(value) for key, value in given.items() if value is not None}
    for key in {"target", "step"} & set(rules):
        rules[key] = _POSITIVE.check(key, rules[key])
    return rules


def _read_blocks(given: object) -> object:
    """Read the numbers in a list of blocks."""
    if not isinstance(given, list):
        return given
    return [each if (number := _parse_integer(each)) is None else number for each in given]


def _read_block(given: object) -> int | None:
    """Read the number on a block, also in brackets, which other games ask for, and which make it a list."""
    inner = given[0] if isinstance(given, list) and len(given) == 1 else given
    return _parse_integer(
        inner.strip().removeprefix("[").removesuffix("]") if isinstance(inner, str) else inner
    )


def _read_seconds(given: object) -> float | None:
    seconds: float | None = given if isinstance(given, float) else _parse_integer(given)
    if seconds is None and isinstance(given, str):
        with suppress(ValueError):
            seconds = float(given)
    return float(seconds) if seconds is not None and 0 < seconds <= MAX_SECONDS else None


# Arguments ------------------------------------------------------------------------------------------------------------


class _Kind(NamedTuple):
    """A kind of argument: what is expected, the function that reads it (None: something else), and its JSON schema."""

    expected: str
    read: Callable[[object], object]
    schema: dict[str, object]

    def check(self, key: str, given: object) -> object:
        """Return the value that is given for a key."""
        value = self.read(given)
        if value is None:
            raise ToolRequestError(f"{key}: expected {self.expected}; got {format_value(given)}")
        return value

    def needed(self, about: str) -> PlainValidator:
        """Return the annotation of an argument."""
        schema = WithJsonSchema({"description": about, **self.schema})
        return PlainValidator(
            lambda given, info: self.check(info.field_name, given),
            json_schema_input_type=Annotated[object, schema],
        )

    def optional(self, about: str) -> PlainValidator:
        """Return the annotation of an argument that may be null."""
        return self._replace(schema={"anyOf": [self.schema, {"type": "null"}]}).needed(about)


def _integer(least: int, most: int = LARGEST_NUMBER) -> _Kind:
    def read(given: object) -> int | None:
        number = _parse_integer(given)
        return number if number is not None and least <= number <= most else None

    expected = (
        " or ".join(map(str, range(least, most + 1)))
        if most - least < 3
        else f"{least} to {most:,}"
    )
    return _Kind(
        f"a whole number, {expected}", read, {"type": "integer", "minimum": least, "maximum": most}
    )


def _one_of(expected: str, *values: str | int, **schema: object) -> _Kind:
    """Return a kind of argument with few values: small numbers, and words in which case does not matter."""

    def read(given: object) -> str | int | None:
        number = _parse_integer(given)
        value = given.strip().lower() if number is None and isinstance(given, str) else number
        return value if value in values else None

    return _Kind(expected, read, {"enum": values, **schema})


_POSITIVE = _integer(1)
_FLAG = _Kind("true or false", _read_bool, {"type": "boolean"})
_BLOCK = _Kind("the number on a block, such as 6", _read_block, _POSITIVE.schema)
_BLOCK_SCHEMAS = [
    {"type": "string", "description": "written as in 1-9 or 1,3,5"},
    {"type": "array", "items": {"type": "integer", "minimum": 1}},
]
_BLOCKS = _Kind("blocks", _read_blocks, {"anyOf": _BLOCK_SCHEMAS})
_RULE_SCHEMAS = {
    "blocks": {**_BLOCKS.schema, "description": "the blocks of the game; 1-9 if left out"},
    "supply": {
        "enum": get_args(Supply),
        "description": "own set each, one shared pool (default), or endless",
    },
    "towers": {
        "enum": get_args(Towers),
        "description": "a tower each, or one shared tower (default)",
    },
    "fit": {"enum": get_args(Fit), "description": "which block may lie on which; any if left out"},
    "step": {
        **_BLOCK.schema,
        "description": 'with fit "ascending": how much larger a block may be',
    },
    "target": {
        **_BLOCK.schema,
        "description": "the height that wins at once and may not be passed; none if left out",
    },
    "stuck": {
        "enum": get_args(Stuck),
        "description": "what happens to a player who cannot move: loses (default) or skips",
    },
    "opening": {
        **_BLOCKS.schema,
        "description": "the blocks that may lie on the ground; all if left out",
    },
}
_RULES_SCHEMA = {"type": "object", "properties": _RULE_SCHEMAS, "additionalProperties": False}
_RULES = _Kind('an object such as {"blocks": "1-9", "target": 15}', _read_rules, _RULES_SCHEMA)
_WORD = _Kind("a name", _read_name, {"type": "string"})
_GAME_NAMES = catalogue.list_names()
_GAME = _Kind(
    f"one of {', '.join(_GAME_NAMES)}", _read_name, {"type": "string", "enum": _GAME_NAMES}
)
_LEVEL = _one_of(
    f"{NO_OPPONENT} or one of {', '.join(ALL_LEVELS)}", NO_OPPONENT, *ALL_LEVELS, type="string"
)
_FIRST = _one_of("1, 2 or random", 1, 2, "random")
_TIME = {"type": "number", "exclusiveMinimum": 0, "maximum": MAX_SECONDS}
_SECONDS = _Kind(f"a number above 0, at most {MAX_SECONDS:g}", _read_seconds, _TIME)

GameName = Annotated[str | None, _GAME.optional("A game's name; see list_games.")]
RulesGiven = Annotated[
    dict[str, object] | None, _RULES.optional("Rules of your own, instead of a game's name.")
]
PresetName = Annotated[
    str | None,
    _WORD.optional(
        "Recommended settings of a named game, see list_games; options count before them."
    ),
]
Target = Annotated[
    int | None, _POSITIVE.optional("Option of a named game: the height to reach exactly.")
]
Blocks = Annotated[
    object,
    _BLOCKS.optional("Option of a named game: the blocks to play with, such as 1-5 or 1,3,5."),
]
Opening = Annotated[
    object, _BLOCKS.optional("Option of a named game: the blocks that may lie on an empty tower.")
]
Hidden = Annotated[
    bool,
    _FLAG.optional(
        "Hide which blocks are left, where the game has that option; then there are no hints."
    ),
]
Opponent = Annotated[
    str,
    _LEVEL.optional(
        "The computer's level, from the weakest to one that makes no mistakes; none: you move for both sides."
    ),
]
Seat = Annotated[int, _integer(1, 2).optional("Your seat, if there is an opponent.")]
FirstSeat = Annotated[
    First, _FIRST.optional("Which seat begins; random tosses a coin by the seed.")
]
Seed = Annotated[
    int | None,
    _integer(0).optional("The random seed; with the same seed, the opponent plays the same."),
]
ListsLegal = Annotated[
    bool, _FLAG.optional("Whether the blocks that may be placed are listed on every turn.")
]
GameId = Annotated[
    object,
    WithJsonSchema(
        {"description": "The id of a game from start_game, such as game-1.", "type": "string"}
    ),
]
Block = Annotated[int, _BLOCK.needed("The number on the block to place.")]
OneBlock = Annotated[int | None, _BLOCK.optional("Show the value of this one block only.")]
Step = Annotated[
    int,
    _integer(1, 3).optional("How much to tell: 1 what to look for, 2 also the move, 3 also why."),
]
Seconds = Annotated[float, _SECONDS.optional("How long to search at most.")]


# Results --------------------------------------------------------------------------------------------------------------


class PresetInfo(BaseModel):
    """Recommended settings of a game."""

    name: str
    options: dict[str, str | int]
    about: str


class GameInfo(BaseModel):
    """A game of the catalogue."""

    name: str
    title: str
    summary: str
    options: list[str] = Field(description="the options that start_game takes for it")
    presets: list[PresetInfo] = Field(
        description="recommended settings, which start_game takes by their names"
    )


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
    tower: tuple[int, ...] = Field(description="from the ground up")
    height: int
    left: tuple[int, ...] | None = Field(description="the blocks left; null if they are hidden")


class GameStatus(BaseModel):
    """A game, whose turn it is, and its result."""

    id: str
    to_move: int | None = Field(description="the seat whose turn it is; null once the game is over")
    result: OutcomeInfo | None = Field(description="null until the game is over")


class StateResult(GameStatus):
    """A game as it stands."""

    game: str
    rules: dict[str, str | int]
    hidden: bool
    seed: int
    players: list[PlayerInfo]
    moves: list[MoveInfo]
    legal: tuple[int, ...] | None = Field(
        description="the blocks that may be placed now; null if they are not listed"
    )
    record: str = Field(
        description="the game on one line, to be saved, replayed or reviewed elsewhere"
    )


class SessionInfo(GameStatus):
    """A game in short."""

    game: str
    moves: int
    opponent: str | None


class OpenGamesResult(BaseModel):
    """The stored games, the oldest first."""

    games: list[SessionInfo]


class HintResult(BaseModel):
    """A hint, as much of it as was asked for."""

    id: str
    hints: tuple[str, ...]
    block: int | None = Field(description="the block to place, if it was named")
    more: bool = Field(description="whether a higher step tells more")


class MoveValueInfo(BaseModel):
    """What placing a block is worth to the player to move."""

    block: int
    value: Value | None = Field(description="null: not found in time")
    plies: int | None = Field(description="moves to the end, this one included; null: unknown")
    reason: str


class AnalysisResult(GameStatus):
    """What a position is worth to the player to move, exactly."""

    value: Value | None = Field(description="null: not found in time, or the game is over")
    plies: int | None = Field(description="moves to the end with best play; null: unknown")
    verdict: str
    method: str
    moves: list[MoveValueInfo] | None = Field(
        description="the best first; null if legal blocks are not listed"
    )
    note: str = Field(description="what is unknown, and why")
