"""Functions that run in worker processes: the computer's moves, hints, reviews, puzzles, and records to be read.

All values are exact. What is not found within the limits is said to be unknown; nothing is guessed.
"""

from __future__ import annotations

from typing import NamedTuple

from number_tower import catalogue, record
from number_tower.catalogue import Rulebook
from number_tower.coach import puzzles
from number_tower.coach.analysis import MEMORY, SECONDS
from number_tower.coach.hints import Hint, HintText, find_exercises, format_hint, hint
from number_tower.coach.puzzles import Puzzle
from number_tower.coach.reasons import explain_move
from number_tower.coach.review import GameReview, review
from number_tower.coach.sentences import Idea, format_details, format_right_answer, format_sentence, get_idea
from number_tower.game import Game
from number_tower.players import LEVELS, Computer
from number_tower.players.knowledge import get_knowledge
from number_tower.record import RecordError
from number_tower.record.json import parse_document, read_document
from number_tower.record.line import EXAMPLE, from_line
from number_tower.rules import Rules, RulesError
from number_tower.solve.solution import Solution
from number_tower.table import Table
from number_tower.text import make_sentence
from number_tower.voice import get_voice
from number_tower.web import limits

FALLBACK_LEVEL = next(iter(LEVELS))
"""The level of a computer that has no time to think."""


def choose_block(level: str, seed: int, game: Game) -> tuple[int, str]:
    """Return the computer's move at one of its levels, and its remark, which is mostly empty."""
    computer = Computer(LEVELS[level], seed)
    return computer.choose(game), computer.remark


def give_hint(table: Table, step: int) -> HintText:
    """Return a hint for the player to move, from what computers know of the game."""
    solution = get_knowledge(table.game.rules).solve(table.game.position) if table.legal else None
    return format_hint(table, step, None if solution is None else hint(solution))


# Records --------------------------------------------------------------------------------------------------------------


def parse_record(line: str) -> Table:
    """Return the table that a record describes, or say why it is none that can be shown here.

    No move is made in a game that is too large.
    """
    line = line.strip()
    if len(line) > limits.MAX_RECORD_LENGTH:
        most = f"{limits.MAX_RECORD_LENGTH:,}"
        raise RecordError("", f"A line may have at most {most} characters; this one has {len(line):,}.")
    head, colon, _ = line.rpartition(":")
    if not colon and not line.startswith("{"):
        raise RecordError("", f"That is not the line of a game, {EXAMPLE}.")
    try:
        if line.startswith("{"):
            return _parse_document(line)
        limits.check_rules(from_line(f"{limits.check_text(head)}:").game.rules)
        return from_line(line)
    except (RecordError, RulesError, limits.TooLargeError) as error:
        raise RecordError("", make_sentence(str(error))) from None


def _parse_document(text: str) -> Table:
    """Read a record in JSON, as a room exports it, if its rules are small enough."""
    document = parse_document(text)
    limits.check_rule_table(document.get("rules"))
    if isinstance(document.get("rules"), dict):
        limits.check_rules(Rules.read(document["rules"]))
    return read_document(document)


def review_table(table: Table, seconds: float = SECONDS, altogether: float = limits.REVIEW_SECONDS) -> GameReview:
    """Review a game move by move."""
    return review(table.game, declared=table.declared, seconds=seconds, altogether=altogether, memory=MEMORY)


# Puzzles and lessons --------------------------------------------------------------------------------------------------


class PuzzleChoice(NamedTuple):
    """A move in a puzzle: whether it is right, and what is said to the player who chooses it."""

    block: int
    is_right: bool
    feedback: str
    details: str = ""
    """What the reason leaves out."""

    idea: Idea | None = None
    """The idea behind the reason."""


class PuzzleQuestion(NamedTuple):
    """A position in which a winning move is to be found."""

    game: str
    line: str
    grade: int | None
    plies: int | None
    nudge: str
    answer: int
    solution_text: str
    """The answer and its reason."""

    choices: tuple[PuzzleChoice, ...]
    """Every legal move."""


def make_daily_puzzle(day: str) -> PuzzleQuestion:
    """Return the puzzle of a day such as 2027-01-31."""
    return _make_puzzle(*puzzles.find_daily_puzzle(day))


def make_numbered_puzzle(seed: str, number: int, grade: int | None, game: str | None) -> PuzzleQuestion:
    """Return a puzzle of an endless row by its number, of one grade or of all in turn, of one game or of all."""
    book = None if game is None else catalogue.load_named(game)
    return _make_puzzle(*puzzles.find_numbered_puzzle(seed, number, grade=grade, book=book))


def make_lesson(book: Rulebook) -> tuple[PuzzleQuestion, ...]:
    """Return the positions of a first lesson, the easiest first."""
    exercises = find_exercises(book.rules)
    return tuple(_make_question(Table(each.game, book=book), each.solution, each.hint) for each in exercises)


def _make_puzzle(book: Rulebook, puzzle: Puzzle) -> PuzzleQuestion:
    solution = puzzle.solve(MEMORY)
    question = _make_question(Table(puzzle.game, book=book), solution, hint(solution))
    return question._replace(grade=puzzle.grade, plies=puzzle.plies)


def _make_question(table: Table, solution: Solution, hint: Hint) -> PuzzleQuestion:
    """Make a question of a position: every move wins or does not, and the reason is told."""
    voice = get_voice(table.book)
    opponent = voice.get_name(table, 1 - table.game.to_move)
    choices = tuple(_make_choice(solution, block, opponent, voice.noun, hint) for block in solution.moves)
    return PuzzleQuestion(
        game=table.rulebook,
        line=record.to_line(table),
        grade=None,
        plies=solution.plies,
        nudge=hint.nudge(voice.noun),
        answer=hint.block,
        solution_text=format_sentence(hint.reason, opponent, voice.noun),
        choices=choices,
    )


def _make_choice(solution: Solution, block: int, opponent: str, noun: str, hint: Hint) -> PuzzleChoice:
    reason, worth = explain_move(solution, block), solution.moves[block]
    details, idea = format_details(reason, opponent=opponent, noun=noun), get_idea(reason, noun)
    is_right = worth.value == "win"
    if not is_right:
        return PuzzleChoice(block, is_right, f"Not this one. {format_sentence(reason, opponent, noun)}", details, idea)
    quicker = hint.find_quicker(worth)
    choice = PuzzleChoice(block, is_right, format_right_answer(reason, opponent, noun, quicker))
    return choice if quicker else choice._replace(details=details, idea=idea)
