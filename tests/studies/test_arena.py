"""The arena: a schedule from its settings, games kept as they end, and what they add up to."""

from __future__ import annotations

import io
import json
import os
import re
import shlex
import signal
import subprocess
import time
from argparse import Namespace
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, suppress
from functools import partial
from itertools import islice
from math import comb, log, sqrt
from multiprocessing import active_children
from pathlib import Path
from typing import Any, NoReturn

import pytest
from hypothesis import given
from hypothesis import strategies as st

import number_tower as nt
from number_tower import Game, Rules, Table
from number_tower.engine import catalogue
from number_tower.engine.record import from_line, to_line
from number_tower.players import LEVELS, UnknownPlayerError
from number_tower.studies.arena import BatchError, arena, play_games, play_out
from number_tower.studies.arena import playout as logs
from number_tower.studies.arena.playout import ArenaJournal, GameResult
from number_tower.studies.arena.ratings import Z_95, compute_interval, compute_ratings
from number_tower.studies.arena.results import ArenaResults, Score, compute_results
from number_tower.studies.arena.schedule import Contest, arrange
from number_tower.studies.batch import WorkerError, journal
from number_tower.studies.batch.journal import JournalDamagedError, JournalNotEmptyError
from number_tower.terminal.cli import console
from number_tower.terminal.cli.commands import arena as contesting
from number_tower.terminal.cli.main import create_parser, main
from number_tower.terminal.cli.study import format_resume_call
from support.clocks import SLOW
from support.command import ROOT, TOWER, plain_environment
from support.forking import Forked
from support.jobs import FullDisk, Stub
from support.strategies import any_rules

LEAVING = "stops; --resume continues"
STUBS = ("ann", "ben", "cleo")


def arranged(
    *games: str | Rules, players: tuple[str, ...] = STUBS, number: int = 4, seed: int = 1
) -> Contest:
    return arrange(games or ("draft", "factor"), players, number=number, seed=seed, make=Stub)


def file_of(contest: Contest, path: Path, *, jobs: int = 1, resume: bool = False) -> bytes:
    """Hold an arena with its games kept in a file, and return what is in it then."""
    with (
        ArenaJournal(path, contest, resume=resume) as log,
        closing(play_games(contest, log=log, jobs=jobs, make=Stub)) as games,
    ):
        assert len(list(games)) == len(contest)
    return path.read_bytes()


# The schedule -------------------------------------------------------------------------------------


@given(
    st.lists(st.sampled_from(catalogue.list_names()), min_size=1, max_size=3, unique=True),
    st.integers(2, 5),
    st.integers(1, 7),
)
def test_every_pair_plays_every_game_equally_often_and_changes_seats(
    games: list[str], count: int, number: int
) -> None:
    players = tuple("abcdefg"[:count])
    contest = arranged(*games, players=players, number=number)
    fixtures = [contest.get_fixture(index) for index in range(len(contest))]
    assert [fixture.index for fixture in fixtures] == list(range(len(contest)))
    seated = Counter((fixture.game, fixture.players) for fixture in fixtures)
    assert len(fixtures) == len(games) * count * (count - 1) // 2 * number
    for game in games:
        for one, other in contest.pairs:
            assert seated[game, (one, other)] == (number + 1) // 2
            assert seated[game, (other, one)] == number // 2


def test_rounds_follow_each_other_so_that_any_part_is_a_fair_sample() -> None:
    contest = arranged("draft", "factor", players=STUBS, number=3)
    first_round = [contest.get_fixture(index) for index in range(6)]
    assert [(fixture.game, fixture.players) for fixture in first_round] == [
        (game, pair) for game in ("draft", "factor") for pair in contest.pairs
    ]
    assert contest.get_fixture(6).players == ("ben", "ann")


