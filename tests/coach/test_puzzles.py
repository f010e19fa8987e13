"""Puzzles: one winning move, the same for the same seed, harder by the grade.

They are also played at a keyboard.
"""

from __future__ import annotations

import json
import shlex
from collections import Counter
from datetime import date, timedelta
from functools import cache
from itertools import islice, pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import number_tower as nt
from number_tower import Game, Position, Rules, Worth
from number_tower.coach import quiz
from number_tower.coach.puzzles import (
    GRADES,
    Puzzle,
    find_daily_puzzle,
    find_mixed_puzzles,
    find_puzzles,
    reduce_position,
)
from number_tower.coach.quiz import make_puzzle
from number_tower.engine import catalogue, record
from number_tower.engine.catalogue import Rulebook
from number_tower.players import make_player
from number_tower.solve import jit
from number_tower.terminal.cli.commands import puzzle as puzzle_command
from number_tower.terminal.cli.commands.puzzle import MAX_LINE, find_line
from number_tower.terminal.cli.errors import (
    FAILED,
    FINISHED,
    INTERRUPTED,
    WRONG_CALL,
    CommandError,
    InputEndedError,
    PlayStoppedError,
    print_error,
)
from number_tower.terminal.cli.main import create_parser
from number_tower.terminal.cli.question import QUESTION_COMMANDS, QuestionDialogue
from number_tower.terminal.cli.terminal import Terminal
from support.game_tree import Tree, list_reachable, make_key
from support.plain import PlainSolver
from support.sizes import examples, size
from support.strategies import any_rules

pytestmark = pytest.mark.slow

NAMES = catalogue.list_names()
MONDAY = date(2026, 11, 16)


def parse_rules(*lines: str) -> dict[str, Rules]:
    """Return the rules of games with options by their lines."""
    return {line: record.from_line(f"{line}:").game.rules for line in lines}


LARGER = parse_rules(
    "draft(target=21)", "draft(blocks=1-12,target=21)", "summit(target=30)", "factor(blocks=1-16)"
)
LARGE = parse_rules(
    "draft(blocks=1-20,target=60)",
    "factor(blocks=1-300)",
    "climb(blocks=1-1000)",
    "race(blocks=1-1000,target=5000)",
)
NONE = {
    "nobody can win": Rules(stuck="skips"),
    "nobody can win, after many positions": Rules(
        range(1, 40), supply="own", fit="related", stuck="skips"
    ),
    "one block": Rules((3,)),
    "no opening fits": Rules((5, 6), target=4),
    "every move is as good as any other": Rules(range(1, 40)),
}


# What puzzles are ---------------------------------------------------------------------------------


@cache
def find_all(name: str) -> tuple[Puzzle, ...]:
    """Find all puzzles of one of the five games."""
    stream = find_puzzles(nt.rules(name), 1)
    puzzles = tuple(stream)
    assert stream.complete
    assert Counter(puzzle.grade for puzzle in puzzles) == stream.found
    return puzzles


def check_puzzle(tree: Tree | PlainSolver, puzzle: Puzzle) -> None:
    """Check with a search that knows nothing of solvers that only the answer wins."""
    wins, position = (1 if isinstance(tree, Tree) else "win"), puzzle.game.position
    values = {block: tree.evaluate_move(position, block).value for block in position.legal}
    assert len(values) > 1
    assert [block for block, value in values.items() if value == wins] == [puzzle.answer]
    solved = tree.solve(position) if isinstance(tree, Tree) else tree.evaluate(position)
    assert puzzle.plies in {solved.plies, *([None] if isinstance(tree, PlainSolver) else [])}


def mirror_position(position: Position) -> object:
    """Return a position as the player to move sees it, without what cannot matter any more."""
    left, heights, tops, mover = make_key(position)
    return tuple(
        part if mover == 0 or part is None else part[::-1]  # type: ignore[index]  # pairs
        for part in (left, heights, tops)
    )


@pytest.mark.parametrize("name", NAMES)
def test_puzzle_of_each_game_has_one_winning_move(name: str) -> None:
    tree = Tree(nt.rules(name))
    for puzzle in find_all(name):
        check_puzzle(tree, puzzle)
        wins_at_once = puzzle.game.play(puzzle.answer).outcome is not None
        assert (puzzle.grade == 1) == (puzzle.plies == 1) == wins_at_once
    assert len({mirror_position(puzzle.game.position) for puzzle in find_all(name)}) == len(
        find_all(name)
    )
    assert {puzzle.game.to_move for puzzle in find_all(name)} == {0, 1}
    assert {puzzle.game.first for puzzle in find_all(name)} == {0, 1}


