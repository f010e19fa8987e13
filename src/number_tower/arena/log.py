"""The file that an arena is kept in: a line of JSON for its settings, and one for each game that is finished.

Lines are added as games end, in any order; a finished arena has them in the order of its schedule. So the same arena
makes the same file, on however many cores it was played and however often it was interrupted.
"""

from __future__ import annotations

import json
import os
import stat
from array import array
from contextlib import suppress
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from number_tower import __version__
from number_tower.arena.runner import Finished, written
from number_tower.arena.schedule import ArenaError
from number_tower.game import Game
from number_tower.showing import shown_path, shown_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from number_tower.arena.runner import Played
    from number_tower.arena.schedule import Contest

FORMAT = 1
"""The form of the file; another program may write another."""

_NOWHERE = 0
"""No game stands at the beginning of a file: the settings do."""

_TITLES = {
    "number_tower_arena": "its file has format",
    "version": "it was begun by version",
    "games": "its games are",
    "players": "its players are",
    "number": "its number of games for each pair is",
    "seed": "its seed is",
    "patience": "its patience is",
}


class NotEmpty(ArenaError):  # noqa: N818 - named for what it says
    """A file that holds something, though an arena was to begin in it."""


class Damaged(ArenaError):  # noqa: N818 - likewise
    """A file that is no arena's, or no longer."""


class Log:
    """The finished games of one arena, in a file: those that it holds are read, and then others are added."""

    def __init__(self, path: str | os.PathLike[str], contest: Contest, *, resume: bool = False) -> None:
        self.path = os.fspath(path)
        self.name = shown_path(self.path)
        self.keeps = True
        self._contest = contest
        self._places = array("q", bytes(8 * len(contest)))
        try:
            self._stream = open(self.path, "a+b")  # noqa: SIM115 - it is closed when the log is left
        except OSError as trouble:
            raise ArenaError(f"games cannot be kept in {self.name}: {trouble.strerror}") from None
        try:
            self._check_kind()
            self._begin(resume=resume)
        except BaseException:
            self._stream.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(OSError):
            self._stream.close()

    def __contains__(self, index: int) -> bool:
        return self._places[index] != _NOWHERE

    @property
    def finished(self) -> int:
        """How many games are kept."""
        return len(self._places) - self._places.count(_NOWHERE)

    def read(self) -> Iterator[Played]:
        """Give the games that the file held; each is played again and has to come to the same line.

        A last line that was being written when the program was killed is cut off.
        """
        if not self.keeps:
            return
        self._stream.seek(len(header(self._contest)))
        place = self._stream.tell()
        for number, line in enumerate(iter(self._stream.readline, b""), 2):
            if not line.endswith(b"\n"):
                self._stream.truncate(place)
                break
            played = self._checked(line, number)
            self._places[played.index] = place
            place += len(line)
            yield played
        self._stream.seek(0, os.SEEK_END)

    def add(self, games: Sequence[Played]) -> None:
        """Keep some more games, at once."""
        lines = [_line(played) for played in games]
        place = self._stream.tell()
        try:
            self._stream.write(b"".join(lines))
            self._stream.flush()
        except OSError as trouble:
            raise ArenaError(f"{self.name} cannot be written: {trouble.strerror}") from None
        for played, line in zip(games, lines, strict=True):
            self._places[played.index] = place
            place += len(line)

    def finish(self) -> None:
        """Put the games into the order of the schedule; until that is done the file stays as it was."""
        if not self.keeps or all(one < other for one, other in pairwise(self._places)):
            return
        file = Path(os.path.realpath(self.path))
        part = file.with_name(f".{file.name}.{os.getpid()}.part")
        try:
            with part.open("xb") as stream:
                os.chmod(stream.fileno(), stat.S_IMODE(os.fstat(self._stream.fileno()).st_mode))
                stream.write(header(self._contest))
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
            raise ArenaError(f"{self.name} is not a file that games can be kept in")
        else:
            _lock(self._stream.fileno(), self.name)

    def _begin(self, *, resume: bool) -> None:
        ours = header(self._contest)
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
        """Say in which of its settings the file's arena is another one."""
        ours = _settings(self._contest)
        with suppress(ValueError, RecursionError):
            theirs = json.loads(line)
            if isinstance(theirs, dict) and "number_tower_arena" in theirs:
                for key, value in ours.items():
                    if theirs.get(key) != value:
                        problem = _told(key, value, theirs.get(key))
                        return ArenaError(f"{self.name} holds another arena: {problem}")
        return Damaged(f"{self.name} is not the file of an arena")

    def _checked(self, line: bytes, number: int) -> Played:
        """Return the game of a line, if it is one of this arena and was played as it says."""
        try:
            played = self._replayed(json.loads(line))
        except (ValueError, TypeError, LookupError, RecursionError):
            played = None
        if played is None or _line(played) != line:
            raise Damaged(f"{self.name}, line {number}: not a game of this arena, as it would be written")
        if played.index in self:
            raise Damaged(f"{self.name}, line {number}: the game with index {played.index} is there twice")
        return played

    def _replayed(self, document: dict[str, Any]) -> Played:
        fixture = self._contest.fixture(range(len(self._contest))[document["index"]])
        start, forfeit = self._contest.table(fixture), document["forfeit"]
        table = replace(start, game=Game(start.game.rules, moves=tuple(document["moves"])))
        if forfeit is not None:
            table = table.declare("forfeit", table.game.to_move)
        return written(self._contest, fixture, Finished(table, forfeit))


def header(contest: Contest) -> bytes:
    """Return the first line of the file: all that decides what the others will be."""
    return json.dumps(_settings(contest)).encode() + b"\n"


def _settings(contest: Contest) -> dict[str, object]:
    return {
        "number_tower_arena": FORMAT,
        "version": __version__,
        "games": [{"game": entry.text, "rules": entry.table.game.rules.written()} for entry in contest.entries],
        "players": list(contest.players),
        "number": contest.number,
        "seed": contest.seed,
        "patience": contest.patience,
    }


def _told(key: str, ours: object, theirs: object) -> str:
    """Say in words how a setting differs."""
    names, others = _names(ours), _names(theirs)
    if names == others:
        return "the rules of its games have changed since"
    return f"{_TITLES[key]} {others}, and not {names}"


def _names(value: object) -> str:
    values = value if isinstance(value, list) else [value]
    names = [each.get("game") if isinstance(each, dict) else each for each in values]
    return shown_text(", ".join(map(str, names)))


def _line(played: Played) -> bytes:
    return played.to_json().encode() + b"\n"


def _lock(file: int, name: str) -> None:
    """Refuse a file that another arena is writing to, where that can be known."""
    try:
        import fcntl  # noqa: PLC0415 - there is none on Windows
    except ImportError:
        return
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise ArenaError(f"another arena is being kept in {name} at this moment") from None
    except OSError:
        return
