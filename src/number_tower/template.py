"""Text with fields in braces, safe to take from strangers.

A list's format is its separator (`{left:, }`), after a bar what to say when it is empty (`{left:,|none}`), or `-` for
runs (`1-6,8`); `{height:s}` is a plural s. A field is a name and nothing else: no attributes, no indices, no widths.
"""

from __future__ import annotations

from collections.abc import Sequence
from string import Formatter
from typing import TYPE_CHECKING

from number_tower.blocks import runs
from number_tower.rules import shown

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

Value = str | int | Sequence[int]

LONGEST_LIST = 60
"""Numbers that are still written one by one; longer lists are written in runs."""

_LONGEST_FORMAT = 20


class Template:
    """A text taken apart once, to be filled many times."""

    def __init__(self, text: str, known: Collection[str]) -> None:
        if not text.replace("\n", "").isprintable():
            raise ValueError("expected text without control characters")
        self._segments: list[tuple[str, str | None, str]] = []
        for literal, field, spec, conversion in Formatter().parse(text):
            if field is not None and (conversion or field not in known):
                wrong = shown(field + (f"!{conversion}" if conversion else "")).strip("'")
                raise ValueError(f"unknown field {{{wrong}}}; expected one of {', '.join(known)}")
            if spec and (len(spec) > _LONGEST_FORMAT or "{" in spec or any(map(str.isdigit, spec))):
                raise ValueError(f"expected a short separator after {{{field}:; got {shown(spec)}")
            self._segments.append((literal, field, spec or ""))

    def fill(self, value_of: Callable[[str], Value]) -> str:
        """Return the text with each field's value written in."""
        return "".join(
            literal if field is None else literal + _written(value_of(field), spec)
            for literal, field, spec in self._segments
        )


def _written(value: Value, spec: str) -> str:
    if isinstance(value, str):
        return value
    if spec == "s":
        return "" if (value if isinstance(value, int) else len(value)) == 1 else "s"
    if isinstance(value, int):
        return str(value)
    separator, _, empty = spec.partition("|")
    if not value:
        return empty
    if separator != "-" and len(value) <= LONGEST_LIST:
        return (separator or ",").join(map(str, value))
    return _shortened(runs(value).split(","), separator.strip("-") or ",", len(value))


def _shortened(parts: list[str], separator: str, count: int) -> str:
    if len(parts) <= LONGEST_LIST:
        return separator.join(parts)
    return f"{separator.join([*parts[:20], '...', *parts[-3:]])} ({count:,} in all)"
