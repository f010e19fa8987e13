"""What each reader reads: "you" is the one who reads, and nobody is congratulated on a loss."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from number_tower import Game, Table
from number_tower.engine.catalogue import (
    CatalogueError,
    Rulebook,
    find_rulebook,
    load,
    load_all,
    parse_toml,
)
from number_tower.engine.refusals import Refusal, Unplaceable
from number_tower.words import voice
from number_tower.words.voice import (
    BOTH,
    SPECTATOR,
    MatchMoment,
    MatchStanding,
    Message,
    Reader,
    Voice,
    get_voice,
    narrate,
)
from support.strategies import any_game

NAMES = ("Ann", "Ben")
READERS = (Reader(0), Reader(1), SPECTATOR)
ANSWERS = ("empty", "not_a_number", "not_whole", "signed", "other_digits", "several")
REFUSALS = (*get_args(Unplaceable), *get_args(Refusal), *ANSWERS, "undo", "hint")
FOR_ALL = {"start", "unreachable", "help", "prompt", "moves"}
"""Moments that have the same words for everybody."""

YOU = re.compile(r"\byou(r|rs)?\b", re.IGNORECASE)
CHEER = re.compile(r"congrat|\byou (have )?w[io]n|well done|!", re.IGNORECASE)


def books() -> list[Rulebook]:
    return [*load_all(), find_rulebook("mine", load("race").rules)]


def seated(game: Game, book: Rulebook) -> Table:
    return Table(game, book=book, names=NAMES)


def tell_all(table: Table, reader: Reader) -> list[Message]:
    """Tell a game to its end, and every way in which it could have been given up on the way."""
    told = list(narrate(table, reader=reader))
    voice = get_voice(table.book, reader)
    started = Table(Game(table.game.rules), book=table.book, names=NAMES)
    for reason in ("resigned", "forfeit", "abandoned"):
        for player in (0, 1):
            told += voice.tell(started.declare(reason, player))
    for score in ((2, 1), (1, 2), (1.5, 1.5)):
        standing = MatchStanding(3, 3, score)
        moments: tuple[MatchMoment, ...] = (
            "start",
            "game",
            "score",
            "drawn" if score[0] == score[1] else "won",
        )
        told += (voice.tell_match(moment, started, standing) for moment in moments)
    return [*told, voice.tell_toss(started), voice.tell_undo(started, started.game.legal[0])]


@pytest.mark.parametrize("book", books(), ids=lambda book: book.name)
@given(data=st.data())
def test_you_is_the_one_who_reads(book: Rulebook, data: st.DataObject) -> None:
    game = Game(book.rules, data.draw(st.integers(0, 1)))
    while game.outcome is None:
        game = game.play(data.draw(st.sampled_from(game.legal)))
    for reader in READERS:
        for message in tell_all(seated(game, book), reader):
            assert message.text.strip(), message.moment
            assert "{" not in message.text
            assert reader.seat is None or NAMES[reader.seat] not in message.text, message
            if message.kind in FOR_ALL:
                continue
            if reader == SPECTATOR:
                assert not YOU.search(message.text), message
            elif message.view == "you":
                assert YOU.search(message.text), message
            elif message.view == "opponent" and message.kind in {"placed", "undone"}:
                assert not YOU.search(message.text), message
            if message.view == "opponent" and message.moment.startswith(("end_", "match_won")):
                assert not CHEER.search(message.text), message


@given(any_game(to_the_end=True))
def test_every_rule_has_words_for_every_reader(game: Game) -> None:
    table = Table(game, book=find_rulebook("mine", game.rules), names=NAMES)
    for reader in (BOTH, *READERS):
        for message in narrate(table, reader=reader):
            assert message.text.endswith("\n")
            assert "None" not in message.text


@pytest.mark.parametrize("book", books(), ids=lambda book: book.name)
def test_every_refusal_has_words_for_every_reader(book: Rulebook) -> None:
    table = seated(Game(book.rules), book)
    for refusal in REFUSALS:
        if refusal == "target" and book.rules.target is None:
            continue
        mover, other, spectator = (
            get_voice(book, reader).refuse(table, refusal, "7", 7).text for reader in READERS
        )
        assert mover == get_voice(book).refuse(table, refusal, "7", 7).text, (
            "the rulebook's words address the mover"
        )
        assert other == spectator == "Ann tried 7, which is not possible.\n"


def test_the_winner_is_you_or_has_a_name() -> None:
    table = seated(Game(load("race").rules), load("race"))
    for block in (9, 8, 1, 7):
        table = table.play(block)
    endings = [list(narrate(table, reader=reader))[-1].text.strip() for reader in READERS]
    assert endings == [
        "Ben wins: Ben's tower is exactly 15. You lost this one.",
        "You win: your tower is exactly 15.",
        "Ben wins: Ben's tower is exactly 15.",
    ]
    against_computer = replace(table, names=("Ann", "Easy"), automatic=(False, True))
    *_, ending = narrate(against_computer, reader=Reader(0))
    assert ending.text.strip() == "Easy wins: its tower is exactly 15. You lost this one."


def test_a_forced_skip_is_told_to_both() -> None:
    table = seated(Game(load("draft").rules), load("draft"))
    for block in (9, 1, 3):
        table = table.play(block)
    skips = [
        [each.text.strip() for each in narrate(table, reader=reader) if each.kind == "skipped"]
        for reader in READERS
    ]
    assert skips == [
        ["Ben cannot place anything, so you play again."],
        ["You cannot place anything, so Ann plays again."],
        ["Ben cannot place anything, so Ann plays again."],
    ]


def test_a_draw_is_the_same_for_both_and_nobody_won() -> None:
    book = load("draft")
    table = seated(Game(book.rules), book).declare("abandoned", 0)
    for reader in READERS:
        (message,) = get_voice(book, reader).tell(table)
        assert message.view is None
        assert message.text.strip() == "The game was abandoned. Nobody wins."


def test_a_rule_file_may_have_words_for_each_reader(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(
        '[rules]\n[voice]\nplaced = "{block}!"\n[voice.you]\nplaced = "Yours: {block}"\n'
        '[voice.spectator]\nplaced = "Seen: {block}"\n[voice.opponent]\nrefused = "No {answer}."\n'
    )
    book = load(path)
    table = Table(Game(book.rules), book=book, names=NAMES).play(3)
    told = [next(get_voice(book, reader).tell(table)).text for reader in (BOTH, *READERS)]
    assert told == ["3!\n", "Yours: 3\n", "Ann places 3.\n", "Seen: 3\n"]
    assert get_voice(book, Reader(0)).refuse(table, "used", "3", 3).text == "No 3.\n"


def test_only_the_turn_of_another_player_stands_for_its_variants(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(
        '[rules]\n[voice]\nturn = "Go, {player}!"\n[voice.you]\nturn = "Go!"\n'
        '[voice.opponent]\nturn = "Wait."\n'
    )
    book = load(path)
    table = Table(Game(book.rules), book=book, names=NAMES, hidden=True)
    both, mover, other, spectator = (
        get_voice(book, reader).tell_turn(table).text for reader in (BOTH, *READERS)
    )
    assert both == "\nAnn to place. Tower: empty. Height: 0.\n"
    assert mover.startswith("\nYour turn. The tower is ")
    assert other == "Wait.\n"
    assert spectator.startswith("\nAnn's turn. The tower is ")


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("[voice.you]\nplaces = 'x'", "voice.you.places: unknown; did you mean placed"),
        ("[voice.spectator]\nplaced = 3", "voice.spectator.placed: expected text; got 3"),
        ("[voice.you]\nplaced = '{nothing}'", "voice.you.placed: unknown field {nothing}"),
        ("[voice]\nyou = 'x'", "voice.you: expected a table of texts; got 'x'"),
        ("[voice.you]\nnoun = 'x'", "voice.you.noun: unknown"),
        ("[voice.you]\nrefused = 'x'", "voice.you.refused: unknown"),
    ],
)
def test_a_wrong_text_for_a_reader_is_named(text: str, wrong: str, tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(f"[rules]\n{text}\n")
    with pytest.raises(CatalogueError, match=re.escape(wrong)):
        Voice(load(path))


def test_the_plain_voice_misses_no_reader() -> None:
    plain = parse_toml((Path(voice.__file__).with_name("plain.toml")).read_bytes(), "plain.toml")
    moments = {key for key, text in plain.items() if isinstance(text, str)} - {"noun"}
    told = {moment for moment in moments if moment.partition("_")[0] not in FOR_ALL} - {
        "turn_stuck"
    }
    same = {"end_level", "end_abandoned", "match_drawn"}
    refusals = {moment for moment in told if moment.startswith("refused")}
    variants = {"turn_hidden"}
    for view, missing in {
        "you": refusals,
        "opponent": refusals | same | variants,
        "spectator": refusals | variants,
    }.items():
        texts = plain[view]
        assert isinstance(texts, dict)
        assert told - texts.keys() == missing
