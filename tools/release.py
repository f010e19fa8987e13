"""Build the wheel and the source package as for a release, and try them in empty environments.

`make package` tries the package without extras, with the Python of .venv/. `make release-check` (`--all`) also tries
each extra alone and every Python that the package names and this machine has; there, an extra is installed as users
get it today, in the newest versions. It also looks whether requirements/ can be installed on other systems.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple
from zipfile import ZipFile

from rich.console import Console
from rich.table import Table

from fresh import LEAN, ROOT, copy_project
from lock import FOLDER, LOCKS

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXTRAS = tuple(sorted(PROJECT["optional-dependencies"]))
PYTHONS = tuple(re.findall(r"Python :: (3\.\d+)", "\n".join(PROJECT["classifiers"])))
SYSTEMS = (
    "x86_64-manylinux_2_28",
    "aarch64-manylinux_2_28",
    "aarch64-apple-darwin",
    "x86_64-pc-windows-msvc",
)
SOURCE_ONLY = ("chess",)
"""Locked packages that are published without a wheel."""

PROBE = "import ensurepip, sys, venv; print('%d.%d' % sys.version_info[:2])"


class CheckError(Exception):
    """Something that is wrong with the packages, in a few lines."""


class Step(NamedTuple):
    """A check: its row and column in the table of results, and what it does."""

    row: str
    column: str
    run: Callable[[], object]


def main() -> None:
    """Build and check the packages; with `--all` for every extra and Python."""
    with TemporaryDirectory() as folder:
        place = Path(folder)
        try:
            wheel = build_packages(place)
        except CheckError as error:
            sys.exit(str(error))
        pythons = find_pythons() if "--all" in sys.argv else {"this Python": sys.executable}
        steps = list(plan_checks(wheel, place, pythons, everything="--all" in sys.argv))
        failures = run_checks(steps)
    if missing := [
        version for version in PYTHONS if "--all" in sys.argv and version not in pythons
    ]:
        print(f"not on this machine, and not tried: Python {', '.join(missing)}")
    sys.exit(failures)


def build_packages(place: Path) -> Path:
    """Build both packages from a clean copy, check them, and return the wheel."""
    copy, built = place / "copy", place / "dist"
    names = copy_project(copy)
    build = (sys.executable, "-m", "build", "--no-isolation", str(copy), "--outdir")
    run(*build, str(built))  # the source package, and the wheel from it
    run(*build, str(place / "direct"), "--wheel")
    [wheel], [source] = built.glob("*.whl"), built.glob("*.tar.gz")
    [direct] = (place / "direct").glob("*.whl")
    run(sys.executable, "-m", "twine", "check", "--strict", str(wheel), str(source))
    run(
        sys.executable,
        "-m",
        "check_wheel_contents",
        "--config",
        str(ROOT / "pyproject.toml"),
        str(wheel),
    )
    if read_wheel(wheel) != read_wheel(direct):
        raise CheckError("the wheel from the source package differs from the one from the clone")
    expected = {name.removeprefix("src/") for name in names if name.startswith("src/")}
    compare_files(expected, {name for name in read_wheel(wheel) if ".dist-info/" not in name})
    print(f"{wheel.name} and {source.name} are built and checked")
    return wheel


def read_wheel(wheel: Path) -> dict[str, int]:
    """Return the checksum of each file in a wheel."""
    with ZipFile(wheel) as archive:
        return {each.filename: each.CRC for each in archive.infolist()}


def compare_files(expected: set[str], found: set[str]) -> None:
    """Fail unless the wheel has exactly the files of the package."""
    if expected != found:
        lacks, has = sorted(expected - found), sorted(found - expected)
        raise CheckError(f"the wheel lacks {lacks} and has {has} besides what git knows")


def find_pythons() -> dict[str, str]:
    """Return the Pythons of this machine that the package names, by their version."""
    versions = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"), "versions")
    found = {}
    for version in PYTHONS:
        candidates = [sys.executable, shutil.which(f"python{version}")]
        candidates += [
            str(path)
            for path in sorted(versions.glob(f"{version}.*/bin/python{version}"), reverse=True)
        ]
        for path in filter(None, candidates):
            done = subprocess.run((path, "-c", PROBE), capture_output=True, text=True, check=False)  # noqa: S603 - a Python
            if done.stdout.strip() == version:
                found[version] = path
                break
    return found


def plan_checks(
    wheel: Path, place: Path, pythons: dict[str, str], *, everything: bool
) -> Iterator[Step]:
    """List the checks: the package without extras, and perhaps the lock files and each extra, for each Python."""
    for column, python in pythons.items():
        yield Step("base", column, lambda python=python: try_package(wheel, place, python))  # type: ignore[misc]
    if not everything:
        return
    for name in LOCKS:
        for version in PYTHONS:
            yield Step(
                f"{name}.txt",
                version,
                lambda name=name, version=version: try_lock(name, version),  # type: ignore[misc]
            )
    for extra in EXTRAS:
        for column, python in pythons.items():
            yield Step(
                extra,
                column,
                lambda python=python, extra=extra: try_package(  # type: ignore[misc]
                    wheel, place, python, extra
                ),
            )


def try_package(wheel: Path, place: Path, python: str, extra: str | None = None) -> None:
    """Install the wheel into an empty environment, with the locked versions or with an extra, and try it."""
    environment = place / "environment"
    shutil.rmtree(environment, ignore_errors=True)
    run(python, "-m", "venv", str(environment))
    own = str(environment / "bin/python")
    install = (own, "-m", "pip", "install", "--quiet", "--disable-pip-version-check")
    if extra is None:
        run(*install, "--require-hashes", "-r", str(FOLDER / "base.txt"))
        run(*install, "--no-deps", str(wheel))
    else:
        run(*install, f"{wheel}[{extra}]")
    run(own, "-m", "pip", "check", "--disable-pip-version-check")
    run(own, str(ROOT / "tools/smoke_tests.py"), extra or "base", cwd=place)


def try_lock(name: str, version: str) -> None:
    """Look whether every package of a lock file has a file for a Python on every system; nothing is installed."""
    with TemporaryDirectory() as folder:
        call = (
            sys.executable, "-m", "uv", "pip", "install", "--no-config", "--dry-run", "--quiet", "--require-hashes",
            "--only-binary", ":all:", *(f"--no-binary={each}" for each in SOURCE_ONLY), "--target", folder,
            "--python-version", version, "-r", str(FOLDER / f"{name}.txt"),
        )  # fmt: skip
        for system in SYSTEMS:
            run(*call, "--python-platform", system)


def run(*call: str, cwd: Path = ROOT) -> str:
    """Run a command, as one who knows nothing of this clone; fail with what it says."""
    ours = {"PYTHONPATH", "VIRTUAL_ENV"}
    environment = {name: value for name, value in os.environ.items() if name not in ours}
    environment |= {"NUMBER_TOWER_DB": "none", "NUMBER_TOWER_CONFIG": "none", **LEAN}
    done = subprocess.run(  # noqa: S603 - our own tools
        call, cwd=cwd, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        text=True, check=False,
    )  # fmt: skip
    if done.returncode:
        raise CheckError(
            f"{' '.join(call)}\nended with {done.returncode} and said:\n{done.stdout[-4000:]}"
        )
    return done.stdout


def run_checks(steps: list[Step]) -> int:
    """Run all checks, whatever fails; show progress, then a table, then what failed. Return how many did."""
    results: dict[tuple[str, str], str] = {}
    failures = {}
    for number, step in enumerate(steps, 1):
        print(f"[{number}/{len(steps)}] {step.row}, {step.column} ... ", end="", flush=True)
        begin = time.monotonic()
        try:
            step.run()
        except CheckError as error:
            failures[f"{step.row}, {step.column}"] = str(error)
        result = "failed" if f"{step.row}, {step.column}" in failures else "works"
        results[step.row, step.column] = result
        print(f"{result} ({time.monotonic() - begin:.0f} s)", flush=True)
    columns = list(dict.fromkeys(column for _, column in results))
    table = Table("", *columns)
    for row in dict.fromkeys(row for row, _ in results):
        table.add_row(row, *(results.get((row, column), "-") for column in columns))
    if len(steps) > 1:
        Console().print(table)
    for name, reason in failures.items():
        print(f"\n{name}: {reason}", file=sys.stderr)
    print(f"{len(steps) - len(failures)} passed, {len(failures)} failed")
    return len(failures)


if __name__ == "__main__":
    main()