def test_a_seed_is_a_games_own_whoever_else_takes_part() -> None:
    def seeds(contest: Contest) -> dict[object, int]:
        some = (contest.get_fixture(index) for index in range(len(contest)))
        return {
            (each.game, each.players, index // len(contest.pairs)): each.seed
            for index, each in enumerate(some)
        }

    few = arranged("draft", players=("ann", "ben"), number=6)
    many = arranged("draft", players=("ann", "cleo", "ben"), number=6)
    assert seeds(few).items() <= seeds(many).items()
    assert len(set(seeds(many).values())) == len(many)
    assert not set(seeds(few).values()) & set(
        seeds(arranged("draft", players=("ann", "ben"), number=6, seed=2)).values()
    )


def test_seeds_are_the_same_on_every_machine() -> None:
    assert arranged("draft", players=("random", "perfect")).get_fixture(0).seed == 110660785990402


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ("draft", "draft"), (" DRAFT ", "draft"),
        ("draft(target=15)", "draft"), ("draft(target=21)", "draft(target=21)"),
        ("rules(fit=ascending,step=3)", "rules(fit=ascending,step=3)"),
        ("tests/data/rulefiles/primes.toml", "tests/data/rulefiles/primes.toml"),
        (Rules(fit="related"), "rules(fit=related)"),
    ],
)  # fmt: skip
def test_a_game_is_called_as_records_call_it(
    given: str | Rules, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    contest = arranged(given)
    assert contest.games == (text,)
    fixture = contest.get_fixture(0)
    line = to_line(contest.tables[fixture.game, fixture.players], files=True)
    assert line.startswith(text.removesuffix(")"))
    assert contest.tables[fixture.game, fixture.players].names == fixture.players


@pytest.mark.parametrize(
    ("games", "players", "problem"),
    [
        (["draft"], ["ann"], "expected two players or more, such as random,perfect; got 'ann'"),
        (["draft"], ["ann", ""], "expected two players or more"),
        (["draft"], ["ann", "ben", "ANN "], "players: 'ann' is named twice"),
        (["draft", "draft(target=15)"], ["ann", "ben"], "games: 'draft' is named twice"),
        ([], ["ann", "ben"], "expected a game"),
        (["chess"], ["ann", "ben"], "'chess' cannot be played: there is no game called 'chess'"),
        (["none.toml"], ["ann", "ben"],
         "'none.toml' cannot be played: none.toml: there is no such file"),
        (["draft(step=2)"], ["ann", "ben"], "draft has no option step"),
        (["draft(first=2)"], ["ann", "ben"], "expected a game and its rules alone"),
        (["draft(names=A,B)"], ["ann", "ben"], "expected a game and its rules alone"),
        (["summit(hidden=yes)"], ["ann", "ben"], "expected a game and its rules alone"),
    ],
)  # fmt: skip
def test_an_arena_that_cannot_be_is_refused(
    games: list[str], players: list[str], problem: str
) -> None:
    with pytest.raises(BatchError) as wrong:
        arrange(games, players, make=Stub)
    assert problem in str(wrong.value)


def test_a_number_of_games_below_one_is_refused() -> None:
    with pytest.raises(BatchError, match="expected each pair to play once or more; got 0"):
        arranged("draft", number=0)


def test_unknown_players_are_refused_before_anything_is_played() -> None:
    with pytest.raises(UnknownPlayerError, match="there is no level 'nobody'"):
        arena(["draft"], ["random", "nobody"])


# One game -----------------------------------------------------------------------------------------


@given(any_rules(), st.integers(0, 1))
def test_a_game_is_played_to_its_end_and_everybody_leaves(rules: Rules, first: int) -> None:
    ann, ben = Stub("ann"), Stub("ben")
    seen: list[Table] = []
    start = Table(Game(rules, first), names=("Ann", "Ben"))
    finished = play_out(start, (ann, ben), seen.append)
    assert finished.table.outcome == finished.table.game.outcome is not None
    assert finished.table.names == ("Ann", "Ben")
    assert finished.forfeit is None
    assert [len(table.game.moves) for table in seen] == list(
        range(1, len(finished.table.game.moves) + 1)
    )
    assert (ann.left, ben.left) == (1, 1)


@pytest.mark.parametrize(
    ("name", "reason", "plies"),
    [
        ("quitter", "it has gone home", 1),
        ("cheat", "it chose 1000000000, which is not a block of this game", 1),
        ("repeat", "which has been used already", 1),
    ],
)
def test_whoever_gives_no_move_that_can_be_placed_forfeits(
    name: str, reason: str, plies: int
) -> None:
    ann, other = Stub("ann"), Stub(name)
    seen: list[Table] = []
    finished = play_out(Table(Game(nt.rules("draft"))), (ann, other), seen.append)
    assert finished.table.outcome == (0, "forfeit")
    assert finished.forfeit is not None
    assert reason in finished.forfeit
    assert len(finished.table.game.moves) == plies
    assert seen[-1] == finished.table
    assert (ann.left, other.left) == (1, 1)


def test_everybody_leaves_even_when_a_player_breaks() -> None:
    broken, ben = Stub("broken"), Stub("ben")
    with pytest.raises(ZeroDivisionError):
        play_out(Table(Game(nt.rules("draft"))), (broken, ben))
    assert (broken.left, ben.left) == (1, 1)


def test_a_game_that_is_over_before_it_begins() -> None:
    rules = Rules(blocks=[5], target=3)
    assert play_out(Table(Game(rules)), (Stub("ann"), Stub("ben"))).table.outcome == (1, "stuck")
    assert arena([rules], STUBS, number=2, jobs=1, make=Stub).by_game[0].mean_plies == 0


# Many games ---------------------------------------------------------------------------------------


def test_an_arena_is_the_same_on_one_core_and_on_two(tmp_path: Path) -> None:
    contest = arranged(number=60)
    alone = file_of(contest, tmp_path / "one.jsonl")
    assert file_of(contest, tmp_path / "two.jsonl", jobs=2) == alone
    assert alone.count(b"\n") == len(contest) + 1


def test_the_computers_levels_play_the_same_on_one_core_and_on_two() -> None:
    alone, together = (
        arena(["draft", "factor"], [*LEVELS, "random"], number=2, seed=3, jobs=jobs)
        for jobs in (1, 2)
    )
    assert alone == together
    assert alone.to_json() == together.to_json()
    assert len(alone.games) == 60
    assert alone.score("perfect", "random").share > 0.5


def test_every_line_tells_its_game(tmp_path: Path) -> None:
    contest = arranged(players=("ann", "quitter"), number=3)
    header, *lines = file_of(contest, tmp_path / "a.jsonl").decode().splitlines()
    assert json.loads(header)["players"] == ["ann", "quitter"]
    for index, line in enumerate(lines):
        document, fixture = json.loads(line), contest.get_fixture(index)
        table = from_line(document["record"])
        assert table.outcome is not None
        assert document == {
            "index": index,
            "game": fixture.game,
            "seed": fixture.seed,
            "players": list(fixture.players),
            "winner": 1 + fixture.players.index("ann"),
            "reason": "forfeit",
            "forfeit": "it has gone home",
            "moves": list(table.game.moves),
            "record": document["record"],
            "plies": len(table.game.moves),
        }
        assert (table.outcome.winner, table.names) == (document["winner"] - 1, fixture.players)


def test_forfeits_are_counted_for_those_who_gave_them() -> None:
    found = arena(["draft"], ["quitter", "ann", "cheat"], number=4, jobs=1, make=Stub)
    forfeits = {standing.player: standing.forfeits for standing in found.standings}
    assert forfeits["ann"] == 0
    assert forfeits["quitter"] + forfeits["cheat"] == 12
    assert found.standings[0].player == "ann"
    assert {game.reason for game in found.games} == {"forfeit"}


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("broken", "ZeroDivisionError: it cannot count"),
        ("deadly", " ended its worker twice"),
    ],
)
def test_a_worker_that_fails_is_an_error_and_no_silence(
    name: str, problem: str, tmp_path: Path
) -> None:
    contest = arranged("draft", players=("ann", "ben", name), number=50)
    with (
        ArenaJournal(tmp_path / "a.jsonl", contest) as log,
        closing(play_games(contest, log=log, jobs=2, make=Stub)) as games,
    ):
        with pytest.raises(WorkerError) as failed:
            list(games)
        assert problem in str(failed.value)
        assert log.entry_count < len(contest)
    if name == "broken":
        assert "in choose" in failed.value.__notes__[0]


