"""Names and sizes: modules, classes, functions, limits and tests, as far as a machine can check."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections import Counter
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from support.command import ROOT
from support.plain_english import find_stiff

SOURCE = ROOT / "src" / "number_tower"
TESTS = ROOT / "tests"

MAX_ENTRIES = 22
"""Files and folders in a folder of the package."""
MAX_PARTICIPLES = 0.02
"""The part of all functions whose whole name may be one participle."""
MAX_SINGLE_USE, MAX_PRIVATE_SINGLE_USE = 0.20, 0.09
"""The part of all functions that may be referenced once; others belong back to their caller."""

# What the tests may have of each; lower a number when it falls.
MAX_TEXT_ASSERTIONS = 368
MAX_TEST_PARTICIPLES = 29
MAX_TEST_ALIASES = 2
MAX_VAGUE_VARIABLES = 0
MAX_STIFF_TESTS = 0

IRREGULAR = {
    "become", "begun", "bound", "broken", "brought", "built", "chosen", "come", "done", "drawn",
    "driven", "fallen", "felt", "forgotten", "found", "frozen", "given", "gone", "grown", "heard",
    "held", "hidden", "kept", "known", "laid", "led", "left", "lent", "lost", "made", "meant",
    "met", "paid", "said", "sat", "seen", "sent", "shown", "sold", "sought", "spent", "spoken",
    "stolen", "stood", "taken", "taught", "thought", "thrown", "told", "torn", "understood", "won",
    "worn", "wound", "written",
}  # fmt: skip
"""Participles without -ed or -ing that are no infinitives as well."""
NO_PARTICIPLES = {
    "bring", "embed", "exceed", "feed", "need", "ping", "ring", "seed", "speed", "string",
}  # fmt: skip
NOUNS = {"drawing", "encoding", "matching", "pairing", "ranking"}
"""Nouns of the field in -ing that modules are named by."""
EXCEPTIONS = {"BaseException", "Exception", "KeyboardInterrupt", "SystemExit", "GeneratorExit"}
VAGUE_VARIABLES = {"each", "found", "given", "known", "place", "some"}
VAGUE_WORDS = re.compile(
    r"\b(whoever|somebody|anybody|so many|one[’']s own|the other[’']s)\b", re.IGNORECASE
)
COMMON_ALIASES = {"ET", "jnp", "mpl", "np", "nt", "st", "ta"}
"""Those that the documentation of the module itself uses."""
WORDS = re.compile(r"[A-Za-z]{2,}[,.:;!?]? +[A-Za-z]{2,}")

Function = ast.FunctionDef | ast.AsyncFunctionDef


@cache
def parse_modules(folder: Path) -> dict[Path, ast.Module]:
    """Return the modules of a folder by their path in it; tests/data has projects of others."""
    paths = [path.relative_to(folder) for path in sorted(folder.rglob("*.py"))]
    return {
        path: ast.parse((folder / path).read_bytes()) for path in paths if path.parts[0] != "data"
    }


@cache
def list_nodes(folder: Path = SOURCE) -> list[tuple[Path, ast.AST]]:
    return [
        (path, node) for path, module in parse_modules(folder).items() for node in ast.walk(module)
    ]


@cache
def list_docstrings(path: Path) -> frozenset[ast.expr]:
    """Return the strings of a module that stand alone, which only programmers read."""
    statements = ast.walk(parse_modules(SOURCE)[path])
    return frozenset(node.value for node in statements if isinstance(node, ast.Expr))


@cache
def list_comments() -> list[tuple[Path, str]]:
    return [
        (path, token.string)
        for path in parse_modules(SOURCE)
        for token in tokenize.generate_tokens(
            io.StringIO((SOURCE / path).read_text(encoding="utf-8")).readline
        )
        if token.type == tokenize.COMMENT
    ]


def is_participle(name: str) -> bool:
    word = name.strip("_")
    return (
        "_" not in word
        and word not in NO_PARTICIPLES
        and (word in IRREGULAR or word.endswith(("ed", "ing")))
    )


def is_property(function: Function) -> bool:
    names = {getattr(node, "id", getattr(node, "attr", "")) for node in function.decorator_list}
    return bool(names & {"property", "cached_property", "setter"})


# The product --------------------------------------------------------------------------------------


def test_participles_are_recognized() -> None:
    participles = ["told", "_kept", "asked", "__drawing"]
    verbs = ["seed", "read", "parse_line", "load_kept", "play", "ping"]
    assert [name for name in participles + verbs if is_participle(name)] == participles


@pytest.mark.slow
def test_functions_are_named_by_verbs() -> None:
    functions = [
        (path, node.name)
        for path, node in list_nodes()
        if isinstance(node, Function) and not is_property(node)
    ]
    participles = [f"{path}: {name}" for path, name in functions if is_participle(name)]
    assert len(participles) <= MAX_PARTICIPLES * len(functions), participles


def test_modules_are_named_by_nouns() -> None:
    names = {path.stem for path in parse_modules(SOURCE)} - NOUNS
    assert [name for name in names if is_participle(name)] == []


def test_exceptions_end_in_error() -> None:
    classes = {node.name: node for _, node in list_nodes() if isinstance(node, ast.ClassDef)}

    def is_exception(name: str) -> bool:
        if name not in classes:
            return name in EXCEPTIONS or name.endswith("Error")
        bases = [getattr(base, "id", getattr(base, "attr", "")) for base in classes[name].bases]
        return any(map(is_exception, bases))

    assert [name for name in classes if is_exception(name) and not name.endswith("Error")] == []
    assert [comment for _, comment in list_comments() if "N818" in comment] == []


def test_folder_has_few_entries() -> None:
    folders = {path.parent for path in parse_modules(SOURCE)} - {Path("store/migrations/versions")}
    entries = {folder: len([*(SOURCE / folder).glob("[!_.]*")]) for folder in folders}
    assert [folder for folder, count in entries.items() if count > MAX_ENTRIES] == []


def test_public_class_name_is_unique() -> None:
    classes = [node.name for _, node in list_nodes() if isinstance(node, ast.ClassDef)]
    names = Counter(name for name in classes if not name.startswith("_"))
    assert [name for name, count in names.items() if count > 1] == []


def test_limits_are_named_max() -> None:
    names = [node.id for _, node in list_nodes() if isinstance(node, ast.Name)]
    assert [name for name in names if re.match("_?(MOST|LONGEST|LARGEST|BIGGEST)_", name)] == []


def test_few_functions_are_referenced_once() -> None:
    """References are counted by name, so that two helpers of one name do not pass."""
    references = Counter(
        node.id if isinstance(node, ast.Name) else node.attr
        for _, node in list_nodes()
        if isinstance(node, ast.Name | ast.Attribute)
    )
    functions = [node for _, node in list_nodes() if isinstance(node, Function)]
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
        (path, node.value)
        for path in parse_modules(SOURCE)
        for node in list_docstrings(path)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    ]
    texts += list_comments()
    assert [f"{path}: {text}" for path, text in texts if VAGUE_WORDS.search(text)] == []


def test_texts_for_people_are_plain_english() -> None:
    files = [ROOT / name for name in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md")]
    for folder in ("docs", "docs/how-to", "docs/games", "docs/evaluation"):
        files += (ROOT / folder).glob("*.md")
    for ending in ("toml", "html", "js"):
        files += SOURCE.rglob(f"*.{ending}")
    texts = [(path, path.read_text(encoding="utf-8")) for path in files]
    texts += [
        (path, node.value)
        for path, node in list_nodes()
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and node not in list_docstrings(path)
    ]
    assert [f"{path}: {phrase}" for path, text in texts for phrase in find_stiff(text)] == []


# The tests ----------------------------------------------------------------------------------------


def asserts_text(node: ast.AST) -> bool:
    """Return whether a node asserts on a literal text of two words or more."""
    return isinstance(node, ast.Assert) and any(
        is_text(operand)
        for compare in ast.walk(node.test)
        if isinstance(compare, ast.Compare)
        and any(isinstance(operator, ast.In | ast.NotIn | ast.Eq) for operator in compare.ops)
        for operand in (compare.left, *compare.comparators)
    )


def is_text(node: ast.AST) -> bool:
    if isinstance(node, ast.Constant):
        return isinstance(node.value, str) and WORDS.search(node.value) is not None
    literals = ast.BinOp | ast.Dict | ast.JoinedStr | ast.List | ast.Set | ast.Tuple
    return isinstance(node, literals) and any(map(is_text, ast.iter_child_nodes(node)))


def is_participle_helper(node: ast.AST) -> bool:
    return isinstance(node, Function) and is_participle(node.name)


def is_private_alias(node: ast.AST) -> bool:
    """Return whether a node names an import by a name that has nothing to do with its own."""
    if not isinstance(node, ast.alias) or node.asname is None or node.asname in COMMON_ALIASES:
        return False
    name, alias = node.name.rpartition(".")[2].lower(), node.asname.lower()
    return name not in alias and alias not in name


def is_vague_variable(node: ast.AST) -> bool:
    is_stored = isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    name = node.id if isinstance(node, ast.Name) else getattr(node, "arg", "")
    return (is_stored or isinstance(node, ast.arg)) and name in VAGUE_VARIABLES


def is_stiff_test(node: ast.AST) -> bool:
    """Return whether the name of a test, or a docstring in the tests, has a stiff phrase."""
    if not isinstance(node, Function | ast.ClassDef | ast.Module):
        return False
    name = getattr(node, "name", "").replace("_", " ")
    return bool(find_stiff(f"{name}; {ast.get_docstring(node)}"))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("is_wrong", "most"),
    [
        (asserts_text, MAX_TEXT_ASSERTIONS),
        (is_participle_helper, MAX_TEST_PARTICIPLES),
        (is_private_alias, MAX_TEST_ALIASES),
        (is_vague_variable, MAX_VAGUE_VARIABLES),
        (is_stiff_test, MAX_STIFF_TESTS),
    ],
)
def test_tests_follow_the_naming_rules(is_wrong: Callable[[ast.AST], bool], most: int) -> None:
    counts = Counter(path.parts[0] for path, node in list_nodes(TESTS) if is_wrong(node))
    assert counts.total() <= most, dict(counts)


def test_assertions_on_text_are_recognized() -> None:
    texts = ["assert 'the game' in page", "assert (status, text) == (409, 'the game')"]
    others = ["assert reason == 'game_over'", "assert call('the game').moves == (9,)"]
    wrong = [line for line in texts + others if asserts_text(ast.parse(line).body[0])]
    assert wrong == texts
