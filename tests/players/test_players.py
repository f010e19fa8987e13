"""Opponents: every level does what it says, and the same seed gives the same game.

The perfect one never errs.
"""

from __future__ import annotations

from itertools import pairwise
from random import Random

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import number_tower as nt
from number_tower import Game, Position, Rules
from number_tower.engine import record
from number_tower.players import LEVELS, UnknownPlayerError, is_command, make_player
from number_tower.players.knowledge import Knowledge, find_hardest_moves, get_knowledge
from number_tower.players.levels import (
    MAX_MOVES,
    Computer,
    evaluate_moves,
    select_moves,
    select_promising,
)
from number_tower.solve.deep import DeepSolver
from number_tower.solve.matching import MatchingSolver
from number_tower.solve.separate_towers import SeparateTowersSolver
from number_tower.solve.top import TopSolver
from number_tower.solve.worth import Solver
from number_tower.studies.arena import arena
from support.plain import PlainSolver
from support.sizes import examples, size
from support.strategies import any_game, any_rules

ONE_POOL: dict[str, object] = {
    "towers": "shared",
    "supply": "shared",
    "target": None,
    "stuck": "loses",
}
METHODS: dict[str, tuple[type[Solver], dict[str, object]]] = {
    "top": (TopSolver, ONE_POOL | {"fit": "ascending"}),
    "towers": (SeparateTowersSolver, {"towers": "own", "supply": "own", "stuck": "loses"}),
    "matching": (MatchingSolver, ONE_POOL | {"fit": "related"}),
    "search": (DeepSolver, {"towers": "own", "supply": "shared"}),
}


def perfect(seed: int = 0) -> Computer:
    return Computer(LEVELS["perfect"], seed)


@st.composite
def positions(draw: st.DrawFn, method: str) -> Game:
    """Return a position by random rules that are solved by a method, with any player to move."""
    changes = METHODS[method][1]
    step = {} if changes.get("fit", "ascending") == "ascending" else {"step": None}
    rules = draw(any_rules(most_blocks=6)).replace(step | changes)
    game = Game(rules, draw(st.integers(0, 1)))
    for _ in range(draw(st.integers(0, 4))):
        if game.outcome is None:
            game = game.play(draw(st.sampled_from(game.legal)))
    assume(game.outcome is None)
    return game


@pytest.mark.parametrize("method", METHODS)
@settings(max_examples=examples(60))
@given(data=st.data(), seed=st.integers(0, 3))
def test_perfect_play_never_loses_value(method: str, data: st.DataObject, seed: int) -> None:
    game, plain = data.draw(positions(method)), PlainSolver()
    block = perfect(seed).choose(game)
    assert isinstance(nt.solve(game).solver, METHODS[method][0])
    assert plain.evaluate_move(game.position, block) == plain.evaluate(game.position)


@settings(max_examples=examples(60))
@given(any_game(), st.sampled_from(sorted(LEVELS)), st.integers(0, 1), st.integers(0, 5))
def test_perfect_level_gets_at_least_what_the_position_is_worth(
    game: Game, rival: str, seat: int, seed: int
) -> None:
    plain = PlainSolver()
    ranks = {"win": 1, "draw": 0, "loss": -1}
    worth = ranks[plain.evaluate(game.position).value] * (1 if game.to_move == seat else -1)
    players = (perfect(seed), make_player(rival, seed=seed))
    while game.outcome is None:
        game = game.play(players[0 if game.to_move == seat else 1].choose(game))
    result = 0 if game.outcome.winner is None else 1 if game.outcome.winner == seat else -1
    assert result >= worth


