"""A room as one visitor sees it: what they are told, what they are offered, and nothing that is not theirs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import takewhile
from typing import TYPE_CHECKING, NamedTuple

from number_tower import record
from number_tower.brief import describe_rules
from number_tower.table import replay_moves
from number_tower.voice import MatchStanding, format_points
from number_tower.web import drawing
from number_tower.web.drawing import format_said

if TYPE_CHECKING:
    from collections.abc import Iterator

    from number_tower.game import Game
    from number_tower.room import Offer, Room
    from number_tower.store.rows import Seats
    from number_tower.table import Table
    from number_tower.voice import Message, Voice
    from number_tower.web.drawing import BlockMenu, Tower
    from number_tower.web.room_cache import CachedRoom


class PlayerCard(NamedTuple):
    """What stands at a seat: who sits there, and how they are doing."""

    seat: int
    name: str
    tags: tuple[str, ...]
    active: bool
    won: bool
    score: int | str | None
    left: str | None


@dataclass(frozen=True)
class RoomView:
    """A room and whoever looks at it, by the seats that they hold."""

    known: CachedRoom
    held: frozenset[int]

    @property
    def room(self) -> Room:
        """The room."""
        return self.known.room

    @property
    def table(self) -> Table:
        """The table in it."""
        return self.known.room.table

    @property
    def voice(self) -> Voice:
        """How the game speaks."""
        return self.known.voice

    @property
    def base(self) -> str:
        """Where this visitor's page is; the play address is for those who play."""
        return f"/g/{self.known.address}" if self.held else f"/w/{self.known.watch}"

    @property
    def names(self) -> tuple[str, str]:
        """What the players are called."""
        return self.room.seats[0].name, self.room.seats[1].name

    @property
    def alone(self) -> bool:
        """Whether both seats are played from here."""
        return len(self.held) == 2

    @property
    def mine(self) -> bool:
        """Whether it is this visitor's turn, and theirs alone."""
        return not self.alone and self.room.may_move(self.held)

    # What is told -----------------------------------------------------------------------------------------------------

    @cached_property
    def title(self) -> str:
        """The title of the page: what there is to do now comes first."""
        if self.room.waiting:
            now = "Waiting"
        elif self.room.over:
            now = self.headline
        else:
            now = "Your turn" if self.mine else f"{self.names[self.table.game.to_move]}'s turn"
        return f"{now} · {self.voice.title}"

    @cached_property
    def _status_lines(self) -> list[str]:
        if self.room.over:
            ends = [said for said in self.voice.tell(self.table) if said.kind in {"end", "skipped"}]
            # The last line says who won.
            lines = format_said(*ends).splitlines()
            return [*lines[-1:], *lines[:-1]]
        first, *others = format_said(self.voice.tell_turn(self.table)).splitlines() or [""]
        return [*_split_turn(first, self.names[self.table.game.to_move]), *others]

    @property
    def headline(self) -> str:
        """What there is to know at once: whose turn it is, or who won."""
        if self.room.waiting:
            return "Waiting for the other player"
        return (self._status_lines or [""])[0].removesuffix(":")

    @property
    def details(self) -> list[str]:
        """What else the game says of it."""
        if self.room.waiting:
            return ["The game begins as soon as somebody opens your link and takes the seat."]
        if not self.room.over and not self.room.may_move(self.held):
            return []
        return [line.removeprefix("- ") for line in self._status_lines[1:]]

    @property
    def winner(self) -> int | None:
        """Who won; None while nobody has."""
        outcome = self.table.outcome
        return None if outcome is None else outcome.winner

    @property
    def series(self) -> str:
        """How the match stands, in the game's words; empty where there is none."""
        room = self.room
        if room.best_of is None or room.waiting:
            return ""
        standing = MatchStanding(len(room.winners) + 1, room.best_of, room.score)
        if not room.over:
            return f"Game {standing.number}, best of {room.best_of}"
        said = [self.voice.tell_match("score", self.table, standing)]
        if room.series_over:
            drawn = room.score[0] == room.score[1]
            said.append(self.voice.tell_match("drawn" if drawn else "won", self.table, standing))
        return format_said(*said)

    @cached_property
    def log(self) -> tuple[LogLine, ...]:
        """What happened, in the game's words."""
        return build_log(self.table, self.voice)

    @property
    def rules(self) -> tuple[str, ...]:
        """The rules in a few sentences."""
        return describe_rules(self.table.game.rules, self.voice.noun)

    @property
    def prompt(self) -> str:
        """The question that asks for a move."""
        return self.voice.format_prompt(self.table).strip().removesuffix(":")

    # What is seen -----------------------------------------------------------------------------------------------------

    @property
    def plates(self) -> Iterator[PlayerCard]:
        """Who sits at the table."""
        room, game = self.room, self.table.game
        scored = room.best_of is not None or bool(room.winners) or room.number > 1
        for seat in (0, 1):
            yield PlayerCard(
                seat,
                self.names[seat],
                tuple(self._list_tags(seat)),
                active=not room.over and not room.waiting and game.to_move == seat,
                won=self.winner == seat,
                score=format_points(room.score[seat]) if scored else None,
                left=self._format_left(seat),
            )

    def _list_tags(self, seat: int) -> Iterator[str]:
        kind = self.room.seats[seat].kind
        if kind == "computer":
            yield "computer"
        elif kind == "free":
            yield "free"
        elif seat in self.held and not self.alone:
            yield "you"

    def _format_left(self, seat: int) -> str | None:
        """Say which blocks a seat has for itself, unless they are offered below."""
        if not self._has_own_sets or self.room.over or (self.held and seat == self.seat):
            return None
        return drawing.format_remaining(self.table, seat)

    @property
    def _has_own_sets(self) -> bool:
        return self.table.game.rules.supply == "own"

    @cached_property
    def towers(self) -> tuple[Tower, ...]:
        """The towers."""
        return drawing.draw_towers(self.table, self.names)

    @property
    def seat(self) -> int:
        """Whose blocks are offered: this visitor's, or those of whoever is to move."""
        return next(iter(self.held)) if len(self.held) == 1 else self.table.game.to_move

    @cached_property
    def hand(self) -> BlockMenu | None:
        """The blocks to choose from; None once there is nothing to choose."""
        if self.room.over or (not self.held and (self.room.waiting or self._has_own_sets)):
            return None
        return drawing.build_menu(self.table, self.voice, self.seat, self._waiting_reason)

    @property
    def _waiting_reason(self) -> str:
        if self.room.may_move(self.held):
            return ""
        if self.room.waiting:
            return "Nobody has taken the other seat yet."
        return f"It is {self.names[self.table.game.to_move]}'s turn."

    @property
    def line(self) -> str:
        """The game as one line."""
        return record.to_line(self.table)

    @property
    def may_analyse(self) -> bool:
        """Whether the truth may be looked up: not while somebody still plays for it."""
        return self.room.over or (self.alone and not self.table.secret)


