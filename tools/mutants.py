"""Break the product in sixty places, one at a time, and see which tests notice.

The places are drawn by a fixed seed over all packages, in proportion to their lines, and stand in TABLE. The first runs
fill it, row by row. A later run tries what was found before, its killer first, writes to RESULTS, and fails if a place
that still exists is not found any more. Everything happens in a copy of the project with an installation of its own.
Delete `build` to start a later run anew. Usage: python tools/mutants.py
"""

from __future__ import annotations

import ast
import csv
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator
from copy import deepcopy
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from random import Random
from typing import Any

from count_lines import find_python_code
from fresh import copy_project

ROOT = Path(__file__).parent.parent
TABLE = ROOT / "tests/data/mutants.csv"
RESULTS = ROOT / "build/mutants.csv"
REACHED = ROOT / "build/mutants-reach.json"
COPY = Path(tempfile.gettempdir(), "number-tower-mutants")
PROBES = COPY / "build/probes"
PACKAGE = Path("src/number_tower")
PLACES, SEED = 60, 33
LIMIT = 900
"""Seconds that one run of tests may take; a break that makes it last longer is found."""

QUICK = "not slow and not browser and not postgres"
REST = "slow and not browser and not postgres"
REST_WITH_SERVERS = "slow or browser or postgres"
"""What `make quick` leaves out; browser and PostgreSQL are tried for SERVED packages only."""
SERVED = {"web", "store"}
NO_TESTS, TIME_OUT = 5, 124

SWAPS: dict[type[ast.AST], Any] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.Add: ast.Sub, ast.Sub: ast.Add,
    ast.Mult: ast.Add, ast.FloorDiv: ast.Mult, ast.Mod: ast.FloorDiv, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd,
    ast.LShift: ast.RShift, ast.RShift: ast.LShift, ast.And: ast.Or, ast.Or: ast.And,
}  # fmt: skip
TELLING = re.compile(r"\b(print|log|logger|_log|logging|warn)\b")

PROBE = """
import os, time
seen, test, due = set(), "", 0.0

def find_test(pid):
    while pid > 1:
        try:
            return open(f"{folder}/{{pid}}").read()
        except OSError:
            pid = int(open(f"/proc/{{pid}}/stat").read().rpartition(")")[2].split()[1])
    return ""

def hit(place):
    global test, due
    if time.monotonic() > due:
        due, test = time.monotonic() + 0.02, find_test(os.getpid())
    if (place, test) not in seen:
        seen.add((place, test))
        with open("{folder}/hits", "a") as file:
            file.write(f"{{place}} {{test}}\\n")
"""
"""Notes which file of tests comes to a place: the nearest ancestor of a process that runs tests says which it is at."""

HIT = '__import__("number_tower._probe", fromlist="hit").hit({})'
PLUGIN = """
import os

def pytest_runtest_setup(item):
    with open(f"{folder}/{{os.getpid()}}", "w") as file:
        file.write(item.nodeid.partition("::")[0])
"""
JAX = [f"tests/envs/test_{name}.py" for name in ("alphazero", "jax", "same_game")]
"""They start threads, beside which no process should be forked: they run in a process of their own."""


@dataclass
class Mutant:
    """One break, and what found it."""

    module: str
    function: str
    before: str
    after: str
    found_by: str = ""
    """`quick`, `rest`, `nothing`; `same` if the break changes nothing, `gone` if there is no such place any more."""
    killer: str = ""
    reason: str = ""

    @property
    def package(self) -> str:
        """The folder of the module."""
        first, *rest = Path(self.module).parts
        return first if rest else "."


# Drawing places -------------------------------------------------------------------------------------------------------


def find_statements(tree: ast.AST) -> Iterator[tuple[str, ast.stmt]]:
    """Yield each statement inside a function with the function's name."""

    def visit(
        node: ast.AST, names: tuple[str, ...], *, inside: bool
    ) -> Iterator[tuple[str, ast.stmt]]:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                yield from visit(
                    child, (*names, child.name), inside=not isinstance(child, ast.ClassDef)
                )
            else:
                if inside and isinstance(child, ast.stmt):
                    yield ".".join(names), child
                yield from visit(child, names, inside=inside)

    yield from visit(tree, (), inside=False)


def get_own_part(statement: ast.stmt) -> ast.stmt | ast.expr | None:
    """Return what a statement does itself: the condition of a compound one, or all of a simple one."""
    if isinstance(statement, ast.If | ast.While):
        return statement.test
    simple = (ast.Return, ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Expr, ast.Raise, ast.Delete)
    return statement if isinstance(statement, simple) else None


