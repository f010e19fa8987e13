"""What players read: words for every moment in every voice, and templates that run nothing."""

from __future__ import annotations

import string
from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise
from typing import Any, get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from syrupy.assertion import SnapshotAssertion

from number_tower import Game, Rules, Table, rules
from number_tower.engine import catalogue
from number_tower.engine.catalogue import Rulebook, find_rulebook, load
from number_tower.engine.refusals import Refusal, Unplaceable
from number_tower.engine.rules import Fit
from number_tower.engine.table import Declaration
from number_tower.support.text import MAX_LIST_ENTRIES, Template, format_count, pluralize
from number_tower.words.brief import describe_fit, describe_goal, describe_rules, summarize_rules
from number_tower.words.voice import BOTH, SPECTATOR, Reader, Voice, get_voice, narrate
from support.sizes import examples
from support.strategies import any_game

REASONS = (*get_args(Unplaceable), *get_args(Refusal))
ANSWERS = ("empty", "not_a_number", "not_whole", "signed", "other_digits", "several", "undo")


@given(game=any_game(), hidden=st.booleans())
def test_plain_voice_has_words_for_every_game_and_reader(game: Game, *, hidden: bool) -> None:
    table = Table(game, book=find_rulebook("mine", game.rules), hidden=hidden)
    for reader in (BOTH, Reader(0), Reader(1), SPECTATOR):
        voice = get_voice(table.book, reader)
        for message in (*voice.tell(table), *voice.tell_moves(table)):
            assert message.text.endswith("\n")
            assert "{" not in message.text
            assert "None" not in message.text


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
def test_refusals_have_different_sentences(name: str) -> None:
    table = Table(Game(rules(name)).play(rules(name).blocks[4]), name)
    voice = Voice(load(name))
    reasons = [
        reason for reason in REASONS if reason != "target" or table.game.rules.target is not None
    ]
    sentences = [voice.refuse(table, reason, "7", 7).text for reason in (*reasons, *ANSWERS)]
    assert len(set(sentences)) == len(sentences)
    assert all(sentence.count("\n") == 1 for sentence in sentences)


@pytest.mark.parametrize("name", catalogue.list_names())
def test_declared_endings_are_as_recorded(name: str, snapshot: SnapshotAssertion) -> None:
    table = Table(Game(rules(name)), name, ("Ann", "Ben"))
    voice = Voice(load(name))
    endings = {
        reason: "".join(message.text for message in voice.tell(table.declare(reason, 1)))
        for reason in get_args(Declaration)
    }
    assert endings == snapshot


@pytest.mark.parametrize("name", catalogue.list_names())
def test_hidden_blocks_are_in_no_text_of_any_voice(name: str) -> None:
    voice = Voice(load(name))
    table = Table(Game(rules(name, blocks=[2, 4, 8, 88, 99])), name, hidden=True)
    while table.outcome is None:
        messages = [*voice.tell(table), *voice.tell_moves(table)]
        messages += [voice.tell_help(table), voice.tell_toss(table)]
        texts = [message.text for message in messages if message.kind not in {"start", "help"}]
        assert "88" not in "".join(texts)
        if 88 in table.game.legal[:1]:
            break
        table = table.play(table.game.legal[0])


def test_target_out_of_reach_is_named_once_at_the_start() -> None:
    voice = Voice(load("race"))
    far, near = (Table(Game(rules("race", **options)), "race") for options in ({"target": 46}, {}))
    counts = [
        [message.moment for message in voice.tell(table)].count("unreachable")
        for table in (far, far.play(1), near)
    ]
    assert counts == [1, 0, 0]


def test_voice_of_a_rule_file_may_be_partial() -> None:
    text = b'[rules]\n[voice]\nturn = "Go, {player}!"\n'
    book = catalogue.parse_rulebook(text, "mine", "mine.toml")
    start, turn = Voice(book).tell(Table(Game(book.rules), "mine"))
    assert turn.text == "Go, Player 1!\n"
    assert "one shared tower" in start.text


# Templates ----------------------------------------------------------------------------------------


def fill(text: str, **values: str | int | list[int]) -> str:
    return Template(text, values).fill(values.__getitem__)


FIELDS: list[tuple[str, dict[str, Any]]] = [
    *((text, {"left": [1, 2, 3]}) for text in ("{left:, }", "[{left:,}]", "{left:-}")),
    *(("{left}", {"left": [1, 2]}), ("{left:-}", {"left": [1, 2, 3, 5]})),
    *(("{left:,|none}", {"left": []}), ("[{left:-}]", {"left": []})),
    *(("number{left:s}", {"left": left}) for left in ([4], [], "hidden")),
    *(("{height} unit{height:s}", {"height": height}) for height in (1, 2)),
    *(("{{{height}}}", {"height": 2}), ("{name}", {"name": "{height}"})),
]


def test_field_is_written_by_its_format(snapshot: SnapshotAssertion) -> None:
    filled = {f"{text} with {values}": fill(text, **values) for text, values in FIELDS}
    assert filled == snapshot