def test_workers_stop_when_nobody_wants_more_games() -> None:
    contest = arranged(number=10_000)
    with closing(play_games(contest, jobs=2, make=Stub)) as games:
        assert len({game.index for game in islice(games, 5)}) == 5
        assert len(active_children()) == 2
    assert not active_children()


# The file -----------------------------------------------------------------------------------------


def places_to_cut(content: bytes) -> Iterator[int]:
    yield from (place + 1 for place, byte in enumerate(content) if byte == ord("\n"))
    yield from range(0, len(content), 53)


def test_an_arena_cut_off_anywhere_is_resumed_to_the_same_bytes(tmp_path: Path) -> None:
    contest = arranged(players=("ann", "ben", "quitter"), number=3)
    whole = file_of(contest, tmp_path / "whole.jsonl")
    path = tmp_path / "cut.jsonl"
    for place in places_to_cut(whole):
        path.write_bytes(whole[:place])
        assert file_of(contest, path, resume=True) == whole, place


def test_games_that_are_kept_are_not_played_again(tmp_path: Path) -> None:
    contest = arranged()
    whole = file_of(contest, path := tmp_path / "a.jsonl")
    path.write_bytes(b"".join(whole.splitlines(keepends=True)[:9]))
    made: list[str] = []

    def counted(spec: str, *, seed: int, patience: float) -> Stub:
        made.append(spec)
        return Stub(spec, seed=seed, patience=patience)

    told: list[tuple[int, int]] = []
    with ArenaJournal(path, contest, resume=True) as log:
        list(
            play_games(
                contest,
                log=log,
                jobs=1,
                make=counted,
                progress=lambda done, total: told.append((done, total)),
            )
        )
    assert len(made) == 2 * (len(contest) - 8)
    assert told == [(done, len(contest)) for done in range(8, len(contest) + 1)]
    assert path.read_bytes() == whole


def test_games_that_ended_in_another_order_are_put_into_the_schedules(tmp_path: Path) -> None:
    contest = arranged()
    whole = file_of(contest, path := tmp_path / "a.jsonl")
    header, *lines = whole.splitlines(keepends=True)
    path.write_bytes(header + b"".join(reversed(lines[3:])))
    path.chmod(0o640)
    link = tmp_path / "link.jsonl"
    link.symlink_to(path)
    assert file_of(contest, link, resume=True) == whole
    assert link.is_symlink()
    assert path.stat().st_mode & 0o777 == 0o640
    assert sorted(each.name for each in tmp_path.iterdir()) == ["a.jsonl", "link.jsonl"]


