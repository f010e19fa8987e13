"""Text for people: values from outside made safe to show, counts, lists of numbers, and templates.

Nothing that these functions return can control a terminal.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from itertools import islice
from math import ceil
from shlex import quote
from string import Formatter
from unicodedata import combining, east_asian_width

LONGEST_LIST = 60
"""Entries of a list that people still read."""

MOST_MISTAKES = 20
"""Mistakes in one file that are looked for and reported."""

_LONGEST_FORMAT = 20

_LONGEST_WORD = 60
"""Characters of a misspelt word that are compared."""

# Values from outside --------------------------------------------------------------------------------------------------


def format_value(value: object, most: int = 60) -> str:
    """Return a value as Python writes it, so with quotes around text, and cut to a length."""
    try:
        return _cut(ascii(value), most)
    except (ValueError, RecursionError):
        return "something too long to show"


def format_text(text: str, most: int = 200) -> str:
    """Return text without quotes, cut to a length."""
    return _cut(_escape_text(text), most)


def format_error(error: BaseException) -> str:
    """Return an exception and its text in one line."""
    return format_text(f"{type(error).__name__}: {error}").removesuffix(": ")


def format_path(path: str | os.PathLike[str], most: int = 200) -> str:
    """Return a file's name; of a very long one, the end."""
    text = _escape_text(os.fspath(path))
    return text if len(text) <= most else "..." + text[3 - most :]


def format_argument(argument: str) -> str:
    """Return a command-line argument quoted for a shell, with control characters escaped."""
    return quote(_escape_text(argument))


def make_printable(text: str) -> str:
    """Escape all control characters in a text but its line ends."""
    return "\n".join(map(_escape_text, text.split("\n")))


def make_sentence(text: str) -> str:
    """Return an error's message as a sentence: with a capital letter (not for a file's name) and a full stop."""
    is_word = text.partition(" ")[0].rstrip(",:;").isalpha()
    start = text[:1].upper() if is_word else text[:1]
    return f"{start}{text[1:]}{'' if text.endswith(('.', '!', '?')) else '.'}"


def format_mistakes(where: str, mistakes: Sequence[str]) -> str:
    """Return an error's message: the one mistake after its place, or each of several in a line of its own."""
    if len(mistakes) == 1:
        return f"{where}: {mistakes[0]}"
    count = (
        f"{len(mistakes)} mistakes"
        if len(mistakes) < MOST_MISTAKES
        else "many mistakes, and these first"
    )
    return "\n".join(
        (f"{where} has {count}:", *(f"  {mistake}" for mistake in mistakes[:MOST_MISTAKES]))
    )


def find_nearest(word: str, known: Iterable[str]) -> str | None:
    """Return the known word that a misspelt one is most like; None if it is like none of them."""
    return next(iter(find_similar(word, known)), None)


def find_similar(word: str, known: Iterable[str]) -> list[str]:
    """Return up to three known words that a misspelt one is like, the most similar first."""
    from difflib import get_close_matches  # noqa: PLC0415 - start-up: only mistakes need it

    words = {each.casefold(): each for each in known}
    return [words[each] for each in get_close_matches(word.casefold()[:_LONGEST_WORD], words)]


def suggest_nearest(word: object, known: Iterable[str]) -> str:
    """Return the end of an error's message that asks whether a known word was meant; "" if none is like it."""
    nearest = find_nearest(word, known) if isinstance(word, str) else None
    return "" if nearest is None else f"; did you mean {nearest}?"


def _escape_text(text: str) -> str:
    return text if text.isprintable() else ascii(text)[1:-1]


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 3] + "..."


# Numbers --------------------------------------------------------------------------------------------------------------


def count_cells(text: str) -> int:
    """Return how many columns of a terminal a text takes: some characters take two, and some none."""
    if text.isascii():
        return len(text)
    return sum(
        0 if combining(c) or c in "\u200c\u200d" else 2 if east_asian_width(c) in "WF" else 1
        for c in text
    )


def pluralize(noun: str, count: float) -> str:
    """Return the form of a noun that goes with a number: 1 move, 2 moves."""
    return noun if count == 1 else f"{noun}s"


def format_count(count: int, noun: str) -> str:
    """Return a number and its noun: 1 move, 2,000 moves."""
    return f"{count:,} {pluralize(noun, count)}"


def format_duration(seconds: float) -> str:
    """Write a time in the largest unit that it has more than one of, rounded up: 40 seconds, 5 minutes."""
    size, unit = next(
        (each for each in ((3600, "hour"), (60, "minute")) if seconds > each[0]), (1, "second")
    )
    return format_count(ceil(seconds / size), unit)


