"""What worker processes are asked: pure questions about positions, each with its own limits, answered in plain values.

Every value is exact. What is not found within the limits is said to be unknown; there is never a guess.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from number_tower import catalogue, record
from number_tower.coach import puzzles
from number_tower.coach.analysis import MAX_REASONS, MEMORY, SECONDS, AnalysedMove, PositionAnalysis, analyse_table
from number_tower.coach.hints import HintText, find_exercises, format_reason, hint
from number_tower.coach.hints import format_hint as helped
from number_tower.coach.reasons import explain_move
from number_tower.coach.review import ReviewText, review
from number_tower.players import LEVELS, Computer
from number_tower.players.knowledge import get_knowledge
from number_tower.record import RecordError
from number_tower.record.json import parse_document, read_document
from number_tower.record.line import EXAMPLE, from_line
from number_tower.rules import Rules, RulesError
from number_tower.solve.limits import NotSolvedError, SearchLimits
from number_tower.solve.solution import Solution
from number_tower.table import Table
from number_tower.text import make_sentence
from number_tower.voice import Voice
from number_tower.web import limits
from number_tower.web.limits import MAX_PUZZLE_POSITIONS, MAX_REVIEWED_MOVES, REVIEW_SECONDS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from number_tower.catalogue import Rulebook
    from number_tower.coach.hints import Hint
    from number_tower.coach.puzzles import Puzzle
    from number_tower.coach.review import GameReview, JudgedMove
    from number_tower.game import Game
    from number_tower.solve.worth import Value, Worth

__all__ = [
    "MAX_REASONS",
    "MAX_REVIEWED_MOVES",
    "REVIEW_SECONDS",
    "SECONDS",
    "AnalysedMove",
    "GameReviewText",
    "HintText",
    "PositionAnalysis",
    "PuzzleChoice",
    "PuzzleQuestion",
    "ReviewedMove",
    "analyse_table",
    "choose_block",
    "give_hint",
    "make_daily_puzzle",
    "make_lesson",
    "make_numbered_puzzle",
    "review_table",
]  # fmt: skip


class ReviewedMove(NamedTuple):
    """A move of a game that was gone through."""

    ply: int
    player: int
    block: int
    before: Value | None
    after: Value | None
    mark: str
    remarks: tuple[str, ...]
    forced: bool
    skips: bool


class GameReviewText(NamedTuple):
    """A game that was gone through, in values and in words."""

    headline: str
    standing: str | None
    values: tuple[int | None, ...]
    """Of every position, from before the first move to now, as the first seat sees it: 1, 0 or -1."""

    moves: tuple[ReviewedMove, ...]
    turning: int | None
    """The ply of the turning point."""

    turning_point: str | None
    accuracy: tuple[str, ...]
    unsolved: str | None

    @property
    def complete(self) -> bool:
        """Whether every position was solved."""
        return self.unsolved is None


# The computer ---------------------------------------------------------------------------------------------------------


def choose_block(level: str, seed: int, game: Game) -> tuple[int, str]:
    """Return the move of the computer at one of its levels, and what it has to say about it, mostly nothing."""
    computer = Computer(LEVELS[level], seed)
    return computer.choose(game), computer.remark


# Help -----------------------------------------------------------------------------------------------------------------


def give_hint(table: Table, book: Rulebook, step: int) -> HintText:
    """Help whoever is to move, by what computers know of the game."""
    solution = get_knowledge(table.game.rules).solve(table.game.position) if table.legal else None
    return helped(table, book, step, None if solution is None else hint(solution))


# Reviews --------------------------------------------------------------------------------------------------------------


def review_table(
    table: Table, book: Rulebook, seconds: float = SECONDS, altogether: float = REVIEW_SECONDS
) -> GameReviewText:
    """Go through a game move by move."""
    voice = Voice(book)
    seen = review(table.game, declared=table.declared, seconds=seconds, altogether=altogether, memory=MEMORY)
    telling = ReviewText((voice.get_name(table, 0), voice.get_name(table, 1)), voice.noun)
    return GameReviewText(
        telling.format_headline(seen),
        telling.format_standing(seen),
        seen.values,
        tuple(_describe_move(move, telling) for move in seen.moves),
        _find_turning_ply(seen),
        telling.format_turning_point(seen),
        tuple(telling.format_accuracy(seen, seat) for seat in (0, 1)) if seen.moves else (),
        telling.format_unsolved(seen),
    )


def _describe_move(move: JudgedMove, telling: ReviewText) -> ReviewedMove:
    remarks = tuple(telling.format_mistake(move))
    if move.skips:
        remarks = (*remarks, f"{telling.names[1 - move.player]} cannot place a {telling.noun} and skips.")
    before, after = (None if worth is None else worth.value for worth in (move.before, move.after))
    return ReviewedMove(
        move.ply, move.player, move.block, before, after, move.mark, remarks, forced=move.forced, skips=move.skips
    )


def _find_turning_ply(seen: GameReview) -> int | None:
    return None if seen.turning_point is None else seen.turning_point.ply


class UnreadableRecordError(ValueError):
    """A line that is no game that can be shown here, and why not."""


def parse_record(line: str) -> tuple[Table, Rulebook]:
    """Return the table that a one-line record describes, and its rulebook; no move is made in a game too large."""
    line = line.strip()
    if len(line) > limits.MAX_RECORD_LENGTH:
        most = f"{limits.MAX_RECORD_LENGTH:,}"
        raise UnreadableRecordError(f"Here a line may have at most {most} characters; this one has {len(line):,}.")
    try:
        if line.startswith("{"):
            return _parse_document(line)
        head, colon, _ = line.rpartition(":")
        if not colon:
            raise UnreadableRecordError(f"That is not the line of a game, {EXAMPLE}.")
        limits.check_rules(from_line(f"{limits.check_text(head)}:").game.rules)
        table = from_line(line)
    except (RecordError, RulesError, limits.TooLargeError) as wrong:
        raise UnreadableRecordError(make_sentence(str(wrong))) from None
    return table, table.book


def _parse_document(text: str) -> tuple[Table, Rulebook]:
    """Read a record in JSON, as it is taken away from a room, if its rules are small enough."""
    document = parse_document(text)
    limits.check_rule_table(document.get("rules"))
    if isinstance(document.get("rules"), dict):
        limits.check_rules(Rules.read(document["rules"]))
    table = read_document(document)
    return table, catalogue.find_rulebook(table.rulebook, table.game.rules)


class PuzzleChoice(NamedTuple):
    """An answer to a question: whether it is right, and what is said to whoever gives it."""

    block: int
    is_right: bool
    feedback: str


class PuzzleQuestion(NamedTuple):
    """A position with something to find."""

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

    def find_choice(self, block: int) -> PuzzleChoice | None:
        """Return what is said to an answer; None if it is no move at all."""
        return next((choice for choice in self.choices if choice.block == block), None)


def make_daily_puzzle(day: str) -> PuzzleQuestion:
    """Return the puzzle of a day such as 2027-01-31."""
    book, puzzle = puzzles.find_daily_puzzle(day)
    return _make_puzzle_question(puzzle, book)


def make_numbered_puzzle(seed: str, number: int, grade: int | None, game: str | None) -> PuzzleQuestion:
    """Return an endless row's puzzle by its number, of one grade or of all in turn; `game` is one of the catalogue."""
    book = None if game is None else catalogue.load_named(game)
    book, puzzle = puzzles.find_numbered_puzzle(seed, number, grade=grade, book=book)
    return _make_puzzle_question(puzzle, book)


