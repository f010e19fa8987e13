"""Build the wheel and the source package as for a release, and try them in empty environments.

`make package` tries the package without extras, with the Python of .venv/. `make release-check`
(`--all`) also tries each extra alone and every Python that the package names and this machine has;
there, an extra is installed as users get it today, in the newest versions. It also looks whether
requirements/ can be installed on other systems.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from zipfile import ZipFile

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
SOURCE_ONLY = "chess"
"""The locked package that is published without a wheel."""

PROBE = "import ensurepip, sys, venv; print('%d.%d' % sys.version_info[:2])"

Check = tuple[str, Callable[[], object]]
"""What is checked, and how."""


class CheckError(Exception):
    """Something that is wrong with the packages, in a few lines."""


def main() -> None:
    """Build and check the packages; with `--all` for every extra and Python."""
    everything = "--all" in sys.argv
    with TemporaryDirectory() as folder:
        try:
            wheel = build_packages(Path(folder))
        except CheckError as error:
            sys.exit(str(error))
        pythons = find_pythons() if everything else {"this Python": sys.executable}
        failures = run_checks(list(plan_checks(wheel, pythons, everything=everything)))
    for version in PYTHONS:
        if everything and version not in pythons:
            print(f"Python {version} is not on this machine, and was not tried")
    sys.exit(failures)


def build_packages(folder: Path) -> Path:
    """Build the source package from a clean copy, and the wheel from it; check both."""
    names = copy_project(folder / "copy")
    built = folder / "dist"
    build = (sys.executable, "-m", "build", "--no-isolation", str(folder / "copy"))
    run(*build, "--outdir", str(built))
    [wheel], [source] = built.glob("*.whl"), built.glob("*.tar.gz")
    run(sys.executable, "-m", "twine", "check", "--strict", str(wheel), str(source))
    config = ("--config", str(ROOT / "pyproject.toml"))
    run(sys.executable, "-m", "check_wheel_contents", *config, str(wheel))
    with ZipFile(wheel) as archive:
        packaged = {name for name in archive.namelist() if ".dist-info/" not in name}
    compare_files({name[4:] for name in names if name.startswith("src/")}, packaged)
    print(f"{wheel.name} and {source.name} are built and checked")
    return wheel


def compare_files(expected: set[str], packaged: set[str]) -> None:
    """Fail unless the wheel has exactly the files of the package."""
    if expected != packaged:
        lacks, has = sorted(expected - packaged), sorted(packaged - expected)
        raise CheckError(f"the wheel lacks {lacks} and has {has} besides what git knows")


def find_pythons() -> dict[str, str]:
    """Return the Pythons that the package names and this machine has, on PATH or of pyenv."""
    versions = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"), "versions")
    pythons = {}
    for version in PYTHONS:
        name = f"python{version}"
        for path in (shutil.which(name), *versions.glob(f"{version}.*/bin/{name}")):
            if path and _run((str(path), "-c", PROBE)).stdout.strip() == version:
                pythons[version] = str(path)
                break
    return pythons


def plan_checks(wheel: Path, pythons: dict[str, str], *, everything: bool) -> Iterator[Check]:
    """List the checks for each Python: no extras, and perhaps the lock files and each extra."""
    for version, python in pythons.items():
        yield f"base, {version}", partial(try_package, wheel, python)
    if everything:
        for name in LOCKS:
            for version in PYTHONS:
                yield f"{name}.txt, {version}", partial(try_lock, name, version)
        for extra in EXTRAS:
            for version, python in pythons.items():
                yield f"{extra}, {version}", partial(try_package, wheel, python, extra)


def try_package(wheel: Path, python: str, extra: str | None = None) -> None:
    """Install the wheel into an empty environment, locked or with an extra, and try it."""
    with TemporaryDirectory() as folder:
        run(python, "-m", "venv", folder)
        own = f"{folder}/bin/python"
        install = (own, "-m", "pip", "install", "--quiet", "--disable-pip-version-check")
        if extra is None:
            run(*install, "--require-hashes", "-r", str(FOLDER / "base.txt"))
            run(*install, "--no-deps", str(wheel))
        else:
            run(*install, f"{wheel}[{extra}]")
        run(own, "-m", "pip", "check", "--disable-pip-version-check")
        run(own, str(ROOT / "tools/smoke_tests.py"), extra or "base", cwd=Path(folder))


def try_lock(name: str, version: str) -> None:
    """Look whether all packages of a lock file exist for a Python on every system."""
    with TemporaryDirectory() as folder:
        call = (
            sys.executable, "-m", "uv", "pip", "install", "--no-config", "--dry-run", "--quiet",
            "--require-hashes", "--only-binary", ":all:", f"--no-binary={SOURCE_ONLY}",
            "--target", folder, "--python-version", version, "-r", str(FOLDER / f"{name}.txt"),
        )  # fmt: skip
        for system in SYSTEMS:
            run(*call, "--python-platform", system)


def run(*call: str, cwd: Path = ROOT) -> None:
    """Run a command, as one who knows nothing of this clone; fail with what it says."""
    done = _run(call, cwd)
    if done.returncode:
        said = done.stdout[-4000:]
        raise CheckError(f"{' '.join(call)}\nended with {done.returncode} and said:\n{said}")


def _run(call: tuple[str, ...], cwd: Path = ROOT) -> subprocess.CompletedProcess[str]:
    ours = {"PYTHONPATH", "VIRTUAL_ENV"}
    environment = {name: value for name, value in os.environ.items() if name not in ours}
    environment |= {"NUMBER_TOWER_DB": "none", "NUMBER_TOWER_CONFIG": "none", **LEAN}
    return subprocess.run(
        call, cwd=cwd, env=environment, text=True, check=False,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip


def run_checks(checks: list[Check]) -> int:
    """Run all checks, whatever fails; show each result, then what failed. Return how many did."""
    failures = {}
    for name, check in checks:
        try:
            check()
        except CheckError as error:
            failures[name] = error
        print(f"{name}: {'failed' if name in failures else 'works'}", flush=True)
    for name, reason in failures.items():
        print(f"\n{name}: {reason}", file=sys.stderr)
    print(f"{len(checks) - len(failures)} passed, {len(failures)} failed")
    return len(failures)


if __name__ == "__main__":
    main()
