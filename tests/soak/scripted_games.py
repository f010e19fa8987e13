"""Games of two people at a terminal, whose answers are made up and whose screens are known."""

from __future__ import annotations

import os
import select
import subprocess
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from random import Random

from number_tower import Game, Table
from number_tower.engine import catalogue
from number_tower.engine.catalogue import Rulebook
from number_tower.engine.table import Change
from number_tower.words.voice import Voice
from support.clocks import SLOW
from support.command import ROOT, TOWER, plain_environment

OPTIONS: dict[str, dict[str, tuple[str | int, ...]]] = {
    "race": {"target": (15, 30), "blocks": ("1-9", "2,4,6,8")},
    "draft": {"target": (15, 21), "blocks": ("1-9", "1-12")},
    "summit": {"target": (20, 35)},
    "climb": {"opening": ("1-30", "1-9")},
    "factor": {"blocks": ("1-9", "1-24")},
}
"""The options of the scripted games."""


class Terminal:
    """The command with pipes for its keyboard and screen."""

    def __init__(self, *arguments: str, database: str) -> None:
        self.process: subprocess.Popen[bytes] = subprocess.Popen(
            [TOWER, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, cwd=ROOT, env=plain_environment(NUMBER_TOWER_DB=database),
        )  # fmt: skip
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self._keyboard, self._screen = self.process.stdin, self.process.stdout
        self._seen = b""

    @property
    def seen(self) -> str:
        """All that was shown so far."""
        return self._seen.decode()

    def type(self, *answers: str) -> None:
        """Type answers, a line each; a command that has ended does not read them."""
        with suppress(BrokenPipeError):
            os.write(self._keyboard.fileno(), "".join(f"{answer}\n" for answer in answers).encode())

    def wait_for(self, prompt: str) -> bool:
        """Read until a new prompt is shown; return False if the command ends before."""
        before, deadline = len(self._seen), time.monotonic() + SLOW
        while len(self._seen) == before or not self._seen.endswith(prompt.encode()):
            ready, _, _ = select.select([self._screen], [], [], max(deadline - time.monotonic(), 0))
            assert ready, f"never saw {prompt!r} in {self.seen[before:]!r}"
            more = os.read(self._screen.fileno(), 65536)
            if not more:
                return False
            self._seen += more
        return True

    def end(self) -> tuple[int, str]:
        """Close the input, and read to the end; return the exit code and the error output."""
        rest, complaints = self.process.communicate(timeout=SLOW)
        self._seen += rest
        return self.process.returncode, complaints.decode()


@dataclass(frozen=True)
class Scene:
    """A game that a session begins with, new or resumed, and the call that begins it."""

    call: tuple[str, ...]
    table: Table
    book: Rulebook
    id: int | None = None

    @property
    def prompt(self) -> str:
        """What asks for a move."""
        return Voice(self.book).format_prompt(self.table)

    def make_changes(self, answers: Sequence[str]) -> tuple[Change, ...]:
        """Return the changes that answers make."""
        table = self.table
        for answer in answers:
            table = table.undo() if answer == "undo" else table.play(int(answer))
        return table.log[self.table.version :]

    def read_changes(self, seen: str) -> tuple[Change, ...]:
        """Return the changes that a screen shows since the session began, after each prompt."""
        answers = [after.partition("\n") for after in seen.split(self.prompt)[1:]]
        moves = len(self.table.game.moves)
        return self.make_changes([answer for answer, ended, _ in answers[moves:] if ended])

    def apply(self, changes: Sequence[Change]) -> Table:
        """Return the table after some changes."""
        table = self.table
        for change in changes:
            table = table.answer(table.version, change)
            assert table.log[-1] == change
        return table

    def draw(self, changes: Sequence[Change], *, asked: bool = True) -> str:
        """Return all that a session shows in which these changes are made.

        The next question is included if it is asked.
        """
        voice, screen = Voice(self.book), ""
        earlier = self.table
        for game in self.table.game.history():
            now = replace(self.table, game=game)
            if game.moves:
                screen += f"{voice.format_prompt(earlier)}{game.moves[-1]}\n"
            screen += _draw_news(voice, now)
            earlier = now
        for number, change in enumerate(changes, 1):
            now = self.apply(changes[:number])
            screen += voice.format_prompt(earlier)
            if change.kind == "place":
                screen += f"{change.number}\n{_draw_news(voice, now)}"
            else:
                screen += f"undo\n{_draw_undo(voice, earlier, now)}{voice.tell_turn(now).text}"
            earlier = now
        return screen + ("" if earlier.outcome or not asked else voice.format_prompt(earlier))


def format_answers(changes: Sequence[Change]) -> list[str]:
    """Return what has to be typed for these changes."""
    return ["undo" if change.kind == "undo" else str(change.number) for change in changes]


def _draw_news(voice: Voice, table: Table) -> str:
    return "".join(sentence.text for sentence in voice.tell(table))


def _draw_undo(voice: Voice, earlier: Table, now: Table) -> str:
    moves, text = earlier.game.moves, ""
    for left in range(len(moves) - 1, len(now.game.moves) - 1, -1):
        game = Game(now.game.rules, now.game.first, moves[:left])
        text += voice.tell_undo(replace(now, game=game), moves[left]).text
    return text


def choose_game(chance: Random) -> Scene:
    """Make up a game of two people: any of the catalogue, with some of its options."""
    name, first = chance.choice(catalogue.list_names()), chance.randrange(2)
    book = catalogue.load(name)
    options = {option: chance.choice(values) for option, values in OPTIONS[name].items()}
    hidden = "hidden" in book.options and chance.random() < 0.3
    call = ["play", name, "--first", str(first + 1), "--names", "Ann,Ben"]
    if hidden:
        call.append("--hidden")
    for option, value in options.items():
        call += [f"--{option}", str(value)]
    table = Table(Game(book.apply_options(options), first), name, ("Ann", "Ben"), hidden=hidden)
    return Scene(tuple(call), table, book)


def choose_answers(chance: Random, table: Table, count: int, *, undo: bool = True) -> list[str]:
    """Make up answers: moves that can be made, and now and then a takeback."""
    answers: list[str] = []
    while table.outcome is None and len(answers) < count:
        if undo and table.may_undo and chance.random() < 0.2:
            table, answer = table.undo(), "undo"
        else:
            block = chance.choice(table.game.legal)
            table, answer = table.play(block), str(block)
        answers.append(answer)
    return answers
