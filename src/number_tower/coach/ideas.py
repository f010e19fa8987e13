"""Ideas that have a name: which reasons they are behind, how they are introduced, and what they are."""

from __future__ import annotations

from typing import NamedTuple

from number_tower.coach.patterns import Reason
from number_tower.coach.sentences import fill_text

_KINDS = {
    "pairs": ("pairs", "partner"),
    "rounds": ("multiple", "made_up_again"),
    "sums": ("made_up",),
    "counting": ("ahead", "alone", "outlasts"),
    "threats": ("threat", "threat_or", "threat_or_higher"),
    "reach": ("out_of_reach", "too_low", "blocked", "blocked_draw"),
    "answers": ("forced", "answers", "answers_rule"),
    "plans": ("plan", "plan_careful", "answers_plan", "plan_ahead"),
}

IDEAS = tuple(_KINDS)
"""The names of all ideas, as `why` takes them."""

_IDEA_BY_KIND = {kind: idea for idea, kinds in _KINDS.items() for kind in kinds}
_ALIASES = {"pair": "pairs", "round": "rounds", "sum": "sums", "count": "counting", "threat": "threats"}
_ALIASES |= {"answer": "answers", "plan": "plans"}


class Idea(NamedTuple):
    """An idea: its name, one sentence that introduces it, and an explanation."""

    name: str
    introduction: str
    explanation: str


def name_idea(reason: Reason) -> str | None:
    """Return the name of the idea behind a reason; None if there is none."""
    if reason.kind == "refuted" and reason.because is not None:
        return name_idea(reason.because)
    return _IDEA_BY_KIND.get(reason.kind)


def get_idea(reason: Reason, noun: str = "block") -> Idea | None:
    """Return the idea behind a reason, in words; None if there is none."""
    name = name_idea(reason)
    return None if name is None else explain_idea(name, noun)


def explain_idea(name: str, noun: str = "block") -> Idea:
    """Return an idea in words; a `LookupError` if there is none of this name."""
    name = _ALIASES.get(name, name)
    if name not in _KINDS:
        raise LookupError(f"no idea is called {name}; the ideas are {', '.join(IDEAS)}")
    intro, text = (fill_text(f"idea_{name}_{part}", {"noun": noun}) for part in ("intro", "text"))
    return Idea(name, intro, text)


def explain_topic(topic: str, noun: str) -> str:
    """Write what an idea is; if there is none of this name, which ideas there are."""
    try:
        idea = explain_idea(topic, noun)
    except LookupError:
        return fill_text("idea_unknown", {"ideas": ", ".join(IDEAS)})
    return f"{idea.introduction} {idea.explanation}"


def is_idea(topic: str) -> bool:
    """Say whether an idea has this name."""
    return _ALIASES.get(topic, topic) in _KINDS


def format_introduction(reason: Reason, noun: str, introduced: set[str]) -> str:
    """Write a line that introduces the idea behind a reason, and how to ask for more; empty if it was introduced."""
    idea = introduce_idea(reason, noun, introduced)
    return "" if idea is None else f"\n{idea.introduction} {fill_text('idea_more', {'idea': idea.name})}"


def introduce_idea(reason: Reason, noun: str, introduced: set[str]) -> Idea | None:
    """Return the idea behind a reason the first time that it appears, and add it to those introduced."""
    idea = get_idea(reason, noun)
    if idea is None or idea.name in introduced:
        return None
    introduced.add(idea.name)
    return idea
