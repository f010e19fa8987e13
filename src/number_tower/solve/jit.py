"""Compile kernels with Numba, an optional extra that is loaded only where it pays.

A kernel is a plain function over sequences of numbers (lists or numpy arrays) that calls only
kernels: of its own module, or of others that it imports by name. The same source runs interpreted
or compiled, with the same result. Numba's cache on disk is valid until the file of the function
changes, and ignores all other files; so the names of kernels in it contain a digest of the modules
that they import kernels from.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from types import FunctionType
from typing import Any, TypeVar, cast

Function = TypeVar("Function", bound="Callable[..., Any]")

COMPILE_SECONDS = 10
"""Time that compiling may take when nothing is cached; with less time left it is not started."""


def disable_jit() -> None:
    """Do not compile in this process: it takes too long where answers are needed in seconds."""
    os.environ["NUMBA_DISABLE_JIT"] = "1"
    is_available.cache_clear()


@cache
def is_available() -> bool:
    """Say whether Numba is installed (the extra `solve`) and not switched off.

    With Numba's own switch off, kernels on numpy arrays would be slower than on lists.
    """
    return os.environ.get("NUMBA_DISABLE_JIT", "0") in {"", "0"} and find_spec("numba") is not None


def is_loaded() -> bool:
    """Say whether Numba is loaded already, so that using it costs nothing more."""
    return "numba" in sys.modules


@cache
def load_compiler() -> bool:
    """Load Numba, and say whether that worked."""
    try:
        import_module("numba")  # heavy and optional
    except ImportError:
        return False
    return True


def compile_function(function: Function) -> Function:
    """Compile a function on its first call.

    The machine code is cached on disk if there is a folder for it.
    """
    njit = import_module("numba").njit
    try:
        return cast("Function", njit(cache=True, nogil=True)(function))
    except RuntimeError:  # there is no folder
        return cast("Function", njit(nogil=True)(function))


def compile_kernel(kernel: Function) -> Function:
    """Return a kernel compiled, with the other kernels of its module that it calls."""
    return cast("Function", _compile_module(kernel.__module__)[kernel.__name__])


@cache
def _compile_module(module: str) -> dict[str, Any]:
    namespace = dict(vars(sys.modules[module]))
    package = module.partition(".")[0] + "."
    kernels = {
        name: thing
        for name, thing in namespace.items()
        if isinstance(thing, FunctionType) and thing.__module__.startswith(package)
    }
    others = sorted({kernel.__module__ for kernel in kernels.values()} - {module})
    suffix = ""
    if others:
        # Numba's cache ignores other files, so the names of kernels change with their sources.
        digest = import_module("hashlib").blake2b(digest_size=6)
        for other in others:
            with open(str(sys.modules[other].__file__), "rb") as source:
                digest.update(source.read())
        suffix = f"_{digest.hexdigest()}"
    for name, kernel in kernels.items():
        if kernel.__module__ != module:
            namespace[name] = _compile_module(kernel.__module__)[kernel.__name__]
            continue
        copy = FunctionType(kernel.__code__, namespace, kernel.__name__)
        copy.__module__ = module
        copy.__qualname__ = kernel.__qualname__ + suffix
        namespace[name] = compile_function(copy)
    return namespace


def load_numpy() -> Any:
    """Return NumPy, which is installed with Numba."""
    return import_module("numpy")
