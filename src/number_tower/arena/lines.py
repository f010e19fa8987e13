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

from number_tower.arena.schedule import ArenaError
from number_tower.showing import shown_path, shown_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

_NOWHERE = 0
"""Nothing that is done stands at the beginning of a file: the settings do."""


class NotEmpty(ArenaError):  # noqa: N818 - named for what it says
    """A file that holds something, though another was to begin in it."""


class Damaged(ArenaError):  # noqa: N818 - likewise
    """A file that is of another kind, or no longer what it was."""


class Result(Protocol):
    """Something that is done: which of all, and as a line."""

    @property
    def index(self) -> int:
        """Its place in what was planned."""

    def to_json(self) -> str:
        """Write it as one JSON document, on one line."""


Done = TypeVar("Done", bound=Result)


class Lines(ABC, Generic[Done]):
    """What is done so far, in a file: what it holds is read, and then more is added."""

    whole: ClassVar[str]
    """What the file is of, to follow "an"."""

    part: ClassVar[str]
    """What a line is, to follow "a"."""

    titles: ClassVar[Mapping[str, str]]
    """What the settings are called; the first is the file's format, and known for it."""

    def __init__(self, path: str | os.PathLike[str], size: int, *, resume: bool = False) -> None:
        self.path = os.fspath(path)
        self.name = shown_path(self.path)
        self.keeps = True
        self._places = array("q", bytes(8 * size))
        try:
            self._stream = open(self.path, "a+b")  # noqa: SIM115 - it is closed when the file is left
        except UnsupportedOperation:
            raise ArenaError(f"{self.name} is not a file that {self.part}s can be kept in") from None
        except OSError as trouble:
            raise ArenaError(f"{self.part}s cannot be kept in {self.name}: {trouble.strerror}") from None
        try:
            self._check_kind()
            self._begin(resume=resume)
        except BaseException:
            self._stream.close()
            raise

    @abstractmethod
    def settings(self) -> dict[str, object]:
        """Return all that decides what the lines will be."""

    @abstractmethod
    def replayed(self, document: dict[str, Any]) -> Done:
        """Return what a line tells, made anew as far as that can be; any usual error says that it cannot."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(OSError):
            self._stream.close()

    def __contains__(self, index: int) -> bool:
        return self._places[index] != _NOWHERE

    @property
    def finished(self) -> int:
        """How much is kept."""
        return len(self._places) - self._places.count(_NOWHERE)

    def read(self) -> Iterator[Done]:
        """Give what the file held; each line has to come out as it is when it is made anew.

        A last line that was being written when the program was killed is cut off.
        """
        if not self.keeps:
            return
        self._stream.seek(len(first_line(self.settings())))
        place = self._stream.tell()
        for number, line in enumerate(iter(self._stream.readline, b""), 2):
            if not line.endswith(b"\n"):
                self._stream.truncate(place)
                break
            done = self._checked(line, number)
            self._places[done.index] = place
            place += len(line)
            yield done
        self._stream.seek(0, os.SEEK_END)

    def add(self, some: Sequence[Done]) -> None:
        """Keep some more, at once."""
        lines = [_line(done) for done in some]
        place = self._stream.tell()
        try:
            self._stream.write(b"".join(lines))
            self._stream.flush()
        except OSError as trouble:
            raise ArenaError(f"{self.name} cannot be written: {trouble.strerror}") from None
        for done, line in zip(some, lines, strict=True):
            self._places[done.index] = place
            place += len(line)

    def finish(self) -> None:
        """Put all lines into the order that was planned; until that is done the file stays as it was."""
        if not self.keeps or all(one < other for one, other in pairwise(self._places)):
            return
        file = Path(os.path.realpath(self.path))
        part = file.with_name(f".{file.name}.part")
        try:
            with part.open("wb") as stream:
                os.chmod(stream.fileno(), stat.S_IMODE(os.fstat(self._stream.fileno()).st_mode))
                stream.write(first_line(self.settings()))
                for place in self._places:
                    self._stream.seek(place)
                    stream.write(self._stream.readline())
                stream.flush()
                os.fsync(stream.fileno())
            part.replace(file)
        except OSError as trouble:
            raise ArenaError(f"{self.name} cannot be put in order: {trouble.strerror}") from None
        finally:
            with suppress(OSError):
                part.unlink(missing_ok=True)

    def _check_kind(self) -> None:
        """Take a file, or what swallows everything; nothing else can be read again."""
        if self.path == os.devnull:
            self.keeps = False
        elif not stat.S_ISREG(os.fstat(self._stream.fileno()).st_mode):
            raise ArenaError(f"{self.name} is not a file that {self.part}s can be kept in")
        else:
            self._lock()

    def _begin(self, *, resume: bool) -> None:
        ours = first_line(self.settings())
        self._stream.seek(0)
        theirs = self._stream.readline() if self.keeps else b""
        if theirs and not resume:
            raise NotEmpty(f"{self.name} is not empty")
        if ours.startswith(theirs) and theirs != ours:
            if theirs:
                self._stream.truncate(0)
            self._stream.write(ours)
            self._stream.flush()
        elif theirs != ours:
            raise self._difference(theirs)

    def _difference(self, line: bytes) -> ArenaError:
        """Say in which of its settings the file is of another one."""
        with suppress(ValueError, RecursionError):
            theirs = json.loads(line)
            if isinstance(theirs, dict) and next(iter(self.titles)) in theirs:
                for key, value in self.settings().items():
                    if theirs.get(key) != value:
                        problem = self._told(key, value, theirs.get(key))
                        return ArenaError(f"{self.name} holds another {self.whole}: {problem}")
        return Damaged(f"{self.name} is not the file of an {self.whole}")

    def _told(self, key: str, ours: object, theirs: object) -> str:
        """Say in words how a setting differs."""
        names, others = _names(ours), _names(theirs)
        if names == others:
            return "the rules of its games have changed since"
        return f"{self.titles[key]} {others}, and not {names}"

    def _checked(self, line: bytes, number: int) -> Done:
        """Return what a line tells, if it belongs here and is so."""
        try:
            done = self.replayed(json.loads(line))
        except (ValueError, TypeError, LookupError, ArithmeticError, AttributeError, RecursionError):
            done = None
        if done is None or _line(done) != line:
            problem = f"not a {self.part} of this {self.whole}, as it would be written"
            raise Damaged(f"{self.name}, line {number}: {problem}")
        if done.index in self:
            raise Damaged(f"{self.name}, line {number}: the {self.part} with index {done.index} is there twice")
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
            raise ArenaError(f"another {self.whole} is being kept in {self.name} at this moment") from None
        except OSError:
            return


def first_line(settings: dict[str, object]) -> bytes:
    """Return the first line of a file."""
    return json.dumps(settings).encode() + b"\n"


def _line(done: Result) -> bytes:
    return done.to_json().encode() + b"\n"


def _names(value: object) -> str:
    values = value if isinstance(value, list) else [value]
    names = [each.get("game") if isinstance(each, dict) else each for each in values]
    return shown_text(", ".join(map(str, names)))
