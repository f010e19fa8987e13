"""Numbers of any size: the fewest that add up to a total, and races that are solved to their end."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import number_tower as nt
from number_tower import Game, NotSolved, Position, Rules
from number_tower.solve import subset_sum
from number_tower.solve.limits import Watch
from number_tower.solve.plain import Plain
from number_tower.solve.subset_sum import SubsetSum
from strategies import any_rules

METHODS: dict[str, dict[str, int]] = {
    "as chosen": {},
    "by count": {"_FEW": 1_000},
    "by sum": {"_FEW": 0, "_LARGEST_SUM": 1 << 24},
    "by choice": {"_FEW": 0, "_LARGEST_SUM": 0},
}


def try_all(numbers: list[int], total: int) -> int | None:
    """Try every choice of numbers, fewest first."""
    counts = range(1, len(numbers) + 1)
    return next((count for count in counts if any(sum(some) == total for some in combinations(numbers, count))), None)


@st.composite
def sums(draw: st.DrawFn) -> tuple[list[int], int]:
    """A few numbers, in equal steps but for some that are missing, or any; and a total that some of them may have."""
    if draw(st.booleans()):
        numbers = sorted(draw(st.sets(st.integers(1, 60), min_size=1, max_size=10)))
    else:
        first, step = draw(st.sampled_from([(1, 1), (3, 2), (12, 4), (10**12 + 39, 10**11 + 3), (10**10, 10**10)]))
        ranks = draw(st.sets(st.integers(0, 12), min_size=1, max_size=10))
        numbers = [first + step * rank for rank in sorted(ranks)]
    some = draw(st.sets(st.sampled_from(numbers), min_size=1))
    total = sum(some) + draw(st.sampled_from([0, 0, 0, 1, numbers[0], numbers[-1] - numbers[0]]))
    return numbers, max(1, total)


@pytest.mark.parametrize("constants", METHODS.values(), ids=METHODS)
def test_every_method_finds_the_fewest_numbers_with_a_total(
    constants: dict[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, number in constants.items():
        monkeypatch.setattr(subset_sum, name, number)

    @settings(max_examples=300, deadline=None)
    @given(sums())
    def holds(case: tuple[list[int], int]) -> None:
        numbers, total = case
        if constants.get("_LARGEST_SUM"):
            assume(total < 10**6)
        assert SubsetSum(numbers, total).find_fewest(Watch()) == try_all(numbers, total)

    holds()


# Races with large numbers ------------------------------------------------------------------------------------------


def test_every_move_of_a_race_with_large_numbers_is_solved() -> None:
    unit = 10**10
    large = Rules(range(unit, 10 * unit, unit), supply="own", towers="own", target=15 * unit)
    small = Rules(range(1, 10), supply="own", towers="own", target=15)
    solution, equivalent = nt.solve(Game(large)), nt.solve(Game(small))
    assert solution.worth == equivalent.worth
    assert {block // unit: worth for block, worth in solution.moves.items()} == dict(equivalent.moves)


ENLARGED: dict[str, Callable[[int], int]] = {
    "a multiple": lambda number: 10**10 * number,
    "a prime multiple": lambda number: 999_999_937 * number,
    "itself": lambda number: number,
}


@pytest.mark.parametrize("enlarge", ENLARGED.values(), ids=ENLARGED)
@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(rules=any_rules(most_blocks=6, largest=14, highest=40), data=st.data())
def test_what_can_come_of_a_position_that_is_solved_is_solved_too(
    enlarge: Callable[[int], int], rules: Rules, data: st.DataObject
) -> None:
    """Every position along a random line is worth what its equivalent with small numbers is worth."""
    large = Rules(
        blocks=[enlarge(block) for block in rules.blocks],
        supply=rules.supply,
        towers=rules.towers,
        fit=rules.fit,
        step=None if rules.step is None else enlarge(rules.step),
        target=None if rules.target is None else enlarge(rules.target),
        stuck=rules.stuck,
        opening=None if rules.opening is None else [enlarge(block) for block in rules.opening],
    )
    plain, memory = Plain(), 64
    position, small = Position.start(large), Position.start(rules)
    solution = nt.solve(position, memory=memory)
    while small.legal:
        method = solution.method
        assert nt.solve(position, memory=memory).worth == solution.of(position).worth == plain.worth(small)
        assert solution.method == method
        moves = solution.of(position).moves
        assert {block: moves[enlarge(block)] for block in small.legal} == {
            block: plain.after(small, block) for block in small.legal
        }
        block = data.draw(st.sampled_from(small.legal))
        position, small = position.place(enlarge(block)), small.place(block)


@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.integers(1, 10**14),
    st.integers(1, 10**14),
    st.integers(2, 6),
    st.sampled_from(["any", "descending"]),
    st.sampled_from(["own", "endless"]),
    st.data(),
)
def test_races_in_large_steps_are_solved_to_their_end(
    first: int, step: int, number: int, fit: str, supply: str, data: st.DataObject
) -> None:
    blocks = range(first, first + step * number, step)
    some = data.draw(st.lists(st.sampled_from(blocks), min_size=1, max_size=4, unique=True))
    rules = Rules.read(
        {"blocks": list(blocks), "supply": supply, "towers": "own", "fit": fit, "target": sum(some), "stuck": "loses"}
    )
    assume(sum(some) // first < 12)
    plain, position = Plain(), Position.start(rules)
    while position.legal:
        assert nt.solve(position, memory=64).worth == plain.worth(position)
        position = position.place(data.draw(st.sampled_from(position.legal)))


@pytest.mark.parametrize(
    ("blocks", "target"), [("1-6000", 17_000_000), ("1-9000", 20_000_000), ("7-60000", 10**9 + 1)], ids=str
)
def test_races_of_thousands_of_blocks_are_solved_after_their_first_moves_too(blocks: str, target: int) -> None:
    rules = nt.rules("race", blocks=blocks, target=target)
    position = Position.start(rules)
    start = nt.solve(position)
    assert start.method == "two separate towers"
    for block in (rules.blocks[len(rules.blocks) // 3], rules.blocks[-1], rules.blocks[0]):
        worth = nt.solve(position).moves[block]
        position = position.place(block)
        assert nt.solve(position).worth.before(turned=True) == worth


def test_a_race_with_many_uneven_blocks_is_solved_where_many_of_them_are_needed() -> None:
    blocks = [number * number + 1000 for number in range(1, 120)]
    rules = Rules(blocks, supply="own", towers="own", target=sum(blocks) // 2)
    start = nt.solve(Game(rules))
    assert start.value in {"win", "loss"}
    position = start.position
    for place in (100, 3, 50, 51):
        position = position.place(blocks[place])
        assert nt.solve(position).worth.plies is not None


def test_a_limit_of_positions_ends_a_choice_too(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, number in METHODS["by choice"].items():
        monkeypatch.setattr(subset_sum, name, number)
    numbers = [2 * number for number in range(1, 60)] + [121]
    with pytest.raises(NotSolved, match="not solved within 3 positions"):
        SubsetSum(numbers[:30] + numbers[32:], 601).find_fewest(Watch(positions=3))
