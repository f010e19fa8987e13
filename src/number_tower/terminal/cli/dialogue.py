"""The dialogue of one game: tell what happened, ask for a move, save it, and again."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import assert_never, cast

from number_tower.engine.table import StaleError, Table
from number_tower.support.text import format_argument, make_sentence
from number_tower.terminal.cli import CommandError, Terminal
from number_tower.terminal.cli.errors import NOTHING_TO_SAVE, print_error, report_stop
from number_tower.terminal.cli.input import Command, PlayerInput, format_commands, list_commands
from number_tower.terminal.cli.prompt import MovePrompt, draw_towers
from number_tower.terminal.cli.savefile import SaveFile
from number_tower.terminal.session.game import GameSession, find_program_name, format_record
from number_tower.words.voice import Message, Reader, get_voice, narrate

_QUESTIONS: dict[Command | None, str] = {
    "resign": "Resign? Your opponent then wins.",
    "quit": "Leave this game?",
}
"""What is asked on a terminal before a command that ends the dialogue."""


@dataclass
class Dialogue:
    """A game at this keyboard."""

    session: GameSession
    terminal: Terminal
    coin_tossed: bool = False
    introduced: bool = False
    """Whether the players know already what can be typed."""

    def __post_init__(self) -> None:
        self.set_reader(self.session.reader)
        self._current = self.table

    @property
    def table(self) -> Table:
        """The table as it is saved."""
        return self.session.table

    @property
    def savefile(self) -> SaveFile | None:
        """The file that the game is saved in as well."""
        return cast("SaveFile | None", self.session.recorder)

    def set_reader(self, reader: Reader) -> None:
        """Choose who reads."""
        self.reader, self.voice = reader, get_voice(self.table.book, reader)
        self._prompt = MovePrompt(self.terminal, reader=reader, has_changed=self._has_changed)

    def play(self) -> None:
        """Tell the game so far and play it, until it is over or left."""
        over, automatic = self.table.outcome is not None, self.table.automatic
        if self.terminal.interactive and not (over or self.introduced or all(automatic)):
            self.terminal.show(f"{format_commands(list_commands(self.table))}\n")
        if reminder := self.voice.remind_of_hidden(self.table):
            self.terminal.show(f"{reminder}\n\n")
        self._narrate(coin_tossed=self.coin_tossed)
        self._play_on(tell_review=not over)

    def undo_and_play(self) -> None:
        """Take back a person's last move of a game that is over, and play on."""
        self._undo()
        self._play_on()

    def _play_on(self, *, tell_review: bool = True) -> None:
        """Play until the game is over or left; then close the players and the database."""
        try:
            with report_stop(NOTHING_TO_SAVE, self.format_resume_hint):
                self._ask_moves()
        finally:
            self.session.close()
        if self.terminal.interactive and self.table.outcome is not None and tell_review:
            winner = self.table.outcome.winner
            lost = winner is not None and self.voice.reader.see(winner) == "opponent"
            start = "See where it turned" if lost else "Review it with"
            self.terminal.show(f"\n{start}: {self.format_command('review')}\n")

    def _ask_moves(self) -> None:
        """Ask for moves until the game is over or left."""
        while self.table.outcome is None:
            if self.session.computer is not None:
                self.terminal.flush()
                table, remark = self.session.let_computer_move()
                announcement = ""
                if table.declared is not None:
                    name = self.voice.get_name(table, self.table.game.to_move)
                    announcement = f"\n({name} made no legal move: {remark}.)\n"
                elif remark:
                    self.terminal.show(f"({remark})\n")
                self._change(table, announcement)
                continue
            answer = self._prompt.ask(self.table, self.voice.format_prompt(self.table))
            question = _QUESTIONS.get(answer.command)
            if question is not None and not self.terminal.confirm(question):
                continue
            if answer.command == "quit":
                self.terminal.write(f"{self.format_resume_hint(NOTHING_TO_SAVE)}\n")
                return
            if answer.command is not None:
                self._run_command(answer.command, answer)
            elif answer.number is not None:
                self._change(self.table.play(answer.number))

    def _run_command(self, command: Command, answer: PlayerInput) -> None:
        """Run a command that changes the game or where it is saved."""
        match command:
            case "changed":
                before = self.table
                self.session.table = replace(self._current, automatic=before.automatic)
                self._catch_up(before, before)
            case "save":
                self._start_savefile(answer.file, force=answer.force)
            case "undo":
                self._undo()
            case "resign":
                self._change(self.table.declare("resigned", self.table.game.to_move))
            # The prompt answers these, or leaves the game.
            case "help" | "moves" | "show" | "hint" | "why" | "skip" | "quit":
                raise ValueError(f"{command} does not change a game")
            case _:
                assert_never(command)

    def _change(self, table: Table, announcement: str = "") -> None:
        """Save a change, and then tell it after the announcement."""
        if self._save(table):
            self.terminal.show(announcement)
            _show_events(self.voice.tell(self.table), self.table, self.terminal, self.reader)

    def _save(self, table: Table) -> bool:
        """Save a change before it is announced; return False if the game changed elsewhere."""
        before = self.table
        try:
            news = self.session.save(table)
        except StaleError:
            self._catch_up(before, table)
            return False
        for message in news:
            print_error(message)
        return True

    def _has_changed(self) -> bool:
        """Look whether the game was changed elsewhere."""
        current = None if self.session.autosave is None else self.session.autosave.fetch_change()
        self._current = current or self.table
        return self._current.log != self.table.log

    def _catch_up(self, before: Table, mine: Table) -> None:
        """Tell how the game was continued elsewhere; `mine` is what was to be saved here."""
        if mine.version - _count_common(mine.log, self.table.log) > 1:
            lost = f"This was your game: {format_record(before)}"
            self.terminal.show(f"\n(Your moves since then were not saved. {lost})\n")
        self.terminal.show("\n(This game was continued elsewhere. The moves made there:)\n")
        self._narrate(_count_common(before.game.moves, self.table.game.moves))

    def _narrate(self, since: int = 0, *, coin_tossed: bool = False) -> None:
        narrate_game(self.table, self.terminal, self.reader, since, coin_tossed=coin_tossed)

    def _start_savefile(self, path: str, *, force: bool) -> None:
        """Write the game to a file, now and after every change; `force` replaces a file."""
        if not path:
            self.terminal.show("Type save and a file name, as in: save game.json\n")
            return
        key = None if self.session.autosave is None else self.session.autosave.key
        # The file of this very game needs no --force.
        again = self.savefile is not None and os.path.realpath(path) == str(self.savefile.file)
        try:
            savefile = SaveFile.create(path, self.table, key, force=force or again)
        except CommandError as error:
            self.terminal.show(f"{make_sentence(str(error))}\n")
            return
        self.session.recorder = savefile
        self.terminal.show(f"Game saved to {savefile.name}. Every new move is saved there too.\n")

    def _undo(self) -> None:
        if not self.table.may_undo:
            self.terminal.show_event(self.voice.refuse(self.table, "undo", "undo"))
        elif self._save(self.table.undo()):
            messages = narrate(self.table, self.table.version, reader=self.reader)
            _show_events(messages, self.table, self.terminal, self.reader)

    def format_resume_hint(self, otherwise: str) -> str:
        """Say how to resume the game; `otherwise` is the text for a game without a move."""
        if not self.table.game.moves and not self.has_autosaved:
            return otherwise
        saved = "Game saved." if self.has_autosaved or self.has_saved_file else "Game not saved."
        call = f"{self.format_command('resume')}{self._format_seat_options()}"
        return f"{saved} Resume it with: {call}"

    @property
    def has_autosaved(self) -> bool:
        """Whether the game is in the database as it stands."""
        return self.session.autosave is not None and self.session.autosave.ref is not None

    @property
    def has_saved_file(self) -> bool:
        """Whether the game is in a file as it stands."""
        return self.savefile is not None and self.savefile.up_to_date

    def _format_seat_options(self) -> str:
        """Return the options for the same players, unless the database restores them."""
        opponents = self.session.opponents
        if opponents is None:
            return ""
        return "" if self.has_autosaved and not opponents.has_program else opponents.options

    def format_command(self, command: str, ref: str | None = None) -> str:
        """Return a call of a command for this game, or for another REF."""
        if ref is None and self.session.autosave is not None:
            ref = self.session.autosave.ref
        if ref is None:
            file = self.savefile.path if self.savefile and self.has_saved_file else None
            ref = format_argument(file or format_record(self.table))
        return f"{find_program_name()} {command} {ref}"


