"""What players read: every moment has words, in every voice, and templates obey nobody."""

from __future__ import annotations

import string
from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from number_tower import Game, Rules, Table, rules
from number_tower.engine import catalogue
from number_tower.engine.catalogue import Rulebook, find_rulebook, load
from number_tower.engine.refusals import Refusal, Unplaceable
from number_tower.support.text import MAX_LIST_ENTRIES, Template, format_count, pluralize
from number_tower.words.brief import describe_fit, describe_goal, describe_rules, summarize_rules
from number_tower.words.voice import BOTH, SPECTATOR, Reader, Voice, get_voice, narrate
from support.sizes import examples
from support.strategies import any_game

REASONS = (*get_args(Unplaceable), *get_args(Refusal))
ANSWERS = ("empty", "not_a_number", "not_whole", "signed", "other_digits", "several", "undo")


@given(game=any_game(), hidden=st.booleans())
def test_the_plain_voice_has_words_for_every_game(game: Game, *, hidden: bool) -> None:
    voice = Voice(find_rulebook("mine", game.rules))
    table = Table(game, "mine", hidden=hidden)
    for said in (*voice.tell(table), *voice.tell_moves(table)):
        assert said.text.endswith("\n")
        assert "{" not in said.text
        assert "None" not in said.text


@given(any_game(to_the_end=True), st.sampled_from(catalogue.list_names()))
def test_every_voice_can_tell_any_game_to_its_end(game: Game, name: str) -> None:
    book = load(name)
    lent = Rulebook(
        name, name, game.rules, book.title, "", "", (), _without_targets(book, game.rules)
    )
    voice = Voice(lent)
    for moment in game.history():
        assert all(said.text for said in voice.tell(Table(moment, name)))


def _without_targets(book: Rulebook, mechanics: Rules) -> dict[str, object]:
    """Lend a voice to other rules: without a target it cannot speak of one."""

    def keep(texts: Mapping[str, object]) -> dict[str, object]:
        return {
            key: keep(text) if isinstance(text, Mapping) else text
            for key, text in texts.items()
            if mechanics.target is not None
            or not isinstance(text, str)
            or not ("{target" in text or "{need" in text)
        }

    return keep(book.voice)


@pytest.mark.parametrize("name", catalogue.list_names())
def test_every_refusal_has_its_own_sentence(name: str) -> None:
    table = Table(Game(rules(name)).play(rules(name).blocks[4]), name)
    voice = Voice(load(name))
    reasons = [
        reason for reason in REASONS if reason != "target" or table.game.rules.target is not None
    ]
    sentences = [voice.refuse(table, reason, "7", 7).text for reason in (*reasons, *ANSWERS)]
    assert len(set(sentences)) == len(sentences)
    assert all(sentence.count("\n") == 1 for sentence in sentences)


@pytest.mark.parametrize("name", catalogue.list_names())
def test_every_declared_ending_has_words(name: str) -> None:
    table = Table(Game(rules(name)), name, ("Ann", "Ben"))
    voice = Voice(load(name))
    told = {
        reason: "".join(said.text for said in voice.tell(table.declare(reason, 1)))
        for reason in ("resigned", "forfeit")
    }
    for text in told.values():
        assert "Ben" in text
        assert "Ann" in text
        assert "wins" in text or "won" in text
    abandoned = "".join(said.text for said in voice.tell(table.declare("abandoned", 1)))
    assert "nobody" in abandoned.lower()


def test_hidden_blocks_are_in_no_text_of_any_voice() -> None:
    for name in catalogue.list_names():
        voice = Voice(load(name))
        table = Table(Game(rules(name, blocks=[2, 4, 8, 88, 99])), name, hidden=True)
        while table.outcome is None:
            told = [
                *voice.tell(table),
                *voice.tell_moves(table),
                voice.tell_help(table),
                voice.tell_toss(table),
            ]
            shown = "".join(said.text for said in told if said.kind not in {"start", "help"})
            assert "88" not in shown, name
            if 88 in table.game.legal[:1]:
                break
            table = table.play(table.game.legal[0])


def test_a_target_out_of_reach_is_told_once_at_the_start() -> None:
    table = Table(Game(rules("race", target=46)), "race")
    voice = Voice(load("race"))
    assert sum(said.moment == "unreachable" for said in voice.tell(table)) == 1
    assert not any(said.moment == "unreachable" for said in voice.tell(table.play(1)))
    assert not any(
        said.moment == "unreachable" for said in voice.tell(Table(Game(rules("race")), "race"))
    )


