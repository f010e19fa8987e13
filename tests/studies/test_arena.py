"""The arena: a schedule from its settings, games that are played out, and what they add up to."""

from __future__ import annotations

import io
import json
import re
import shlex
from argparse import Namespace
from collections import Counter
from contextlib import closing
from itertools import islice
from math import comb, log, sqrt
from multiprocessing import active_children
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from syrupy.assertion import SnapshotAssertion

import number_tower as nt
from number_tower import Game, Rules, Table
from number_tower.engine import catalogue
from number_tower.engine.record import from_line, to_line
from number_tower.players import LEVELS, UnknownPlayerError
from number_tower.studies.arena import BatchError, arena, play_games, play_out
from number_tower.studies.arena.playout import ArenaJournal, GameResult
from number_tower.studies.arena.ratings import Z_95, compute_interval, compute_ratings
from number_tower.studies.arena.results import ArenaResults, Score, compute_results
from number_tower.studies.arena.schedule import Contest, arrange
from number_tower.terminal.cli import console
from number_tower.terminal.cli.commands import arena as arena_command
from number_tower.terminal.cli.main import create_parser
from number_tower.terminal.cli.study import format_resume_call
from support.command import ROOT
from support.jobs import Stub
from support.strategies import any_rules

HINT = "stops; --resume continues"
STUBS = ("ann", "ben", "cleo")


def arrange_contest(
    *games: str | Rules, players: tuple[str, ...] = STUBS, number: int = 4, seed: int = 1
) -> Contest:
    return arrange(games or ("draft", "factor"), players, number=number, seed=seed, make=Stub)


# The schedule -------------------------------------------------------------------------------------


@given(
    st.lists(st.sampled_from(catalogue.list_names()), min_size=1, max_size=3, unique=True),
    st.integers(2, 5),
    st.integers(1, 7),
)
def test_every_pair_plays_every_game_equally_often_and_changes_seats(
    games: list[str], count: int, number: int
) -> None:
    contest = arrange_contest(*games, players=tuple("abcdefg"[:count]), number=number)
    fixtures = [contest.get_fixture(index) for index in range(len(contest))]
    assert [fixture.index for fixture in fixtures] == list(range(len(contest)))
    assert len(fixtures) == len(games) * count * (count - 1) // 2 * number
    seated = Counter((fixture.game, fixture.players) for fixture in fixtures)
    for game in games:
        for one, other in contest.pairs:
            assert seated[game, (one, other)] == (number + 1) // 2
            assert seated[game, (other, one)] == number // 2


def test_rounds_follow_each_other_so_that_any_part_is_a_fair_sample() -> None:
    contest = arrange_contest("draft", "factor", number=3)
    first_round = [contest.get_fixture(index) for index in range(6)]
    assert [(fixture.game, fixture.players) for fixture in first_round] == [
        (game, pair) for game in ("draft", "factor") for pair in contest.pairs
    ]
    assert contest.get_fixture(6).players == ("ben", "ann")


