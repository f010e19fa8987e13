"""Reviews: what a move was worth, what was better, and the same as text, as JSON and as a page.

`python tests/coach/test_review.py` writes the golden files anew; read the difference before you
keep it.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from contextlib import redirect_stdout
from io import StringIO
from itertools import count
from pathlib import Path
from unittest.mock import Mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from syrupy.assertion import SnapshotAssertion

import number_tower as nt
from number_tower import Game, NotSolvedError, Position, Rules, Solution
from number_tower.coach import review as review_module
from number_tower.coach.review import Accuracy, GameReview, ReviewText, review
from number_tower.engine import record
from number_tower.solve import limits
from number_tower.solve.limits import SearchLimits
from number_tower.solve.worth import Solver
from number_tower.terminal.cli import main
from number_tower.terminal.cli.commands import review as review_command
from number_tower.terminal.cli.terminal import Terminal
from support.command import GOLDEN, ROOT, plain_environment
from support.sizes import examples
from support.strategies import any_game, any_rules

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


small_games = any_game(rules=SMALL)


def print_review(*arguments: str) -> str:
    """Return what `tower review` prints, run in this process."""
    with redirect_stdout(StringIO()) as out:
        assert main.main(["review", *arguments]) == 0
    return out.getvalue()


def review_line(line: str) -> GameReview:
    table = record.from_line(line)
    return review(table.game, declared=table.declared)


# What moves were worth ----------------------------------------------------------------------------


@given(small_games)
@few
def test_every_move_is_judged_as_the_solver_judges_it(game: Game) -> None:
    seen = review(game)
    solutions = [nt.solve(before.position) for before in game.history()]
    assert list(seen.worths) == [solution.worth for solution in solutions]
    assert [move.ply for move in seen.moves] == list(range(1, len(game.moves) + 1))
    for move, solution, player, block in zip(
        seen.moves, solutions, game.movers, game.moves, strict=False
    ):
        worths = solution.moves
        assert (move.player, move.block) == (player, block)
        assert (move.before, move.after) == (solution.worth, worths[block])
        assert move.mattered == (len({worth.value for worth in worths.values()}) > 1)
        assert move.forced == (len(worths) == 1)
        assert move.cost == POINTS[solution.value] - POINTS[worths[block].value]
        assert move.mistake == (move.cost > 0)
        if not move.mistake:
            assert (move.best, move.reason, move.refutation) == ((), None, None)
            continue
        good = [other for other, worth in worths.items() if worth.value == solution.value]
        assert sorted(move.best) == good
        ranks = [worths[other].rank for other in move.best]
        assert ranks == sorted(ranks, reverse=True)
        assert move.reason is not None
        assert move.refutation is not None
        assert (move.reason.block, move.refutation.block) == (move.best[0], block)


@given(small_games)
@few
def test_values_change_at_mistakes_and_nowhere_else(game: Game) -> None:
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
def test_best_moves_are_no_mistakes(rules: Rules, first: int) -> None:
    start = Game(rules, first)
    seen = review(Game(rules, first, tuple(nt.solve(start).line())))
    assert not seen.mistakes
    assert seen.turning_point is None
    assert all(accuracy.fraction in {None, 1.0} for accuracy in seen.accuracy)


def test_player_who_moves_again_after_a_skip_is_judged_from_the_same_side() -> None:
    seen = review_line("draft:9,5,1,3,2")
    assert [move.skips for move in seen.moves] == [False, False, False, True, False]
    assert [move.player for move in seen.moves[3:]] == [1, 1]
    assert seen.values == (1, 1, 1, -1, 0, 0)
    assert [move.mark for move in seen.moves] == ["", "", "??", "?", ""]


def test_accuracy_is_unknown_where_nothing_mattered() -> None:
    assert Accuracy(0, 0).fraction is None
    assert Accuracy(3, 4).fraction == 0.75
    assert review_line("draft:9,8,6").accuracy == (Accuracy(2, 2), Accuracy(0, 0))


# What is not known --------------------------------------------------------------------------------


@pytest.fixture
def unsolved(monkeypatch: pytest.MonkeyPatch) -> set[int]:
    """After how many of its nine blocks a game's position is not solved."""
    plies: set[int] = set()

    def solution(position: Position, watch: SearchLimits, *, solver: Solver) -> Solution:
        if 9 - position.left[0].bit_count() in plies:
            raise NotSolvedError("not solved")
        return Solution(position, watch, solver=solver)

    monkeypatch.setattr(review_module, "Solution", solution)
    return plies


