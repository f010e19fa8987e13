"""Text for people: values from outside made safe to show, counts, lists of numbers, and templates.

Nothing that these functions return can control a terminal.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from math import ceil
from shlex import quote
from string import Formatter
from unicodedata import combining, east_asian_width

MAX_LIST_ENTRIES = 60
"""Entries of a list that people still read."""

MAX_MISTAKES = 20
"""Mistakes in one file that are looked for and reported."""

_MAX_FORMAT = 20

_MAX_WORD = 60
"""Characters of a misspelt word that are compared."""

# Values from outside ------------------------------------------------------------------------------


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
    """Return an error's message as a sentence; a file's name gets no capital letter."""
    is_word = text.partition(" ")[0].rstrip(",:;").isalpha()
    start = text[:1].upper() if is_word else text[:1]
    return f"{start}{text[1:]}{'' if text.endswith(('.', '!', '?')) else '.'}"


def format_mistakes(where: str, mistakes: Sequence[str]) -> str:
    """Return an error's message: one mistake after its place, or several, one in a line."""
    if len(mistakes) == 1:
        return f"{where}: {mistakes[0]}"
    count = f"{len(mistakes)} mistakes"
    if len(mistakes) >= MAX_MISTAKES:
        count = "many mistakes, and these first"
    lines = [f"  {mistake}" for mistake in mistakes[:MAX_MISTAKES]]
    return "\n".join([f"{where} has {count}:", *lines])


def find_similar(word: str, known: Iterable[str]) -> list[str]:
    """Return up to three known words that a misspelt one is like, the most similar first."""
    from difflib import get_close_matches  # noqa: PLC0415 - start-up: only mistakes need it

    words = {right.casefold(): right for right in known}
    return [words[close] for close in get_close_matches(word.casefold()[:_MAX_WORD], words)]


def suggest_nearest(word: object, known: Iterable[str]) -> str:
    """Return the end of an error's message that asks whether a known word was meant.

    "" if none is like it.
    """
    similar = find_similar(word, known) if isinstance(word, str) else []
    return f"; did you mean {similar[0]}?" if similar else ""


def _escape_text(text: str) -> str:
    return text if text.isprintable() else ascii(text)[1:-1]


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 3] + "..."


# Numbers ------------------------------------------------------------------------------------------


def count_cells(text: str) -> int:
    """Return how many columns a text takes in a terminal: some characters take two or none."""
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
    """Write a time in its largest unit, rounded up: 40 seconds, 5 minutes."""
    for size, unit in ((3600, "hour"), (60, "minute")):
        if seconds > size:
            return format_count(ceil(seconds / size), unit)
    return format_count(ceil(seconds), "second")


def format_runs(numbers: Sequence[int]) -> str:
    """Write numbers with each run of three or more as `a-b`: `1-6,8,9,11-30`."""
    return ",".join(_list_runs(numbers))


def format_list(entries: Iterable[object]) -> str:
    """Write entries as a list in a sentence: 1, 2 and 3."""
    *most, last = map(str, entries)
    return f"{', '.join(most)} and {last}" if most else last


def summarize_numbers(numbers: Sequence[int], separator: str = ",") -> str:
    """Write numbers in runs; of very many, only the first and the last."""
    runs = list(_list_runs(numbers))
    if len(runs) <= MAX_LIST_ENTRIES:
        return separator.join(runs)
    return f"{separator.join([*runs[:20], '...', *runs[-3:]])} ({len(numbers):,} in all)"


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


# Templates ----------------------------------------------------------------------------------------

Value = str | int | Sequence[int]


class Template:
    """Text with fields in braces, parsed once and filled many times.

    With `known` fields, safe to take from strangers.

    A list's format is its separator (`{left:, }`), after a bar the text for an empty list
    (`{left:,|none}`), or `-` for runs (`1-6,8`); `{height:s}` is a plural s. A field is a name and
    nothing else: no attributes, indices or widths.
    """

    def __init__(self, text: str, known: Collection[str] | None = None) -> None:
        if not text.replace("\n", "").isprintable():
            raise ValueError("expected text without control characters")
        self._segments: list[tuple[str, str | None, str]] = []
        try:
            parsed = list(Formatter().parse(text))
        except ValueError:
            expected = "expected fields such as {player}; for a brace itself write {{ or }}"
            raise ValueError(expected) from None
        for literal, field, spec, conversion in parsed:
            if field is not None and known is not None and (conversion or field not in known):
                wrong = format_text(field + (f"!{conversion}" if conversion else ""), 60)
                raise ValueError(f"unknown field {{{wrong}}}; expected one of {', '.join(known)}")
            if spec and (len(spec) > _MAX_FORMAT or "{" in spec or any(map(str.isdigit, spec))):
                shown = format_value(spec)
                raise ValueError(f"expected a short separator after {{{field}:; got {shown}")
            self._segments.append((literal, field, spec or ""))

    @property
    def fields(self) -> set[str]:
        """The names of its fields."""
        return {field for _, field, _ in self._segments if field is not None}

    def fill(self, get_value: Callable[[str], Value]) -> str:
        """Return the text with the fields' values.

        Each value is asked for once, and formatted once per format.
        """
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
    if separator != "-" and len(value) <= MAX_LIST_ENTRIES:
        return (separator or ",").join(map(str, value))
    return summarize_numbers(value, separator.strip("-") or ",")
