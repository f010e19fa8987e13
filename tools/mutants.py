"""Break the product in 120 places, one at a time, and see which tests notice.

TABLE lists the places, drawn once over all packages, with the test that found each break. For each
place its killer is tried first, then the tests of its package, then those of `make test`, then the
slow ones of `make test-all`. RESULTS is written row by row, so a run can be stopped and continued;
delete it to start again. The run fails if no test notices a break that was noticed before. All
happens in a copy of the project with its own installation.
"""

from __future__ import annotations

import ast
import csv
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path

from fresh import copy_project

ROOT = Path(__file__).parent.parent
TABLE = ROOT / "tests/data/mutants.csv"
RESULTS = ROOT / "build/mutants.csv"
COPY = Path(tempfile.gettempdir(), "number-tower-mutants")
NOTES = COPY / "build/notes"
PACKAGE = Path("src/number_tower")

MAX_SECONDS = 3600
"""How long one run of tests may take; a break that makes it last longer is found."""
MAX_KILLER_SECONDS = 300

NO_TESTS, TIME_OUT = 5, 124

PLUGIN = """
import os

def pytest_runtest_setup(item):
    with open(f"{folder}/{{os.getpid()}}", "w") as file:
        file.write(item.nodeid.partition("::")[0])
"""
"""Notes which file of tests a process is at, so that one that hangs can be named."""

JAX = [f"tests/envs/test_{name}.py" for name in ("alphazero", "jax", "same_game")]
"""These tests start threads, beside which no process should be forked: they run in a process of
their own.
"""


@dataclass
class Mutant:
    """One break, and what found it."""

    module: str
    function: str
    before: str
    after: str
    found_by: str = ""
    """`test` or `test-all`, which runs the killer; `nothing`; `same` if the break changes nothing;
    `gone` if the place no longer exists.
    """
    killer: str = ""
    reason: str = ""

    @property
    def package(self) -> str:
        """The folder of the module."""
        return self.module.partition("/")[0]


# Breaking and finding -----------------------------------------------------------------------------


