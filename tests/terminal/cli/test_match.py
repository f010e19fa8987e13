"""A match is decided when nothing can change it, told in its games' words, and survives leaving."""

from __future__ import annotations

import io
import os
import signal
import subprocess
from concurrent.futures import ThreadPoolExecutor
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import replace
from itertools import product
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import func, select

from number_tower import Game, Table, rules
from number_tower import store as places
from number_tower.engine import catalogue
from number_tower.engine.catalogue import GameChoice, RuleFileError, load
from number_tower.engine.match import MAX_GAMES, Match, MatchError, Series
from number_tower.engine.table import Change
from number_tower.store import GameNotFoundError, GameStartedError, StoreError, matches
from number_tower.store import games as keeping
from number_tower.store import schema as tables
from number_tower.store.database import Store
from number_tower.store.matches import StoredMatch
from number_tower.store.rows import MatchSlot, Seats, StoredGame
from number_tower.terminal.cli import main
from number_tower.words.voice import MatchMoment, MatchStanding, Voice
from support.command import TOWER, plain_environment
from support.forking import Forked
from support.terminal import Terminal

pytest_plugins = ["support.postgres"]

RESULTS = (0, 1, None)
FIRST_WINS = "9\n8\n6\n"
"""A short game of draft that its starter wins."""
DRAWN = "8\n4\n1\n3\n2\n"
MOMENTS: tuple[MatchMoment, ...] = ("start", "game", "score", "won", "drawn")


def tower(
    *arguments: str, typed: str = "", cwd: Path = Path(), **environment: str
) -> subprocess.CompletedProcess[str]:
    """Run the command in this process: what it does is the same, and much sooner done."""
    told, complained = io.StringIO(), io.StringIO()
    path = os.pathsep.join([str(Path(TOWER).parent), os.environ["PATH"]])
    with (
        pytest.MonkeyPatch.context() as patched,
        redirect_stdout(told),
        redirect_stderr(complained),
    ):
        for name, value in {"NUMBER_TOWER_DB": "none", "PATH": path, **environment}.items():
            patched.setenv(name, value)
        patched.chdir(cwd)
        patched.setattr("sys.stdin", io.StringIO(typed))
        patched.setattr(main, "handle_interrupt_once", lambda: None)
        code = main.main(arguments)
    return subprocess.CompletedProcess(arguments, code, told.getvalue(), complained.getvalue())


# The score ----------------------------------------------------------------------------------------


@st.composite
def any_match(draw: st.DrawFn) -> Match:
    """A match that was played for a while, at most to its end."""
    match = Match(draw(st.integers(1, 6)), draw(st.integers(0, 1)))
    while not match.over and draw(st.integers(0, 5)):
        match = match.after(draw(st.sampled_from(RESULTS)))
    return match


@given(any_match())
def test_a_match_is_over_exactly_when_no_continuation_changes_who_wins(match: Match) -> None:
    left = match.best_of - len(match.winners)
    assert left >= 0
    ends = {_leader((*match.winners, *more)) for more in product(RESULTS, repeat=left)}
    assert match.over == (left == 0 or len(ends) == 1)
    if match.over:
        assert ends == {match.leader}


def _leader(winners: tuple[int | None, ...]) -> int | None:
    lead = winners.count(0) - winners.count(1)
    return None if lead == 0 else int(lead < 0)


@given(any_match())
def test_every_game_is_a_point_and_the_starter_alternates(match: Match) -> None:
    assert sum(match.score) == len(match.winners) == match.number - 1
    if not match.over:
        after = match.after(0)
        assert after.starter == 1 - match.starter
        assert after.score == (match.score[0] + 1, match.score[1])
    assert Match(match.best_of, match.first).starter == match.first


@given(any_match().filter(lambda match: match.over), st.sampled_from(RESULTS))
def test_nothing_is_played_after_the_end(match: Match, winner: int | None) -> None:
    with pytest.raises(MatchError, match="after the match was decided"):
        match.after(winner)


@pytest.mark.parametrize(
    ("best_of", "first"), [(0, 0), (MAX_GAMES + 1, 0), (True, 0), (3, 2), (3, -1)]
)
def test_what_is_no_match_is_refused(best_of: int, first: int) -> None:
    with pytest.raises(MatchError, match="expected"):
        Match(best_of, first)