def test_five_games_have_a_thousand_puzzles_of_all_grades() -> None:
    puzzles = [puzzle for name in NAMES for puzzle in find_all(name)]
    assert len(puzzles) > 1_000
    assert {puzzle.grade for puzzle in puzzles} == {*GRADES}


@pytest.mark.parametrize("name", LARGER)
def test_puzzle_with_other_options_has_one_winning_move(name: str) -> None:
    tree = Tree(LARGER[name])
    puzzles = list(islice(find_puzzles(LARGER[name], 7), size(8, 60)))
    assert len(puzzles) == size(8, 60)
    for puzzle in puzzles:
        check_puzzle(tree, puzzle)


@given(any_rules(most_blocks=6), st.integers())
@settings(max_examples=examples(50))
def test_puzzle_by_any_rules_has_one_winning_move(rules: Rules, seed: int) -> None:
    plain = PlainSolver()
    for puzzle in islice(find_puzzles(rules, seed), 12):
        check_puzzle(plain, puzzle)


@pytest.mark.parametrize("name", LARGE)
def test_puzzle_of_a_large_game_has_one_winning_move(name: str) -> None:
    stream = find_puzzles(LARGE[name], 1)
    puzzles = list(islice(stream, 4))
    assert len({mirror_position(puzzle.game.position) for puzzle in puzzles}) == 4
    assert not stream.complete
    for puzzle in puzzles:
        moves = nt.solve(puzzle.game, plies=False).moves
        assert [block for block, worth in moves.items() if worth.value == "win"] == [puzzle.answer]


@pytest.mark.parametrize("name", [name for name in NAMES if name != "race"])
def test_small_game_has_no_puzzle_that_is_missed(name: str) -> None:
    tree = Tree(nt.rules(name))
    puzzles = {reduce_position(puzzle.game.position) for puzzle in find_all(name)}
    for position in list_reachable(tree.start):
        wins = [tree.evaluate_move(position, block).value for block in position.legal].count(1)
        is_puzzle = len(position.legal) > 1 and wins == 1
        assert is_puzzle == (bool(position.legal) and reduce_position(position) in puzzles)


@given(any_rules(most_blocks=5), st.data())
@settings(max_examples=examples(50))
def test_positions_of_the_same_puzzle_have_the_same_value(
    rules: Rules, data: st.DataObject
) -> None:
    plain = PlainSolver()
    worths: dict[object, Worth] = {}
    for _ in range(12):
        position = Position.start(rules, data.draw(st.integers(0, 1)))
        while position.legal:
            at = reduce_position(position), position.legal
            assert worths.setdefault(at, plain.evaluate(position)) == plain.evaluate(position)
            position = position.place(data.draw(st.sampled_from(position.legal)))


@pytest.mark.parametrize("name", NONE)
def test_search_in_a_game_without_puzzles_ends(name: str) -> None:
    stream = find_puzzles(NONE[name], 1)
    assert list(stream) == []
    assert not stream.found
    assert stream.complete == (len(NONE[name].blocks) < 10)


# The same for everyone ----------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["draft", "summit(target=30)", "draft(blocks=1-20,target=60)"])
def test_seed_decides_which_puzzles_come(name: str) -> None:
    rules = {**LARGER, **LARGE}.get(name) or nt.rules(name)
    first, again, other = (list(islice(find_puzzles(rules, seed), 3)) for seed in (3, 3, 4))
    assert first == again != other


