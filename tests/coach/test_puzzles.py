"""Puzzles: one winning move each, the same for the same seed, harder by the grade.

They are also played at a keyboard.
"""

from __future__ import annotations

import json
import shlex
from collections import Counter
from collections.abc import Iterator
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
from number_tower.terminal.cli.commands import puzzle as puzzling
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
from support.game_tree import Tree, make_key
from support.plain import PlainSolver
from support.sizes import examples, size
from support.strategies import any_rules

pytestmark = pytest.mark.slow

NAMES = catalogue.list_names()
MONDAY = date(2026, 11, 16)
LARGER = {
    "draft(target=21)": nt.rules("draft", target=21),
    "draft(blocks=1-12,target=21)": nt.rules("draft", blocks="1-12", target=21),
    "summit(target=30)": nt.rules("summit", target=30),
    "factor(blocks=1-16)": nt.rules("factor", blocks="1-16"),
}
LARGE = {
    "draft(blocks=1-20,target=60)": nt.rules("draft", blocks="1-20", target=60),
    "factor(blocks=1-300)": nt.rules("factor", blocks="1-300"),
    "climb(blocks=1-1000)": nt.rules("climb", blocks="1-1000"),
    "race(blocks=1-1000,target=5000)": nt.rules("race", blocks="1-1000", target=5000),
}
NONE = {
    "nobody can win": Rules(stuck="skips"),
    "nobody can win, and there is much to look at": Rules(
        range(1, 40), supply="own", fit="related", stuck="skips"
    ),
    "one block": Rules((3,)),
    "no opening fits": Rules((5, 6), target=4),
    "every move is as good as any other": Rules(range(1, 40)),
}


@cache
def every(name: str, seed: int = 1) -> tuple[Puzzle, ...]:
    """All puzzles of one of the five games."""
    stream = find_puzzles(nt.rules(name), seed)
    found = tuple(stream)
    assert stream.complete
    assert Counter(puzzle.grade for puzzle in found) == stream.found
    return found


def winning(tree: Tree | PlainSolver, position: Position) -> list[int]:
    """The moves that win, by a search that knows nothing of solvers."""
    wins = 1 if isinstance(tree, Tree) else "win"
    return [block for block in position.legal if tree.evaluate_move(position, block).value == wins]


def asked(position: Position) -> object:
    """A position as whoever is to move sees it, without what cannot matter any more."""
    left, heights, tops, mover = make_key(position)
    return tuple(
        part if mover == 0 or part is None else part[::-1]  # type: ignore[index]  # pairs
        for part in (left, heights, tops)
    )


# What puzzles are ---------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_exactly_one_move_wins_in_every_puzzle_of_the_five_games(name: str) -> None:
    tree = Tree(nt.rules(name))
    for puzzle in every(name):
        assert len(puzzle.game.legal) > 1
        assert winning(tree, puzzle.game.position) == [puzzle.answer]
        assert puzzle.plies == tree.solve(puzzle.game.position).plies


def test_these_are_more_than_a_thousand() -> None:
    assert sum(len(every(name)) for name in NAMES) > 1_000


@pytest.mark.parametrize("name", LARGER)
def test_exactly_one_move_wins_with_other_options(name: str) -> None:
    tree = Tree(LARGER[name])
    count = size(8, 60)
    some = list(islice(find_puzzles(LARGER[name], 7), count))
    assert len(some) == count
    for puzzle in some:
        assert winning(tree, puzzle.game.position) == [puzzle.answer]
        assert puzzle.plies == tree.solve(puzzle.game.position).plies


@given(any_rules(most_blocks=6), st.integers())
@settings(max_examples=examples(50))
def test_exactly_one_move_wins_by_any_rules(rules: Rules, seed: int) -> None:
    plain = PlainSolver()
    for puzzle in islice(find_puzzles(rules, seed), 12):
        assert len(puzzle.game.legal) > 1
        assert winning(plain, puzzle.game.position) == [puzzle.answer]
        assert puzzle.plies in {None, plain.evaluate(puzzle.game.position).plies}


