"""What a model may ask for: the arguments of the tools as their schemas tell them, read with words for what is wrong.

The arguments are read here and not by the protocol's library, whose errors tell about types and not about games.
A game is one of the catalogue, or rules that are given whole: no name is ever looked up as a file.
"""

from __future__ import annotations

from contextlib import suppress
from random import Random
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, get_args

from pydantic import WithJsonSchema

from number_tower import catalogue
from number_tower.blocks import LARGEST_NUMBER, parse_number
from number_tower.catalogue import OptionError
from number_tower.game import Game
from number_tower.mcp.session import GameSession, ToolRequestError
from number_tower.players import LEVELS, RANDOM, Level
from number_tower.rules import UNNAMED, Fit, Rules, RulesError, Stuck, Supply, Towers
from number_tower.table import Table
from number_tower.text import format_value

if TYPE_CHECKING:
    from collections.abc import Mapping

    from number_tower.catalogue import Rulebook

MOST_BLOCKS = 1_000
"""Blocks of a game that can be told whole again and again."""

MOST_PLIES = 10_000
"""Moves that a game may take, so that a computer who builds on alone comes to an end."""

SECONDS, MOST_SECONDS = 5.0, 30.0
"""What a hint or an analysis may take, usually and at most."""

OPPONENTS: dict[str, Level] = {RANDOM.name: RANDOM, **LEVELS}
NOBODY = "none"

_MOST_SEEDS = 2**31

_MOST_FLOAT = 2.0**53
"""Where whole numbers written with a point are no longer told apart."""


def _told(about: str, **schema: object) -> WithJsonSchema:
    return WithJsonSchema({"description": about, **schema})


def _or_none(about: str, *kinds: dict[str, object]) -> WithJsonSchema:
    return _told(about, anyOf=[*kinds, {"type": "null"}])


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

GameName = Annotated[
    Any, _or_none("A game's name; see list_games.", {"type": "string", "enum": list(catalogue.list_names())})
]
RulesGiven = Annotated[Any, _or_none("Rules of your own, instead of a game's name.", _RULES)]
Target = Annotated[Any, _or_none("Option of a named game: the height to reach exactly.", _NUMBER)]
Blocks = Annotated[Any, _or_none("Option of a named game: the blocks to play with, such as 1-5 or 1,3,5.", _BLOCKS)]
Opening = Annotated[Any, _or_none("Option of a named game: the blocks that may lie on an empty tower.", _BLOCKS)]
Hidden = Annotated[
    Any,
    _or_none("Tell nobody which blocks are left, where the game has that option; no hints then.", {"type": "boolean"}),
]
Opponent = Annotated[
    Any,
    _or_none(
        "The computer's level, from the weakest to one that never errs; none: you move for both sides.",
        {"type": "string", "enum": [NOBODY, *OPPONENTS]},
    ),
]
Seat = Annotated[Any, _or_none("Your seat, if there is an opponent.", {"type": "integer", "enum": [1, 2]})]
First = Annotated[
    Any, _or_none("Which seat begins; random tosses a coin by the seed.", {"enum": [1, 2]}, {"const": "random"})
]
Seed = Annotated[
    Any,
    _or_none("What chance follows from: the same seed, the same opponent.", {"type": "integer", "minimum": 0}),
]
Lists = Annotated[Any, _or_none("Whether the blocks that may be placed are listed on every turn.", {"type": "boolean"})]
GameId = Annotated[Any, _told("The id of a game, as start_game gave it, such as game-1.", type="string")]
Block = Annotated[Any, _told("The number on the block to place.", **_NUMBER)]
OneBlock = Annotated[Any, _or_none("Say more about placing this one block, and about no other.", _NUMBER)]
Step = Annotated[
    Any,
    _or_none(
        "How much to tell: 1 what to look for, 2 also the move, 3 also why.", {"type": "integer", "enum": [1, 2, 3]}
    ),
]
Seconds = Annotated[
    Any,
    _or_none("How long to search at most.", {"type": "number", "exclusiveMinimum": 0, "maximum": MOST_SECONDS}),
]


class Sort(NamedTuple):
    """What is to be played: by which rulebook, by which rules, and whether the blocks are hidden."""

    book: Rulebook
    rules: Rules
    hidden: bool = False


def sort_of(game: object, rules: object, options: Mapping[str, object], *, hidden: object = False) -> Sort:
    """Return the game that is asked for: by its name and options, or by rules of one's own."""
    chosen = {key: value for key, value in options.items() if value is not None}
    secret = yes_or_no("hidden", hidden)
    if (game is None) == (rules is None):
        raise ToolRequestError(f"expected either a game ({_names()}) or rules of your own, and not both or neither")
    try:
        sort = _named(game, chosen, secret) if rules is None else _own(rules, chosen, secret)
    except RulesError as wrong:
        raise ToolRequestError(f"{wrong}") from None
    if len(sort.rules.blocks) > MOST_BLOCKS:
        raise ToolRequestError(f"blocks: expected at most {MOST_BLOCKS:,} here; got {len(sort.rules.blocks):,}")
    if sort.rules.most_plies > MOST_PLIES:
        raise ToolRequestError(f"target: expected a game of at most {MOST_PLIES:,} moves; this one could take more")
    return sort


