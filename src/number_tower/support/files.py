"""Files that are written whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from pathlib import Path


@contextmanager
def replace_file(file: Path) -> Iterator[Path]:
    """Give a temporary file to write, which replaces `file` once it is complete and on disk.

    If anything goes wrong, `file` stays as it was, and nothing is left of the temporary one.
    """
    part = file.with_name(f".{file.name}.{os.getpid()}.part")
    part.unlink(missing_ok=True)
    try:
        yield part
        sync(part)
        os.replace(part, file)
        # The new name is on the disk only once the folder is.
        sync(file.absolute().parent)
    finally:
        with suppress(OSError):
            part.unlink(missing_ok=True)


@contextmanager
def open_replacing(file: Path) -> Iterator[TextIO]:
    """Open a text file to be written whole or not at all.

    A pipe or a device is written as it comes.
    """
    if file.exists() and not file.is_file():
        with file.open("w", encoding="utf-8") as stream:
            yield stream
        return
    with replace_file(file) as part, part.open("x", encoding="utf-8") as stream:
        yield stream


def sync(path: Path) -> None:
    """Wait until a file, or the list of a folder, is on the disk."""
    with suppress(PermissionError, IsADirectoryError):  # Windows opens no folder
        descriptor = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def write_files(files: Mapping[str, str], folder: str | os.PathLike[str]) -> None:
    """Write the files of a report into a folder, which is created if necessary.

    Examples:
        >>> write_files({"index.html": "<p>15 is best.</p>"}, "report")
        >>> open("report/index.html").read()
        '<p>15 is best.</p>'
    """
    os.makedirs(folder, exist_ok=True)
    for name, content in files.items():
        with open(os.path.join(folder, name), "wb") as file:
            file.write(content.encode())
