"""The public names: those on the pages of docs/reference/python.

It also finds those without a docstring or an example, and examples that fail.

A line `::: number_tower.Game` on a page makes one name public, and `::: number_tower.studies.lab`
all names in the `__all__` of that module. A method or property of a public class is shown if an
example uses it: its own, or that of the class. Run as a program, this prints the problems of the
names that its arguments make public.
"""

from __future__ import annotations

import doctest
import inspect
import re
import sys
from collections.abc import Iterator
from contextlib import chdir, redirect_stdout
from functools import cached_property
from importlib import import_module
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory
from types import ModuleType
from typing import Any, NamedTuple

import number_tower

PAGES = Path(__file__).parent.parent.parent / "docs/reference/python"

_ENTRY = re.compile(r"^::: (number_tower\S*)$", re.MULTILINE)
_MEMBERS = (property, cached_property, classmethod, staticmethod)


def list_entries() -> list[str]:
    """Return what the pages show, in their order."""
    return [
        entry for page in sorted(PAGES.glob("*.md")) for entry in _ENTRY.findall(page.read_text())
    ]


class PublicName(NamedTuple):
    """A public name: where it is imported from, the value, and what its examples may use."""

    module: str
    name: str
    value: object
    names: dict[str, object]

    @property
    def path(self) -> str:
        """The module and the name."""
        return f"{self.module}.{self.name}" if self.name else self.module


def resolve(entry: str) -> list[PublicName]:
    """Return the public names of an entry; a module is one of them, with an empty name."""
    base: dict[str, object] = {"nt": number_tower, "__name__": "__main__"}
    parent, _, name = entry.rpartition(".")
    found = getattr(import_module(parent), name, None) if parent else number_tower
    if found is not None and not isinstance(found, ModuleType):
        own = base if hasattr(number_tower, name) else {**base, name: found}
        return [PublicName(parent, name, found, own)]
    module = import_module(entry)
    if module is number_tower:  # each of its names has an entry of its own
        return [PublicName(entry, "", module, base)]
    names = {**base, **{each: getattr(module, each) for each in module.__all__}}
    return [
        PublicName(entry, each, getattr(module, each) if each else module, names)
        for each in ("", *module.__all__)
    ]


def list_docstrings(public: PublicName) -> Iterator[tuple[str, str]]:
    """Give the docstrings of a public name and its public members, each with its path.

    A missing docstring is "".
    """
    if not (
        inspect.ismodule(public.value)
        or inspect.isclass(public.value)
        or inspect.isroutine(public.value)
    ):
        return  # a constant or an alias of a type
    yield public.path, public.value.__doc__ or ""
    if not inspect.isclass(public.value):
        return
    own = _list_own_classes(public.value)
    for name in dict.fromkeys(
        name for each in own for name in vars(each) if not name.startswith("_")
    ):
        member = inspect.getattr_static(public.value, name)
        if inspect.isfunction(member) or isinstance(member, _MEMBERS):
            yield (
                f"{public.path}.{name}",
                inspect.getdoc(getattr(public.value, name)) or _find_inherited(own, name),
            )


def _list_own_classes(value: type[Any]) -> list[type[Any]]:
    """Return a class and its bases, without those of other packages."""
    return [
        each for each in value.__mro__ if each.__module__.partition(".")[0] == number_tower.__name__
    ]


def _find_inherited(classes: list[type[Any]], name: str) -> str:
    """Return the docstring of a member in the first class that has one."""
    members = (vars(each).get(name) for each in classes)
    return next((doc for member in members if (doc := getattr(member, "__doc__", None))), "")


def find_problems(entry: str) -> list[str]:
    """Return what is wrong with the docstrings of an entry, and all examples that fail."""
    return [problem for public in resolve(entry) for problem in check_name(public)]


def check_name(public: PublicName) -> Iterator[str]:
    """Give what is wrong with the docstrings and examples of a public name and its members."""
    for path, docstring in list_docstrings(public):
        if not docstring:
            yield f"{path} has no docstring"
        elif public.name and not _is_shown(public, path, docstring):
            yield f"{path} has no example"
        yield from run_examples(path, docstring, public.names)


def _is_shown(public: PublicName, path: str, docstring: str) -> bool:
    """Return whether a name has an example.

    A member may be used in the example of its class or of a base of it instead.
    """
    if path == public.path:
        return ">>>" in docstring
    assert inspect.isclass(public.value)
    name = path.rpartition(".")[2]
    name = getattr(
        inspect.getattr_static(public.value, name), "__name__", name
    )  # a second name of a member needs none
    examples = [docstring, *(each.__doc__ or "" for each in _list_own_classes(public.value))]
    return any(uses_name(example, name) for example in examples)


def uses_name(docstring: str, name: str) -> bool:
    """Return whether the examples of a docstring call a name, or ask an object for it."""
    sources = [example.source for example in doctest.DocTestParser().get_examples(docstring)]
    code = re.sub(r"#.*", "", "\n".join(sources))
    return re.search(rf"\.{name}\b|\b{name}\(", code) is not None


def run_examples(path: str, docstring: str, names: dict[str, object]) -> list[str]:
    """Run the examples of a docstring, in a folder of their own, and report if one fails."""
    examples = doctest.DocTestParser().get_doctest(
        inspect.cleandoc(docstring), dict(names), path, None, None
    )
    runner = doctest.DocTestRunner(verbose=False, optionflags=doctest.ELLIPSIS)
    report = StringIO()
    with TemporaryDirectory() as folder, chdir(folder), redirect_stdout(StringIO()):
        runner.run(examples, out=report.write)
    return [report.getvalue()] if report.getvalue() else []


if __name__ == "__main__":
    for argument in sys.argv[1:]:
        print(*find_problems(argument), sep="\n", end="")
