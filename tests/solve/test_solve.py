"""What positions are worth: every method against the plain search and the recorded numbers."""

from __future__ import annotations

import subprocess
import sys
import tracemalloc
from collections.abc import Callable, Iterable
from itertools import count, pairwise
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from syrupy.assertion import SnapshotAssertion

import number_tower as nt
from number_tower import Game, NotSolvedError, Position, Progress, Rules, Worth
from number_tower.engine import catalogue
from number_tower.solve import deep, jit, limits
from number_tower.solve.deep import DeepSolver, Search
from number_tower.solve.limits import MIB, SearchLimits
from number_tower.solve.matching import MatchingSolver
from number_tower.solve.separate_towers import SeparateTowersSolver
from number_tower.solve.solution import choose_solver
from number_tower.solve.top import TopSolver
from number_tower.solve.worth import Solver, Value
from support.game_tree import Tree, list_reachable
from support.plain import PlainSolver
from support.refusals import describe_refusal
from support.sizes import examples, size
from support.strategies import any_game, any_rules

NAMES = catalogue.list_names()

LOST_WON = ("loss", "win")
Method = Callable[[Position], Solver]

SEARCHES: dict[str, Method] = {
    "interpreted": lambda position: DeepSolver(position, SearchLimits(), compiled=False),
    "compiled": lambda position: DeepSolver(position, SearchLimits(), compiled=True),
}
THEORIES = (TopSolver, SeparateTowersSolver, MatchingSolver)
VALUES: dict[int, Value] = {1: "win", 0: "draw", -1: "loss"}


MEMORY = "not solved within 64 MiB of memory"
SMALL = any_rules(most_blocks=5, largest=12, highest=24)


def list_positions(game: Game) -> list[Position]:
    """Return all positions of a game, from the start to the end."""
    return [moment.position for moment in game.history()]


whole_games = any_game(to_the_end=True, rules=SMALL).map(list_positions)


def check(solver: Solver, positions: Iterable[Position]) -> None:
    """Check that a method agrees with the plain search on all positions and their moves."""
    plain = PlainSolver()
    for position in positions:
        assert solver.evaluate(position) == plain.evaluate(position), position.rules
        for block in position.legal:
            worth = solver.evaluate_move(position, block)
            assert worth == plain.evaluate_move(position, block), (position.rules, block)


thorough = settings(max_examples=size(30, 800))

# Every method is right ----------------------------------------------------------------------------


@given(whole_games)
@thorough
def test_chosen_method_is_right_in_any_game(positions: list[Position]) -> None:
    check(choose_solver(positions[0], SearchLimits(), plies=True), positions)


@pytest.mark.parametrize("name", SEARCHES)
@given(positions=whole_games)
@thorough
def test_deep_search_is_right_in_any_game(name: str, positions: list[Position]) -> None:
    check(SEARCHES[name](positions[0]), positions)


@given(any_game(to_the_end=True, rules=any_rules(most_blocks=7, largest=20, highest=50)), st.data())
@settings(max_examples=examples(150))
def test_values_without_plies_are_the_same(game: Game, data: st.DataObject) -> None:
    position = data.draw(st.sampled_from(list_positions(game)[-6:]))
    with_plies, alone = nt.solve(position), nt.solve(position, plies=False)
    assert alone.value == with_plies.value
    assert {block: worth.value for block, worth in alone.moves.items()} == {
        block: worth.value for block, worth in with_plies.moves.items()
    }
    assert all(worth.plies is None for worth in alone.moves.values())