def test_to_resume_where_there_is_nothing_is_to_begin(tmp_path: Path) -> None:
    contest = arranged()
    assert file_of(contest, tmp_path / "new.jsonl", resume=True) == file_of(
        contest, tmp_path / "a.jsonl"
    )


def test_a_file_that_holds_something_is_never_written_over(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text("dear diary\n")
    with pytest.raises(JournalNotEmptyError, match="is not empty"):
        ArenaJournal(path, arranged())
    with pytest.raises(JournalDamagedError, match="is not the file of an arena"):
        ArenaJournal(path, arranged(), resume=True)
    assert path.read_text() == "dear diary\n"


@pytest.mark.parametrize(
    ("changed", "problem"),
    [
        ({"seed": 2}, "seed 1, and not 2"),
        ({"number": 5}, "number 4, and not 5"),
        ({"patience": 2.5}, "patience 10.0, and not 2.5"),
        ({"players": ["ann", "ben"]}, "other players"),
        ({"games": ["factor", "draft"]}, "other games"),
    ],
)
def test_only_the_same_arena_is_resumed(
    changed: dict[str, Any], problem: str, tmp_path: Path
) -> None:
    first: dict[str, Any] = {
        "games": ["draft", "factor"],
        "players": STUBS,
        "number": 4,
        "seed": 1,
        "make": Stub,
    }
    before = file_of(arrange(**first), path := tmp_path / "a.jsonl")
    with pytest.raises(BatchError, match="holds another arena") as wrong:
        ArenaJournal(path, arrange(**{**first, **changed}), resume=True)
    assert problem in str(wrong.value)
    assert path.read_bytes() == before


def test_rules_that_have_changed_since_are_noticed(tmp_path: Path) -> None:
    rules, path = tmp_path / "mine.toml", tmp_path / "a.jsonl"
    rules.write_text('[rules]\nblocks = "1-5"\n')
    file_of(arranged(str(rules)), path)
    rules.write_text('[rules]\nblocks = "1-6"\n')
    with pytest.raises(BatchError, match="holds another arena: other games"):
        ArenaJournal(path, arranged(str(rules)), resume=True)


def test_another_version_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file_of(arranged(), path := tmp_path / "a.jsonl")
    monkeypatch.setattr(logs, "__version__", "99.0")
    with pytest.raises(BatchError, match=r"version \d+\.\d+\.\d+, and not 99.0"):
        ArenaJournal(path, arranged(), resume=True)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b'"index": 2,', b'"index": 3,'),
        (b'"index": 2,', b'"index": 200,'),
        (b'"index": 2,', b'"index": -2,'),
        (b'"moves": [', b'"moves": {['),
        (b'{"index"', b'["index"'),
    ],
)
def test_a_line_that_is_not_what_was_played_is_refused(
    before: bytes, after: bytes, tmp_path: Path
) -> None:
    contest = arranged()
    lines = file_of(contest, path := tmp_path / "a.jsonl").splitlines(keepends=True)
    wrong = next(number for number, line in enumerate(lines) if before in line and number)
    lines[wrong] = lines[wrong].replace(before, after)
    path.write_bytes(b"".join(lines))
    with pytest.raises(
        JournalDamagedError, match=rf"a.jsonl, line {wrong + 1}: not a game of this arena"
    ):
        file_of(contest, path, resume=True)


def test_a_game_that_is_there_twice_is_refused(tmp_path: Path) -> None:
    lines = file_of(arranged(), path := tmp_path / "a.jsonl").splitlines(keepends=True)
    path.write_bytes(b"".join([*lines, lines[5]]))
    with pytest.raises(JournalDamagedError, match="the game with index 4 is there twice"):
        file_of(arranged(), path, resume=True)


def test_two_arenas_do_not_write_to_one_file(tmp_path: Path) -> None:
    with (
        ArenaJournal(tmp_path / "a.jsonl", arranged()),
        pytest.raises(BatchError, match="another arena is being saved to"),
    ):
        ArenaJournal(tmp_path / "a.jsonl", arranged(), resume=True)


def test_games_can_be_thrown_away_but_not_kept_in_what_is_no_file(tmp_path: Path) -> None:
    with ArenaJournal(os.devnull, arranged()) as log:
        assert len(list(play_games(arranged(), log=log, jobs=1, make=Stub))) == len(arranged())
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", tmp_path, tmp_path / "none" / "a.jsonl"):
        with pytest.raises(BatchError, match=r"games (can|cannot) be saved to"):
            ArenaJournal(path, arranged())


