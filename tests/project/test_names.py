"""Names and sizes: modules, classes, functions and limits, as far as a machine can check."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from support.command import ROOT
from support.plain_english import find_stiff

SOURCE = ROOT / "src" / "number_tower"

MAX_ENTRIES = 22
"""Files and folders in a folder of the package."""
MAX_PARTICIPLES = 0.02
"""The part of all functions whose whole name may be one participle."""
MAX_SINGLE_USE, MAX_PRIVATE_SINGLE_USE = 0.20, 0.09
"""The part of all functions that may be referenced once; others belong back to their caller."""

IRREGULAR = {
    "become", "begun", "bound", "broken", "brought", "built", "chosen", "come", "done", "drawn",
    "driven", "fallen", "felt", "forgotten", "found", "frozen", "given", "gone", "grown", "heard",
    "held", "hidden", "kept", "known", "laid", "led", "left", "lent", "lost", "made", "meant",
    "met", "paid", "said", "seen", "sent", "shown", "sold", "sought", "spent", "spoken", "stolen",
    "stood", "taken", "taught", "thought", "thrown", "told", "torn", "understood", "won", "worn",
    "wound", "written",
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
        ("told", True), ("_kept", True), ("asked", True), ("__drawing", True), ("seed", False),
        ("read", False), ("parse_line", False), ("load_kept", False), ("play", False),
        ("ping", False),
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
    assert len(participles) <= MAX_PARTICIPLES * len(names), participles


def test_modules_are_named_by_nouns() -> None:
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


def test_a_folder_has_few_entries() -> None:
    folders = {path.parent for path in modules()} - {Path("store/migrations/versions")}
    entries = {folder: [*(SOURCE / folder).glob("[!_.]*")] for folder in folders}
    assert [folder for folder, paths in entries.items() if len(paths) > MAX_ENTRIES] == []


def test_a_public_class_name_has_one_home() -> None:
    homes = Counter(
        node.name
        for _, node in nodes()
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    )
    assert [name for name, count in homes.items() if count > 1] == []


def test_limits_are_named_max() -> None:
    names = [node.id for _, node in nodes() if isinstance(node, ast.Name)]
    assert [name for name in names if re.match("_?(MOST|LONGEST|LARGEST|BIGGEST)_", name)] == []


def test_few_functions_are_referenced_once() -> None:
    """Count by name, so that two helpers of one name help nobody."""
    references = Counter(
        node.id if isinstance(node, ast.Name) else node.attr
        for _, node in nodes()
        if isinstance(node, ast.Name | ast.Attribute)
    )
    functions = [
        node for _, node in nodes() if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    single = [
        node.name
        for node in functions
        if references[node.name] == 1 and not node.decorator_list and not node.name.endswith("__")
    ]
    private = [name for name in single if name.startswith("_")]
    assert len(single) <= MAX_SINGLE_USE * len(functions)
    assert len(private) <= MAX_PRIVATE_SINGLE_USE * len(functions)


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