OUT_OF_THE_WAY = [
    Rules(range(1, 6), supply="shared", towers="own", fit="related", target=9),
    Rules(range(1, 7), supply="shared", towers="own", fit="unrelated", stuck="skips"),
    Rules((2, 3, 7), supply="endless", towers="shared", fit="any", target=23),
    Rules((2, 3, 7), supply="endless", towers="own", fit="unrelated", target=19, stuck="skips"),
    Rules((1, 2, 4, 6), supply="endless", towers="shared", fit="related", target=20, stuck="skips"),
    Rules(range(1, 7), supply="shared", towers="shared", fit="related", stuck="skips"),
    Rules(range(1, 6), supply="own", towers="shared", fit="any", target=14, stuck="skips"),
    Rules(range(1, 6), supply="own", towers="shared", fit="descending", opening=(3, 4)),
    Rules(range(1, 7), supply="own", towers="shared", fit="ascending", step=2, target=17,
        opening=(1, 3)),
    Rules(range(2, 12, 2), supply="own", towers="shared", fit="any", target=24, opening=(4,)),
    Rules(range(1, 8), supply="shared", towers="own", fit="descending", target=11, stuck="skips",
        opening=(5, 6)),
    Rules(range(1, 7), supply="shared", towers="shared", fit="any", target=12),
    Rules((1, 2, 3, 10**8, 10**9), supply="shared", towers="own", fit="any", stuck="skips"),
    Rules((3, 10**8, 2 * 10**8, 10**9), supply="own", towers="shared", fit="any", target=10**9),
    Rules((1, 2, 4), supply="own", towers="own", fit="related", target=6, stuck="skips"),
]  # fmt: skip


@pytest.mark.parametrize("name", SEARCHES)
@pytest.mark.parametrize("rules", OUT_OF_THE_WAY, ids=repr)
def test_rules_that_no_theory_covers(rules: Rules, name: str) -> None:
    start = Position.start(rules)
    assert not any(theory.covers(start) for theory in THEORIES)
    check(SEARCHES[name](start), list_reachable(start))


@pytest.mark.parametrize("name", SEARCHES)
@pytest.mark.parametrize(
    ("left", "top"), [(([8, 24, 56, 372], [7, 49, 343]), 12), (([1, 2, 24, 48], [3, 6, 12]), 12)]
)
def test_length_of_a_draw_survives_many_skips_in_a_row(
    name: str, left: tuple[list[int], list[int]], top: int
) -> None:
    rules = Rules(sorted({*left[0], *left[1], top}), supply="own", fit="related", stuck="skips")
    masks = rules.mask(left[0]), rules.mask(left[1])
    position = Position(rules, masks, (top, top), (top, top), 0)
    check(SEARCHES[name](position), [position])


def test_length_of_a_draw_after_a_long_game() -> None:
    rules = Rules(
        [1, 7, 8, 12, 24, 28, 49, 56, 84, 343, 372, 1176, 5208], supply="own", fit="related",
        stuck="skips"
    )  # fmt: skip
    moves = (343, 1, 49, 1176, 1, 8, 1176, 24, 12, 372, 5208, 28, 7, 56, 28, 5208, 84, 84, 12)
    position = Game(rules, moves=moves).position
    assert nt.solve(position).worth == PlainSolver().evaluate(position) == Worth("draw", 6)


def test_best_moves_may_have_unknown_plies() -> None:
    solution = nt.solve(Game(nt.rules("race")))
    assert solution.plies == 3
    solution.moves = {1: Worth("loss", 4), 6: Worth("win", 21), 7: Worth("win"), 8: Worth("win")}
    assert solution.best == (7, 8)


def test_known_plies_rank_before_unknown_ones() -> None:
    losses, draws = [Worth("loss"), Worth("loss", 4)], [Worth("draw"), Worth("draw", 2)]
    worths = [*losses, *draws, Worth("win"), Worth("win", 9)]
    assert sorted(worths, key=lambda worth: worth.rank) == worths


# The five games -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_every_method_is_right_in_every_position_of_the_five_games(name: str) -> None:
    tree = Tree(nt.rules(name))
    solvers = [search(tree.start) for search in SEARCHES.values()]
    solvers += [
        theory(tree.start, SearchLimits()) for theory in THEORIES if theory.covers(tree.start)
    ]
    if len(tree.start.legal) < 10:
        solvers.append(PlainSolver())
    for position in list_reachable(tree.start):
        value, plies = tree.solve(position)
        for solver in solvers:
            assert solver.evaluate(position) == Worth(VALUES[value], plies), solver.method


@pytest.mark.parametrize(
    ("name", "method"),
    [
        ("race", "two separate towers"), ("draft", "deep search"), ("summit", "deep search"),
        ("climb", "the top alone"), ("factor", "matching"),
    ],
)  # fmt: skip
def test_method_follows_from_the_rules(name: str, method: str) -> None:
    assert nt.solve(Game(nt.rules(name))).method == method


