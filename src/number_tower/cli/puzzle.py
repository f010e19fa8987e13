"""`tower puzzle`: ask for the only winning move of positions, and play out the answers; or print them."""

from __future__ import annotations

import json
from argparse import Namespace
from contextlib import closing
from itertools import islice
from typing import TYPE_CHECKING

from number_tower import record
from number_tower.catalogue import GameChoice, Rulebook
from number_tower.cli.app import ask_puzzles_in_app, opens_app
from number_tower.cli.config import load_config
from number_tower.cli.database import choose_store
from number_tower.cli.errors import (
    CommandError,
    InputEndedError,
    print_error,
    report_as,
    report_stop,
)
from number_tower.cli.input import (
    GAME_COMMANDS,
    MovePrompt,
    PlayerInput,
    format_commands,
    list_idea_questions,
    parse_input,
)
from number_tower.cli.options import CommandParser, parse_count, parse_day, parse_seed
from number_tower.cli.play import choose_game, list_rule_options
from number_tower.cli.terminal import Terminal
from number_tower.coach.hints import hint
from number_tower.coach.patterns import LargestBlockPlan, find_ending
from number_tower.coach.puzzles import Puzzle
from number_tower.coach.quiz import PuzzleSource
from number_tower.coach.reasons import Reason, explain_move, list_helpful_ideas
from number_tower.coach.sentences import (
    explain_idea,
    format_introduction,
    format_moves,
    format_reason,
    format_sentence,
    refuse_topic,
)
from number_tower.players.knowledge import find_hardest_moves
from number_tower.rules import Rules
from number_tower.session.database import AttemptLog
from number_tower.solve.limits import NotSolvedError
from number_tower.solve.solution import Solution
from number_tower.table import Table, TableError, check_player_name
from number_tower.text import make_sentence
from number_tower.voice import Reader, get_voice

if TYPE_CHECKING:
    from number_tower.store.puzzles import PuzzleResult

PUZZLE_COMMANDS = {
    **{word: GAME_COMMANDS[word] for word in ("help", "moves", "show")},
    "hint": "what kind of move to look for",
    "why": "more about an idea: why, and then its name",
    "skip": "show the answer",
    "quit": "stop",
}

LONGEST_TOLD = 20
"""Plies of a line that is told to its end; of a longer one only the beginning is."""

_KINDS_WITH_LINE = {"win", "draw", "loss", "multiple", "plan", "plan_careful"}
"""Kinds of reason after which a line is told, which cannot contradict them."""

LONGEST_LINE = 100
"""Plies of a line that are printed as JSON."""


def add_arguments(parser: CommandParser) -> None:
    """Describe the options of `tower puzzle`."""
    parser.add_examples(
        ("tower puzzle", "today's puzzle"),
        ("tower puzzle race --grade 3 --count 5", "five puzzles of medium grade"),
    )
    parser.add_game_options()
    parser.add_value(
        "--grade",
        "1-5",
        "how hard the puzzles are, from 1 (easy) to 5 (hard)",
        type=int,
        choices=range(1, 6),
    )
    parser.add_value("--day", "DATE", "the puzzle of a date, such as 2027-01-31", type=parse_day)
    parser.add_value(
        "--seed", "N", "the random seed: the same number gives the same puzzles", type=parse_seed
    )
    parser.add_value("--count", "N", "the number of puzzles", type=parse_count)
    parser.add_value("--name", "ANN", "your name, for `tower stats ANN`")
    parser.add_flag("--json", "print the puzzles and their answers as one JSON document")
    parser.add_db_option()
    parser.add_no_save_option()
    parser.add_app_option()


def run(args: Namespace, terminal: Terminal) -> None:
    """Ask puzzles, or print them."""
    choice = _choose_game(args)
    if args.day is not None and args.seed is not None:
        raise CommandError("--day and --seed both choose the puzzles; use only one of them")
    with report_as("--name: ", TableError):
        name = load_config().name if args.name is None else check_player_name(args.name)
    source = PuzzleSource(choice, grade=args.grade, day=args.day, seed=args.seed)
    if args.json:
        _print_json(source, args.count or 1)
    elif opens_app(args):
        ask_puzzles_in_app(args, source, name)
    else:
        PuzzleSession(source, terminal, args.count, AttemptLog(choose_store(args), name)).run()


def _choose_game(args: Namespace) -> GameChoice | None:
    """Return the game of the call; None for puzzles of all games."""
    if args.game is not None:
        return choose_game(args, args.game)
    for option in list_rule_options(args):
        raise CommandError(f"--{option} needs a game: tower puzzle GAME --{option} ...")
    return None


# Questions -----------------------------------------------------------------------------------------------------------


