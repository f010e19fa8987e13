"""A game while it is played at this machine: the table, the opponents, the saving."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

from number_tower.engine import record
from number_tower.engine.table import StaleError, Table
from number_tower.terminal.session.opponents import TWO_PEOPLE, Opponents, Specs
from number_tower.words.voice import Reader, Voice, get_voice

if TYPE_CHECKING:
    from number_tower.players import Player
    from number_tower.terminal.session.database import Autosave
    from number_tower.terminal.session.match import MatchCourse


class Recorder(Protocol):
    """A file that the game is saved in as well."""

    key: str | None
    """The key of the game in the database."""

    def save(self, table: Table) -> str | None:
        """Save the table; return a message for the players, if there is one."""


@dataclass
class GameSession:
    """A game at this machine. Every change is saved before it is shown."""

    table: Table
    opponents: Opponents | None = None
    autosave: Autosave | None = None
    recorder: Recorder | None = None
    course: MatchCourse | None = None
    """The match that the game is part of."""

    @property
    def specs(self) -> Specs:
        """Who plays besides people."""
        return TWO_PEOPLE if self.opponents is None else self.opponents.specs

    @property
    def reader(self) -> Reader:
        """Who reads: both players, the one person who plays computers, or a spectator of these."""
        return Reader.at_keyboard(self.table)

    @property
    def voice(self) -> Voice:
        """The words of the game for that reader."""
        return get_voice(self.table.book, self.reader)

    @property
    def computer(self) -> Player | None:
        """The computer whose turn it is; None if it is a person's, or the game is over."""
        if self.opponents is None or self.table.outcome is not None:
            return None
        return self.opponents.players[self.table.game.to_move]

    def save(self, table: Table) -> list[str]:
        """Save a change, with which the game then continues; return messages for the players.

        Raise StaleError if the game was changed elsewhere; the table is then the one there.
        """
        news: list[str | None] = []
        if self.course is not None:
            for earlier in self.course.save_earlier_games():
                played = format_record(earlier)
                news.append(
                    f"an earlier game of this match was continued elsewhere. Played here: {played}"
                )
        if self.autosave is not None:
            try:
                table, message = self.autosave.save(table)
            except StaleError as error:
                self.table = replace(error.table, automatic=self.table.automatic)
                raise
            finally:
                if self.course is not None:
                    self.course.update_id(self.autosave)
            news.append(message)
        self.table = table
        if self.recorder is not None:
            if self.autosave is not None:
                self.recorder.key = self.autosave.key
            news.append(self.recorder.save(table))
        return [message for message in news if message]

    def let_computer_move(self) -> tuple[Table, str]:
        """Return the table after the computer's move, not saved yet, and its remark."""
        if self.opponents is None or self.computer is None:
            raise ValueError("it is not a computer's turn")
        return self.opponents.move(self.table, self.computer)

    @property
    def is_marked(self) -> bool:
        """Whether the saved game is marked as one that showed the values of moves."""
        return self.autosave is None or self.autosave.is_marked

    def mark_with_values(self) -> None:
        """Note that the values of moves are shown in this game."""
        if self.autosave is not None:
            self.autosave.mark_with_values()

    @property
    def ref(self) -> str | None:
        """The REF that resumes the game or its match; None if it is not saved."""
        if self.course is not None and self.course.is_saved and self.course.database is not None:
            return f"m{self.course.id}{self.course.database.db_option}"
        return None if self.autosave is None else self.autosave.ref

    def close(self) -> None:
        """Close the players and the database."""
        for resource in (self.opponents, self.autosave):
            if resource is not None:
                resource.close()


def format_record(table: Table) -> str:
    """Return a game as one line."""
    return record.to_line(table, files=True)


def find_program_name() -> str:
    """Return how to call this program: by its name if the shell finds it, else as it was called."""
    if any(os.access(os.path.join(folder, "tower"), os.X_OK) for folder in os.get_exec_path()):
        return "tower"
    return "python -m number_tower" if sys.argv[0].endswith("__main__.py") else sys.argv[0]