def _split_turn(line: str, name: str) -> list[str]:
    """Part the sentence that says whose turn it is from what follows; a name may hold anything."""
    end = line.find(". ", max(0, line.find(name)) + len(name))
    return [line] if end < 0 else [line[: end + 1], line[end + 2 :]]


MOST_LISTED_BLOCKS = 200


"""Blocks of a game up to which it is said of each whether it can be placed."""


def describe_room(room: Room, players: Seats, voice: Voice, mark: str, remark: str = "") -> dict[str, object]:
    """Return a room as it is told to the world, with what a computer remarked on its last move."""
    table = room.table
    game, outcome = table.game, table.outcome
    return {
        "game": room.number,
        "version": table.version,
        "mark": mark,
        "rulebook": {"name": table.rulebook, "title": voice.title, "noun": voice.noun},
        "rules": game.rules.written(),
        "record": record.to_line(table),
        "hidden": table.hidden,
        "first": game.first + 1,
        "players": [_describe_player(room, players, place) for place in (0, 1)],
        "moves": game.moves,
        "to_move": None if outcome is not None else game.to_move + 1,
        "legal": table.legal if _lists_blocks(table) else None,
        "refused": _list_refusals(table),
        "result": outcome
        and {"winner": None if outcome.winner is None else outcome.winner + 1, "reason": outcome.reason},
        "said": [said.text.strip("\n") for said in narrate_last_change(table, voice)],
        "remark": remark,
        "offer": _describe_offer(room.offer),
        "declined": _describe_offer(room.declined),
        "waiting": room.waiting,
        "hints": room.hints_allowed,
        "series": {
            "number": len(room.winners) + 1,
            "best_of": room.best_of,
            "score": room.score,
            "over": room.series_over,
        },
    }


def _describe_offer(offer: Offer | None) -> dict[str, object] | None:
    return offer and {"kind": offer.kind, "seat": offer.seat + 1}