# The interface ------------------------------------------------------------------------------------


def test_solution_shows_what_it_knows() -> None:
    solution = nt.solve(Game(nt.rules("draft"), moves=(9, 8)))
    assert (solution.value, solution.plies, solution.best) == ("win", 1, (6,))
    assert list(solution.moves) == [1, 2, 3, 4, 5, 6]
    assert solution.moves[6] == Worth("win", 1)
    assert solution.moves[5] == Worth("loss", 2)
    assert repr(solution) == "<Solution: win in 1, by deep search>"
    assert repr(nt.solve(Game(nt.rules("draft")), plies=False)) == "<Solution: win, by deep search>"


def test_position_that_cannot_be_solved_is_refused(snapshot: SnapshotAssertion) -> None:
    many, far = range(1, 100_001), (7, 10**7 + 1, 10**8 + 3)
    wrong_limits: list[dict[str, Any]] = [{"seconds": -1}, {"seconds": float("nan")}, {"memory": 0}]
    too_large = [
        Rules(range(1, 1101), supply="own", towers="own", fit="unrelated"),
        Rules(many, fit="unrelated"),
        Rules(many, fit="unrelated", target=100_000),
        Rules(far, supply="endless", towers="own", target=10**9),
    ]
    assert [
        *(describe_refusal(nt.solve, Game(), **limits) for limits in wrong_limits),
        describe_refusal(nt.solve, "draft"),
        *(describe_refusal(nt.solve, Game(rules), memory=64) for rules in too_large),
    ] == snapshot


def test_solve_is_a_function_after_importing_the_folder() -> None:
    script = (
        "from number_tower.solve.worth import Worth; import number_tower as nt; "
        "print(nt.solve(nt.Game()))"
    )
    command = [sys.executable, "-I", "-c", script]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == "<Solution: win in 9, by matching>\n"


def test_illegal_move_has_no_worth() -> None:
    moves = nt.solve(Game(nt.rules("draft"), moves=(8,))).moves
    assert 8 not in moves
    assert repr(moves) == "<8 moves, of which 0 have been looked at>"
    with pytest.raises(KeyError):
        moves[10]


def test_move_is_evaluated_only_when_it_is_looked_at() -> None:
    solution = nt.solve(Game(nt.rules("summit")))
    evaluate = DeepSolver.evaluate_move
    with patch.object(DeepSolver, "evaluate_move", autospec=True, side_effect=evaluate) as asked:
        assert len(solution.moves) == 9
        asked.assert_not_called()
        assert solution.moves[4] == solution.moves[4] == Worth("loss", 4)
        asked.assert_called_once()


@given(whole_games)
def test_best_line_lasts_as_long_as_the_solution_says(positions: list[Position]) -> None:
    solution = nt.solve(positions[0])
    value, plies, mover, length = solution.value, solution.plies, solution.position.to_move, 0
    while solution.best:
        solution = solution.after(solution.best[0])
        length += 1
    outcome, end = solution.position.outcome, solution.position.to_move
    assert length == plies
    assert outcome is not None
    assert value == ("draw" if outcome.winner is None else LOST_WON[outcome.winner == mover])
    assert solution.value == ("draw" if outcome.winner is None else LOST_WON[outcome.winner == end])
    assert (solution.plies, dict(solution.moves), solution.best) == (0, {}, ())


# Pairs --------------------------------------------------------------------------------------------


@given(
    st.sets(st.integers(1, 16), min_size=1, max_size=7),
    st.sampled_from(["any", "related", "unrelated"]),
    st.none() | st.integers(0, 6),
    st.data(),
)
@settings(max_examples=examples(300))
def test_partner_wins_against_a_move_that_does_not_win(
    blocks: set[int], fit: Any, opening: int | None, data: st.DataObject
) -> None:
    permitted = None if opening is None else sorted(blocks)[: opening + 1]
    position = Position.start(Rules(sorted(blocks), fit=fit, opening=permitted))
    matching, plain = MatchingSolver(position, SearchLimits()), PlainSolver()
    while position.legal:
        for block in position.legal:
            answer, after = matching.find_partner(position, block), position.place(block)
            if answer is None:
                assert plain.evaluate(after).value == "loss"
            else:
                assert plain.evaluate_move(after, answer).value == "win"
        position = position.place(data.draw(st.sampled_from(position.legal)))


