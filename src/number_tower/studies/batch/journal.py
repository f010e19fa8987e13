"""Resumable files of JSON lines: one for the settings of a run, and one for each finished entry.

Entries are appended as they finish, in any order, and sorted at the end. So the same settings make
the same file, on any number of cores and with any interruptions.
"""

from __future__ import annotations

import json
import os
import stat
import sys
from abc import ABC, abstractmethod
from array import array
from collections.abc import Iterator, Mapping, Sequence, Sized
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import Any, ClassVar, Generic, Protocol, Self, TypeVar

from number_tower.studies.batch import BatchError
from number_tower.support.files import replace_file
from number_tower.support.text import format_path, format_text

if sys.platform != "win32":
    import fcntl


_MISSING = 0
"""The offset of an entry that is not in the file: no entry is at the beginning, where the settings
are."""


class JournalNotEmptyError(BatchError):
    """A new journal was to begin in a file that is not empty."""


class JournalDamagedError(BatchError):
    """The file is not a journal of this kind, or was changed."""

    reason = "damaged"


class JournalWriteError(BatchError):
    """The file cannot be written, such as on a full disk; its entries can be resumed."""


class JournalEntry(Protocol):
    """An entry of a journal."""

    @property
    def index(self) -> int:
        """Its place in the sorted file, from 0."""

    def to_json(self) -> str:
        """Return the entry as one line of JSON."""


EntryT = TypeVar("EntryT", bound=JournalEntry)


