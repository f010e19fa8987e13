"""Reviews: what each move was worth, what was better, and the same as text, as JSON and as a page.

`python tests/coach/test_review.py` writes the golden files anew; read the difference before you
keep it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import redirect_stdout
from io import StringIO
from itertools import count
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import number_tower as nt
from number_tower import Game, NotSolvedError, Outcome, Position, Rules, Solution
from number_tower.coach import review as reviews
from number_tower.coach.review import Accuracy, GameReview, ReviewText, review
from number_tower.engine import record
from number_tower.solve import limits
from number_tower.solve.limits import SearchLimits
from number_tower.solve.worth import Solver
from number_tower.terminal.cli import main
from number_tower.terminal.cli.commands import review as reviewing
from number_tower.terminal.cli.terminal import Terminal
from support.command import GOLDEN, ROOT, plain_environment, run_tower
from support.sizes import examples
from support.strategies import any_rules

REVIEWS = GOLDEN / "review"
REFS = {
    "draft-skip-and-draw": "draft:9,5,1,3,2",
    "climb-eight": "climb:7,10,13,18,20,24,26,30",
    "climb-thirty": f"climb:{','.join(map(str, range(1, 31)))}",
    "summit-odd-names": 'summit(names=<Ann> & "Co" \N{GRINNING FACE},\u0639\u0644\u064a):5,4,6,5',
    "race": "race:7,8,5,5,3",
    "factor": "factor:6,3,9,1,8,4,2",
    "resigned-while-winning": "draft(names=Ann,Ben,first=2,resigned=2):9",
    "unfinished": "summit(hidden=yes):5,4,6",
    "not-begun": "race:",
}
POINTS = {"win": 1, "draw": 0, "loss": -1}

SMALL = any_rules(most_blocks=5, largest=12, highest=24)
few = settings(max_examples=examples(60))


@st.composite
def small_games(draw: st.DrawFn) -> Game:
    """A game that is solved at once, played at random for as long as it pleases."""
    game = Game(draw(SMALL), draw(st.integers(0, 1)))
    while game.outcome is None and draw(st.integers(0, 7)):
        game = game.play(draw(st.sampled_from(game.legal)))
    return game


def printed(*arguments: str) -> str:
    """What `tower review` prints, without starting it anew."""
    with redirect_stdout(StringIO()) as out:
        assert main.main(["review", *arguments]) == 0
    return out.getvalue()


def screen_with(**changed: object) -> Terminal:
    screen = type(
        "Screen", (Terminal,), {"columns": changed.pop("columns")} if "columns" in changed else {}
    )()
    for key, value in changed.items():
        setattr(screen, key, value)
    assert isinstance(screen, Terminal)
    return screen


def reviewed(ref: str) -> GameReview:
    table = record.from_line(ref)
    return review(table.game, declared=table.declared)


# What moves were worth ----------------------------------------------------------------------------


@given(small_games())
@few
def test_every_move_is_judged_as_the_solver_judges_it(game: Game) -> None:
    seen = review(game)
    positions = [each.position for each in game.history()]
    solutions = [nt.solve(position) for position in positions]
    assert list(seen.worths) == [solution.worth for solution in solutions]
    assert len(seen.moves) == len(game.moves)
    for place, move in enumerate(seen.moves):
        solution = solutions[place]
        values = {worth.value for worth in solution.moves.values()}
        assert (move.ply, move.player, move.block) == (
            place + 1,
            game.movers[place],
            game.moves[place],
        )
        assert move.before == solution.worth
        assert move.after == solution.moves[move.block]
        assert move.mattered == (len(values) > 1)
        assert move.forced == (len(solution.moves) == 1)
        assert move.cost == POINTS[solution.value] - POINTS[solution.moves[move.block].value]
        assert move.mistake == (move.cost > 0)
        if move.mistake:
            ranks = [solution.moves[block].rank for block in move.best]
            assert {*move.best} == {
                b for b, worth in solution.moves.items() if worth.value == solution.value
            }
            assert ranks == sorted(ranks, reverse=True)
            assert move.reason is not None
            assert move.refutation is not None
            assert (move.reason.block, move.refutation.block) == (move.best[0], move.block)
        else:
            assert (move.best, move.reason, move.refutation) == ((), None, None)


@given(small_games())
@few
def test_the_line_of_values_changes_at_mistakes_and_nowhere_else(game: Game) -> None:
    seen = review(game)
    assert seen.unsolved == 0
    for move, before, after in zip(seen.moves, seen.values, seen.values[1:], strict=False):
        assert before is not None
        assert after is not None
        assert (before - after) * (1 if move.player == 0 else -1) == move.cost >= 0
        assert move.mistake <= bool(move.mattered)
        assert not (move.mistake and move.before is not None and move.before.value == "loss")
    turning = seen.turning_point
    assert (turning is None) == (not seen.mistakes)
    if turning is not None:
        assert turning == seen.mistakes[-1]
        assert {*seen.values[turning.ply :]} == {seen.values[-1]}
        assert seen.values[turning.ply - 1] != seen.values[-1]
    for seat, accuracy in enumerate(seen.accuracy):
        mine = [move for move in seen.moves if move.player == seat]
        assert accuracy.mattered == sum(bool(move.mattered) for move in mine)
        assert accuracy.mattered - accuracy.kept == sum(move.mistake for move in mine)
    if game.outcome is not None:
        winner = game.outcome.winner
        assert seen.values[-1] == (0 if winner is None else 1 if winner == 0 else -1)


@given(SMALL, st.integers(0, 1))
@few
def test_whoever_plays_the_best_moves_makes_no_mistake(rules: Rules, first: int) -> None:
    game = Game(rules, first)
    for block in nt.solve(game).line():
        game = game.play(block)
    seen = review(game)
    assert not seen.mistakes
    assert seen.turning_point is None
    assert all(accuracy.fraction in {None, 1.0} for accuracy in seen.accuracy)


def test_a_player_who_moves_again_after_a_skip_is_judged_from_their_own_side() -> None:
    seen = reviewed("draft:9,5,1,3,2")
    assert [move.skips for move in seen.moves] == [False, False, False, True, False]
    assert [move.player for move in seen.moves[3:]] == [1, 1]
    assert seen.values == (1, 1, 1, -1, 0, 0)
    assert [move.mark for move in seen.moves] == ["", "", "??", "?", ""]


def test_accuracy_is_not_counted_where_nothing_mattered() -> None:
    assert Accuracy(0, 0).fraction is None
    assert Accuracy(3, 4).fraction == 0.75
    assert reviewed("draft:9,8,6").accuracy == (Accuracy(2, 2), Accuracy(0, 0))


def test_a_result_by_word_is_the_outcome_and_the_position_keeps_its_value() -> None:
    seen = reviewed("draft(resigned=1):9")
    assert seen.outcome == Outcome(1, "resigned")
    assert seen.values == (1, 1)


def test_a_game_without_a_move_has_a_value_and_nothing_else() -> None:
    seen = review(Game(nt.rules("race")))
    assert (seen.moves, seen.values, seen.turning_point) == ((), (1,), None)


# What is not known --------------------------------------------------------------------------------


@pytest.fixture
def forgotten(monkeypatch: pytest.MonkeyPatch) -> set[int]:
    """After how many of its nine blocks a game's position is not solved."""
    plies: set[int] = set()

    def solution(position: Position, watch: SearchLimits, *, solver: Solver) -> Solution:
        if 9 - position.left[0].bit_count() in plies:
            raise NotSolvedError("not solved")
        return Solution(position, watch, solver=solver)

    monkeypatch.setattr(reviews, "Solution", solution)
    return plies