def is_text(node: ast.AST | None) -> bool:
    """Say whether a value is a text."""
    return isinstance(node, ast.JoinedStr) or (
        isinstance(node, ast.Constant) and isinstance(node.value, str)
    )


def list_texts(node: ast.AST) -> list[str]:
    """Return the texts in a part of a statement."""
    constants = [child.value for child in ast.walk(node) if isinstance(child, ast.Constant)]
    return [text for text in constants if isinstance(text, str)]


def list_breaks(part: ast.stmt | ast.expr) -> list[str]:
    """Return ways to break a part of a statement, as code; none if it makes or tells text."""
    telling = TELLING.search(ast.unparse(part)) or any(" " in text for text in list_texts(part))
    value = getattr(part, "value", None)
    if is_text(value) or (telling and not isinstance(part, ast.Raise)):
        return []
    breaks = list[str]()
    for number, _ in enumerate(_walk(part)):
        broken = deepcopy(part)
        if _break_node([*_walk(broken)][number]):
            breaks.append(ast.unparse(broken))
    if breaks and not isinstance(part, ast.expr):
        return breaks
    if isinstance(part, ast.expr):
        breaks.append(f"not ({ast.unparse(part)})")
    elif isinstance(part, ast.Return) and not isinstance(value, ast.Constant | None):
        breaks.append("return None")
    elif isinstance(part, ast.Expr | ast.Raise | ast.Delete | ast.AugAssign):
        breaks.append("pass")
    elif isinstance(part, ast.Assign) and not isinstance(value, ast.Constant):
        breaks.append(f"{' = '.join(map(ast.unparse, part.targets))} = None")
    return breaks


def _walk(node: ast.AST) -> Iterator[ast.AST]:
    """Yield a node and what is in it, but nothing inside of a text or an annotation."""
    yield node
    for field, child in ast.iter_fields(node):
        if field != "annotation" and not is_text(node):
            for inner in child if isinstance(child, list) else [child]:
                if isinstance(inner, ast.AST):
                    yield from _walk(inner)


def _break_node(node: ast.AST) -> bool:
    """Turn an operator or a number into another; say whether there was one."""
    match node:
        case ast.Compare(ops=[op, *_]) if type(op) in SWAPS:
            node.ops[0] = SWAPS[type(op)]()
        case ast.BoolOp(op=op):
            node.op = SWAPS[type(op)]()
        case ast.BinOp(left, op, right) if type(op) in SWAPS and not (
            is_text(left) or is_text(right)
        ):
            node.op = SWAPS[type(op)]()
        case ast.Constant(value=bool(value)):
            node.value = not value
        case ast.Constant(value=int(value)):
            node.value = value + 1
        case _:
            return False
    return True


def draw() -> list[Mutant]:
    """Draw the places and how each is broken."""
    random = Random(SEED)  # noqa: S311 - a fixed choice
    lines, places = Counter[str](), defaultdict[str, list[tuple[Mutant, list[str]]]](list)
    for path in sorted((ROOT / PACKAGE).rglob("*.py")):
        text, module = path.read_text(encoding="utf-8"), path.relative_to(ROOT / PACKAGE).as_posix()
        package = Mutant(module, "", "", "").package
        lines[package] += len(find_python_code(text))
        for function, statement in find_statements(ast.parse(text)):
            part = get_own_part(statement)
            if part is not None and (breaks := list_breaks(part)):
                places[package].append((Mutant(module, function, ast.unparse(part), ""), breaks))
    mutants = list[Mutant]()
    for package, number in _share(lines).items():
        for mutant, breaks in random.sample(places[package], number):
            mutant.after = random.choice(breaks)
            mutants.append(mutant)
    return mutants


def _share(lines: Counter[str]) -> dict[str, int]:
    """Share the places among packages in proportion to their lines, by largest remainder."""
    exact = {package: PLACES * count / lines.total() for package, count in sorted(lines.items())}
    shares = {package: int(share) for package, share in exact.items()}
    rests = sorted(exact, key=lambda package: shares[package] - exact[package])
    for package in rests[: PLACES - sum(shares.values())]:
        shares[package] += 1
    return shares


# Breaking and finding ------------------------------------------------------------------------------------------------


