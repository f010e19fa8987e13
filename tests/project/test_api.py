"""The public Python API: documented by examples that run, on the reference pages, and typed."""

from __future__ import annotations

import pydoc
import re
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
from support.command import ROOT, run_process

THREADED = {"number_tower.envs.jax", "number_tower.studies.batch.cluster"}
"""Modules that start threads, beside which other tests of this process must not fork."""
IMPORT = re.compile(
    r"^(?:>>> )?from (number_tower[\w.]*) import ([\w, ]+)|^(?:>>> )?import (number_tower[\w.]*)",
    re.MULTILINE,
)
GUIDES = [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("docs/how-to/*.md")]


@pytest.mark.parametrize("entry", list_entries())
def test_public_names_have_docstrings_and_examples_that_run(entry: str) -> None:
    if entry not in THREADED:
        assert find_problems(entry) == []
        return
    assert run_process(sys.executable, public_names.__file__, entry) == (0, "", "")


def test_names_of_the_package_are_on_one_page() -> None:
    entries = list_entries()
    assert len(entries) == len(set(entries))
    shown = [public.value for entry in set(entries) - THREADED for public in resolve(entry)]
    assert [name for name in number_tower.__all__ if getattr(number_tower, name) not in shown] == []


def test_guides_import_only_public_names() -> None:
    entries = set(list_entries())
    names = [public for entry in entries - THREADED for public in resolve(entry)]
    public = entries | {public.path for public in names} | {public.module for public in names}
    imports = [match for path in GUIDES for match in IMPORT.findall(path.read_text())]
    assert len(imports) > 20
    for module, imported, whole in imports:
        paths = [whole] if whole else [f"{module}.{name.strip()}" for name in imported.split(",")]
        assert module in THREADED or public.issuperset(paths), paths


@pytest.mark.parametrize(
    ("docstring", "fails"),
    [
        ("None.", False),
        (">>> nt.Game().to_move\n0", False),
        (">>> nt.Game().to_move\n1", True),
        (">>> Game()", True),
    ],
)
def test_wrong_example_fails(docstring: str, *, fails: bool) -> None:
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
def test_member_is_shown_if_the_code_of_an_example_uses_it(docstring: str, *, uses: bool) -> None:
    assert uses_name(docstring, "play") == uses


class Example:
    """A class that says that it belongs to the package.

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


def test_member_without_docstring_or_example_is_reported() -> None:
    public = PublicName("number_tower.example", "Example", Example, {"Example": Example})
    path = "number_tower.example.Example"
    problems = [f"{path}.missing has no example", f"{path}.bare has no docstring"]
    assert list(check_name(public)) == problems


def test_help_explains_before_it_lists() -> None:
    text = pydoc.plain(pydoc.render_doc(number_tower))
    page, _, reference = text.partition("PACKAGE CONTENTS")
    assert page.count(">>>") > 20
    assert len(page.split("\n")) < 150, "two minutes to read"
    for name in number_tower.__all__:
        assert re.search(rf"\b{name}\b", page), name
        assert re.search(rf"^    (class )?{name}\(", reference, re.MULTILINE), name
    assert "ForwardRef" not in reference, "a signature that nobody can read"
