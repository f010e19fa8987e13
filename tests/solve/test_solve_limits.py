"""A limit of positions is exact: a search within it is the same everywhere, compiled or not."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import number_tower as nt
from number_tower import Game, NotSolvedError, Position, Rules
from number_tower.coach.hints import hint
from number_tower.players import LEVELS
from number_tower.players.knowledge import Knowledge, get_knowledge
from number_tower.players.levels import Computer
from number_tower.solve import deep, jit, limits, matching
from number_tower.solve.deep import DeepSolver, Search
from number_tower.solve.limits import SearchLimits
from support.sizes import examples
from support.strategies import any_rules

EAGER: dict[str, int] = {
    "_FIRST_TURN_POSITIONS": 60,
    "_TURN_POSITIONS": 25,
    "_MIN_SLOTS": 16,
    "_MIN_FRAMES": 4,
    "_MAX_LIST_FRAMES": 8,
}
"""Turns and tables so small that small games have many turns, and tables and stacks that grow."""


class Way(NamedTuple):
    """One way to run a search: compiled or not, from when, in which slices, with progress."""

    compiled: bool
    after: int
    slice: int
    watched: bool = False


WAYS = {
    "interpreted": Way(compiled=False, after=0, slice=2_000),
    "interpreted, one position at a time": Way(compiled=False, after=0, slice=1),
    "interpreted, watched": Way(compiled=False, after=0, slice=7, watched=True),
    "compiled": Way(compiled=True, after=0, slice=100_000),
    "compiled, one position at a time": Way(compiled=True, after=0, slice=1),
    "compiled, watched": Way(compiled=True, after=0, slice=13, watched=True),
    "compiled in the middle": Way(compiled=True, after=100, slice=30),
    "compiled soon": Way(compiled=True, after=10, slice=3),
}


@contextmanager
def run_in(way: Way, **constants: int) -> Iterator[None]:
    """Run all searches in one way, with these constants of the search."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(jit, "is_available", lambda: way.compiled)
        patch.setattr(jit, "is_loaded", lambda: False)
        patch.setattr(deep, "_COMPILE_AFTER_POSITIONS", way.after)
        patch.setattr(deep, "_SLICE_POSITIONS", way.slice)
        patch.setattr(deep, "_COMPILED_SLICE_POSITIONS", way.slice)
        for name, number in constants.items():
            patch.setattr(deep, name, number)
        yield


class SearchReport(NamedTuple):
    """The values of a position and its moves, and the positions that were searched."""

    answers: list[str]
    searched: list[int]
    left: float


def search_all(
    way: Way, start: Position, *, positions: int, plies: bool, memory: int = 1
) -> SearchReport:
    """Search a position and then the positions after its moves, all within one limit."""
    progress = (lambda _: None) if way.watched else None
    limits = SearchLimits(positions=positions, memory=memory, progress=progress)
    answers, searched = [], []
    solver = DeepSolver(start, limits, plies=plies)
    for position in [start, *map(start.place, start.legal)]:
        try:
            answers.append(str(solver.evaluate(position)))
        except NotSolvedError as missed:
            answers.append(str(missed))
        searched.append(solver.positions)
    return SearchReport(answers, searched, limits.positions_left)


@settings(max_examples=examples(60))
@given(
    rules=any_rules(most_blocks=8, largest=16, highest=50),
    positions=st.integers(1, 600) | st.just(5_000),
    plies=st.booleans(),
    mib=st.sampled_from([1 << 13, 1 << 15, 1 << 20]),
)
def test_search_within_a_limit_does_not_depend_on_how_it_runs(
    rules: Rules, positions: int, *, plies: bool, mib: int
) -> None:
    start = Position.start(rules)
    reports = {}
    for name, way in WAYS.items():
        with run_in(way, **EAGER), pytest.MonkeyPatch.context() as patch:
            patch.setattr(limits, "MIB", mib)
            reports[name] = search_all(way, start, positions=positions, plies=plies)
    assert all(report == reports["interpreted"] for report in reports.values()), reports


LARGER = [
    (nt.rules("summit", blocks="1-14", target=112), 12_000),
    (nt.rules("summit", blocks="1-16", target=135), 9_999),
    (nt.rules("draft", blocks="1-20", target=100), 20_000),
    (nt.rules("factor", blocks="1-24"), 8_000),
    (Rules(range(1, 10), supply="endless", target=3000), 15_000),
]


@pytest.mark.parametrize(("rules", "positions"), LARGER, ids=str)
def test_larger_search_stops_at_the_same_position(rules: Rules, positions: int) -> None:
    start = Position.start(rules)
    reports = set[tuple[int | None, int, int, int]]()
    for name in ("interpreted", "compiled", "compiled in the middle"):
        with run_in(WAYS[name], _FIRST_TURN_POSITIONS=2_000, _TURN_POSITIONS=500):
            search, score = Search(start, SearchLimits(positions=positions), plies=True), None
            try:
                score = search.score(start)
            except NotSolvedError:
                assert search.positions == positions
            reports.add((score, search.positions, search.stored, search.slots))
    assert len(reports) == 1


