"""The dialogue of one game: tell, ask whoever is to move, and again, until it is over or someone leaves."""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from number_tower.cli.errors import FINISHED, INPUT_ENDED, INTERRUPTED, CommandError, InputEndedError, print_error
from number_tower.cli.input import CHANGED, COMMANDS, MovePrompt
from number_tower.game import Game
from number_tower.table import StaleError, Table
from number_tower.text import format_argument
from number_tower.voice import Voice

if TYPE_CHECKING:
    from collections.abc import Sequence

    from number_tower.catalogue import Rulebook
    from number_tower.cli.autosave import Autosave
    from number_tower.cli.opponents import Opponents
    from number_tower.cli.savefile import SaveFile
    from number_tower.cli.terminal import Terminal
    from number_tower.players import Player


@dataclass
class Dialogue:
    """A table, the voice it is played in, and where."""

    table: Table
    book: Rulebook
    screen: Terminal
    savefile: SaveFile | None = None
    autosave: Autosave | None = None
    """What keeps the game in the database, if it is kept there."""
    coin_tossed: bool = False
    opponents: Opponents | None = None
    """Who plays where it is not a person at this keyboard."""
    introduced: bool = False
    """Whether the players know already what can be typed."""

    def __post_init__(self) -> None:
        self.voice = Voice(self.book)
        self._prompt = MovePrompt(self.voice, self.screen, changed=self._check_for_change)
        self._current = self.table

    def play(self) -> int:
        """Tell the game so far, if any of it was played, and go on to its end; return the exit code."""
        if (
            self.screen.interactive
            and self.table.outcome is None
            and not (self.introduced or all(self.table.automatic))
        ):
            you = f"You are {self.voice.get_name(self.table, self.table.automatic.index(False))}. "
            commands = f"At any time: {', '.join(COMMANDS)}."
            self.screen.show(f"({you if any(self.table.automatic) else ''}{commands})\n\n")
        self.narrate()
        over = self.table.outcome is not None
        try:
            code = self._ask_moves()
        finally:
            for player in self._players:
                if player is not None:
                    player.close()
            if self.autosave is not None:
                self.autosave.close()
        if self.screen.interactive and self.table.outcome is not None and not over:
            self.screen.show(f"\n(To go through this game: {self.format_command('review')})\n")
        return code

    @property
    def _players(self) -> tuple[Player | None, Player | None]:
        return (None, None) if self.opponents is None else self.opponents.players

    def narrate(self, since: int = 0) -> None:
        """Tell the game so far, answers and all, as it was played; or only what came after so many moves."""
        earlier = None
        for game in self.table.game.history():
            if len(game.moves) < since:
                continue
            now = replace(self.table, game=game, declared=None)
            if earlier is not None:
                self.screen.show(f"{self.voice.format_prompt(earlier)}{game.moves[-1]}\n")
            if earlier is None and since:
                self.screen.show_event(self.voice.tell_turn(now))
            else:
                self._show_events(now, draw=len(game.moves) == len(self.table.game.moves))
            earlier = now
        if self.table.declared is not None:
            self._show_events(self.table)

    def _ask_moves(self) -> int:
        """Ask for moves until the game is over; return the exit code."""
        try:
            while self.table.outcome is None:
                player = self._players[self.table.game.to_move]
                if player is not None:
                    self._play_computer_move(player)
                    continue
                answer = self._prompt.ask(self.table, self.voice.format_prompt(self.table))
                if answer.command == "quit":
                    self.screen.write(self.format_resume_hint("The game is left unfinished.") + "\n")
                    return FINISHED
                if answer.command == CHANGED:
                    self._catch_up(self._current, self.table)
                elif answer.command == "save":
                    self._save(answer.file)
                elif answer.command == "undo":
                    self._undo()
                elif self._apply_change(self._apply_answer(answer.number)):
                    self._show_events(self.table)
        except InputEndedError:
            print_error(self.format_resume_hint("the input ended before the game did."))
            return INPUT_ENDED
        except KeyboardInterrupt:
            print_error(self.format_resume_hint("stopped."))
            return INTERRUPTED
        return FINISHED

    def _apply_answer(self, block: int | None) -> Table:
        """Return the table after an answer: a block is placed, or the game is given up."""
        return self.table.declare("resigned", self.table.game.to_move) if block is None else self.table.play(block)

    def _play_computer_move(self, player: Player) -> None:
        """Let a computer move, and tell it as if it had typed its answer."""
        from number_tower.players import ForfeitError, let_move  # noqa: PLC0415 - loaded where there is such a player

        seat = self.table.game.to_move
        self.screen.flush()
        try:
            table = let_move(self.table, player)
        except ForfeitError as reason:
            if self._apply_change(self.table.declare("forfeit", seat)):
                self.screen.show(f"\n({self.voice.get_name(self.table, seat)} gives no move: {reason}.)\n")
                self._show_events(self.table)
            return
        finally:
            if self.opponents is not None:
                self.opponents.progress.clear()
        if player.remark:
            self.screen.show(f"({player.remark})\n")
        before = self.table
        if self._apply_change(table):
            self.screen.show(f"{self.voice.format_prompt(before)}{table.game.moves[-1]}\n")
            self._show_events(table)

    def _show_events(self, table: Table, *, draw: bool = True) -> None:
        for said in self.voice.tell(table):
            self.screen.show_event(said)
            if said.kind == "start" and self.coin_tossed:
                self.screen.show_event(self.voice.tell_toss(table))
            if said.kind == "placed" and self.screen.colour and draw:
                self._prompt.draw_towers(table)

    def _apply_change(self, table: Table) -> bool:
        """Keep a change before it is announced; say whether it counts, or somebody elsewhere made another."""
        if self.autosave is not None:
            try:
                kept, news = self.autosave.save(table)
            except StaleError as stale:
                self._catch_up(stale.table, table)
                return False
            if news:
                print_error(news)
            if (kept.game, kept.declared) != (table.game, table.declared):
                self._catch_up(kept, table)
                return False
            table = replace(kept, automatic=table.automatic)
        self.table = table
        if self.savefile is not None and self.autosave is not None:
            self.savefile.key = self.autosave.key
        if self.savefile is not None and (news := self.savefile.save(table)):
            print_error(news if self.savefile.up_to_date else f"{news}; so far it is {self.format_line()}")
        return True

    def _check_for_change(self) -> bool:
        """Look whether somebody elsewhere has changed the table."""
        current = None if self.autosave is None else self.autosave.fetch_change()
        self._current = current or self.table
        return self._current.log != self.table.log

    def _catch_up(self, current: Table, mine: Table) -> None:
        """Go on with a game as somebody elsewhere left it."""
        if mine.version - _count_common(mine.log, current.log) > 1:
            self.screen.show(f"\n(What was played here since is not kept. It was {self.format_line()})\n")
        self.screen.show("\n(This game has gone on elsewhere. What happened there:)\n")
        since = _count_common(self.table.game.moves, current.game.moves)
        self.table = replace(current, automatic=self.table.automatic)
        self.narrate(since)

    def _save(self, path: str) -> None:
        """Write the game to a file, now and after every change."""
        from number_tower.cli.savefile import SaveFile  # noqa: PLC0415 - only for those who ask

        if not path:
            self.screen.show("Type save and the name of a file, as in: save game.json\n")
            return
        try:
            key = None if self.autosave is None else self.autosave.key
            self.savefile, news = SaveFile.start(path, self.table, key)
        except CommandError as wrong:
            self.screen.show(f"It cannot be saved there: {str(wrong).removesuffix('.')}.\n")
            return
        if news:
            self.screen.show(f"({news}.)\n")
        self.screen.show(f"The game is in {self.savefile.name}, and so will be every move from now on.\n")

    def _undo(self) -> None:
        if not self.table.may_undo:
            self.screen.show_event(self.voice.refuse(self.table, "undo", "undo"))
            return
        moves = self.table.game.moves
        if not self._apply_change(self.table.undo()):
            return
        for kept in range(len(moves) - 1, len(self.table.game.moves) - 1, -1):
            earlier = replace(self.table, game=Game(self.table.game.rules, self.table.game.first, moves[:kept]))
            self.screen.show_event(self.voice.tell_undo(earlier, moves[kept]))
        self.screen.show_event(self.voice.tell_turn(self.table))

    def format_resume_hint(self, what: str) -> str:
        """Say how to go on with a game that was left, as long as there is something to go on with."""
        if not self.table.game.moves:
            return what
        return f"{what} To go on with it: {self.format_command('resume')}{self._format_seat_options()}"

    def _format_seat_options(self) -> str:
        """Return the options that seat the players again, unless the database knows them; programs it never starts."""
        if self.opponents is None:
            return ""
        known = self.autosave is not None and self.autosave.ref is not None
        return "" if known and not self.opponents.has_program else self.opponents.options

    def format_command(self, command: str, ref: str | None = None) -> str:
        """Write a command for this game, or for what else a REF stands for."""
        if ref is None and self.autosave is not None:
            ref = self.autosave.ref
        if ref is None:
            ref = format_argument(
                self.savefile.path if self.savefile and self.savefile.up_to_date else self.format_line()
            )
        return f"{_find_program_name()} {command} {ref}"

    def format_line(self) -> str:
        """Write the game as one line."""
        from number_tower import record  # noqa: PLC0415 - only when a game is left, or cannot be kept

        return record.to_line(self.table, files=True)


def _count_common(one: Sequence[object], other: Sequence[object]) -> int:
    """Return how many entries two sequences begin with alike."""
    for place, (mine, theirs) in enumerate(zip(one, other, strict=False)):
        if mine != theirs:
            return place
    return min(len(one), len(other))


def _find_program_name() -> str:
    """Say how this command can be called again: by its name, or, where the shell does not find it, as it was called."""
    from shutil import which  # noqa: PLC0415 - only when a game is left

    if which("tower"):
        return "tower"
    return "python -m number_tower" if sys.argv[0].endswith("__main__.py") else sys.argv[0]
