"""The rules of a game: its blocks, where they come from and lie, which block fits on which, and what ends it.

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

from number_tower.blocks import LARGEST_NUMBER, BlocksError, can_add_up, parse_blocks
from number_tower.errors import NumberTowerError
from number_tower.text import (
    MOST_MISTAKES,
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
"""How large rules may be that are served to others: each game is described in full again and again."""

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
        number_tower.rules.RulesError: fit: expected one of any, descending, ascending, related, unrelated; got...
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
        fit: What may lie on the top: "any"; "descending", equal or smaller; "ascending", larger; "related", a divisor
            or a multiple; "unrelated", neither.
        step: With "ascending", by how much a block may be larger at most; None, by any number.
        target: The height that wins when it is reached exactly and that no tower may pass; None, there is none.
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
        >>> mine.most_plies, mine.most_height, mine.target_in_reach
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
            raise RulesError(
                "step", f'expected only with fit "ascending"; this fit is "{self.fit}"'
            )
        if self.opening is not None:
            self._check_opening(self.opening)
        if self._could_never_end():
            raise RulesError(
                "supply",
                f'with endless blocks, no target and fit "{self.fit}" the game could never end;'
                ' expected a target, a supply that runs out, or fit "ascending"',
            )

    def __reduce__(self) -> tuple[type[Rules], tuple[object, ...]]:
        # Pickle the rules without the cached masks.
        return Rules, tuple(getattr(self, field.name) for field in fields(self))

    @classmethod
    def read(cls, table: Mapping[str, object]) -> Rules:
        """Make rules from the keys and values of a rule file or a record.

        Examples:
            >>> nt.Rules.read({"blocks": "1-3,8", "target": 12}).blocks
            (1, 2, 3, 8)
        """
        return cls().changed(table)

    def changed(self, table: Mapping[str, object]) -> Rules:
        """Return these rules with some of them replaced.

        Examples:
            >>> nt.Rules(target=15).changed({"target": 21, "blocks": "1-12"}).target
            21
        """
        for key in table:
            _check_key(str(key))
        values: dict[str, Any] = dict(table)
        return replace(self, **values)

    @classmethod
    def find_mistakes(cls, table: Mapping[str, object]) -> list[RulesError]:
        """Return everything that is wrong with the keys and values of a rule file.

        Examples:
            >>> [mistake.key for mistake in nt.Rules.find_mistakes({"target": 0, "blocks": "9-1"})]
            ['target', 'blocks']
        """
        mistakes, values = [], dict[str, Any]()
        for key, value in table.items():
            try:
                values[key] = parse_rule(str(key), value)
            except RulesError as error:
                mistakes.append(error)
            if len(mistakes) >= MOST_MISTAKES:
                return mistakes
        for mistake in mistakes:
            for dependent in _DEPENDENTS.get(mistake.key, ()):
                values.pop(dependent, None)
        while True:
            try:
                cls(**values)
            except RulesError as error:
                mistakes.append(error)
                values.pop(error.key)
            else:
                return mistakes

    def written(self) -> dict[str, str | int]:
        """Return every rule as a rule file writes it; `read` makes the same rules of it.

        Examples:
            >>> nt.Rules(blocks=[1, 2, 3, 8], target=12).written()
            {'blocks': '1-3,8', 'supply': 'shared', 'towers': 'shared', 'fit': 'any', 'target': 12, 'stuck': 'loses'}
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
        for key, most, size in (
            ("blocks", MAX_SERVED_BLOCKS, len(self.blocks)),
            ("target", MAX_SERVED_TARGET, self.target or 0),
        ):
            if size > most:
                raise RulesError(key, f"expected at most {most:,} here; got {size:,}")
        if self.most_plies > MAX_SERVED_PLIES:
            problem = f"expected a game of at most {MAX_SERVED_PLIES:,} moves here"
            key = "target" if self.supply == "endless" else "blocks"
            raise RulesError(key, f"{problem}; this one could take {self.most_plies:,}")

    # The three tables ------------------------------------------------------------------------------------

    def fits(self, top: int) -> int:
        """Return the blocks that may lie on `top`; on an empty tower, the permitted openings.

        Examples:
            >>> rules = nt.Rules(fit="related")
            >>> rules.numbers(rules.fits(6))
            (1, 2, 3, 6)
        """
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

    # Between blocks and bits -----------------------------------------------------------------------------

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
        chosen = frozenset(blocks)
        return _select(self.blocks, chosen.__contains__)

    def numbers(self, mask: int) -> tuple[int, ...]:
        """Return the blocks of a mask, rising.

        Examples:
            >>> nt.Rules().numbers(0b1011)
            (1, 2, 4)
        """
        return tuple(compress(self.blocks, bin(mask)[:1:-1].encode().translate(_DIGITS_TO_BITS)))

    # What follows from the rules -------------------------------------------------------------------------

    @cached_property
    def target_in_reach(self) -> bool | None:
        """Whether the blocks that one tower can get add up to the target (None: no target, or not known)."""
        if self.target is None:
            return None
        if self.supply == "endless":
            return can_add_up(self.blocks, self.target, None)
        return can_add_up(
            self.blocks, self.target, 2 if (self.supply, self.towers) == ("own", "shared") else 1
        )

    @property
    def is_regular(self) -> bool:
        """Whether the blocks are neighbouring multiples of one number.

        Examples:
            >>> [nt.Rules.read({"blocks": blocks}).is_regular for blocks in ("1-9", "20,30,40", "1,3,5")]
            [True, True, False]
        """
        return isinstance(self.blocks, range) and self.blocks[0] % self.blocks.step == 0

    @cached_property
    def most_plies(self) -> int:
        """An upper bound for the moves of a game."""
        each = (
            2 if (self.supply, self.towers) == ("own", "shared") and self.fit != "ascending" else 1
        )
        if self.supply == "endless" and self.target is not None and self.fit != "ascending":
            tower = self.target // self.blocks[0]
        elif self.target is None:
            tower = each * len(self.blocks)
        else:
            smallest = (block for block in self.blocks for _ in range(each))
            target = self.target
            tower = sum(1 for _ in takewhile(lambda height: height <= target, accumulate(smallest)))
        if self.towers == "shared":
            return tower
        return min(2 * tower, len(self.blocks)) if self.supply == "shared" else 2 * tower

    @cached_property
    def most_height(self) -> int:
        """An upper bound for the height of a tower."""
        if self.target is not None:
            return self.target
        return sum(self.blocks) * (2 if (self.supply, self.towers) == ("own", "shared") else 1)

    # ---------------------------------------------------------------------------------------------------

    def _check_opening(self, opening: Sequence[int]) -> None:
        for block in opening:
            if not self.has(block):
                raise RulesError(
                    "opening",
                    f"expected blocks of this game ({summarize_numbers(self.blocks)}); got {block}",
                )

    def _could_never_end(self) -> bool:
        """Return whether blocks could be placed forever: endless supply, no target, and a fit that allows a cycle.

        An ascending tower never repeats a block. With every other fit a block fits on itself, or two blocks fit on
        each other: then one block that fits on an opening already makes a cycle.
        """
        if self.supply != "endless" or self.target is not None or self.fit == "ascending":
            return False
        return any(map(self.fits, self.blocks if self.opening is None else self.opening))

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
    known = [field.name for field in fields(Rules)]
    if key not in known:
        problem = f"unknown; expected one of {', '.join(known)}{suggest_nearest(key, known)}"
        raise RulesError(format_text(key, 40), problem)