def _named(game: object, chosen: dict[str, object], hidden: bool) -> Sort:  # noqa: FBT001 - one caller
    if not isinstance(game, str):
        raise ToolRequestError(f"game: expected one of {_names()}; got {format_value(game)}")
    book = catalogue.load_named(game.strip())
    try:
        book.check_options([*chosen, *(["hidden"] if hidden else [])])
    except OptionError as wrong:
        raise ToolRequestError(f"{wrong}; give rules of your own for anything else") from None
    return Sort(book, book.apply_options(_rules_read(chosen)), hidden)


def _own(rules: object, chosen: dict[str, object], hidden: bool) -> Sort:  # noqa: FBT001 - one caller
    if chosen:
        raise ToolRequestError(
            f"{', '.join(chosen)}: an option of a named game; with rules of your own it belongs into them"
        )
    if not isinstance(rules, dict):
        raise ToolRequestError(
            f'rules: expected an object such as {{"blocks": "1-9", "target": 15}}; got {format_value(rules)}'
        )
    made = Rules.read(_rules_read({key: value for key, value in rules.items() if value is not None}))
    return Sort(catalogue.find_rulebook(UNNAMED, made), made, hidden)


def _rules_read(given: Mapping[str, object]) -> dict[str, object]:
    """Read the numbers among rules as all numbers are read here; the rules themselves judge everything else."""
    read = dict(given)
    for key, value in given.items():
        if key in {"target", "step"}:
            read[key] = number(key, value, 1, LARGEST_NUMBER)
        elif isinstance(value, list):
            read[key] = [each if (found := _whole(each)) is None else found for each in value]
    return read


class Wish(NamedTuple):
    """How a game is to be played; what it means is found out by `begun`."""

    opponent: object = NOBODY
    seat: object = 1
    first: object = 1
    seed: object = None
    lists: object = True


def begun(sort: Sort, wish: Wish) -> GameSession:
    """Return the game that is asked for, before its first move and without an id."""
    level = opponent(wish.opponent)
    seat = number("seat", wish.seat, 1, 2) - 1
    seed = Random().randrange(_MOST_SEEDS) if wish.seed is None else number("seed", wish.seed, 0, LARGEST_NUMBER)  # noqa: S311 - play
    first = _first(wish.first, seed)
    automatic = (False, False) if level is None else (seat != 0, seat != 1)
    table = Table(Game(sort.rules, first), hidden=sort.hidden, automatic=automatic, book=sort.book)
    return GameSession("", table, sort.book, level, seat, seed, yes_or_no("legal", wish.lists))


def opponent(given: object) -> Level | None:
    """Return the computer's level; only levels have names here, and no program is ever started."""
    name = given.strip().lower() if isinstance(given, str) else given
    if name is None or name == NOBODY:
        return None
    if not isinstance(name, str) or name not in OPPONENTS:
        raise ToolRequestError(
            f"opponent: expected {NOBODY} or one of {', '.join(OPPONENTS)}; got {format_value(given)}"
        )
    return OPPONENTS[name]


def block(given: object) -> int:
    """Read the number on a block; also in brackets, which other games ask of models, and which make it a list."""
    inner = given[0] if isinstance(given, list) and len(given) == 1 else given
    if isinstance(inner, str):
        inner = inner.strip().removeprefix("[").removesuffix("]")
    found = _whole(inner)
    if found is None:
        raise ToolRequestError(f"block: expected the number on a block, such as 6; got {format_value(given)}")
    return found


def number(key: str, given: object, least: int, most: int) -> int:
    """Read a whole number within bounds."""
    found = _whole(given)
    if found is None or not least <= found <= most:
        expected = " or ".join(map(str, range(least, most + 1))) if most - least < 3 else f"{least} to {most:,}"
        raise ToolRequestError(f"{key}: expected a whole number, {expected}; got {format_value(given)}")
    return found


def seconds(given: object) -> float:
    """Read how long to search."""
    found: float | None = given if isinstance(given, float) else _whole(given)
    if found is None and isinstance(given, str):
        with suppress(ValueError):
            found = float(given)
    if found is None or not 0 < found <= MOST_SECONDS:
        raise ToolRequestError(
            f"seconds: expected a number above 0, at most {MOST_SECONDS:g}; got {format_value(given)}"
        )
    return float(found)


def left_out(given: object) -> bool:
    """Say whether an argument counts as not given: null, also as text, of which the protocol's library makes null."""
    return given is None or (isinstance(given, str) and given.strip() == "null")


def _whole(given: object) -> int | None:
    """Read a whole number: as it is, with a point and nothing behind it, or in plain digits; None if it is none."""
    if isinstance(given, float):
        return int(given) if given.is_integer() and abs(given) <= _MOST_FLOAT else None
    if isinstance(given, str):
        return parse_number(given)
    return given if isinstance(given, int) and not isinstance(given, bool) else None


def yes_or_no(key: str, given: object) -> bool:
    """Read a choice, also one that came as text."""
    found = {"true": True, "false": False}.get(given.strip().lower()) if isinstance(given, str) else given
    if not isinstance(found, bool):
        raise ToolRequestError(f"{key}: expected true or false; got {format_value(given)}")
    return found


def _first(given: object, seed: int) -> int:
    if isinstance(given, str) and given.strip().lower() == "random":
        return Random(seed).randrange(2)  # noqa: S311 - a coin toss, not a secret
    try:
        return number("first", given, 1, 2) - 1
    except ToolRequestError:
        raise ToolRequestError(f"first: expected 1, 2 or random; got {format_value(given)}") from None


def _names() -> str:
    return ", ".join(catalogue.list_names())
