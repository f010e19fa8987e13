"""Build the wheel and the source package as for a release, and try them in empty environments.

`make package` tries the package without extras, with the Python of .venv/. `make release-check` (`--all`) also tries it
with every Python that the package names and this machine has, and each extra alone; there, an extra is installed as
users get it today, in the newest versions. It also looks whether requirements/ can be installed on other systems.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from zipfile import ZipFile

from fresh import LEAN, ROOT, copy_project
from lock import FOLDER, LOCKS

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXTRAS = tuple(sorted(PROJECT["optional-dependencies"]))
PYTHONS = tuple(re.findall(r"Python :: (3\.\d+)", "\n".join(PROJECT["classifiers"])))
Check = Callable[[], object]

SYSTEMS = (
    "x86_64-manylinux_2_28",
    "aarch64-manylinux_2_28",
    "aarch64-apple-darwin",
    "x86_64-pc-windows-msvc",
)
SOURCE_ONLY = ("chess",)
"""Locked packages that are published without a wheel."""


class CheckError(Exception):
    """Something that is wrong with the packages, in a few lines."""


def main() -> None:
    """Build and check the packages; with `--all` for every extra and Python."""
    with TemporaryDirectory() as folder:
        place = Path(folder)
        try:
            wheel = build_packages(place)
        except CheckError as error:
            sys.exit(str(error))
        failures = 0
        for name, check in plan_checks(wheel, place, everything="--all" in sys.argv).items():
            try:
                check()
            except CheckError as error:
                failures += 1
                print(f"{name}: {error}", file=sys.stderr)
            else:
                print(f"{name} works", flush=True)
    sys.exit(failures)


def plan_checks(wheel: Path, place: Path, *, everything: bool) -> dict[str, Check]:
    """List the checks: the package alone, and perhaps with each Python and each extra, and the lock files."""
    checks: dict[str, Check] = {"base": partial(try_package, wheel, place, sys.executable)}
    for version in PYTHONS if everything else ():
        checks[f"locks, Python {version}"] = partial(try_locks, version)
        if python := shutil.which(f"python{version}"):
            checks[f"base, Python {version}"] = partial(try_package, wheel, place, python)
    for extra in EXTRAS if everything else ():
        checks[extra] = partial(try_package, wheel, place, sys.executable, extra)
    return checks


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


def try_locks(version: str) -> None:
    """Look whether every locked package has a file for a Python on every system; nothing is installed."""
    with TemporaryDirectory() as folder:
        call = (
            sys.executable, "-m", "uv", "pip", "install", "--no-config", "--dry-run", "--quiet", "--require-hashes",
            "--only-binary", ":all:", *(f"--no-binary={each}" for each in SOURCE_ONLY), "--target", folder,
            "--python-version", version,
        )  # fmt: skip
        for name in LOCKS:
            for system in SYSTEMS:
                run(*call, "-r", str(FOLDER / f"{name}.txt"), "--python-platform", system)


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


if __name__ == "__main__":
    main()
