"""Spaces of rules: the settings of a game that a sweep measures, a whole grid or a sample."""

from __future__ import annotations

import os
import re
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from itertools import islice
from math import prod
from random import Random

from number_tower.engine.blocks import MAX_NUMBER
from number_tower.engine.catalogue import choose
from number_tower.engine.rules import Rules, RulesError, parse_rule
from number_tower.studies.batch import BatchError
from number_tower.studies.lab.rows import RuleValue
from number_tower.support.text import format_runs, format_value, suggest_nearest

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
        number_tower.studies.lab.space.SpaceError: height: unknown; expected one of blocks, ...
    """

    def __init__(self, problem: str, key: str = "") -> None:
        super().__init__(f"{key}: {problem}" if key else problem)
        self.key = key


@dataclass(frozen=True)
class Setting:
    """One setting of a space: its index, the rules that vary (as in a rule file), and all rules.

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
    """The values of each rule that varies, as in a rule file; None where it is left out."""
    sample: int | None = None
    """How many settings to draw at random; None for all of them."""
    seed: int = 1

    def __len__(self) -> int:
        return len(self._numbers)

    def __getitem__(self, index: int) -> Setting:
        options = self._get_options(self._numbers[index])
        return Setting(range(len(self))[index], options, self.base.replace(options))

    def __iter__(self) -> Iterator[Setting]:
        return map(self.__getitem__, range(len(self)))

    @property
    def combinations(self) -> int:
        """The number of all combinations of values, valid or not."""
        return prod(map(len, self.axes.values()))

    @cached_property
    def rules(self) -> dict[str, str | int]:
        """The rules that do not vary, as a rule file writes them."""
        return {key: value for key, value in self.base.to_dict().items() if key not in self.axes}

    @cached_property
    def _numbers(self) -> Sequence[int]:
        """The numbers of the settings among all combinations."""
        total = self.combinations
        if self.sample is not None:
            rng = Random(f"{self.seed} settings")  # noqa: S311 - play, not secrets
            tries = min(total, _TRIES_PER_SETTING * self.sample, _MAX_TRIES)
            numbers = rng.sample(range(total), tries)
            return array("q", islice(filter(self._is_valid, numbers), self.sample))
        if total > MAX_SETTINGS:
            problem = f"{total:,} combinations are more than the {MAX_SETTINGS:,} of one sweep"
            raise SpaceError(f"{problem}; vary less, or draw some of them with --sample 1000")
        return array("q", filter(self._is_valid, range(total)))

    def _is_valid(self, number: int) -> bool:
        try:
            self.base.replace(self._get_options(number))
        except RulesError:
            return False
        return True

    def _get_options(self, number: int) -> dict[str, RuleValue]:
        """Return the combination of values with this number; the last key varies first."""
        options = dict[str, RuleValue]()
        rest = self.combinations
        for key, values in self.axes.items():
            rest //= len(values)
            index, number = divmod(number, rest)
            options[key] = values[index]
        return options


def make_space(
    game: str | os.PathLike[str] | Rules | Mapping[str, object],
    axes: Mapping[str, object] | None = None,
    *,
    sample: int | None = None,
    seed: int = 1,
) -> Space:
    """Return a space of a game; without axes, the usual one (`choose_axes`).

    `axes` has for each key a value or several, also as texts such as "5..60" or "1-5..1-12"
    (`parse_values`).

    Examples:
        >>> len(make_space(nt.Rules(), {"target": "10..20", "stuck": ["loses", "skips"]}))
        22
    """
    book, base, *_ = choose(game)
    if sample is not None and not 1 <= sample <= MAX_SETTINGS:
        raise SpaceError(
            f"expected from 1 to {MAX_SETTINGS:,} settings; got {format_value(sample)}", "sample"
        )
    chosen = axes or choose_axes(base)
    for key in chosen:
        if key not in KEYS:
            expected = f"one of {', '.join(KEYS)}{suggest_nearest(key, KEYS)}"
            raise SpaceError(f"unknown; expected {expected}", key)
    values = {key: _read_values(key, chosen[key]) for key in KEYS if key in chosen}
    space = Space(book.source, base, values, sample, seed)
    if not len(space):
        problem = "none of these combinations are rules that can be played"
        try:
            base.replace({key: choices[0] for key, choices in values.items()})
        except RulesError as error:
            raise SpaceError(f"{problem}; the first: {error}") from None
        raise SpaceError(f"{problem}; none was drawn")
    return space


def parse_values(key: str, text: str) -> list[object]:
    """Read the values of a key: with commas between them (sets of blocks: semicolons), or ranges.

    `5..60` are the numbers from 5 to 60, `5..60/5` every fifth; `1-5..1-12` are the sets 1-5, 1-6
    and so on. `none` leaves the rule out.
    """
    values: list[object] = []
    for part in text.split(";" if key in SET_KEYS else ","):
        word = part.strip()
        match = _RANGE.fullmatch(word)
        is_set = key in SET_KEYS
        if match is None:
            is_number = word.isascii() and word.isdigit() and len(word) < 20 and not is_set
            values.append(None if word == NO_VALUE else int(word) if is_number else word)
            continue
        before, first, before_last, last, step = match.groups()
        low, high, every = int(first), int(last), int(step or 1)
        is_upward = before == before_last and low <= high <= MAX_NUMBER and every
        if not is_upward or (before and not is_set) or (high - low) // every >= MAX_SETTINGS:
            example = "1-5..1-12" if is_set else "5..60 or 5..60/5"
            problem = f"expected a range upwards of at most {MAX_SETTINGS:,} values, such as"
            raise SpaceError(f"{problem} {example}; got {format_value(word)}", key)
        numbers = range(low, high + 1, every)
        values += [f"{before}{number}" for number in numbers] if is_set else numbers
    return values


def choose_axes(rules: Rules) -> dict[str, Sequence[object]]:
    """Return what varies by default: the number of blocks, the target or step, and the openings."""
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
    openings = [f"{least}-{rules.blocks[size - 1]}" for size in limits if size < count]
    axes["opening"] = [None, *openings]
    return axes


def _read_values(key: str, choice: object) -> tuple[RuleValue, ...]:
    """Return the different values of a key as a rule file writes them."""
    if isinstance(choice, str) or not isinstance(choice, Iterable):
        choice = [choice]
    choices = list(choice)
    if key in SET_KEYS and all(isinstance(number, int) for number in choices):
        # One set of blocks, and not several values.
        choices = [choices]
    values: dict[RuleValue, None] = {}
    for value in choices:
        for parsed in parse_values(key, value) if isinstance(value, str) else [value]:
            values[_write_value(key, parsed)] = None
    if not values:
        raise SpaceError("expected a value; got none", key)
    return tuple(values)


def _write_value(key: str, value: object) -> RuleValue:
    """Return a value as a rule file writes it, if this rule alone can have it."""
    try:
        parsed = parse_rule(key, value)
    except RulesError as error:
        is_number = key not in SET_KEYS and error.problem.startswith("expected a whole number")
        more = "; several: 15,20, a range: 5..60" if is_number else ""
        raise SpaceError(f"{error.problem}{more}", key) from None
    if isinstance(parsed, Sequence) and not isinstance(parsed, str):
        return format_runs(parsed)
    return parsed if isinstance(parsed, int | str) else None