def test_search_for_puzzles_is_never_compiled(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refused(kernel: object) -> None:
        pytest.fail(f"{kernel} was to be compiled")

    assert jit.load_compiler()
    monkeypatch.setattr(jit, "compile_kernel", refused)
    for rules in (nt.rules("summit"), nt.rules("summit", blocks="1-14", target=80)):
        assert next(find_puzzles(rules, 2)).grade in GRADES


def write_puzzle(book: Rulebook, puzzle: Puzzle) -> str:
    return record.to_line(nt.Table(puzzle.game, book=book), files=True)


def test_daily_puzzle_follows_from_the_date() -> None:
    book, puzzle = find_daily_puzzle("2026-11-15")
    assert (write_puzzle(book, puzzle), puzzle.answer, puzzle.grade, puzzle.plies) == (
        "summit(target=37):9,8,6",
        4,
        5,
        5,
    )


def test_daily_puzzles_grow_harder_from_monday_to_sunday() -> None:
    week = [find_daily_puzzle((MONDAY + timedelta(day)).isoformat()) for day in range(7)]
    assert [puzzle.grade for _, puzzle in week] == [1, 2, 3, 3, 4, 4, 5]
    assert len({write_puzzle(*daily) for daily in week}) == 7
    assert len({book.name for book, _ in week}) > 2
    assert find_daily_puzzle(MONDAY.isoformat(), grade=5)[1].grade == 5


def test_mixed_puzzles_take_the_grades_in_turn_without_repetition() -> None:
    mixed = list(islice(find_mixed_puzzles(1), 6))
    assert [puzzle.grade for _, puzzle in mixed] == [*GRADES, 1]
    assert len({write_puzzle(*puzzle) for puzzle in mixed}) == 6
    assert {puzzle.grade for _, puzzle in islice(find_mixed_puzzles(1, grade=3), size(1, 3))} == {3}


# Grades -------------------------------------------------------------------------------------------


def test_puzzles_without_a_grade_are_spread_over_all_grades() -> None:
    grades = [puzzle.grade for puzzle in islice(find_puzzles(LARGER["summit(target=30)"], 1), 25)]
    assert set(grades) == {*GRADES}
    assert Counter(grades).most_common(1)[0][1] <= 10


def check_falling_rates(puzzles: list[Puzzle]) -> None:
    """Check that the second level solves fewer puzzles of every higher grade."""
    rates = []
    for grade in GRADES:
        of_grade = [puzzle for puzzle in puzzles if puzzle.grade == grade]
        solved = sum(
            make_player("easy", seed=seed).choose(puzzle.game) == puzzle.answer
            for puzzle in of_grade
            for seed in range(5)
        )
        rates.append(solved / (len(of_grade) * 5))
    assert all(easier > harder for easier, harder in pairwise(rates))


def test_higher_grade_is_harder_for_the_second_level() -> None:
    puzzles = [puzzle for name in NAMES for puzzle in find_all(name)[: size(40, 100)]]
    for rules in LARGER.values():
        puzzles += islice(find_puzzles(rules, 1), size(20, 60))
    check_falling_rates(puzzles)


@pytest.mark.parametrize("name", LARGER)
def test_larger_game_has_every_grade_in_order(name: str) -> None:
    puzzles = []
    for grade in GRADES:
        of_grade = list(islice(find_puzzles(LARGER[name], 1, grade=grade), size(20, 30)))
        assert len(of_grade) > 3
        assert {puzzle.grade for puzzle in of_grade} == {grade}
        puzzles += of_grade
    check_falling_rates(puzzles)


# At a keyboard ------------------------------------------------------------------------------------


class TypingTerminal(Terminal):
    """A terminal at which these answers are typed; `^C` presses Ctrl-C."""

    def __init__(self, *answers: object, interactive: bool = False) -> None:
        super().__init__()
        self.interactive = interactive
        self.answers = iter(answers)
        self.shown = ""

    def ask(self, prompt: str) -> str:
        self.shown += prompt
        answer = next(self.answers, None)
        if answer is None:
            raise InputEndedError
        if answer == "^C":
            raise KeyboardInterrupt
        return str(answer)

    def write(self, text: str) -> None:
        self.shown += text


def run_puzzle(call: str, terminal: Terminal) -> int:
    """Call `tower puzzle`; return its exit status."""
    arguments = create_parser(["puzzle"]).parse_args(["puzzle", *shlex.split(call)])
    try:
        puzzle_command.run(arguments, terminal)
    except PlayStoppedError as error:
        print_error(str(error))
        return error.code
    return FINISHED


def find_first(name: str, seed: int, count: int) -> list[Puzzle]:
    return list(islice(find_puzzles(nt.rules(name), seed), count))


@pytest.mark.parametrize("name", NAMES)
def test_line_of_an_answer_ends_with_its_win(name: str) -> None:
    for puzzle in find_first(name, 1, 5):
        game, moves = puzzle.game, find_line(puzzle)
        outcome = Game(game.rules, game.first, (*game.moves, *moves)).outcome
        assert outcome is not None
        assert outcome.winner == game.to_move
        assert puzzle.plies == len(moves)


def test_question_with_more_tries_is_asked_again() -> None:
    (puzzle,) = find_first("factor", 1, 1)
    wrong = next(block for block in puzzle.game.legal if block != puzzle.answer)
    question = make_puzzle(catalogue.load("factor"), puzzle)
    saved: list[str] = []
    terminal = TypingTerminal(wrong, "why more", puzzle.answer)
    table = nt.Table(puzzle.game, book=catalogue.load("factor"))
    assert QuestionDialogue(terminal, 3).ask(table, question, "Which? ", saved.append) == "wrong"
    assert saved == ["wrong"]
    assert question.nudge in terminal.shown
    assert "The answer: " not in terminal.shown


@pytest.mark.parametrize(
    ("typed", "code", "message"),
    [
        ((), FAILED, "the input ended before the puzzle was solved"),
        (("skip", "", "^C"), INTERRUPTED, "stopped. Solved 0 of 1, best streak 0"),
    ],
)
def test_run_that_stops_shows_its_score(
    typed: tuple[str, ...], code: int, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_puzzle("race --seed 1", TypingTerminal(*typed)) == code
    assert capsys.readouterr() == ("", f"tower: {message}\n")


def test_seed_shown_at_a_terminal_repeats_the_puzzles() -> None:
    first = TypingTerminal("quit", interactive=True)
    assert run_puzzle("factor", first) == FINISHED
    seed = first.shown.partition(" --seed ")[2].partition(".")[0]
    again = TypingTerminal("quit", interactive=True)
    assert run_puzzle(f"factor --seed {seed}", again) == FINISHED
    assert f"(Type at any time: {', '.join(QUESTION_COMMANDS)}.)\n" in again.shown
    assert first.shown.split("\n")[2:] == again.shown.split("\n")[2:]


def test_call_without_arguments_starts_with_the_puzzle_of_today(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Sunday(date):
        @classmethod
        def today(cls) -> Sunday:
            return cls(2026, 11, 15)

    monkeypatch.setattr(quiz, "date", Sunday)
    today, same = (TypingTerminal("skip", "", "quit") for _ in range(2))
    assert run_puzzle("", today) == run_puzzle("--day 2026-11-15", same) == FINISHED
    assert today.shown == same.shown


def test_day_chooses_among_the_puzzles_of_a_game() -> None:
    first, second = TypingTerminal("quit"), TypingTerminal("quit")
    for day, terminal in ((15, first), (16, second)):
        assert run_puzzle(f"draft --day 2026-11-{day} --grade 2", terminal) == FINISHED
    assert first.shown.partition("\n")[2] != second.shown.partition("\n")[2]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("factor --grade 5 --json", "no puzzle of grade 5 in factor, but there are 8 of grade 1, "),
        ("race --target 28 --grade 3", "no puzzle of grade 3 was found in race"),
        ("draft --blocks 1-9999 --target 99999", "was found in draft"),
    ],
)
def test_call_without_puzzles_is_refused(call: str, message: str) -> None:
    with pytest.raises(CommandError, match=message) as refused:
        run_puzzle(f"{call} --seed 1", TypingTerminal())
    assert refused.value.code == WRONG_CALL


anything = st.one_of(
    st.integers(-3, 31).map(str),
    st.sampled_from([*QUESTION_COMMANDS, "y", "?", "", "7 8"]),
    st.text(),
)


@given(
    st.sampled_from(NAMES),
    st.integers(0, 5),
    st.lists(anything, max_size=15),
    st.none() | st.integers(1, 3),
)
@settings(max_examples=examples(40))
def test_run_ends_properly_with_any_input(
    name: str, seed: int, typed: list[str], count: int | None
) -> None:
    terminal = TypingTerminal(*typed)
    number = "" if count is None else f" --count {count}"
    assert run_puzzle(f"{name} --seed {seed}{number}", terminal) in {FINISHED, FAILED}
    assert terminal.shown.count("One move wins. Which? ") <= len(typed) + 1


# For programs -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "count"),
    [("draft --count 8 --seed 4", 8), ("--count 6 --seed 4", 6), ("climb --blocks 1-400", 1)],
)
def test_json_holds_puzzles_with_their_solutions(
    call: str, count: int, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_puzzle(f"{call} --json", TypingTerminal()) == FINISHED
    puzzles = json.loads(capsys.readouterr().out)["puzzles"]
    assert len(puzzles) == count
    for puzzle in puzzles:
        table, line = record.read(puzzle["ref"]), puzzle["line"]
        assert (table.book.name, list(table.game.moves)) == (puzzle["game"], puzzle["moves"])
        assert (table.game.to_move + 1, list(table.game.legal)) == (puzzle["seat"], puzzle["legal"])
        assert line[0] == puzzle["answer"]
        assert len(line) == min(puzzle["plies"] or MAX_LINE, MAX_LINE)
        for block in line:
            table = table.play(block)
        if len(line) < MAX_LINE:
            assert table.outcome is not None
            assert table.outcome.winner == puzzle["seat"] - 1