@pytest.mark.slow
def test_openings_of_a_large_game_are_found_at_once() -> None:
    solution = nt.solve(Game(nt.rules("factor", blocks="1-20000")), plies=False)
    winning = {block for block, worth in solution.moves.items() if worth.value == "win"}
    assert (solution.value, len(winning)) == ("win", 12_747)
    # Only 1 can follow these primes, and the answer to 1 is the next of them.
    assert {10_007, 19_997} <= winning


# Large games --------------------------------------------------------------------------------------


def test_climb_of_a_million_blocks() -> None:
    solution = nt.solve(Game(nt.rules("climb", blocks="1-1000000")))
    assert (solution.value, solution.plies, solution.position.legal[-1]) == ("win", 1, 1_000_000)
    for block in (4, 10, 999_988, 999_994, 1_000_000):
        assert solution.moves[block] == Worth("win", 2 * ((1_000_000 - block) // 6) + 1)
    assert solution.moves[999_995].value == solution.moves[1].value == "loss"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "options", "value"),
    [
        ("summit", {"blocks": "1-20", "target": 80}, "win"),
        ("summit", {"blocks": "1-20", "target": 120}, "loss"),
        ("summit", {"blocks": "1-20", "target": 155}, "win"),
        ("draft", {"blocks": "1-30", "target": 200}, "win"),
        ("draft", {"blocks": "1-20", "target": 100}, "win"),
    ],
)
def test_value_of_games_far_beyond_the_usual_sizes(
    name: str, options: dict[str, object], value: str
) -> None:
    assert nt.solve(Game(nt.rules(name, **options)), plies=False).value == value


@pytest.mark.parametrize(
    ("rules", "worth"),
    [
        (nt.rules("race", blocks="1-200", target=1000), Worth("win", 11)),
        # 553 of the largest blocks are needed.
        (nt.rules("race", blocks="1-1000", target=400_000), Worth("win", 1105)),
        # Nobody can reach the target: 2 and 4, and then nothing fits.
        (nt.rules("race", blocks="2,4,6,8", target=9), Worth("loss", 4)),
        (nt.rules("race", blocks="3,5,7", target=10**6), Worth("loss", 6)),
        # 10, 10, 6, and 15 for the rest.
        (
            Rules((6, 10, 15), supply="endless", towers="own", target=10**9 - 14),
            Worth("win", 2 * 66_666_667 - 1),
        ),
        # More blocks than a machine word has bits.
        (Rules(range(1, 101), target=150), Worth("win", 3)),
        # Plies that take too long to search are not known.
        (nt.rules("factor", blocks="1-100"), Worth("win")),
        (nt.rules("factor", blocks="1-30"), Worth("win", 3)),
        # Blocks that pass the target cost nothing.
        (nt.rules("summit", blocks="1-100000", target=50), Worth("win", 1)),
    ],
    ids=count(),
)
def test_worth_of_large_games(rules: Rules, worth: Worth) -> None:
    assert nt.solve(Game(rules)).worth == worth


@pytest.mark.parametrize("compiled", [False, True])
def test_line_of_play_may_be_long(*, compiled: bool) -> None:
    start = Position.start(Rules(range(1, 10), supply="endless", target=3000))
    assert DeepSolver(start, SearchLimits(), compiled=compiled).evaluate(start) == Worth(
        "loss", 600
    )  # ten in every two plies


HUGE = 10**9


