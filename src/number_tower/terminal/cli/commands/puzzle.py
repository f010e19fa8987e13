"""`tower puzzle`: ask for the only winning move of positions, or print them."""

from __future__ import annotations

import json
from argparse import Namespace
from contextlib import closing
from itertools import islice
from typing import TYPE_CHECKING

from number_tower.coach.puzzles import Puzzle
from number_tower.coach.quiz import PuzzleSource, make_puzzle
from number_tower.coach.reasons import explain_move
from number_tower.engine import record
from number_tower.engine.table import Table, check_player_name
from number_tower.players.knowledge import find_hardest_moves
from number_tower.solve.limits import NotSolvedError
from number_tower.support.text import make_sentence
from number_tower.terminal.cli import CommandError, CommandParser, Terminal
from number_tower.terminal.cli.app import load_screens, open_app, opens_app
from number_tower.terminal.cli.database import choose_store
from number_tower.terminal.cli.errors import InputEndedError, print_error, report_stop
from number_tower.terminal.cli.input import format_commands, parse_input
from number_tower.terminal.cli.options import parse_day
from number_tower.terminal.cli.play_arguments import choose_game, refuse_rule_options
from number_tower.terminal.cli.question import QUESTION_COMMANDS, QuestionDialogue
from number_tower.terminal.cli.settings import load_config
from number_tower.terminal.session.database import AttemptLog

if TYPE_CHECKING:
    from number_tower.store.puzzles import PuzzleResult

MAX_LINE = 100
"""Plies of a line that are printed as JSON."""


def add_arguments(parser: CommandParser) -> None:
    """Describe the options of `tower puzzle`."""
    parser.add_example("tower puzzle", "today's puzzle")
    parser.add_example("tower puzzle race --grade 3 --count 5", "five puzzles of medium grade")
    parser.add_game_options()
    meaning = "how hard the puzzles are, from 1 (easy) to 5 (hard)"
    parser.add_value("--grade", "1-5", meaning, type=int, choices=range(1, 6))
    parser.add_value("--day", "DATE", "the puzzle of a date, such as 2027-01-31", type=parse_day)
    parser.add_seed("puzzles")
    parser.add_count("--count", "the number of puzzles")
    parser.add_value("--name", "ANN", "your name, for `tower stats ANN`")
    parser.add_flag("--json", "print the puzzles and their answers as one JSON document")
    parser.add_saving_options()
    parser.add_app_option()


def run(args: Namespace, terminal: Terminal) -> None:
    """Ask puzzles, or print them."""
    choice = None if args.game is None else choose_game(args, args.game)
    if choice is None:
        refuse_rule_options(args, "{0} needs a game: tower puzzle GAME {0} ...")
    if args.day is not None and args.seed is not None:
        raise CommandError("--day and --seed both choose the puzzles; use only one of them")
    name = load_config().name if args.name is None else check_player_name(args.name)
    source = PuzzleSource(choice, grade=args.grade, day=args.day, seed=args.seed)
    if args.json:
        _print_json(source, args.count or 1)
    elif opens_app(args):
        open_app(args, load_screens().PuzzleScreen(source, args.count, name))
    else:
        PuzzleSession(source, terminal, args.count, AttemptLog(choose_store(args), name)).run()