def list_seeds(*players: str, seed: int = 1) -> dict[object, int]:
    contest = arrange_contest("draft", players=players, number=6, seed=seed)
    fixtures = [contest.get_fixture(index) for index in range(len(contest))]
    return {
        (fixture.game, fixture.players, fixture.index // len(contest.pairs)): fixture.seed
        for fixture in fixtures
    }


def test_seed_of_a_game_does_not_depend_on_the_other_players() -> None:
    few, many = list_seeds("ann", "ben"), list_seeds("ann", "cleo", "ben")
    assert few.items() <= many.items()
    assert len(set(many.values())) == len(many)
    assert not set(few.values()) & set(list_seeds("ann", "ben", seed=2).values())


def test_seeds_are_the_same_on_every_machine() -> None:
    contest = arrange_contest("draft", players=("random", "perfect"))
    assert contest.get_fixture(0).seed == 110660785990402


@pytest.mark.parametrize(
    ("game", "text"),
    [
        (" DRAFT ", "draft"),
        ("draft(target=15)", "draft"),
        ("draft(target=21)", "draft(target=21)"),
        ("rules(fit=ascending,step=3)", "rules(fit=ascending,step=3)"),
        ("tests/data/rulefiles/primes.toml", "tests/data/rulefiles/primes.toml"),
        (Rules(fit="related"), "rules(fit=related)"),
    ],
)
def test_game_has_the_name_that_records_give_it(
    game: str | Rules, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    contest = arrange_contest(game)
    assert contest.games == (text,)
    fixture = contest.get_fixture(0)
    table = contest.tables[fixture.game, fixture.players]
    assert to_line(table, files=True).startswith(text.removesuffix(")"))
    assert table.names == fixture.players


ALONE = "expected a game and its rules alone"


@pytest.mark.parametrize(
    ("games", "players", "problem"),
    [
        (["draft"], ["ann"], "expected two players or more, such as random,perfect; got 'ann'"),
        (["draft"], ["ann", ""], "expected two players or more"),
        (["draft"], ["ann", "ben", "ANN "], "players: 'ann' is named twice"),
        (["draft", "draft(target=15)"], STUBS, "games: 'draft' is named twice"),
        ([], STUBS, "expected a game"),
        (["chess"], STUBS, "'chess' cannot be played: there is no game called 'chess'"),
        (["none.toml"], STUBS, "'none.toml' cannot be played: none.toml: there is no such file"),
        (["draft(step=2)"], STUBS, "draft has no option step"),
        (["draft(first=2)"], STUBS, ALONE),
        (["draft(names=A,B)"], STUBS, ALONE),
        (["summit(hidden=yes)"], STUBS, ALONE),
    ],
)
def test_wrong_arena_is_refused(games: list[str], players: list[str], problem: str) -> None:
    with pytest.raises(BatchError) as refusal:
        arrange(games, players, make=Stub)
    assert problem in str(refusal.value)


def test_wrong_numbers_and_players_are_refused_before_anything_is_played() -> None:
    with pytest.raises(BatchError, match="expected each pair to play once or more; got 0"):
        arrange_contest("draft", number=0)
    with pytest.raises(UnknownPlayerError, match="there is no level 'nobody'"):
        arena(["draft"], ["random", "nobody"])


# One game -----------------------------------------------------------------------------------------


@given(any_rules(), st.integers(0, 1))
def test_game_is_played_to_its_end_and_both_players_are_closed(rules: Rules, first: int) -> None:
    ann, ben = Stub("ann"), Stub("ben")
    seen: list[Table] = []
    finished = play_out(Table(Game(rules, first), names=("Ann", "Ben")), (ann, ben), seen.append)
    game = finished.table.game
    assert finished.table.outcome == game.outcome is not None
    assert finished.table.names == ("Ann", "Ben")
    assert finished.forfeit is None
    assert [len(table.game.moves) for table in seen] == list(range(1, len(game.moves) + 1))
    assert (ann.closed, ben.closed) == (1, 1)


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("quitter", "it has gone home"),
        ("cheat", "it chose 1000000000, which is not a block of this game"),
        ("repeat", "which has been used already"),
    ],
)
def test_player_without_a_legal_move_forfeits(name: str, reason: str) -> None:
    ann, other = Stub("ann"), Stub(name)
    seen: list[Table] = []
    finished = play_out(Table(Game(nt.rules("draft"))), (ann, other), seen.append)
    assert finished.table.outcome == (0, "forfeit")
    assert finished.forfeit is not None
    assert reason in finished.forfeit
    assert len(finished.table.game.moves) == 1
    assert seen[-1] == finished.table
    assert (ann.closed, other.closed) == (1, 1)


def test_both_players_are_closed_when_one_raises_an_error() -> None:
    broken, ben = Stub("broken"), Stub("ben")
    with pytest.raises(ZeroDivisionError):
        play_out(Table(Game(nt.rules("draft"))), (broken, ben))
    assert (broken.closed, ben.closed) == (1, 1)


def test_game_without_a_first_move_is_over_at_once() -> None:
    rules = Rules(blocks=[5], target=3)
    assert play_out(Table(Game(rules)), (Stub("ann"), Stub("ben"))).table.outcome == (1, "stuck")
    assert arena([rules], STUBS, number=2, jobs=1, make=Stub).by_game[0].mean_plies == 0


# Many games ---------------------------------------------------------------------------------------


