"""Spaces of rules: the settings of a game that a sweep measures, as a grid over any rule keys or a sample of it."""

from __future__ import annotations

import os
import re
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from itertools import chain, islice
from math import prod
from random import Random

from number_tower.batch import BatchError
from number_tower.blocks import LARGEST_NUMBER
from number_tower.catalogue import choose
from number_tower.lab.rows import RuleValue
from number_tower.rules import Rules, RulesError, parse_rule
from number_tower.text import format_runs, format_value, suggest_nearest

KEYS = tuple(field.name for field in fields(Rules))
"""The rules that a sweep can vary."""

SET_KEYS = ("blocks", "opening")
"""The rules whose values are sets of blocks."""

NO_VALUE = "none"
"""How a rule that is left out is written: no target, no largest step, any opening."""

MAX_SETTINGS = 1_000_000
"""The most settings of one sweep; a larger space can be sampled."""

_RANGE = re.compile(r"(.*?)([0-9]{1,18})\.\.(.*?)([0-9]{1,18})(?:/([0-9]{1,4}))?")
_TRIES_PER_SETTING = 200
_MAX_TRIES = 300_000
"""Combinations that are drawn to find as many valid ones as asked for."""


class SpaceError(BatchError):
    """A space of rules cannot be made: what was expected, and the key that is wrong, if it is one.

    Examples:
        >>> make_space(nt.Rules(), {"height": [15, 16]})
        Traceback (most recent call last):
            ...
        number_tower.lab.space.SpaceError: height: unknown; expected one of blocks, supply, towers, fit, step...
    """

    def __init__(self, problem: str, key: str = "") -> None:
        super().__init__(f"{key}: {problem}" if key else problem)
        self.key = key


@dataclass(frozen=True)
class Setting:
    """One setting of a space: its place, the rules that vary as a rule file writes them, and all rules.

    Examples:
        >>> make_space(nt.Rules(), {"target": [15, 16]})[1].options
        {'target': 16}
    """

    index: int
    options: dict[str, RuleValue]
    rules: Rules


@dataclass(frozen=True)
class Space:
    """The settings of one game. Combinations of values that are no valid rules are left out.

    Examples:
        >>> space = make_space(nt.Rules(), {"blocks": "1-8..1-10", "target": [14, 15]})
        >>> len(space), space[0].options
        (6, {'blocks': '1-8', 'target': 14})
        >>> space.combinations, space.rules["fit"]  # the rules that do not vary
        (6, 'any')
    """

    game: str
    """The name of the game, or the path of its rule file."""
    base: Rules
    axes: Mapping[str, tuple[RuleValue, ...]]
    """The values of each rule that varies, as a rule file writes them; None where it is left out."""
    sample: int | None = None
    """How many settings to draw at random; None for all of them."""
    seed: int = 1

    def __len__(self) -> int:
        return len(self._places)

    def __getitem__(self, index: int) -> Setting:
        place = self._places[index]
        options = self._get_options(place)
        return Setting(range(len(self))[index], options, self.base.changed(options))

    def __iter__(self) -> Iterator[Setting]:
        return map(self.__getitem__, range(len(self)))

    @property
    def combinations(self) -> int:
        """The number of all combinations of values, valid or not."""
        return prod(map(len, self.axes.values()))

    @cached_property
    def rules(self) -> dict[str, str | int]:
        """The rules that do not vary, as a rule file writes them."""
        return {key: value for key, value in self.base.written().items() if key not in self.axes}

    @cached_property
    def _places(self) -> Sequence[int]:
        """The places of the settings among all combinations."""
        return array("q", self._find_places())

    def _find_places(self) -> Iterator[int]:
        total = self.combinations
        if self.sample is None:
            if total > MAX_SETTINGS:
                problem = f"{total:,} combinations are more than the {MAX_SETTINGS:,} of one sweep"
                raise SpaceError(f"{problem}; vary less, or draw some of them with --sample 1000")
            yield from filter(self._is_valid, range(total))
            return
        rng = Random(f"{self.seed} settings")  # noqa: S311 - play, not secrets
        places = rng.sample(range(total), min(total, _TRIES_PER_SETTING * self.sample, _MAX_TRIES))
        yield from islice(filter(self._is_valid, places), self.sample)

    def _is_valid(self, place: int) -> bool:
        try:
            self.base.changed(self._get_options(place))
        except RulesError:
            return False
        return True

    def _get_options(self, place: int) -> dict[str, RuleValue]:
        """Return the combination of values with this place; the last key varies first."""
        options = dict[str, RuleValue]()
        rest = self.combinations
        for key, values in self.axes.items():
            rest //= len(values)
            at, place = divmod(place, rest)
            options[key] = values[at]
        return options


