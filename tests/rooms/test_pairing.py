"""Pairing: everybody is paired, nobody meets twice or sits out twice while that can be avoided."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from number_tower.rooms.pairing import Encounter, Pair, compute_standings, pair_freely, pair_swiss
from support.sizes import examples, size

Pairer = Callable[[Sequence[int], Sequence[Encounter], Random], tuple[Pair, ...]]
RESULTS = ((1.0, 0.0), (0.5, 0.5), (0.0, 1.0))
PAIRERS = st.sampled_from([pair_swiss, pair_freely])


def play(pairs: Sequence[Pair], random: Random) -> list[Encounter]:
    """Let every pair play; who sits out gets a point."""
    return [
        Encounter(*pair, (1.0, 0.0) if pair.second is None else random.choice(RESULTS))
        for pair in pairs
    ]


def list_matchings(players: tuple[int, ...]) -> Iterator[list[tuple[int, int | None]]]:
    """Yield every way to pair players, plainly; of an odd number one sits out."""
    if len(players) % 2:
        for out in players:
            for others in list_matchings(tuple(each for each in players if each != out)):
                yield [(out, None), *others]
    elif not players:
        yield []
    else:
        first, *rest = players
        for other in rest:
            for others in list_matchings(tuple(each for each in rest if each != other)):
                yield [(first, other), *others]


def count_repeats(
    pairs: Sequence[tuple[int, int | None]], history: Sequence[Encounter]
) -> tuple[int, int]:
    """Return how often the players of these pairs have sat out and met before."""
    met = Counter(frozenset((each.first, each.second)) for each in history)
    out = sum(met[frozenset(pair)] for pair in pairs if pair[1] is None)
    return out, sum(met[frozenset(pair)] for pair in pairs if pair[1] is not None)


@st.composite
def any_history(draw: st.DrawFn, most: int = 7) -> tuple[list[int], list[Encounter]]:
    """Players, and any encounters among them: some have left since, and some games are not over."""
    everyone = draw(st.lists(st.integers(1, 99), min_size=1, max_size=most + 2, unique=True))
    others = st.none() | st.sampled_from(everyone)
    result = st.none() | st.sampled_from(RESULTS)
    met = draw(
        st.lists(st.builds(Encounter, st.sampled_from(everyone), others, result), max_size=14)
    )
    met = [each for each in met if each.first != each.second]
    return everyone[:most], met


@settings(max_examples=examples(300), deadline=None)
@given(PAIRERS, any_history(most=40), st.randoms(use_true_random=False))
def test_everybody_is_paired_once(
    pair: Pairer, history: tuple[list[int], list[Encounter]], random: Random
) -> None:
    players, met = history
    paired = [each for pair in pair(players, met, random) for each in pair if each is not None]
    assert sorted(paired) == sorted(players)
    assert len(pair(players, met, random)) == (len(players) + 1) // 2


@settings(max_examples=examples(300), deadline=None)
@given(PAIRERS, any_history(), st.randoms(use_true_random=False))
def test_nobody_sits_out_or_meets_again_while_that_can_be_avoided(
    pair: Pairer, history: tuple[list[int], list[Encounter]], random: Random
) -> None:
    players, met = history
    least = min(count_repeats(pairs, met) for pairs in list_matchings(tuple(players)))
    assert count_repeats(pair(players, met, random), met) == least


@settings(max_examples=examples(50), deadline=None)
@given(PAIRERS, st.integers(2, 14), st.randoms(use_true_random=False))
def test_half_a_round_robin_has_no_rematch_and_no_second_round_out(
    pair: Pairer, count: int, random: Random
) -> None:
    players = [*range(1, count + 1)]
    met: list[Encounter] = []
    for _ in range((count + 1) // 2):
        pairs = pair(players, met, random)
        assert count_repeats(pairs, met) == (0, 0)
        met += play(pairs, random)
    assert all(
        sum(each.second is None and each.first == player for each in met) <= 1 for player in players
    )


@settings(max_examples=examples(100), deadline=None)
@given(any_history(), st.randoms(use_true_random=False))
def test_swiss_pairs_those_with_equal_points_where_that_is_possible(
    history: tuple[list[int], list[Encounter]], random: Random
) -> None:
    """The sum of the squared differences is the least of all pairings without more repetitions."""
    players, met = history
    if len(players) % 2:
        players = players[1:]
    points = {each.player: each.points for each in compute_standings(players, met)}

    def judge(pairs: Sequence[tuple[int, int | None]]) -> tuple[tuple[int, int], float]:
        far = sum((points[one] - points[other]) ** 2 for one, other in pairs if other is not None)
        return count_repeats(pairs, met), far

    assert judge(pair_swiss(players, met, random)) == min(
        map(judge, list_matchings(tuple(players)))
    )


@pytest.mark.parametrize("pair", [pair_swiss, pair_freely])
@pytest.mark.parametrize("count", [size(90, 200), size(91, 199)])
def test_a_large_class_is_paired_as_well(pair: Pairer, count: int) -> None:
    random = Random(7)  # noqa: S311 - play, not secrets
    players, met = [*range(count)], list[Encounter]()
    for _ in range(3):
        pairs = pair(players, met, random)
        assert sorted(each for pair in pairs for each in pair if each is not None) == players
        assert count_repeats(pairs, met) == (0, 0)
        met += play(pairs, random)


def test_a_large_class_where_all_neighbours_have_met_is_paired_with_others() -> None:
    players = [*range(70)]
    met = [Encounter(one, other) for one in players for other in players[:-1] if one < other]
    pairs = pair_swiss(players, met, Random(1))  # noqa: S311 - likewise
    assert sorted(each for pair in pairs for each in pair if each is not None) == players
    assert sum(count_repeats(pairs, met)) == 34, (
        "one pair at most can have the player whom nobody has met"
    )


@settings(max_examples=examples(50), deadline=None)
@given(PAIRERS, st.randoms(use_true_random=False))
def test_who_has_begun_less_often_begins(pair: Pairer, random: Random) -> None:
    (second,) = pair([1, 2], [Encounter(1, 2, (1.0, 0.0))], random)
    assert second == (2, 1)


def test_the_one_who_sits_out_is_the_last_who_has_not_done_so_yet() -> None:
    met = [Encounter(1, 2, (1.0, 0.0)), Encounter(3, 4, (1.0, 0.0)), Encounter(5, None, (1.0, 0.0))]
    second = pair_swiss([1, 2, 3, 4, 5], met, Random(3))  # noqa: S311 - likewise
    assert second[-1] in {(2, None), (4, None)}


def test_nobody_can_be_paired_without_players() -> None:
    assert pair_swiss([], [], Random(0)) == ()  # noqa: S311 - likewise
    assert pair_freely([9], [], Random(0)) == ((9, None),)  # noqa: S311 - likewise


# Standings ----------------------------------------------------------------------------------------


@settings(max_examples=examples(200), deadline=None)
@given(any_history(), st.sampled_from(["buchholz", "head_to_head"]))
def test_points_add_up_and_places_follow_them(
    history: tuple[list[int], list[Encounter]], tie_break: str
) -> None:
    players, met = history
    everyone = sorted({each for one in met for each in one[:2] if each is not None} | {*players})
    standings = compute_standings(everyone, met, tie_break)  # type: ignore[arg-type] # one of both
    assert sorted(each.player for each in standings) == everyone
    over = [each for each in met if each.points is not None]
    assert sum(each.points for each in standings) == sum(
        sum(each.points or ()) if each.second is not None else (each.points or (0.0,))[0]
        for each in over
    )
    ranks = [(-each.points, -getattr(each, tie_break)) for each in standings]
    assert ranks == sorted(ranks)
    for one, rank in zip(standings, ranks, strict=True):
        assert one.place == 1 + sum(other < rank for other in ranks)
        assert one.won + one.drawn / 2 == one.points


def test_the_tie_break_is_the_points_of_the_opponents_or_the_games_among_equals() -> None:
    """Ann lost to Ben; both have two points, but Ann's opponents have more."""
    ann, ben, cem, dan = 1, 2, 3, 4
    met = [
        Encounter(ben, ann, (1.0, 0.0)),
        Encounter(cem, dan, (1.0, 0.0)),
        Encounter(ann, cem, (1.0, 0.0)),
        Encounter(ben, dan, (1.0, 0.0)),
        Encounter(ann, dan, (1.0, 0.0)),
        Encounter(cem, ben, (1.0, 0.0)),
    ]
    by_opponents = compute_standings([ann, ben, cem, dan], met)
    assert [(each.player, each.points, each.buchholz) for each in by_opponents] == [
        (ann, 2, 4), (ben, 2, 4), (cem, 2, 4), (dan, 0, 6),
    ]  # fmt: skip
    assert [each.place for each in by_opponents] == [1, 1, 1, 4], "equal players share a place"
    among_equals = compute_standings([dan, cem, ben, ann], met, "head_to_head")
    assert {each.player: each.head_to_head for each in among_equals} == {
        ann: 1,
        ben: 1,
        cem: 1,
        dan: 0,
    }


def test_a_round_without_an_opponent_counts_ones_own_points() -> None:
    (one,) = compute_standings([1], [Encounter(1, None, (1.0, 0.0))])
    assert (one.points, one.buchholz, one.won) == (1.0, 1.0, 1)


def test_games_that_are_not_over_count_nothing() -> None:
    assert [each.points for each in compute_standings([1, 2], [Encounter(1, 2)])] == [0.0, 0.0]
