"""Names that other modules still import, until they use `subprocess.Popen`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from subprocess import Popen as Forked
from typing import Any

from support.clocks import SLOW

__all__ = ["Forked", "ask_patiently", "stay_cold"]


def ask_patiently(ask: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
    """Stand in for `Workers.ask`: starting a process may take longer than a question may."""

    async def ask_with_time(*args: Any, **terms: Any) -> Any:
        if terms.get("seconds", SLOW) >= 1:  # less is asked for by tests of what takes too long
            terms["seconds"] = SLOW
        return await ask(*args, **terms)

    return ask_with_time


async def stay_cold(_workers: object) -> None:
    """Stand in for `Workers.warm`: workers of a server start with their first questions."""
