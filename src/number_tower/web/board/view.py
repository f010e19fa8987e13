"""A room as one visitor of its page sees it, and its log in words."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from number_tower import record
from number_tower.brief import summarize_rules
from number_tower.endings import tell_ending
from number_tower.presence import Presence, RoomPresence
from number_tower.room import HintTaken, Room
from number_tower.table import Table
from number_tower.text import summarize_numbers
from number_tower.voice import (
    BOTH,
    SPECTATOR,
    MatchStanding,
    Message,
    Reader,
    get_voice,
    join_messages,
    narrate,
)
from number_tower.web import drawing
from number_tower.web.drawing import BlockMenu, NumberCell

if TYPE_CHECKING:
    from number_tower.classroom import Ruling
    from number_tower.store.rooms import StoredRoom

MOST_LOG_CHANGES = 60
"""Changes in the log of a page: the last ones."""

MOST_TEXT = 64 * 1024
"""Characters of dialogue in one answer, whatever words a game has."""

HINT_STEPS = ("", "what to look for", "the move", "the reason")
"""What each step of a hint shows."""


class RoomView:
    """A room as one visitor sees it, who holds some seats of it or none."""

    def __init__(
        self, stored: StoredRoom, held: frozenset[int], presence: RoomPresence | None = None
    ) -> None:
        self.stored, self.held, self.presence = stored, held, presence
        self.room, self.table = stored.room, stored.room.table
        self.path = f"/g/{stored.address}" if held else f"/w/{stored.watch}"
        """The address of this visitor's page; the play address is for players only."""
        self.names = self.room.seats[0].name, self.room.seats[1].name
        self.mover = self.names[self.table.game.to_move]
        """The name of the player to move."""
        self.holds_both = len(held) == 2
        self.reader = Reader.of_seats(held)
        self.voice = get_voice(self.table.book, self.reader)
        self.is_my_turn = not self.holds_both and self.room.may_move(held)
        """Whether it is the turn of this visitor, who holds one seat."""
        self.winner = self.table.outcome and self.table.outcome.winner
        """The seat that won, if any."""
        self.has_lost = self.winner is not None and self.reader.see(self.winner) == "opponent"
        """Whether this visitor has lost, who holds one seat."""
        self.has_won = self.winner is not None and self.reader.see(self.winner) == "you"
        """Whether this visitor has won, who holds one seat."""
        self.seat = self.table.game.to_move if len(held) != 1 else next(iter(held))
        """The seat whose blocks are offered: this visitor's, or that of the player to move."""
        self._has_own_sets = self.table.game.rules.supply == "own"

    @property
    def is_finished(self) -> bool:
        """Whether the game is over, and with it the match that it may be part of."""
        return self.room.over and (self.room.best_of is None or self.room.series_over)

    @property
    def class_path(self) -> str:
        """The address of the class in which this visitor plays; empty if there is none: spectators may not join it."""
        link = self.stored.class_link
        return f"/class/{link.code}" if link is not None and self.held else ""

    @property
    def has_next_game(self) -> bool:
        """Whether this visitor has another game in the class, and this one is over."""
        link = self.stored.class_link
        return (
            link is not None and self.room.over and any(link.moved_on[seat] for seat in self.held)
        )

    # Words ------------------------------------------------------------------------------------------------------------

    @property
    def title(self) -> str:
        """The title of the page: it says the same as the status."""
        words = " ".join([self.headline, *map(_join_lines, self._match_end[1:])])
        return f"{words.rstrip('.')} · {self.voice.title}"

    @cached_property
    def _status_lines(self) -> list[str]:
        """What the game says of the turn or the end, the most important line first."""
        # At one screen both are named: the rulebook says "you" to the one who skips, and then to the one to move.
        reader = SPECTATOR if self.holds_both else self.reader
        told = get_voice(self.table.book, reader).tell(self.table)
        skips = [_join_lines(message) for message in told if message.kind == "skipped"]
        if self.room.over:
            winner, *others = tell_ending(self.table, self.reader)
            return [winner, *skips, *others]
        first = (join_messages(self.voice.tell_turn(self.table)).splitlines() or [""])[0]
        # The page says in its own words what can be placed: some rulebooks call blocks available that do not fit.
        return [_get_turn(first, "Your" if self.is_my_turn else self.mover), *skips]

    @property
    def headline(self) -> str:
        """Whose turn it is, or who won."""
        if self.room.is_paused:
            return f"{self._teacher} has paused the game."
        if self._is_stopped:
            how = " as a draw" if self._ruling == "draw" else ". It does not count"
            return f"{self._teacher} ended this game{how}."
        return (
            "Waiting for the other player"
            if self.room.waiting
            else self._status_lines[0].removesuffix(":")
        )

    @property
    def _ruling(self) -> Ruling | None:
        """How the teacher of the class ended the game, if so."""
        return None if self.stored.class_link is None else self.stored.class_link.ruling

    @property
    def _is_stopped(self) -> bool:
        """Whether the teacher of the class ended the game before its end."""
        outcome = self.table.outcome
        return self._ruling is not None and outcome is not None and outcome.reason == "abandoned"

    @property
    def _teacher(self) -> str:
        return "Your teacher" if self.held else "The teacher"

    def _tell_ruling(self, ruling: Ruling) -> str:
        """Say what the result of a game is by the teacher's decision."""
        match ruling:
            case "cancelled":
                return "this game does not count"
            case "draw":
                return "it is a draw"
            case "first" | "second":
                winner = 0 if ruling == "first" else 1
                return f"the point goes to {'you' if self.reader.see(winner) == 'you' else self.names[winner]}"

    @property
    def details(self) -> list[str]:
        """What else the game says of the turn or the end, and what the teacher of a class decided."""
        if self.room.waiting:
            how = "opens your link and takes" if self.held else "takes"
            return [f"The game starts when the other player {how} the free seat."]
        if self._is_stopped:
            return []
        ruled = (
            [f"{self._teacher} decided: {self._tell_ruling(self._ruling)}."] if self._ruling else []
        )
        return [*(line.removeprefix("- ") for line in self._status_lines[1:]), *ruled]

    @property
    def summary(self) -> str:
        """The rules in one sentence: the rulebook's own, which tells of its own target and blocks, or a plain one."""
        book, rules = self.table.book, self.table.game.rules
        return (
            book.summary
            if book.summary and rules == book.rules
            else summarize_rules(rules, self.voice.noun)
        )

    @property
    def guide(self) -> str:
        """What can be placed now, and by whom; empty if nobody can place anything."""
        if self.room.is_paused:
            return "It continues when your teacher says so." if self.held else ""
        if self.room.over or self.room.waiting:
            return ""
        mover = "You" if self.is_my_turn else self.mover
        if self.table.legal is None:
            player = Reader(self.seat) if self.held else SPECTATOR
            reminder = get_voice(self.table.book, player).remind_of_hidden(self.table)
            return reminder or f"Which {self.voice.noun}s are left is not shown."
        then = (
            " Then it is your turn."
            if self.held and not self.holds_both and not self.is_my_turn
            else ""
        )
        return f"{mover} can place {summarize_numbers(self.table.legal, ', ')}.{then}"

    @property
    def series(self) -> str:
        """The score of the match, in the game's words; empty if there is no match."""
        if self.room.best_of is None or self.room.waiting:
            return ""
        if not self.room.over:
            return f"Game {len(self.room.winners) + 1}, best of {self.room.best_of}"
        return join_messages(*self._match_end)

    @cached_property
    def _match_end(self) -> list[Message]:
        """What the end of a game means for the match: the score, and the result if it is decided."""
        room = self.room
        if room.best_of is None or not room.over:
            return []
        standing = MatchStanding(len(room.winners) + 1, room.best_of, room.score)
        messages = [self.voice.tell_match("score", self.table, standing)]
        if room.series_over:
            drawn = room.score[0] == room.score[1]
            messages.append(
                self.voice.tell_match("drawn" if drawn else "won", self.table, standing)
            )
        return messages

    @cached_property
    def log(self) -> tuple[Message, ...]:
        """The last changes, and the hints taken between them, in words for this visitor."""
        ends = (
            each._replace(text=join_messages(each), version=self.table.version)
            for each in self._match_end
        )
        lines = [*build_log(self.table, self.reader), *ends]
        first = lines[0].version if lines else 0
        hints = (
            self._tell_hint(taken) for taken in self.room.hints_taken if taken.version >= first - 1
        )
        return tuple(sorted((*lines, *hints), key=lambda line: line.version))

    def _tell_hint(self, taken: HintTaken) -> Message:
        text = (
            f"{self.voice.address(self.table, taken.seat)} took a hint: {HINT_STEPS[taken.step]}."
        )
        return Message("advice", taken.seat, text, version=taken.version)

    def count_hints(self, seat: int) -> int:
        """Return how many positions there are in which a player took a hint."""
        return len({taken.version for taken in self.room.hints_taken if taken.seat == seat})

    @cached_property
    def line(self) -> str:
        """The game as one line."""
        return record.to_line(self.table)

    # The players ------------------------------------------------------------------------------------------------------

    @property
    def presence_mark(self) -> str:
        """What the page shows of the players who are here, away or gone, so that its script hears of changes."""
        return mark_presence(self.room, self.presence)

    def get_presence(self, seat: int) -> Presence | None:
        """Return where the player of a seat is; None for this visitor's own, and where nobody needs to know."""
        return None if self.presence is None or seat in self.held else self.presence.seats[seat]

    @property
    def may_claim(self) -> bool:
        """Whether this visitor may claim the game, since the other player has been gone for long."""
        return self.presence is not None and self.room.may_claim(self.held, self.presence.gone_for)

    # The board --------------------------------------------------------------------------------------------------------

    def format_remaining(self, seat: int) -> str | None:
        """List the blocks that a seat has for itself, unless they are offered below the board."""
        if not self._has_own_sets or self.room.over or (self.held and seat == self.seat):
            return None
        return drawing.format_remaining(self.table, seat)

    @cached_property
    def cells(self) -> tuple[NumberCell, ...]:
        """The numbers of the game as a board; empty where towers are drawn instead."""
        return drawing.draw_cells(self.table)

    @cached_property
    def menu(self) -> BlockMenu | None:
        """The blocks to choose from; None if there is nothing to choose."""
        if self.room.over or (not self.held and (self.room.waiting or self._has_own_sets)):
            return None
        if self.room.may_move(self.held):
            waiting = ""
        elif self.room.waiting:
            waiting = "The other player is not here yet."
        elif self.room.is_paused:
            waiting = self.headline
        else:
            waiting = f"It is {self.mover}'s turn."
        return drawing.build_menu(self.table, self.seat, waiting)


def _join_lines(message: Message) -> str:
    """Return a message in one line."""
    return " ".join(line.removeprefix("- ") for line in join_messages(message).splitlines())


def _get_turn(line: str, name: str) -> str:
    """Return the sentence of a line that says whose turn it is; the name may contain full stops."""
    end = line.find(". ", max(0, line.find(name)) + len(name))
    return line if end < 0 else line[: end + 1]


def build_log(
    table: Table, reader: Reader = BOTH, most: int = MOST_LOG_CHANGES
) -> tuple[Message, ...]:
    """Return the last changes at a table in words for a reader, oldest first, without whose turn it is."""
    told = narrate(table, max(0, table.version - most + 1), reader=reader, turns=False)
    lines = [message._replace(text=text) for message in told if (text := join_messages(message))]
    size = sum(len(line.text) for line in lines)
    while size > MOST_TEXT:
        size -= len(lines.pop(0).text)
    return tuple(lines)


def mark_presence(room: Room, presence: RoomPresence | None) -> str:
    """Return a text that is another one when players come or go, or when a game can be claimed."""
    if presence is None:
        return ""
    claim = room.may_claim({1 - room.table.game.to_move}, presence.gone_for)
    return " ".join((*presence.seats, *(["claim"] if claim else [])))