@settings(max_examples=examples(60))
@given(any_game(to_the_end=True))
def test_lost_position_is_made_as_hard_as_it_can_be(whole: Game) -> None:
    plain = PlainSolver()

    def replies(position: Position, block: int) -> int:
        after = position.place(block)
        return sum(plain.evaluate_move(after, reply).value == "win" for reply in after.legal)

    for game in whole.history():
        position = game.position
        if game.outcome is not None or plain.evaluate(position).value != "loss":
            continue
        value = plain.evaluate(position)
        longest = [
            block for block in position.legal if plain.evaluate_move(position, block) == value
        ]
        chosen = find_hardest_moves(nt.solve(game))
        assert set(chosen) <= set(longest)
        if all(position.place(block).to_move != position.to_move for block in longest):
            fewest = min(replies(position, block) for block in longest)
            assert list(chosen) == [
                block for block in longest if replies(position, block) == fewest
            ]


@settings(max_examples=examples(80))
@given(any_game(), st.sampled_from(sorted(LEVELS)), st.integers(0, 5))
def test_every_level_takes_a_win_in_hand(game: Game, level: str, seed: int) -> None:
    assume(game.outcome is None)

    def wins(block: int) -> bool:
        outcome = game.play(block).outcome
        return outcome is not None and outcome.winner == game.to_move

    at_once = [block for block in game.legal if wins(block)]
    chosen = make_player(level, seed=seed).choose(game)
    assert chosen in (at_once or game.legal)


@settings(max_examples=examples(50))
@given(any_game(), st.integers(1, 4))
def test_look_ahead_finds_exactly_the_wins_and_losses_in_sight(game: Game, plies: int) -> None:
    assume(game.outcome is None)
    plain = PlainSolver()
    for block, look in evaluate_moves(game.position, plies, game.legal).items():
        worth = plain.evaluate_move(game.position, block)
        assert worth.plies is not None
        near = worth.plies <= plies
        assert (look > 0) == (near and worth.value == "win")
        assert (look < 0) == (near and worth.value == "loss")


def test_sooner_wins_and_later_losses_look_better() -> None:
    game = Game(nt.rules("draft"), 0, (9, 8, 3))
    looks = evaluate_moves(game.position, 4, game.legal)
    assert looks[7] > looks[6] > looks[5] == 0 > looks[4] > looks[1]


def test_of_very_many_moves_the_one_that_reaches_the_target_is_always_considered() -> None:
    rules = Rules(blocks=range(1, 5001), target=4321, supply="own")
    moves = select_moves(Position.start(rules), Random(1))  # noqa: S311 - play, not secrets
    assert MAX_MOVES <= len(moves) <= MAX_MOVES + 1
    assert 4321 in moves
    assert all(make_player(level).choose(Game(rules)) == 4321 for level in LEVELS)


@settings(max_examples=examples(30))
@given(any_game(), st.sampled_from(["random", *LEVELS]), st.integers(0, 5))
def test_choice_follows_from_seed_and_game(game: Game, level: str, seed: int) -> None:
    assume(game.outcome is None)
    player, start = make_player(level, seed=seed), Game(game.rules)
    if start.legal:
        player.choose(start)
    assert player.choose(game) == make_player(level, seed=seed).choose(game)


def test_other_seeds_give_other_games() -> None:
    game = Game(nt.rules("climb"))
    assert len({make_player("random", seed=seed).choose(game) for seed in range(40)}) > 10


def test_without_known_plies_the_seed_chooses_among_the_best_moves() -> None:
    rules = nt.rules("factor", blocks="1-60")
    solution = nt.solve(Game(rules), plies=False)
    chosen = {perfect(seed).choose(Game(rules)) for seed in range(30)}
    assert nt.solve(Game(rules)).plies is None
    assert len(chosen) > 3
    assert chosen <= set(solution.best)


@pytest.mark.slow
def test_position_that_cannot_be_solved_is_played_with_a_remark() -> None:
    rules = nt.rules("summit", blocks="1-40", target=311)
    level = perfect()
    assert level.choose(Game(rules)) in Game(rules).legal
    assert level.remark == "Perfect cannot work out this position, and plays as well as it can."
    close = Game(rules, 0, (40, 40, 39, 39, 38, 38, 37, 37))
    assert level.choose(close) == 3
    assert level.choose(Game(nt.rules("draft"))) in {8, 9}
    assert level.remark == ""


