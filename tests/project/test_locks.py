"""The locked versions are those that the project asks for, with hashes, for every machine."""

from __future__ import annotations

import re
import tomllib
from functools import cache
from itertools import pairwise, product
from typing import NamedTuple

import pytest
from packaging.markers import Marker
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import lock
from support.command import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
EXTRAS = PROJECT["project"]["optional-dependencies"]
NAMES = list(lock.LOCKS)
SYSTEMS = {"linux": ("posix", "Linux"), "darwin": ("posix", "Darwin"), "win32": ("nt", "Windows")}
MACHINES = list(product(("3.11", "3.12", "3.13", "3.14"), SYSTEMS))


class Pin(NamedTuple):
    """A line of a lock file: a version, where it is installed, and its hashes."""

    version: str
    marker: Marker | None
    hashes: frozenset[str]


@cache
def read_pins(name: str) -> dict[str, list[Pin]]:
    """Return the pins of a lock file; the version of a package may depend on the Python."""
    pins: dict[str, list[Pin]] = {}
    for entry in lock.list_entries(name):
        line, *hashes = re.sub(r"\\\n\s*", "", entry).strip().split(" --hash=")
        requirement = Requirement(line)
        [specifier] = requirement.specifier
        assert specifier.operator == "==", line
        pin = Pin(specifier.version, requirement.marker, frozenset(hashes))
        pins.setdefault(canonicalize_name(requirement.name), []).append(pin)
    return pins


def applies(marker: Marker | None, python: str, system: str) -> bool:
    """Say whether a line is for a Python on a system."""
    os_name, platform = SYSTEMS[system]
    environment = {
        "implementation_name": "cpython", "os_name": os_name, "platform_machine": "x86_64",
        "platform_python_implementation": "CPython", "platform_system": platform,
        "python_full_version": f"{python}.1", "python_version": python, "sys_platform": system,
    }  # fmt: skip
    return marker is None or marker.evaluate(environment)


def list_group(name: str) -> list[str]:
    """Return the requirements of a group, with those of the groups that it includes."""
    requirements: list[str] = []
    for entry in PROJECT["dependency-groups"][name]:
        requirements += [entry] if isinstance(entry, str) else list_group(entry["include-group"])
    return requirements


def list_requirements(name: str) -> list[str]:
    """Return what pyproject.toml itself asks for, of what a lock file is made from."""
    sources = lock.LOCKS[name].sources
    requirements = list(PROJECT["project"]["dependencies"]) if lock.PROJECT in sources else []
    if "--all-extras" in sources:
        requirements += [text for extra in EXTRAS.values() for text in extra]
    for option, value in pairwise(sources):
        if option == "--extra":
            requirements += EXTRAS[value]
        elif option == "--group":
            requirements += list_group(value)
    return requirements


@pytest.mark.parametrize("name", NAMES)
def test_lock_has_one_fitting_version_for_every_machine(name: str) -> None:
    requirements = [Requirement(text) for text in list_requirements(name)]
    assert requirements
    for requirement, machine in product(requirements, MACHINES):
        if applies(requirement.marker, *machine):
            pins = read_pins(name).get(canonicalize_name(requirement.name), [])
            versions = [*{pin.version for pin in pins if applies(pin.marker, *machine)}]
            assert len(versions) == 1, f"make lock: {requirement} on {machine}"
            assert requirement.specifier.contains(versions[0]), f"make lock: {requirement}"


@pytest.mark.parametrize("name", NAMES)
def test_lock_has_hashes_and_agrees_with_the_others(name: str) -> None:
    all_pins = read_pins(NAMES[0])
    for package, pins in read_pins(name).items():
        for pin in pins:
            assert pin.hashes, package
            assert all(re.fullmatch(r"sha256:[0-9a-f]{64}", text) for text in pin.hashes), package
        if name != "bench" or package in all_pins:
            versions = {(pin.version, pin.hashes) for pin in all_pins[package]}
            assert {(pin.version, pin.hashes) for pin in pins} <= versions, package


@pytest.mark.parametrize("name", NAMES)
def test_lock_names_its_command_but_no_address_or_folder(name: str) -> None:
    text = (lock.FOLDER / f"{name}.txt").read_text()
    assert text.startswith(lock.HEADER)
    assert re.findall(r"://|file:|-index|find-links| @ |\s/\w", text) == []


def test_source_package_has_all_locks_and_no_other() -> None:
    assert {path.stem for path in lock.FOLDER.iterdir()} == set(NAMES)
    assert lock.FOLDER.name in PROJECT["tool"]["hatch"]["build"]["targets"]["sdist"]["include"]


def test_lock_has_what_the_clone_is_built_with() -> None:
    for requirement in map(Requirement, PROJECT["build-system"]["requires"]):
        [pin] = read_pins("build")[canonicalize_name(requirement.name)]
        assert requirement.specifier.contains(pin.version)
    assert PROJECT["project"]["requires-python"] == f">={lock.LOWEST_PYTHON}"