def test_what_is_not_solved_stays_unknown_and_is_not_counted(forgotten: set[int]) -> None:
    forgotten.add(1)
    seen = reviewed("factor:6,3,9,1,8,4,2")
    assert seen.values == (1, None, 1, 1, 1, 1, 1, 1)
    first, second, *others = seen.moves
    assert (first.before is None, first.after, first.mistake) == (False, None, False)
    assert (second.before, second.mattered, second.mistake, second.best) == (None, None, False, ())
    assert all(move.before and move.after for move in others)
    assert seen.accuracy == (Accuracy(2, 2), Accuracy(0, 0))
    assert seen.turning_point is None
    assert (
        ReviewText(("A", "B")).format_turning_point(seen)
        == "Whether there was a turning point is not known."
    )
    assert ReviewText(("A", "B")).format_unsolved(seen) == (
        "1 of 8 positions was not solved in its time: nothing is said or counted there."
    )


def test_a_turning_point_is_known_when_all_after_it_is_known(forgotten: set[int]) -> None:
    forgotten.add(0)
    turning = reviewed("factor:6,3,9,1,8,4,2").turning_point
    assert turning is not None
    assert turning.ply == 2


def test_earlier_positions_are_left_alone_after_two_that_were_not_solved(
    forgotten: set[int],
) -> None:
    forgotten.update({3, 4})
    assert reviewed("factor:6,3,9,1,8,4,2").values == (None, None, None, None, None, 1, 1, 1)
    forgotten.symmetric_difference_update({2, 3})
    assert reviewed("factor:6,3,9,1,8,4,2").values == (1, -1, None, 1, None, 1, 1, 1)


