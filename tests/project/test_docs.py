"""The documentation is true: its examples run, its numbers are counted, nothing is undocumented."""

from __future__ import annotations

import doctest
import re
import shlex
import sys
import tomllib
from itertools import chain
from pathlib import Path
from typing import get_args

import pytest

from number_tower import Rules, __version__, solve
from number_tower.engine import catalogue, record
from number_tower.engine.catalogue import load
from number_tower.engine.rules import Fit, Stuck, Supply, Towers
from number_tower.terminal.cli.main import create_parser
from number_tower.words import voice
from number_tower.words.voice import Voice
from reference import PAGE, insert_presets, page
from support.command import ROOT, TOWER, run_process

PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
README = ROOT / "README.md"
HOW_TO = (ROOT / "docs/how-to/add-a-game.md").read_text()
GENERATED = ("docs/cli.md", "docs/evaluation/report.md", "docs/reference/")
MAX_WORDS = 40_000


def blocks(path: Path, language: str) -> list[str]:
    return [text for kind, text in BLOCK.findall(path.read_text()) if kind == language]


def with_examples(language: str) -> list[Path]:
    return [path for path in PAGES if blocks(path, language)]


def relative(path: Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("path", with_examples("pycon"), ids=relative)
def test_python_examples_run(path: Path) -> None:
    if any("import jax" in example for example in blocks(path, "pycon")):
        # JAX starts threads; other tests of this process must not fork with them
        assert run_process(sys.executable, "-m", "doctest", str(path))[:2] == (0, "")
        return
    failures, tried = doctest.testfile(str(path), module_relative=False)
    assert tried
    assert not failures


@pytest.mark.parametrize("path", with_examples("console"), ids=relative)
def test_command_examples_print_what_they_show(path: Path, tmp_path: Path) -> None:
    database = str(tmp_path / "games.db")
    for example in blocks(path, "console"):
        command, _, shown = example.removeprefix("$ ").partition("\n")
        assert run_process("bash", "-c", command, NUMBER_TOWER_DB=database)[:2] == (0, shown)


def test_readme_opens_with_a_picture_and_one_command() -> None:
    _, picture, about, command, *_ = README.read_text().split("\n\n")
    assert picture.startswith("![")
    assert about.count(".") == 1
    assert command == "```sh\nmake play\n```"
    assert len(README.read_text().split()) < 1000, "two minutes to read"


@pytest.mark.parametrize("reader", ["players", "teachers", "rule makers", "researchers"])
def test_readme_has_a_command_and_a_picture_for_each_reader(reader: str) -> None:
    part = README.read_text().partition(f"## For {reader}\n")[2].partition("\n## ")[0]
    assert len(re.findall("^```sh$", part, re.MULTILINE)) == 1
    assert len(re.findall(r"^!\[.+\]", part, re.MULTILINE)) == 1


def test_every_command_of_the_readme_works_when_it_is_copied(tmp_path: Path) -> None:
    database = str(tmp_path / "games.db")
    inline = re.findall(r"`((?:tower|make) [^`]+)`", README.read_text())
    calls = [line for example in blocks(README, "sh") for line in example.splitlines()] + inline
    assert len(calls) > 6
    for call in calls:
        if call.startswith("make"):
            words, folder = [*shlex.split(call, comments=True), "--dry-run"], ROOT
            options = [word.removeprefix("SERVE=") for word in words if word.startswith("SERVE=")]
            create_parser().parse_args(["serve", *shlex.split(" ".join(options))])
        else:
            words, folder = ["bash", "-c", call], tmp_path
        typed = "hint\nwhy\n9\nquit\n"
        done = run_process(*words, typed=typed, cwd=folder, NUMBER_TOWER_DB=database)
        assert done.returncode == 0, (call, done.stderr)


@pytest.mark.parametrize("path", PAGES, ids=relative)
def test_links_lead_somewhere(path: Path) -> None:
    text = re.sub(r"^```.*?^```", "", path.read_text(), flags=re.DOTALL | re.MULTILINE)
    for target in re.findall(r"\]\(([^)#:]+)\)", text):
        assert (path.parent / target).exists(), target


def test_pages_for_users_have_a_limited_number_of_words() -> None:
    words = {relative(path): len(path.read_text().split()) for path in PAGES}
    counted = [
        count
        for page, count in words.items()
        if page.startswith("docs/") and not page.startswith(GENERATED)
    ]
    assert sum(counted) <= MAX_WORDS


def test_only_one_page_says_how_to_install_the_published_package() -> None:
    published = re.compile(r"install '?number-tower|number-tower\[")
    pages = {relative(path) for path in PAGES if published.search(path.read_text())}
    assert pages - {"CHANGELOG.md"} == {"docs/how-to/install.md"}


def test_command_reference_is_what_the_command_says() -> None:
    assert PAGE.read_text() == page(), "run `make docs`"


@pytest.mark.parametrize("name", catalogue.list_names())
def test_every_game_has_a_page_with_its_numbers(name: str) -> None:
    text = (ROOT / f"docs/games/{name}.md").read_text()
    counts = tomllib.loads((ROOT / f"tests/data/counts/{name}.toml").read_text())
    won = f"{counts['first']:,}, {counts['second']:,}, {counts['drawn']:,}"
    for row in (
        f"| the start, for the player to move | {counts['start']} |",
        f"| winning openings | {', '.join(map(str, counts['winning_openings'])) or 'none'} |",
        f"| games in all | {counts['games']:,} |",
        f"| won by the first player, by the second, drawn | {won} |",
        f"| shortest and longest game | {counts['shortest']} and {counts['longest']} plies |",
        (
            "| ways to play 1, 2, 3 and 4 plies | "
            f"{', '.join(f'{count:,}' for count in counts['lines'])} |"
        ),
    ):
        assert row in text
    for option in load(name).options:
        assert f"`--{option}`" in text
    for heading in ("## Rules", "## How to win", "## Rulings", "## Presets", "## Numbers"):
        assert heading in text
    assert f"(docs/games/{name}.md)" in (ROOT / "README.md").read_text()


@pytest.mark.parametrize(
    ("line", "best"),
    [
        ("race:", {6, 7, 8, 9}),
        ("race:5", {6, 7, 8, 9}),
        ("draft:8", {7}),  # which loses nevertheless
        ("draft:8,7", {5, 6}),
        ("draft:8,7,5,6", {2}),
        ("draft:8,7,5,2", {1}),
        *((f"summit:{block}", {10 - block}) for block in range(2, 6)),
        ("summit:5,4", {7}),
        *((f"climb(opening=1-5):{block}", {6}) for block in range(1, 6)),
        ("climb:8", {12}),
        ("climb:14", {18}),
        ("factor:", {5, 7}),
        ("factor:5,1", {7}),
        *(
            (f"factor:{block}", {partner})
            for block, partner in {2: 6, 6: 2, 3: 9, 9: 3, 4: 8, 8: 4}.items()
        ),
    ],
)
def test_how_to_win_is_true(line: str, best: set[int]) -> None:
    solution = solve(record.from_line(line).game)
    assert set(solution.best) == best
    assert solution.value == ("loss" if line == "draft:8" else "win")


@pytest.mark.parametrize("name", catalogue.list_names())
def test_every_preset_is_on_the_page_of_its_game(name: str) -> None:
    text = (ROOT / f"docs/games/{name}.md").read_text()
    assert insert_presets(text, name) == text, "run `make docs`"
    for preset in load(name).presets.values():
        assert f"| `--preset {preset.name}` | {preset.format_options()} | {preset.about} |" in text


def test_every_moment_and_field_of_a_voice_is_documented() -> None:
    plain = tomllib.loads((ROOT / "src/number_tower/words/plain.toml").read_text())
    moments = {*plain, *voice._FALLBACKS}  # noqa: SLF001 - the closed list of moments
    fields = {*voice._FIELDS, *voice._TARGET_FIELDS}.union(  # noqa: SLF001
        *voice._MOMENT_FIELDS.values()  # noqa: SLF001
    )
    assert {
        moment
        for moment in moments - {*voice._VIEWS}  # noqa: SLF001
        if f"`{moment}`" not in HOW_TO
    } == set()
    assert {
        view
        for view in voice._VIEWS  # noqa: SLF001
        if f"`[voice.{view}]`" not in HOW_TO
    } == set()
    assert {field for field in fields if f"`{{{field}}}`" not in HOW_TO} == set()


def test_every_rule_is_documented_with_its_default() -> None:
    for key in Rules.__dataclass_fields__:
        assert f"| `{key}` |" in HOW_TO
    for word in chain.from_iterable(map(get_args, (Supply, Towers, Fit, Stuck))):
        assert f'`"{word}"`' in HOW_TO


def test_example_game_of_the_how_to_can_be_played(tmp_path: Path) -> None:
    small, head, presets, words, readers = blocks(ROOT / "docs/how-to/add-a-game.md", "toml")
    for text in (small, head, small + presets, head + words, head + presets + readers + words):
        path = tmp_path / "stairs.toml"
        path.write_text(text)
        assert Voice(load(path)).noun == ("step" if text.endswith(words) else "block")


def test_changelog_has_a_place_for_what_comes_next() -> None:
    text = (ROOT / "CHANGELOG.md").read_text()
    assert "## [Unreleased]" in text
    assert re.fullmatch(r"\d+\.\d+\.\d+", __version__)


def test_every_make_target_says_what_it_does() -> None:
    shown = run_process("make", "help").stdout
    for target in ("play", "test", "bench", "golden", "docs"):
        assert re.search(rf"^{target} +\w", shown, re.MULTILINE)


def test_no_games_name_appears_in_code() -> None:
    quoted = re.compile(rf"""["']({"|".join(catalogue.list_names())})["']""")
    example = re.compile(r"^ +(>>>|\.\.\.) .*$", re.MULTILINE)
    for path in (ROOT / "src").rglob("*.py"):
        assert not quoted.search(example.sub("", path.read_text())), path


def test_tests_run_the_installed_command() -> None:
    assert Path(TOWER).exists()
    assert Path(TOWER).parent == Path(sys.executable).parent