def test_long_lists_are_written_in_runs_and_endless_ones_are_cut() -> None:
    assert fill("{left:, }", left=list(range(1, MAX_LIST_ENTRIES + 1))).endswith(
        f", {MAX_LIST_ENTRIES}"
    )
    assert fill("{left:, }", left=list(range(1, 1001))) == "1-1000"
    odd = fill("{left:, }", left=list(range(1, 2001, 2)))
    assert odd.endswith("..., 1995, 1997, 1999 (1,000 in all)")
    assert len(odd) < 200


@pytest.mark.parametrize(
    "text",
    [
        "{player.__class__}", "{player.__class__.__mro__[1].__subclasses__}", "{player[0]}", "{0}",
        "{}", "{player!r}", "{player!s:>10}", "{height:{height}}", "{height:>999999999999}",
        "{other}", "{__class__}", "\x1b[2J", "{",
    ],
)  # fmt: skip
def test_field_that_is_more_than_a_name_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"expected|Single|control"):
        Template(text, ("player", "height"))


@given(st.text(string.printable.replace("\t\n\r\x0b\x0c", "") + "{}.[]!:"))
def test_template_reaches_nothing_beyond_its_fields(text: str) -> None:
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
def test_description_names_every_rule(game: Game) -> None:
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
def test_summary_is_one_sentence_with_every_rule(game: Game) -> None:
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


RULES = [
    *[Rules(fit=fit) for fit in get_args(Fit)],
    Rules(fit="ascending", step=5),
    Rules(fit="descending", supply="own", towers="shared"),
    Rules(fit="related", opening=[2, 3]),
]


def test_fits_are_described_as_recorded(snapshot: SnapshotAssertion) -> None:
    said = [
        (summarize_rules(mechanics), describe_fit(mechanics, 6), describe_fit(mechanics, 0))
        for mechanics in RULES
    ]
    assert said == snapshot
    assert summarize_rules(Rules(), "number") == snapshot
    assert describe_fit(Rules(fit="descending"), 6, literal=True) == snapshot


@settings(max_examples=examples(100))
@given(any_game())
def test_description_says_which_blocks_fit(game: Game) -> None:
    said = " ".join(describe_rules(game.rules))
    strictly = all(after < before for tower in game.towers for before, after in pairwise(tower))
    assert "may only go on a larger one" not in said or strictly
    free = game.rules.opening is None and game.rules.step is not None
    assert ("The first block may be any block." in said) == free
    assert not free or game.rules.fits(0) == game.rules.every
    assert "The first" not in " ".join(describe_rules(game.rules, literal=True))


@pytest.mark.slow
def test_million_blocks_are_described_in_short() -> None:
    assert "the blocks 1-1000000," in describe_rules(Rules(blocks=range(1, 1_000_001)))[0]
    assert "999999 (500,000 in all)" in describe_rules(Rules(blocks=range(1, 1_000_001, 2)))[0]
    odd = describe_rules(Rules(blocks=range(1, 1_000_001), opening=range(1, 1_000_001, 2)))
    assert all(len(sentence) < 250 for sentence in odd)


# One voice for a rulebook, and one narrator -------------------------------------------------------


def test_voice_of_a_rulebook_is_made_once() -> None:
    book = replace(load("draft"), title="Once only")
    voice = get_voice(book)
    assert get_voice(book) is voice
    other = get_voice(replace(book, title="Other"))
    assert (voice.title, other.title) == ("Once only", "Other")


def test_texts_of_a_rulebook_are_parsed_once_for_all_readers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    get_voice(load("race"))
    parsed: list[str] = []

    def parse(text: str, fields: list[str]) -> Template:
        parsed.append(text)
        return Template(text, fields)

    monkeypatch.setattr("number_tower.words.voice.Template", parse)
    book = replace(load("draft"), title="Parsed once")
    voices = [get_voice(book, reader) for reader in (Reader(0), BOTH, SPECTATOR, Reader(1))]
    assert [voice.reader for voice in voices] == [Reader(0), BOTH, SPECTATOR, Reader(1)]
    views = [texts for texts in book.voice.values() if isinstance(texts, Mapping)]
    own = book.voice.keys() - {"players", "noun", "you", "opponent", "spectator"}
    assert len(parsed) == len(own) + sum(map(len, views))


def test_game_is_narrated_with_undone_moves_and_its_end() -> None:
    table = Table(Game(rules("draft")), "draft").play(9).undo().play(8).declare("resigned", 1)
    messages = [(said.version, said.kind, said.block) for said in narrate(table)]
    assert messages == [
        (0, "start", None), (0, "turn", None), (1, "placed", 9), (1, "turn", None),
        (2, "undone", 9), (2, "turn", None), (3, "placed", 8), (3, "turn", None), (4, "end", None),
    ]  # fmt: skip
    assert [said.version for said in narrate(table, 2, 3, turns=False)] == [2, 3]
    assert "undone" not in {said.kind for said in narrate(replace(table, log=()))}


@given(any_game())
def test_narrated_game_reads_as_it_was_played(game: Game) -> None:
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


def test_noun_agrees_with_its_number() -> None:
    counts = [format_count(count, "move") for count in (0, 1, 2, 1000)]
    assert counts == ["0 moves", "1 move", "2 moves", "1,000 moves"]
    assert (pluralize("second", 1.0), pluralize("second", 0.5)) == ("second", "seconds")