FACTOR = "factor:6,3,9,1,8,4,2"


def test_position_that_is_not_solved_stays_unknown_and_is_not_counted(
    unsolved: set[int], snapshot: SnapshotAssertion
) -> None:
    unsolved.add(1)
    seen, text = review_line(FACTOR), ReviewText(("A", "B"))
    assert seen.values == (1, None, 1, 1, 1, 1, 1, 1)
    first, second, *others = seen.moves
    assert (first.before is None, first.after, first.mistake) == (False, None, False)
    assert (second.before, second.mattered, second.mistake, second.best) == (None, None, False, ())
    assert all(move.before and move.after for move in others)
    assert seen.accuracy == (Accuracy(2, 2), Accuracy(0, 0))
    assert seen.turning_point is None
    assert (text.format_turning_point(seen), text.format_unsolved(seen)) == snapshot


def test_turning_point_is_known_when_all_positions_after_it_are(unsolved: set[int]) -> None:
    unsolved.add(0)
    turning = review_line(FACTOR).turning_point
    assert turning is not None
    assert turning.ply == 2


def test_search_stops_before_two_positions_that_are_not_solved(unsolved: set[int]) -> None:
    unsolved.update({3, 4})
    assert review_line(FACTOR).values == (None, None, None, None, None, 1, 1, 1)
    unsolved.symmetric_difference_update({2, 3})
    assert review_line(FACTOR).values == (1, -1, None, 1, None, 1, 1, 1)


def test_time_is_counted_anew_for_each_position(monkeypatch: pytest.MonkeyPatch) -> None:
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


@pytest.mark.parametrize("form", [["--json"], ["--html", "-"], []], ids=["json", "html", "text"])
def test_command_shows_what_it_does_not_know(
    form: list[str], monkeypatch: pytest.MonkeyPatch, snapshot: SnapshotAssertion
) -> None:
    # As if nothing could be solved.
    monkeypatch.setattr(review_module._PositionSolver, "solve", lambda *_: None)  # noqa: SLF001
    printed = print_review("race:7,8,5,5,3", *form)
    if "--json" in form:
        document = json.loads(printed)
        assert document["values"] == [None, None, None, None, None, "win"]
        assert document["review"][0]["before"] is document["review"][0]["mistake"] is None
        assert document["unsolved"] == 5
    elif "--html" in form:
        assert printed.count("unknown\n") == 5
    else:
        assert printed == snapshot


# Texts --------------------------------------------------------------------------------------------


GOLDEN_REVIEWS = [
    *((name, kind) for name in REFS for kind in ("txt", "json")),
    ("draft-skip-and-draw", "html"),
]


@pytest.mark.parametrize(("name", "kind"), GOLDEN_REVIEWS)
def test_reviews_are_as_they_were(name: str, kind: str) -> None:
    assert record_review(name, kind) == (REVIEWS / f"{name}.{kind}").read_text(encoding="utf-8")


def record_review(name: str, kind: str) -> str:
    if kind == "json":
        return (
            json.dumps(json.loads(print_review(REFS[name], "--json")), indent=1, ensure_ascii=False)
            + "\n"
        )
    return print_review(REFS[name], *(["--html", "-"] if kind == "html" else []))


LONG = f"rules(blocks=1-500,fit=ascending,step=3):{','.join(map(str, range(1, 501)))}"


@pytest.mark.parametrize(
    "line",
    [
        *("draft:9,8,6", "climb:30", "draft:6,5,1,3,2", "draft:9,5,1,3,2", "draft(forfeit=1):9"),
        *("rules(stuck=skips,fit=descending,blocks=1-3):1", "draft(names=Ann,Ben,resigned=2):9"),
        *("draft(abandoned=yes):9", "draft:9,8", "draft:", "draft(resigned=1):9"),
        *("draft(forfeit=2):9,5,1,3", "draft(resigned=1):1", LONG),
    ],
    ids=lambda line: line[:50],
)
def test_headline_and_turning_point_are_as_recorded(line: str, snapshot: SnapshotAssertion) -> None:
    table, text = record.from_line(line), ReviewText(("Player 1", "Player 2"))
    seen = review_line(line)
    assert (text.format_headline(seen), text.format_turning_point(seen)) == snapshot
    assert len(seen.moves) == len(table.game.moves)


