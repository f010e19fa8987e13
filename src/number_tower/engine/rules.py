"""The rules of a game: blocks, supply, towers, which block fits on which, and what ends it.

Rules are three tables of bit masks. With block `i` of the game as bit `i` of an integer,

    legal = left & fits(top) & room(height)

There is no code for a single game: everything works with any rules.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from itertools import accumulate, compress, takewhile
from math import isqrt
from typing import Any, Literal, cast, get_args

from number_tower.engine.blocks import MAX_NUMBER, BlocksError, can_add_up, parse_blocks
from number_tower.support.errors import NumberTowerError
from number_tower.support.text import (
    MAX_MISTAKES,
    format_runs,
    format_text,
    format_value,
    suggest_nearest,
    summarize_numbers,
)

Supply = Literal["own", "shared", "endless"]
Towers = Literal["own", "shared"]
Fit = Literal["any", "descending", "ascending", "related", "unrelated"]
Stuck = Literal["loses", "skips"]

MAX_SERVED_BLOCKS, MAX_SERVED_TARGET, MAX_SERVED_PLIES = 1_000, 10_000, 2_000
"""How large rules may be that are served to others: each game is described in full again and
again."""

UNNAMED = "rules"
"""The name of a game that has rules and no rulebook."""

EMPTY = 0
"""The top of a tower without blocks."""

_ONE = ord("1")
_DIGITS_TO_BITS = bytes.maketrans(b"01", b"\0\1")
_REMEMBERED_BITS = 1 << 28
_OVERHEAD_BITS = 1000


class RulesError(NumberTowerError, ValueError):
    """Rules are not valid: which key is wrong, and what was expected.

    Examples:
        >>> nt.Rules(fit="rising")
        Traceback (most recent call last):
            ...
        number_tower.engine.rules.RulesError: fit: expected one of any, descending, ascending...
    """

    reason = "bad_rules"

    def __init__(self, key: str, problem: str) -> None:
        super().__init__(key, problem)
        self.key = self.field = key
        self.problem = problem

    def __str__(self) -> str:
        return f"{self.key}: {self.problem}"


@dataclass(frozen=True)
class Rules:
    """The checked rules of one game.

    A set of blocks is a mask: an integer with one bit for each block, the smallest block first.

    Args:
        blocks: The numbers on the blocks, each once, from 1 up.
        supply: "own", a set for each player; "shared", one pool; "endless", as often as you like.
        towers: "own", one for each player; "shared", one for both.
        fit: What may lie on the top: "any"; "descending", equal or smaller; "ascending", larger;
            "related", a divisor or a multiple; "unrelated", neither.
        step: With "ascending", by how much a block may be larger at most; None, by any number.
        target: The height that wins when it is reached exactly and that no tower may pass; None,
            there is none.
        stuck: A player who cannot place a block "loses" or "skips".
        opening: The blocks that may lie on an empty tower; None, all.

    Examples:
        >>> mine = nt.Rules(blocks=[2, 3, 5, 7, 11], fit="ascending", target=20)
        >>> nt.Game(mine).play(5).legal
        (7, 11)
        >>> mine.fits(5) == mine.mask([7, 11]) == mine.bit(7) | mine.bit(11)
        True
        >>> mine.numbers(mine.fits(5) & mine.room(10))  # on a top of 5, in a tower of height 10
        (7,)
        >>> mine.numbers(mine.every & ~mine.up_to(5)), mine.has(4)
        ((7, 11), False)
        >>> mine.max_plies, mine.max_height, mine.target_in_reach
        (4, 20, True)
    """

    blocks: Sequence[int] = range(1, 10)
    supply: Supply = "shared"
    towers: Towers = "shared"
    fit: Fit = "any"
    step: int | None = None
    target: int | None = None
    stuck: Stuck = "loses"
    opening: Sequence[int] | None = None

    def __post_init__(self) -> None:
        for field in fields(self):
            if (value := getattr(self, field.name)) is not field.default or field.name == "blocks":
                object.__setattr__(self, field.name, parse_rule(field.name, value))
        if self.step is not None and self.fit != "ascending":
            problem = f'expected only with fit "ascending"; this fit is "{self.fit}"'
            raise RulesError("step", problem)
        for block in self.opening or ():
            if not self.has(block):
                raise RulesError(
                    "opening",
                    f"expected blocks of this game ({summarize_numbers(self.blocks)}); got {block}",
                )
        # An ascending tower never repeats a block. With every other fit a block fits on itself, or
        # two blocks fit on each other: one that fits on an opening already makes a cycle.
        may_repeat = self.supply == "endless" and self.target is None and self.fit != "ascending"
        if may_repeat and any(map(self.fits, self.opening or self.blocks)):
            raise RulesError(
                "supply",
                f'with endless blocks, no target and fit "{self.fit}" the game could never end;'
                ' expected a target, a supply that runs out, or fit "ascending"',
            )

    def __reduce__(self) -> tuple[type[Rules], tuple[object, ...]]:
        # Pickle the rules without the cached masks.
        return Rules, tuple(getattr(self, field.name) for field in fields(self))

    @classmethod
    def from_dict(cls, table: Mapping[str, object]) -> Rules:
        """Make rules from the keys and values of a rule file or a record.

        Examples:
            >>> nt.Rules.from_dict({"blocks": "1-3,8", "target": 12}).blocks
            (1, 2, 3, 8)
        """
        return cls().replace(table)

    def replace(self, table: Mapping[str, object]) -> Rules:
        """Return these rules with some of them replaced.

        Examples:
            >>> nt.Rules(target=15).replace({"target": 21, "blocks": "1-12"}).target
            21
        """
        for key in table:
            _check_key(str(key))
        values: dict[str, Any] = dict(table)
        return replace(self, **values)

    def to_dict(self) -> dict[str, str | int]:
        """Return every rule as a rule file writes it; `from_dict` makes the same rules of it.

        Examples:
            >>> table = nt.Rules(blocks=[1, 2, 3, 8], target=12).to_dict()
            >>> table["blocks"], table["target"], table["stuck"]
            ('1-3,8', 12, 'loses')
        """
        table: dict[str, str | int] = {}
        for field in fields(self):
            value = getattr(self, field.name)
            if field.name in {"blocks", "opening"} and value is not None:
                value = format_runs(value)
            if value is not None:
                table[field.name] = value
        return table

    def check_served(self) -> None:
        """Raise what is too large about these rules, if they are to be served.

        Examples:
            >>> nt.Rules(target=10_000).check_served()
        """
        sizes = {
            "blocks": (len(self.blocks), MAX_SERVED_BLOCKS),
            "target": (self.target or 0, MAX_SERVED_TARGET),
        }
        for key, (size, limit) in sizes.items():
            if size > limit:
                raise RulesError(key, f"expected at most {limit:,} here; got {size:,}")
        if self.max_plies > MAX_SERVED_PLIES:
            problem = f"expected a game of at most {MAX_SERVED_PLIES:,} moves here"
            key = "target" if self.supply == "endless" else "blocks"
            raise RulesError(key, f"{problem}; this one could take {self.max_plies:,}")

    # The three tables -----------------------------------------------------------------------------

    def fits(self, top: int) -> int:
        """Return the blocks that may lie on `top`; on an empty tower, the permitted openings.

        Examples:
            >>> rules = nt.Rules(fit="related")
            >>> rules.numbers(rules.fits(6))
            (1, 2, 3, 6)
        """
        # The same few tops are asked for in every position of a search.
        mask = self._fits_seen.get(top)
        if mask is None:
            mask = self._openings if top == EMPTY else _FITS[self.fit](self, top)
            _cache_mask(self._fits_seen, top, mask, len(self.blocks))
        return mask

    def room(self, height: int) -> int:
        """Return the blocks that keep a tower of this height within the target."""
        if self.target is None:
            return self.every
        mask = self._room_seen.get(height)
        if mask is None:
            mask = self.up_to(self.target - height)
            _cache_mask(self._room_seen, height, mask, len(self.blocks))
        return mask

    @cached_property
    def every(self) -> int:
        """All blocks of the game, as a mask."""
        return (1 << len(self.blocks)) - 1

    def up_to(self, number: int) -> int:
        """Return the blocks not above a number, as a mask."""
        return (1 << bisect_right(self.blocks, number)) - 1

    # Between blocks and bits ----------------------------------------------------------------------

    def has(self, number: object) -> bool:
        """Return whether a value is a block of this game."""
        return self.bit(number) != 0

    def bit(self, number: object) -> int:
        """Return the mask of one block, or 0 if it is not a block of this game."""
        if not isinstance(number, int) or isinstance(number, bool):
            return 0
        place = bisect_left(self.blocks, number)
        return 1 << place if place < len(self.blocks) and self.blocks[place] == number else 0

    def mask(self, blocks: Iterable[int]) -> int:
        """Return the mask of some blocks of the game."""
        return _select(self.blocks, frozenset(blocks).__contains__)

    def numbers(self, mask: int) -> tuple[int, ...]:
        """Return the blocks of a mask, rising.

        Examples:
            >>> nt.Rules().numbers(0b1011)
            (1, 2, 4)
        """
        return tuple(compress(self.blocks, bin(mask)[:1:-1].encode().translate(_DIGITS_TO_BITS)))

    # What follows from the rules ------------------------------------------------------------------

    @cached_property
    def target_in_reach(self) -> bool | None:
        """Whether the blocks of one tower can add up to the target; None: no target, or unknown."""
        if self.target is None:
            return None
        if self.supply == "endless":
            return can_add_up(self.blocks, self.target, None)
        copies = 2 if (self.supply, self.towers) == ("own", "shared") else 1
        return can_add_up(self.blocks, self.target, copies)

    @property
    def is_regular(self) -> bool:
        """Whether the blocks are neighbouring multiples of one number.

        Examples:
            >>> nt.Rules(blocks=[20, 30, 40]).is_regular, nt.Rules(blocks=[1, 3, 5]).is_regular
            (True, False)
        """
        return isinstance(self.blocks, range) and self.blocks[0] % self.blocks.step == 0

    @cached_property
    def max_plies(self) -> int:
        """An upper bound for the moves of a game."""
        copies = (
            2 if (self.supply, self.towers) == ("own", "shared") and self.fit != "ascending" else 1
        )
        if self.supply == "endless" and self.target is not None and self.fit != "ascending":
            tower = self.target // self.blocks[0]
        elif self.target is None:
            tower = copies * len(self.blocks)
        else:
            smallest = (block for block in self.blocks for _ in range(copies))
            target = self.target
            tower = sum(1 for _ in takewhile(lambda height: height <= target, accumulate(smallest)))
        if self.towers == "shared":
            return tower
        return min(2 * tower, len(self.blocks)) if self.supply == "shared" else 2 * tower

    @cached_property
    def max_height(self) -> int:
        """An upper bound for the height of a tower."""
        if self.target is not None:
            return self.target
        return sum(self.blocks) * (2 if (self.supply, self.towers) == ("own", "shared") else 1)

    # ----------------------------------------------------------------------------------------------

    @cached_property
    def _openings(self) -> int:
        return self.every if self.opening is None else self.mask(self.opening)

    @cached_property
    def _fits_seen(self) -> dict[int, int]:
        return {}

    @cached_property
    def _room_seen(self) -> dict[int, int]:
        return {}


def _select(blocks: Sequence[int], holds: Callable[[int], bool]) -> int:
    """Return the blocks that satisfy a condition, as a mask."""
    return int("0" + "".join("1" if holds(block) else "0" for block in reversed(blocks)), 2)


def _fit_ascending(rules: Rules, top: int) -> int:
    highest = rules.every if rules.step is None else rules.up_to(top + rules.step)
    return highest & ~rules.up_to(top)


def _fit_related(rules: Rules, top: int) -> int:
    if not rules.is_regular:
        return _select(rules.blocks, lambda block: block % top == 0 or top % block == 0)
    unit = cast("range", rules.blocks).step
    lowest, number = rules.blocks[0] // unit, top // unit
    digits = bytearray(b"0") * len(rules.blocks)
    multiples = slice(number - lowest, None, number)
    digits[multiples] = b"1" * len(digits[multiples])
    # Divisors come in pairs, so those up to the square root find all.
    for divisor in range(1, min(isqrt(number), number // lowest) + 1):
        if number % divisor == 0:
            digits[number // divisor - lowest] = _ONE
            if divisor >= lowest:
                digits[divisor - lowest] = _ONE
    return int(digits[::-1], 2)


_FITS: dict[Fit, Callable[[Rules, int], int]] = {
    "any": lambda rules, _: rules.every,
    "descending": lambda rules, top: rules.up_to(top),
    "ascending": _fit_ascending,
    "related": _fit_related,
    "unrelated": lambda rules, top: rules.every & ~_fit_related(rules, top),
}

_VOCABULARIES: dict[str, tuple[str, ...]] = {
    "supply": get_args(Supply),
    "towers": get_args(Towers),
    "fit": get_args(Fit),
    "stuck": get_args(Stuck),
}


_DEPENDENTS = {
    "fit": ("step", "supply"),
    "blocks": ("opening",),
    "target": ("supply",),
    "opening": ("supply",),
}
"""The keys whose values can be checked only if that of a key is right."""


def _check_key(key: str) -> None:
    keys = [field.name for field in fields(Rules)]
    if key not in keys:
        problem = f"unknown; expected one of {', '.join(keys)}{suggest_nearest(key, keys)}"
        raise RulesError(format_text(key, 40), problem)


def parse_rule(key: str, value: object) -> object:
    """Return the checked value of one rule, as far as it can be checked alone."""
    _check_key(key)
    if key in _VOCABULARIES:
        words = _VOCABULARIES[key]
        if value not in words:
            problem = f"expected one of {', '.join(words)}; got {format_value(value)}"
            raise RulesError(key, f"{problem}{suggest_nearest(value, words)}")
        return value
    if value is None and key != "blocks":
        return None
    if key in {"blocks", "opening"}:
        try:
            return parse_blocks(value)
        except BlocksError as error:
            raise RulesError(key, str(error)) from None
    if type(value) is not int or not 1 <= value <= MAX_NUMBER:
        expected = f"expected a whole number from 1 to {MAX_NUMBER:,}"
        raise RulesError(key, f"{expected}; got {format_value(value)}")
    return value


def find_mistakes(table: Mapping[str, object]) -> list[RulesError]:
    """Return everything that is wrong with the keys and values of a rule file.

    Examples:
        >>> [mistake.key for mistake in find_mistakes({"target": 0, "blocks": "9-1"})]
        ['target', 'blocks']
    """
    mistakes, values = [], dict[str, Any]()
    for key, value in table.items():
        try:
            values[key] = parse_rule(str(key), value)
        except RulesError as error:
            mistakes.append(error)
        if len(mistakes) >= MAX_MISTAKES:
            return mistakes
    # What depends on a wrong value would only be a mistake because of it.
    for mistake in mistakes:
        for dependent in _DEPENDENTS.get(mistake.key, ()):
            values.pop(dependent, None)
    while True:
        try:
            Rules(**values)
        except RulesError as error:
            mistakes.append(error)
            values.pop(error.key)
        else:
            return mistakes


def _cache_mask(seen: dict[int, int], key: int, mask: int, bits: int) -> None:
    if len(seen) * (bits + _OVERHEAD_BITS) > _REMEMBERED_BITS:
        seen.clear()
    seen[key] = mask
