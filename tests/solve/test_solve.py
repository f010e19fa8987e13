"""What positions are worth: every method against the plain search and the numbers kept as data."""

from __future__ import annotations

import subprocess
import sys
import tomllib
import tracemalloc
from collections.abc import Callable, Iterator
from functools import cache
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

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
from support.command import DATA
from support.game_tree import Tree, make_key
from support.plain import PlainSolver
from support.sizes import examples, size
from support.strategies import any_rules

NAMES = catalogue.list_names()

Method = Callable[[Position], Solver]

SEARCHES: dict[str, Method] = {
    "interpreted": lambda position: DeepSolver(position, SearchLimits(), compiled=False),
    "compiled": lambda position: DeepSolver(position, SearchLimits(), compiled=True),
}
THEORIES = (TopSolver, SeparateTowersSolver, MatchingSolver)
VALUES: dict[int, Value] = {1: "win", 0: "draw", -1: "loss"}


SMALL = any_rules(most_blocks=5, largest=12, highest=24)


@st.composite
def small_games(draw: st.DrawFn, rules: st.SearchStrategy[Rules] = SMALL) -> list[Position]:
    """A whole game by random rules: all its positions, from the start to the end."""
    position = Position.start(draw(rules), draw(st.integers(0, 1)))
    positions = [position]
    while position.legal:
        position = position.place(draw(st.sampled_from(position.legal)))
        positions.append(position)
    return positions


def check(solver: Solver, positions: list[Position]) -> None:
    """A method agrees with the plain search on each position and all its moves."""
    plain = PlainSolver()
    for position in positions:
        assert solver.evaluate(position) == plain.evaluate(position), position.rules
        for block in position.legal:
            assert solver.evaluate_move(position, block) == plain.evaluate_move(position, block), (
                position.rules,
                block,
            )


thorough = settings(max_examples=size(30, 800))

# Every method is right ----------------------------------------------------------------------------


@given(small_games())
@thorough
def test_the_method_chosen_is_right_on_any_game(positions: list[Position]) -> None:
    check(choose_solver(positions[0], SearchLimits(), plies=True), positions)


@pytest.mark.parametrize("name", SEARCHES)
@given(positions=small_games())
@thorough
def test_the_deep_search_is_right_on_any_game_whatever_theory_there_is(
    name: str, positions: list[Position]
) -> None:
    check(SEARCHES[name](positions[0]), positions)


@given(small_games(any_rules(most_blocks=7, largest=20, highest=50)), st.data())
@settings(max_examples=examples(150))
def test_values_alone_are_the_same_as_with_plies(
    positions: list[Position], data: st.DataObject
) -> None:
    position = data.draw(st.sampled_from(positions[-6:]))
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
    check(SEARCHES[name](start), list(reachable(start)))


SKIPPED_IN_A_ROW = [
    ([7, 8, 12, 24, 49, 56, 343, 372], ([8, 24, 56, 372], [7, 49, 343]), 12),
    ([1, 2, 3, 6, 12, 24, 48], ([1, 2, 24, 48], [3, 6, 12]), 12),
]  # fmt: skip


@pytest.mark.parametrize("name", SEARCHES)
@pytest.mark.parametrize(("blocks", "left", "top"), SKIPPED_IN_A_ROW)
def test_the_length_of_a_draw_survives_many_skips_in_a_row(
    name: str, blocks: list[int], left: tuple[list[int], list[int]], top: int
) -> None:
    rules = Rules(blocks, supply="own", fit="related", stuck="skips")
    masks = rules.mask(left[0]), rules.mask(left[1])
    position = Position(rules, masks, (top, top), (top, top), 0)
    check(SEARCHES[name](position), [position])


def test_the_length_of_a_draw_after_a_long_game() -> None:
    rules = Rules(
        [1, 7, 8, 12, 24, 28, 49, 56, 84, 343, 372, 1176, 5208], supply="own", fit="related",
        stuck="skips"
    )  # fmt: skip
    moves = (343, 1, 49, 1176, 1, 8, 1176, 24, 12, 372, 5208, 28, 7, 56, 28, 5208, 84, 84, 12)
    position = Game(rules, moves=moves).position
    assert nt.solve(position).worth == PlainSolver().evaluate(position) == Worth("draw", 6)


def test_towers_too_high_to_look_at_are_not_solved() -> None:
    with pytest.raises(NotSolvedError, match="not solved within towers of 240 blocks"):
        nt.solve(Game(Rules(range(1, 1101), supply="own", towers="own", fit="unrelated")))


