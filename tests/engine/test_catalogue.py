"""The five games as data, and a player's own file beside them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import number_tower as nt
from number_tower import OptionError, RuleFileError, Rules, RulesError, UnknownGameError
from number_tower.engine import catalogue
from number_tower.engine.catalogue import MAX_FILE_BYTES, load
from number_tower.words.voice import Voice, add_voice_mistakes


def written(folder: Path, text: str, name: str = "mygame.toml") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def test_the_five_games_are_as_the_rulings_table_says() -> None:
    one_to_nine = range(1, 10)
    found = {book.name: book.rules for book in catalogue.load_all()}
    assert (
        found
        | {  # a sixth game changes nothing here
            "race": Rules(one_to_nine, "own", "own", "any", target=15),
            "draft": Rules(one_to_nine, "shared", "own", "descending", target=15, stuck="skips"),
            "summit": Rules(one_to_nine, "own", "shared", "any", target=20),
            "climb": Rules(range(1, 31), "shared", "shared", "ascending", step=5),
            "factor": Rules(one_to_nine, "shared", "shared", "related"),
        }
        == found
    )


def test_each_game_takes_the_options_that_the_rulings_give_it() -> None:
    found = {book.name: set(book.options) for book in catalogue.load_all()}
    assert (
        found
        | {
            "race": {"target", "blocks", "opening"},
            "draft": {"target", "blocks", "opening"},
            "summit": {"target", "blocks", "opening", "hidden"},
            "climb": {"blocks", "opening"},
            "factor": {"blocks", "opening"},
        }
        == found
    )


def test_each_game_says_what_it_is() -> None:
    for book in catalogue.load_all():
        assert book.title
        assert len(book.summary) < 70
        assert 200 < len(book.about) < 700
        assert "\n" not in book.about, "one paragraph"


def test_a_rules_table_is_all_that_a_rule_file_needs(tmp_path: Path) -> None:
    book = load(written(tmp_path, "[rules]\n"))
    assert (book.name, book.title, book.rules) == ("mygame", "mygame", Rules())
    assert book.options == ("blocks", "opening", "hidden")
    assert load(written(tmp_path, "[rules]\ntarget = 9\n")).options == (
        "target",
        "blocks",
        "opening",
        "hidden",
    )


def test_every_key_of_the_rules_can_be_given(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        '[rules]\nblocks = [2, 3, 5]\nsupply = "own"\ntowers = "own"\nfit = "ascending"\nstep = 2\n'
        'target = 12\nstuck = "skips"\nopening = "2-3"\n',
    )
    assert nt.rules(path) == Rules((2, 3, 5), "own", "own", "ascending", 2, 12, "skips", (2, 3))
    assert nt.rules(str(path)) == nt.rules(path)


def test_a_rule_file_needs_no_particular_ending_if_it_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    written(tmp_path, "[rules]\ntarget = 7\n", "sevens")
    assert load("sevens").rules.target == 7


def test_rules_are_found_by_name_by_path_or_as_they_are() -> None:
    assert nt.rules("draft", target=21, blocks=range(1, 13)) == nt.rules(
        Rules(range(1, 13), "shared", "own", "descending", target=21, stuck="skips")
    )
    assert nt.rules("climb", opening=[1, 2]).opening == range(1, 3)
    assert nt.rules("climb", blocks="1-5").blocks == range(1, 6)
    assert nt.rules(Rules(), target=3).target == 3


def test_an_option_that_a_game_does_not_take_is_refused_with_those_it_does() -> None:
    with pytest.raises(OptionError, match="climb has no option target; it has blocks, opening"):
        nt.rules("climb", target=20)
    with pytest.raises(OptionError, match="has no option step"):
        nt.rules("climb", step=3)


def test_a_game_that_is_not_there_is_refused_with_those_that_are() -> None:
    with pytest.raises(
        UnknownGameError, match="climb, draft, factor, race, summit, or a rule file"
    ):
        nt.rules("chess")
    with pytest.raises(UnknownGameError):
        nt.rules("")


@pytest.mark.parametrize(
    ("text", "key", "said"),
    [
        ("", "rules", "expected a [rules] table"),
        ("rules = 3", "rules", "expected a [rules] table"),
        ("[rules]\nhight = 3", "rules.hight", "unknown; expected one of blocks"),
        ("colour = 'red'\n[rules]", "colour", "unknown; expected title"),
        ("[rules]\ntarget = 'high'", "rules.target", "expected a whole number from 1 to"),
        ("[rules]\ntarget = 15.5", "rules.target", "got 15.5"),
        ("[rules]\ntarget = true", "rules.target", "got True"),
        ("[rules]\ntarget = 1979-05-27", "rules.target", "expected a whole number from 1 to"),
        ("[rules]\nblocks = 9", "rules.blocks", "such as 1-9 or 1,3,5"),
        ("[rules]\nblocks = [1, 'two']", "rules.blocks", "got 'two' among them"),
        ("[rules]\nfit = 'round'", "rules.fit", "any, descending, ascending, related, unrelated"),
        ("[rules]\nsupply = 'endless'", "rules.supply", "could never end"),
        ("[rules]\nopening = [12]", "rules.opening", "blocks of this game"),
        ("title = 3\n[rules]", "title", "expected text"),
        ("about = '''a\x7f'''\n[rules]", "", "not TOML"),
        ('title = "\\u001b[2J"\n[rules]', "title", "without control characters"),
        ("options = ['colour']\n[rules]", "options", "target, blocks, opening, hidden"),
        ("options = 'target'\n[rules]", "options", "target, blocks, opening, hidden"),
        ("voice = 3\n[rules]", "voice", "expected a table"),
        ("[rules\n", "", "not TOML"),
        ("[rules]\nblocks = 1-9", "", 'text needs quotes, as in blocks = "1-9"'),
        ("[rules]\n[rules]\n", "", "not TOML"),
        ("x = " + "[" * 5000, "", "not TOML"),
        ("[rules]\ntarget = " + "9" * 5000, "", "not TOML"),
        ("#" * MAX_FILE_BYTES + "\n", "", "too large for a rule file"),
    ],
)
def test_a_wrong_file_is_refused_by_file_key_and_what_was_expected(
    tmp_path: Path, text: str, key: str, said: str
) -> None:
    path = written(tmp_path, text)
    with pytest.raises(RuleFileError) as refused:
        load(path)
    assert refused.value.file == str(path)
    assert refused.value.key == key
    assert said in refused.value.problem
    assert str(refused.value).isprintable()


@pytest.mark.parametrize(
    ("voice", "key", "said"),
    [
        ("start = 3", "voice.start", "expected text"),
        ("strat = 'x'", "voice.strat", "unknown; did you mean start"),
        ("xyzzy = 'x'", "voice.xyzzy", "unknown; expected a moment such as start"),
        ("start = '{colour}'", "voice.start", "unknown field {colour}"),
        ("start = '{target}'", "voice.start", "{target} needs a target in [rules]"),
        ("turn = '{block}'", "voice.turn", "unknown field {block}"),
        ("start = '{player'", "voice.start", "for a brace itself write {{ or }}"),
        ("start = '}'", "voice.start", "for a brace itself write {{ or }}"),
        ("players = ['Ann']", "voice.players", "two names"),
        ("noun = ''", "voice.noun", "short word"),
        ("noun = 7", "voice.noun", "short word"),
    ],
)
def test_a_wrong_voice_is_refused_the_same_way(
    tmp_path: Path, voice: str, key: str, said: str
) -> None:
    book = load(written(tmp_path, f"[rules]\n[voice]\n{voice}\n"))
    with pytest.raises(RuleFileError) as refused:
        Voice(book)
    assert (refused.value.key, said in refused.value.problem) == (key, True)


def test_files_that_cannot_be_read_are_refused(tmp_path: Path) -> None:
    (tmp_path / "binary.toml").write_bytes(b"\xff\xfe\x00")
    (tmp_path / "folder.toml").mkdir()
    for name, said in (
        ("missing.toml", "there is no such file"),
        ("binary.toml", "expected text in UTF-8"),
        ("folder.toml", "cannot be read: Is a directory"),
        ("nul\0.toml", "cannot be read"),
        ("x" * 5000 + ".toml", "cannot be read: File name too long"),
    ):
        with pytest.raises(RuleFileError, match=said):
            load(tmp_path / name)
    with pytest.raises(RuleFileError, match="too large for a rule file"):
        load("/dev/zero")


def test_a_file_name_with_control_characters_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path, "[rules]\n", "a\x1b[31m.toml")
    with pytest.raises(RuleFileError, match="file name without control characters") as refused:
        load(path)
    assert str(refused.value).isprintable()


def test_rules_are_recognised_as_a_games_with_options() -> None:
    draft = load("draft")
    assert draft.find_options(draft.rules) == {}
    assert draft.find_options(nt.rules("draft", target=21, opening="3-5")) == {
        "target": 21,
        "opening": "3-5",
    }
    assert draft.find_options(nt.rules("race")) is None
    assert load("climb").find_options(nt.rules(nt.rules("climb"), step=4)) is None


def test_names_are_known_in_any_case_and_a_file_is_suggested(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert load("Draft") == load("draft")
    monkeypatch.chdir(tmp_path)
    written(tmp_path, "[rules]\n")
    with pytest.raises(UnknownGameError, match=r"did you mean mygame\.toml\?"):
        load("mygame")


def test_a_byte_order_mark_is_no_mistake(tmp_path: Path) -> None:
    assert load(written(tmp_path, "\ufeff[rules]\ntarget = 9\n")).rules.target == 9


def test_a_rulebook_by_name_is_never_somebodys_file(tmp_path: Path) -> None:
    path = written(tmp_path, "[rules]\n")
    with pytest.raises(UnknownGameError):
        catalogue.load_named(str(path))


def test_hidden_is_no_rule_and_other_words_are_no_rules_either() -> None:
    with pytest.raises(RulesError, match="hidden: unknown"):
        nt.rules("summit", hidden=True)
    with pytest.raises(RulesError, match="colour: unknown"):
        nt.rules(Rules(), colour=3)


# One reader for what was asked for ----------------------------------------------------------------


def test_a_game_is_chosen_by_name_file_rulebook_rules_or_a_table_of_rules(tmp_path: Path) -> None:
    draft = catalogue.load_named("draft")
    path = written(tmp_path, '[rules]\nblocks = "1-5"\ntarget = 9\n')
    own = Rules(blocks=range(1, 6), target=9)
    for source in ("draft", "DRAFT", draft):
        assert catalogue.choose(source, {"target": 21})[:2] == (
            draft,
            draft.apply_options({"target": 21}),
        )
    for written_rules in (path, str(path), own, {"blocks": "1-5", "target": 9}):
        choice = catalogue.choose(written_rules, {"opening": "1-3"})
        assert choice.rules == own.replace({"opening": "1-3"})
        assert choice.book.name == ("mygame" if isinstance(written_rules, Path | str) else "rules")
    assert catalogue.choose(own, {"fit": "related"}).rules.fit == "related", (
        "rules take any rule as an option"
    )


@pytest.mark.parametrize(
    ("source", "options", "field"),
    [
        ("nim", {}, "game"),
        ("missing.toml", {}, "rulefile"),
        ("draft", {"fit": "any"}, "fit"),
        ("draft", {"target": 0}, "target"),
        ({"blocks": "0"}, {}, "blocks"),
    ],
)
def test_what_cannot_be_chosen_says_which_field_is_wrong(
    source: Any, options: dict[str, object], field: str
) -> None:
    with pytest.raises((catalogue.CatalogueError, RulesError)) as raised:
        catalogue.choose(source, options)
    wrong = raised.value
    assert isinstance(wrong, catalogue.CatalogueError | RulesError)
    assert wrong.field == field


def test_blocks_are_hidden_only_where_the_game_takes_that() -> None:
    assert catalogue.choose("summit", hidden=True).hidden
    with pytest.raises(OptionError, match="draft has no option hidden"):
        catalogue.choose("draft", hidden=True)


def test_without_leave_no_file_is_opened(tmp_path: Path) -> None:
    path = written(tmp_path, "[rules]\ntarget = 9\n")
    with pytest.raises(UnknownGameError):
        catalogue.choose(path, find=catalogue.load_named)


def test_a_seed_decides_who_begins() -> None:
    assert [catalogue.choose_first(first) for first in (1, 2)] == [0, 1]
    tosses = [catalogue.choose_first("random", seed) for seed in range(20)]
    assert tosses == [catalogue.choose_first("random", seed) for seed in range(20)]
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


def test_all_mistakes_of_a_file_are_reported_at_once_with_what_was_probably_meant(
    tmp_path: Path,
) -> None:
    with pytest.raises(RuleFileError) as refused:
        load(written(tmp_path, SEVERAL_MISTAKES))
    error = add_voice_mistakes(refused.value)
    assert [key for key, _ in error.mistakes] == [
        "titel", "rules.fit", "rules.stuck", "rules.block", "rules.target", "rules.opening",
        "options", "voice.strat", "voice.noun", "voice.you.turn",
    ]  # fmt: skip
    meant = ["title", "ascending", "loses", "blocks", None, None, None, "start", None, None]
    for (_, problem), word in zip(error.mistakes, meant, strict=True):
        assert word is None or problem.endswith(f"did you mean {word}?")
    first, *lines = str(error).splitlines()
    assert first.endswith(" has 10 mistakes:")
    assert len(lines) == 10


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
def test_what_follows_from_a_mistake_is_no_mistake_of_its_own(
    tmp_path: Path, rules: str, keys: list[str]
) -> None:
    with pytest.raises(RuleFileError) as refused:
        load(written(tmp_path, f"[rules]\n{rules}\n"))
    assert [key for key, _ in refused.value.mistakes] == [f"rules.{key}" for key in keys]


def test_of_very_many_mistakes_only_some_are_reported(tmp_path: Path) -> None:
    unknown = "".join(f"k{number} = 1\n" for number in range(3000))
    for text in (f"{unknown}[rules]\n", f"[rules]\n{unknown}"):
        with pytest.raises(RuleFileError) as refused:
            load(written(tmp_path, text))
        assert " has many mistakes, and these first:\n" in str(refused.value)
        assert len(str(refused.value).splitlines()) == 21