def test_levels_play_the_same_in_one_process_and_in_two() -> None:
    alone, together = (
        arena(["draft", "factor"], [*LEVELS, "random"], number=2, seed=3, jobs=jobs)
        for jobs in (1, 2)
    )
    assert alone == together
    assert alone.to_json() == together.to_json()
    assert len(alone.games) == 60
    assert alone.score("perfect", "random").share > 0.5


def test_line_of_the_file_has_its_game(tmp_path: Path) -> None:
    players, path = ("ann", "quitter"), tmp_path / "a.jsonl"
    arena(["draft", "factor"], players, number=3, jobs=1, out=path, make=Stub)
    contest = arrange_contest(players=players, number=3)
    header, *lines = map(json.loads, path.read_text().splitlines())
    assert header["players"] == ["ann", "quitter"]
    for index, line in enumerate(lines):
        fixture, table = contest.get_fixture(index), from_line(line["record"])
        ann = fixture.players.index("ann")
        assert line == {
            "index": index,
            "game": fixture.game,
            "seed": fixture.seed,
            "players": list(fixture.players),
            "winner": 1 + ann,
            "reason": "forfeit",
            "forfeit": "it has gone home",
            "moves": list(table.game.moves),
            "record": line["record"],
            "plies": len(table.game.moves),
        }
        assert (table.outcome, table.names) == ((ann, "forfeit"), fixture.players)


def test_forfeits_are_counted_for_the_players_that_gave_them() -> None:
    results = arena(["draft"], ["quitter", "ann", "cheat"], number=4, jobs=1, make=Stub)
    forfeits = {standing.player: standing.forfeits for standing in results.standings}
    assert forfeits["ann"] == 0
    assert forfeits["quitter"] + forfeits["cheat"] == 12
    assert results.standings[0].player == "ann"
    assert {game.reason for game in results.games} == {"forfeit"}


def test_workers_stop_when_no_more_games_are_read() -> None:
    contest = arrange_contest(number=10_000)
    with closing(play_games(contest, jobs=2, make=Stub)) as games:
        assert len({game.index for game in islice(games, 5)}) == 5
        assert len(active_children()) == 2
    assert not active_children()


def test_saved_games_are_not_played_again(tmp_path: Path) -> None:
    contest, path = arrange_contest(), tmp_path / "a.jsonl"
    with ArenaJournal(path, contest) as journal:
        list(play_games(contest, log=journal, jobs=1, make=Stub))
    whole = path.read_bytes()
    path.write_bytes(b"".join(whole.splitlines(keepends=True)[:9]))
    made: list[str] = []

    def make_counted(spec: str, *, seed: int, patience: float) -> Stub:
        made.append(spec)
        return Stub(spec, seed=seed, patience=patience)

    steps: list[tuple[int, int]] = []
    with ArenaJournal(path, contest, resume=True) as journal:
        games = play_games(
            contest,
            log=journal,
            jobs=1,
            make=make_counted,
            progress=lambda *step: steps.append(step),
        )
        assert len(list(games)) == len(contest)
    assert len(made) == 2 * (len(contest) - 8)
    assert steps == [(done, len(contest)) for done in range(8, len(contest) + 1)]
    assert path.read_bytes() == whole


# Scores and ratings -------------------------------------------------------------------------------


def test_interval_is_wilsons() -> None:
    assert compute_interval(81, 263) == pytest.approx((0.2553, 0.3662), abs=1e-4)
    assert compute_interval(0, 10) == pytest.approx((0.0, 0.2775), abs=1e-4)
    assert compute_interval(0, 0) == (0.0, 1.0)


@given(st.integers(1, 500), st.integers(0, 1000))
def test_interval_contains_its_score_and_is_symmetric(games: int, halves: int) -> None:
    points = min(halves, 2 * games) / 2
    low, high = compute_interval(points, games)
    assert 0 <= low <= points / games <= high <= 1
    assert compute_interval(games - points, games) == pytest.approx((1 - high, 1 - low))


def test_intervals_contain_the_truth_about_as_often_as_they_say() -> None:
    intervals = [compute_interval(won, 60) for won in range(61)]
    covered = []
    for percent in range(5, 96):
        chance = percent / 100
        covered.append(
            sum(
                comb(60, won) * chance**won * (1 - chance) ** (60 - won)
                for won, (low, high) in enumerate(intervals)
                if low <= chance <= high
            )
        )
    assert min(covered) > 0.91
    assert sum(covered) / len(covered) == pytest.approx(0.95, abs=0.01)