def format_runs(numbers: Sequence[int]) -> str:
    """Write numbers with each run of three or more as `a-b`: `1-6,8,9,11-30`."""
    return ",".join(_list_runs(numbers))


def format_list(entries: Iterable[object]) -> str:
    """Write entries as a list in a sentence: 1, 2 and 3."""
    *most, last = map(str, entries)
    return f"{', '.join(most)} and {last}" if most else last


def summarize_numbers(numbers: Sequence[int], separator: str = ",") -> str:
    """Write numbers in runs; of very many, only the first and the last."""
    parts = list(islice(_list_runs(numbers), LONGEST_LIST + 1))
    if len(parts) <= LONGEST_LIST:
        return separator.join(parts)
    return f"{separator.join([*parts[:20], '...', *_list_last_runs(numbers, 3)])} ({len(numbers):,} in all)"


def _list_runs(numbers: Sequence[int]) -> Iterator[str]:
    if isinstance(numbers, range) and numbers.step == 1 and len(numbers) > 2:
        yield f"{numbers[0]}-{numbers[-1]}"
        return
    start = 0
    for end in range(1, len(numbers) + 1):
        if end < len(numbers) and numbers[end] == numbers[end - 1] + 1:
            continue
        if end - start > 2:
            yield f"{numbers[start]}-{numbers[end - 1]}"
        else:
            yield from map(str, numbers[start:end])
        start = end


def _list_last_runs(numbers: Sequence[int], count: int) -> list[str]:
    """Return the last few runs without listing all that come before."""
    start, starts = len(numbers), 0
    while start and starts < count:
        start -= 1
        if not start or numbers[start] != numbers[start - 1] + 1:
            starts += 1
    return list(_list_runs(numbers[start:]))[-count:]


# Templates ------------------------------------------------------------------------------------------------------------

Value = str | int | Sequence[int]


class Template:
    """Text with fields in braces, parsed once and filled many times; with `known` fields, safe to take from strangers.

    A list's format is its separator (`{left:, }`), after a bar the text for an empty list (`{left:,|none}`), or `-` for
    runs (`1-6,8`); `{height:s}` is a plural s. A field is a name and nothing else: no attributes, indices or widths.
    """

    def __init__(self, text: str, known: Collection[str] | None = None) -> None:
        if not text.replace("\n", "").isprintable():
            raise ValueError("expected text without control characters")
        self._segments: list[tuple[str, str | None, str]] = []
        for literal, field, spec, conversion in _parse_fields(text):
            if field is not None and known is not None and (conversion or field not in known):
                wrong = format_text(field + (f"!{conversion}" if conversion else ""), 60)
                raise ValueError(f"unknown field {{{wrong}}}; expected one of {', '.join(known)}")
            if spec and (len(spec) > _LONGEST_FORMAT or "{" in spec or any(map(str.isdigit, spec))):
                raise ValueError(
                    f"expected a short separator after {{{field}:; got {format_value(spec)}"
                )
            self._segments.append((literal, field, spec or ""))

    @property
    def fields(self) -> set[str]:
        """The names of its fields."""
        return {field for _, field, _ in self._segments if field is not None}

    def fill(self, get_value: Callable[[str], Value]) -> str:
        """Return the text with the fields' values; each value is asked for once, and formatted once per format."""
        values: dict[str, Value] = {}
        texts: dict[tuple[str, str], str] = {}
        parts = []
        for literal, field, spec in self._segments:
            parts.append(literal)
            if field is None:
                continue
            if field not in values:
                values[field] = get_value(field)
            if (field, spec) not in texts:
                texts[field, spec] = _format_field(values[field], spec)
            parts.append(texts[field, spec])
        return "".join(parts)


def _parse_fields(text: str) -> list[tuple[str, str | None, str | None, str | None]]:
    try:
        return list(Formatter().parse(text))
    except ValueError:
        raise ValueError(
            "expected fields such as {player}; for a brace itself write {{ or }}"
        ) from None


def _format_field(value: Value, spec: str) -> str:
    if isinstance(value, str):
        return "s" if spec == "s" else value
    if spec == "s":
        return pluralize("", value if isinstance(value, int) else len(value))
    if isinstance(value, int):
        return str(value)
    separator, _, empty = spec.partition("|")
    if not value:
        return empty
    if separator != "-" and len(value) <= LONGEST_LIST:
        return (separator or ",").join(map(str, value))
    return summarize_numbers(value, separator.strip("-") or ",")
