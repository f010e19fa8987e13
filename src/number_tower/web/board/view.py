"""A game as one reader of its page sees it, and its log in words."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from number_tower.engine import record
from number_tower.engine.table import Table
from number_tower.support.text import summarize_numbers
from number_tower.web.board import blocks
from number_tower.web.board.blocks import BlockMenu, NumberCell
from number_tower.words.brief import summarize_rules
from number_tower.words.endings import tell_ending
from number_tower.words.voice import (
    BOTH,
    SPECTATOR,
    MatchStanding,
    Message,
    Reader,
    get_voice,
    join_messages,
    narrate,
)

MAX_LOG_CHANGES = 60
"""Changes in the log of a page: the last ones."""

MAX_TEXT = 64 * 1024
"""Characters of dialogue in one answer, whatever words a game has."""

HINT_STEPS = ("", "what to look for", "the move", "the reason")
"""What each step of a hint shows."""


@dataclass(frozen=True)
class RoomFacts:
    """What a page shows beside the table: the players, their offers, and what its reader may do."""

    seats: tuple[tuple[str, str], tuple[str, str]]
    """The kind of each player (person, computer or free), and the name."""
    path: str = ""
    """The address of the reader's page."""
    play: str = ""
    watch: str = ""
    """The room's part of the addresses for players and for spectators."""
    code: str | None = None
    """The short code of the free seat."""
    revision: int = 0
    number: int = 1
    """The number of the game in its room."""
    may: frozenset[str] = frozenset()
    """What the reader may do now; `decide` is whatever needs no consent of another player."""
    best_of: int | None = None
    score: tuple[float, float] = (0, 0)
    games: int = 1
    """The games of the match so far, with this one."""
    series_over: bool = False
    next_starter: int = 1
    offer: tuple[str, int] | None = None
    declined: tuple[str, int] | None = None
    """What is offered or was declined (takeback or rematch), and the seat that has offered it."""
    remark: str = ""
    """What a computer says about its last move."""
    hints_allowed: bool = True
    hints_taken: tuple[tuple[int, int, int], ...] = ()
    """The version, seat and step of each hint."""
    presence: tuple[str, str] | None = None
    """Whether the players are here, away or gone; None where nobody needs to know."""
    presence_mark: str = ""
    """Another text when players come or go, so that the page's script hears of it."""
    claim_after: int | None = None
    """Seconds for which a player has to be gone until the other may claim the game."""
    class_path: str = ""
    """The address of the class in which the reader plays."""
    has_next_game: bool = False
    """Whether the reader has another game in the class."""
    is_paused: bool = False
    ruling: str | None = None
    """How the teacher ended the game: cancelled, draw, or won by the first or second player."""

    @property
    def waiting(self) -> bool:
        """Whether a seat is still free."""
        return any(kind == "free" for kind, _ in self.seats)


