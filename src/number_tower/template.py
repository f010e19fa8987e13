"""Text with fields in braces, safe to take from strangers.

A list's format is its separator (`{left:, }`), after a bar what to say when it is empty (`{left:,|none}`), or `-` for
runs (`1-6,8`); `{height:s}` is a plural s. A field is a name and nothing else: no attributes, no indices, no widths.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from string import Formatter
from typing import TYPE_CHECKING

from number_tower.blocks import LONGEST_LIST, summed_up
from number_tower.showing import shown, shown_text

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

Value = str | int | Sequence[int]

_LONGEST_FORMAT = 20


class Template:
    """A text taken apart once, to be filled many times."""

    def __init__(self, text: str, known: Collection[str]) -> None:
        if not text.replace("\n", "").isprintable():
            raise ValueError("expected text without control characters")
        self._segments: list[tuple[str, str | None, str]] = []
        for literal, field, spec, conversion in _taken_apart(text):
            if field is not None and (conversion or field not in known):
                wrong = shown_text(field + (f"!{conversion}" if conversion else ""), 60)
                raise ValueError(f"unknown field {{{wrong}}}; expected one of {', '.join(known)}")
            if spec and (len(spec) > _LONGEST_FORMAT or "{" in spec or any(map(str.isdigit, spec))):
                raise ValueError(f"expected a short separator after {{{field}:; got {shown(spec)}")
            self._segments.append((literal, field, spec or ""))

    @property
    def fields(self) -> set[str]:
        """The names of the fields in it."""
        return {field for _, field, _ in self._segments if field is not None}

    def fill(self, value_of: Callable[[str], Value]) -> str:
        """Return the text with each field's value written in; each is asked for once, and written once in each way."""
        once = cache(value_of)
        written = cache(lambda field, spec: _written(once(field), spec))
        return "".join(
            literal if field is None else literal + written(field, spec) for literal, field, spec in self._segments
        )


def _taken_apart(text: str) -> list[tuple[str, str | None, str | None, str | None]]:
    try:
        return list(Formatter().parse(text))
    except ValueError:
        raise ValueError("expected fields such as {player}; for a brace itself write {{ or }}") from None


def _written(value: Value, spec: str) -> str:
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
    return summed_up(value, separator.strip("-") or ",")
