"""A prompt for a move, which answers what changes nothing: help, moves, towers, hints."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from number_tower.coach.hints import give_hint, give_reason
from number_tower.coach.reasons import list_helpful_ideas
from number_tower.coach.sentences import explain_idea, fill_text, format_new_idea, refuse_topic
from number_tower.drawing.text import write_towers
from number_tower.engine.table import Table
from number_tower.terminal.cli import Terminal
from number_tower.terminal.cli.errors import rearm_interrupt
from number_tower.terminal.cli.input import (
    GAME_COMMANDS,
    Command,
    PlayerInput,
    list_commands,
    list_idea_questions,
    parse_input,
)
from number_tower.terminal.cli.terminal import BOLD, SEAT_COLOURS, SearchProgress
from number_tower.words.voice import BOTH, Reader, get_voice

MAX_WIDTH, MAX_ROWS = 80, 12
"""Columns and rows of drawn towers."""

_READ_ONLY = {"show", "moves", "hint", "why"}

_COLOURS = {
    "seat-1": SEAT_COLOURS[0],
    "seat-2": SEAT_COLOURS[1],
    "target": "33",
    "bold": BOLD,
    "dim": "2",
}


def explain_topic(topic: str, table: Table, details: str, questions: Iterable[str]) -> str:
    """Answer `why` about an idea, or what the last reason left out; else list the questions."""
    if topic == "more":
        return details or fill_text("details_none", {})
    ideas, noun = list_helpful_ideas(table.game.rules), get_voice(table.book).noun
    return explain_idea(topic, noun, ideas) or refuse_topic(topic, questions)


class HintGiver:
    """Answers `hint` (a nudge, the move, then the reason) and `why`, unless blocks are hidden."""

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
        if table.hidden:
            self._terminal.show_event(voice.refuse(table, "hint", question.text))
            return
        if question.number is not None and (reason := table.refusal(question.number)) is not None:
            refusal = voice.refuse(table, reason, str(question.number), question.number)
            self._terminal.show_event(refusal)
            return
        if question.topic:
            questions = [f"why {table.game.legal[0]}", *list_idea_questions(self._introduced)]
            answer = explain_topic(question.topic, table, self._details, questions)
            self._terminal.show(f"{answer}\n")
            return
        # Who asks again in the same position is told more.
        step = self._step + 1 if self._hinted == table.game.moves else 1
        try:
            with SearchProgress("cancels the hint", in_game=True) as progress:
                if question.command == "hint" and step < 3:
                    hint = give_hint(table, step, progress.update)
                else:
                    hint = give_reason(table, question.number, progress.update)
        except KeyboardInterrupt:
            rearm_interrupt()
            self._terminal.show("Hint cancelled.\n")
            return
        if question.command == "hint":
            self._step, self._hinted = step, table.game.moves
        if not hint.more:
            self._details = hint.details
        more = f" {fill_text('details_more', {})}" if hint.details else ""
        idea = format_new_idea(hint.idea, self._introduced)
        self._terminal.show(f"{hint.texts[-1]}{more}{idea}\n")


def draw_towers(table: Table, terminal: Terminal, reader: Reader) -> None:
    """Draw the towers."""
    voice = get_voice(table.book, reader)
    names = voice.address(table, 0), voice.address(table, 1)
    width = min(terminal.columns, MAX_WIDTH)
    terminal.write("\n")
    for line in write_towers(table, names, width, MAX_ROWS):
        parts = (terminal.paint(text, _COLOURS[style]) if style else text for text, style in line)
        terminal.write(f"{''.join(parts).rstrip()}\n")


@dataclass(eq=False)
class MovePrompt:
    """Asks for a move until it gets a legal one, or a command for the caller.

    `has_changed` says whether the game changed elsewhere; the prompt asks it before it answers.
    """

    terminal: Terminal
    commands: Mapping[Command, str] = field(default_factory=GAME_COMMANDS.copy)
    hints: bool = True
    reader: Reader = BOTH
    has_changed: Callable[[], bool] = lambda: False
    introduced: set[str] = field(default_factory=set)
    """The ideas of the coach that were introduced at this prompt."""

    def __post_init__(self) -> None:
        self._hint_giver = HintGiver(self.terminal, self.introduced)

    def ask(self, table: Table, prompt: str) -> PlayerInput:
        """Return a legal block, or a command that the caller has to run."""
        voice = get_voice(table.book, self.reader)
        while True:
            answer = parse_input(self.terminal.ask(prompt), self.commands)
            refusal = answer.problem if answer.number is None else table.refusal(answer.number)
            if (
                answer.command in _READ_ONLY or (answer.command is None and refusal)
            ) and self.has_changed():
                return PlayerInput(answer.text, command="changed")
            if answer.command is not None:
                if not self._run_command(table, answer):
                    return answer
            elif refusal is not None:
                self.terminal.show_event(
                    voice.refuse(table, refusal, answer.text, answer.number or 0)
                )
            else:
                return answer

    def _run_command(self, table: Table, answer: PlayerInput) -> bool:
        """Run a command that changes nothing; say whether it was one."""
        voice = get_voice(table.book, self.reader)
        match answer.command:
            case "help" if answer.about is not None:
                self.terminal.show_list({answer.about: self.commands[answer.about]})
            case "help":
                self.terminal.show_event(voice.tell_help(table))
                ideas = dict.fromkeys(list_idea_questions(self.introduced), "what this idea is")
                self.terminal.show_list({**list_commands(table, self.commands), **ideas})
            case "moves":
                for message in voice.tell_moves(table):
                    self.terminal.show_event(message)
            case "show":
                draw_towers(table, self.terminal, self.reader)
            case "hint" | "why" if self.hints:
                self._hint_giver.give_hint(table, answer)
            case _:
                return False
        return True
