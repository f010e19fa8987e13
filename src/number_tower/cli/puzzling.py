"""What `tower puzzle` does: set positions with one winning move, and play out what was answered; or print them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from itertools import islice
from typing import TYPE_CHECKING, Literal

from number_tower import record
from number_tower.cli.answers import understand
from number_tower.cli.asking import Asking
from number_tower.cli.attempts import Log
from number_tower.cli.failure import (
    FINISHED,
    INPUT_ENDED,
    INTERRUPTED,
    WRONG_CALL,
    Failure,
    InputEnded,
    complain,
)
from number_tower.cli.storing import shelf
from number_tower.coach.hints import hint
from number_tower.coach.puzzles import assorted, daily, puzzles
from number_tower.coach.reasons import why
from number_tower.coach.words import clause
from number_tower.players.perfect import hardest
from number_tower.solve.limits import NotSolved, Watch
from number_tower.solve.solution import Solution
from number_tower.table import Table, TableError, player_name
from number_tower.voice import Voice

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Callable, Iterator

    from number_tower.catalogue import Rulebook
    from number_tower.cli.screen import Screen
    from number_tower.coach.puzzles import Puzzle, Stream
    from number_tower.coach.reasons import Reason
    from number_tower.rules import Rules

COMMANDS = {
    "help": "the rules in brief, and these commands",
    "moves": "what can be placed now, and why the rest cannot",
    "show": "the towers, drawn",
    "hint": "what kind of move to look for",
    "skip": "give up on this one, and be told",
    "quit": "stop",
}

LONGEST_TOLD = 20
"""Plies of a line that is told to its end; of a longer one only the beginning is."""

LONGEST_LINE = 100
"""Plies of a line that are printed for programs."""

_BEGINNING = 8
_SEARCHED = 50_000
"""Positions that are searched to say more of a puzzle than its answer."""
_SEEDS = 100_000

Result = Literal["right", "wrong", "skipped", "left"]


def answer(asked: Namespace, book: Rulebook | None, rules: Rules | None, screen: Screen) -> int:
    """Set the puzzles that were asked for, or print them."""
    if asked.day is not None and asked.seed is not None:
        raise Failure(WRONG_CALL, "--day and --seed both choose the puzzles; expected one of them")
    name = _name(asked.name)
    source = _source(asked, book, rules)
    if asked.json:
        return _print_json(source, asked.count or 1)
    place = shelf(asked)
    return Quiz(source, screen, asked.count, None if place is None else Log(place, name)).hold()


def _name(given: str | None) -> str | None:
    """Return the name of whoever solves puzzles; it is one that a player can have."""
    try:
        return None if given is None else player_name(given)
    except TableError as wrong:
        raise Failure(WRONG_CALL, f"--name: {wrong}") from None


# Where puzzles come from ---------------------------------------------------------------------------------------------


@dataclass
class Source:
    """Puzzles of one game, or from the whole catalogue, and what they were chosen by."""

    items: Iterator[tuple[Rulebook, Puzzle]]
    seed: int | str
    by_chance: bool
    day: str | None
    grade: int | None
    game: str | None = None
    stream: Stream | None = None

    def heading(self, number: int, book: Rulebook, puzzle: Puzzle) -> str:
        """Announce a puzzle."""
        which = f"Puzzle {number}"
        if self.day is not None and number == 1:
            day = date.fromisoformat(self.day)
            which = f"Puzzle of {'' if self.stream else 'the day, '}{day.day} {day:%B} {day.year}"
        return f"{which}: {_label(book, puzzle.game.rules)}, grade {puzzle.grade}"

    def no_more(self, given: int) -> str:
        """Say why there are no more puzzles, or none at all, and which others there are."""
        if self.stream is None:
            return "no more puzzles were found"
        found, complete = self.stream.found, self.stream.complete
        of_grade = "" if self.grade is None else f" of grade {self.grade}"
        if given:
            more = f"no more puzzles{of_grade}"
            return f"there are {more} in {self.game}" if complete else f"{more} were found in {self.game}"
        none = f"there is no puzzle{of_grade}" if complete else f"no puzzle{of_grade} was found"
        if not found:
            where = "nowhere" if complete else "in no position that was looked at"
            return f"{none} in {self.game}: {where} does exactly one of several moves win"
        others = ", ".join(f"{found[grade]:,} of grade {grade}" for grade in sorted(found))
        return f"{none} in {self.game}; {'there are' if complete else 'found were'} {others}"


def _source(asked: Namespace, book: Rulebook | None, rules: Rules | None) -> Source:
    """Find what was asked for: without a game or a seed the day's puzzle, and without a seed one by chance."""
    day: str | None = asked.day
    if book is None and asked.seed is None and day is None:
        day = date.today().isoformat()  # noqa: DTZ011 - the day where the player is
    by_chance = day is None and asked.seed is None
    seed: int | str = day or (_any_seed() if by_chance else asked.seed)
    if book is None or rules is None:
        return Source(_of_the_catalogue(seed, day, asked.grade), seed, by_chance, day, asked.grade)
    stream = puzzles(rules, seed, grade=asked.grade)
    items = ((book, puzzle) for puzzle in stream)
    return Source(items, seed, by_chance, day, asked.grade, _label(book, rules), stream)