def parse_rule(key: str, value: object) -> object:
    """Return the checked value of one rule, as far as it can be checked alone."""
    _check_key(key)
    if key in {"blocks", "opening"}:
        return None if value is None and key == "opening" else _parse_blocks(key, value)
    if key in _VOCABULARIES:
        if value not in _VOCABULARIES[key]:
            words = f"expected one of {', '.join(_VOCABULARIES[key])}; got {format_value(value)}"
            raise RulesError(key, f"{words}{suggest_nearest(value, _VOCABULARIES[key])}")
    else:
        _check_number(key, value)
    return value


def _parse_blocks(key: str, given: object) -> Sequence[int]:
    try:
        return parse_blocks(given)
    except BlocksError as wrong:
        raise RulesError(key, str(wrong)) from None


def _check_number(key: str, number: object) -> None:
    if number is not None and (type(number) is not int or not 1 <= number <= LARGEST_NUMBER):
        raise RulesError(
            key, f"expected a whole number from 1 to {LARGEST_NUMBER:,}; got {format_value(number)}"
        )


def _cache_mask(seen: dict[int, int], key: int, mask: int, bits: int) -> None:
    if len(seen) * (bits + _OVERHEAD_BITS) > _REMEMBERED_BITS:
        seen.clear()
    seen[key] = mask