@pytest.mark.parametrize("name", LARGE)
def test_exactly_one_move_wins_in_games_too_large_to_look_through(name: str) -> None:
    stream = find_puzzles(LARGE[name], 1)
    some = list(islice(stream, 4))
    assert len(some) == 4
    assert not stream.complete
    for puzzle in some:
        moves = nt.solve(puzzle.game, plies=False).moves
        assert [block for block, worth in moves.items() if worth.value == "win"] == [puzzle.answer]


@pytest.mark.parametrize("name", [name for name in NAMES if name != "race"])
def test_in_a_small_game_no_puzzle_is_missed(name: str) -> None:
    rules = nt.rules(name)
    tree, found = Tree(rules), {reduce_position(puzzle.game.position) for puzzle in every(name)}
    looked_at, ahead = set(), [Position.start(rules)]
    missed = 0
    while ahead:
        position = ahead.pop()
        if make_key(position) in looked_at or not position.legal:
            continue
        looked_at.add(make_key(position))
        ahead += map(position.place, position.legal)
        is_puzzle = len(position.legal) > 1 and len(winning(tree, position)) == 1
        missed += is_puzzle != (reduce_position(position) in found)
    assert looked_at
    assert not missed


@given(any_rules(most_blocks=5), st.data())
@settings(max_examples=examples(50))
def test_positions_that_are_the_same_puzzle_are_worth_the_same(
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


@pytest.mark.parametrize("name", NAMES)
def test_no_two_puzzles_ask_the_same(name: str) -> None:
    assert len({asked(puzzle.game.position) for puzzle in every(name)}) == len(every(name))


def test_no_two_ask_the_same_where_positions_come_from_games_at_random() -> None:
    stream = find_puzzles(nt.rules("draft", blocks="1-14", target=24), 1)
    some = list(islice(stream, size(8, 40)))
    assert not stream.complete
    assert len({asked(puzzle.game.position) for puzzle in some}) == len(some)


@pytest.mark.parametrize("name", NAMES)
def test_both_seats_come_up(name: str) -> None:
    assert {puzzle.game.to_move for puzzle in every(name)} == {0, 1}
    assert {puzzle.game.first for puzzle in every(name)} == {0, 1}


@pytest.mark.parametrize("name", NONE)
def test_a_game_without_puzzles_comes_to_an_end(name: str) -> None:
    stream = find_puzzles(NONE[name], 1)
    assert list(stream) == []
    assert not stream.found
    assert stream.complete == (len(NONE[name].blocks) < 10)


# The same for everyone ----------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["draft", "summit(target=30)", "draft(blocks=1-20,target=60)"])
def test_the_same_seed_gives_the_same_puzzles_and_another_gives_others(name: str) -> None:
    rules = {**LARGER, **LARGE}.get(name) or nt.rules(name)
    first, again, other = (list(islice(find_puzzles(rules, seed), 3)) for seed in (3, 3, 4))
    assert first == again != other


def test_no_search_is_compiled_as_that_would_move_its_limits(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refused(kernel: object) -> None:
        pytest.fail(f"{kernel} was to be compiled")

    assert jit.load_compiler()
    monkeypatch.setattr(jit, "compile_kernel", refused)
    for rules in (nt.rules("summit"), nt.rules("summit", blocks="1-14", target=80)):
        assert next(find_puzzles(rules, 2)).grade in GRADES


def line(book: Rulebook, puzzle: Puzzle) -> str:
    return record.to_line(nt.Table(puzzle.game, book=book), files=True)


def test_the_puzzle_of_a_day_is_the_same_for_everyone() -> None:
    book, puzzle = find_daily_puzzle("2026-11-15")
    assert (line(book, puzzle), puzzle.answer, puzzle.grade, puzzle.plies) == (
        "summit(target=37):9,8,6",
        4,
        5,
        5,
    )


def test_the_week_grows_harder_from_monday_to_sunday() -> None:
    week = [find_daily_puzzle((MONDAY + timedelta(day)).isoformat()) for day in range(7)]
    assert [puzzle.grade for _, puzzle in week] == [1, 2, 3, 3, 4, 4, 5]
    assert len({line(*each) for each in week}) == 7
    assert len({book.name for book, _ in week}) > 2
    assert find_daily_puzzle(MONDAY.isoformat(), grade=5)[1].grade == 5


def test_an_assortment_takes_the_grades_in_turn_and_repeats_nothing() -> None:
    some = list(islice(find_mixed_puzzles(1), 6))
    assert [puzzle.grade for _, puzzle in some] == [*GRADES, 1]
    assert len({line(*each) for each in some}) == 6
    assert {puzzle.grade for _, puzzle in islice(find_mixed_puzzles(1, grade=3), size(1, 3))} == {3}


# Grades -------------------------------------------------------------------------------------------


def wins_at_once(puzzle: Puzzle) -> bool:
    return puzzle.game.play(puzzle.answer).outcome is not None


def test_a_win_at_once_is_of_the_first_grade_and_nothing_else_is() -> None:
    for name in NAMES:
        for puzzle in every(name):
            assert (puzzle.grade == 1) == (puzzle.plies == 1) == wins_at_once(puzzle)


def test_the_five_games_together_have_all_grades() -> None:
    assert {puzzle.grade for name in NAMES for puzzle in every(name)} == {*GRADES}


def test_without_a_grade_no_grade_comes_more_often_than_it_must() -> None:
    grades = [puzzle.grade for puzzle in islice(find_puzzles(LARGER["summit(target=30)"], 1), 25)]
    assert set(grades) == {*GRADES}
    assert Counter(grades).most_common(1)[0][1] <= 10


def solved_by_easy(some: list[Puzzle]) -> list[float]:
    """How often the second level finds the answer, by grade."""
    tries = range(5)
    rates = []
    for grade in GRADES:
        of_grade = [puzzle for puzzle in some if puzzle.grade == grade]
        right = sum(
            make_player("easy", seed=seed).choose(puzzle.game) == puzzle.answer
            for puzzle in of_grade
            for seed in tries
        )
        rates.append(right / (len(of_grade) * len(tries)))
    return rates


def falls(rates: list[float]) -> bool:
    return all(easier > harder for easier, harder in pairwise(rates))


def test_the_second_level_solves_fewer_at_each_higher_grade() -> None:
    some = [puzzle for name in NAMES for puzzle in every(name)[: size(40, 100)]]
    some += [
        puzzle
        for rules in LARGER.values()
        for puzzle in islice(find_puzzles(rules, 1), size(20, 60))
    ]
    rates = solved_by_easy(some)
    assert rates[0] == 1
    assert falls(rates)


@pytest.mark.parametrize("name", LARGER)
def test_a_larger_game_has_every_grade_and_they_are_in_order_there_too(name: str) -> None:
    some = []
    for grade in GRADES:
        of_grade = list(islice(find_puzzles(LARGER[name], 1, grade=grade), size(20, 30)))
        assert len(of_grade) > 3
        assert {puzzle.grade for puzzle in of_grade} == {grade}
        some += of_grade
    assert falls(solved_by_easy(some))


# At a keyboard ------------------------------------------------------------------------------------


class Person(Terminal):
    """Somebody who types what was agreed; at `^C`, presses Ctrl-C."""

    def __init__(self, *answers: object, typed: bool = False) -> None:
        super().__init__()
        self.interactive = typed
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


def hold(call: str, screen: Terminal) -> int:
    """Call `tower puzzle` with somebody at the keyboard."""
    try:
        puzzling.run(create_parser(["puzzle"]).parse_args(["puzzle", *shlex.split(call)]), screen)
    except PlayStoppedError as error:
        print_error(str(error))
        return error.code
    return FINISHED


def wrong(puzzle: Puzzle) -> int:
    return next(block for block in puzzle.game.legal if block != puzzle.answer)


def some_of(name: str, seed: int, count: int) -> list[Puzzle]:
    return list(islice(find_puzzles(nt.rules(name), seed), count))


@pytest.mark.parametrize("name", NAMES)
def test_the_line_of_an_answer_is_played_out_to_its_win(name: str) -> None:
    for puzzle in some_of(name, 1, 5):
        moves = find_line(puzzle)
        over = Game(puzzle.game.rules, puzzle.game.first, (*puzzle.game.moves, *moves)).outcome
        assert over is not None
        assert over.winner == puzzle.game.to_move
        assert puzzle.plies == len(moves)


def test_a_run_keeps_score_and_streak(capsys: pytest.CaptureFixture[str]) -> None:
    one, two, three, four, five = some_of("summit", 3, 5)
    person = Person(one.answer, two.answer, wrong(three), "skip", five.answer)
    assert hold("summit --seed 3 --count 5", person) == FINISHED
    assert person.shown.count("Right! ") == 3
    assert f"Not this one. {wrong(three)} " in person.shown
    assert f"The answer: {three.answer} wins. " in person.shown
    assert f"The answer: {four.answer} wins. " in person.shown
    assert person.shown.count(" in a row.") == 1
    assert "2 in a row." in person.shown
    assert person.shown.endswith("\nSolved 3 of 5, best streak 2.\n")
    assert "for another" not in person.shown
    assert capsys.readouterr() == ("", "")


def test_an_answer_that_cannot_be_placed_is_explained_and_costs_nothing() -> None:
    (puzzle,) = some_of("draft", 1, 1)
    person = Person("x", "", "7 8", 99, "-1", "undo", "why 99", "why x", "hint 3", puzzle.answer)
    assert hold("draft --seed 1 --count 1", person) == FINISHED
    for words in (
        "'x' is not",
        "Type a number, or help",
        "more than one number",
        "no block 99",
        "'-1' is not a number",
    ):
        assert words in person.shown
    assert "'undo' is not a number" in person.shown
    assert "Reasons come after the answer." in person.shown
    assert "'x' is neither a number nor an idea. Try: hint." in person.shown
    assert "Type just hint." in person.shown
    assert person.shown.count("One move wins. Which? ") == 10
    assert "1 of 1, best streak 1." in person.shown


def test_the_commands_answer_and_the_question_is_put_again() -> None:
    (puzzle,) = some_of("factor", 2, 1)
    person = Person("help", "moves", "show", "hint", "hint?", "quit")
    assert hold("factor --seed 2", person) == FINISHED
    for meaning in QUESTION_COMMANDS.values():
        assert meaning in person.shown
    assert person.shown.count("4. (3)  Player 2") == 2
    assert person.shown.count("Only one of your moves wins.") == 2
    assert person.shown.count("One move wins. Which? ") == 6
    assert f"{puzzle.answer} wins" not in person.shown
    assert " of 1" not in person.shown


def test_to_ask_about_a_number_tells_nothing_and_leaves_the_hint() -> None:
    (puzzle,) = some_of("factor", 2, 1)
    person = Person(f"why {puzzle.answer}", f"why {wrong(puzzle)}?", "why", "quit")
    assert hold("factor --seed 2", person) == FINISHED
    assert (
        person.shown.count("Reasons come after the answer. To answer, type the number alone.\n")
        == 2
    )
    assert person.shown.count("Only one of your moves wins.") == 1
    assert f"{puzzle.answer} wins" not in person.shown
    assert " loses" not in person.shown


def table_of(puzzle: Puzzle, name: str) -> nt.Table:
    return nt.Table(puzzle.game, book=catalogue.load(name))


def test_a_question_with_more_tries_is_asked_again_and_its_reason_may_be_asked_for() -> None:
    (puzzle,) = some_of("factor", 1, 1)
    question = make_puzzle(catalogue.load("factor"), puzzle)
    saved: list[str] = []
    person = Person(wrong(puzzle), "why more", puzzle.answer)
    table = table_of(puzzle, "factor")
    assert QuestionDialogue(person, 3).ask(table, question, "Which? ", saved.append) == "wrong"
    assert saved == ["wrong"]
    assert question.nudge in person.shown
    assert "Try again." in person.shown
    assert "Right! " in person.shown
    assert "The answer: " not in person.shown


@pytest.mark.parametrize("name", NAMES)
def test_a_hint_does_not_name_the_move(name: str) -> None:
    for puzzle in some_of(name, 5, 5):
        person = Person("hint")
        question = make_puzzle(catalogue.load(name), puzzle)
        with pytest.raises(InputEndedError):
            QuestionDialogue(person).ask(table_of(puzzle, name), question, "One move wins. Which? ")
        nudge = person.shown.rpartition("One move wins. Which? ")[0].rpartition(
            "One move wins. Which? "
        )[2]
        assert len(nudge) > 20
        assert not any(letter.isdigit() for letter in nudge)


def test_without_a_count_there_is_another_until_someone_has_enough() -> None:
    one, two = some_of("climb", 1, 2)
    person = Person(one.answer, "what?", "why rounds", "", two.answer, "no")
    assert hold("climb --seed 1", person) == FINISHED
    assert person.shown.count("\nEnter for another, quit to stop: ") == 4
    assert "Count what is missing, divide by the size of a round" in person.shown
    assert "Puzzle 2: climb, grade " in person.shown
    assert person.shown.endswith("2 of 2, best streak 2.\n")


def test_where_nobody_wants_another_that_is_enough() -> None:
    (puzzle,) = some_of("climb", 1, 1)
    person = Person(puzzle.answer)
    assert hold("climb --seed 1", person) == FINISHED
    assert person.shown.endswith("Enter for another, quit to stop: ")


def test_input_that_ends_is_told_with_the_score(capsys: pytest.CaptureFixture[str]) -> None:
    (puzzle,) = some_of("race", 1, 1)
    assert hold("race --seed 1 --count 3", Person(puzzle.answer)) == FAILED
    assert capsys.readouterr().err == (
        "tower: the input ended before the puzzle was solved. Solved 1 of 1, best streak 1\n"
    )  # fmt: skip
    assert hold("race --seed 1", Person()) == FAILED
    assert capsys.readouterr().err == "tower: the input ended before the puzzle was solved\n"


def test_ctrl_c_is_told_with_the_score(capsys: pytest.CaptureFixture[str]) -> None:
    assert hold("race --seed 1", Person("skip", "", "^C")) == INTERRUPTED
    assert capsys.readouterr().err == "tower: stopped. Solved 0 of 1, best streak 0\n"


def test_at_a_terminal_the_commands_are_named_and_chance_can_be_repeated() -> None:
    person = Person("quit", typed=True)
    assert hold("factor", person) == FINISHED
    seed = person.shown.partition(" --seed ")[2].partition(".")[0]
    again = Person("quit", typed=True)
    assert hold(f"factor --seed {seed}", again) == FINISHED
    assert f"(Type at any time: {', '.join(QUESTION_COMMANDS)}.)\n" in again.shown
    assert person.shown.split("\n")[2:] == again.shown.split("\n")[2:]


def test_todays_puzzle_comes_first_and_others_after_it(monkeypatch: pytest.MonkeyPatch) -> None:
    class Sunday(date):
        @classmethod
        def today(cls) -> Sunday:
            return cls(2026, 11, 15)

    monkeypatch.setattr(quiz, "date", Sunday)
    person, same = Person("skip", "", "quit"), Person("skip", "", "quit")
    assert hold("", person) == hold("--day 2026-11-15", same) == FINISHED
    assert person.shown == same.shown
    assert person.shown.startswith(
        "Puzzle of the day, 15 November 2026: summit (target 37), grade 5\n"
    )
    assert "\nPuzzle 2: " in person.shown


def test_a_day_chooses_among_the_puzzles_of_a_game_too() -> None:
    first, second = Person("quit"), Person("quit")
    assert hold("draft --day 2026-11-15 --grade 2", first) == hold(
        "draft --day 2026-11-16 --grade 2", second
    )
    assert first.shown.startswith("Puzzle of 15 November 2026: draft, grade 2\n")
    assert first.shown.partition("\n")[2] != second.shown.partition("\n")[2]


def test_a_day_and_a_seed_are_one_too_many() -> None:
    with pytest.raises(CommandError, match="--day and --seed both choose the puzzles") as failed:
        hold("draft --day 2026-11-15 --seed 1", Person())
    assert failed.value.code == WRONG_CALL


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("factor --grade 5",
         "there is no puzzle of grade 5 in factor, but there are 8 of grade 1, 23 of grade 2, "),
        ("race --target 28 --grade 3",
         "no puzzle of grade 3 was found in race (target 28), but the search found "),
        ("draft --blocks 1-9999 --target 99999",
         "was found in draft (target 99999, blocks 1-9999): no position "),
        ("summit --blocks 1-2",
         "there is no puzzle in summit (blocks 1,2): no position has several moves of which"),
    ],
)  # fmt: skip
def test_puzzles_that_are_not_there_are_not_replaced_by_others(call: str, message: str) -> None:
    for form in ("", " --json")[: 2 if "factor" in call else size(1, 2)]:
        with pytest.raises(CommandError) as failed:
            hold(f"{call} --seed 1{form}", Person())
        assert failed.value.code == WRONG_CALL
        assert message in str(failed.value)