@pytest.mark.parametrize("name", SEARCHES)
@pytest.mark.parametrize(
    "rules",
    [
        Rules([5, 6, 11, 24, *(HUGE - n for n in (87, 86, 66, 49, 46, 43, 39, 37, 28, 27))],
            fit="ascending",
              target=HUGE - 4, stuck="skips"),
        Rules((1, 5, 10**8), supply="own", towers="own", target=10**8 + 6),
        Rules((1, 2, 10**8), supply="own", towers="own", fit="ascending", target=10**8 + 3),
        Rules((7, 10**8, 3 * 10**8 + 1), supply="endless", towers="own", fit="unrelated",
            target=4 * 10**8),
    ],
    ids=["sums", "own", "rising", "endless"],
)  # fmt: skip
def test_huge_numbers_are_solved(name: str, rules: Rules) -> None:
    start = Position.start(rules)
    assert nt.solve(start).worth == PlainSolver().evaluate(start)
    check(SEARCHES[name](start), [start])


def test_missing_compiler_is_not_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "numba", None)
    monkeypatch.setattr(jit, "load_compiler", jit.load_compiler.__wrapped__)
    start = Position.start(nt.rules("draft", blocks="1-12", target=40))
    assert Search(start, SearchLimits(), plies=False, compiled=True).score(start) > 0
    solution = nt.solve(Game(nt.rules("factor", blocks="1-3000")), plies=False)
    assert solution.value == "win"


# Limits -------------------------------------------------------------------------------------------

LONG = Game(nt.rules("summit", blocks="1-24", target=235))


def test_search_ends_when_its_time_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    ticks = iter(range(10**9))
    monkeypatch.setattr(limits, "perf_counter", lambda: next(ticks))
    with pytest.raises(NotSolvedError, match="not solved within 20 seconds"):
        nt.solve(LONG, plies=False, seconds=20)


@pytest.mark.parametrize("name", NAMES)
def test_search_without_time_solves_nothing(name: str) -> None:
    with pytest.raises(NotSolvedError, match="not solved within 0 seconds"):
        nt.solve(Game(nt.rules(name)), seconds=0)


def test_value_is_known_where_only_the_plies_take_too_long(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    score = Search.score

    def score_without_plies(self: Search, position: Position, value: Value | None = None) -> int:
        if value:
            raise NotSolvedError
        return score(self, position)

    monkeypatch.setattr(Search, "score", score_without_plies)
    solution = nt.solve(Game(nt.rules("draft")))
    assert solution.worth == Worth("win")
    assert solution.best == (7, 8, 9)


def test_interrupt_ends_the_search() -> None:
    seen: list[Progress] = []

    def interrupt(progress: Progress) -> None:
        seen.append(progress)
        if progress.positions > 10_000:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        nt.solve(LONG, progress=interrupt)
    assert all(earlier.positions <= later.positions for earlier, later in pairwise(seen))
    assert all(0 <= progress.filled <= 1 for progress in seen)


@pytest.mark.parametrize("compiled", [False, True])
def test_full_table_forgets_and_the_result_stays_exact(
    monkeypatch: pytest.MonkeyPatch, *, compiled: bool
) -> None:
    start = Position.start(nt.rules("factor", blocks="1-24"))
    roomy = Search(start, SearchLimits(), plies=True, compiled=compiled)
    score = roomy.score(start)
    monkeypatch.setattr(deep, "_MAX_SLOTS", roomy.slots // 4)
    tight = Search(start, SearchLimits(), plies=True, compiled=compiled)
    assert tight.score(start) == score
    assert 0.9 * tight.slots < tight.stored < roomy.stored
    assert tight.positions > roomy.positions


@pytest.mark.slow
def test_search_stays_within_its_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    little = MIB // 8
    monkeypatch.setattr(limits, "MIB", little)
    start = Position.start(nt.rules("factor", blocks="1-25"))
    Search(start, SearchLimits(memory=1), plies=True, compiled=False)
    tracemalloc.start()
    try:
        search = Search(start, SearchLimits(memory=1), plies=True, compiled=False)
        search.score(start)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert search.positions > search.slots
    assert peak < little


@pytest.mark.slow
def test_compiled_table_stays_within_its_memory() -> None:
    start = Position.start(Rules(range(1, 16), fit="unrelated", stuck="skips"))
    search = Search(start, SearchLimits(memory=1), plies=True, compiled=True)
    search.score(start)
    # Look at what it really holds.
    held = search._table.nbytes + search._stacks[0].frames.nbytes  # noqa: SLF001
    assert MIB // 2 < held < MIB
    assert search.positions > search.slots
