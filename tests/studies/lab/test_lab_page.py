"""docs/lab.md: its tables say what the lab measures."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import dropwhile, takewhile

from number_tower.engine import catalogue
from number_tower.studies.lab import Study, study
from support.command import ROOT

PAGE = (ROOT / "docs" / "lab.md").read_text()
WINNERS = {"win": "first", "draw": "nobody", "loss": "second"}


def read_table(heading: str) -> Iterator[dict[str, str]]:
    """Yield the lines of the first table below a heading."""
    lines = iter(PAGE.partition(f"# {heading}\n")[2].splitlines())
    table = takewhile(
        lambda line: line.startswith("|"), dropwhile(lambda line: not line.startswith("|"), lines)
    )
    heads, _, *rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in table]
    for row in rows:
        yield dict(zip(heads, row, strict=True))


def assert_figures(line: dict[str, str], found: Study) -> None:
    assert line["with best play"] == f"{WINNERS[found.value]} wins in {found.plies}"
    assert (line["fairness"], line["depth"]) == (f"{found.fairness:.2f}", str(found.depth))
    assert line["length"] == f"{found.length:.1f}"


def test_the_figures_of_the_rulebooks_are_right() -> None:
    lines = list(read_table("The games as the rulebooks have them"))
    assert [line["game"] for line in lines] == list(catalogue.list_names())
    for line in lines:
        found = study(line["game"])
        assert_figures(line, found)
        assert line["winning openings"] == f"{found.winning_openings} of {found.openings}"


def test_every_preset_is_there_with_its_figures() -> None:
    lines = {line["preset"]: line for line in read_table("Presets")}
    presets = {(book.name, name) for book in catalogue.load_all() for name in book.presets}
    assert set(lines) == {f"`tower play {game} --preset {name}`" for game, name in presets}
    for game, name in presets:
        line, book = lines[f"`tower play {game} --preset {name}`"], catalogue.load(game)
        found = study(book.apply_options(book.presets[name].options))
        assert_figures(line, found)
        assert line["reach"] == ("" if found.reach is None else f"{found.reach:.2f}")
        assert dict(re.findall(r"(\w+) ([\d-]+)", line["settings"])) == {
            key: str(value) for key, value in book.presets[name].options.items()
        }
