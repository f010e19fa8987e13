"""Several games at once, each by its id: every table is a value, and only one place says which is the current one."""

from __future__ import annotations

from dataclasses import dataclass, replace
from threading import Lock
from time import monotonic
from typing import TYPE_CHECKING

from number_tower.players import Computer, let_move
from number_tower.solve.limits import NotSolvedError
from number_tower.text import format_value

if TYPE_CHECKING:
    from collections.abc import Callable

    from number_tower.catalogue import Rulebook
    from number_tower.players import Level
    from number_tower.solve.limits import Progress
    from number_tower.table import Table

MAX_GAMES = 100
"""Games that are kept at once."""

COMPUTER_SECONDS = 10.0
"""Seconds that a computer searches before it answers; its own limits are positions, slow in large games."""

_MAX_IDS_LISTED = 20
"""Ids that an error lists."""


class ToolRequestError(ValueError):
    """Something that was asked for and cannot be done: what was wrong, and what would be right."""


@dataclass(frozen=True)
class GameSession:
    """A game in play: its table, who plays against whom, and whether the blocks that may be placed are listed."""

    id: str
    table: Table
    book: Rulebook
    opponent: Level | None = None
    """The computer's level; without one, whoever asks moves for both sides."""
    seat: int = 0
    """Where whoever asks sits, if there is an opponent."""
    seed: int = 0
    lists: bool = True
    remark: str = ""
    """What the computer said about its last move, mostly nothing."""

    def let_computer_move(self, progress: Callable[[Progress], object] | None = None) -> GameSession:
        """Let the computer move as long as it is its turn; what it cannot search in time it plays as far as it sees."""
        playing, until = self, monotonic() + COMPUTER_SECONDS

        def check(so_far: Progress) -> None:
            if progress is not None:
                progress(so_far)
            if monotonic() > until:
                raise NotSolvedError(f"not solved within {COMPUTER_SECONDS:g} seconds")

        while playing.opponent is not None and not playing.awaits_user:
            computer = Computer(playing.opponent, playing.seed, check)
            try:
                table = let_move(playing.table, computer)
            except NotSolvedError:  # only once the game is solved from its start: then the rest is at hand
                computer.progress = progress
                table = let_move(playing.table, computer)
            playing = replace(playing, table=table, remark=computer.remark)
        return playing

    @property
    def awaits_user(self) -> bool:
        """Whether it is not the computer's turn."""
        table = self.table
        return self.opponent is None or table.outcome is not None or table.game.to_move == self.seat

    @property
    def resigning_seat(self) -> int:
        """For whom whoever asks would resign: their own seat, or the side whose turn it is."""
        return self.table.game.to_move if self.opponent is None else self.seat


class GameSessions:
    """The games that are open, and the last that were finished; each change is made as a whole or not at all."""

    def __init__(self, most: int = MAX_GAMES) -> None:
        self._most = most
        self._lock = Lock()
        self._games: dict[str, GameSession] = {}
        self._made = 0

    def list_all(self) -> list[GameSession]:
        """Return every game, the oldest first."""
        with self._lock:
            return list(self._games.values())

    def get(self, given: object) -> GameSession:
        """Return a game by its id."""
        found = self._games.get(given) if isinstance(given, str) else None
        if found is None:
            raise ToolRequestError(f"there is no game with the id {format_value(given)}; {self._list_open_ids()}")
        return found

    def add(self, playing: GameSession) -> GameSession:
        """Take in a new game and give it an id; the oldest finished one makes room if need be."""
        with self._lock:
            if len(self._games) >= self._most:
                self._make_room()
            self._made += 1
            added = replace(playing, id=f"game-{self._made}")
            self._games[added.id] = added
            return added

    def check_capacity(self) -> None:
        """Refuse a new game before anything is done for it."""
        with self._lock:
            if len(self._games) >= self._most:
                self._find_finished()

    def replace(self, before: GameSession, after: GameSession) -> GameSession:
        """Put a game in the place of what it was made from, unless somebody else has changed that meanwhile."""
        with self._lock:
            if self._games.get(before.id) is not before:
                raise ToolRequestError(
                    f"{before.id} was changed by another call meanwhile; look at it again with see_game"
                )
            self._games[before.id] = after
            return after

    def _make_room(self) -> None:
        del self._games[self._find_finished()]

    def _find_finished(self) -> str:
        for playing in self._games.values():
            if playing.table.outcome is not None:
                return playing.id
        raise ToolRequestError(
            f"{self._most} games are open, and no more can be; finish one, or end one with resign "
            f"({self._list_open_ids()})"
        )

    def _list_open_ids(self) -> str:
        going = [playing.id for playing in list(self._games.values()) if playing.table.outcome is None]
        if not going:
            return "no game is open; begin one with start_game"
        more = f" and {len(going) - _MAX_IDS_LISTED} more" if len(going) > _MAX_IDS_LISTED else ""
        return f"the open games are {', '.join(going[:_MAX_IDS_LISTED])}{more}"
