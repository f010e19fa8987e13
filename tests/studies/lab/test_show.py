"""`tower lab FILE` prints the best settings, its mix and guards, and what is wrong with a call."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from number_tower.support.installation import format_install_command
from number_tower.terminal.cli.errors import CommandError
from number_tower.terminal.cli.main import run_command
from support.clocks import SLOW
from support.lab_rows import make_grid, make_row, write_rows

TABLE = """\
26 settings of draft: 24 measured exactly, 1 too large to measure and 1 not
measured because of an error. 9 left out by the guards, some for several
reasons: 3 that are too short (length below 4), 3 that are too one-sided
(fairness below 0.25), 2 whose choices hardly ever matter (decisions below 0.05)
and 2 whose target is hardly ever reached (reach below 0.05).

      blocks  target         fit  score  winner  fairness  depth  reach  length
1  *     1-9      15         any   0.84    draw      0.74      7    84%     5.6
2        1-7      12  descending   0.72     2nd      0.41      7    45%     8.3
3        1-9      18         any   0.71    draw      0.62      7    25%     5.4
4        1-9      21  descending   0.70     2nd      0.73      4    53%     4.5
5        1-9      15  descending   0.64     1st      0.80      4    15%     4.1
6  *     1-7      15  descending   0.63     2nd      0.97      2    61%     5.1

Score: fairness 3, depth 3, drama 1, decisions 1 and reach 1. * is on the front:
no other setting is at least as good in fairness and depth and better in one.

The front: blocks 1-9, target 15, fit any; blocks 1-7, target 15, fit
descending; blocks 1-9, target 12, fit descending; blocks 1-8, target 18, fit
any.

To play the best:
  2  tower play draft --target 12 --blocks 1-7
  The others need a rule file, which --report FOLDER writes.
"""


def show(*words: str) -> None:
    run_command(["lab", *words])


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A sweep with settings of every status; its figures are made up."""
    monkeypatch.chdir(tmp_path)
    rows = make_grid(
        blocks=["1-7", "1-8", "1-9"], target=list(range(12, 24, 3)), fit=["descending", "any"]
    )
    rows += [
        make_row(index=24, status="too large", blocks="1-20", target=33, fit="any"),
        make_row(index=25, status="crashed", blocks="1-20", target=36, fit="any"),
    ]
    write_rows(tmp_path / "lab.jsonl", rows)
    return "lab.jsonl"


def test_the_best_settings_are_printed(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    show(file, "--top", "6")
    assert capsys.readouterr().out == TABLE


def test_other_weights_make_another_order(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    show(file, "--json", "--guards", "none", "--weights", "depth=1")
    rows = json.loads(capsys.readouterr().out)["rows"]
    depths = [row["depth"] for row in rows]
    assert depths == sorted(depths, reverse=True)
    show(file, "--json", "--guards", "none", "--weights", "fairness=1")
    rows = json.loads(capsys.readouterr().out)["rows"]
    fairness = [row["fairness"] for row in rows]
    assert fairness == sorted(fairness, reverse=True)
    assert fairness == pytest.approx([row["score"] for row in rows])


def test_the_ranking_as_json_has_the_whole_rows(
    file: str, capsys: pytest.CaptureFixture[str]
) -> None:
    show(file, "--json", "--top", "2", "--guards", "none")
    document = json.loads(capsys.readouterr().out)
    assert document["game"] == "draft"
    assert document["settings"] == 26
    assert document["statuses"] == {"measured": 24, "too large": 1, "crashed": 1}
    assert document["guards"] == {}
    assert document["left_out"] == 0
    assert document["front"] == ["fairness", "depth"]
    assert len(document["rows"]) == 2
    assert {"score", "on_front", "rules", "results", "endings"} <= set(document["rows"][0])


def test_where_no_setting_passes_the_way_out_is_said(
    file: str, capsys: pytest.CaptureFixture[str]
) -> None:
    show(file, "--guards", "length=100")
    assert capsys.readouterr().out.endswith(
        "\nNo setting passes the guards; --guards none lists them all.\n"
    )


def test_the_report_is_written_and_named(
    file: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    show(
        file,
        "--report",
        "out",
        "--x",
        "fit",
        "--weights",
        "fairness=1",
        "--guards",
        "none",
        "--front",
        "drama,reach",
    )
    printed = capsys.readouterr().out
    assert printed.endswith("\nThe report is in out: open index.html in a browser.\n")
    page = (tmp_path / "out" / "index.html").read_text()
    assert "In each map, fit goes across and target down, and blocks from map to map." in page
    assert (
        "tower lab lab.jsonl --report out --x fit --weights fairness=1 --guards none "
        "--front drama,reach"
    ) in page
    for line in printed.split("To play the best:\n")[1].splitlines()[:3]:
        command = line.split(maxsplit=1)[1]
        assert f">{command}\n</code></pre>" in page
        if command.endswith(".toml"):
            assert (tmp_path / command.split()[-1]).is_file()


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (("none.jsonl",), "there is no file none.jsonl; tower lab GAME --out FILE writes one"),
        (("lab.jsonl", "--weights", "fun=1"), "--weights: expected one of fairness, depth, drama"),
        (
            ("lab.jsonl", "--guards", "fairness=-1"),
            "--guards: expected a number from 0 after fairness=; got '-1'",
        ),
        (("lab.jsonl", "--front", "depth"), "--front: expected two measures or more"),
        (("lab.jsonl", "--top", "0"), "--top: expected a whole number from 1"),
        (
            ("lab.jsonl", "--report", "lab.jsonl"),
            "--report: expected a folder; it is created if needed",
        ),
        (("lab.jsonl", "--x", "fit"), "--x is for the maps of a report; add --report FOLDER"),
        (("lab.jsonl", "--report", "out", "--y", "step"), "lab.jsonl does not vary 'step'"),
    ],
)
def test_a_wrong_call_is_answered_with_what_would_be_right(
    file: str, words: tuple[str, ...], problem: str
) -> None:
    assert file == "lab.jsonl"
    with pytest.raises(CommandError) as caught:
        show(*words)
    assert str(caught.value).startswith(problem)
    assert not Path("out").exists()


WITHOUT_PACKAGES = """
import sys
sys.modules.update(dict.fromkeys(("matplotlib", "jinja2", "numpy", "numba")))
from number_tower.terminal.cli.errors import CommandError
from number_tower.terminal.cli.main import run_command
try:
    run_command(["lab", *sys.argv[1:]])
except CommandError as error:
    print(error)
"""


def show_without_packages(*words: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_PACKAGES, *words],
        capture_output=True,
        text=True,
        timeout=SLOW,
        check=True,
    )
    return done.stdout


def test_the_table_needs_no_extra_and_a_report_names_the_one_it_needs(file: str) -> None:
    assert show_without_packages(file, "--top", "6") == TABLE
    said = show_without_packages(file, "--report", "out")
    assert (
        said == f"a report with maps needs a few more packages: {format_install_command('lab')}\n"
    )
    assert not Path("out").exists()


def test_a_page_that_is_no_report_is_not_replaced(file: str) -> None:
    Path("out").mkdir()
    Path("out/index.html").write_text("mine")
    with pytest.raises(
        CommandError, match=r"out/index\.html is not a report, so it is not replaced"
    ):
        show(file, "--report", "out")
    assert Path("out/index.html").read_text() == "mine"
    Path("out/index.html").unlink()
    show(file, "--report", "out")
    show(file, "--report", "out")