def test_what_is_typed_between_puzzles_is_answered() -> None:
    person = Person("skip", "7", "why sums", "why pairs", "quit")
    assert hold("factor --seed 1", person) == FINISHED
    assert person.shown.count("Press Enter for another, or type quit.\n") == 1
    assert (
        "Making up the sum does not help in this game. Ask instead: why pairs, why answers."
        in person.shown
    )
    assert person.shown.count("Enter for another, quit to stop: ") == 4


def test_a_set_that_is_exhausted_says_so() -> None:
    person = Person("skip", "")
    assert hold("draft --blocks 1-3 --seed 1", person) == FINISHED
    assert person.shown.endswith("\nThere are no more puzzles in draft (blocks 1-3).\n")


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
def test_whatever_is_typed_a_run_comes_to_a_proper_end(
    name: str, seed: int, typed: list[str], count: int | None
) -> None:
    person = Person(*typed)
    number = "" if count is None else f" --count {count}"
    assert hold(f"{name} --seed {seed}{number}", person) in {FINISHED, FAILED}
    assert person.shown.count("One move wins. Which? ") <= len(typed) + 1


# For programs -------------------------------------------------------------------------------------


def printed(call: str, capsys: pytest.CaptureFixture[str]) -> Iterator[dict[str, object]]:
    assert hold(f"{call} --json", Person()) == FINISHED
    yield from json.loads(capsys.readouterr().out)["puzzles"]


