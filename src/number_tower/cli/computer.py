"""The computer in a game at this keyboard: opponents, and hints. Two people who ask for none need not load it."""

from __future__ import annotations

from argparse import Namespace
from contextlib import suppress
from dataclasses import replace
from random import Random, SystemRandom
from typing import NamedTuple

from number_tower.cli.errors import CommandError, rearm_interrupt, report_as
from number_tower.cli.input import PlayerInput, list_idea_questions
from number_tower.cli.terminal import SearchProgress, Terminal
from number_tower.coach.hints import hint
from number_tower.coach.reasons import Reason, explain_move, list_helpful_ideas
from number_tower.coach.sentences import (
    explain_idea,
    fill_text,
    format_details,
    format_introduction,
    format_sentence,
    refuse_topic,
)
from number_tower.players import ForfeitError, Player, UnknownPlayerError, is_command, let_move, make_player
from number_tower.players.knowledge import get_knowledge
from number_tower.solve.solution import Solution
from number_tower.table import Table, TableError, check_player_names
from number_tower.text import format_argument
from number_tower.voice import get_voice

Specs = tuple[str | None, str | None]
"""For each seat the level or command that plays it, or None for a person."""


class Opponents(NamedTuple):
    """The computer players of a game, None where a person plays."""

    players: tuple[Player | None, Player | None]
    progress: SearchProgress
    specs: Specs
    seed: int

    @classmethod
    def create(cls, args: Namespace, seed: int | None) -> Opponents:
        """Return the players that `--vs` and `--seat` ask for: one opposite the person, or two against each other."""
        specs: list[str] = args.vs
        if len(specs) > 2:
            raise CommandError("--vs: a game has two players, so give --vs at most twice")
        if len(specs) == 2 and args.seat is not None:
            raise CommandError("--seat: two computers play each other, so there is no seat for you")
        seed = SystemRandom().randrange(1_000_000) if seed is None else seed
        progress = SearchProgress("leaves the game", in_game=True)
        first, second = specs if len(specs) == 2 else (*specs, None) if args.seat == "2" else (None, *specs)

        def make(spec: str | None, number: int) -> Player | None:
            """Make the player of a seat; by the number of its `--vs`, two of the same level play different moves."""
            if spec is None:
                return None
            own = seed if number == 0 else Random(f"{seed} {number}").randrange(1 << 32)  # noqa: S311 - play, not secrets
            return make_player(spec, seed=own, patience=args.patience, progress=progress.update)

        with report_as("--vs: ", UnknownPlayerError):
            players = make(first, 0), make(second, len(specs) - 1)
        return cls(players, progress, (first, second), seed)

    @property
    def options(self) -> str:
        """The options that ask for the same players."""
        opponents = "".join(f" --vs {format_argument(spec)}" for spec in self.specs if spec is not None)
        seat = " --seat 2" if self.specs[1] is None else ""
        return f"{opponents}{seat} --seed {self.seed}"

    @property
    def has_program(self) -> bool:
        """Whether a program plays; programs are started only when the call names them."""
        return any(spec is not None and is_command(spec) for spec in self.specs)

    def choose_names(self, people: tuple[str, str]) -> tuple[str, str] | None:
        """Return the default names: people are called as given, computers by their level."""
        return _name_players(self.players, people)

    @staticmethod
    def clear_default_names(table: Table, specs: Specs, people: tuple[str, str]) -> Table:
        """Remove names that were derived from earlier players: these play from now on."""
        try:
            players = [None if spec is None else make_player(spec) for spec in specs]
        except UnknownPlayerError:
            return table
        default = _name_players((players[0], players[1]), people)
        return replace(table, names=None) if table.names == default else table

    def seat(self, table: Table, person: str | None = None) -> Table:
        """Return the table with these players; `person` is the name of the one person there."""
        people = get_voice(table.book).players if person is None else (person, person)
        automatic = self.players[0] is not None, self.players[1] is not None
        return replace(table, names=table.names or self.choose_names(people), automatic=automatic)

    def move(self, table: Table, player: Player) -> tuple[Table, str]:
        """Return the table after the move of one of the players, and its remark, if it has one.

        A player that gives no legal move forfeits; then the remark is the reason.
        """
        try:
            return let_move(table, player), player.remark
        except ForfeitError as error:
            return table.declare("forfeit", table.game.to_move), str(error)
        finally:
            self.progress.clear()

    def close(self) -> None:
        """Close the players."""
        for each in self.players:
            if each is not None:
                each.close()


def _name_players(players: tuple[Player | None, Player | None], people: tuple[str, str]) -> tuple[str, str] | None:
    first, second = (name if each is None else each.name for each, name in zip(players, people, strict=True))
    with suppress(TableError):
        return check_player_names((f"{first} 1", f"{second} 2") if first == second else (first, second))
    return None


class HintGiver:
    """Answers `hint` (a nudge, then the move, then the reason) and `why`; nothing where blocks are hidden."""

    def __init__(self, terminal: Terminal, introduced: set[str]) -> None:
        self._terminal = terminal
        self._introduced = introduced
        self._details = ""
        """What the last reason left out."""
        self._hinted: tuple[int, ...] | None = None
        """The moves of the game when a hint was given."""
        self._step = 0

    def give_hint(self, table: Table, question: PlayerInput) -> None:
        """Answer `hint`, `why`, or `why` about a block or an idea."""
        voice = get_voice(table.book)
        if idea := explain_idea(question.topic, voice.noun, list_helpful_ideas(table.game.rules)):
            self._terminal.show(f"{idea}\n")
            return
        if table.hidden:
            self._terminal.show_event(voice.refuse(table, "hint", question.text))
            return
        if question.number is not None and (reason := table.refusal(question.number)) is not None:
            self._terminal.show_event(voice.refuse(table, reason, str(question.number), question.number))
            return
        if question.topic == "more":
            self._terminal.show(f"{self._details or fill_text('details_none', {})}\n")
            return
        if question.topic:
            questions = [f"why {table.game.legal[0]}", *list_idea_questions(self._introduced)]
            self._terminal.show(f"{refuse_topic(question.topic, questions)}\n")
            return
        try:
            with SearchProgress("cancels the hint", in_game=True) as progress:
                solution = get_knowledge(table.game.rules).solve(table.game.position, progress.update)
        except KeyboardInterrupt:
            rearm_interrupt()
            self._terminal.show("Hint cancelled.\n")
            return
        text = fill_text("unknown", {}) if solution is None else self._answer(table, solution, question)
        self._terminal.show(f"{text}\n")

    def _answer(self, table: Table, solution: Solution, question: PlayerInput) -> str:
        voice = get_voice(table.book)
        opponent = voice.get_name(table, 1 - table.game.to_move)
        if question.number is not None:
            reason = explain_move(solution, question.number)
            return self._explain(reason, format_sentence(reason, opponent, voice.noun), opponent, voice.noun)
        found = hint(solution)
        if question.command == "hint":
            self._step = self._step + 1 if self._hinted == table.game.moves else 1
            self._hinted = table.game.moves
        if question.command == "why" or self._step > 2:
            return self._explain(found.reason, found.why(opponent, voice.noun), opponent, voice.noun)
        return found.nudge(voice.noun) if self._step == 1 else found.name_move()

    def _explain(self, reason: Reason, text: str, opponent: str, noun: str) -> str:
        """Return the text of a reason, how to ask for what it leaves out, and the idea behind it if that is new."""
        self._details = format_details(reason, opponent=opponent, noun=noun)
        more = f" {fill_text('details_more', {})}" if self._details else ""
        return f"{text}{more}{format_introduction(reason, noun, self._introduced)}"
