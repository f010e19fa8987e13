"""docs/lab.md: its tables have the figures that the lab measures."""

from __future__ import annotations

import re

import pytest

from number_tower.engine import catalogue
from number_tower.studies.lab import Study, study
from support.command import ROOT

PAGE = (ROOT / "docs" / "lab.md").read_text()
WINNERS = {"win": "first", "draw": "nobody", "loss": "second"}


def read_table(heading: str) -> list[dict[str, str]]:
    """Return the lines of the first table below a heading."""
    table = re.search(r"(?:^\|.*\n)+", PAGE.partition(f"# {heading}\n")[2], re.MULTILINE)
    assert table is not None
    heads, _, *rows = [
        [cell.strip() for cell in line.strip("|").split("|")] for line in table[0].splitlines()
    ]
    return [dict(zip(heads, row, strict=True)) for row in rows]


def assert_figures(line: dict[str, str], measures: Study) -> None:
    assert line["with best play"] == f"{WINNERS[measures.value]} wins in {measures.plies}"
    assert (line["fairness"], line["depth"]) == (f"{measures.fairness:.2f}", str(measures.depth))
    assert line["length"] == f"{measures.length:.1f}"


def test_games_of_the_rulebooks_have_their_figures() -> None:
    lines = read_table("The games as the rulebooks have them")
    assert [line["game"] for line in lines] == list(catalogue.list_names())
    for line in lines:
        measures = study(line["game"])
        assert_figures(line, measures)
        assert line["winning openings"] == f"{measures.winning_openings} of {measures.openings}"


@pytest.mark.slow
def test_every_preset_has_its_figures() -> None:
    lines = {line["preset"]: line for line in read_table("Presets")}
    for book in catalogue.load_all():
        for name, preset in book.presets.items():
            line = lines.pop(f"`tower play {book.name} --preset {name}`")
            measures = study(book.apply_options(preset.options))
            assert_figures(line, measures)
            assert line["reach"] == ("" if measures.reach is None else f"{measures.reach:.2f}")
            assert dict(re.findall(r"(\w+) ([\d-]+)", line["settings"])) == {
                key: str(value) for key, value in preset.options.items()
            }
    assert not lines