class PuzzleSession:
    """Asks one puzzle after another, and counts the score and the streak."""

    def __init__(
        self, source: PuzzleSource, terminal: Terminal, count: int | None, log: AttemptLog
    ) -> None:
        self._source = source
        self._log = log
        self._terminal = terminal
        self._count = count
        self._introduced: set[str] = set()
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
                again = (
                    f" The same puzzles again: --seed {self._source.seed}."
                    if self._source.by_chance
                    else ""
                )
                self._terminal.show(f"{format_commands(PUZZLE_COMMANDS, again)}\n")
            self._terminal.show_heading(f"{self._source.format_heading(number, book, puzzle)}\n")
            result = PuzzleDialogue(puzzle, book, self._terminal, self._log, self._introduced).ask()
            if result is None:
                return
            self._count_result(result)
            if self._count is None and not self._ask_for_another(book, puzzle.game.rules):
                return
            self._terminal.show("\n" if self._count != number else "")
        if number == 0:
            raise CommandError(self._source.explain_end(0))
        if number != self._count:
            self._terminal.show(f"{make_sentence(self._source.explain_end(number))}\n")

    def _count_result(self, result: PuzzleResult) -> None:
        self._asked += 1
        self._right += result == "right"
        self._streak = self._streak + 1 if result == "right" else 0
        self._best = max(self._best, self._streak)
        if self._streak > 1:
            self._terminal.show(f"\n{self._streak} in a row.\n")

    def _ask_for_another(self, book: Rulebook, rules: Rules) -> bool:
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
            idea = explain_idea(answer.topic, get_voice(book).noun, list_helpful_ideas(rules))
            self._terminal.show(f"{idea or 'Press Enter for another puzzle, or type quit.'}\n")

    def _format_score(self, before: str, after: str = "") -> str:
        if not self._asked:
            return ""
        return f"{before}Solved {self._right} of {self._asked}, best streak {self._best}{after}"


class PuzzleDialogue:
    """One puzzle: the question, the answers, and the line that follows."""

    def __init__(
        self,
        puzzle: Puzzle,
        book: Rulebook,
        terminal: Terminal,
        log: AttemptLog | None = None,
        introduced: set[str] | None = None,
    ) -> None:
        self._puzzle = puzzle
        self._introduced = set() if introduced is None else introduced
        self._log = log or AttemptLog(None)
        self._table = Table(puzzle.game, book=book)
        self._voice = get_voice(book, Reader(puzzle.game.to_move))
        self._opponent = self._voice.get_name(self._table, 1 - puzzle.game.to_move)
        self._terminal = terminal
        self._solution = puzzle.solve()
        self._hinted = False
        reader = self._voice.reader
        self._prompt = MovePrompt(
            terminal, PUZZLE_COMMANDS, hints=False, reader=reader, introduced=self._introduced
        )

    def ask(self) -> PuzzleResult | None:
        """Show the position, and ask until there is an answer; return None if the player quits."""
        self._prompt.draw_towers(self._table)
        self._terminal.show_event(self._voice.tell_turn(self._table))
        while True:
            answer = self._prompt.ask(self._table, "One move wins. Which? ")
            if answer.command is None and answer.number is not None:
                return self._judge_move(answer.number)
            if answer.command == "quit":
                return None
            if answer.command == "skip":
                self._save_result("skipped")
                reason = _shorten_reason(explain_move(self._solution, self._puzzle.answer))
                self._show_move(reason, self._format_solution(reason))
                return "skipped"
            self._terminal.show(f"{self._give_hint(answer)}\n")

    def _give_hint(self, question: PlayerInput) -> str:
        """Return what kind of move to look for, the first time; or what an idea is."""
        if question.number is not None:
            return "Reasons come after the answer. To answer, type the number alone."
        if question.topic not in {"", "more"}:
            idea = explain_idea(
                question.topic, self._voice.noun, list_helpful_ideas(self._puzzle.game.rules)
            )
            questions = ["hint", *list_idea_questions(self._introduced)]
            return idea or refuse_topic(question.topic, questions)
        if self._hinted:
            return "That is the only hint. Type skip for the answer."
        self._hinted = True
        return hint(self._solution).nudge(self._voice.noun)

    def _save_result(self, result: PuzzleResult) -> None:
        line = record.to_line(self._table, files=True)
        if news := self._log.add(self._table.rulebook, line, self._puzzle.grade, result):
            print_error(news)

    def _judge_move(self, block: int) -> PuzzleResult:
        """Save the result, and then announce it."""
        is_right = block == self._puzzle.answer
        self._save_result("right" if is_right else "wrong")
        reason = _shorten_reason(explain_move(self._solution, block))
        sentence = format_sentence(reason, self._opponent, self._voice.noun)
        introduction = format_introduction(reason, self._voice.noun, self._introduced)
        verdict = "Right!" if is_right else "Not this one."
        self._show_move(reason, f"{verdict} {sentence}{introduction}")
        if is_right:
            return "right"
        self._terminal.show(
            f"\n{self._format_solution(explain_move(self._solution, self._puzzle.answer))}\n"
        )
        return "wrong"

    def _format_solution(self, reason: Reason) -> str:
        why = format_reason(reason, opponent=self._opponent, noun=self._voice.noun)
        introduction = format_introduction(reason, self._voice.noun, self._introduced)
        return f"The only winning move is {reason.block}. {why}{introduction}"

    def _show_move(self, reason: Reason, text: str) -> None:
        """Show a text about a move, and then how the game could go on, unless that was said or may contradict it."""
        line = find_line(self._solution, reason.block, LONGEST_TOLD + 1, follow=True)
        table, played = self._table, len(self._table.game.moves)
        for move in line if len(line) <= LONGEST_TOLD else line[:8]:
            table = table.play(move)
        moves, movers = table.game.moves[played:], table.game.movers[played:]
        names = ("you", self._opponent) if self._voice.reader.seat == 0 else (self._opponent, "you")
        ending = find_ending(table.game.position, movers[-1], moves[-1])
        if ending is None:
            end = f", and so on{self._describe_rest(table)}."
        else:
            mover, noun = movers[-1], self._voice.noun
            end = f". {format_reason(ending, player=names[mover], opponent=names[1 - mover], noun=noun)}"
        known = not _allows_line(reason) or (ending is not None and end[2:] in text)
        more = "" if known else f"It could go on: {format_moves(moves, movers, names)}{end}\n"
        self._terminal.show(f"{text}\n{more}")

    def _describe_rest(self, table: Table) -> str:
        """Say how a line ends that is not told to its end."""
        try:
            rest = self._solution.of(table.game.position)
        except NotSolvedError:
            return " to the end"
        mover = table.game.to_move
        winner = mover if rest.value == "win" else 1 - mover
        wins = "you win" if self._voice.reader.seat == winner else f"{self._opponent} wins"
        end = "it is a draw" if rest.value == "draw" else wins
        return f": {end}" if rest.plies is None else f": {rest.plies:,} more moves, and {end}"