def find_place(mutant: Mutant) -> tuple[Path, ast.stmt | ast.expr] | None:
    """Return the file and the part that a mutant breaks: in its module, or the only one like it."""
    function = mutant.function.rpartition(".")[2]
    elsewhere = list[tuple[Path, ast.stmt | ast.expr]]()
    for path in sorted((COPY / PACKAGE).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                continue
            for part in list_parts(node) if node.name == function else ():
                if ast.unparse(part) != mutant.before:
                    continue
                if path == COPY / PACKAGE / mutant.module:
                    return path, part
                elsewhere.append((path, part))
    return elsewhere[0] if len(elsewhere) == 1 else None


def list_parts(function: ast.AST) -> Iterator[ast.stmt | ast.expr]:
    """Yield the conditions and the simple statements of a function."""
    for node in ast.walk(function):
        if isinstance(node, ast.If | ast.While):
            yield node.test
        elif isinstance(node, ast.stmt):
            yield node


def replace_part(path: Path, part: ast.stmt | ast.expr, new: str) -> None:
    """Replace one part of a module."""
    lines = path.read_bytes().splitlines(keepends=True)
    first, last = part.lineno - 1, (part.end_lineno or part.lineno) - 1
    start, end = lines[first][: part.col_offset], lines[last][part.end_col_offset :]
    code = f"({new})" if isinstance(part, ast.expr) else new.replace("\n", f"\n{' ' * len(start)}")
    path.write_bytes(b"".join([*lines[:first], start, code.encode(), end, *lines[last + 1 :]]))


def run_pytest(*arguments: str, max_seconds: int = MAX_SECONDS) -> tuple[int, str]:
    """Run tests in the copy; return the exit code (or TIME_OUT) and what was printed or hangs."""
    for note in NOTES.glob("[0-9]*"):
        note.unlink()
    environment = {**os.environ, "PYTHONPATH": str(NOTES)}
    for name in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL"):
        environment.pop(name, None)
    call = [str(COPY / ".venv/bin/pytest"), "-q", "-x", "--tb=no", "-p", "note_plugin", *arguments]
    with subprocess.Popen(
        call, cwd=COPY, env=environment, text=True, process_group=0,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    ) as running:  # fmt: skip
        try:
            printed, _ = running.communicate(timeout=max_seconds)
        except subprocess.TimeoutExpired:
            os.killpg(running.pid, signal.SIGKILL)
            # The process that began its test first is the one that hangs.
            begun = sorted(NOTES.glob("[0-9]*"), key=os.path.getmtime)
            return TIME_OUT, f"FAILED {begun[0].read_text()}" if begun else ""
    return running.returncode, printed


def find_killer(mutant: Mutant) -> None:
    """Run more and more tests until one fails; note which."""
    without_jax = ["-n", "auto", *(f"--ignore={file}" for file in JAX)]
    runs = [
        ("test", [*without_jax, "-m", "not slow"]),
        ("test-all", [*without_jax, "-m", "slow"]),
        ("test-all", JAX),
    ]
    if (COPY / "tests" / mutant.package).is_dir():
        runs.insert(0, ("test", [*without_jax, "-m", "not slow", f"tests/{mutant.package}"]))
    for found_by, arguments in runs:
        code, printed = run_pytest(*arguments)
        if code not in {0, NO_TESTS}:
            failure = re.search(r"^(?:FAILED|ERROR) (.+?)(?: - |$)", printed, re.MULTILINE)
            mutant.found_by = found_by
            mutant.killer = failure[1] if failure else printed[-300:]
            if failure and not is_killed_again(mutant):
                mutant.reason = "passes alone"
            return
    mutant.found_by = "nothing"


def is_killed_again(mutant: Mutant) -> bool:
    """Run the test that found a break before, wherever it is now; say whether it does so again."""
    file, _, name = mutant.killer.partition("::")
    function = name.partition("[")[0]
    definition = re.compile(rf"^def {re.escape(function)}\(", re.MULTILINE)
    tests = [
        f"{path.relative_to(COPY)}::{function}"
        for path in (COPY / "tests").rglob("test_*.py")
        if definition.search(path.read_text(encoding="utf-8"))
    ]
    # What hung is a whole file.
    if not name and (COPY / file).is_file():
        tests = [file]
    codes = [run_pytest(test, max_seconds=MAX_KILLER_SECONDS)[0] for test in tests]
    return any(code not in {0, NO_TESTS} for code in codes)


# The table ----------------------------------------------------------------------------------------


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
    subprocess.run(["make", "-s", "setup", "browser", "proxies"], cwd=COPY, check=True)
    NOTES.mkdir(parents=True)
    (NOTES / "note_plugin.py").write_text(PLUGIN.format(folder=NOTES))


def try_mutant(mutant: Mutant, found_before: str) -> None:
    """Break one place, look for a test that fails, and mend it."""
    place = find_place(mutant)
    if place is None:
        mutant.found_by = "gone"
        return
    path, part = place
    text = path.read_bytes()
    replace_part(path, part, mutant.after)
    try:
        if is_killed_again(mutant):
            mutant.found_by = found_before
        else:
            find_killer(mutant)
    finally:
        path.write_bytes(text)


def main() -> int:
    """Try what was not tried yet; return 1 if something that was found is not found any more."""
    baseline = read_table(TABLE)
    if not RESULTS.exists():
        write_table(RESULTS, [replace(mutant, found_by="") for mutant in baseline])
    mutants = read_table(RESULTS)
    set_up_copy()
    lost = list[str]()
    for number, (mutant, before) in enumerate(zip(mutants, baseline, strict=True), 1):
        was_found = before.found_by in {"test", "test-all"}
        if not mutant.found_by:
            if was_found:
                try_mutant(mutant, before.found_by)
            else:
                mutant.found_by = before.found_by
            write_table(RESULTS, mutants)
            print(
                number, mutant.module, mutant.function, mutant.found_by, mutant.killer, flush=True
            )
        if was_found and mutant.found_by == "nothing":
            change = f"{mutant.before} -> {mutant.after}"
            lost.append(
                f"{mutant.module} {mutant.function}: {change}: {before.killer} found it before"
            )
    print(Counter(mutant.found_by for mutant in mutants), *lost, sep="\n")
    return bool(lost)


if __name__ == "__main__":
    sys.exit(main())