def _of_the_catalogue(seed: int | str, day: str | None, grade: int | None) -> Iterator[tuple[Rulebook, Puzzle]]:
    if day is not None:
        yield daily(day, grade=grade)
    yield from assorted(seed, grade=grade)


def _any_seed() -> int:
    from secrets import randbelow  # noqa: PLC0415 - only where no seed is given

    return randbelow(_SEEDS)


def _label(book: Rulebook, rules: Rules) -> str:
    options = ", ".join(f"{key} {value}" for key, value in (book.options_of(rules) or {}).items())
    return f"{book.name} ({options})" if options else book.name


# At a keyboard -------------------------------------------------------------------------------------------------------


class Quiz:
    """Sets one puzzle after another, and keeps the score and the streak of this run."""

    def __init__(self, source: Source, screen: Screen, count: int | None, log: Log | None = None) -> None:
        self._source = source
        self._log = log
        self._screen = screen
        self._count = count
        self._asked = self._right = self._streak = self._best = 0

    def hold(self) -> int:
        """Set puzzles until there are enough of them, no more, or someone leaves; return the exit code."""
        try:
            self._go_on()
        except InputEnded:
            complain(f"the input ended before the puzzle was solved.{self._score(' ')}")
            return INPUT_ENDED
        except KeyboardInterrupt:
            complain(f"stopped.{self._score(' ')}")
            return INTERRUPTED
        finally:
            if self._log is not None:
                self._log.close()
        if self._count is not None or self._asked > 1:
            self._screen.show(self._score("\n", "\n"))
        return FINISHED

    def _go_on(self) -> None:
        number = 0
        for number, (book, puzzle) in enumerate(islice(self._source.items, self._count), 1):
            if number == 1 and self._screen.typed:
                again = f" --seed {self._source.seed} sets the same puzzles again." if self._source.by_chance else ""
                self._screen.show(f"({', '.join(COMMANDS)}: type one of these at any time.{again})\n\n")
            self._screen.headed(f"{self._source.heading(number, book, puzzle)}\n")
            result = Question(puzzle, book, self._screen, self._log).ask()
            if result == "left":
                return
            self._keep(result)
            if self._count is None and not self._another():
                return
            self._screen.show("\n" if self._count != number else "")
        if number == 0:
            raise Failure(WRONG_CALL, f"{self._source.no_more(0)}.")
        if number != self._count:
            news = self._source.no_more(number)
            self._screen.show(f"{news[0].upper()}{news[1:]}.\n")

    def _keep(self, result: Result) -> None:
        self._asked += 1
        self._right += result == "right"
        self._streak = self._streak + 1 if result == "right" else 0
        self._best = max(self._best, self._streak)
        if self._streak > 1:
            self._screen.show(f"\n{self._streak} in a row.\n")

    def _another(self) -> bool:
        """Ask whether to go on; where there is nobody to ask, that is enough."""
        while True:
            try:
                typed = self._screen.ask("\nEnter for another, quit to stop: ").strip().lower()
            except InputEnded:
                return False
            if typed in {"n", "no", "stop"} or understand(typed).command == "quit":
                return False
            if typed in {"", "y", "yes"}:
                return True

    def _score(self, before: str, after: str = "") -> str:
        if not self._asked:
            return ""
        return f"{before}{self._right} of {self._asked}, best streak {self._best}.{after}"