def _shorten_reason(reason: Reason) -> Reason:
    """Leave out of a reason the line of play, which is told anyway."""
    because = None if reason.because is None else _shorten_reason(reason.because)
    if reason.kind.endswith("_line"):
        return reason._replace(kind=reason.kind.removesuffix("_line"), facts={}, because=None)
    return reason._replace(because=because)


def _allows_line(reason: Reason) -> bool:
    """Say whether no line that `find_line` gives can contradict a reason, which may name other answers."""
    reason = reason.because if reason.kind == "refuted" and reason.because is not None else reason
    return reason.kind.removesuffix("_line").removesuffix("_long") in _KINDS_WITH_LINE


def find_line(solution: Solution, block: int, most: int, *, follow: bool = False) -> list[int]:
    """Return a line of best moves after a first one, as far as it is known; the reply is the one of the reason.

    To `follow` a reason that is a plan, the winner makes the moves of the plan.
    """
    reason = explain_move(solution, block)
    line, named = [block], reason.facts.get("reply")
    plan = LargestBlockPlan.of(reason.because or reason) if follow else None
    try:
        solution = solution.after(block)
        while solution.moves and len(line) < most:
            planned = None if plan is None else plan.choose(solution.position)
            if isinstance(named, int) and len(line) == 1:
                planned = named
            line.append(find_hardest_moves(solution)[0] if planned is None else planned)
            solution = solution.after(line[-1])
    except NotSolvedError:
        pass
    return line


# JSON ----------------------------------------------------------------------------------------------------------------


def _print_json(source: PuzzleSource, count: int) -> None:
    puzzles = [_puzzle_to_json(book, puzzle) for book, puzzle in islice(source, count)]
    if not puzzles:
        raise CommandError(source.explain_end(0))
    if len(puzzles) < count:
        print_error(
            f"{len(puzzles):,} of the {count:,} puzzles asked for: {source.explain_end(len(puzzles))}"
        )
    print(json.dumps({"seed": source.seed, "puzzles": puzzles}))


def _puzzle_to_json(book: Rulebook, puzzle: Puzzle) -> dict[str, object]:
    game = puzzle.game
    return {
        "game": book.name,
        "ref": record.to_line(Table(game, book=book), files=True),
        "moves": game.moves,
        "seat": game.to_move + 1,
        "legal": game.legal,
        "answer": puzzle.answer,
        "grade": puzzle.grade,
        "plies": puzzle.plies,
        "line": find_line(puzzle.solve(), puzzle.answer, LONGEST_LINE),
    }