def make_space(
    game: str | os.PathLike[str] | Rules | Mapping[str, object],
    axes: Mapping[str, object] | None = None,
    *,
    sample: int | None = None,
    seed: int = 1,
) -> Space:
    """Return a space of a game; without axes, the usual one (`choose_axes`).

    `axes` has for each key a value or several, also as texts such as "5..60" or "1-5..1-12" (`parse_values`).

    Examples:
        >>> len(make_space(nt.Rules(), {"target": "10..20", "stuck": ["loses", "skips"]}))
        22
    """
    book, base, *_ = choose(game)
    if sample is not None and not 1 <= sample <= MAX_SETTINGS:
        raise SpaceError(
            f"expected from 1 to {MAX_SETTINGS:,} settings; got {format_value(sample)}", "sample"
        )
    given = axes or choose_axes(base)
    values = {key: _read_values(key, given[key]) for key in sorted(given, key=_get_place)}
    space = Space(book.source, base, values, sample, seed)
    if not len(space):
        problem = "none of these combinations are rules that can be played"
        try:
            base.changed({key: choices[0] for key, choices in values.items()})
        except RulesError as error:
            raise SpaceError(f"{problem}; the first: {error}") from None
        raise SpaceError(f"{problem}; none was drawn")
    return space


def parse_values(key: str, text: str) -> list[object]:
    """Read the values of a key: several with commas between them (sets of blocks: semicolons), or ranges.

    `5..60` are the numbers from 5 to 60, `5..60/5` every fifth; `1-5..1-12` are the sets 1-5, 1-6 and so on. `none`
    leaves the rule out.
    """
    found: list[object] = []
    for part in text.split(";" if key in SET_KEYS else ","):
        word = part.strip()
        match = _RANGE.fullmatch(word)
        if match is None:
            is_number = word.isascii() and word.isdigit() and len(word) < 20 and key not in SET_KEYS
            found.append(None if word == NO_VALUE else int(word) if is_number else word)
            continue
        before, first, before_last, last, step = match.groups()
        low, high, every = int(first), int(last), int(step or 1)
        is_set = key in SET_KEYS
        is_upward = before == before_last and low <= high <= LARGEST_NUMBER and every
        if not is_upward or (before and not is_set) or (high - low) // every >= MAX_SETTINGS:
            example = "1-5..1-12" if is_set else "5..60 or 5..60/5"
            problem = f"expected a range upwards of at most {MAX_SETTINGS:,} values, such as"
            raise SpaceError(f"{problem} {example}; got {format_value(word)}", key)
        numbers = range(low, high + 1, every)
        found += [f"{before}{number}" for number in numbers] if is_set else numbers
    return found


def choose_axes(rules: Rules) -> dict[str, Sequence[object]]:
    """Return what varies by default: how many blocks there are, the target or the largest step, and the openings."""
    axes: dict[str, Sequence[object]] = {}
    count = len(rules.blocks)
    if rules.blocks == range(1, count + 1):
        more = 3 if rules.target is not None else count if rules.fit == "ascending" else 7
        axes["blocks"] = [f"1-{size}" for size in range(min(5, count), count + more + 1)]
    if rules.target is not None:
        axes["target"] = range(min(5, rules.target), 5 * rules.target // 2 + 1)
    if rules.step is not None:
        axes["step"] = range(max(1, rules.step - 3), rules.step + 4)
    least = rules.blocks[0]
    limits = (1, 2, 3, 4, 6, 8) if rules.target is None else (3,)
    axes["opening"] = [
        None,
        *(f"{least}-{rules.blocks[size - 1]}" for size in limits if size < count),
    ]
    return axes


def _get_place(key: str) -> int:
    """Return the place of a key among the rules."""
    if key not in KEYS:
        raise SpaceError(
            f"unknown; expected one of {', '.join(KEYS)}{suggest_nearest(key, KEYS)}", key
        )
    return KEYS.index(key)


def _read_values(key: str, given: object) -> tuple[RuleValue, ...]:
    """Return the different values of a key as a rule file writes them."""
    if isinstance(given, str) or not isinstance(given, Iterable) or _is_block_set(key, given):
        given = [given]
    values = chain.from_iterable(
        parse_values(key, each) if isinstance(each, str) else [each] for each in given
    )
    found = tuple(dict.fromkeys(_write_value(key, value) for value in values))
    if not found:
        raise SpaceError("expected a value; got none", key)
    return found


def _is_block_set(key: str, given: Iterable[object]) -> bool:
    """Return whether a value is one set of blocks, and not several."""
    return (
        key in SET_KEYS
        and isinstance(given, Sequence)
        and all(isinstance(each, int) for each in given)
    )


def _write_value(key: str, value: object) -> RuleValue:
    """Return a value as a rule file writes it, if this rule can have it; which others go with it is not checked."""
    try:
        parsed = parse_rule(key, value)
    except RulesError as error:
        is_number = key not in SET_KEYS and error.problem.startswith("expected a whole number")
        more = "; several: 15,20, a range: 5..60" if is_number else ""
        raise SpaceError(f"{error.problem}{more}", key) from None
    if isinstance(parsed, Sequence) and not isinstance(parsed, str):
        return format_runs(parsed)
    return parsed if isinstance(parsed, int | str) else None