def test_of_moves_with_unknown_plies_only_those_can_be_best_that_may_be() -> None:
    solution = nt.solve(Game(nt.rules("race")))
    assert solution.plies == 3
    solution.moves = {1: Worth("loss", 4), 6: Worth("win", 21), 7: Worth("win"), 8: Worth("win")}
    assert solution.best == (7, 8)


@pytest.mark.parametrize("limit", [{"seconds": -1}, {"seconds": float("nan")}, {"memory": 0}])
def test_limits_that_cannot_be_are_refused(limit: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="expected a number"):
        nt.solve(Game(nt.rules("race")), **limit)


def test_known_plies_come_before_unknown_ones() -> None:
    worths = [
        Worth("loss"),
        Worth("loss", 4),
        Worth("draw"),
        Worth("draw", 2),
        Worth("win"),
        Worth("win", 9),
    ]
    assert sorted(worths, key=lambda worth: worth.rank) == worths


# The five games -----------------------------------------------------------------------------------


def reachable(start: Position) -> Iterator[Position]:
    """Give every position from here on.

    Of those that differ only in blocks nobody can use again, it gives one.
    """
    seen = set()
    left = [start]
    while left:
        position = left.pop()
        at = make_key(position), position.outcome
        if at not in seen:
            seen.add(at)
            yield position
            left += map(position.place, position.legal)


@cache
def every_position(name: str) -> dict[Position, Worth]:
    """Solve every position of a game by its whole tree."""
    tree = Tree(nt.rules(name))
    worths = {}
    for position in reachable(tree.start):
        value, plies = tree.solve(position)
        worths[position] = Worth(VALUES[value], plies)
    return worths


def methods_for(name: str) -> dict[str, Solver]:
    start = Position.start(nt.rules(name))
    found: dict[str, Solver] = {
        f"deep search, {how}": search(start) for how, search in SEARCHES.items()
    }
    if len(start.legal) < 10:
        found[PlainSolver.method] = PlainSolver()
    for theory in THEORIES:
        if theory.covers(start):
            found[theory.method] = theory(start, SearchLimits())
    return found


METHODS = [(name, method) for name in NAMES for method in methods_for(name)]


@pytest.mark.parametrize(("name", "method"), METHODS)
def test_every_position_of_the_five_games(name: str, method: str) -> None:
    solver = methods_for(name)[method]
    wrong = [
        position
        for position, worth in every_position(name).items()
        if solver.evaluate(position) != worth
    ]
    assert not wrong


@pytest.mark.parametrize(("name", "method"), METHODS)
def test_the_start_and_the_openings_are_worth_what_is_known(name: str, method: str) -> None:
    solver, start = methods_for(name)[method], Position.start(nt.rules(name))
    known = tomllib.loads((DATA / "counts" / f"{name}.toml").read_text())
    worth = solver.evaluate(start)
    assert f"{worth.value} in {worth.plies}" == known["start"]
    assert [b for b in start.legal if solver.evaluate_move(start, b).value == "win"] == known[
        "winning_openings"
    ]


@pytest.mark.parametrize(
    ("name", "method"),
    [
        ("race", "two separate towers"), ("draft", "deep search"), ("summit", "deep search"),
        ("climb", "the top alone"), ("factor", "matching"),
    ],
)  # fmt: skip
def test_the_method_follows_from_the_structure_of_the_rules(name: str, method: str) -> None:
    assert nt.solve(Game(nt.rules(name))).method == method


# The interface ------------------------------------------------------------------------------------


def test_a_solution_says_what_it_knows() -> None:
    solution = nt.solve(Game(nt.rules("draft"), moves=(9, 8)))
    assert (solution.value, solution.plies, solution.best) == ("win", 1, (6,))
    assert list(solution.moves) == [1, 2, 3, 4, 5, 6]
    assert solution.moves[6] == Worth("win", 1)
    assert solution.moves[5] == Worth("loss", 2)
    assert repr(solution) == "<Solution: win in 1, by deep search>"
    assert repr(nt.solve(Game(nt.rules("draft")), plies=False)) == "<Solution: win, by deep search>"


