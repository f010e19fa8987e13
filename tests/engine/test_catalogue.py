"""The five games as data, and a player's own file beside them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

import number_tower as nt
from number_tower import OptionError, RuleFileError, Rules, RulesError, UnknownGameError
from number_tower.engine import catalogue
from number_tower.engine.catalogue import MAX_FILE_BYTES, choose, load
from number_tower.words.voice import Voice, add_voice_mistakes
from support.refusals import describe_refusal, describe_refusals, parse_rule_file, refuse_rule_file


def write(folder: Path, text: str, name: str = "mygame.toml") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


ONE_TO_NINE = range(1, 10)
GAMES = {
    "race": Rules(ONE_TO_NINE, "own", "own", "any", target=15),
    "draft": Rules(ONE_TO_NINE, "shared", "own", "descending", target=15, stuck="skips"),
    "summit": Rules(ONE_TO_NINE, "own", "shared", "any", target=20),
    "climb": Rules(range(1, 31), "shared", "shared", "ascending", step=5),
    "factor": Rules(ONE_TO_NINE, "shared", "shared", "related"),
}
OPTIONS = {
    "race": {"target", "blocks", "opening"},
    "draft": {"target", "blocks", "opening"},
    "summit": {"target", "blocks", "opening", "hidden"},
    "climb": {"blocks", "opening"},
    "factor": {"blocks", "opening"},
}


@pytest.mark.parametrize("name", GAMES)
def test_game_has_the_rules_and_options_of_the_rulings(name: str) -> None:
    book = catalogue.load(name)
    assert (book.name, book.rules, {*book.options}) == (name, GAMES[name], OPTIONS[name])


def test_every_game_describes_itself_in_one_paragraph() -> None:
    for book in catalogue.load_all():
        assert book.title
        assert len(book.summary) < 70
        assert 200 < len(book.about) < 700
        assert "\n" not in book.about, "one paragraph"


def test_rule_file_needs_only_a_rules_table() -> None:
    book = parse_rule_file("[rules]\n")
    assert (book.name, book.title, book.rules) == ("mygame", "mygame", Rules())
    assert book.options == ("blocks", "opening", "hidden")
    with_mark = parse_rule_file("\ufeff[rules]\ntarget = 9\n")
    assert with_mark.rules.target == 9
    assert with_mark.options == ("target", "blocks", "opening", "hidden")


def test_rule_file_may_have_every_key_of_the_rules(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        '[rules]\nblocks = [2, 3, 5]\nsupply = "own"\ntowers = "own"\nfit = "ascending"\nstep = 2\n'
        'target = 12\nstuck = "skips"\nopening = "2-3"\n',
    )
    assert nt.rules(path) == Rules((2, 3, 5), "own", "own", "ascending", 2, 12, "skips", (2, 3))
    assert nt.rules(str(path)) == nt.rules(path)


def test_rules_by_name_take_options() -> None:
    assert nt.rules("draft", target=21, blocks=range(1, 13)) == nt.rules(
        Rules(range(1, 13), "shared", "own", "descending", target=21, stuck="skips")
    )
    assert nt.rules("climb", opening=[1, 2]).opening == range(1, 3)
    assert nt.rules("climb", blocks="1-5").blocks == range(1, 6)
    assert nt.rules(Rules(), target=3).target == 3


WRONG_FILES = [
    *("", "rules = 3", "[rules]\nhight = 3", "colour = 'red'\n[rules]", "voice = 3\n[rules]"),
    *("[rules]\ntarget = 'high'", "[rules]\ntarget = 1979-05-27", "[rules]\nblocks = 9"),
    *("[rules]\nsupply = 'endless'", "[rules]\nopening = [12]", "title = 3\n[rules]"),
    *('title = "\\u001b[2J"\n[rules]', "options = ['colour']\n[rules]"),
    *("options = 'target'\n[rules]", "#" * MAX_FILE_BYTES + "\n"),
]


def test_wrong_file_is_refused_by_key_and_what_was_expected(snapshot: SnapshotAssertion) -> None:
    assert describe_refusals(parse_rule_file, WRONG_FILES) == snapshot


@pytest.mark.parametrize(
    "text",
    [
        *("[rules\n", "[rules]\n[rules]\n", "about = '''a\x7f'''\n[rules]"),
        *("[rules]\nblocks = 1-9", "x = " + "[" * 5000, "[rules]\ntarget = " + "9" * 5000),
    ],
    ids=range(6),
)
def test_file_that_is_no_toml_is_refused(text: str) -> None:
    error = refuse_rule_file(text)
    assert (error.file, error.key) == ("mygame.toml", "")
    assert error.problem.startswith("not TOML")
    hint = '; text needs quotes, as in blocks = "1-9"'
    assert error.problem.endswith(hint) or "blocks = 1-9" not in text


WRONG_VOICES = [
    *("start = 3", "strat = 'x'", "xyzzy = 'x'", "start = '{colour}'", "start = '{target}'"),
    *("turn = '{block}'", "start = '{player'", "start = '}'", "players = ['Ann']", "noun = ''"),
    "noun = 7",
]


def test_wrong_voice_is_refused_by_key(snapshot: SnapshotAssertion) -> None:
    books = [parse_rule_file(f"[rules]\n[voice]\n{voice}\n") for voice in WRONG_VOICES]
    assert [describe_refusal(Voice, book) for book in books] == snapshot


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("missing.toml", "there is no such file"),
        ("binary.toml", "expected text in UTF-8"),
        ("folder.toml", "cannot be read: Is a directory"),
        ("nul\0.toml", "cannot be read"),
        ("x" * 5000 + ".toml", "cannot be read: File name too long"),
        ("a\x1b[31m.toml", "file name without control characters"),
        ("/dev/zero", "too large for a rule file"),
    ],
    ids=range(7),
)
def test_file_that_cannot_be_read_is_refused(tmp_path: Path, name: str, problem: str) -> None:
    (tmp_path / "binary.toml").write_bytes(b"\xff\xfe\x00")
    (tmp_path / "folder.toml").mkdir()
    write(tmp_path, "[rules]\n", "a\x1b[31m.toml")
    with pytest.raises(RuleFileError, match=problem) as refused:
        load(tmp_path / name)
    assert str(refused.value).isprintable()


def test_rules_are_recognised_as_those_of_a_game_with_options() -> None:
    draft = load("draft")
    assert draft.find_options(draft.rules) == {}
    assert draft.find_options(nt.rules("draft", target=21, opening="3-5")) == {
        "target": 21,
        "opening": "3-5",
    }
    assert draft.find_options(nt.rules("race")) is None
    assert load("climb").find_options(nt.rules(nt.rules("climb"), step=4)) is None


def test_game_is_found_in_any_case_and_a_file_is_suggested(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert load("Draft") == load("draft")
    monkeypatch.chdir(tmp_path)
    write(tmp_path, "[rules]\n")
    write(tmp_path, "[rules]\ntarget = 7\n", "sevens")
    assert load("sevens").rules.target == 7, "a file needs no ending"
    with pytest.raises(UnknownGameError, match=r"did you mean mygame\.toml\?"):
        load("mygame")


@pytest.mark.parametrize("find", [catalogue.load_named, partial(choose, find=catalogue.load_named)])
def test_rule_file_is_not_opened_where_only_names_are_allowed(
    tmp_path: Path, find: Callable[[str], object]
) -> None:
    with pytest.raises(UnknownGameError):
        find(str(write(tmp_path, "[rules]\n")))


# One reader for what was asked for ----------------------------------------------------------------


def test_game_is_chosen_by_name_file_rulebook_rules_or_dictionary(tmp_path: Path) -> None:
    draft = catalogue.load_named("draft")
    for named in ("draft", "DRAFT", draft):
        assert choose(named, {"target": 21})[:2] == (draft, draft.apply_options({"target": 21}))
    path = write(tmp_path, '[rules]\nblocks = "1-5"\ntarget = 9\n')
    own = Rules(blocks=range(1, 6), target=9)
    for source in (path, str(path), own, {"blocks": "1-5", "target": 9}):
        choice = choose(source, {"opening": "1-3"})
        assert choice.rules == own.replace({"opening": "1-3"})
        assert choice.book.name == ("mygame" if isinstance(source, Path | str) else "rules")
    assert choose(own, {"fit": "related"}).rules.fit == "related", "rules take any rule as option"
    assert choose("summit", hidden=True).hidden


WRONG_CHOICES: list[tuple[Any, dict[str, Any]]] = [
    *(("nim", {}), ("", {}), ("missing.toml", {}), ("draft", {"fit": "any"})),
    *(("climb", {"target": 20}), ("draft", {"target": 0}), ({"blocks": "0"}, {})),
    *(("summit", {"hidden": True}), (Rules(), {"colour": 3})),
]


def test_wrong_choice_is_refused_by_field_and_what_was_expected(
    snapshot: SnapshotAssertion,
) -> None:
    refused = {}
    for source, options in WRONG_CHOICES:
        with pytest.raises((catalogue.CatalogueError, RulesError)) as raised:
            choose(source, options)
        error: Any = raised.value
        refused[f"{source} {options}"] = error.field, str(error)
    assert refused == snapshot
    with pytest.raises(OptionError, match="draft has no option hidden"):
        choose("draft", hidden=True)


def test_seed_decides_the_first_player() -> None:
    assert [catalogue.choose_first(first) for first in (1, 2)] == [0, 1]
    tosses, again = ([catalogue.choose_first("random", seed) for seed in range(20)] for _ in "12")
    assert tosses == again
    assert set(tosses) == {catalogue.choose_first("random") for _ in range(50)} == {0, 1}


SEVERAL_MISTAKES = """
titel = "x"
options = ["targt"]
[rules]
fit = "ascnding"
stuck = "lose"
block = "1-9"
target = "15"
step = 3
opening = "5-1"
[voice]
strat = "x"
noun = 7
[voice.you]
turn = "{plyer}"
"""


def test_all_mistakes_of_a_file_are_reported_with_suggestions(snapshot: SnapshotAssertion) -> None:
    error = add_voice_mistakes(refuse_rule_file(SEVERAL_MISTAKES))
    assert len(error.mistakes) == 10
    assert str(error) == snapshot


@pytest.mark.parametrize(
    ("rules", "keys"),
    [
        ("fit = 'descending'\nstep = 2\nopening = [12]", ["step", "opening"]),
        ("supply = 'endless'\nopening = [12]", ["opening", "supply"]),
        ("supply = 'endless'\ntarget = 0", ["target"]),
        ("blocks = '5-1'\nopening = [12]", ["blocks"]),
        ("fit = 'x'\nstep = 2\nsupply = 'endless'", ["fit"]),
    ],
)
def test_consequence_of_a_mistake_is_not_reported(rules: str, keys: list[str]) -> None:
    mistakes = refuse_rule_file(f"[rules]\n{rules}\n").mistakes
    assert [key for key, _ in mistakes] == [f"rules.{key}" for key in keys]


@pytest.mark.parametrize("text", ["{unknown}[rules]\n", "[rules]\n{unknown}"])
def test_of_thousands_of_mistakes_twenty_are_reported(text: str) -> None:
    unknown = "".join(f"k{number} = 1\n" for number in range(3000))
    message = str(refuse_rule_file(text.replace("{unknown}", unknown)))
    assert " has many mistakes, and these first:\n" in message
    assert len(message.splitlines()) == 21