class PuzzleSession:
    """Asks one puzzle after another, and counts the score and the streak."""

    def __init__(
        self, source: PuzzleSource, terminal: Terminal, count: int | None, log: AttemptLog
    ) -> None:
        self._source = source
        self._log = log
        self._terminal = terminal
        self._count = count
        self._dialogue = QuestionDialogue(terminal)
        self._asked = self._right = self._streak = self._best = 0

    def run(self) -> None:
        """Ask puzzles until there are enough of them, no more, or the player quits."""
        stopped = "the input ended before the puzzle was solved"
        with (
            closing(self._log),
            report_stop(stopped, lambda message: message + self._format_score(". ")),
        ):
            self._ask_puzzles()
        if self._count is not None or self._asked > 1:
            self._terminal.show(self._format_score("\n", ".\n"))

    def _ask_puzzles(self) -> None:
        number = 0
        for number, (book, puzzle) in enumerate(islice(self._source, self._count), 1):
            if number == 1 and self._terminal.interactive:
                seed = f" The same puzzles again: --seed {self._source.seed}."
                more = seed if self._source.by_chance else ""
                self._terminal.show(f"{format_commands(QUESTION_COMMANDS, more)}\n")
            self._terminal.show_heading(f"{self._source.format_heading(number, book, puzzle)}\n")
            table = Table(puzzle.game, book=book)
            if self._ask_puzzle(table, puzzle) is None:
                return
            if self._count is None and not self._ask_for_another(table):
                return
            self._terminal.show("\n" if self._count != number else "")
        if number == 0:
            raise CommandError(self._source.explain_end(0))
        if number != self._count:
            self._terminal.show(f"{make_sentence(self._source.explain_end(number))}\n")

    def _ask_puzzle(self, table: Table, puzzle: Puzzle) -> PuzzleResult | None:
        """Ask a puzzle, save the result, and count it."""

        def save_result(result: PuzzleResult) -> None:
            line = record.to_line(table, files=True)
            if news := self._log.add(table.rulebook, line, puzzle.grade, result):
                print_error(news)

        question = make_puzzle(table.book, puzzle)
        result = self._dialogue.ask(table, question, "One move wins. Which? ", save_result)
        if result is not None:
            self._asked += 1
            self._right += result == "right"
            self._streak = self._streak + 1 if result == "right" else 0
            self._best = max(self._best, self._streak)
            if self._streak > 1:
                self._terminal.show(f"\n{self._streak} in a row.\n")
        return result

    def _ask_for_another(self, table: Table) -> bool:
        """Ask whether to go on, and explain ideas meanwhile; the end of the input means no."""
        while True:
            try:
                typed = self._terminal.ask("\nEnter for another, quit to stop: ").strip().lower()
            except InputEndedError:
                return False
            answer = parse_input(typed)
            if typed in {"n", "no", "stop"} or answer.command == "quit":
                return False
            if typed in {"", "y", "yes"}:
                return True
            explained = self._dialogue.explain(answer, table) if answer.command == "why" else ""
            self._terminal.show(f"{explained or 'Press Enter for another, or type quit.'}\n")

    def _format_score(self, before: str, after: str = "") -> str:
        if not self._asked:
            return ""
        return f"{before}Solved {self._right} of {self._asked}, best streak {self._best}{after}"


# JSON ---------------------------------------------------------------------------------------------


def _print_json(source: PuzzleSource, count: int) -> None:
    puzzles = []
    for book, puzzle in islice(source, count):
        game = puzzle.game
        entry = {
            "game": book.name,
            "ref": record.to_line(Table(game, book=book), files=True),
            "moves": game.moves,
            "seat": game.to_move + 1,
            "legal": game.legal,
            "answer": puzzle.answer,
            "grade": puzzle.grade,
            "plies": puzzle.plies,
            "line": find_line(puzzle),
        }
        puzzles.append(entry)
    if not puzzles:
        raise CommandError(source.explain_end(0))
    if len(puzzles) < count:
        number = f"{len(puzzles):,} of the {count:,} puzzles asked for"
        print_error(f"{number}: {source.explain_end(len(puzzles))}")
    print(json.dumps({"seed": source.seed, "puzzles": puzzles}))


def find_line(puzzle: Puzzle) -> list[int]:
    """Return the answer and a line of best moves after it, as far as the moves are known."""
    solution = puzzle.solve()
    line = [puzzle.answer]
    reply = explain_move(solution, puzzle.answer).facts.get("reply")
    try:
        solution = solution.after(puzzle.answer)
        while solution.moves and len(line) < MAX_LINE:
            hardest = find_hardest_moves(solution)[0]
            line.append(reply if len(line) == 1 and isinstance(reply, int) else hardest)
            solution = solution.after(line[-1])
    except NotSolvedError:
        pass
    return line