def test_colour_adds_nothing_to_the_words(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = print_review("draft:9,5,1,3,2")
    terminal = Terminal()
    terminal.colour = True
    monkeypatch.setattr(main, "Terminal", lambda **_: terminal)
    coloured = print_review("draft:9,5,1,3,2")
    assert coloured != plain
    assert re.sub(r"\033\[[0-9;]*m", "", coloured) == plain


def test_long_sentences_are_broken_at_the_width_of_the_terminal(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    narrow = type("NarrowTerminal", (Terminal,), {"columns": 60})
    monkeypatch.setattr(main, "Terminal", lambda **_: narrow())
    assert max(map(len, print_review("draft:9,5,1,3,2").splitlines())) <= 60


# As JSON ------------------------------------------------------------------------------------------


def test_every_key_of_the_json_is_documented() -> None:
    page = (ROOT / "docs/how-to/review.md").read_text()
    document = json.loads(print_review("draft:9,5,1,3,2", "--json"))
    for entry in (document, document["result"], document["review"][0], document["accuracy"][0]):
        assert {key for key in entry if f"`{key}`" not in page} == set()


# Saved in a file ----------------------------------------------------------------------------------


def test_page_is_saved_in_a_file(tmp_path: Path) -> None:
    path, saved = tmp_path / "game.html", tmp_path / "game.json"
    saved.write_text(record.to_json(record.from_line("draft:9,8,6")))
    text = print_review(str(saved), "--html", str(path))
    assert text == print_review("draft:9,8,6") + f"\nPage saved to {path}.\n"
    assert path.read_text() == print_review("draft:9,8,6", "--html", "-")
    document = print_review("race:7", "--json", "--html", str(path), "--force")
    assert document == print_review("race:7", "--json")
    assert path.read_text() == print_review("race:7", "--html", "-")
    assert sorted(os.listdir(tmp_path)) == ["game.html", "game.json"]


@pytest.mark.parametrize(
    "call",
    ["--html nowhere/game.html", "--html folder", "--html notes.txt", "--json --html -"],
)
def test_page_that_cannot_be_saved_is_refused_before_any_work(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    snapshot: SnapshotAssertion,
    call: str,
) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "notes.txt").write_text("do not lose this")
    monkeypatch.setattr(review_command, "review", None)
    monkeypatch.chdir(tmp_path)
    assert main.main(["review", "race:7", *call.split()]) == 2
    assert capsys.readouterr().err.replace(str(tmp_path), "FOLDER") == snapshot
    assert (tmp_path / "notes.txt").read_text() == "do not lose this"


def test_page_that_cannot_be_written_leaves_the_one_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "game.html"
    path.write_text("<p>")
    monkeypatch.setattr("os.replace", Mock(side_effect=OSError(28, "No space left on device")))
    assert main.main(["review", "race:7", "--html", str(path), "--force"]) == 2
    problem = f"tower: the page cannot be saved to {path}: No space left on device\n"
    assert capsys.readouterr() == ("", problem)
    assert path.read_text() == "<p>"
    assert os.listdir(tmp_path) == ["game.html"]


def test_page_survives_any_encoding_of_the_output() -> None:
    environment = plain_environment(PYTHONUTF8="0", PYTHONIOENCODING="ascii")
    done = subprocess.run(
        [sys.executable, "-m", "number_tower", "review", REFS["summit-odd-names"], "--html", "-"],
        capture_output=True, check=True, env=environment,
    )  # fmt: skip
    assert done.stdout.decode() == print_review(REFS["summit-odd-names"], "--html", "-")


if __name__ == "__main__":
    REVIEWS.mkdir(parents=True, exist_ok=True)
    for game, suffix in GOLDEN_REVIEWS:
        (REVIEWS / f"{game}.{suffix}").write_text(record_review(game, suffix), encoding="utf-8")