class Journal(ABC, Generic[EntryT]):
    """The finished entries of a run, in a file: read those of before, then append more."""

    run_noun: ClassVar[str]
    """What the run is called in messages, to follow "an"."""

    entry_noun: ClassVar[str]
    """What an entry is called in messages, to follow "a"."""

    setting_names: ClassVar[tuple[str, ...]]
    """The settings in the first line; the first one is the format of the file, by which its kind is
    known."""

    def __init__(
        self,
        path: str | os.PathLike[str],
        run: Sized,
        settings: Mapping[str, object],
        *,
        resume: bool = False,
    ) -> None:
        """Open the journal of a run, of which all settings but the given ones are attributes."""
        self.path = os.fspath(path)
        self.name = format_path(self.path)
        self.is_kept = self.path != os.devnull
        """Whether entries can be read again."""
        header = {
            name: settings[name] if name in settings else getattr(run, name)
            for name in self.setting_names
        }
        self._header = json.dumps(header).encode() + b"\n"
        self._offsets = array("q", bytes(8 * len(run)))
        try:
            self._stream = open(self.path, "a+b")  # noqa: SIM115 - closed by __exit__
        except OSError as error:
            # A pipe, for example, has no error number and no place to continue from.
            if error.errno is None:
                raise self._unsuitable_file() from None
            problem = f"{self.entry_noun}s cannot be saved to {self.name}: {error.strerror}"
            raise BatchError(problem) from None
        try:
            self._begin(resume=resume)
        except BaseException:
            with suppress(OSError):  # a full disk refuses again what was not written
                self._stream.close()
            raise

    @abstractmethod
    def _parse_entry(self, document: dict[str, Any]) -> EntryT:
        """Rebuild an entry from its line; any usual exception says that this is not possible."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(OSError):
            self._stream.close()

    def __contains__(self, index: int) -> bool:
        return self._offsets[index] != _MISSING

    @property
    def entry_count(self) -> int:
        """The number of finished entries."""
        return len(self._offsets) - self._offsets.count(_MISSING)

    def read(self) -> Iterator[EntryT]:
        """Yield the entries in the file; each rebuilt entry must give the same line.

        An incomplete last line, which a killed process left, is cut off.
        """
        if not self.is_kept:
            return
        offset = self._stream.seek(len(self._header))
        for number, line in enumerate(iter(self._stream.readline, b""), 2):
            if not line.endswith(b"\n"):
                self._stream.truncate(offset)
                break
            entry = self._parse_line(line, number)
            self._offsets[entry.index] = offset
            offset += len(line)
            yield entry
        self._stream.seek(0, os.SEEK_END)

    def append(self, entries: Sequence[EntryT]) -> None:
        """Write some entries at the end of the file."""
        lines = [_format_line(entry) for entry in entries]
        offset = self._stream.tell()
        try:
            self._stream.write(b"".join(lines))
            self._stream.flush()
        except OSError as error:
            raise self._explain_write(error) from None
        for entry, line in zip(entries, lines, strict=True):
            self._offsets[entry.index] = offset
            offset += len(line)

    def sort_lines(self) -> None:
        """Sort the entries of a finished run by their index."""
        if not self.is_kept or all(one < other for one, other in pairwise(self._offsets)):
            return
        file = Path(os.path.realpath(self.path))
        try:
            with replace_file(file) as part, part.open("wb") as stream:
                part.chmod(stat.S_IMODE(os.fstat(self._stream.fileno()).st_mode))
                stream.write(self._header)
                for offset in self._offsets:
                    self._stream.seek(offset)
                    stream.write(self._stream.readline())
        except OSError as error:
            raise self._explain_write(error) from None

    def _begin(self, *, resume: bool) -> None:
        """Write the header into an empty file, or check that the file has the same one."""
        header = b""
        if self.is_kept:
            if not stat.S_ISREG(os.fstat(self._stream.fileno()).st_mode):
                raise self._unsuitable_file()
            self._lock()
            self._stream.seek(0)
            header = self._stream.readline()
        if header and not resume:
            raise JournalNotEmptyError(f"{self.name} is not empty")
        if header != self._header:
            if not self._header.startswith(header):
                raise self._explain_mismatch(header)
            try:
                if header:
                    self._stream.truncate(0)
                self._stream.write(self._header)
                self._stream.flush()
            except OSError as error:
                raise self._explain_write(error) from None

    def _explain_write(self, error: OSError) -> JournalWriteError:
        return JournalWriteError(f"{self.name} cannot be written: {error.strerror}")

    def _unsuitable_file(self) -> BatchError:
        return BatchError(f"{self.name} is not a file that {self.entry_noun}s can be saved to")

    def _explain_mismatch(self, header: bytes) -> BatchError:
        """Return an error that names the first setting in which the file differs."""
        theirs = read_document(header)
        ours = json.loads(self._header)
        if self.setting_names[0] in theirs:
            for name, value in ours.items():
                other = theirs.get(name)
                if other != value:
                    difference = (
                        f"{name} {format_text(str(other))}, and not {format_text(str(value))}"
                    )
                    problem = f"other {name}" if isinstance(value, list | dict) else difference
                    return BatchError(f"{self.name} holds another {self.run_noun}: {problem}")
        return JournalDamagedError(f"{self.name} is not the file of an {self.run_noun}")

    def _parse_line(self, line: bytes, number: int) -> EntryT:
        """Rebuild the entry of a line, or raise an error if it does not belong to this run."""
        try:
            entry = self._parse_entry(read_document(line))
        except (ValueError, TypeError, LookupError, AttributeError):
            entry = None
        if entry is None or _format_line(entry) != line:
            problem = f"not a {self.entry_noun} of this {self.run_noun}, as it would be written"
        elif entry.index in self:
            problem = f"the {self.entry_noun} with index {entry.index} is there twice"
        else:
            return entry
        raise JournalDamagedError(f"{self.name}, line {number}: {problem}")

    def _lock(self) -> None:
        """Refuse a file that another process is writing to, where the system can tell."""
        if sys.platform == "win32":
            return
        try:
            fcntl.flock(self._stream.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise BatchError(
                f"another {self.run_noun} is being saved to {self.name} right now"
            ) from None
        except OSError:
            return


def _format_line(entry: JournalEntry) -> bytes:
    return entry.to_json().encode() + b"\n"


def read_document(line: bytes | str) -> dict[str, Any]:
    """Return the JSON object in a line; an empty one for anything else."""
    try:
        document = json.loads(line)
    except (ValueError, RecursionError):
        document = None
    return document if isinstance(document, dict) else {}
