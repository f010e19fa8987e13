"""Exact values: the worth of every position and every move, by the method that suits the rules."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from number_tower.support.text import format_value

if TYPE_CHECKING:
    from number_tower.engine.game import Game
    from number_tower.engine.position import Position
    from number_tower.solve.limits import Progress
    from number_tower.solve.solution import Solution


def solve(
    game: Game | Position,
    *,
    plies: bool = True,
    seconds: float | None = None,
    memory: int | None = None,
    progress: Callable[[Progress], object] | None = None,
) -> Solution:
    """Solve a game or a position: its value and plies now, those of its moves when they are read.

    `seconds` and `memory` (in MiB) limit the work for all that is asked of the solution; if the
    value is not found within them, `NotSolvedError` is raised. Plies that a theory does not give
    are searched for within the limits, or without limits as long as the position is small;
    `plies=False` leaves them out.

    Examples:
        >>> rules = nt.Rules(fit="ascending", step=5, blocks=range(1, 31))
        >>> nt.solve(nt.Game(rules, moves=(5,))).best
        (6,)
        >>> nt.solve(nt.Game(nt.Rules(target=15, supply="own", towers="own")), seconds=60)
        <Solution: win in 3, by two separate towers>
    """
    from number_tower.solve import limits, solution  # noqa: PLC0415 - start-up needs no solver

    position: Any = getattr(game, "position", game)
    if not hasattr(position, "place"):
        raise TypeError(f"expected a game or a position; got {format_value(game)}")
    allowed = limits.SearchLimits(seconds=seconds, memory=memory, progress=progress)
    return solution.Solution(position, allowed, plies=plies)