def rate_difference(points: float, games: int) -> float:
    ratings = compute_ratings(["ann", "ben"], {("ann", "ben"): (points, games)})
    return ratings["ann"].elo - ratings["ben"].elo


@pytest.mark.parametrize(
    ("share", "elo"),
    [(0.5, 0), (0.75, 190.8), (0.25, -190.8), (0.64, 99.9), (10 / 11, 400), (0.99, 798.3)],
)
def test_difference_in_elo_follows_from_the_score(share: float, elo: float) -> None:
    assert rate_difference(share * 10**6, 10**6) == pytest.approx(elo, abs=0.2)


def test_few_games_say_less_than_many() -> None:
    assert 0 < rate_difference(3, 4) < rate_difference(75, 100) < rate_difference(750, 1000) < 190.8


@given(st.lists(st.floats(-600, 600), min_size=2, max_size=6), st.randoms(use_true_random=False))
def test_ratings_are_recovered_from_predicted_scores(elos: list[float], random: Any) -> None:
    players = [f"player {number}" for number, _ in enumerate(elos)]
    games = 10**9
    scores = {}
    for one, mine in enumerate(elos):
        for other in range(one):
            chance = 1 / (1 + 10 ** ((elos[other] - mine) / 400))
            scores[players[one], players[other]] = chance * games, games
    shuffled = random.sample(players, len(players))
    ratings = compute_ratings(shuffled, scores)
    mean = sum(elos) / len(elos)
    for player, elo in zip(players, elos, strict=True):
        assert ratings[player].elo == pytest.approx(elo - mean, abs=0.01)
    assert sum(rating.elo for rating in ratings.values()) == pytest.approx(0, abs=1e-6)


@pytest.mark.parametrize("games", [1, 100, 10**6])
def test_players_who_won_or_lost_every_game_have_a_rating(games: int) -> None:
    pairs = [("a", "b"), ("a", "c"), ("b", "c"), ("a", "d"), ("b", "d"), ("c", "d")]
    ratings = compute_ratings(list("abcd"), dict.fromkeys(pairs, (games, games)))
    elos = [ratings[player].elo for player in "abcd"]
    assert elos == sorted(elos, reverse=True)
    assert elos == pytest.approx([-elo for elo in reversed(elos)], abs=1e-6)
    assert elos[0] < 5000
    assert all(0 < rating.margin < 1000 for rating in ratings.values())


def test_margin_of_two_players_follows_the_formula() -> None:
    won, games = 6400, 10_000
    margin = Z_95 * 400 / log(10) / 2 / sqrt(games * 0.64 * 0.36)
    ratings = compute_ratings(["ann", "ben"], {("ann", "ben"): (won, games)})
    assert ratings["ann"].margin == pytest.approx(margin, rel=1e-3)
    assert ratings["ben"].margin == pytest.approx(margin, rel=1e-3)


def make_result(contest: Contest, index: int, winner: int | None) -> GameResult:
    fixture = contest.get_fixture(index)
    return GameResult(
        index, fixture.game, fixture.seed, fixture.players, winner, "exact", None, (1, 2), ""
    )


def test_games_add_up() -> None:
    contest = arrange_contest("draft", "factor", players=("ann", "ben"), number=2)
    # Ann starts draft and wins; factor is drawn; Ann wins draft again; Ben starts factor and wins.
    winners = [0, None, 1, 0]
    results = compute_results(
        contest, (make_result(contest, index, winner) for index, winner in enumerate(winners))
    )
    assert [standing.player for standing in results.standings] == ["ann", "ben"]
    assert results.standings[0].score == Score(2, 1, 1) == results.standings[1].score.opposite
    assert (results.standings[0].score.share, results.standings[0].score.games) == (0.625, 4)
    assert results.score("ben", "ann") == results.pairs["ann", "ben"].opposite == Score(1, 1, 2)
    draft, factor = results.by_game
    assert (draft.starter, factor.starter) == (Score(1, 0, 1), Score(1, 1, 0))
    assert draft.scores == {"ann": Score(2, 0, 0), "ben": Score(0, 0, 2)}
    assert (draft.mean_plies, factor.mean_plies) == (2.0, 2.0)
    assert results.games == ()