def test_the_longest_match_is_counted_at_once() -> None:
    match = Match(MAX_GAMES)
    while not match.over:
        match = match.after(match.starter)
    assert match.leader == 0
    assert match.score == (500, 499)


@given(st.lists(st.sampled_from(catalogue.list_names()), min_size=1, max_size=4), st.integers(0, 1))
def test_games_take_turns_and_so_do_starters(names: list[str], first: int) -> None:
    entries = tuple(GameChoice(load(name), rules(name)) for name in names)
    series = Series(entries, Match(9, first), ("Ann", "Ben"))
    for number in range(9):
        assert series.table.rulebook == names[number % len(names)]
        assert series.table.game.first == (first + number) % 2
        assert series.table.names == ("Ann", "Ben")
        series = series.after(None)
    assert series.match.over


# The words ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", catalogue.list_names())
def test_every_voice_can_tell_a_match(name: str) -> None:
    table = Table(Game(rules(name), 1), name, ("Ann", "Ben"))
    told = {
        moment: Voice(load(name)).tell_match(moment, table, MatchStanding(2, 5, (0.5, 1.5))).text
        for moment in MOMENTS
    }
    assert len(set(told.values())) == len(MOMENTS)
    assert "5" in told["start"]
    assert "2" in told["game"]
    assert "Ben" in told["game"]
    assert all(word in told["score"] for word in ("Ann", "½", "Ben", "1½"))
    assert "Ben" in told["won"]
    assert "Ann" not in told["won"]


@pytest.mark.parametrize(
    ("score", "shown"),
    [
        ((0, 0), "0:0"),
        ((0.5, 0.5), "½:½"),
        ((2, 1), "2:1"),
        ((1.5, 3), "1½:3"),
        ((10.5, 9), "10½:9"),
    ],
)
def test_half_points_are_shown_as_such(
    tmp_path: Path, score: tuple[float, float], shown: str
) -> None:
    path = tmp_path / "mine.toml"
    path.write_text('[rules]\n[voice]\nmatch_score = "{score_1}:{score_2}"\n')
    table = Table(Game(load(path).rules), "mine")
    assert (
        Voice(load(path)).tell_match("score", table, MatchStanding(1, 3, score)).text
        == f"{shown}\n"
    )


def test_a_rule_files_own_words_are_used(tmp_path: Path) -> None:
    words = (
        'match_start = "<first to more than half of {best_of}>"\n'
        'match_game = "<round {number}, {player} leads>"\n'
        'match_score = "<{player_1} {score_1}:{score_2} {player_2}>"\n'
        'match_won = "<{winner} beats {loser} by {winner_score} to {loser_score}>"\n'
    )
    (tmp_path / "mine.toml").write_text(f'[rules]\nblocks = "1-2"\ntarget = 1\n[voice]\n{words}')
    done = tower(
        "match",
        "mine.toml",
        "--best-of",
        "2",
        "--names",
        "Ann,Ben",
        "--first",
        "2",
        typed="1\n",
        cwd=tmp_path,
    )
    assert [line for line in done.stdout.splitlines() if line.startswith("<")] == [
        "<first to more than half of 2>",
        "<round 1, Ben leads>",
        "<Ann 0:1 Ben>",
        "<round 2, Ann leads>",
    ]
    done = tower("match", "mine.toml", "--best-of", "1", typed="1\n", cwd=tmp_path)
    assert done.stdout.endswith("<Player 1 1:0 Player 2>\n<Player 1 beats Player 2 by 1 to 0>\n")


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        ('match_score = "{score}"', "voice.match_score: unknown field {score}"),
        ('match_won = "{winner_height}"', "voice.match_won: unknown field {winner_height}"),
        ('end_exact = "{score_1}"', "voice.end_exact: unknown field {score_1}"),
        ('match_end = "over"', "voice.match_end: unknown; did you mean"),
        ("match_score = 3", "voice.match_score: expected text"),
    ],
)
def test_wrong_words_are_refused(tmp_path: Path, words: str, problem: str) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(f"[rules]\ntarget = 9\n[voice]\n{words}\n")
    with pytest.raises(RuleFileError) as wrong:
        Voice(load(path))
    assert problem in str(wrong.value)
    done = tower("match", f"draft,{path}")
    assert done.returncode == 2
    assert problem in done.stderr