def test_the_time_is_given_to_each_position_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    ticks = count()
    monkeypatch.setattr(limits, "perf_counter", lambda: float(next(ticks)))
    game = record.from_line("summit(target=60,blocks=1-12):12,11,10,9").game
    spent: list[float] = []
    assert (
        review(game, seconds=1e9, progress=lambda progress: spent.append(progress.seconds)).unsolved
        == 0
    )
    assert spent == sorted(spent)
    assert review(game, seconds=0.7 * spent[-1]).unsolved == 0
    assert review(game, seconds=1).values == (None,) * 5


def test_the_command_says_what_it_does_not_know(monkeypatch: pytest.MonkeyPatch) -> None:
    # As if nothing could be solved.
    monkeypatch.setattr(reviews._PositionSolver, "solve", lambda *_: None)  # noqa: SLF001
    text = printed("race:7,8,5,5,3")
    assert "unknown -> unknown" in text
    assert "unknown -> win" in text
    assert "5 of 6 positions were not solved in their time" in text
    assert "no move known to be important" in text
    document = json.loads(printed("race:7,8,5,5,3", "--json"))
    assert document["values"] == [None, None, None, None, None, "win"]
    assert document["review"][0]["before"] is document["review"][0]["mistake"] is None
    assert document["unsolved"] == 5
    assert printed("race:7,8,5,5,3", "--html", "-").count("unknown\n") == 5


# Told ---------------------------------------------------------------------------------------------


GOLDEN_REVIEWS = [
    *((name, kind) for name in REFS for kind in ("txt", "json")),
    ("draft-skip-and-draw", "html"),
]


@pytest.mark.parametrize(("name", "kind"), GOLDEN_REVIEWS)
def test_reviews_are_as_they_were(name: str, kind: str) -> None:
    assert golden(name, kind) == (REVIEWS / f"{name}.{kind}").read_text(encoding="utf-8")


def golden(name: str, kind: str) -> str:
    if kind == "json":
        return (
            json.dumps(json.loads(printed(REFS[name], "--json")), indent=1, ensure_ascii=False)
            + "\n"
        )
    return printed(REFS[name], *(["--html", "-"] if kind == "html" else []))


def test_all_columns_stand_below_each_other() -> None:
    rows = [line for line in printed("climb:7,10,13,18,20,24,26,30").splitlines() if "->" in line]
    assert len(rows) == 9
    assert len({row.index("->") for row in rows[1:]}) == 1
    assert {row.index("??") for row in rows if "??" in row} == {rows[1].index("??")}


@pytest.mark.parametrize(
    ("ref", "headline"),
    [
        ("draft:9,8,6", "Player 1 wins: Player 1's tower is exactly 15."),
        ("climb:30", "Player 1 wins: Player 2 cannot place a number."),
        ("draft:6,5,1,3,2", "Player 2 wins: Player 2's tower is higher, 10 to 7."),
        ("draft:9,5,1,3,2", "A draw: no tower is higher."),
        ("rules(stuck=skips,fit=descending,blocks=1-3):1", "A draw: no tower is higher."),
        ("draft(forfeit=1):9", "Player 2 wins: Player 1 forfeited."),
        ("draft(names=Ann,Ben,resigned=2):9", "Ann wins: Ben resigned."),
        ("draft(abandoned=yes):9", "Nobody wins: the game was abandoned."),
        ("draft:9,8", "Unfinished after 2 moves: it is Player 1's turn."),
        ("draft:", "No move has been made yet: it is Player 1's turn."),
    ],
)
def test_the_first_line_says_how_it_ended(ref: str, headline: str) -> None:
    assert printed(ref).splitlines()[0] == headline


def test_giving_up_what_was_not_lost_is_the_turning_point() -> None:
    assert "Turning point: Player 1 was winning when Player 1 resigned.\n" in printed(
        "draft(resigned=1):9"
    )
    assert "Turning point: the game was a draw when Player 2 forfeited.\n" in printed(
        "draft(forfeit=2):9,5,1,3"
    )
    assert "Turning point: move 1, Player 1's 1. From then on Player 2" in printed(
        "draft(resigned=1):1"
    )


def test_a_game_of_five_hundred_moves_is_gone_through() -> None:
    moves = ",".join(map(str, range(1, 501)))
    text = printed(f"rules(blocks=1-500,fit=ascending,step=3):{moves}")
    assert text.count(" -> ") == 501
    assert "Turning point: move 499, Player 1's 499." in text


def test_colour_is_there_besides_and_tells_nothing_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = printed("draft:9,5,1,3,2")
    monkeypatch.setattr(main, "Terminal", lambda **_: screen_with(colour=True))
    text = printed("draft:9,5,1,3,2")
    assert "\033[" in text
    assert text != plain
    assert "".join(piece.partition("m")[2] for piece in f"m{text}".split("\033[")) == plain