def make_lesson(book: Rulebook) -> tuple[PuzzleQuestion, ...]:
    """Return the positions of a first lesson, the easiest first."""
    return tuple(
        _make_question(Table(each.game, book=book), book, each.solution, each.hint)
        for each in find_exercises(book.rules)
    )


def _make_puzzle_question(puzzle: Puzzle, book: Rulebook) -> PuzzleQuestion:
    solution = _solve_puzzle(puzzle.game)
    posed = _make_question(Table(puzzle.game, book=book), book, solution, hint(solution))
    return posed._replace(grade=puzzle.grade, plies=puzzle.plies)


def _solve_puzzle(game: Game) -> Solution:
    """Solve a puzzle again, to be asked about; without the plies where those of some move take long."""
    try:
        solution = Solution(game.position, SearchLimits(positions=MAX_PUZZLE_POSITIONS, memory=MEMORY))
        solution.best  # noqa: B018 - all moves are valued now
    except NotSolvedError:
        return Solution(game.position, SearchLimits(memory=MEMORY), plies=False)
    return solution


def _make_question(table: Table, book: Rulebook, solution: Solution, given: Hint) -> PuzzleQuestion:
    """Make a question of a position: every move wins or does not, and it is said why."""
    voice = Voice(book)
    opponent = voice.get_name(table, 1 - table.game.to_move)
    said = {
        block: format_reason(explain_move(solution, block), opponent=opponent, noun=voice.noun)
        for block in solution.moves
    }
    return PuzzleQuestion(
        game=book.name,
        line=record.to_line(table),
        grade=None,
        plies=solution.plies,
        nudge=given.nudge(voice.noun),
        answer=given.block,
        solution_text=f"{given.block} {_format_win(said[given.block])}.",
        choices=tuple(_make_choice(block, worth, said) for block, worth in solution.moves.items()),
    )


def _make_choice(block: int, worth: Worth, said: Mapping[int, str]) -> PuzzleChoice:
    if worth.value == "win":
        return PuzzleChoice(block, is_right=True, feedback=f"Right! {block} {_format_win(said[block])}.")
    if worth.value == "draw" and said[block].startswith("leads"):
        return PuzzleChoice(block, is_right=False, feedback=f"Not {block}. It only {said[block]}.")
    return PuzzleChoice(block, is_right=False, feedback=f"Not {block}. It {said[block]}.")


def _format_win(reason: str) -> str:
    return reason if reason.startswith("wins") else f"wins: it {reason}"
