"""What came from outside, fit to be shown: cut short, and with nothing in it that a terminal would act on."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from itertools import islice
from string import Formatter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable

LONGEST_LIST = 60


def format_runs(numbers: Sequence[int]) -> str:
    """Write numbers with each run of three or more as `a-b`: `1-6,8,9,11-30`."""
    return ",".join(_list_runs(numbers))


def summarize_numbers(numbers: Sequence[int], separator: str = ",") -> str:
    """Write numbers in runs, and only the first and the last of very many."""
    parts = list(islice(_list_runs(numbers), LONGEST_LIST + 1))
    if len(parts) <= LONGEST_LIST:
        return separator.join(parts)
    return f"{separator.join([*parts[:20], '...', *_list_last_runs(numbers, 3)])} ({len(numbers):,} in all)"


def _list_runs(numbers: Sequence[int]) -> Iterable[str]:
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
    """Return the last few texts of the runs, looking no further back than to the run in which they begin."""
    start, starts = len(numbers), 0
    while start and starts < count:
        start -= 1
        if not start or numbers[start] != numbers[start - 1] + 1:
            starts += 1
    return list(_list_runs(numbers[start:]))[-count:]


def format_value(value: object, most: int = 60) -> str:
    """Show a value as it would be written, so that text stands in quotes."""
    try:
        return _cut(ascii(value), most)
    except (ValueError, RecursionError):
        return "something too long to be shown"


def format_text(text: str, most: int = 200) -> str:
    """Show text without quotes."""
    return _cut(text if text.isprintable() else ascii(text)[1:-1], most)


def format_path(path: str, most: int = 200) -> str:
    """Show a file's name, whole where it can be and from its end where it cannot."""
    text = path if path.isprintable() else ascii(path)[1:-1]
    return text if len(text) <= most else "..." + text[3 - most :]


def format_argument(argument: str) -> str:
    """Show an argument as a shell takes it; one with characters that a terminal would act on is written in escapes."""
    if argument.isprintable():
        from shlex import quote  # noqa: PLC0415 - the first prompt needs none

        return quote(argument)
    return f"$'{''.join(map(_escape, argument))}'"


def _escape(character: str) -> str:
    """Write a character as it stands between $' and ' in bash, zsh and ksh."""
    if character in {"'", "\\"}:
        return f"\\{character}"
    if character.isprintable():
        return character
    if "\udc80" <= character <= "\udcff":  # a byte of a file's name that is no text
        return f"\\x{ord(character) - 0xDC00:02x}"
    return f"\\x{ord(character):02x}" if character < "\x80" else f"\\U{ord(character):08x}"


def make_printable(text: str) -> str:
    """Return text with every character escaped that a terminal would act on, but for the ends of its lines."""
    return "\n".join(line if line.isprintable() else ascii(line)[1:-1] for line in text.split("\n"))


def make_sentence(text: str) -> str:
    """Make a sentence of what an error says, so that it can stand alone."""
    return f"{text[:1].upper()}{text[1:]}{'' if text.endswith(('.', '!', '?')) else '.'}"


def pluralize(noun: str, count: float) -> str:
    """Return a noun in the form that goes with a number: 1 move, 2 moves."""
    return noun if count == 1 else f"{noun}s"


def format_count(count: int, noun: str) -> str:
    """Write how many there are of something: 1 move, 2,000 moves."""
    return f"{count:,} {pluralize(noun, count)}"


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 3] + "..."


Value = str | int | Sequence[int]


_LONGEST_FORMAT = 20


class Template:
    """A text taken apart once, to be filled many times."""

    def __init__(self, text: str, known: Collection[str]) -> None:
        if not text.replace("\n", "").isprintable():
            raise ValueError("expected text without control characters")
        self._segments: list[tuple[str, str | None, str]] = []
        for literal, field, spec, conversion in _parse_fields(text):
            if field is not None and (conversion or field not in known):
                wrong = format_text(field + (f"!{conversion}" if conversion else ""), 60)
                raise ValueError(f"unknown field {{{wrong}}}; expected one of {', '.join(known)}")
            if spec and (len(spec) > _LONGEST_FORMAT or "{" in spec or any(map(str.isdigit, spec))):
                raise ValueError(f"expected a short separator after {{{field}:; got {format_value(spec)}")
            self._segments.append((literal, field, spec or ""))

    @property
    def fields(self) -> set[str]:
        """The names of the fields in it."""
        return {field for _, field, _ in self._segments if field is not None}

    def fill(self, value_of: Callable[[str], Value]) -> str:
        """Return the text with each field's value written in; each is asked for once, and written once in each way."""
        once = cache(value_of)
        written = cache(lambda field, spec: _format_field(once(field), spec))
        return "".join(
            literal if field is None else literal + written(field, spec) for literal, field, spec in self._segments
        )


def _parse_fields(text: str) -> list[tuple[str, str | None, str | None, str | None]]:
    try:
        return list(Formatter().parse(text))
    except ValueError:
        raise ValueError("expected fields such as {player}; for a brace itself write {{ or }}") from None


def _format_field(value: Value, spec: str) -> str:
    if isinstance(value, str):
        return "s" if spec == "s" else value
    if spec == "s":
        return "" if (value if isinstance(value, int) else len(value)) == 1 else "s"
    if isinstance(value, int):
        return str(value)
    separator, _, empty = spec.partition("|")
    if not value:
        return empty
    if separator != "-" and len(value) <= LONGEST_LIST:
        return (separator or ",").join(map(str, value))
    return summarize_numbers(value, separator.strip("-") or ",")
