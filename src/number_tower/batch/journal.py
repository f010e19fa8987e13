"""A file of things that are done one after the other: a line of JSON for the settings, and one for each that is done.

Lines are added as things end, in any order; in the end they have the order in which they were planned. So the same
settings make the same file, on however many cores the work was done and however often it was interrupted.
"""

from __future__ import annotations

import json
import os
import stat
from abc import ABC, abstractmethod
from array import array
from contextlib import suppress
from io import UnsupportedOperation
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Protocol, Self, TypeVar

from number_tower.batch import BatchError
from number_tower.text import format_path, format_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

_MISSING = 0
"""Nothing that is done stands at the beginning of a file: the settings do."""


class JournalNotEmptyError(BatchError):
    """A file that holds something, though another was to begin in it."""


class JournalDamagedError(BatchError):
    """A file that is of another kind, or no longer what it was."""


class JournalEntry(Protocol):
    """Something that is done: which of all, and as a line."""

    @property
    def index(self) -> int:
        """Its place in what was planned."""

    def to_json(self) -> str:
        """Write it as one JSON document, on one line."""


Done = TypeVar("Done", bound=JournalEntry)


class Journal(ABC, Generic[Done]):
    """What is done so far, in a file: what it holds is read, and then more is added."""

    run_noun: ClassVar[str]
    """What the file is of, to follow "an"."""

    entry_noun: ClassVar[str]
    """What a line is, to follow "a"."""

    setting_labels: ClassVar[Mapping[str, str]]
    """What the settings are called; the first is the file's format, and known for it."""

    def __init__(self, path: str | os.PathLike[str], size: int, *, resume: bool = False) -> None:
        self.path = os.fspath(path)
        self.name = format_path(self.path)
        self.is_kept = True
        self._offsets = array("q", bytes(8 * size))
        try:
            self._stream = open(self.path, "a+b")  # noqa: SIM115 - it is closed when the file is left
        except UnsupportedOperation:
            raise BatchError(f"{self.name} is not a file that {self.entry_noun}s can be kept in") from None
        except OSError as trouble:
            raise BatchError(f"{self.entry_noun}s cannot be kept in {self.name}: {trouble.strerror}") from None
        try:
            self._check_file_type()
            self._write_header(resume=resume)
        except BaseException:
            self._stream.close()
            raise

    @abstractmethod
    def build_settings(self) -> dict[str, object]:
        """Return all that decides what the lines will be."""

    @abstractmethod
    def parse_entry(self, document: dict[str, Any]) -> Done:
        """Return what a line tells, made anew as far as that can be; any usual error says that it cannot."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(OSError):
            self._stream.close()

    def __contains__(self, index: int) -> bool:
        return self._offsets[index] != _MISSING

    @property
    def entry_count(self) -> int:
        """How much is kept."""
        return len(self._offsets) - self._offsets.count(_MISSING)

    def read(self) -> Iterator[Done]:
        """Give what the file held; each line has to come out as it is when it is made anew.

        A last line that was being written when the program was killed is cut off.
        """
        if not self.is_kept:
            return
        self._stream.seek(len(format_header(self.build_settings())))
        place = self._stream.tell()
        for number, line in enumerate(iter(self._stream.readline, b""), 2):
            if not line.endswith(b"\n"):
                self._stream.truncate(place)
                break
            done = self._parse_line(line, number)
            self._offsets[done.index] = place
            place += len(line)
            yield done
        self._stream.seek(0, os.SEEK_END)

    def append(self, some: Sequence[Done]) -> None:
        """Keep some more, at once."""
        lines = [_format_line(done) for done in some]
        place = self._stream.tell()
        try:
            self._stream.write(b"".join(lines))
            self._stream.flush()
        except OSError as trouble:
            raise BatchError(f"{self.name} cannot be written: {trouble.strerror}") from None
        for done, line in zip(some, lines, strict=True):
            self._offsets[done.index] = place
            place += len(line)

    def sort_lines(self) -> None:
        """Put all lines into the order that was planned; until that is done the file stays as it was."""
        if not self.is_kept or all(one < other for one, other in pairwise(self._offsets)):
            return
        file = Path(os.path.realpath(self.path))
        part = file.with_name(f".{file.name}.part")
        try:
            with part.open("wb") as stream:
                os.chmod(stream.fileno(), stat.S_IMODE(os.fstat(self._stream.fileno()).st_mode))
                stream.write(format_header(self.build_settings()))
                for place in self._offsets:
                    self._stream.seek(place)
                    stream.write(self._stream.readline())
                stream.flush()
                os.fsync(stream.fileno())
            part.replace(file)
        except OSError as trouble:
            raise BatchError(f"{self.name} cannot be put in order: {trouble.strerror}") from None
        finally:
            with suppress(OSError):
                part.unlink(missing_ok=True)

    def _check_file_type(self) -> None:
        """Take a file, or what swallows everything; nothing else can be read again."""
        if self.path == os.devnull:
            self.is_kept = False
        elif not stat.S_ISREG(os.fstat(self._stream.fileno()).st_mode):
            raise BatchError(f"{self.name} is not a file that {self.entry_noun}s can be kept in")
        else:
            self._lock()

    def _write_header(self, *, resume: bool) -> None:
        ours = format_header(self.build_settings())
        self._stream.seek(0)
        theirs = self._stream.readline() if self.is_kept else b""
        if theirs and not resume:
            raise JournalNotEmptyError(f"{self.name} is not empty")
        if ours.startswith(theirs) and theirs != ours:
            if theirs:
                self._stream.truncate(0)
            self._stream.write(ours)
            self._stream.flush()
        elif theirs != ours:
            raise self._explain_mismatch(theirs)

    def _explain_mismatch(self, line: bytes) -> BatchError:
        """Say in which of its settings the file is of another one."""
        with suppress(ValueError, RecursionError):
            theirs = json.loads(line)
            if isinstance(theirs, dict) and next(iter(self.setting_labels)) in theirs:
                for key, value in self.build_settings().items():
                    if theirs.get(key) != value:
                        problem = self._describe_setting(key, value, theirs.get(key))
                        return BatchError(f"{self.name} holds another {self.run_noun}: {problem}")
        return JournalDamagedError(f"{self.name} is not the file of an {self.run_noun}")

    def _describe_setting(self, key: str, ours: object, theirs: object) -> str:
        """Say in words how a setting differs."""
        names, others = _format_names(ours), _format_names(theirs)
        if names == others:
            return "the rules of its games have changed since"
        return f"{self.setting_labels[key]} {others}, and not {names}"

    def _parse_line(self, line: bytes, number: int) -> Done:
        """Return what a line tells, if it belongs here and is so."""
        try:
            done = self.parse_entry(json.loads(line))
        except (ValueError, TypeError, LookupError, ArithmeticError, AttributeError, RecursionError):
            done = None
        if done is None or _format_line(done) != line:
            problem = f"not a {self.entry_noun} of this {self.run_noun}, as it would be written"
            raise JournalDamagedError(f"{self.name}, line {number}: {problem}")
        if done.index in self:
            raise JournalDamagedError(
                f"{self.name}, line {number}: the {self.entry_noun} with index {done.index} is there twice"
            )
        return done

    def _lock(self) -> None:
        """Refuse a file that somebody else is writing to, where that can be known."""
        try:
            import fcntl  # noqa: PLC0415 - there is none on Windows
        except ImportError:
            return
        try:
            fcntl.flock(self._stream.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise BatchError(f"another {self.run_noun} is being kept in {self.name} at this moment") from None
        except OSError:
            return


def format_header(settings: dict[str, object]) -> bytes:
    """Return the first line of a file."""
    return json.dumps(settings).encode() + b"\n"


def _format_line(done: JournalEntry) -> bytes:
    return done.to_json().encode() + b"\n"


def _format_names(value: object) -> str:
    values = value if isinstance(value, list) else [value]
    names = [each.get("game") if isinstance(each, dict) else each for each in values]
    return format_text(", ".join(map(str, names)))
