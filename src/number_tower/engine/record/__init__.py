"""Records: a table as one line of text that people can paste anywhere, or as one JSON document."""

from __future__ import annotations

import os
import re

from number_tower.engine.catalogue import load
from number_tower.engine.record.json import from_json, parse_document, to_json
from number_tower.engine.record.line import (
    EXAMPLE,
    RecordError,
    from_line,
    is_line,
    to_line,
)
from number_tower.engine.table import Table
from number_tower.support.text import format_path, format_value

__all__ = ["RecordError", "from_json", "from_line", "read", "to_json", "to_line"]

MAX_RECORD_BYTES = 16 * 1024 * 1024


def read(ref: str) -> Table:
    """Return the table of a record: a line of text, or a file with a line or a document.

    Not for untrusted input: this opens the record's file, and the rule file that a line names.

    Examples:
        >>> read("summit:5,4,6,5").outcome
        Outcome(winner=1, reason='exact')
    """
    if not os.path.exists(ref):
        if not is_line(ref):
            raise RecordError("", f"{format_value(ref)} is neither a file nor a record {EXAMPLE}")
        return from_line(ref, load)
    text = _read_file(ref)
    if not text.strip():
        raise RecordError(format_path(ref), "the file is empty; expected a record")
    try:
        return from_json(text) if text.lstrip().startswith("{") else from_line(text.strip(), load)
    except RecordError as wrong:
        raise RecordError(format_path(ref), str(wrong)) from None


def read_key(ref: str) -> str | None:
    """Return the key of the game in a store, if the record in a file has one."""
    if not os.path.isfile(ref):
        return None
    text = _read_file(ref)
    kept = parse_document(text).get("kept") if text.lstrip().startswith("{") else None
    key = kept.get("key") if isinstance(kept, dict) else None
    return key if isinstance(key, str) and re.fullmatch(r"[0-9a-f]{32}", key) else None


def _read_file(path: str) -> str:
    try:
        with open(path, "rb") as stream:
            content = stream.read(MAX_RECORD_BYTES + 1)
    except OSError as trouble:
        raise RecordError(format_path(path), f"cannot be read: {trouble.strerror}") from None
    if len(content) > MAX_RECORD_BYTES:
        raise RecordError(format_path(path), "too large for a record")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as wrong:
        place = f"{format_path(path)}, byte {wrong.start}"
        raise RecordError(place, "expected text in UTF-8") from None