def narrate_game(
    table: Table, terminal: Terminal, reader: Reader, since: int = 0, *, coin_tossed: bool = False
) -> None:
    """Tell a game from the move after the first `since` ones; to both players, with the prompts."""
    table = replace(table, log=())
    if since:
        earlier = replace(table, game=table.game.at(since), declared=None)
        turn = get_voice(table.book, reader).tell_turn(earlier)
        _show_events([turn], table, terminal, reader)
    start = since + 1 if since else 0
    messages = narrate(table, start, reader=reader, answers=reader.shared)
    last = len(table.game.moves)
    _show_events(messages, table, terminal, reader, last, coin_tossed=coin_tossed)


def _show_events(
    messages: Iterable[Message],
    table: Table,
    terminal: Terminal,
    reader: Reader,
    last_version: int = 0,
    *,
    coin_tossed: bool = False,
) -> None:
    """Show messages except computers' turns; where there is colour, draw the last move's towers."""
    for message in messages:
        if message.kind != "turn" or message.view != "opponent":
            terminal.show_event(message)
        if message.kind == "start" and coin_tossed:
            terminal.show_event(get_voice(table.book, reader).tell_toss(table))
        if message.kind == "placed" and message.version == last_version and terminal.colour:
            draw_towers(table, terminal, reader)


def _count_common(one: Sequence[object], other: Sequence[object]) -> int:
    """Return how many entries two sequences begin with alike."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))