class GameView:
    """A game as one reader sees it."""

    def __init__(self, table: Table, reader: Reader, room: RoomFacts) -> None:
        self.table, self.reader, self.room = table, reader, room
        self.names = room.seats[0][1], room.seats[1][1]
        self.mover = self.names[table.game.to_move]
        """The name of the player to move."""
        self.plays = reader != SPECTATOR
        self.holds_both = reader.shared
        """Whether the reader has a seat, and whether both."""
        self.voice = get_voice(table.book, reader)
        self.over = table.outcome is not None
        self.is_my_turn = not self.holds_both and "move" in room.may
        """Whether it is the turn of this reader, who has one seat."""
        self.winner = table.outcome and table.outcome.winner
        """The seat that won, if any."""
        self.has_lost = self.winner is not None and reader.see(self.winner) == "opponent"
        self.has_won = self.winner is not None and reader.see(self.winner) == "you"
        self.seat = table.game.to_move if reader.seat is None else reader.seat
        """The seat whose blocks are offered: this reader's, or that of the player to move."""
        self._has_own_sets = table.game.rules.supply == "own"

    def holds(self, seat: int) -> bool:
        """Say whether a seat is the reader's."""
        return self.holds_both or self.reader.seat == seat

    @property
    def is_finished(self) -> bool:
        """Whether the game is over, and with it the match that it may be part of."""
        return self.over and (self.room.best_of is None or self.room.series_over)

    # Words ---------------------------------------------------------------------------------------

    @property
    def title(self) -> str:
        """The title of the page: it says the same as the status."""
        words = " ".join([self.headline, *map(_join_lines, self._match_end[1:])])
        return f"{words.rstrip('.')} · {self.voice.title}"

    @cached_property
    def _status_lines(self) -> list[str]:
        """What the game says of the turn or the end, the most important line first."""
        # The rulebook says "you" to the one who skips and then to the one to move: name both.
        reader = SPECTATOR if self.holds_both else self.reader
        told = get_voice(self.table.book, reader).tell(self.table)
        skips = [_join_lines(message) for message in told if message.kind == "skipped"]
        if self.over:
            winner, *others = tell_ending(self.table, self.reader)
            return [winner, *skips, *others]
        turn = (join_messages(self.voice.tell_turn(self.table)).splitlines() or [""])[0]
        # Only its first sentence: the page says itself what can be placed, since some rulebooks
        # call blocks available that do not fit. The player's name may contain full stops.
        name = "Your" if self.is_my_turn else self.mover
        end = turn.find(". ", max(0, turn.find(name)) + len(name))
        return [turn if end < 0 else turn[: end + 1], *skips]

    @property
    def headline(self) -> str:
        """Whose turn it is, or who won."""
        if self.room.is_paused:
            return f"{self._teacher} has paused the game."
        if self._is_stopped:
            how = " as a draw" if self.room.ruling == "draw" else ". It does not count"
            return f"{self._teacher} ended this game{how}."
        if self.room.waiting:
            return "Waiting for the other player"
        return self._status_lines[0].removesuffix(":")

    @property
    def _is_stopped(self) -> bool:
        """Whether the teacher of the class ended the game before its end."""
        outcome = self.table.outcome
        return bool(self.room.ruling and outcome and outcome.reason == "abandoned")

    @property
    def _teacher(self) -> str:
        return "Your teacher" if self.plays else "The teacher"

    @property
    def details(self) -> list[str]:
        """What else the game says of the turn or the end, and what the teacher decided."""
        if self.room.waiting:
            how = "opens your link and takes" if self.plays else "takes"
            return [f"The game starts when the other player {how} the free seat."]
        if self._is_stopped:
            return []
        lines = [line.removeprefix("- ") for line in self._status_lines[1:]]
        if self.room.ruling == "cancelled":
            lines.append(f"{self._teacher} decided: this game does not count.")
        elif self.room.ruling == "draw":
            lines.append(f"{self._teacher} decided: it is a draw.")
        elif self.room.ruling is not None:
            winner = 0 if self.room.ruling == "first" else 1
            who = "you" if self.reader.see(winner) == "you" else self.names[winner]
            lines.append(f"{self._teacher} decided: the point goes to {who}.")
        return lines

    @property
    def summary(self) -> str:
        """The rules in one sentence: the rulebook's, unless options changed the rules."""
        book, rules = self.table.book, self.table.game.rules
        if book.summary and rules == book.rules:
            return book.summary
        return summarize_rules(rules, self.voice.noun)

    @property
    def guide(self) -> str:
        """What can be placed now, and by whom; empty if nobody can place anything."""
        if self.room.is_paused:
            return "It continues when your teacher says so." if self.plays else ""
        if self.over or self.room.waiting:
            return ""
        if self.table.legal is None:
            player = Reader(self.seat) if self.plays else SPECTATOR
            reminder = get_voice(self.table.book, player).remind_of_hidden(self.table)
            return reminder or f"Which {self.voice.noun}s are left is not shown."
        mover = "You" if self.is_my_turn else self.mover
        guide = f"{mover} can place {summarize_numbers(self.table.legal, ', ')}."
        is_next = self.plays and not self.holds_both and not self.is_my_turn
        return f"{guide} Then it is your turn." if is_next else guide

    @property
    def series(self) -> str:
        """The score of the match, in the game's words; empty if there is no match."""
        if self.room.best_of is None or self.room.waiting:
            return ""
        if not self.over:
            return f"Game {self.room.games}, best of {self.room.best_of}"
        return join_messages(*self._match_end)

    @cached_property
    def _match_end(self) -> list[Message]:
        """What the end of a game means for the match: the score, and the result if decided."""
        room = self.room
        if room.best_of is None or not self.over:
            return []
        standing = MatchStanding(room.games, room.best_of, room.score)
        messages = [self.voice.tell_match("score", self.table, standing)]
        if room.series_over:
            result: Literal["drawn", "won"] = "drawn" if room.score[0] == room.score[1] else "won"
            messages.append(self.voice.tell_match(result, self.table, standing))
        return messages

    @cached_property
    def log(self) -> tuple[Message, ...]:
        """The last changes, and the hints taken between them, in words for this reader."""
        lines = list(build_log(self.table, self.reader))
        for message in self._match_end:
            text = join_messages(message)
            lines.append(message._replace(text=text, version=self.table.version))
        first = lines[0].version if lines else 0
        for version, seat, step in self.room.hints_taken:
            if version >= first - 1:
                who = self.voice.address(self.table, seat)
                text = f"{who} took a hint: {HINT_STEPS[step]}."
                lines.append(Message("advice", seat, text, version=version))
        return tuple(sorted(lines, key=lambda line: line.version))

    def count_hints(self, seat: int) -> int:
        """Return how many positions there are in which a player took a hint."""
        return len({version for version, player, _ in self.room.hints_taken if player == seat})

    @cached_property
    def line(self) -> str:
        """The game as one line."""
        return record.to_line(self.table)

    # The board -----------------------------------------------------------------------------------

    def format_remaining(self, seat: int) -> str | None:
        """List the blocks that a seat has for itself, unless they are offered below the board."""
        if not self._has_own_sets or self.over or (self.plays and seat == self.seat):
            return None
        return blocks.format_remaining(self.table, seat)

    @cached_property
    def cells(self) -> tuple[NumberCell, ...]:
        """The numbers of the game as a board; empty where towers are drawn instead."""
        return blocks.draw_cells(self.table)

    @cached_property
    def menu(self) -> BlockMenu | None:
        """The blocks to choose from; None if there is nothing to choose."""
        if self.over or (not self.plays and (self.room.waiting or self._has_own_sets)):
            return None
        if "move" in self.room.may:
            waiting = ""
        elif self.room.waiting:
            waiting = "The other player is not here yet."
        elif self.room.is_paused:
            waiting = self.headline
        else:
            waiting = f"It is {self.mover}'s turn."
        return blocks.build_menu(self.table, self.seat, waiting)


def _join_lines(message: Message) -> str:
    """Return a message in one line."""
    return " ".join(line.removeprefix("- ") for line in join_messages(message).splitlines())


def build_log(
    table: Table, reader: Reader = BOTH, most: int = MAX_LOG_CHANGES
) -> tuple[Message, ...]:
    """Return the last changes in words for a reader, oldest first, without whose turn it is."""
    told = narrate(table, max(0, table.version - most + 1), reader=reader, turns=False)
    lines = [message._replace(text=text) for message in told if (text := join_messages(message))]
    size = sum(len(line.text) for line in lines)
    while size > MAX_TEXT:
        size -= len(lines.pop(0).text)
    return tuple(lines)
