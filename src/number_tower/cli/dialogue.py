"""The dialogue of one game: tell, ask whoever is to move, and again, until it is over or someone leaves."""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from number_tower.cli.answers import COMMANDS
from number_tower.cli.asking import CHANGED, Asking
from number_tower.cli.failure import FINISHED, INPUT_ENDED, INTERRUPTED, Failure, InputEnded, complain
from number_tower.game import Game
from number_tower.showing import shown_argument
from number_tower.table import Stale, Table
from number_tower.voice import Voice

if TYPE_CHECKING:
    from collections.abc import Sequence

    from number_tower.catalogue import Rulebook
    from number_tower.cli.keeping import Keeper
    from number_tower.cli.screen import Screen
    from number_tower.cli.seating import Seating
    from number_tower.cli.storing import Storing
    from number_tower.players import Player


@dataclass
class Dialogue:
    """A table, the voice it is played in, and where."""

    table: Table
    book: Rulebook
    screen: Screen
    keeper: Keeper | None = None
    storing: Storing | None = None
    """What keeps the game in the database, if it is kept there."""
    tossed: bool = False
    seating: Seating | None = None
    """Who plays where it is not a person at this keyboard."""
    introduced: bool = False
    """Whether the players know already what can be typed."""

    def __post_init__(self) -> None:
        self.voice = Voice(self.book)
        self._asking = Asking(self.voice, self.screen, changed=self._changed)
        self._current = self.table

    def play(self) -> int:
        """Tell the game so far, if any of it was played, and go on to its end; return the exit code."""
        if self.screen.typed and self.table.outcome is None and not (self.introduced or all(self.table.automatic)):
            you = f"You are {self.voice.name(self.table, self.table.automatic.index(False))}. "
            commands = f"At any time: {', '.join(COMMANDS)}."
            self.screen.show(f"({you if any(self.table.automatic) else ''}{commands})\n\n")
        self.retell()
        over = self.table.outcome is not None
        try:
            code = self._go_on()
        finally:
            for player in self._players:
                if player is not None:
                    player.close()
            if self.storing is not None:
                self.storing.close()
        if self.screen.typed and self.table.outcome is not None and not over:
            self.screen.show(f"\n(To go through this game: {self.call('review')})\n")
        return code

    @property
    def _players(self) -> tuple[Player | None, Player | None]:
        return (None, None) if self.seating is None else self.seating.players

    def retell(self, since: int = 0) -> None:
        """Tell the game so far, answers and all, as it was played; or only what came after so many moves."""
        earlier = None
        for game in self.table.game.history():
            if len(game.moves) < since:
                continue
            now = replace(self.table, game=game, declared=None)
            if earlier is not None:
                self.screen.show(f"{self.voice.prompt(earlier)}{game.moves[-1]}\n")
            if earlier is None and since:
                self.screen.say(self.voice.turn(now))
            else:
                self._tell(now, draw=len(game.moves) == len(self.table.game.moves))
            earlier = now
        if self.table.declared is not None:
            self._tell(self.table)

    def _go_on(self) -> int:
        """Ask for moves until the game is over; return the exit code."""
        try:
            while self.table.outcome is None:
                player = self._players[self.table.game.to_move]
                if player is not None:
                    self._let_choose(player)
                    continue
                answer = self._asking.answer(self.table, self.voice.prompt(self.table))
                if answer.command == "quit":
                    self.screen.draw(self.left("The game is left unfinished.") + "\n")
                    return FINISHED
                if answer.command == CHANGED:
                    self._catch_up(self._current, self.table)
                elif answer.command == "save":
                    self._save(answer.file)
                elif answer.command == "undo":
                    self._undo()
                elif self._change(self._answered(answer.number)):
                    self._tell(self.table)
        except InputEnded:
            complain(self.left("the input ended before the game did."))
            return INPUT_ENDED
        except KeyboardInterrupt:
            complain(self.left("stopped."))
            return INTERRUPTED
        return FINISHED

    def _answered(self, block: int | None) -> Table:
        """Return the table after an answer: a block is placed, or the game is given up."""
        return self.table.declare("resigned", self.table.game.to_move) if block is None else self.table.play(block)

    def _let_choose(self, player: Player) -> None:
        """Let a computer move, and tell it as if it had typed its answer."""
        from number_tower.players import Forfeit, let_move  # noqa: PLC0415 - loaded where there is such a player

        seat = self.table.game.to_move
        self.screen.flush()
        try:
            table = let_move(self.table, player)
        except Forfeit as reason:
            if self._change(self.table.declare("forfeit", seat)):
                self.screen.show(f"\n({self.voice.name(self.table, seat)} gives no move: {reason}.)\n")
                self._tell(self.table)
            return
        finally:
            if self.seating is not None:
                self.seating.ticker.clear()
        if player.remark:
            self.screen.show(f"({player.remark})\n")
        before = self.table
        if self._change(table):
            self.screen.show(f"{self.voice.prompt(before)}{table.game.moves[-1]}\n")
            self._tell(table)

    def _tell(self, table: Table, *, draw: bool = True) -> None:
        for said in self.voice.tell(table):
            self.screen.say(said)
            if said.kind == "start" and self.tossed:
                self.screen.say(self.voice.tossed(table))
            if said.kind == "placed" and self.screen.fancy and draw:
                self._asking.draw(table)

    def _change(self, table: Table) -> bool:
        """Keep a change before it is announced; say whether it counts, or somebody elsewhere made another."""
        if self.storing is not None:
            try:
                kept, news = self.storing.keep(table)
            except Stale as stale:
                self._catch_up(stale.table, table)
                return False
            if news:
                complain(news)
            if (kept.game, kept.declared) != (table.game, table.declared):
                self._catch_up(kept, table)
                return False
            table = replace(kept, automatic=table.automatic)
        self.table = table
        if self.keeper is not None and self.storing is not None:
            self.keeper.key = self.storing.key
        if self.keeper is not None and (news := self.keeper.keep(table)):
            complain(news if self.keeper.up_to_date else f"{news}; so far it is {self.line()}")
        return True

    def _changed(self) -> bool:
        """Look whether somebody elsewhere has changed the table."""
        current = None if self.storing is None else self.storing.elsewhere()
        self._current = current or self.table
        return self._current.log != self.table.log

    def _catch_up(self, current: Table, mine: Table) -> None:
        """Go on with a game as somebody elsewhere left it."""
        if mine.version - _common(mine.log, current.log) > 1:
            self.screen.show(f"\n(What was played here since is not kept. It was {self.line()})\n")
        self.screen.show("\n(This game has gone on elsewhere. What happened there:)\n")
        since = _common(self.table.game.moves, current.game.moves)
        self.table = replace(current, automatic=self.table.automatic)
        self.retell(since)

    def _save(self, path: str) -> None:
        """Write the game to a file, now and after every change."""
        from number_tower.cli.keeping import Keeper  # noqa: PLC0415 - only for those who ask

        if not path:
            self.screen.show("Type save and the name of a file, as in: save game.json\n")
            return
        try:
            key = None if self.storing is None else self.storing.key
            self.keeper, news = Keeper.saving(path, self.table, key)
        except Failure as wrong:
            self.screen.show(f"It cannot be saved there: {str(wrong).removesuffix('.')}.\n")
            return
        if news:
            self.screen.show(f"({news}.)\n")
        self.screen.show(f"The game is in {self.keeper.name}, and so will be every move from now on.\n")

    def _undo(self) -> None:
        if not self.table.may_undo:
            self.screen.say(self.voice.refuse(self.table, "undo", "undo"))
            return
        moves = self.table.game.moves
        if not self._change(self.table.undo()):
            return
        for kept in range(len(moves) - 1, len(self.table.game.moves) - 1, -1):
            earlier = replace(self.table, game=Game(self.table.game.rules, self.table.game.first, moves[:kept]))
            self.screen.say(self.voice.undone(earlier, moves[kept]))
        self.screen.say(self.voice.turn(self.table))

    def left(self, what: str) -> str:
        """Say how to go on with a game that was left, as long as there is something to go on with."""
        if not self.table.game.moves:
            return what
        return f"{what} To go on with it: {self.call('resume')}{self._seats()}"

    def _seats(self) -> str:
        """Return the options that seat the players again, unless the database knows them; programs it never starts."""
        if self.seating is None:
            return ""
        known = self.storing is not None and self.storing.ref is not None
        return "" if known and not self.seating.programs else self.seating.options

    def call(self, command: str, ref: str | None = None) -> str:
        """Write a command for this game, or for what else a REF stands for."""
        if ref is None and self.storing is not None:
            ref = self.storing.ref
        if ref is None:
            ref = shown_argument(self.keeper.path if self.keeper and self.keeper.up_to_date else self.line())
        return f"{_this_command()} {command} {ref}"

    def line(self) -> str:
        """Write the game as one line."""
        from number_tower import record  # noqa: PLC0415 - only when a game is left, or cannot be kept

        return record.to_line(self.table, self.book)


def _common(one: Sequence[object], other: Sequence[object]) -> int:
    """Return how many entries two sequences begin with alike."""
    for place, (mine, theirs) in enumerate(zip(one, other, strict=False)):
        if mine != theirs:
            return place
    return min(len(one), len(other))


def _this_command() -> str:
    """Say how this command can be called again: by its name, or, where the shell does not find it, as it was called."""
    from shutil import which  # noqa: PLC0415 - only when a game is left

    if which("tower"):
        return "tower"
    return "python -m number_tower" if sys.argv[0].endswith("__main__.py") else sys.argv[0]