def test_search_stops_exactly_at_its_limit() -> None:
    start = Position.start(nt.rules("summit", blocks="1-14", target=112))
    for way in WAYS.values():
        with run_in(way):
            solver = DeepSolver(start, SearchLimits(positions=2_345), plies=False)
            with pytest.raises(NotSolvedError, match="not solved within 2,345 positions"):
                solver.evaluate(start)
            assert solver.positions == 2_345


def test_all_positions_of_a_successful_search_are_counted() -> None:
    start = Position.start(nt.rules("draft"))
    budget = SearchLimits(positions=100_000)
    solver = DeepSolver(start, budget)
    solver.evaluate(start)
    assert budget.positions_left == 100_000 - solver.positions
    assert solver.positions > 0


def test_switch_of_numba_is_respected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NUMBA_DISABLE_JIT", "1")
    assert not jit.is_available.__wrapped__()
    monkeypatch.setenv("NUMBA_DISABLE_JIT", "0")
    assert jit.is_available.__wrapped__() == jit.is_available()


# Levels -------------------------------------------------------------------------------------------

SIZES = [
    ("summit", 12, 60),
    ("summit", 14, 80),
    ("draft", 14, 50),
    ("draft", 18, 70),
    ("factor", 20, 0),
]
"""Games, their largest blocks and their targets, if any."""


def choose(way: Way, game: Game, level: str, seed: int) -> tuple[int, str]:
    """Return the block and the remark of a level that has not seen any game before."""
    with run_in(way):
        get_knowledge.cache_clear()
        computer = Computer(LEVELS[level], seed)
        return computer.choose(game), computer.remark


@pytest.fixture
def forgetful() -> Iterator[None]:
    """Forget all games afterwards."""
    yield
    get_knowledge.cache_clear()


@pytest.mark.slow
@pytest.mark.usefixtures("forgetful")
def test_level_plays_the_same_in_every_way(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    solved = set()

    @settings(max_examples=examples(25))
    @given(
        st.sampled_from(SIZES),
        st.integers(500, 4_000),
        st.sampled_from(["strong", "perfect"]),
        st.lists(st.integers(0, 40), max_size=5),
        st.integers(0, 3),
    )  # fmt: skip
    def holds(
        sizes: tuple[str, int, int], positions: int, level: str, moves: list[int], seed: int
    ) -> None:
        name, blocks, target = sizes
        game = Game(nt.rules(name, blocks=f"1-{blocks}", **({"target": target} if target else {})))
        for move in moves:
            if game.outcome is None:
                game = game.play(game.legal[move % len(game.legal)])
        if game.outcome is not None:
            return
        monkeypatch.setattr("number_tower.players.knowledge.MAX_POSITIONS", positions)
        ways = ("interpreted", "compiled", "compiled soon")
        choices = {choose(WAYS[name], game, level, seed) for name in ways}
        assert len(choices) == 1
        solved.add(choices.pop()[1] == "")

    holds()
    assert solved == {True, False}, "some positions were solved within the limit, and some were not"


@pytest.mark.usefixtures("forgetful")
def test_choice_does_not_depend_on_earlier_hints(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    game = Game(nt.rules("draft", blocks="1-18", target=70), moves=(18, 17, 16))
    counts = []
    for positions in (1_000, 2_000, 3_000, 4_000, 6_000, 9_000, 14_000):
        monkeypatch.setattr("number_tower.players.knowledge.MAX_POSITIONS", positions)
        alone, helped = Knowledge(game.rules), Knowledge(game.rules)
        for _ in range(2):
            solution = helped.solve(game.position)
            if solution is not None:
                hint(solution)
                list(solution.line())
        assert (
            helped.find_best_moves(game.position)
            == alone.find_best_moves(game.position)
            == helped.find_best_moves(game.position)
        )
        counts.append(alone.find_best_moves(game.position) is None)
    assert set(counts) == {True, False}


def test_interrupted_search_leaves_the_whole_limit_to_the_next() -> None:
    rules = nt.rules("summit", blocks="1-10", target=40)
    calls = count()

    def interrupt(_: object) -> None:
        if next(calls) == 1:
            raise KeyboardInterrupt

    start = Position.start(rules)
    with run_in(WAYS["interpreted, one position at a time"]):
        interrupted, fresh = Knowledge(rules), Knowledge(rules)
        with pytest.raises(KeyboardInterrupt):
            interrupted.find_best_moves(start, interrupt)
        assert interrupted.find_best_moves(start) == fresh.find_best_moves(start)
        # Look at what is counted.
        again, once = (part._limits for part in (interrupted, fresh))  # noqa: SLF001
        assert again is not None
        assert once is not None
        assert again._searched == once._searched  # noqa: SLF001 - likewise


def test_known_plies_of_the_start_stay_known(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rules = nt.rules("factor", blocks="1-20")
    start = Position.start(rules)
    search = Search(start, SearchLimits(), plies=True)
    search.score(start, nt.solve(start, plies=False).value)
    monkeypatch.setattr(matching, "_MAX_PLY_POSITIONS", search.positions + 1)
    knowledge = Knowledge(rules)
    positions = [
        start.place(first).place(second)
        for first in start.legal
        for second in start.place(first).legal
    ]
    solutions = [knowledge.solve(position) for position in positions]
    assert all(solution is not None and solution.plies is not None for solution in solutions)
