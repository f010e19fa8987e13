"""Presets: recommended settings in a rule file, checked like options."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from syrupy.assertion import SnapshotAssertion

import number_tower as nt
from number_tower import RuleFileError, Rules, RulesError, UnknownPresetError
from number_tower.engine import catalogue
from number_tower.engine.catalogue import Preset, Rulebook
from support.refusals import describe_refusals, parse_rule_file, refuse_rule_file
from support.sizes import examples
from support.strategies import any_rules

PRESETS = """
options = ["target", "blocks", "opening"]
[rules]
blocks = "1-9"
target = 15
[presets.long]
blocks = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]
target = 30
about = "A longer game.\\nIt takes some time."
[presets.low-start]
opening = "1-3"
"""


def test_rule_file_can_have_presets() -> None:
    book = parse_rule_file(PRESETS)
    about = "A longer game. It takes some time."
    assert book.presets == {
        "long": Preset("long", {"target": 30, "blocks": "1-12"}, about),
        "low-start": Preset("low-start", {"opening": "1-3"}),
    }
    assert book.presets["long"].describe() == f"target 30, blocks 1-12. {about}"
    assert book.rules == Rules(target=15), "the rules of the file stay the default"
    assert pickle.loads(pickle.dumps(book)) == book  # noqa: S301 - our own


def test_options_override_those_of_a_preset(tmp_path: Path) -> None:
    path, book = tmp_path / "mygame.toml", parse_rule_file(PRESETS)
    path.write_text(PRESETS)
    assert catalogue.choose(path, preset="long").rules == Rules(range(1, 13), target=30)
    assert catalogue.choose(book, {"target": 20}, preset=" Long").rules == Rules(
        range(1, 13), target=20
    )
    assert catalogue.choose(book, {"blocks": "1-5"}, preset="low-start").rules == Rules(
        range(1, 6), target=15, opening=range(1, 4)
    )
    assert nt.rules(path, preset="low-start", opening="2") == Rules(target=15, opening=[2])


@pytest.mark.parametrize(
    ("source", "preset", "problem"),
    [
        (parse_rule_file(PRESETS), "lnog", "'lnog'; it has long, low-start; did you mean"),
        (parse_rule_file("[rules]\n"), "long", "there are no presets for mygame"),
        (Rules(), "long", "there are no presets for rules"),
    ],
)
def test_unknown_preset_is_refused(source: Rulebook | Rules, preset: str, problem: str) -> None:
    with pytest.raises(UnknownPresetError, match=problem) as refused:
        catalogue.choose(source, preset=preset)
    assert refused.value.field == "preset"


WRONG_PRESETS = [
    "presets = 3",
    "presets.deep = 3",
    "presets.Deep.target = 9",
    'presets."a\\u001bb".target = 9',
    f"presets.{'x' * 21}.target = 9",
    "presets.a--b.target = 9",
    "presets.deep = {}",
    "presets.deep.about = 'long'",
    "presets.deep = {target = 9, about = 3}",
    'presets.deep = {target = 9, about = "\\u001b[2J"}',
    "presets.deep.target = 'high'",
    "presets.deep.targt = 9",
    "presets.deep = {target = 9, fit = 'any'}",
    "presets.deep.hidden = true",
    "presets.deep.blocks = '5-1'",
    "presets.deep.opening = '12'",
    "presets.deep = {blocks = '1-5', opening = '6'}",
    "".join(f"presets.p{number}.target = 9\n" for number in range(21)),
]
ENDLESS = "blocks = [4, 8]\nsupply = 'endless'\nfit = 'unrelated'\nopening = [4]\n"
FILES_WITH_A_WRONG_PRESET = [
    *(f"{presets}\n[rules]\ntarget = 15\n" for presets in WRONG_PRESETS),
    "[rules]\n[presets.deep]\ntarget = 9\n",
    "options = []\n[rules]\n[presets.deep]\nabout = 'x'\n",
    "[rules]\nopening = '7-9'\n[presets.small]\nblocks = '1-5'\n",
    f"[rules]\n{ENDLESS}[presets.odd]\nblocks = [4, 6]\n",
]


def test_wrong_preset_is_refused_by_key_and_what_was_expected(snapshot: SnapshotAssertion) -> None:
    assert describe_refusals(parse_rule_file, FILES_WITH_A_WRONG_PRESET) == snapshot


def test_mistakes_of_presets_are_reported_with_all_others() -> None:
    text = """
    titel = "x"
    options = ["targt"]
    [rules]
    blocks = "5-1"
    [presets.one]
    opening = "7"
    target = 0
    colour = "red"
    [presets.two]
    blocks = "1-x"
    """
    keys = "titel rules.blocks options presets.one.colour presets.one.target presets.two.blocks"
    assert [key for key, _ in refuse_rule_file(text).mistakes] == keys.split()


@given(any_rules(), st.data())
@settings(max_examples=examples(100))
def test_every_preset_gives_the_rules_of_its_options(rules: Rules, data: st.DataObject) -> None:
    other = data.draw(any_rules())
    options = {
        key: value for key, value in other.to_dict().items() if key in catalogue.RULE_OPTIONS
    }
    table = {
        "options": list(catalogue.RULE_OPTIONS),
        "rules": rules.to_dict(),
        "presets": {"other": options},
    }
    try:
        expected = rules.replace(options)
    except RulesError:
        with pytest.raises(RuleFileError, match=r"presets\.other"):
            catalogue.make_rulebook(table, b"", "mygame", "mygame.toml")
        return
    book = catalogue.make_rulebook(table, b"", "mygame", "mygame.toml")
    assert catalogue.choose(book, preset="other").rules == expected
    assert book.presets["other"].options == options


def test_every_preset_of_the_catalogue_is_described_and_playable() -> None:
    for book in catalogue.load_all():
        assert book.presets
        for name, preset in book.presets.items():
            choice = catalogue.choose(book, preset=name)
            assert nt.Table.start(choice).game.legal
            assert choice.rules != book.rules, "a preset changes something"
            assert 20 < len(preset.about) < 160, "a sentence or two"
            assert preset.about.endswith(".")
