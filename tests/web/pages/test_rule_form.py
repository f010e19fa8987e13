"""The form that builds a rule file: its fields, its changes, and its mistakes."""

from __future__ import annotations

import tomllib
from dataclasses import fields
from typing import get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from number_tower import Rules
from number_tower.engine import catalogue
from number_tower.engine.rules import Fit, Stuck, Supply, Towers
from number_tower.web import limits
from number_tower.web.pages.rule_form import (
    FIELDS,
    SAVED,
    TEXT,
    check_text,
    find_changes,
    make_text,
    refuse_text,
    write_fields,
)
from support.sizes import examples
from support.strategies import any_rules

COMMENTED = """\
# a game for rainy days
title = "Rain"   # its name
summary = "Wet."

[rules]   # how it goes
blocks = [1, 2, 3]   # few
fit = "ascending"
step = 2

# the words
[voice]
noun = "drop"
"""

WRITINGS = {
    "commented": COMMENTED,
    "dotted": 'rules.blocks = "1-3"\ntitle = "Dots"\nrules.fit = "any"\n',
    "inline": 'rules = {blocks = "1-3", fit = "any"}\n[voice]\nnoun = "drop"\n',
    "rules last": '[voice]\nnoun = "drop"\n[rules]\n',
    "rules in two places": (
        '[rules]\nfit = "any"\n[voice]\nnoun = "drop"\n[voice.you]\nplaced = "Plop."\n'
    ),
    "quoted": '"title" = "Quotes"\n["rules"]\n"blocks" = "1-3"\n',
    "no rules": 'title = "Nothing"\n',
    "odd values": (
        'a = [{b = "\\u007f\\n", "c d" = true}]\nd = 1979-05-27\n[rules]\ntarget = 1e9\n[e."f g"]\n'
    ),
    "windows": 'title = "Lines"\r\n[rules]\r\nblocks = "1-3"\r\n',
    "presets": (
        '[rules]\n[presets.low] # easier\nopening = "1-3"\nabout = "Low."\n[presets.few]\n'
        'blocks = "1-4"\n'
    ),
    "empty": "",
}


def fill_in(rules: Rules) -> dict[str, str]:
    """Return the fields that say these rules."""
    values = rules.to_dict()
    return {field.key: str(values.get(field.key, "")) for field in FIELDS if field.key != "title"}


def test_every_rule_has_a_field_and_every_word_a_choice() -> None:
    by_key = {field.key: field for field in FIELDS}
    assert by_key.keys() == {"title", *(field.name for field in fields(Rules))}
    for key, words in {"supply": Supply, "towers": Towers, "fit": Fit, "stuck": Stuck}.items():
        assert tuple(choice.value for choice in by_key[key].choices) == get_args(words)
    for field in FIELDS:
        assert field.about.endswith(".")
        assert all(choice.label and choice.about.endswith(".") for choice in field.choices)


@settings(max_examples=examples(300))
@given(any_rules())
def test_fields_show_the_rules_of_a_text(rules: Rules) -> None:
    sheet = check_text(make_text("Mine", rules))
    assert sheet.book is not None
    assert (sheet.book.rules, sheet.book.title, sheet.mistakes) == (rules, "Mine", {})
    assert sheet.fields == sheet.saved == {"title": "Mine", **fill_in(rules)}


@settings(max_examples=examples(300))
@given(
    st.sampled_from(list(WRITINGS)), any_rules(), st.text(st.characters(codec="utf-8"), max_size=20)
)
def test_form_turns_any_file_into_any_rules(writing: str, rules: Rules, title: str) -> None:
    title = " ".join(title.split())
    text = WRITINGS[writing]
    saved = {f"{SAVED}{key}": value for key, value in check_text(text).saved.items()}
    wanted = {"title": title, **fill_in(rules)}
    changed = write_fields(text, find_changes({**saved, **wanted}))
    before, after = tomllib.loads(text), tomllib.loads(changed)
    assert Rules.from_dict(after.pop("rules", {})) == rules
    assert after.pop("title", "") == title
    assert after == {key: value for key, value in before.items() if key not in {"rules", "title"}}
    assert check_text(changed).fields == {**wanted, "title": check_text(changed).fields["title"]}


def test_changed_field_writes_the_file_without_comments() -> None:
    changed = write_fields(COMMENTED, {"blocks": "1-9", "target": "20"})
    assert changed == (
        'title = "Rain"\nsummary = "Wet."\n\n'
        '[rules]\nblocks = "1-9"\nfit = "ascending"\nstep = 2\ntarget = 20\n\n'
        '[voice]\nnoun = "drop"\n'
    )


@pytest.mark.parametrize("rule", [f"target = 0x{'f' * 8000}", f"blocks = [0x{'f' * 8000}]"])
def test_file_with_huge_numbers_is_not_rewritten(rule: str) -> None:
    assert check_text(f"[rules]\n{rule}").mistakes
    with pytest.raises(catalogue.RuleFileError, match="please change it here"):
        write_fields(f"[rules]\n{rule}", {"stuck": "skips"})