@pytest.mark.parametrize(
    ("call", "count"),
    [("draft --count 8 --seed 4", 8), ("--count 6 --seed 4", 6), ("climb --blocks 1-400", 1)],
)
def test_a_set_is_printed_with_its_solutions(
    call: str, count: int, capsys: pytest.CaptureFixture[str]
) -> None:
    found = list(printed(call, capsys))
    assert len(found) == count
    for each in found:
        table = record.read(str(each["ref"]))
        book = table.book
        assert (book.name, list(table.game.moves)) == (each["game"], each["moves"])
        assert (table.game.to_move + 1, list(table.game.legal)) == (each["seat"], each["legal"])
        best = each["line"]
        assert isinstance(best, list)
        assert best[0] == each["answer"]
        assert len(best) == (
            each["plies"] if isinstance(each["plies"], int) and each["plies"] < MAX_LINE else 100
        )
        for block in best:
            table = table.play(block)
        if len(best) < MAX_LINE:
            assert table.outcome is not None
            assert table.outcome.winner == int(str(each["seat"])) - 1


def test_a_set_that_is_smaller_than_asked_for_says_so_beside_it(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert hold("climb --seed 1 --count 50 --json", Person()) == FINISHED
    out, err = capsys.readouterr()
    assert len(json.loads(out)["puzzles"]) == 24
    assert err == "tower: 24 of the 50 puzzles asked for: there are no more puzzles in climb\n"
