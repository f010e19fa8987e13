"""Pairing: every player is paired; no pair and no bye repeats while that can be avoided."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from number_tower.rooms.pairing import Encounter, Pair, compute_standings, pair_freely, pair_swiss
from support.sizes import examples, size

Pairer = Callable[[Sequence[int], Sequence[Encounter], Random], tuple[Pair, ...]]
RESULTS = ((1.0, 0.0), (0.5, 0.5), (0.0, 1.0))
PAIRERS = st.sampled_from([pair_swiss, pair_freely])


def play(pairs: Sequence[Pair], random: Random) -> list[Encounter]:
    """Let every pair play; a player who sits out gets a point."""
    return [
        Encounter(*pair, (1.0, 0.0) if pair.second is None else random.choice(RESULTS))
        for pair in pairs
    ]


def list_matchings(players: tuple[int, ...]) -> Iterator[list[tuple[int, int | None]]]:
    """Yield every way to pair players, plainly; of an odd number one sits out."""
    if len(players) % 2:
        for out in players:
            for others in list_matchings(tuple(player for player in players if player != out)):
                yield [(out, None), *others]
    elif not players:
        yield []
    else:
        first, *rest = players
        for other in rest:
            for others in list_matchings(tuple(player for player in rest if player != other)):
                yield [(first, other), *others]


def count_repeats(
    pairs: Sequence[tuple[int, int | None]], history: Sequence[Encounter]
) -> tuple[int, int]:
    """Return how often the players of these pairs sat out and met before."""
    met = Counter(frozenset((one.first, one.second)) for one in history)
    out = sum(met[frozenset(pair)] for pair in pairs if pair[1] is None)
    return out, sum(met[frozenset(pair)] for pair in pairs if pair[1] is not None)


@st.composite
def any_history(draw: st.DrawFn, most: int = 7) -> tuple[list[int], list[Encounter]]:
    """Players, and any encounters among them, also of players who have left and games not over."""
    everyone = draw(st.lists(st.integers(1, 99), min_size=1, max_size=most + 2, unique=True))
    others = st.none() | st.sampled_from(everyone)
    result = st.none() | st.sampled_from(RESULTS)
    met = draw(
        st.lists(st.builds(Encounter, st.sampled_from(everyone), others, result), max_size=14)
    )
    return everyone[:most], [one for one in met if one.first != one.second]


def check_all_paired(pairs: Sequence[Pair], players: Sequence[int]) -> None:
    assert len(pairs) == (len(players) + 1) // 2
    paired = [player for pair in pairs for player in pair if player is not None]
    assert sorted(paired) == sorted(players)


@settings(max_examples=examples(300), deadline=None)
@given(PAIRERS, any_history(most=40), st.randoms(use_true_random=False))
def test_every_player_is_paired_once(
    pair: Pairer, history: tuple[list[int], list[Encounter]], random: Random
) -> None:
    players, met = history
    check_all_paired(pair(players, met, random), players)


@settings(max_examples=examples(300), deadline=None)
@given(PAIRERS, any_history(), st.randoms(use_true_random=False))
def test_pairs_and_byes_are_not_repeated_while_that_can_be_avoided(
    pair: Pairer, history: tuple[list[int], list[Encounter]], random: Random
) -> None:
    players, met = history
    least = min(count_repeats(pairs, met) for pairs in list_matchings(tuple(players)))
    assert count_repeats(pair(players, met, random), met) == least


@settings(max_examples=examples(50), deadline=None)
@given(PAIRERS, st.integers(2, 14), st.randoms(use_true_random=False))
def test_half_a_round_robin_repeats_no_pair_and_no_bye(
    pair: Pairer, count: int, random: Random
) -> None:
    met: list[Encounter] = []
    for _ in range((count + 1) // 2):
        pairs = pair(range(1, count + 1), met, random)
        assert count_repeats(pairs, met) == (0, 0)
        met += play(pairs, random)


@settings(max_examples=examples(100), deadline=None)
@given(any_history(), st.randoms(use_true_random=False))
def test_swiss_pairs_players_with_equal_points_where_possible(
    history: tuple[list[int], list[Encounter]], random: Random
) -> None:
    """The sum of the squared differences is the least of all pairings without more repetitions."""
    players, met = history
    if len(players) % 2:
        players = players[1:]
    points = {standing.player: standing.points for standing in compute_standings(players, met)}

    def judge(pairs: Sequence[tuple[int, int | None]]) -> tuple[tuple[int, int], float]:
        far = sum((points[one] - points[other]) ** 2 for one, other in pairs if other is not None)
        return count_repeats(pairs, met), far

    assert judge(pair_swiss(players, met, random)) == min(
        map(judge, list_matchings(tuple(players)))
    )


@pytest.mark.parametrize("pair", [pair_swiss, pair_freely])
@pytest.mark.parametrize("count", [size(90, 200), size(91, 199)])
def test_large_class_is_paired(pair: Pairer, count: int) -> None:
    random, met = Random(7), list[Encounter]()  # noqa: S311 - play, not secrets
    for _ in range(3):
        pairs = pair(range(count), met, random)
        check_all_paired(pairs, range(count))
        assert count_repeats(pairs, met) == (0, 0)
        met += play(pairs, random)


def test_large_class_where_nearly_all_have_met_is_paired() -> None:
    players = range(70)
    met = [Encounter(one, other) for one in players for other in players[:-1] if one < other]
    pairs = pair_swiss(players, met, Random(1))  # noqa: S311 - likewise
    check_all_paired(pairs, players)
    assert sum(count_repeats(pairs, met)) == 34, "only one pair can have the last player"


MET = [Encounter(1, 2, (1.0, 0.0))]
FIVE_MET = [Encounter(one, other, (1.0, 0.0)) for one, other in ((1, 2), (3, 4), (5, None))]


@pytest.mark.parametrize(
    ("pair", "players", "met", "last"),
    [
        *((pair, [1, 2], MET, [(2, 1)]) for pair in (pair_swiss, pair_freely)),
        (pair_swiss, [1, 2, 3, 4, 5], FIVE_MET, [(2, None), (4, None)]),
        (pair_freely, [9], [], [(9, None)]),
    ],
)
def test_last_pair_of_a_round(
    pair: Pairer, players: list[int], met: list[Encounter], last: list[tuple[int, int | None]]
) -> None:
    """The player who has begun less often begins; the last player without a bye gets it."""
    assert pair(players, met, Random(3))[-1] in last  # noqa: S311 - likewise
    assert pair([], met, Random(3)) == ()  # noqa: S311 - likewise


# Standings ----------------------------------------------------------------------------------------


@settings(max_examples=examples(200), deadline=None)
@given(any_history(), st.sampled_from(["buchholz", "head_to_head"]))
def test_points_add_up_and_places_follow_them(
    history: tuple[list[int], list[Encounter]], tie_break: Any
) -> None:
    players, met = history
    met_players = {player for one in met for player in one[:2] if player is not None}
    everyone = sorted(met_players | {*players})
    standings = compute_standings(everyone, met, tie_break)
    assert sorted(standing.player for standing in standings) == everyone
    points = [
        one.points[0] if one.second is None else sum(one.points)
        for one in met
        if one.points is not None
    ]
    assert sum(standing.points for standing in standings) == sum(points)
    ranks = [(-standing.points, -getattr(standing, tie_break)) for standing in standings]
    assert ranks == sorted(ranks)
    for standing, rank in zip(standings, ranks, strict=True):
        assert standing.place == 1 + sum(other < rank for other in ranks)
        assert standing.won + standing.drawn / 2 == standing.points


def test_tie_break_is_the_points_of_opponents_or_the_games_among_equals() -> None:
    """Ann lost to Ben; both have two points, but Ann's opponents have more."""
    ann, ben, cem, dan = 1, 2, 3, 4
    wins = [(ben, ann), (cem, dan), (ann, cem), (ben, dan), (ann, dan), (cem, ben)]
    met = [Encounter(*pair, (1.0, 0.0)) for pair in wins]
    by_opponents = compute_standings([ann, ben, cem, dan], met)
    assert [(one.player, one.points, one.buchholz, one.place) for one in by_opponents] == [
        (ann, 2, 4, 1),
        (ben, 2, 4, 1),
        (cem, 2, 4, 1),
        (dan, 0, 6, 4),
    ]
    among_equals = compute_standings([dan, cem, ben, ann], met, "head_to_head")
    games = {one.player: one.head_to_head for one in among_equals}
    assert games == {ann: 1, ben: 1, cem: 1, dan: 0}


def test_bye_counts_the_own_points_as_those_of_the_opponent() -> None:
    (one,) = compute_standings([1], [Encounter(1, None, (1.0, 0.0))])
    assert (one.points, one.buchholz, one.won) == (1.0, 1.0, 1)