def test_solve_is_a_function_whatever_else_is_imported() -> None:
    script = (
        "from number_tower.solve.worth import Worth; import number_tower as nt; "
        "print(nt.solve(nt.Game()))"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout == "<Solution: win in 9, by matching>\n"


def test_only_games_and_positions_can_be_solved() -> None:
    with pytest.raises(TypeError, match="expected a game or a position; got 'draft'"):
        nt.solve("draft")  # type: ignore[arg-type]


def test_an_illegal_move_is_worth_nothing() -> None:
    moves = nt.solve(Game(nt.rules("draft"), moves=(8,))).moves
    assert 8 not in moves
    assert repr(moves) == "<8 moves, of which 0 have been looked at>"
    with pytest.raises(KeyError):
        moves[10]


def test_a_move_is_valued_only_when_it_is_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    solution = nt.solve(Game(nt.rules("summit")))
    asked: list[int] = []
    after = DeepSolver.evaluate_move

    def asked_for(self: DeepSolver, position: Position, block: int) -> Worth:
        asked.append(block)
        return after(self, position, block)

    monkeypatch.setattr(DeepSolver, "evaluate_move", asked_for)
    assert len(solution.moves) == 9
    assert not asked
    assert solution.moves[4] == solution.moves[4] == Worth("loss", 4)
    assert asked == [4]


@given(small_games())
def test_a_finished_game_is_worth_its_result_and_has_no_moves(positions: list[Position]) -> None:
    end = positions[-1]
    solution = nt.solve(end)
    assert end.outcome is not None
    won = None if end.outcome.winner is None else end.outcome.winner == end.to_move
    assert solution.value == {True: "win", None: "draw", False: "loss"}[won]
    assert (solution.plies, dict(solution.moves), solution.best) == (0, {}, ())


@given(small_games())
def test_a_best_line_lasts_as_long_as_was_said(positions: list[Position]) -> None:
    solution = nt.solve(positions[0])
    lasted, said, mover = 0, solution.plies, solution.position.to_move
    value = solution.value
    while solution.best:
        solution = solution.after(solution.best[0])
        lasted += 1
    assert lasted == said
    winner = solution.position.outcome.winner if solution.position.outcome else None
    assert value == ("draw" if winner is None else "win" if winner == mover else "loss")


# Pairs --------------------------------------------------------------------------------------------


@given(
    st.sets(st.integers(1, 16), min_size=1, max_size=7),
    st.sampled_from(["any", "related", "unrelated"]),
    st.none() | st.integers(0, 6),
    st.data(),
)
@settings(max_examples=examples(300))
def test_against_a_move_that_does_not_win_its_partner_does(
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
def test_the_openings_of_a_large_game_are_found_at_once() -> None:
    solution = nt.solve(Game(nt.rules("factor", blocks="1-20000")), plies=False)
    winning = {block for block, worth in solution.moves.items() if worth.value == "win"}
    assert solution.value == "win"
    assert len(winning) == 12_747
    assert {
        10_007,
        19_997,
    } <= winning  # primes that only 1 can follow, and 1 is answered with the next of them


def test_plies_that_take_too_long_to_search_are_not_known() -> None:
    solution = nt.solve(Game(nt.rules("factor", blocks="1-100")))
    assert (solution.value, solution.plies) == ("win", None)
    assert nt.solve(Game(nt.rules("factor", blocks="1-30"))).plies == 3


# Large games --------------------------------------------------------------------------------------


def test_a_climb_of_a_million_blocks() -> None:
    solution = nt.solve(Game(nt.rules("climb", blocks="1-1000000")))
    assert (solution.value, solution.plies, solution.position.legal[-1]) == ("win", 1, 1_000_000)
    for block in (4, 10, 999_988, 999_994, 1_000_000):
        assert solution.moves[block] == Worth("win", 2 * ((1_000_000 - block) // 6) + 1)
    assert solution.moves[999_995].value == solution.moves[1].value == "loss"


def test_a_race_to_a_thousand_with_two_hundred_blocks() -> None:
    solution = nt.solve(Game(nt.rules("race", blocks="1-200", target=1000)))
    assert (solution.value, solution.plies) == ("win", 11)
    assert solution.best == tuple(range(10, 201))


@pytest.mark.parametrize(
    ("blocks", "target", "value", "plies"),
    [
        ("1-1000", 400_000, "win", 1105),   # 553 of the largest blocks are needed
        ("2,4,6,8", 9, "loss", 4),          # nobody can arrive: 2 and 4, and then nothing fits
        ("3,5,7", 10**6, "loss", 6),
    ],
)  # fmt: skip
def test_races_of_other_sizes(blocks: str, target: int, value: str, plies: int) -> None:
    solution = nt.solve(Game(nt.rules("race", blocks=blocks, target=target)))
    assert (solution.value, solution.plies) == (value, plies)


def test_endless_blocks_and_a_target_far_away() -> None:
    rules = Rules((6, 10, 15), supply="endless", towers="own", target=10**9 - 14)
    assert nt.solve(Game(rules)).worth == Worth(
        "win", 2 * 66_666_667 - 1
    )  # 10, 10, 6, and 15 for the rest


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "blocks", "target", "value"),
    [
        ("summit", "1-20", 80, "win"), ("summit", "1-20", 120, "loss"),
        ("summit", "1-20", 155, "win"), ("draft", "1-30", 200, "win"),
        ("draft", "1-20", 100, "win"),
    ],
)  # fmt: skip
def test_games_far_beyond_the_rulebooks_sizes(
    name: str, blocks: str, target: int, value: str
) -> None:
    assert nt.solve(Game(nt.rules(name, blocks=blocks, target=target)), plies=False).value == value


@pytest.mark.parametrize("compiled", [False, True])
def test_lines_of_play_may_be_long(*, compiled: bool) -> None:
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
def test_huge_numbers_are_no_problem(name: str, rules: Rules) -> None:
    start = Position.start(rules)
    assert nt.solve(start).worth == PlainSolver().evaluate(start)
    check(SEARCHES[name](start), [start])


def test_blocks_that_pass_the_target_cost_nothing() -> None:
    few, many = (
        nt.solve(Game(nt.rules("summit", blocks=blocks, target=50)))
        for blocks in ("1-50", "1-100000")
    )
    assert many.worth == few.worth
    assert dict(many.moves) == dict(few.moves)


def test_a_compiler_that_does_not_load_is_done_without(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "numba", None)
    monkeypatch.setattr(jit, "load_compiler", jit.load_compiler.__wrapped__)
    start = Position.start(nt.rules("draft", blocks="1-12", target=40))
    assert Search(start, SearchLimits(), plies=False, compiled=True).score(start) > 0
    solution = nt.solve(Game(nt.rules("factor", blocks="1-3000")), plies=False)
    assert solution.value == "win"


def test_a_game_with_more_blocks_than_a_machine_word_has_bits() -> None:
    rules = Rules(range(1, 101), supply="shared", towers="shared", fit="any", target=150)
    assert nt.solve(Game(rules)).worth == Worth("win", 3)


def test_without_the_compiler_the_same_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    start = Position.start(nt.rules("draft", blocks="1-30", target=200))
    compiled = Search(start, SearchLimits(), plies=False, compiled=True)
    assert compiled.score(start) > 0
    monkeypatch.setattr(jit, "is_available", lambda: False)
    interpreted = Search(start, SearchLimits(), plies=False)
    assert interpreted.score(start) == compiled.score(start)
    assert interpreted.positions > 30_000


# Limits -------------------------------------------------------------------------------------------

LONG = Game(nt.rules("summit", blocks="1-24", target=235))


def test_work_ends_when_its_time_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    ticks = iter(range(10**9))
    monkeypatch.setattr(limits, "perf_counter", lambda: next(ticks))
    with pytest.raises(NotSolvedError, match="not solved within 20 seconds"):
        nt.solve(LONG, plies=False, seconds=20)


@pytest.mark.parametrize("name", NAMES)
def test_without_any_time_nothing_is_solved_and_nothing_guessed(name: str) -> None:
    with pytest.raises(NotSolvedError, match="not solved within 0 seconds"):
        nt.solve(Game(nt.rules(name)), seconds=0)


def test_where_only_the_plies_take_too_long_the_value_is_given(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def give_up(*_: object) -> int:
        raise NotSolvedError

    score = Search.score
    monkeypatch.setattr(
        Search,
        "score",
        lambda self, position, value=None: (give_up if value else score)(self, position),
    )
    solution = nt.solve(Game(nt.rules("draft")))
    assert solution.worth == Worth("win")
    assert solution.best == (7, 8, 9)


def test_an_interrupt_ends_the_work() -> None:
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
def test_a_full_table_forgets_and_the_result_stays_exact(
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
def test_the_memory_given_is_never_exceeded(monkeypatch: pytest.MonkeyPatch) -> None:
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


def test_a_compiled_table_stays_within_its_memory_too() -> None:
    start = Position.start(Rules(range(1, 16), fit="unrelated", stuck="skips"))
    search = Search(start, SearchLimits(memory=1), plies=True, compiled=True)
    search.score(start)
    # Look at what it really holds.
    held = search._table.nbytes + search._stacks[0].frames.nbytes  # noqa: SLF001
    assert MIB // 2 < held < MIB
    assert search.positions > search.slots


@pytest.mark.parametrize(
    "rules",
    [
        Rules(range(1, 100_001), fit="unrelated"),
        Rules(range(1, 100_001), fit="unrelated", target=100_000),
        Rules((7, 10**7 + 1, 10**8 + 3), supply="endless", towers="own", target=10**9),
    ],
    ids=["pairs", "search", "sums"],
)
def test_what_would_take_more_memory_than_given_is_not_solved(rules: Rules) -> None:
    with pytest.raises(NotSolvedError, match="not solved within 64 MiB of memory"):
        nt.solve(Game(rules), memory=64)