def locate(mutant: Mutant) -> tuple[Path, ast.stmt | ast.expr] | None:
    """Return the file and the part that a mutant breaks: at its old place, or else the only one like it."""
    elsewhere = list[tuple[Path, ast.stmt | ast.expr]]()
    for path in sorted((COPY / PACKAGE).rglob("*.py")):
        for function, statement in find_statements(ast.parse(path.read_text(encoding="utf-8"))):
            part = get_own_part(statement)
            if part is None or ast.unparse(part) != mutant.before:
                continue
            if path == COPY / PACKAGE / mutant.module and function == mutant.function:
                return path, part
            if function.rpartition(".")[2] == mutant.function.rpartition(".")[2]:
                elsewhere.append((path, part))
    return elsewhere[0] if len(elsewhere) == 1 else None


def replace_part(path: Path, part: ast.stmt | ast.expr, new: str) -> None:
    """Replace one part of a module."""
    lines = path.read_bytes().splitlines(keepends=True)
    first, last = part.lineno - 1, (part.end_lineno or part.lineno) - 1
    start, end = lines[first][: part.col_offset], lines[last][part.end_col_offset :]
    code = f"({new})" if isinstance(part, ast.expr) else new.replace("\n", f"\n{' ' * len(start)}")
    path.write_bytes(b"".join([*lines[:first], start, code.encode(), end, *lines[last + 1 :]]))


def run_pytest(*arguments: str, limit: int = LIMIT) -> tuple[int, str]:
    """Run tests in the copy; return the exit code (124: too late) and what was printed or hangs."""
    environment = {
        key: value for key, value in os.environ.items() if not key.startswith(("MAKE", "MFLAGS"))
    }
    for note in PROBES.glob("[0-9]*"):
        note.unlink()
    call = [str(COPY / ".venv/bin/pytest"), "-q", "--tb=no", "-p", "reach_plugin", *arguments]
    with subprocess.Popen(  # noqa: S603 - our own tests
        call, cwd=COPY, env={**environment, "PYTHONPATH": str(PROBES)}, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True, process_group=0,
    ) as running:  # fmt: skip
        try:
            printed, _ = running.communicate(timeout=limit)
        except subprocess.TimeoutExpired:
            os.killpg(running.pid, signal.SIGKILL)
            # The process that began its test first is the one that hangs.
            begun = sorted(PROBES.glob("[0-9]*"), key=os.path.getmtime)
            return TIME_OUT, f"FAILED {begun[0].read_text()}" if begun else ""
    return running.returncode, printed


def find_reach(mutants: list[Mutant]) -> dict[str, list[str]]:
    """Run all tests once with a probe at each place; return the files of tests that come to each function."""
    if REACHED.exists():
        return dict(json.loads(REACHED.read_text()))
    (COPY / PACKAGE / "_probe.py").write_text(PROBE.format(folder=PROBES))
    places = [
        (number, *place) for number, mutant in enumerate(mutants) if (place := locate(mutant))
    ]
    texts = {path: path.read_bytes() for _, path, _ in places}
    for number, path, part in sorted(places, key=lambda place: -place[2].lineno):
        if not is_compiled(path):
            joint = " or " if isinstance(part, ast.expr) else "; "
            replace_part(path, part, HIT.format(number) + joint + mutants[number].before)
    for arguments in (["-n", "auto", *(f"--ignore={file}" for file in JAX)], JAX):
        print(run_pytest(*arguments, limit=4 * LIMIT)[1][-2000:])
    for path, text in texts.items():
        path.write_bytes(text)
    (COPY / PACKAGE / "_probe.py").unlink()
    hits = defaultdict[str, set[str]](set)
    for line in (PROBES / "hits").read_text().splitlines():
        row, _, test = line.partition(" ")
        hits[row].add(test)
    every = [str(path.relative_to(COPY)) for path in (COPY / "tests").rglob("test_*.py")]
    reach = {
        str(number): every
        if is_compiled(path) or "" in hits[str(number)]
        else sorted(hits[str(number)])
        for number, path, _ in places
    }
    REACHED.write_text(json.dumps(reach))
    return reach


def is_compiled(path: Path) -> bool:
    """Say whether Numba compiles the functions of a module, which then can hold no probe."""
    return "kernel" in path.stem or "matching" in path.stem


