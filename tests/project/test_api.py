"""The public Python API: documented by examples that run, on the reference pages, and typed."""

from __future__ import annotations

import pydoc
import re
import subprocess
import sys

import pytest

import number_tower
from project import public_names
from project.public_names import (
    PublicName,
    check_name,
    find_problems,
    list_entries,
    resolve,
    run_examples,
    uses_name,
)
from support.command import ROOT

ALONE = {"number_tower.envs.jax", "number_tower.studies.batch.cluster"}
"""They start threads, beside which other tests of this process must not fork."""


@pytest.mark.parametrize("entry", list_entries())
def test_everything_public_is_documented_by_examples_that_run(entry: str) -> None:
    if entry in ALONE:
        command = [sys.executable, public_names.__file__, entry]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        assert done.stdout == ""
        return
    assert find_problems(entry) == []


def test_every_name_of_the_package_is_on_a_page() -> None:
    shown = [each.value for entry in set(list_entries()) - ALONE for each in resolve(entry)]
    assert [name for name in number_tower.__all__ if getattr(number_tower, name) not in shown] == []


def test_no_name_is_on_two_pages() -> None:
    assert len(list_entries()) == len(set(list_entries()))


IMPORT = re.compile(
    r"^(?:>>> )?from (number_tower[\w.]*) import ([\w, ]+)|^(?:>>> )?import (number_tower[\w.]*)",
    re.MULTILINE,
)
GUIDES = [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("docs/how-to/*.md")]


def test_the_guides_use_public_names_only() -> None:
    entries = set(list_entries())
    public = {
        path
        for entry in entries - ALONE
        for each in resolve(entry)
        for path in (each.path, each.module)
    }
    used = [found for path in GUIDES for found in IMPORT.findall(path.read_text())]
    assert len(used) > 20
    for module, names, whole in used:
        for path in [whole] if whole else [f"{module}.{name.strip()}" for name in names.split(",")]:
            assert path in public or path in entries or module in ALONE, (
                f"{path} is in no page of the reference"
            )


@pytest.mark.parametrize(
    ("docstring", "fails"),
    [
        ("None.", False),
        (">>> nt.Game().to_move\n0", False),
        (">>> nt.Game().to_move\n1", True),
        (">>> Game()", True),
    ],
)
def test_an_example_that_is_wrong_is_found(docstring: str, *, fails: bool) -> None:
    assert bool(run_examples("here", docstring, {"nt": number_tower})) == fails


@pytest.mark.parametrize(
    ("docstring", "uses"),
    [
        ("`play` places a block, as in game.play(9).", False),
        (">>> game.play(9).moves\n(9,)", True),
        (">>> list(map(play, games))\n[]", False),
        (">>> game.plays\n9", False),
        (">>> game.moves  # after game.play(9)\n(9,)", False),
        (">>> game.moves\ngame.play(9)", False),
        (">>> for game in games:\n...     game.play(9)", True),
    ],
)
def test_a_member_is_shown_if_the_code_of_an_example_uses_it(docstring: str, *, uses: bool) -> None:
    assert uses_name(docstring, "play") == uses


class Example:
    """A class of the package, as far as its checks know.

    Examples:
        >>> Example().shown
        1
    """

    __module__ = "number_tower.example"
    shown = property(lambda _: 1, doc="Shown in the example of the class.")
    missing = property(lambda _: 2, doc="Shown nowhere.")
    bare = property(lambda _: 3)

    def show(self) -> int:
        """Show itself.

        Examples:
            >>> Example().show()
            4
        """
        return 4

    present = show
    """A second name of a method."""


def test_a_member_without_an_example_is_found() -> None:
    problems = check_name(
        PublicName("number_tower.example", "Example", Example, {"Example": Example})
    )
    path = "number_tower.example.Example"
    assert list(problems) == [f"{path}.missing has no example", f"{path}.bare has no docstring"]


# help() -------------------------------------------------------------------------------------------


def test_help_teaches_before_it_lists() -> None:
    text = pydoc.plain(pydoc.render_doc(number_tower))
    page, _, reference = text.partition("PACKAGE CONTENTS")
    assert page.count(">>>") > 20
    assert len(page.split("\n")) < 150, "two minutes to read"
    for name in number_tower.__all__:
        assert re.search(rf"\b{name}\b", page), f"{name} is not on the page"
        assert re.search(rf"^    (class )?{name}\(", reference, re.MULTILINE), (
            f"{name} is not listed"
        )
    assert "ForwardRef" not in reference, "a signature that nobody can read"
