"""The same functions, interpreted or compiled: Numba is an extra, and is loaded only where the work is worth it.

A kernel is a plain function over sequences of whole numbers (lists, or numpy arrays) that calls nothing but
other kernels of its module. So one source is run by Python itself or by the machine, with the same result. It has to
be one module: what was compiled is kept until the file changes that it came from, and no other file is looked at.
"""

from __future__ import annotations

import os
import sys
from functools import cache
from importlib.util import find_spec
from types import FunctionType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable


_DISABLED: list[bool] = []


def disable_jit() -> None:
    """Do without the compiler in this process: where answers are wanted within seconds, compiling takes too long."""
    _DISABLED.append(True)
    is_available.cache_clear()
    load_compiler.cache_clear()


@cache
def is_available() -> bool:
    """Say whether kernels can be compiled here: with the extra, `pip install number-tower[solve]`.

    Numba's own switch counts as well: without its compiler, kernels on its arrays would be slower than on lists.
    """
    switched_off = os.environ.get("NUMBA_DISABLE_JIT", "0") not in {"", "0"}
    return not _DISABLED and not switched_off and find_spec("numba") is not None


COMPILE_SECONDS = 10
"""What compiling may take where nothing was kept; nobody who has less time should begin it."""


@cache
def load_compiler() -> bool:
    """Load the compiler, and say whether it is there; one that is installed and does not load is done without."""
    if not is_available():
        return False
    try:
        import numba  # noqa: F401, PLC0415 - heavy, and not always there
    except ImportError:
        return False
    return True


def is_loaded() -> bool:
    """Say whether the compiler is there already, so that using it costs nothing more."""
    return "numba" in sys.modules


@cache
def compile_kernel(kernel: Callable[..., Any]) -> Callable[..., Any]:
    """Return a kernel compiled, with all others of its module that it calls; the machine's code is kept on disk."""
    twin: Callable[..., Any] = _compile_module(kernel.__module__)[kernel.__name__]
    return twin


@cache
def _compile_module(module: str) -> dict[str, Any]:
    import numba  # noqa: PLC0415 - heavy, and not always there

    namespace = dict(vars(sys.modules[module]))
    kernels = [thing for thing in namespace.values() if isinstance(thing, FunctionType) and thing.__module__ == module]
    for kernel in kernels:
        twin = FunctionType(kernel.__code__, namespace, kernel.__name__)
        twin.__module__ = module
        twin.__qualname__ = kernel.__qualname__
        try:
            namespace[kernel.__name__] = numba.njit(cache=True, nogil=True)(twin)
        except RuntimeError:  # there is no folder to keep it in
            namespace[kernel.__name__] = numba.njit(nogil=True)(twin)
    return namespace