# At the keyboard ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "problem"),
    [
        (("match",), "which game?"),
        (("match", "race,nim"), "there is no game called 'nim'"),
        (("match", "race,"), "there is no game called ''"),
        (("match", "draft,climb", "--target", "20"), "climb has no option target"),
        (("match", "summit,draft", "--hidden"), "draft has no option hidden"),
        (("match", "draft", "--best-of", "0"), "--best-of"),
        (("match", "draft", "--best-of", "1000"), "expected a best of 1 to 999"),
        (("match", "draft", "--seat", "2"), "--seat needs an opponent"),
        (("match", "draft", "--vs", "nobody"), "there is no level"),
        (("match", "draft", "--names", "Ann,ann"), "expected two different names"),
    ],
)
def test_a_match_that_cannot_be_is_a_wrong_call(call: tuple[str, ...], problem: str) -> None:
    done = tower(*call)
    assert (done.returncode, done.stdout) == (2, "")
    assert problem in done.stderr


@pytest.mark.parametrize(
    ("games", "more", "called"),
    [
        ("summit", (), ("Player A", "Player B")),
        ("draft,race", (), ("Player 1", "Player 2")),
        ("draft,summit", (), ("Player 1", "Player 2")),
        ("summit,draft", ("--names", "Ann,Ben"), ("Ann", "Ben")),
        ("summit,draft", ("--vs", "easy", "--seat", "2", "--first", "2"), ("Easy", "Player 2")),
        ("summit", ("--vs", "easy", "--first", "1"), ("Player A", "Easy")),
    ],
)
def test_players_keep_one_pair_of_names(
    games: str, more: tuple[str, ...], called: tuple[str, str], db: str
) -> None:
    tower("match", games, *more, typed="5\n", NUMBER_TOWER_DB=db)
    store = opened(db)
    match = matches.get_match(store, 1)
    for number in (0, 1):
        entry = match.series.games[number % len(match.series.games)]
        assert (match.series.names or Voice(entry.book).players) == called


def test_without_a_database_only_the_game_can_be_resumed(db: str) -> None:
    left = tower(
        "match",
        "draft",
        "--vs",
        "easy",
        "--seed",
        "4",
        "--no-save",
        typed="9\nquit\n",
        NUMBER_TOWER_DB=db,
    )
    assert left.returncode == 0
    assert (
        "The match is not saved, so you can resume only this game of it: tower resume 'draft("
        in left.stdout
    )
    assert "--vs easy --seed 4" in left.stdout
    between = tower("match", "draft", typed=FIRST_WINS)
    assert between.returncode == 1
    assert between.stderr.endswith("The match is not saved, so it cannot be resumed.\n")
    assert not Path(db).exists()


# Kept ---------------------------------------------------------------------------------------------


@pytest.fixture
def db(tmp_path: Path) -> str:
    return str(tmp_path / "games.db")


def opened(db: str) -> Store:
    place = places.find_location(db)
    assert place is not None
    return Store(place)


def rows(store: Store) -> list[tuple[int, bool]]:
    with store.read() as connection:
        return [
            (row.id, row.finished)
            for row in connection.execute(select(tables.matches).order_by("id"))
        ]


def played(store: Store, match: int = 1) -> list[StoredGame]:
    found = [matches.find_game(store, MatchSlot(match, number)) for number in range(1, 10)]
    return [game for game in found if game is not None]


def test_a_match_is_kept_from_its_first_move_to_its_end(db: str) -> None:
    tower("match", "draft", typed="", NUMBER_TOWER_DB=db)
    assert not Path(db).exists()
    tower("match", "draft", typed="9\n", NUMBER_TOWER_DB=db)
    assert rows(opened(db)) == [(1, False)]
    done = tower("resume", "m1", typed="8\n6\n" + DRAWN + FIRST_WINS, NUMBER_TOWER_DB=db)
    assert done.returncode == 0
    assert done.stdout.endswith(
        "\nThe score after 3 of 3: Player 1: 2½, Player 2: ½\n\nPlayer 1 wins the match!\n"
    )
    store = opened(db)
    assert rows(store) == [(1, True)]
    assert [game.table.game.first for game in played(store)] == [0, 1, 0]
    assert matches.get_match(store, 1).series.match == Match(3, 0, (0, None, 0))


