"""Games: immutable, replayable, and with the events of every move."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from syrupy.assertion import SnapshotAssertion

import number_tower as nt
from number_tower import Event, Game, MoveError, Rules
from number_tower.engine import record
from number_tower.engine.game import play_randomly
from support import plain
from support.refusals import describe_refusal
from support.strategies import any_game, any_rules


@given(any_game())
def test_undo_is_the_inverse_of_play(game: Game) -> None:
    assert list(game.legal) == sorted(game.legal)
    for block in game.legal:
        after = game.play(block)
        assert after.undo() == game
        assert after.undo().position == game.position
        assert after.moves == (*game.moves, block)


@given(any_game())
def test_towers_and_heights_follow_from_the_moves(game: Game) -> None:
    for player in (0, 1):
        assert list(game.towers[player]) == plain.tower_of(game, player)
        assert game.heights[player] == sum(game.towers[player])


@given(any_game())
def test_replaying_the_moves_gives_the_same_game(game: Game) -> None:
    again = Game(game.rules, game.first, game.moves)
    assert again == game
    assert (again.position, again.movers, again.events) == (game.position, game.movers, game.events)
    assert hash(again.position) == hash(game.position)
    assert list(game.history())[-1] == game
    assert pickle.loads(pickle.dumps(game)) == game  # noqa: S301 - its own pickle


@given(any_rules(), st.randoms(use_true_random=False))
def test_every_game_ends(rules: Rules, random: Random) -> None:
    game = Game(rules)
    endless = rules.target or len(rules.blocks)
    longest = 2 * (endless if rules.supply == "endless" else len(rules.blocks))
    while game.outcome is None:
        game = game.play(random.choice(game.legal))
        assert len(game.moves) <= longest


@given(any_game())
def test_events_tell_every_skip_and_nothing_else(game: Game) -> None:
    kinds = [event.kind for event in game.events]
    assert kinds[0] == ("placed" if game.moves else "start")
    assert kinds[-1] == ("turn" if game.outcome is None else "end")
    assert game.events[-1].player == game.to_move
    skipped = bool(game.moves) and game.outcome is None and game.movers[-1] == game.to_move
    assert (Event("skipped", 1 - game.to_move) in game.events) == skipped
    assert len(kinds) == 2 + skipped


def test_readme_example_works() -> None:
    rules = nt.rules("draft", target=21, blocks=range(1, 13))
    game = nt.Game(rules, first=0)
    after = game.play(9)
    assert game.moves == ()
    assert after.moves == (9,)
    assert (game.to_move, after.to_move) == (0, 1)
    assert after.legal == (1, 2, 3, 4, 5, 6, 7, 8, 10, 11, 12)
    assert after.towers == ((9,), ())
    assert after.heights == (9, 0)
    assert after.outcome is None
    assert after.undo() == game


def test_first_player_is_a_choice() -> None:
    game = Game(nt.rules("summit"), first=1)
    assert game.to_move == 1
    assert game.play(5).movers == (1,)


def test_wrong_call_of_a_game_is_refused(snapshot: SnapshotAssertion) -> None:
    make_game: Callable[..., Game] = Game
    calls: list[Callable[[], object]] = [
        *(partial(make_game, first=first) for first in (2, -1, True, 1.0, None)),
        *(Game().undo, partial(Game().play, 10**5000), partial(make_game, "draft")),
        partial(setattr, Game(), "moves", (1,)),
        partial(setattr, Rules(), "target", 3),
    ]
    assert [describe_refusal(call) for call in calls] == snapshot


def test_illegal_move_in_a_list_is_named_by_its_number() -> None:
    with pytest.raises(MoveError, match=r"move 3: 7 cannot be placed \(target\)") as refused:
        Game(nt.rules("draft"), moves=(9, 8, 7))
    assert refused.value.ply == 3


def test_unknown_name_in_the_package_is_refused() -> None:
    with pytest.raises(AttributeError, match="no attribute 'towre'"):
        _ = nt.towre  # type: ignore[attr-defined]  # that it is refused is the point
    for name in nt.__all__:
        assert getattr(nt, name) is not None
        assert name in dir(nt)


def test_errors_survive_pickling() -> None:
    tries = (
        lambda: Rules(fit="round"),  # type: ignore[arg-type]  # that it is refused is the point
        lambda: nt.rules("climb", target=3),
        lambda: nt.rules("missing.toml"),
        lambda: nt.rules("chess"),
        lambda: Game().play(10),
        lambda: Game(moves=(1, 1)),
        lambda: record.from_line("draft:9,9"),
        lambda: record.read("nothing"),
    )
    for attempt in tries:
        with pytest.raises(ValueError, match=r".") as raised:
            attempt()
        again = pickle.loads(pickle.dumps(raised.value))  # noqa: S301 - its own pickle
        assert (type(again), str(again)) == (type(raised.value), str(raised.value))


@given(any_game(), st.integers(0, 5), st.integers(0, 1000))
def test_random_moves_are_legal_and_follow_from_the_seed(game: Game, most: int, seed: int) -> None:
    played = list(play_randomly(game, Random(seed), most))  # noqa: S311 - play
    assert played[0] == game
    assert all(after.undo() == before for before, after in pairwise(played))
    assert len(played) == most + 1 or (len(played) <= most and played[-1].outcome is not None)
    positions = list(play_randomly(game.position, Random(seed), most))  # noqa: S311 - play
    assert positions == [after.position for after in played]
