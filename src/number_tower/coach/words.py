"""The coach's words for reasons and nudges; like a game's voice they are keyed text, in `words.toml`."""

from __future__ import annotations

import os
from functools import cache
from typing import TYPE_CHECKING

from number_tower.catalogue import parse_toml
from number_tower.template import Template

if TYPE_CHECKING:
    from collections.abc import Mapping

    from number_tower.coach.reasons import Reason
    from number_tower.template import Value

_FIELDS = (
    "block", "tower", "player", "opponent", "noun", "because", "such", "target", "mine", "theirs", "left", "modulus",
    "pairs", "to_go", "gap", "whole", "need", "answer", "answers", "reply", "line", "plies",
)  # fmt: skip


def clause(reason: Reason, *, opponent: str, player: str = "you", noun: str = "block") -> str:
    """Say what a block does, to be read after its number: "leaves 18, a multiple of 6"."""
    facts: dict[str, Value] = {**reason.facts, "player": player, "opponent": opponent, "noun": noun, "such": ""}
    way = reason.facts.get("way")
    if way and not isinstance(way, int | str):
        facts["such"] = f" ({' + '.join(map(str, way))})"
    facts["tower"] = "the tower" if reason.facts.get("towers") == "shared" else _own_tower(player)
    facts["line"] = _line(reason, player, opponent)
    if reason.because is not None:
        same = reason.because.mover == reason.mover
        names = (player, opponent) if same else (opponent, player)
        facts["because"] = clause(reason.because, player=names[0], opponent=names[1], noun=noun)
    return say(f"why_{reason.kind}", facts)


def _own_tower(player: str) -> str:
    return "your tower" if player == "you" else f"{player}'s tower"


def _line(reason: Reason, player: str, opponent: str) -> str:
    """Write a line of play; where the players do not simply take turns, with who places what."""
    moves, movers = reason.facts.get("moves", ()), reason.facts.get("movers", ())
    if isinstance(moves, str | int) or isinstance(movers, str | int):
        return ""
    if all(mover == (reason.mover + ply) % 2 for ply, mover in enumerate(movers, 1)):
        return ", ".join(map(str, moves))
    names = (player, opponent) if reason.mover == 0 else (opponent, player)
    return ", ".join(f"{move} ({names[mover]})" for move, mover in zip(moves, movers, strict=True))


def say(key: str, facts: Mapping[str, Value]) -> str:
    """Fill one of the coach's texts."""
    return _texts()[key].fill(facts.__getitem__)


def known() -> frozenset[str]:
    """Return the keys of all texts."""
    return frozenset(_texts())


@cache
def _texts() -> dict[str, Template]:
    with open(os.path.join(os.path.dirname(__file__), "words.toml"), "rb") as stream:
        texts = parse_toml(stream.read(), "words.toml")
    return {key: Template(str(text), _FIELDS) for key, text in texts.items()}
