"""Import the scripts in `examples/`, which are no package."""

from __future__ import annotations

import importlib.util
from types import ModuleType

from support.command import ROOT

EXAMPLES = ROOT / "examples"


def load_example(name: str) -> ModuleType:
    """Return a script of `examples/` as a module."""
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