def test_long_sentences_are_broken_between_words_on_a_terminal(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(main, "Terminal", lambda **_: screen_with(columns=60))
    assert max(map(len, printed("draft:9,5,1,3,2").splitlines())) <= 60


# As JSON ------------------------------------------------------------------------------------------


def test_the_document_holds_all_of_it_with_seats_from_one() -> None:
    document = json.loads(printed("draft(names=Ann,Ben,first=2):9,5,1,3,2", "--json"))
    assert (document["game"], document["names"], document["first"]) == ("draft", ["Ann", "Ben"], 2)
    assert document["moves"] == [9, 5, 1, 3, 2]
    assert document["result"] == {"winner": None, "reason": "level"}
    assert document["values"] == ["loss", "loss", "loss", "win", "draw", "draw"]
    assert [move["player"] for move in document["review"]] == [2, 1, 2, 1, 1]
    assert document["review"][2]["mark"] == "??"
    assert document["review"][2]["best"][0] == 6
    assert document["review"][2]["reason"] == "That takes Ben's tower to exactly 15."
    assert document["review"][2]["before"] == {"value": "win", "plies": 1}
    assert document["turning_point"] == 4
    assert document["accuracy"][1] == {"player": 2, "kept": 1, "mattered": 2, "fraction": 0.5}


def test_every_key_of_the_document_is_documented() -> None:
    page = (ROOT / "docs/how-to/review.md").read_text()
    document = json.loads(printed("draft:9,5,1,3,2", "--json"))
    for entry in (document, document["result"], document["review"][0], document["accuracy"][0]):
        assert {key for key in entry if f"`{key}`" not in page} == set()


# Kept in a file -----------------------------------------------------------------------------------


def test_the_page_is_kept_in_a_file_and_the_text_says_where(tmp_path: Path) -> None:
    path = tmp_path / "game.html"
    text = printed("draft:9,8,6", "--html", str(path))
    assert text == printed("draft:9,8,6") + f"\nPage saved to {path}.\n"
    assert path.read_text() == printed("draft:9,8,6", "--html", "-")
    assert printed("race:7", "--json", "--html", str(path), "--force") == printed(
        "race:7", "--json"
    )
    assert path.read_text() == printed("race:7", "--html", "-")
    assert os.listdir(tmp_path) == ["game.html"]


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("nowhere/game.html", "there is no folder"),
        ("folder", "is not a file that a page can be saved to"),
        ("notes.txt", "exists already; choose another file, or add --force to replace it"),
    ],
)
def test_where_no_page_can_be_kept_it_is_said_before_any_work(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    name: str,
    problem: str,
) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "notes.txt").write_text("do not lose this")
    monkeypatch.setattr(reviewing, "review", None)
    assert main.main(["review", "race:7", "--html", str(tmp_path / name) if name else ""]) == 2
    assert problem in capsys.readouterr().err
    assert (tmp_path / "notes.txt").read_text() == "do not lose this"


def test_a_page_that_cannot_be_written_leaves_the_one_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "game.html"
    path.write_text("<p>")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.replace", full)
    assert main.main(["review", "race:7", "--html", str(path), "--force"]) == 2
    out, err = capsys.readouterr()
    assert (out, err) == (
        "",
        f"tower: the page cannot be saved to {path}: No space left on device\n",
    )
    assert path.read_text() == "<p>"
    assert os.listdir(tmp_path) == ["game.html"]


def test_two_things_cannot_be_printed_at_once(capsys: pytest.CaptureFixture[str]) -> None:
    assert main.main(["review", "race:7", "--json", "--html", "-"]) == 2
    assert "cannot both be printed" in capsys.readouterr().err


def test_the_command_reviews_a_record_in_a_file(tmp_path: Path) -> None:
    (tmp_path / "game.json").write_text(record.to_json(record.from_line(REFS["race"])))
    done = run_tower("review", str(tmp_path / "game.json"))
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == printed(REFS["race"])


def test_a_page_survives_any_encoding_of_the_output() -> None:
    environment = plain_environment(PYTHONUTF8="0", PYTHONIOENCODING="ascii")
    done = subprocess.run(
        [sys.executable, "-m", "number_tower", "review", REFS["summit-odd-names"], "--html", "-"],
        capture_output=True, check=True, env=environment,
    )  # fmt: skip
    assert done.stdout.decode() == printed(REFS["summit-odd-names"], "--html", "-")


if __name__ == "__main__":
    REVIEWS.mkdir(parents=True, exist_ok=True)
    for each, suffix in GOLDEN_REVIEWS:
        (REVIEWS / f"{each}.{suffix}").write_text(golden(each, suffix), encoding="utf-8")