def test_a_voice_of_ones_own_may_be_partial(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text('[rules]\n[voice]\nturn = "Go, {player}!"\n')
    voice = Voice(load(path))
    start, turn = voice.tell(Table(Game(load(path).rules), "mine"))
    assert turn.text == "Go, Player 1!\n"
    assert "one shared tower" in start.text


# Templates ----------------------------------------------------------------------------------------


def filled(text: str, **values: str | int | list[int]) -> str:
    return Template(text, values).fill(values.__getitem__)


@pytest.mark.parametrize(
    ("text", "values", "expected"),
    [
        ("{left:, }", {"left": [1, 2, 3]}, "1, 2, 3"),
        ("[{left:,}]", {"left": [1, 2, 3]}, "[1,2,3]"),
        ("{left}", {"left": [1, 2]}, "1,2"),
        ("{left:-}", {"left": [1, 2, 3, 5]}, "1-3,5"),
        ("{left:,|none}", {"left": []}, "none"),
        ("[{left:-}]", {"left": []}, "[]"),
        ("number{left:s}", {"left": [4]}, "number"),
        ("number{left:s}", {"left": []}, "numbers"),
        ("number{left:s}", {"left": "hidden"}, "numbers"),
        ("{height} unit{height:s}", {"height": 1}, "1 unit"),
        ("{height} unit{height:s}", {"height": 2}, "2 units"),
        ("{{{height}}}", {"height": 2}, "{2}"),
        ("{name}", {"name": "{height}"}, "{height}"),
    ],
)
def test_fields_are_written_as_asked(
    text: str, values: dict[str, str | int | list[int]], expected: str
) -> None:
    assert filled(text, **values) == expected


def test_long_lists_are_written_in_runs_and_endless_ones_are_cut() -> None:
    assert filled("{left:, }", left=list(range(1, MAX_LIST_ENTRIES + 1))).endswith(
        f", {MAX_LIST_ENTRIES}"
    )
    assert filled("{left:, }", left=list(range(1, 1001))) == "1-1000"
    odd = filled("{left:, }", left=list(range(1, 2001, 2)))
    assert odd.endswith("..., 1995, 1997, 1999 (1,000 in all)")
    assert len(odd) < 200


@pytest.mark.parametrize(
    "text",
    [
        "{player.__class__}",
        "{player.__class__.__mro__[1].__subclasses__}",
        "{player[0]}",
        "{0}",
        "{}",
        "{player!r}",
        "{player!s:>10}",
        "{height:{height}}",
        "{height:>999999999999}",
        "{other}",
        "{__class__}",
        "\x1b[2J",
        "{",
    ],
)
def test_a_field_is_a_name_and_nothing_else(text: str) -> None:
    with pytest.raises(ValueError, match=r"expected|Single|control"):
        Template(text, ("player", "height"))


@given(st.text(string.printable.replace("\t\n\r\x0b\x0c", "") + "{}.[]!:"))
def test_no_text_reaches_beyond_its_fields(text: str) -> None:
    try:
        template = Template(text, ("player", "height"))
    except ValueError:
        return
    values: dict[str, str | int] = {"player": "Ann", "height": 3}
    written = template.fill(values.__getitem__)
    assert "<" not in written or "<" in text
    assert len(written) <= 3 * len(text)


# The rules in brief -------------------------------------------------------------------------------


@given(any_game())
def test_the_brief_names_what_matters(game: Game) -> None:
    mechanics = game.rules
    text = " ".join(describe_rules(mechanics))
    assert ("own" in text.split("tower")[1] or "tower of your own" in text) == (
        mechanics.towers == "own"
    )
    assert (f"exactly {mechanics.target} " in text) == (mechanics.target is not None)
    assert ("you lose" in text) == (mechanics.stuck == "loses")
    assert ("begin with" in text) == (mechanics.opening is not None)
    assert "None" not in text


@given(any_game())
def test_the_rules_fit_into_one_sentence(game: Game) -> None:
    mechanics = game.rules
    sentence = summarize_rules(mechanics)
    assert sentence.count(".") == sentence.count(":") == 1
    assert len(sentence) < 130
    assert sentence.startswith(
        "Your own tower" if mechanics.towers == "own" else "One shared tower"
    )
    assert ("your own blocks" in sentence) == (mechanics.supply == "own")
    assert (f"exactly {mechanics.target}." in sentence) == (mechanics.target is not None)
    assert ("last to place" in sentence) == (
        mechanics.target is None and mechanics.stuck == "loses"
    )
    assert f"{mechanics.target or 'place'}" in describe_goal(mechanics)


def test_the_sentence_says_what_fits() -> None:
    assert "never larger on smaller" in summarize_rules(Rules(fit="descending"))
    assert "always upwards" in summarize_rules(Rules(fit="ascending"))
    assert "each a divisor or a multiple" in summarize_rules(Rules(fit="related"))
    assert "never a divisor or a multiple" in summarize_rules(Rules(fit="unrelated"))
    assert "climbing 1 to 5 at a time" in summarize_rules(Rules(fit="ascending", step=5))
    assert (
        summarize_rules(Rules(), "number")
        == "One shared tower, one pool of numbers: be the last to place."
    )


def test_each_fit_is_said_in_words() -> None:
    said = [
        describe_fit(Rules(fit=fit), 6)
        for fit in ("any", "descending", "ascending", "related", "unrelated")
    ]
    assert said == [
        "any",
        "below 6",
        "above 6",
        "a divisor or a multiple of 6",
        "neither a divisor nor a multiple of 6",
    ]
    assert describe_fit(Rules(fit="descending", supply="own", towers="shared"), 6) == "at most 6"
    assert describe_fit(Rules(fit="descending"), 6, literal=True) == "at most 6"
    assert describe_fit(Rules(fit="ascending", step=5), 6) == "from 7 to 11"
    assert describe_fit(Rules(fit="descending"), 0) == "one of 1-9"
    assert describe_fit(Rules(fit="related", opening=[2, 3]), 0) == "one of 2,3"


@settings(max_examples=examples(100))
@given(any_game())
def test_a_block_goes_only_on_a_larger_one_where_that_is_said(game: Game) -> None:
    said = " ".join(describe_rules(game.rules))
    strictly = all(after < before for tower in game.towers for before, after in pairwise(tower))
    assert "may only go on a larger one" not in said or strictly
    free = game.rules.opening is None and game.rules.step is not None
    assert ("The first block may be any block." in said) == free
    assert not free or game.rules.fits(0) == game.rules.every
    assert "The first" not in " ".join(describe_rules(game.rules, literal=True))


@pytest.mark.slow
def test_a_million_blocks_are_summed_up() -> None:
    assert "the blocks 1-1000000," in describe_rules(Rules(blocks=range(1, 1_000_001)))[0]
    assert "999999 (500,000 in all)" in describe_rules(Rules(blocks=range(1, 1_000_001, 2)))[0]
    odd = describe_rules(Rules(blocks=range(1, 1_000_001), opening=range(1, 1_000_001, 2)))
    assert all(len(sentence) < 250 for sentence in odd)


# One voice for a rulebook, and one narrator -------------------------------------------------------


def test_a_rulebook_has_one_voice() -> None:
    book = replace(load("draft"), title="Once only")
    voice = get_voice(book)
    assert get_voice(book) is voice
    other = get_voice(replace(book, title="Other"))
    assert (voice.title, other.title) == ("Once only", "Other")


def test_the_texts_of_a_rulebook_are_parsed_once_for_all_readers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    get_voice(load("race"))
    parsed: list[str] = []

    def parse(text: str, known: list[str]) -> Template:
        parsed.append(text)
        return Template(text, known)

    monkeypatch.setattr("number_tower.words.voice.Template", parse)
    book = replace(load("draft"), title="Parsed once")
    voices = [get_voice(book, reader) for reader in (Reader(0), BOTH, SPECTATOR, Reader(1))]
    assert [voice.reader for voice in voices] == [Reader(0), BOTH, SPECTATOR, Reader(1)]
    views = [texts for texts in book.voice.values() if isinstance(texts, Mapping)]
    own = book.voice.keys() - {"players", "noun", "you", "opponent", "spectator"}
    assert len(parsed) == len(own) + sum(map(len, views))


def test_a_game_is_narrated_from_its_start_with_takebacks_and_its_end() -> None:
    table = Table(Game(rules("draft")), "draft").play(9).undo().play(8).declare("resigned", 1)
    told = [(said.version, said.kind, said.block) for said in narrate(table)]
    assert told == [
        (0, "start", None),
        (0, "turn", None),
        (1, "placed", 9),
        (1, "turn", None),
        (2, "undone", 9),
        (2, "turn", None),
        (3, "placed", 8),
        (3, "turn", None),
        (4, "end", None),
    ]
    assert [said.version for said in narrate(table, 2, 3, turns=False)] == [2, 3]
    assert "undone" not in {said.kind for said in narrate(replace(table, log=()))}


@given(any_game())
def test_a_narrated_game_reads_as_it_was_played(game: Game) -> None:
    table = Table(game)
    voice = get_voice(table.book)
    expected, earlier = "", None
    for moment in game.history():
        now = Table(moment)
        if earlier is not None:
            expected += f"{voice.format_prompt(earlier)}{moment.moves[-1]}\n"
        expected += "".join(said.text for said in voice.tell(now))
        earlier = now
    assert "".join(said.text for said in narrate(table, answers=True)) == expected
    later = "".join(said.text for said in narrate(table, 2, answers=True))
    assert expected.endswith(later)


def test_a_number_and_its_noun_agree() -> None:
    assert [format_count(count, "move") for count in (0, 1, 2, 1000)] == [
        "0 moves",
        "1 move",
        "2 moves",
        "1,000 moves",
    ]
    assert (pluralize("second", 1.0), pluralize("second", 0.5)) == ("second", "seconds")
