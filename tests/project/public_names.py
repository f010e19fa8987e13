"""The public names: those on the pages of docs/reference/python, and what is wrong with them.

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
    names: dict[str, object] = {"nt": number_tower, "__name__": "__main__"}
    parent, _, name = entry.rpartition(".")
    value = getattr(import_module(parent), name, None) if parent else None
    if value is not None and not isinstance(value, ModuleType):
        own = names if hasattr(number_tower, name) else names | {name: value}
        return [PublicName(parent, name, value, own)]
    module = import_module(entry)
    if module is number_tower:  # all its names have entries of their own
        return [PublicName(entry, "", module, names)]
    public = {name: getattr(module, name) for name in module.__all__}
    names |= public
    return [
        PublicName(entry, name, value, names) for name, value in ({"": module} | public).items()
    ]


def find_problems(entry: str) -> list[str]:
    """Return what is wrong with the docstrings of an entry, and all examples that fail."""
    return [problem for public in resolve(entry) for problem in check_name(public)]


def check_name(public: PublicName) -> Iterator[str]:
    """Give what is wrong with the docstrings and examples of a public name and its members."""
    for path, docstring in _list_docstrings(public):
        if not docstring:
            yield f"{path} has no docstring"
        elif public.name and not _has_example(public, path, docstring):
            yield f"{path} has no example"
        yield from run_examples(path, docstring, public.names)


def _list_docstrings(public: PublicName) -> Iterator[tuple[str, str]]:
    """Give the docstrings of a public name and its public members; a missing one is empty."""
    value = public.value
    if inspect.ismodule(value) or inspect.isclass(value) or inspect.isroutine(value):
        yield public.path, value.__doc__ or ""
    if not inspect.isclass(value):
        return
    classes = _list_own_classes(value)
    for name in dict.fromkeys(name for owner in classes for name in vars(owner)):
        member = inspect.getattr_static(value, name)
        if name[0] != "_" and (inspect.isfunction(member) or isinstance(member, _MEMBERS)):
            # The docstring of a property is that of the first class that has one.
            inherited = (getattr(vars(owner).get(name), "__doc__", None) for owner in classes)
            docstring = inspect.getdoc(getattr(value, name)) or next(filter(None, inherited), "")
            yield f"{public.path}.{name}", docstring


def _list_own_classes(value: type[Any]) -> list[type[Any]]:
    """Return a class and its bases, without those of other packages."""
    return [owner for owner in value.__mro__ if owner.__module__.split(".")[0] == "number_tower"]


def _has_example(public: PublicName, path: str, docstring: str) -> bool:
    """Return whether a name has an example.

    A member may be used in the example of its class or of a base of it instead.
    """
    if path == public.path:
        return ">>>" in docstring
    assert inspect.isclass(public.value)
    name = path.rpartition(".")[2]
    member = inspect.getattr_static(public.value, name)
    name = getattr(member, "__name__", name)  # a second name of a member needs no example
    examples = [docstring, *(owner.__doc__ or "" for owner in _list_own_classes(public.value))]
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