def test_resuming_tells_the_score_and_the_game_so_far(db: str) -> None:
    left = tower(
        "match", "draft", "--names", "Ann,Ben", typed=FIRST_WINS + "9\nquit\n", NUMBER_TOWER_DB=db
    )
    assert left.stdout.endswith("Match saved. Resume it with: tower resume m1\n")
    for ref in ((), ("m1",), ("M1",), ("2",)):
        again = tower("resume", *ref, NUMBER_TOWER_DB=db)
        assert again.returncode == 1
        assert again.stdout.startswith("\nThe score after 1 of 3: Ann: 1, Ben: 0\n\nGame 2. ")
        assert "Ben starts.\n\n---" in again.stdout
        assert "wish to place: 9\n" in again.stdout
        assert again.stderr == "tower: Match saved. Resume it with: tower resume m1\n"


def test_a_match_left_between_two_games_goes_on_with_the_next(db: str) -> None:
    tower("play", "race", typed="1\n", NUMBER_TOWER_DB=db)
    left = tower("match", "draft,summit", typed=FIRST_WINS, NUMBER_TOWER_DB=db)
    assert left.stderr.endswith("Resume it with: tower resume m1\n")
    again = tower("resume", typed="5\n6\n9\n", NUMBER_TOWER_DB=db)
    assert again.stdout.startswith("\nThe score after 1 of 2: Player 1: 1, Player 2: 0\n\n[Game 2]")
    assert again.stdout.endswith("The match is drawn.\n")
    then = tower("resume", NUMBER_TOWER_DB=db)
    assert "Score" not in then.stdout
    assert then.stderr.endswith("Resume it with: tower resume 1\n")


def test_what_was_left_last_is_gone_on_with(db: str) -> None:
    tower("match", "draft", typed=FIRST_WINS, NUMBER_TOWER_DB=db)
    tower("play", "race", typed="1\n", NUMBER_TOWER_DB=db)
    assert "score" not in tower("resume", NUMBER_TOWER_DB=db).stdout
    tower("resume", "m1", typed="9\n", NUMBER_TOWER_DB=db)
    assert "score" in tower("resume", NUMBER_TOWER_DB=db).stdout


def test_a_match_that_is_over_or_unknown_cannot_go_on(db: str) -> None:
    tower("match", "draft", "--best-of", "1", typed=FIRST_WINS, NUMBER_TOWER_DB=db)
    over = tower("resume", "m1", NUMBER_TOWER_DB=db)
    assert over.returncode == 0
    assert "Player 1: 1, Player 2: 0" in over.stdout
    assert over.stdout.endswith(
        "Player 1 wins the match!\n\nThis match is over, so there is nothing to resume.\n"
    )
    assert "This game is over" in tower("resume", "1", NUMBER_TOWER_DB=db).stdout
    unknown = tower("resume", "m7", NUMBER_TOWER_DB=db)
    assert unknown.returncode == 2
    assert "there is no match m7" in unknown.stderr
    assert tower("resume", NUMBER_TOWER_DB=db).returncode == 2


def test_a_match_is_not_recorded_in_one_file(db: str, tmp_path: Path) -> None:
    tower("match", "draft", typed="9\n", NUMBER_TOWER_DB=db)
    done = tower("resume", "m1", "--record", str(tmp_path / "game.json"), NUMBER_TOWER_DB=db)
    assert done.returncode == 2
    assert "--record is for one game" in done.stderr