# What is shown ------------------------------------------------------------------------------------


def test_call_that_resumes_asks_for_the_same(tmp_path: Path) -> None:
    words = shlex.split(
        "arena 'draft(target=21)' factor --players 'random,python3 my bot.py' --games 7 --seed -3 "
        f"--out '{tmp_path}/a b.jsonl' --jobs 2 --patience 2.5 --json"
    )
    for call in (words, words[:5]):
        args = create_parser().parse_args(call)
        out = args.out or "arena.jsonl"
        resumed = format_resume_call(Namespace(**vars(args), call=call), out)
        again = create_parser().parse_args(shlex.split(resumed)[1:])
        assert again == Namespace(**{**vars(args), "out": out, "resume": True})


class Screen(io.StringIO):
    """Standard error, which is a terminal or not."""

    is_terminal = True

    def isatty(self) -> bool:
        return self.is_terminal


def set_clock(monkeypatch: pytest.MonkeyPatch, *times: float) -> None:
    """Let the clock of the progress bar show some times, and then stand still."""
    clock = iter(times)
    monkeypatch.setattr(console, "monotonic", lambda: next(clock, times[-1] + 1))


def test_progress_bar_is_drawn_and_cleared(monkeypatch: pytest.MonkeyPatch) -> None:
    set_clock(monkeypatch, 100.0, 100.0, 100.4, 101.0, 101.0, 101.1, 102.0, 102.0)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setattr("sys.stderr", screen := Screen())
    with console.show_progress("games", HINT) as update:
        for done in (1010, 1011, 1012, 1013, 1014):
            update(done, 2000)
        shown = screen.getvalue()
    plain = re.sub(r"\033\[[0-9;?]*[A-Za-z]", "", shown)
    assert re.findall(r"  ([0-9,]+) of 2,000 games ", plain)[-1] == "1,014"
    assert "1,011 of" not in plain, "not more often than people can read"
    assert "51% " in plain
    assert f"(Ctrl-C {HINT})" in plain
    assert "2K" in screen.getvalue().removeprefix(shown), "the line is cleared"


@pytest.mark.parametrize("term", ["xterm", "dumb"])
def test_no_progress_bar_is_drawn_in_a_pipe(monkeypatch: pytest.MonkeyPatch, term: str) -> None:
    set_clock(monkeypatch, 100.0, 200.0)
    monkeypatch.setenv("TERM", term)
    monkeypatch.setattr(Screen, "is_terminal", term == "dumb")
    monkeypatch.setattr("sys.stderr", screen := Screen())
    with console.show_progress("games", HINT) as update:
        update(0, 20)
        update(12, 20)
    assert screen.getvalue() == ""


def make_results(players: tuple[str, ...], *games: str, number: int = 1000) -> ArenaResults:
    """Return results in which the player named earlier wins, except for games forfeited."""
    contest = arrange_contest(*games, players=players, number=number)
    return compute_results(
        contest,
        (
            GameResult(
                0, game, 0, pair, turn % 2, "forfeit" if quits else "exact", quits, (1,) * 25, ""
            )
            for game in contest.games
            for one, other in contest.pairs
            for turn, pair in enumerate([(one, other), (other, one)])
            for quits in [None, "it sleeps"]
            for _ in range(number // 4)
        ),
    )


@pytest.mark.parametrize("count", [2, 3, 7])
def test_report_fits_on_a_screen(count: int) -> None:
    players = tuple(
        f"python3 examples/bots/a_rather_long_name_{number}.py" for number in range(count)
    )
    games = ("draft(target=21,blocks=1-12,opening=1-5)", "factor")
    text = arena_command.format_report(make_results(players, *games, number=4000 // count), 80)
    assert max(map(len, text.splitlines())) <= 80
    for number in range(1, count + 1):
        assert f"{number - 1}.py" in text
        assert f" {number} " in text


def test_report_is_shorter_for_two_players_at_one_game(snapshot: SnapshotAssertion) -> None:
    three = make_results(STUBS, "draft", "factor", number=8)
    assert arena_command.format_report(three, 80) == snapshot(name="three players, two games")
    two = make_results(("ann", "ben"), "draft")
    assert arena_command.format_report(two, 80) == snapshot(name="two players, one game")
