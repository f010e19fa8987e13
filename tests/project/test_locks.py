"""The versions in requirements/ are those of pyproject.toml, with hashes, for every machine."""

from __future__ import annotations

import re
import tomllib
from functools import cache
from itertools import pairwise
from typing import NamedTuple

import pytest
from packaging.markers import Marker
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import lock
from support.command import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
GROUPS = PROJECT["dependency-groups"]
EXTRAS = PROJECT["project"]["optional-dependencies"]
BASE = PROJECT["project"]["dependencies"]
NAMES = list(lock.LOCKS)
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
SYSTEMS = {"linux": ("posix", "Linux"), "darwin": ("posix", "Darwin"), "win32": ("nt", "Windows")}
PLACES = [(python, system) for python in PYTHONS for system in SYSTEMS]


class Pin(NamedTuple):
    """A line of a lock file: a version, where it is installed, and its hashes."""

    version: str
    marker: Marker | None
    hashes: list[str]


@cache
def read_pins(name: str) -> dict[str, list[Pin]]:
    """Return what a lock file pins.

    A package has several lines where its version depends on the Python.
    """
    pins: dict[str, list[Pin]] = {}
    for entry in lock.list_entries(name):
        line = re.sub(r"\\\n\s*", "", entry).strip()
        head, *hashes = line.split(" --hash=")
        wanted = Requirement(head)
        [exact] = wanted.specifier
        assert exact.operator == "==", line
        pins.setdefault(canonicalize_name(wanted.name), []).append(
            Pin(exact.version, wanted.marker, hashes)
        )
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
    found: list[str] = []
    for each in GROUPS[name]:
        found += [each] if isinstance(each, str) else list_group(each["include-group"])
    return found


def list_direct(name: str) -> list[str]:
    """Return what pyproject.toml itself asks for, of what a lock file is made from."""
    sources = lock.LOCKS[name].sources
    found = list(BASE) if lock.PROJECT in sources else []
    for option, value in pairwise(sources):
        found += (
            EXTRAS[value]
            if option == "--extra"
            else list_group(value)
            if option == "--group"
            else []
        )
    return found + [
        each for extra in EXTRAS.values() for each in extra if "--all-extras" in sources
    ]


@pytest.mark.parametrize("name", NAMES)
def test_a_lock_has_what_the_project_asks_for(name: str) -> None:
    pins, direct = read_pins(name), list_direct(name)
    assert direct
    for wanted in map(Requirement, direct):
        for place in PLACES:
            if applies(wanted.marker, *place):
                found = [
                    pin
                    for pin in pins.get(canonicalize_name(wanted.name), [])
                    if applies(pin.marker, *place)
                ]
                versions = sorted({pin.version for pin in found})
                assert len(versions) == 1, f"make lock: {wanted.name} has {versions} for {place}"
                assert wanted.specifier.contains(versions[0]), (
                    f"make lock: {wanted} is locked at {versions[0]}"
                )


@pytest.mark.parametrize("name", NAMES)
def test_every_version_has_hashes(name: str) -> None:
    for package, pins in read_pins(name).items():
        for pin in pins:
            assert pin.hashes, package
            assert all(re.fullmatch(r"sha256:[0-9a-f]{64}", each) for each in pin.hashes), package


@pytest.mark.parametrize("name", NAMES)
def test_all_locks_agree(name: str) -> None:
    most = read_pins(NAMES[0])
    for package, pins in read_pins(name).items():
        if name == "bench" and package not in most:
            continue
        for pin in pins:
            same = [(each.version, set(each.hashes)) for each in most[package]]
            assert (pin.version, set(pin.hashes)) in same, package


@pytest.mark.parametrize("name", NAMES)
def test_a_lock_names_the_command_that_makes_it_and_no_place(name: str) -> None:
    text = (lock.FOLDER / f"{name}.txt").read_text()
    assert text.startswith(lock.HEADER)
    assert re.findall(r"://|file:|-index|find-links| @ |\s/\w", text) == []


def test_there_is_no_other_lock_and_all_are_in_the_source_package() -> None:
    assert {path.stem for path in lock.FOLDER.iterdir()} == set(NAMES)
    assert lock.FOLDER.name in PROJECT["tool"]["hatch"]["build"]["targets"]["sdist"]["include"]


def test_what_the_clone_is_built_with_is_locked() -> None:
    for wanted in map(Requirement, PROJECT["build-system"]["requires"]):
        [pin] = read_pins("build")[canonicalize_name(wanted.name)]
        assert wanted.specifier.contains(pin.version)
    assert PROJECT["project"]["requires-python"] == f">={lock.LOWEST_PYTHON}"