def test_preset_that_does_not_fit_or_is_too_large_is_a_mistake() -> None:
    sheet = check_text(write_fields(WRITINGS["presets"], {"blocks": "5-9"}))
    assert sheet.mistakes == {
        TEXT: ("presets.low.opening: expected blocks of this game (5-9); got 1.",)
    }
    for preset, words in (
        ("blocks = '1-1001'", "a game may have at most 1,000"),
        ("target = 10001", "the target may be at most 10,000; this one is 10,001."),
    ):
        sheet = check_text(f"[rules]\nblocks = '1-9'\ntarget = 9\n[presets.large]\n{preset}\n")
        ((mistake,),) = sheet.mistakes.values()
        assert mistake.startswith(f"The preset large is too large: {words}")


def test_empty_field_and_fit_without_a_step_remove_a_rule() -> None:
    changed = write_fields(make_text(), {"target": "", "title": ""})
    assert tomllib.loads(changed).keys() == {"rules"}
    assert "target" not in changed
    assert "step" not in write_fields(COMMENTED, {"fit": "any"})
    assert "step" in write_fields(COMMENTED, {"fit": "ascending"})


def test_only_changes_are_written() -> None:
    saved = {f"{SAVED}blocks": "1-9", f"{SAVED}fit": "any"}
    same = {"blocks": "1-9 ", "target": "", "fit": "any", **saved}
    assert find_changes(same) == {}
    assert find_changes({**same, "target": " 7 "}) == {"target": "7"}
    assert find_changes({"fit": "any", "target": ""}) == {"fit": "any"}


BAD_RULES = {
    "blocks": [
        "blocks = '1-x'", "blocks = []", "blocks = [3, 3]", "blocks = '1-5000'",
        "blocks = '1-500000'",
    ],
    "supply": ["supply = 'none'", "supply = 'endless'"],
    "towers": ["towers = 3"],
    "fit": ["fit = 'anny'"],
    "step": ["fit = 'any'\nstep = 3", "fit = 'ascending'\nstep = 0"],
    "target": [
        "target = 'high'", "target = 20.5", "target = 20000",
        "supply = 'endless'\ntarget = 10000\ntowers = 'own'",
    ],
    "stuck": ["stuck = 'cries'"],
    "opening": ["opening = '77'"],
    TEXT: ["colour = 'red'", "[voice]\nturn = '{target}'", f"# {'x' * limits.MAX_RULE_FILE}"],
    f"blocks target stuck {TEXT}": [
        "blocks = '1-x'\ntarget = 'high'\nstuck = 'cries'\ncolour = 'red'"
    ],
    f"target {TEXT}": ["target = 'x'\n[voice]\nturn = '{nothing}'"],
}  # fmt: skip
BAD_FILES = {
    "title": ["title = 3\n[rules]\n", 'title = "a\\u0007"\n[rules]\n'],
    TEXT: ["rules = 3", "", "[rules\n"],
}


@pytest.mark.parametrize(
    ("keys", "text"),
    [(keys, f"[rules]\n{rule}\n") for keys, rules in BAD_RULES.items() for rule in rules]
    + [(keys, text) for keys, texts in BAD_FILES.items() for text in texts],
    ids=lambda value: value[:40],
)
def test_mistake_is_reported_at_its_field_or_at_the_text(keys: str, text: str) -> None:
    sheet = check_text(text)
    assert sheet.book is None
    assert sheet.mistakes.keys() == {*keys.split()}
    for words in sheet.mistakes.values():
        assert all(sentence.endswith((".", "?")) for sentence in words)


@pytest.mark.parametrize("typed", ["high", "20.5", "-3", "9" * 40])
def test_typed_text_that_is_no_number_stays_in_its_field(typed: str) -> None:
    sheet = check_text(write_fields(make_text(), {"target": typed}))
    assert sheet.fields["target"] == typed
    assert sheet.mistakes["target"][0].startswith("Expected a whole number from 1 to 1,000,000,000")


def test_change_waits_until_the_text_can_be_read() -> None:
    with pytest.raises(catalogue.RuleFileError) as unreadable:
        write_fields("[rules", {"target": "9"})
    sheet = refuse_text(
        "[rules", {"target": "9", f"{SAVED}target": "30", "fit": "any"}, unreadable.value
    )
    assert (sheet.fields["target"], sheet.saved["target"], sheet.text) == ("9", "30", "[rules")
    assert sheet.mistakes.keys() == {TEXT}
    again = {**sheet.fields, **{f"{SAVED}{key}": value for key, value in sheet.saved.items()}}
    assert find_changes(again)["target"] == "9"


@settings(max_examples=examples(200))
@given(
    st.text(st.characters(codec="utf-8"), max_size=60),
    st.text(st.characters(codec="utf-8"), max_size=20),
)
def test_any_text_and_any_value_have_a_book_or_mistakes(text: str, value: str) -> None:
    assert (check_text(text).book is None) == bool(check_text(text).mistakes)
    for field in FIELDS:
        sheet = check_text(write_fields(make_text(), {field.key: " ".join(value.split())}))
        assert (sheet.book is None) == bool(sheet.mistakes)
        assert sheet.mistakes.keys() <= {field.key, "opening"}
