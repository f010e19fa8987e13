"""A table as one line of text that people can paste anywhere, and as one JSON document; both read back the same."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from number_tower.record.checks import NoRecord, RecordError
from number_tower.record.document import from_json, to_json
from number_tower.record.line import EXAMPLE, from_line, is_line, to_line
from number_tower.rules import shown

if TYPE_CHECKING:
    from number_tower.table import Table

__all__ = ["NoRecord", "RecordError", "from_json", "from_line", "read", "to_json", "to_line"]

LARGEST_RECORD = 16 * 1024 * 1024


def read(ref: str) -> Table:
    """Return the table that a line of text, or a file with a record in it, describes."""
    if not os.path.exists(ref):
        if not is_line(ref):
            raise NoRecord("", f"{shown(ref)} is neither a file nor a record {EXAMPLE}")
        return from_line(ref)
    text = _content(ref)
    try:
        return from_json(text) if text.lstrip().startswith("{") else from_line(text.strip())
    except RecordError as wrong:
        raise RecordError(shown(ref).strip("'"), str(wrong)) from None


def _content(path: str) -> str:
    try:
        with open(path, "rb") as stream:
            content = stream.read(LARGEST_RECORD + 1)
    except OSError as trouble:
        raise NoRecord(shown(path).strip("'"), f"cannot be read: {trouble.strerror}") from None
    if len(content) > LARGEST_RECORD:
        raise RecordError(shown(path).strip("'"), "larger than any record")
    try:
        return content.decode()
    except UnicodeDecodeError as wrong:
        raise RecordError(f"{shown(path).strip(chr(39))}, byte {wrong.start}", "expected text in UTF-8") from None