def test_knowledge_of_a_game_does_not_depend_on_earlier_questions() -> None:
    rules = nt.rules("factor", blocks="1-58")
    positions = [game.position for game in Game(rules, 0, (58, 29)).history()]

    def solve_all(order: list[Position]) -> dict[Position, object]:
        knowledge = Knowledge(rules)
        solutions = {position: knowledge.solve(position) for position in order}
        return {key: solution and solution.worth for key, solution in solutions.items()}

    assert solve_all(positions) == solve_all(positions[::-1])
    assert get_knowledge(rules) is get_knowledge(nt.rules("factor", blocks="1-58"))


@pytest.mark.parametrize("word", ["impossible", "", "perfekt", "Gentle!"])
def test_unknown_level_is_an_error_that_lists_the_levels(word: str) -> None:
    with pytest.raises(
        UnknownPlayerError, match="the levels are gentle, easy, fair, strong, perfect"
    ):
        make_player(word)


def test_slash_or_a_space_makes_a_command() -> None:
    assert all(map(is_command, ["./bot", "python bot.py", "/usr/bin/bot", "bots/b"]))
    assert not any(map(is_command, [*LEVELS, "random", "bot", " perfect "]))


# The order of the levels --------------------------------------------------------------------------

SMALL = ("race", "draft", "summit", "factor")
LARGER = (
    "summit(blocks=1-12,target=39)",
    "climb(blocks=1-60,opening=1-5)",
    "factor(blocks=1-24,opening=1,22)",
)
"""Larger games that the second player can win, so the first has to hope for a slip."""


@pytest.mark.parametrize("line", LARGER)
def test_larger_games_of_the_arena_are_won_by_the_second_player(line: str) -> None:
    assert nt.solve(record.from_line(f"{line}:").game).value == "loss"


@pytest.mark.slow
@pytest.mark.parametrize(("weaker", "stronger"), list(pairwise(LEVELS)))
def test_level_beats_the_one_below_it(weaker: str, stronger: str) -> None:
    results = arena(
        games=[*SMALL, *LARGER], players=[weaker, stronger], number=size(20, 40), seed=1, jobs=1
    )
    assert results.score(stronger, weaker).share >= 0.55


def test_win_in_hand_is_taken_even_where_plies_are_not_known() -> None:
    for blocks, moves in (("1-60", (29, 1)), ("1-2000", (1999, 1)), ("1-100", (97, 1))):
        game = Game(nt.rules("factor", blocks=blocks), 0, moves)
        for seed in range(3):
            outcome = game.play(perfect(seed).choose(game)).outcome
            assert outcome == (0, "stuck")
        assert nt.solve(game).plies == 1


@pytest.mark.slow
def test_solved_position_with_unsolved_replies_is_played() -> None:
    rules = nt.rules("draft", target=200, blocks="1-40")
    game = Game(rules, 0, (26, 39, 15, 31))
    assert perfect().choose(game) in game.legal


@pytest.mark.slow
def test_beyond_its_horizon_the_perfect_level_still_beats_a_gentle_one() -> None:
    results = arena(
        games=["draft(target=200,blocks=1-40)", "summit(target=311,blocks=1-40)"][: size(1, 2)],
        players=["gentle", "perfect"], number=2, seed=1, jobs=1,
    )  # fmt: skip
    assert results.score("perfect", "gentle").share >= 0.75


def test_of_equal_moves_those_that_leave_more_choices_are_promising() -> None:
    rules = Rules(blocks=range(1, 31), supply="own", towers="own", fit="descending", stuck="skips")
    # Chance is for play here, not for secrets.
    assert min(select_promising(Position.start(rules), range(1, 31), Random(1))) > 15  # noqa: S311
