"""The naming rules of docs/design.md, as far as a machine can check them."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from support.command import ROOT
from support.plain_english import find_stiff

SOURCE = ROOT / "src" / "number_tower"

MOST_MODULES = 270
MOST_LOCAL_IMPORTS = 45
MOST_PARTICIPLES = 0.02
"""The part of all functions whose whole name may be one participle."""

IRREGULAR = {
    "become", "begun", "bound", "broken", "brought", "built", "chosen", "come", "done", "drawn", "driven", "fallen",
    "felt", "forgotten", "found", "frozen", "given", "gone", "grown", "heard", "held", "hidden", "kept", "known",
    "laid", "led", "left", "lent", "lost", "made", "meant", "met", "paid", "said", "seen", "sent", "shown", "sold",
    "sought", "spent", "spoken", "stolen", "stood", "taken", "taught", "thought", "thrown", "told", "torn",
    "understood", "won", "worn", "wound", "written",
}  # fmt: skip
"""Participles without -ed or -ing that are no infinitives as well."""

NO_PARTICIPLES = {
    "bring",
    "embed",
    "exceed",
    "feed",
    "need",
    "ping",
    "ring",
    "seed",
    "speed",
    "string",
}

NOUNS = {"drawing", "encoding", "matching", "pairing", "ranking"}
"""Nouns of the field in -ing that modules are named by."""

EXCEPTIONS = {"BaseException", "Exception", "KeyboardInterrupt", "SystemExit", "GeneratorExit"}


def is_participle(name: str) -> bool:
    word = name.strip("_")
    return (
        "_" not in word
        and word not in NO_PARTICIPLES
        and (word in IRREGULAR or word.endswith(("ed", "ing")))
    )


@cache
def modules() -> dict[Path, ast.Module]:
    return {
        path.relative_to(SOURCE): ast.parse(path.read_bytes())
        for path in sorted(SOURCE.rglob("*.py"))
    }


@cache
def nodes() -> list[tuple[Path, ast.AST]]:
    return [(path, node) for path, module in modules().items() for node in ast.walk(module)]


def is_property(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    names = {getattr(each, "id", getattr(each, "attr", "")) for each in function.decorator_list}
    return bool(names & {"property", "cached_property", "setter"})


def comments(path: Path) -> Iterator[str]:
    for token in tokenize.generate_tokens(
        io.StringIO((SOURCE / path).read_text(encoding="utf-8")).readline
    ):
        if token.type == tokenize.COMMENT:
            yield token.string


@pytest.mark.parametrize(
    ("name", "participle"),
    [
        ("told", True), ("_kept", True), ("asked", True), ("__drawing", True), ("seed", False), ("read", False),
        ("parse_line", False), ("load_kept", False), ("play", False), ("ping", False),
    ],
)  # fmt: skip
def test_participles_are_recognized(name: str, *, participle: bool) -> None:
    assert is_participle(name) is participle


@pytest.mark.slow
def test_functions_are_named_by_verbs() -> None:
    names = [
        f"{path}: {node.name}"
        for path, node in nodes()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and not is_property(node)
    ]
    participles = [name for name in names if is_participle(name.rpartition(" ")[2])]
    assert len(participles) <= MOST_PARTICIPLES * len(names), participles


def test_modules_are_few_and_named_by_nouns() -> None:
    assert len(modules()) <= MOST_MODULES
    assert [
        str(path) for path in modules() if path.stem not in NOUNS and is_participle(path.stem)
    ] == []


def test_exceptions_end_in_error() -> None:
    classes = {node.name: (path, node) for path, node in nodes() if isinstance(node, ast.ClassDef)}

    def is_exception(name: str) -> bool:
        if name not in classes:
            return name in EXCEPTIONS or name.endswith("Error")
        return any(is_exception(base) for base in bases(classes[name][1]))

    wrong = [f"{path}: {name}" for name, (path, _) in classes.items() if is_exception(name)]
    assert [name for name in wrong if not name.endswith("Error")] == []


def bases(node: ast.ClassDef) -> list[str]:
    return [getattr(base, "id", getattr(base, "attr", "")) for base in node.bases]


def test_exceptions_to_the_linter_are_few() -> None:
    said = [comment for path in modules() for comment in comments(path) if "noqa" in comment]
    assert [comment for comment in said if "N818" in comment] == []
    assert sum("PLC0415" in comment for comment in said) <= MOST_LOCAL_IMPORTS


def test_docstrings_and_comments_name_the_thing() -> None:
    texts = [
        (path, node.value.value)
        for path, node in nodes()
        if isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    ]
    texts += [(path, comment) for path in modules() for comment in comments(path)]
    vague = re.compile(
        r"\b(whoever|somebody|anybody|so many|one[’']s own|the other[’']s)\b", re.IGNORECASE
    )
    assert [f"{path}: {text}" for path, text in texts if vague.search(text)] == []


def test_texts_for_people_are_plain_english() -> None:
    docs = [ROOT / name for name in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md")]
    docs += [
        path
        for folder in ("docs", "docs/how-to", "docs/games", "docs/evaluation")
        for path in (ROOT / folder).glob("*.md")
    ]
    docs += [path for ending in ("toml", "html", "js") for path in SOURCE.rglob(f"*.{ending}")]
    texts = [(path, path.read_text(encoding="utf-8")) for path in docs]
    texts += [
        (path, node.value)
        for path, node in nodes()
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and node not in docstrings(path)
    ]
    assert [f"{path}: {found}" for path, text in texts for found in find_stiff(text)] == []


@cache
def docstrings(path: Path) -> frozenset[ast.AST]:
    """Return the strings of a module that stand alone, which only programmers read."""
    return frozenset(node.value for node in ast.walk(modules()[path]) if isinstance(node, ast.Expr))