def _describe_player(room: Room, players: Seats, place: int) -> dict[str, object]:
    table, seat = room.table, room.seats[place]
    return {
        "seat": place + 1,
        "name": seat.name,
        "kind": seat.kind,
        "level": players.players[place],
        "height": table.game.heights[place],
        "top": table.game.position.tops[place] or None,
        "tower": table.game.towers[place],
        "left": table.left(place) if _lists_blocks(table) else None,
    }


def _lists_blocks(table: Table) -> bool:
    return not table.hidden and len(table.game.rules.blocks) <= MOST_LISTED_BLOCKS


def _list_refusals(table: Table) -> dict[str, str] | None:
    """Say of each block that cannot be placed why not, as far as anybody may know."""
    if not _lists_blocks(table):
        return None
    if table.outcome is not None:
        return dict.fromkeys(map(str, table.game.rules.blocks), "over")
    numbers = table.game.rules.numbers
    return {str(block): reason for reason, mask in table.game.position.refusals() for block in numbers(mask)}


MOST_LOG_CHANGES = 60


"""Changes that are told; of a longer story, the end."""


MOST_TEXT = 64 * 1024


"""Characters that are told at once, whatever words a game has."""


MOST_UNDONE = 20


"""Blocks of one takeback that are told one by one: the last ones."""


_PLAYER_EVENTS = {"placed", "skipped", "undone"}


"""What is about one of the players."""


class LogLine(NamedTuple):
    """A line of the log: what happened, in the game's words, and whom it is about."""

    number: int
    kind: str
    seat: int | None
    block: int | None
    text: str


def build_log(table: Table, voice: Voice, most: int = MOST_LOG_CHANGES) -> tuple[LogLine, ...]:
    """Tell what happened at a table, oldest first; whose turn it is stands elsewhere, and passes with the next move."""
    lines: list[LogLine] = []
    for told in narrate(table, voice, max(0, table.version - most + 1), turns=False):
        if text := format_said(told.said):
            seat = told.said.player if told.said.kind in _PLAYER_EVENTS else None
            lines.append(LogLine(told.version, told.said.kind, seat, told.block, text))
    size = first = 0
    for line in lines:
        size += len(line.text)
    while size > MOST_TEXT:
        size -= len(lines[first].text)
        first += 1
    return tuple(lines[first:])


class NarratedLine(NamedTuple):
    """A piece of the dialogue, the version of the table after which it was said, and the block that it is about."""

    version: int
    said: Message
    block: int | None = None


def narrate(
    table: Table, voice: Voice, since: int = 0, until: int | None = None, *, turns: bool = True
) -> Iterator[NarratedLine]:
    """Tell a game from its start, or the changes from one version to another; takebacks too.

    Only what is asked for is put into words, and nothing is replayed that the game itself remembers.
    """
    game = _restore_game(table, max(0, since - 1))
    if since <= 0:
        yield from (NarratedLine(0, said) for said in voice.tell(_with_game(table, game), turns=turns))
    start = max(1, since)
    for version, change in enumerate(table.log[start - 1 : until], start):
        match change.kind:
            case "place":
                game = game.play(change.number)
                for said in voice.tell(_with_game(table, game), turns=turns):
                    yield NarratedLine(version, said, change.number if said.kind == "placed" else None)
            case "undo":
                for earlier, block in _list_undone(game, change.number):
                    yield NarratedLine(version, voice.tell_undo(_with_game(table, earlier), block), block)
                game = game.undo(change.number)
                if turns:
                    yield NarratedLine(version, voice.tell_turn(_with_game(table, game)))
            case _:
                yield from (NarratedLine(version, said) for said in voice.tell(table, turns=turns))


def _restore_game(table: Table, version: int) -> Game:
    """Return the game at a version of its table: what it has in common with the game as it is now is taken from it."""
    moves, now = replay_moves(table.log[:version]), table.game
    common = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(moves, now.moves, strict=False)))
    game = now.at(common)
    for block in moves[common:]:
        game = game.play(block)
    return game


def _list_undone(game: Game, count: int) -> Iterator[tuple[Game, int]]:
    """Give the last blocks of a takeback, each with the game before it was placed."""
    last = len(game.moves) - count
    for ply in reversed(range(last, min(last + MOST_UNDONE, len(game.moves)))):
        yield game.at(ply), game.moves[ply]


def narrate_last_change(table: Table, voice: Voice) -> Iterator[Message]:
    """Tell what the last change at a table was."""
    if table.log and table.log[-1].kind == "undo":
        yield from (told.said for told in narrate(table, voice, table.version))
    else:
        yield from voice.tell(table)


def _with_game(table: Table, game: Game) -> Table:
    """Return a table as it was at an earlier moment of its game."""
    return replace(table, game=game, declared=None)