class Question:
    """One puzzle: the question, the answers, and what comes of them."""

    def __init__(self, puzzle: Puzzle, book: Rulebook, screen: Screen, log: Log | None = None) -> None:
        self._puzzle = puzzle
        self._book = book
        self._log = log
        self._table = Table(puzzle.game, book=book)
        self._voice = Voice(book)
        self._screen = screen
        self._solution = solved(puzzle)
        self._asking = Asking(self._voice, screen, COMMANDS, hints=False)

    def ask(self) -> Result:
        """Show the position and ask until there is an answer."""
        self._asking.draw(self._table)
        self._screen.say(self._voice.turn(self._table))
        while True:
            answer = self._asking.answer(self._table, "One move wins. Which? ")
            if answer.number is not None:
                return self._judge(answer.number)
            if answer.command == "quit":
                return "left"
            if answer.command == "skip":
                self._note("skipped")
                self._screen.show(f"{self._only(_brief)}\n")
                self._tell(self._puzzle.answer)
                return "skipped"
            self._screen.show(f"{hint(self._solution).nudge(self._voice.noun)}\n")

    def _note(self, result: Literal["right", "wrong", "skipped"]) -> None:
        """Keep what came of the answer, before it is announced."""
        if self._log is not None:
            self._log.note(self._table, self._book, self._puzzle.grade, result)

    def _judge(self, block: int) -> Result:
        self._note("right" if block == self._puzzle.answer else "wrong")
        reason = self._said(block, _brief)
        if block == self._puzzle.answer:
            wins = reason if reason.startswith("wins") else f"wins: it {reason}"
            self._screen.show(f"Right! {block} {wins}.\n")
            self._tell(block)
            return "right"
        draws = self._solution.moves[block].value == "draw"
        self._screen.show(f"Not {block}: it only draws.\n" if draws else f"Not {block}. It {reason}.\n")
        self._tell(block)
        self._screen.show(f"\n{self._only()}\n")
        return "wrong"

    # What is said of a move ------------------------------------------------------------------------------------------

    def _only(self, put: Callable[[Reason], Reason] = lambda reason: reason) -> str:
        return f"The only winning move is {self._puzzle.answer}: it {self._said(self._puzzle.answer, put)}."

    def _said(self, block: int, put: Callable[[Reason], Reason]) -> str:
        opponent = self._voice.name(self._table, 1 - self._table.game.to_move)
        return clause(put(why(self._solution, block)), opponent=opponent, noun=self._voice.noun)

    def _tell(self, block: int) -> None:
        """Play on from a move to the end, best against best, and tell it in the game's voice."""
        line = line_from(self._solution, block, LONGEST_TOLD + 1)
        told = line if len(line) <= LONGEST_TOLD else line[:_BEGINNING]
        table = self._table
        for place, move in enumerate(told):
            if place:
                self._screen.show(f"{self._voice.prompt(table)}{move}\n")
            table = table.play(move)
            for said in self._voice.tell(table):
                self._screen.say(said)
        if table.outcome is None:
            self._screen.show(f"\n(And so on: {self._rest(table)}.)\n")

    def _rest(self, table: Table) -> str:
        """Say how a game goes on that is not told to its end."""
        try:
            rest = self._solution.of(table.game.position)
        except NotSolved:
            return "to the end"
        mover = table.game.to_move
        winner = self._voice.name(table, mover if rest.value == "win" else 1 - mover)
        end = "it is a draw" if rest.value == "draw" else f"{winner} wins"
        return end if rest.plies is None else f"{rest.plies:,} more plies, and {end}"


def solved(puzzle: Puzzle) -> Solution:
    """Solve a puzzle again, to be asked about; without the plies where those of some move take long."""
    position = puzzle.game.position
    try:
        solution = Solution(position, Watch(positions=_SEARCHED))
        solution.best  # noqa: B018 - all moves are valued now
    except NotSolved:
        return Solution(position, Watch(), plies=False)
    return solution


def _brief(reason: Reason) -> Reason:
    """Leave out of a reason the line that will be played anyway."""
    because = None if reason.because is None else _brief(reason.because)
    if reason.kind.endswith("_line"):
        return reason._replace(kind=reason.kind.removesuffix("_line"), facts={}, because=None)
    return reason._replace(because=because)


def line_from(solution: Solution, block: int, most: int) -> list[int]:
    """Return a line of best moves that begins with a move, as far as it is known; an answer to it is the one named."""
    line, named = [block], why(solution, block).facts.get("reply")
    try:
        solution = solution.after(block)
        while solution.moves and len(line) < most:
            line.append(named if isinstance(named, int) and len(line) == 1 else hardest(solution)[0])
            solution = solution.after(line[-1])
    except NotSolved:
        pass
    return line


# For programs --------------------------------------------------------------------------------------------------------


def _print_json(source: Source, count: int) -> int:
    import json  # noqa: PLC0415 - only where it is asked for

    items = [_written(book, puzzle) for book, puzzle in islice(source.items, count)]
    if not items:
        raise Failure(WRONG_CALL, f"{source.no_more(0)}.")
    if len(items) < count:
        complain(f"{len(items):,} of the {count:,} puzzles asked for: {source.no_more(len(items))}.")
    print(json.dumps({"seed": source.seed, "puzzles": items}))
    return FINISHED


def _written(book: Rulebook, puzzle: Puzzle) -> dict[str, object]:
    game = puzzle.game
    return {
        "game": book.name,
        "ref": record.to_line(Table(game, book=book), book),
        "moves": game.moves,
        "seat": game.to_move + 1,
        "legal": game.legal,
        "answer": puzzle.answer,
        "grade": puzzle.grade,
        "plies": puzzle.plies,
        "line": line_from(solved(puzzle), puzzle.answer, LONGEST_LINE),
    }
