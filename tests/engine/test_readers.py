"""The words for a reader: "you" is the reader, and no loser is congratulated."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from syrupy.assertion import SnapshotAssertion

from number_tower import Game, Table
from number_tower.engine.catalogue import (
    Rulebook,
    find_rulebook,
    load,
    load_all,
    parse_toml,
)
from number_tower.engine.refusals import Refusal, Unplaceable
from number_tower.engine.table import Declaration
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
from support.refusals import describe_refusal, parse_rule_file
from support.strategies import any_game

NAMES = ("Ann", "Ben")
BOOKS = [*load_all(), find_rulebook("mine", load("race").rules)]
EVERY_BOOK = pytest.mark.parametrize("book", BOOKS, ids=lambda book: book.name)
READERS = (Reader(0), Reader(1), SPECTATOR)
ANSWERS = ("empty", "not_a_number", "not_whole", "signed", "other_digits", "several")
REFUSALS = (*get_args(Unplaceable), *get_args(Refusal), *ANSWERS, "undo", "hint")
FOR_ALL = {"start", "unreachable", "help", "prompt", "moves"}
"""Moments that have the same words for all readers."""

YOU = re.compile(r"\byou(r|rs)?\b", re.IGNORECASE)
CHEER = re.compile(r"congrat|\byou (have )?w[io]n|well done|!", re.IGNORECASE)


def play(book: Rulebook, *blocks: int, first: int = 0) -> Table:
    return Table(Game(book.rules, first, blocks), book=book, names=NAMES)


def tell_all(table: Table, reader: Reader) -> list[Message]:
    """Tell a game to its end, and every way in which a player could have ended it early."""
    voice, start = get_voice(table.book, reader), play(table.book)
    messages = list(narrate(table, reader=reader))
    for reason in get_args(Declaration):
        for player in (0, 1):
            messages += voice.tell(start.declare(reason, player))
    for score in ((2, 1), (1, 2), (1.5, 1.5)):
        ending: MatchMoment = "drawn" if score[0] == score[1] else "won"
        moments: tuple[MatchMoment, ...] = ("start", "game", "score", ending)
        standing = MatchStanding(3, 3, score)
        messages += (voice.tell_match(moment, start, standing) for moment in moments)
    undo = voice.tell_undo(start, start.game.legal[0])
    return [*messages, voice.tell_toss(start), undo]


def read_last(table: Table, kind: str) -> list[str]:
    """Return the last message of a kind as both players and a spectator read it."""
    return [
        [message for message in narrate(table, reader=reader) if message.kind == kind][-1].text
        for reader in READERS
    ]


@EVERY_BOOK
@given(data=st.data())
def test_you_is_the_reader(book: Rulebook, data: st.DataObject) -> None:
    game = data.draw(any_game(to_the_end=True, rules=st.just(book.rules)))
    for reader in READERS:
        for message in tell_all(Table(game, book=book, names=NAMES), reader):
            assert message.text.strip(), message.moment
            assert "{" not in message.text
            assert reader.seat is None or NAMES[reader.seat] not in message.text, message
            if message.kind in FOR_ALL:
                continue
            if message.view == "you":
                assert YOU.search(message.text), message
            elif reader == SPECTATOR or message.kind in {"placed", "undone"}:
                assert not YOU.search(message.text), message
            if message.view == "opponent" and message.moment.startswith(("end_", "match_won")):
                assert not CHEER.search(message.text), message


@EVERY_BOOK
def test_every_refusal_has_words_for_every_reader(book: Rulebook) -> None:
    table = play(book)
    for refusal in REFUSALS:
        if refusal == "target" and book.rules.target is None:
            continue
        both, mover, other, spectator = (
            get_voice(book, reader).refuse(table, refusal, "7", 7).text
            for reader in (BOTH, *READERS)
        )
        assert mover == both, "the rulebook's words address the mover"
        assert other == spectator == "Ann tried 7, which is not possible.\n"


def test_ending_skip_and_draw_are_as_recorded(snapshot: SnapshotAssertion) -> None:
    won = play(load("race"), 9, 8, 1, 7)
    against_computer = replace(won, names=("Ann", "Easy"), automatic=(False, True))
    assert {
        "won": read_last(won, "end"),
        "won by the computer": read_last(against_computer, "end"),
        "skipped": read_last(play(load("draft"), 9, 1, 3), "skipped"),
        "abandoned": read_last(play(load("draft")).declare("abandoned", 0), "end"),
    } == snapshot


def test_rule_file_may_have_words_for_each_reader() -> None:
    book = parse_rule_file(
        '[rules]\n[voice]\nplaced = "{block}!"\n[voice.you]\nplaced = "Yours: {block}"\n'
        '[voice.spectator]\nplaced = "Seen: {block}"\n[voice.opponent]\nrefused = "No {answer}."',
    )
    table = play(book, 3)
    texts = [next(get_voice(book, reader).tell(table)).text for reader in (BOTH, *READERS)]
    assert texts == ["3!\n", "Yours: 3\n", "Ann places 3.\n", "Seen: 3\n"]
    assert get_voice(book, Reader(0)).refuse(table, "used", "3", 3).text == "No 3.\n"


def test_only_the_turn_of_another_player_replaces_its_variants() -> None:
    book = parse_rule_file(
        '[rules]\n[voice]\nturn = "Go, {player}!"\n[voice.you]\nturn = "Go!"\n'
        '[voice.opponent]\nturn = "Wait."',
    )
    table = replace(play(book), hidden=True)
    both, mover, other, spectator = (
        get_voice(book, reader).tell_turn(table).text for reader in (BOTH, *READERS)
    )
    assert both == "\nAnn to place. Tower: empty. Height: 0.\n"
    assert mover.startswith("\nYour turn. The tower is ")
    assert other == "Wait.\n"
    assert spectator.startswith("\nAnn's turn. The tower is ")


WRONG_TEXTS = [
    *("[voice.you]\nplaces = 'x'", "[voice.spectator]\nplaced = 3"),
    *("[voice.you]\nplaced = '{nothing}'", "[voice]\nyou = 'x'", "[voice.you]\nnoun = 'x'"),
    "[voice.you]\nrefused = 'x'",
]


def test_wrong_text_for_a_reader_is_refused(snapshot: SnapshotAssertion) -> None:
    books = [parse_rule_file(f"[rules]\n{text}\n") for text in WRONG_TEXTS]
    assert [describe_refusal(Voice, book) for book in books] == snapshot


def test_plain_voice_has_words_for_every_reader() -> None:
    plain = parse_toml((Path(voice.__file__).with_name("plain.toml")).read_bytes(), "plain.toml")
    moments = {key for key, text in plain.items() if isinstance(text, str)} - {"noun"}
    spoken = {moment for moment in moments if moment.partition("_")[0] not in FOR_ALL} - {
        "turn_stuck"
    }
    same = {"end_level", "end_abandoned", "match_drawn"}
    refusals = {moment for moment in spoken if moment.startswith("refused")}
    variants = {"turn_hidden"}
    for view, missing in {
        "you": refusals,
        "opponent": refusals | same | variants,
        "spectator": refusals | variants,
    }.items():
        texts = plain[view]
        assert isinstance(texts, dict)
        assert spoken - texts.keys() == missing