def test_the_same_opponent_plays_on_by_the_same_seed(tmp_path: Path) -> None:
    call = (
        "match",
        "summit,factor",
        "--best-of",
        "4",
        "--vs",
        "easy",
        "--seed",
        "11",
        "--seat",
        "2",
    )
    answers = [f"{block}\n" for block in (1, 2, 3, 4, 5, 6, 7, 8, 9)] * 12
    whole, parts = str(tmp_path / "whole.db"), str(tmp_path / "parts.db")
    tower(*call, typed="".join(answers), NUMBER_TOWER_DB=whole)
    tower(*call, typed="".join(answers[:5]), NUMBER_TOWER_DB=parts)
    for start in range(5, len(answers), 20):
        tower("resume", "m1", typed="".join(answers[start : start + 20]), NUMBER_TOWER_DB=parts)
    once, again = played(opened(whole)), played(opened(parts))
    assert len(once) > 1
    assert [game.table for game in once] == [game.table for game in again]
    assert [game.seats for game in again] == [
        Seats(("easy", None), 11 + place) for place in range(len(again))
    ]


def test_a_program_is_never_started_from_the_database(db: str, tmp_path: Path) -> None:
    bot = tmp_path / "bot.sh"
    bot.write_text(f"#!/bin/sh\ntouch '{tmp_path}/started'\nwhile read -r line; do echo 8; done\n")
    bot.chmod(0o755)
    left = tower(
        "match", "draft", "--vs", str(bot), "--seed", "3", typed="9\nquit\n", NUMBER_TOWER_DB=db
    )
    assert f"tower resume m1 --vs {bot} --seed 3\n" in left.stdout
    (tmp_path / "started").unlink()
    again = tower("resume", typed="quit\n", NUMBER_TOWER_DB=db)
    assert f"(To continue against the program, add: --vs {bot})" in again.stdout
    assert not (tmp_path / "started").exists()