def test_a_full_disk_is_told_in_words(monkeypatch: pytest.MonkeyPatch) -> None:
    contest = arranged()
    with ArenaJournal(os.devnull, contest) as log, open("/dev/full", "wb") as full:
        monkeypatch.setattr(log, "_stream", full)
        with pytest.raises(BatchError, match="cannot be written: No space left on device"):
            list(play_games(contest, log=log, jobs=1, make=Stub))
        with suppress(OSError):
            full.close()


@pytest.mark.parametrize("room", [10, 700, 3000, 4500])
def test_a_full_disk_leaves_a_file_that_can_be_resumed(
    room: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    call = ("draft", "--players", "random,gentle", "--games", "20", "--jobs", "1", "--out")
    assert tower(*call, "whole.jsonl") == 0
    capsys.readouterr()
    with monkeypatch.context() as full:
        full.setattr(journal, "open", partial(FullDisk, room=room), raising=False)
        assert tower(*call, "a.jsonl") != 0
    complaint = capsys.readouterr().err
    assert complaint.startswith("tower: a.jsonl cannot be written: No space left on device")
    assert complaint.count("\n") == 1
    resume = f"Resume with: tower arena {shlex.join([*call, 'a.jsonl'])} --resume"
    assert (resume in complaint) is (room > 10), (
        "there is nothing to resume where even the settings do not fit"
    )
    assert tower(*call, "a.jsonl", "--resume") == 0
    assert Path("a.jsonl").read_bytes() == Path("whole.jsonl").read_bytes()


# Scores and ratings -------------------------------------------------------------------------------


def test_the_interval_is_wilsons() -> None:
    assert compute_interval(81, 263) == pytest.approx((0.2553, 0.3662), abs=1e-4)
    assert compute_interval(0, 10) == pytest.approx((0.0, 0.2775), abs=1e-4)
    assert compute_interval(10, 10) == pytest.approx((0.7225, 1.0), abs=1e-4)
    assert compute_interval(0, 0) == (0.0, 1.0)


@given(st.integers(1, 500), st.integers(0, 1000))
def test_an_interval_holds_its_score(games: int, halves: int) -> None:
    points = min(halves, 2 * games) / 2
    low, high = compute_interval(points, games)
    assert 0 <= low <= points / games <= high <= 1
    assert compute_interval(games - points, games) == pytest.approx((1 - high, 1 - low))


def test_intervals_cover_the_truth_about_as_often_as_they_say() -> None:
    covered = []
    for percent in range(5, 96):
        chance = percent / 100
        found = [compute_interval(won, 60) for won in range(61)]
        covered.append(
            sum(
                comb(60, won) * chance**won * (1 - chance) ** (60 - won)
                for won, (low, high) in enumerate(found)
                if low <= chance <= high
            )
        )
    assert min(covered) > 0.91
    assert sum(covered) / len(covered) == pytest.approx(0.95, abs=0.01)


def difference(points: float, games: int) -> float:
    rated = compute_ratings(["ann", "ben"], {("ann", "ben"): (points, games)})
    return rated["ann"].elo - rated["ben"].elo


@pytest.mark.parametrize(
    ("share", "elo"),
    [(0.5, 0), (0.75, 190.8), (0.25, -190.8), (0.64, 99.9), (10 / 11, 400), (0.99, 798.3)],
)
def test_the_elo_of_known_scores(share: float, elo: float) -> None:
    assert difference(share * 10**6, 10**6) == pytest.approx(elo, abs=0.2)


def test_a_few_games_say_less_than_many() -> None:
    assert 0 < difference(3, 4) < difference(75, 100) < difference(750, 1000) < 190.8


@given(st.lists(st.floats(-600, 600), min_size=2, max_size=6), st.randoms(use_true_random=False))
def test_ratings_are_found_again_in_the_scores_that_they_make(
    elos: list[float], random: Any
) -> None:
    players = [f"player {number}" for number, _ in enumerate(elos)]
    games = 10**9
    scores = {}
    for one, mine in enumerate(elos):
        for other in range(one):
            chance = 1 / (1 + 10 ** ((elos[other] - mine) / 400))
            scores[players[one], players[other]] = chance * games, games
    random.shuffle(players)
    found = compute_ratings(players, scores)
    mean = sum(elos) / len(elos)
    for number, elo in enumerate(elos):
        assert found[f"player {number}"].elo == pytest.approx(elo - mean, abs=0.01)
    assert sum(rating.elo for rating in found.values()) == pytest.approx(0, abs=1e-6)


@pytest.mark.parametrize("games", [1, 100, 10**6])
def test_players_who_won_or_lost_every_game_have_a_rating(games: int) -> None:
    pairs = [("a", "b"), ("a", "c"), ("b", "c"), ("a", "d"), ("b", "d"), ("c", "d")]
    rated = compute_ratings(["a", "b", "c", "d"], dict.fromkeys(pairs, (games, games)))
    elos = [rated[player].elo for player in "abcd"]
    assert elos == sorted(elos, reverse=True)
    assert elos == pytest.approx([-elo for elo in reversed(elos)], abs=1e-6)
    assert elos[0] < 5000
    assert all(0 < rating.margin < 1000 for rating in rated.values())


def test_the_margin_of_two_players_is_the_known_one() -> None:
    won, games = 6400, 10_000
    known = Z_95 * 400 / log(10) / 2 / sqrt(games * 0.64 * 0.36)
    rated = compute_ratings(["ann", "ben"], {("ann", "ben"): (won, games)})
    assert rated["ann"].margin == pytest.approx(known, rel=1e-3)
    assert rated["ben"].margin == pytest.approx(known, rel=1e-3)


def game_of(contest: Contest, index: int, winner: int | None) -> GameResult:
    fixture = contest.get_fixture(index)
    return GameResult(
        index, fixture.game, fixture.seed, fixture.players, winner, "exact", None, (1, 2), ""
    )


def test_games_add_up() -> None:
    contest = arranged("draft", "factor", players=("ann", "ben"), number=2)
    winners = [
        0,
        None,
        1,
        0,
    ]  # ann starts draft and wins; factor is drawn; ann wins draft again; ben starts factor, wins
    found = compute_results(
        contest, (game_of(contest, index, winner) for index, winner in enumerate(winners))
    )
    assert [standing.player for standing in found.standings] == ["ann", "ben"]
    assert found.standings[0].score == Score(2, 1, 1) == found.standings[1].score.opposite
    assert (found.standings[0].score.share, found.standings[0].score.games) == (0.625, 4)
    assert found.score("ben", "ann") == found.pairs["ann", "ben"].opposite == Score(1, 1, 2)
    draft, factor = found.by_game
    assert (draft.starter, factor.starter) == (Score(1, 0, 1), Score(1, 1, 0))
    assert draft.scores == {"ann": Score(2, 0, 0), "ben": Score(0, 0, 2)}
    assert (draft.mean_plies, factor.mean_plies) == (2.0, 2.0)
    assert found.games == ()


# The command --------------------------------------------------------------------------------------


def tower(*arguments: str) -> int:
    return main(["arena", *arguments])


def test_the_command_keeps_its_games_and_prints_the_standings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    call = (
        "draft",
        "factor",
        "--players",
        "random,gentle,perfect",
        "--games",
        "20",
        "--seed",
        "5",
        "--jobs",
        "1",
    )
    assert tower(*call) == 0
    first = capsys.readouterr()
    lines = first.out.splitlines()
    assert lines[0] == "120 games, 80 for each player; random seed 5."
    assert lines[2].split() == ["player", "won", "drawn", "lost", "score", "(95%)", "Elo"]
    assert lines[3].split()[:2] == ["1", "perfect"]
    assert lines[-1] == "Every game is saved in arena.jsonl, one per line."
    assert first.err == ""
    kept = Path("arena.jsonl").read_bytes()
    assert tower(*call) == 0
    assert capsys.readouterr().out == first.out.replace("arena.jsonl", "arena-2.jsonl")
    assert Path("arena-2.jsonl").read_bytes() == kept
    assert tower(*call, "--out", "arena.jsonl") == 2
    refused = capsys.readouterr()
    assert refused.err == (
        "tower: arena.jsonl is not empty: --resume continues the arena in it; "
        "use another --out to leave it as it is\n"
    )
    assert tower(*call, "--resume") == 0
    assert capsys.readouterr().out == first.out
    assert Path("arena.jsonl").read_bytes() == kept
    assert tower(*call, "--resume", "--json") == 0
    document = json.loads(capsys.readouterr().out)
    assert document["played"] == 120
    assert [player["player"] for player in document["players"]] == ["perfect", "gentle", "random"]
    assert {pair["games"] for pair in document["pairs"]} == {40}
    assert [ground["game"] for ground in document["by_game"]] == ["draft", "factor"]
    assert document["by_game"][0]["players"]["perfect"]["games"] == 40


@pytest.mark.parametrize(
    ("call", "code", "problem"),
    [
        (
            "draft --players random",
            2,
            "expected two players or more, such as random,perfect; got 'random'",
        ),
        ("draft --players random,nobody", 2, "there is no level 'nobody'"),
        (
            "draft --players random,./nobot",
            2,
            "./nobot cannot be started: there is no file ./nobot",
        ),
        (
            "draft --players 'random,./no \"bot'",
            2,
            'cannot be started: a quotation mark is missing in ./no "bot',
        ),
        (
            "draft --players random,./text",
            2,
            "./text cannot be started: ./text is not executable: chmod +x ./text",
        ),
        ("draft draft --players random,perfect", 2, "games: 'draft' is named twice"),
        ("nothing --players random,perfect", 2, "'nothing' cannot be played"),
        ("draft --players random,perfect --out .", 2, "games cannot be saved to .: Is a directory"),
        (
            "draft --players random,perfect --out text --resume",
            1,
            "text is not the file of an arena",
        ),
        ("draft --players random,perfect --out other --resume", 2, "seed 1, and not 2"),
        (
            "factor --players random,gentle --games 2 --out torn --resume",
            1,
            "torn, line 2: not a game of this arena",
        ),
    ],
)
def test_a_wrong_call_is_refused_before_anything_is_played(
    call: str,
    code: int,
    problem: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("text").write_text("text\n")
    contest = arrange(["draft"], ["random", "perfect"], seed=1)
    with ArenaJournal("other", contest):
        pass
    with ArenaJournal("torn", arrange(["factor"], ["random", "gentle"], number=2)):
        pass
    with open("torn", "ab") as torn:
        torn.write(b"{}\n")
    more = () if "torn" in call else ("--seed", "2")
    assert tower(*shlex.split(call), "--jobs", "1", *more) == code
    shown = capsys.readouterr()
    assert problem in shown.err
    assert shown.err.count("\n") == 1
    assert shown.out == ""
    assert not Path("arena.jsonl").exists()


def test_a_worker_that_fails_is_told_in_a_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)

    def failing(*_: object) -> NoReturn:
        raise WorkerError("a worker process ended (exit code -9)")

    monkeypatch.setattr(contesting, "compute_results", failing)
    assert tower("draft", "--players", "random,perfect", "--games", "3") == 1
    assert capsys.readouterr().err == (
        "tower: a worker process ended (exit code -9). 0 of 3 games are saved in arena.jsonl. "
        "Resume with: tower arena draft --players random,perfect --games 3 --resume "
        "--out arena.jsonl\n"
    )


def test_the_call_that_goes_on_asks_for_the_same(tmp_path: Path) -> None:
    words = [
        "arena", "draft(target=21)", "factor", "--players", "random,python3 my bot.py", "--games",
        "7", "--seed", "-3", "--out", str(tmp_path / "a b.jsonl"), "--jobs", "2", "--patience",
        "2.5", "--json",
    ]  # fmt: skip
    for some in (words, words[:5]):
        asked = create_parser().parse_args(some)
        out = asked.out or "arena.jsonl"
        call = format_resume_call(Namespace(**vars(asked), call=some), out)
        again = create_parser().parse_args(shlex.split(call)[1:])
        assert again == Namespace(**{**vars(asked), "out": out, "resume": True})


def bots(folder: Path) -> tuple[str, str]:
    """Write a program that plays its lowest block, and one that plays nothing that there is."""
    polite, rude = folder / "polite.sh", folder / "rude.sh"
    polite.write_text(
        "#!/bin/sh\nwhile read -r q; do q=${q##*\\[}; q=${q%%]*}; echo ${q%%,*}; done\n"
    )
    rude.write_text("#!/bin/sh\nwhile read -r q; do echo 77; done\n")
    for path in (polite, rude):
        path.chmod(0o755)
    return str(polite), str(rude)


def running_with(word: str) -> Iterator[str]:
    """Give every process that has a word in its command."""
    for file in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            if word.encode() in file.read_bytes():
                yield file.parent.name


def test_programs_take_part(tmp_path: Path) -> None:
    polite, rude = bots(tmp_path)
    found = arena(["factor"], [polite, rude, "perfect"], number=2, jobs=2, out=tmp_path / "a.jsonl")
    assert found.score(polite, rude) == Score(2, 0, 0)
    assert {standing.player: standing.forfeits for standing in found.standings} == {
        polite: 0,
        "perfect": 0,
        rude: 4,
    }
    assert "it answered 77" in (tmp_path / "a.jsonl").read_text()


@pytest.mark.slow
def test_ctrl_c_keeps_what_is_finished_and_the_call_it_names_goes_on_to_the_same_file(
    tmp_path: Path,
) -> None:
    polite, _ = bots(tmp_path)
    path = tmp_path / "a.jsonl"
    call = [
        "arena",
        "draft",
        "--players",
        f"random,{polite}",
        "--games",
        "40",
        "--out",
        str(path),
        "--jobs",
        "2",
    ]
    running = Forked(
        [TOWER, *call], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env=plain_environment(), cwd=ROOT,
        start_new_session=True,
    )  # fmt: skip
    deadline = time.monotonic() + SLOW
    while (not path.exists() or path.read_bytes().count(b"\n") < 3) and time.monotonic() < deadline:
        time.sleep(0.005)
    os.killpg(running.pid, signal.SIGINT)
    output, complaint = running.communicate(timeout=SLOW)
    assert (running.returncode, output) == (130, "")
    assert not list(running_with(polite))
    kept = path.read_bytes().count(b"\n") - 1
    assert 2 <= kept < 40
    start = f"tower: stopped. {kept} of 40 games are saved in {path}. Resume with: tower "
    assert complaint.startswith(start)
    assert complaint.count("\n") == 1
    again = subprocess.run(
        [TOWER, *shlex.split(complaint.removeprefix(start))],
        capture_output=True, text=True, env=plain_environment(), cwd=ROOT, timeout=SLOW, check=True,
    )  # fmt: skip
    assert again.stdout.startswith("40 games, 40 for each player; random seed 1.\n")
    assert again.stderr == ""
    arena(["draft"], ["random", polite], number=40, jobs=1, out=tmp_path / "b.jsonl")
    assert path.read_bytes() == (tmp_path / "b.jsonl").read_bytes()


# How it looks -------------------------------------------------------------------------------------


class Screen(io.StringIO):
    """Standard error as a terminal, or not."""

    terminal = True

    def isatty(self) -> bool:
        return self.terminal


def test_the_bar_is_shown_on_a_terminal_while_games_are_played_and_goes_away(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = iter([100.0, 100.0, 100.4, 101.0, 101.0, 101.1, 102.0, 102.0])
    monkeypatch.setattr(console, "monotonic", lambda: next(clock, 103.0))
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setattr("sys.stderr", screen := Screen())
    with console.show_progress("games", LEAVING) as update:
        for done in (1010, 1011, 1012, 1013, 1014):
            update(done, 2000)
        shown = screen.getvalue()
    plain = re.sub(r"\033\[[0-9;?]*[A-Za-z]", "", shown)
    assert re.findall(r"  ([0-9,]+) of 2,000 games ", plain)[-1] == "1,014"
    assert "1,011 of" not in plain, "not more often than people can read"
    assert "51% " in plain
    assert f"(Ctrl-C {LEAVING})" in plain
    assert "2K" in screen.getvalue().removeprefix(shown), "the line is cleared"


@pytest.mark.parametrize("term", ["xterm", "dumb"])
def test_there_is_no_bar_where_nobody_sees_it(monkeypatch: pytest.MonkeyPatch, term: str) -> None:
    clock = iter([100.0, 200.0])
    monkeypatch.setattr(console, "monotonic", lambda: next(clock, 300.0))
    monkeypatch.setenv("TERM", term)
    monkeypatch.setattr(Screen, "terminal", term == "dumb")
    monkeypatch.setattr("sys.stderr", screen := Screen())
    with console.show_progress("games", LEAVING) as update:
        update(0, 20)
        update(12, 20)
    assert screen.getvalue() == ""


def pretended(players: tuple[str, ...], *games: str, number: int = 1000) -> ArenaResults:
    """Results of an arena in which the earlier named always wins, but for those who quit."""
    contest = arranged(*games, players=players, number=number)
    return compute_results(
        contest,
        (
            GameResult(
                0,
                game,
                0,
                pair,
                turn % 2,
                "forfeit" if forfeit else "exact",
                forfeit,
                (1,) * 25,
                "",
            )
            for game in contest.games
            for one, other in contest.pairs
            for turn, pair in enumerate([(one, other), (other, one)])
            for forfeit in [None, "it sleeps"]
            for _ in range(number // 4)
        ),
    )


@pytest.mark.parametrize("count", [2, 3, 7])
def test_a_report_fits_on_a_screen(count: int) -> None:
    players = tuple(
        f"python3 examples/bots/a_rather_long_name_{number}.py" for number in range(count)
    )
    text = contesting.format_report(
        pretended(
            players, "draft(target=21,blocks=1-12,opening=1-5)", "factor", number=4000 // count
        ),
        80,
    )
    assert max(map(len, text.splitlines())) <= 80
    for number in range(1, count + 1):
        assert f"{number - 1}.py" in text
        assert f" {number} " in text


def test_a_report_says_it_all() -> None:
    found = pretended(("ann", "ben", "cleo"), "draft", "factor", number=8)
    assert (
        contesting.format_report(found, 80)
        == """\
48 games, 32 for each player; random seed 1.

     player  won  drawn  lost          score (95%)        Elo  forfeit
  1  ann      32      0     0  100.0% (89.3-100.0)  +612 ±360        0
  2  ben      16      0    16    50.0% (33.6-66.4)    +0 ±235        8
  3  cleo      0      0    32      0.0% (0.0-10.7)  -612 ±360       16

A win counts 1, a draw 1/2; brackets and ± are 95% intervals; the mean Elo is 0.

Score of each player against each other, in %:

     player    1      2      3
  1  ann       -  100.0  100.0
  2  ben     0.0      -  100.0
  3  cleo    0.0    0.0      -

Each game: score of the starting player, plies, score of each player:

          first  plies      1     2    3
  draft    50.0   25.0  100.0  50.0  0.0
  factor   50.0   25.0  100.0  50.0  0.0
"""
    )


def test_the_report_of_two_players_at_one_game_is_short() -> None:
    text = contesting.format_report(pretended(("ann", "ben"), "draft"), 80)
    assert "against each other" not in text
    assert text.endswith("\nThe player who starts scored 50.0%; a game took 25.0 plies.\n")
