"""Measure the coach's reasons over all moves of random positions: how many are bare lines, and the kinds of the rest.

Plans are counted apart: the rule that they state is short, but that it wins is only seen by playing it out.

Arguments: how many positions of each case, and the cases.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from random import Random
from typing import Any

import number_tower as nt
from number_tower.coach.reasons import Reason, explain_move
from number_tower.game import play_randomly
from number_tower.players.knowledge import get_knowledge

POSITIONS = 300

CASES: dict[str, tuple[str, dict[str, Any]]] = {
    "draft": ("draft", {}),
    "summit": ("summit", {}),
    "draft 1-15 to 30": ("draft", {"blocks": "1-15", "target": 30}),
    "summit to 45": ("summit", {"target": 45}),
    "race": ("race", {}),
    "climb": ("climb", {}),
    "factor": ("factor", {}),
}


def find_reasons(rules: nt.Rules, positions: int) -> Iterator[Reason]:
    """Give the reason for every move of `positions` different positions of random games; a small game has fewer."""
    rng, knowledge, seen = Random(1), get_knowledge(rules), set[nt.Position]()  # noqa: S311 - play, not secrets
    for _ in range(20 * positions):
        for game in play_randomly(nt.Game(rules), rng):
            position = game.position
            if position.outcome is None and position not in seen and len(seen) < positions:
                seen.add(position)
                solution = knowledge.solve(position)
                if solution is not None:
                    yield from (explain_move(solution, block) for block in solution.moves)


def is_bare(reason: Reason) -> bool:
    """Say whether a reason is only a line of moves or a verdict, here or where it refers to another one."""
    if reason.kind in {"refuted", "forced", "threat_or"}:
        return reason.because is None or is_bare(reason.because)
    return reason.kind.removesuffix("_line").removesuffix("_long") in {"win", "draw", "loss"}


def name_kind(reason: Reason) -> str:
    """Return the kind of a reason, and of those that it refers to."""
    return reason.kind if reason.because is None else f"{reason.kind}: {name_kind(reason.because)}"


def report(case: str, positions: int) -> str:
    """Return the share of bare lines and of plans of one case, and how often each kind was found."""
    game, options = CASES[case]
    found = list(find_reasons(nt.rules(game, **options), positions))
    kinds = Counter(map(name_kind, found))
    bare = sum(map(is_bare, found)) / len(found)
    plans = sum(count for kind, count in kinds.items() if "plan" in kind) / len(found)
    listed = ", ".join(f"{kind} {count}" for kind, count in kinds.most_common())
    shares = f"{bare:.1%} bare lines, {plans:.1%} plans"
    return f"{case}: {len(found)} moves of at most {positions} positions, {shares}\n  {listed}"


if __name__ == "__main__":
    number, *cases = [*sys.argv[1:], str(POSITIONS)][:1] + sys.argv[2:]
    for each in cases or CASES:
        print(report(each, int(number)), flush=True)