def test_a_rule_file_that_is_gone_is_still_played(db: str, tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text('[rules]\nblocks = "1-2"\ntarget = 1\n[voice]\nplaced = "Mine!"\n')
    tower("match", "draft,mine.toml", typed=FIRST_WINS, cwd=tmp_path, NUMBER_TOWER_DB=db)
    path.unlink()
    done = tower("resume", typed="1\n", cwd=tmp_path, NUMBER_TOWER_DB=db)
    assert "Mine!\n" in done.stdout
    assert done.stdout.endswith("The match is drawn.\n")


def test_a_match_is_no_game(db: str) -> None:
    done = tower("review", "m1", NUMBER_TOWER_DB=db)
    assert done.returncode == 2
    assert "m1 is a match; expected one of its games" in done.stderr


# Whatever happens ---------------------------------------------------------------------------------


def new_match(*, best_of: int = 3) -> StoredMatch:
    series = Series((GameChoice(load("draft"), rules("draft")),), Match(best_of), ("Ann", "Ben"))
    return StoredMatch(None, "0" * 32, series, Seats())


def begun(store: Store, match: StoredMatch, *moves: int) -> StoredGame:
    table = match.series.table
    for block in moves:
        table = table.play(block)
    return store.begin(
        table,
        match.series.entry.book,
        find_slot=lambda connection: matches.claim_slot(connection, match),
    )


def test_a_match_and_its_first_game_are_begun_in_one_piece(
    monkeypatch: pytest.MonkeyPatch, db: str
) -> None:
    def fails(*_: object) -> None:
        raise StoreError("the disk is full")

    store = opened(db)
    with monkeypatch.context() as patched:
        patched.setattr(keeping, "insert_changes", fails)
        with pytest.raises(StoreError, match="full"):
            begun(store, new_match(), 9)
    assert rows(store) == []
    begun(store, new_match(), 9)
    assert rows(store) == [(1, False)]


def test_a_match_ends_in_one_piece_with_its_game(monkeypatch: pytest.MonkeyPatch, db: str) -> None:
    def fails(*_: object) -> None:
        raise StoreError("the disk is full")

    store = opened(db)
    game = begun(store, new_match(best_of=1), 9, 8)
    with monkeypatch.context() as patched:
        patched.setattr(keeping, "_settle_match", fails)
        with pytest.raises(StoreError):
            store.save(game, game.table.play(6))
    assert store.get(game.id).table.outcome is None
    store.save(game, game.table.play(6))
    assert rows(store) == [(1, True)]
    store.change(game.id, 3, Change("undo", 1))
    assert rows(store) == [(1, False)]


def test_nobody_begins_the_same_game_of_a_match_twice(db: str) -> None:
    store = opened(db)
    match = new_match()
    game = begun(store, match, 9)
    with pytest.raises(GameStartedError, match="m1 game 1 was begun already") as twice:
        begun(opened(db), match, 8)
    assert twice.value.game == game
    assert len(played(store)) == 1


def test_of_many_who_begin_the_next_game_at_once_one_does(database: str) -> None:
    def begin(block: int) -> tuple[int, ...]:
        store = opened(database)
        try:
            return begun(store, after, block).table.game.moves
        except GameStartedError as elsewhere:
            return elsewhere.game.table.game.moves
        finally:
            store.close()

    match = new_match()
    store = opened(database)
    game = begun(store, match, 9, 8, 6)
    after = replace(match, id=1, series=match.series.after(0))
    with ThreadPoolExecutor(4) as pool:
        moves = set(pool.map(begin, (9, 8, 7, 6)))
    assert [kept.table.game.moves for kept in played(store)] == [game.table.game.moves, *moves]
    store.close()


@pytest.mark.slow
def test_a_match_that_is_killed_again_and_again_is_played_as_if_nothing_had_happened(
    tmp_path: Path,
) -> None:
    call = (
        "match",
        "draft,summit",
        "--best-of",
        "7",
        "--vs",
        "easy",
        "--vs",
        "fair",
        "--seed",
        "5",
    )
    whole, killed = str(tmp_path / "whole.db"), str(tmp_path / "killed.db")
    tower(*call, NUMBER_TOWER_DB=whole)
    seen = 0
    for lines in (10, 20, 30):
        process = Forked(
            [TOWER, *(("resume",) if seen else call)],
            env=plain_environment(NUMBER_TOWER_DB=killed), stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
        )  # fmt: skip
        assert process.stdout is not None
        with process:
            told = "".join(line for _, line in zip(range(lines), process.stdout, strict=False))
            process.kill()
        seen = max(seen, told.count(" places "))
        store = opened(killed)
        assert sum(len(game.table.game.moves) for game in played(store)) >= seen
        store.close()
    assert tower("resume", NUMBER_TOWER_DB=killed).returncode == 0
    once, again = opened(whole), opened(killed)
    assert rows(again) == rows(once) == [(1, True)]
    assert [game.table for game in played(again)] == [game.table for game in played(once)]
    assert len(played(once)) > 3


def asked_with(left: int) -> str:
    """Return the question that is asked when so many of the smallest blocks are left."""
    return (
        f"Blocks: {', '.join(map(str, range(1, left + 1)))}\n"
        "Enter the block number you wish to place: "
    )


@pytest.mark.slow
def test_two_terminals_play_one_match(db: str) -> None:
    tower("match", "draft", typed=FIRST_WINS, NUMBER_TOWER_DB=db)
    here, there = (Terminal("resume", "m1", NUMBER_TOWER_DB=db, NO_COLOR="1") for _ in range(2))
    for terminal in (here, there):
        terminal.until(asked_with(9))
    here.type("9\n")
    here.until(asked_with(8))
    there.type("7\n")
    assert "This game was continued elsewhere" in there.until(asked_with(8))
    there.type("8\n")
    there.until(asked_with(7))
    here.type("5\n")
    assert "wish to place: 8\n" in here.until(asked_with(7))
    here.type("6\n")
    here.until(asked_with(9))
    there.type("1\n")
    assert "Player 1: 1, Player 2: 1" in there.until(asked_with(9))
    for terminal in (here, there):
        terminal.type("quit\ny\n")
        assert terminal.end() == 0
    assert [game.table.game.moves for game in played(opened(db))] == [(9, 8, 6), (9, 8, 6)]


def test_ctrl_c_leaves_the_match(db: str) -> None:
    terminal = Terminal("match", "draft", NUMBER_TOWER_DB=db, NO_COLOR="1")
    assert "(Type at any time: help" in terminal.until("wish to place: ")
    for answer in FIRST_WINS.split():
        terminal.type(f"{answer}\n")
        terminal.until("wish to place: ")
    assert terminal.seen.count("Type at any time:") == 1
    assert terminal.end(interrupt=True) == 128 + signal.SIGINT
    assert "tower: Match saved. Resume it with: tower resume m1" in terminal.seen


def test_a_game_that_could_not_be_kept_is_kept_with_the_next(
    monkeypatch: pytest.MonkeyPatch, db: str
) -> None:
    def fails_for_a_while(
        store: Store,
        known: StoredGame,
        table: Table,
        seats: Seats | None = None,
        *,
        with_values: bool = False,
    ) -> StoredGame:
        if len(table.game.moves) == 3 and len(failed) < 2:
            failed.append(table)
            raise StoreError("the database cannot be used: it is a test")
        return put(store, known, table, seats, with_values=with_values)

    failed: list[Table] = []
    put = Store.save
    monkeypatch.setattr(Store, "save", fails_for_a_while)
    done = tower("match", "draft", "--db", db, typed=FIRST_WINS + "9\nquit\n")
    assert "You can continue" in done.stderr
    assert done.stdout.endswith(f"tower resume m1 --db {db}\n")
    assert len(failed) == 2
    assert [game.table.game.moves for game in played(opened(db))] == [(9, 8, 6), (9,)]


def test_a_match_without_a_database_goes_on_in_memory(tmp_path: Path) -> None:
    (tmp_path / "games.db").mkdir()
    done = tower(
        "match", "draft", typed=FIRST_WINS + "9\nquit\n", NUMBER_TOWER_DB=str(tmp_path / "games.db")
    )
    assert done.returncode == 0
    assert "Player 1: 1, Player 2: 0" in done.stdout
    assert "The match is not saved, so you can resume only this game of it: " in done.stdout
    assert "draft(first=2):9" in done.stdout


def test_a_match_that_is_forgotten_meanwhile_is_played_to_its_end(
    monkeypatch: pytest.MonkeyPatch, db: str
) -> None:
    def forgets(connection: object, match: StoredMatch) -> MatchSlot:
        if match.series.match.number == 2:
            raise GameNotFoundError(match.id)
        return place(connection, match)  # type: ignore[arg-type]  # it is passed on as it came

    place = matches.claim_slot
    monkeypatch.setattr(matches, "claim_slot", forgets)
    done = tower("match", "draft", typed=FIRST_WINS * 3, NUMBER_TOWER_DB=db)
    assert "this match was deleted elsewhere; its game is saved on its own" in done.stderr
    assert done.stdout.endswith("Player 1 wins the match!\n")
    left = tower("match", "draft", typed=FIRST_WINS + "9\nquit\n", NUMBER_TOWER_DB=db)
    assert left.stdout.endswith("you can resume only this game of it: tower resume 5\n")


def test_forgetting_a_match_drops_its_games(db: str) -> None:
    tower("match", "draft", typed=FIRST_WINS + "9\n", NUMBER_TOWER_DB=db)
    tower("play", "draft", typed="9\n", NUMBER_TOWER_DB=db)
    store = opened(db)
    assert [game.slot for game in matches.delete_match(store, 1)] == [
        MatchSlot(1, 1),
        MatchSlot(1, 2),
    ]
    assert rows(store) == []
    with store.read() as connection:
        left = [
            connection.execute(select(func.count()).select_from(t)).scalar_one()
            for t in (tables.games, tables.changes)
        ]
    assert left == [1, 1]
    with pytest.raises(GameNotFoundError):
        matches.delete_match(store, 1)


# To another machine -------------------------------------------------------------------------------


def test_a_match_is_read_as_it_was_written(db: str, tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text('[rules]\nblocks = "1-2"\ntarget = 1\n')
    call = (
        "match",
        f"draft,{path}",
        "--vs",
        "easy",
        "--seed",
        "2",
        "--names",
        "Ann,Ben",
        "--first",
        "2",
    )
    tower(*call, typed="9\n", NUMBER_TOWER_DB=db)
    here, there = opened(db), opened(str(tmp_path / "there.db"))
    with here.read() as connection:
        line = matches.serialize_match(connection, MatchSlot(1, 2))
    # JSON has lists for tuples.
    line = {
        **line,
        "names": list(line["names"]),  # type: ignore[call-overload]
        "players": list(line["players"]),  # type: ignore[call-overload]
    }
    second = Table(Game(catalogue.load(str(path)).rules, 0), "mine")
    with there.write() as connection:
        for _ in range(2):
            assert matches.parse_match(line, second).claim_slot(connection) == MatchSlot(1, 2)
    ours, theirs = matches.get_match(here, 1), matches.get_match(there, 1)
    assert (theirs.key, theirs.series, theirs.started) == (ours.key, ours.series, ours.started)
    assert theirs.seats == Seats((None, "easy"), 2)


@pytest.mark.parametrize(
    "wrong",
    [
        {"key": "x"}, {"games": []}, {"games": [{}]}, {"best_of": 0}, {"first": 3}, {"hidden": 1},
        {"names": ["Ann"]}, {"players": [1, 2]}, {"seed": "1"}, {"started": "now"}, {"number": 4},
        {"games": [{"name": "x", "rules": {"blocks": 0}, "rulebook": None}]},
        {"games": [{"name": 1, "rules": {}, "rulebook": None}]},
    ],
)  # fmt: skip
def test_a_strangers_match_is_not_believed(db: str, wrong: dict[str, object]) -> None:
    right = {
        "key": "0" * 32, "games": [{"name": "x", "rules": {}, "rulebook": None}], "best_of": 3,
        "first": 1, "hidden": False, "names": None, "players": [None, None], "seed": None,
        "started": "2027-01-31T10:00:00.000000Z", "number": 1,
    }  # fmt: skip
    store = opened(db)
    table = Table(Game(), "x")
    with pytest.raises(ValueError, match="expected"):
        matches.parse_match({**right, **wrong}, table)
    with store.write() as connection:
        assert matches.parse_match(right, table).claim_slot(connection) == MatchSlot(1, 1)


@pytest.mark.parametrize(
    "other",
    [
        Table(Game(catalogue.load("race").rules), "race"),
        Table(Game(catalogue.load("climb").rules, 1), "climb"),
        Table(Game(catalogue.load("climb").rules), "climb", hidden=True),
    ],
    ids=["another game", "another starter", "hidden"],
)
def test_no_other_game_gets_into_a_match(db: str, other: Table) -> None:
    tower("match", "climb", "--names", "Ann,Ben", typed="30\n30\n", NUMBER_TOWER_DB=db)
    with opened(db).read() as connection:
        line = {
            **matches.serialize_match(connection, MatchSlot(1, 2)),
            "number": 3,
            "names": ["Ann", "Ben"],
            "players": [None, None],
        }
    assert (
        matches.parse_match(line, Table(Game(catalogue.load("climb").rules), "climb")).number == 3
    )
    with pytest.raises(ValueError, match="expected its game 3"):
        matches.parse_match(line, other)


def test_another_match_with_the_same_key_is_another(db: str) -> None:
    tower("match", "climb", "--names", "Ann,Ben", typed="30\n30\n", NUMBER_TOWER_DB=db)
    store = opened(db)
    with store.read() as connection:
        line = {
            **matches.serialize_match(connection, MatchSlot(1, 2)),
            "number": 3,
            "names": ["Eve", "Mal"],
            "players": [None, None],
        }
    with store.write() as connection:
        assert (
            matches.parse_match(
                line, Table(Game(catalogue.load("climb").rules), "climb")
            ).claim_slot(connection)
            is None
        )


@pytest.mark.parametrize(
    "values",
    [
        {"document": "nonsense"},
        {"document": "{}"},
        {"document": "[]"},
        {"document": '{"games": [], "best_of": 3, "first": 1, "hidden": false}'},
    ],
)
def test_a_damaged_match_is_told_in_a_sentence(db: str, values: dict[str, object]) -> None:
    tower("match", "draft", "--names", "Ann,Ben", typed=FIRST_WINS, NUMBER_TOWER_DB=db)
    with opened(db).write() as connection:
        connection.execute(tables.matches.update().values(values))
    done = tower("resume", "m1", NUMBER_TOWER_DB=db)
    assert (done.returncode, done.stdout) == (1, "")
    assert "match m1 is damaged in the database: " in done.stderr
    assert "Traceback" not in done.stderr