def find_killer(mutant: Mutant, tests: Collection[str]) -> None:
    """Run tests until one fails, those of `make quick` and of the mutant's own package first; note the result."""
    jax = sorted(set(JAX) & set(tests))
    others = sorted({*tests} - {*JAX}, key=lambda test: f"tests/{mutant.package}/" not in test)
    rest = REST_WITH_SERVERS if mutant.package in SERVED else REST
    for name, files, marks in (("quick", others, QUICK), ("rest", others, rest), ("rest", jax, "")):
        if not files:
            continue
        spread = ["-n", "auto"] if len(files) > 1 and files is not jax else []
        code, printed = run_pytest("-x", *spread, "-m", marks, *files)
        if code not in {0, NO_TESTS}:
            failure = re.search(r"^(?:FAILED|ERROR) (.+?)(?: - |$)", printed, re.MULTILINE)
            mutant.found_by = name
            mutant.killer = failure[1] if failure else printed[-300:]
            if failure and not is_killed_again(mutant):
                mutant.reason = "passes alone"
            return
    mutant.found_by = "nothing"
    mutant.reason = "" if tests else "no test comes here"


def is_killed_again(mutant: Mutant) -> bool:
    """Run the test that found a break before, wherever it is now; say whether it does so again."""
    file, _, name = mutant.killer.partition("::")
    definition = re.compile(rf"^def {re.escape(name.partition('[')[0])}\(", re.MULTILINE)
    tests = [
        f"{path.relative_to(COPY)}::{name.partition('[')[0]}"
        for path in (COPY / "tests").rglob("test_*.py")
        if definition.search(path.read_text(encoding="utf-8"))
    ]
    if not name and (COPY / file).is_file():
        tests = [file]
    codes = [run_pytest("-x", test, limit=LIMIT // 3)[0] for test in tests]
    return any(code not in {0, NO_TESTS} for code in codes)


# The table -----------------------------------------------------------------------------------------------------------


def read_table(path: Path) -> list[Mutant]:
    """Read a table."""
    with path.open(encoding="utf-8", newline="") as file:
        return [Mutant(**row) for row in csv.DictReader(file)]


def write_table(path: Path, mutants: list[Mutant]) -> None:
    """Write a table, so that nothing is lost if this is stopped."""
    path.parent.mkdir(exist_ok=True)
    with path.with_suffix(".new").open("w", encoding="utf-8", newline="") as file:
        rows = csv.DictWriter(file, [field.name for field in fields(Mutant)], lineterminator="\n")
        rows.writeheader()
        rows.writerows(map(asdict, mutants))
    path.with_suffix(".new").replace(path)


def set_up_copy() -> None:
    """Copy the project as it is, and install it there."""
    COPY.mkdir(parents=True, exist_ok=True)
    for path in COPY.iterdir():
        if path.name != ".venv":
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    copy_project(COPY)
    subprocess.run(["make", "-s", "setup", "browser", "proxies"], cwd=COPY, check=True)  # noqa: S607
    PROBES.mkdir(parents=True)
    (PROBES / "reach_plugin.py").write_text(PLUGIN.format(folder=PROBES))


def main() -> int:
    """Try what was not tried yet; return 1 if something that was found is not found any more."""
    if not TABLE.exists():
        write_table(TABLE, draw())
    baseline, path = read_table(TABLE), TABLE
    if all(mutant.found_by for mutant in baseline):
        path = RESULTS
        if not RESULTS.exists():
            write_table(RESULTS, [replace(mutant, found_by="") for mutant in baseline])
    mutants = read_table(path)
    set_up_copy()
    for number, (mutant, before) in enumerate(zip(mutants, baseline, strict=True), 1):
        if mutant.found_by:
            continue
        if before.found_by in {"nothing", "same"}:
            mutant.found_by = before.found_by
        else:
            try_mutant(mutant, before.found_by, mutants)
        write_table(path, mutants)
        print(number, mutant.module, mutant.function, mutant.found_by, mutant.killer, flush=True)
    print(Counter(mutant.found_by for mutant in mutants))
    lost = [
        f"{now.module} {now.function}: {now.before} -> {now.after}: {before.killer} found it before"
        for now, before in zip(mutants, baseline, strict=True)
        if before.found_by in {"quick", "rest"} and now.found_by == "nothing"
    ]
    print(*lost, sep="\n")
    return bool(lost)


def try_mutant(mutant: Mutant, found_before: str, mutants: list[Mutant]) -> None:
    """Break one place, look for a test that fails, and mend it; what found it before is tried first."""
    place = locate(mutant)
    if place is None:
        mutant.found_by = "gone"
        return
    path, part = place
    text = path.read_bytes()
    try:
        if mutant.killer:
            replace_part(path, part, mutant.after)
            if is_killed_again(mutant):
                mutant.found_by = found_before
                return
            path.write_bytes(text)
        tests = find_reach(mutants)[str(mutants.index(mutant))]
        replace_part(path, part, mutant.after)
        find_killer(mutant, tests)
    finally:
        path.write_bytes(text)


if __name__ == "__main__":
    sys.exit(main())
