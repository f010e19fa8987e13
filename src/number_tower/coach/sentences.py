"""Reasons in words, to the mover or about both players, and the ideas behind them.

The words are keyed texts in `sentences.toml`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from number_tower.coach.patterns import MAX_ANSWERS, WINNING_ENDINGS, Reason
from number_tower.engine.catalogue import parse_toml
from number_tower.solve.worth import Value
from number_tower.support.text import Template, format_list, format_text, summarize_numbers
from number_tower.support.text import Value as Fact

_MAX_WAY = 6
"""Blocks of a way to the target that are listed."""

_MAX_TOLD = 5
"""Moves of a line that are told with the name of the player of each."""

_LOSSES = {"lower", "refuted", "too_low", "loss", "loss_line", "loss_long"}
_DRAWS = {"level", "blocked_draw", "draw", "draw_line", "draw_long"}

_PLANS = {"plan", "plan_careful", "plan_ahead"}
_RULES = (
    ("rule_reach", {"out_of_reach", "blocked"}),
    ("rule_sum", {"made_up", "made_up_again"}),
    ("rule_threat", {"threat"}),
)
"""What answers have in common that do not win at once."""


_KINDS_BY_IDEA = {
    "pairs": ("pairs",),
    "rounds": ("multiple", "made_up_again"),
    "sums": ("made_up",),
    "counting": ("ahead", "alone", "outlasts"),
    "threats": ("threat", "threat_or", "threat_or_higher"),
    "reach": ("out_of_reach", "too_low", "blocked", "blocked_draw"),
    "answers": ("answers", "answers_rule"),
    "plans": ("plan", "plan_careful", "answers_plan", "plan_ahead"),
}

IDEAS = tuple(_KINDS_BY_IDEA)
"""The names of all ideas, as `why` takes them."""

_IDEA_BY_KIND = {kind: idea for idea, kinds in _KINDS_BY_IDEA.items() for kind in kinds}
_ALIASES = {"count": "counting"} | {idea.removesuffix("s"): idea for idea in IDEAS}


def get_value(reason: Reason) -> Value:
    """Return the value of the move that a reason explains."""
    if reason.kind in _LOSSES:
        return "loss"
    return "draw" if reason.kind in _DRAWS else "win"


def format_sentence(reason: Reason, opponent: str, noun: str, *, player: str = "you") -> str:
    """Write whether a move wins, and why: "12 wins. That leaves 18 steps to 30. ...".

    Examples:
        >>> from number_tower.coach.reasons import explain_move
        >>> reason = explain_move(nt.solve(nt.Game(nt.Rules(target=15), moves=(9,))), 5)
        >>> format_sentence(reason, "Ann", "block")
        '5 loses: Ann can answer 1. That takes the tower to exactly 15.'
    """
    why = format_reason(reason, opponent, noun, player)
    if reason.kind == "refuted":
        return fill_text("verdict_refuted", {"block": reason.block, "why": why})
    verdict = fill_text(f"verdict_{get_value(reason)}", {"block": reason.block})
    return f"{verdict} {why}"


def format_right_answer(reason: Reason, opponent: str, noun: str, quickest: Reason | None) -> str:
    """Write that a move is right, and why; or that it wins too, where another wins at once."""
    if quickest is None:
        return fill_text("right", {"why": format_sentence(reason, opponent, noun)})
    clause = _format_clause(quickest, "you", opponent, noun)
    return fill_text(
        "right_slower", {"block": reason.block, "best": quickest.block, "clause": clause}
    )


def format_advice(reason: Reason, opponent: str, noun: str, *, key: str = "advice") -> str:
    """Write which block to place, and why."""
    move = fill_text(key, {"block": reason.block})
    return f"{move} {format_reason(reason, opponent, noun)}"


def format_reason(reason: Reason, opponent: str, noun: str = "block", player: str = "you") -> str:
    """Write why a move has its value, in at most three sentences; a refutation has one more."""
    facts = _collect_facts(reason, player, opponent, noun)
    if reason.because is not None and reason.kind not in {"forced", "threat_or"}:
        mover, other = player, opponent
        if reason.because.mover != reason.mover:
            mover, other = opponent, player
        facts["because"] = format_reason(reason.because, other, noun, mover)
    # Some kinds of reasons have several texts.
    variant = ""
    if reason.kind in {"out_of_reach", "too_low"} and not reason.facts["room"]:
        variant = "_stuck"
    elif reason.kind == "pairs" and not reason.facts["replies"]:
        variant = "_all"
    elif reason.kind == "threat" and reason.facts["unfit"]:
        variant = "_unfit"
    elif reason.kind == "outlasts" and reason.facts["mine"] == reason.facts["theirs"]:
        variant = "_level"
    elif len(_get_numbers(reason, "movers")) > _MAX_TOLD:
        variant = "_many"
    elif reason.kind in {"forced", "threat_or"}:
        variant = "_plan" if _starts_plan(reason) else "" if "answer" in reason.facts else "_end"
    return _begin_sentences(fill_text(f"why_{reason.kind}{variant}", facts))


def format_details(reason: Reason, opponent: str, noun: str = "block", player: str = "you") -> str:
    """Write what a reason leaves out: why each answer wins, or all pairs; often nothing."""
    if reason.kind == "refuted" and reason.because is not None:
        return format_details(reason.because, player, noun, opponent)
    sentences: list[str] = []
    if reason.kind == "pairs":
        facts = _collect_facts(reason, player, opponent, noun)
        if facts["replies"] and facts["matched"]:
            sentences.append(fill_text("why_pairs_all", facts))
        if facts["spare"]:
            sentences.append(fill_text("more_pairs", facts))
    elif reason.kind == "answers_rule":
        for answer in reason.answers:
            facts = {"reply": answer.reply, "answer": answer.block or 0}
            facts["clause"] = _format_clause(answer.reason, player, opponent, noun)
            key = "more_reply" if answer.block is None else "more_answer"
            sentences.append(fill_text(key, facts))
    return _begin_sentences(" ".join(sentences))


def _starts_plan(reason: Reason) -> bool:
    return reason.because is not None and reason.because.kind in _PLANS


def _collect_facts(reason: Reason, player: str, opponent: str, noun: str) -> dict[str, Fact]:
    """Return the fields of a reason's text, but `because`."""
    facts: dict[str, Fact] = {**reason.facts, **_name_players(player, opponent)}
    facts |= {"noun": noun, "reach": ""}
    facts["such"] = _format_way(reason)
    facts["both"] = "you can each" if "you" in {player, opponent} else "Both can"
    facts["up_to"] = "" if reason.facts.get("mine") == 1 else "up to "
    shared = reason.facts.get("towers") == "shared"
    facts["tower"] = "the tower" if shared else f"{facts['own']} tower"
    facts["answers"] = _format_answers(reason)
    matched = _get_numbers(reason, "matched")
    pairs = zip(matched[::2], matched[1::2], strict=True)
    facts["matching"] = ", ".join(f"{one} and {other}" for one, other in pairs)
    if room := _get_numbers(reason, "room"):
        few = len(room) <= MAX_ANSWERS
        facts["room"] = format_list(room) if few else summarize_numbers(room, ", ")
    names = (player, opponent) if reason.mover == 0 else (opponent, player)
    moves, movers = _get_numbers(reason, "moves"), _get_numbers(reason, "movers")
    facts["line"] = format_moves(moves, movers, names, previous=reason.mover)
    facts["told"] = _tell_moves(moves, movers, names) if len(moves) <= _MAX_TOLD else ""
    if spare := _get_numbers(reason, "spare"):
        facts |= {"spare": format_list(spare), "spare_is": "is" if len(spare) == 1 else "are"}
        facts["such_one"] = "it" if len(spare) == 1 else "one of them"
    if reason.kind == "multiple":
        facts["times"] = fill_text("multiple_times", facts) if reason.facts["rounds"] != 1 else ""
        # After a climb of 2 the answer is one shorter; with steps of 1 nobody can climb 2.
        rest = int(str(reason.facts["step"])) - 1
        facts["second"] = fill_text("multiple_second", {"rest": rest}) if rest else ""
    if reason.kind == "outlasts" and facts["target"]:
        facts["reach"] = fill_text("reach_no_more" if facts["once"] else "reach_never", facts)
    if reason.kind in _PLANS:
        facts["first"] = fill_text("plan_first", {}) if facts["first"] else ""
        facts["end"] = fill_text(f"plan_end_{facts['end']}", facts) if facts["end"] else ""
    if reason.kind in {"forced", "threat_or"} and reason.because is not None:
        if _starts_plan(reason):
            facts["plan"] = _format_plan([reason.because], player, opponent, noun)
        else:
            facts["clause"] = _format_clause(reason.because, player, opponent, noun)
    if reason.kind == "answers_plan":
        plans = [answer.reason for answer in reason.answers if answer.reason.kind in _PLANS]
        facts["plan"] = _format_plan(plans, player, opponent, noun)
    if reason.kind == "answers_rule":
        facts["rule"] = _format_rule(reason, facts)
    return facts


def _tell_moves(moves: Sequence[int], movers: Sequence[int], names: tuple[str, str]) -> str:
    """Write who places what: you place 2, Ben places 39."""
    told = []
    for move, mover in zip(moves, movers, strict=True):
        told.append(fill_text("line_move", {**_name_players(names[mover], ""), "block": move}))
    return ", ".join(told)


def _format_plan(plans: Sequence[Reason], player: str, opponent: str, noun: str) -> str:
    """Write the rule that is a plan in some positions alike, but not how it ends."""
    plan = next((plan for plan in plans if plan.facts["first"]), plans[0])
    endless = plan._replace(facts={**plan.facts, "end": ""})
    return format_reason(endless, opponent, noun, player)


def _get_numbers(reason: Reason, fact: str) -> Sequence[int]:
    """Return the numbers that are one of the facts of a reason; none if it has no such fact."""
    numbers = reason.facts.get(fact, ())
    return () if isinstance(numbers, str | int) else numbers


def _format_answers(reason: Reason) -> str:
    """Write replies with the answer to each: 1 with 9, 2 with 8, 3 needs none."""
    pairs: list[tuple[int, int | None]] = [
        (answer.reply, answer.block) for answer in reason.answers
    ]
    pairs += zip(_get_numbers(reason, "replies"), _get_numbers(reason, "partners"), strict=True)
    told = [
        f"{reply} needs none" if answer is None else f"{reply} with {answer}"
        for reply, answer in pairs
    ]
    return ", ".join([*told[:MAX_ANSWERS], "and so on"] if len(told) > MAX_ANSWERS else told)


def _format_way(reason: Reason) -> str:
    """Write the blocks that take a tower to its height, if they are few."""
    way = _get_numbers(reason, "way")
    if not 0 < len(way) <= _MAX_WAY:
        return ""
    total = " + ".join(map(str, way))
    return f" with {total}" if "blocked" in reason.kind else f" ({total})"


def format_moves(
    moves: Iterable[int],
    movers: Sequence[int],
    names: tuple[str, str],
    *,
    previous: int | None = None,
) -> str:
    """Write moves, with names unless the players take turns; `previous` moved before them."""
    turns = movers if previous is None else [previous, *movers]
    if all(one != other for one, other in pairwise(turns)):
        return ", ".join(map(str, moves))
    return ", ".join(f"{move} ({names[mover]})" for move, mover in zip(moves, movers, strict=True))


def _name_players(player: str, opponent: str) -> dict[str, Fact]:
    """Return the fields for the two players, of whom one may be "you"."""
    facts: dict[str, Fact] = {}
    for role, name in (("player", player), ("opponent", opponent)):
        is_reader = name == "you"
        facts[role] = name
        facts[f"{role}_s"] = "" if is_reader else "s"
        facts[f"{role}_es"] = "" if is_reader else "es"
        facts[f"{role}_is"] = "are" if is_reader else "is"
        facts[f"{role}_has"] = "have" if is_reader else "has"
        facts["own" if role == "player" else "their"] = "your" if is_reader else f"{name}'s"
    return facts


def _format_clause(reason: Reason, player: str, opponent: str, noun: str) -> str:
    """Write why an answer wins, as a clause."""
    facts: dict[str, Fact] = {**reason.facts, **_name_players(player, opponent)}
    facts |= {"noun": noun, "block": reason.block}
    key = f"clause_{reason.kind}"
    if key == "clause_stuck" and facts["towers"] == "shared" and not facts["target"]:
        key = "clause_stuck_on"
    return fill_text(key, facts)


def _format_rule(reason: Reason, facts: Mapping[str, Fact]) -> str:
    """Write what the answers have in common."""
    reasons = [
        answer.reason for answer in reason.answers if answer.reason.kind not in WINNING_ENDINGS
    ]
    if not reasons:
        return fill_text("rule_end", facts)
    kinds = {reason.kind for reason in reasons}
    key = next((key for key, included in _RULES if kinds <= included), "rule_mixed")
    return fill_text(key, {**facts, "target": reasons[0].facts.get("target", 0)})


def _begin_sentences(text: str) -> str:
    """Write "you" and "your" with a capital letter where a sentence begins."""
    return re.sub(r"(^|[.!?] )you(?=r? )", r"\1You", text)


# Ideas --------------------------------------------------------------------------------------------


class Idea(NamedTuple):
    """An idea: its name, one sentence that introduces it, and an explanation."""

    name: str
    introduction: str
    explanation: str

    @property
    def text(self) -> str:
        """The introduction and the explanation."""
        return f"{self.introduction} {self.explanation}"


def name_idea(reason: Reason) -> str | None:
    """Return the name of the idea behind a reason; None if there is none."""
    if reason.kind == "refuted" and reason.because is not None:
        return name_idea(reason.because)
    return _IDEA_BY_KIND.get(reason.kind)


def get_idea(reason: Reason, noun: str = "block") -> Idea | None:
    """Return the idea behind a reason, in words; None if there is none."""
    return find_idea(name_idea(reason) or "", noun)


def find_idea(name: str, noun: str = "block") -> Idea | None:
    """Return an idea in words; None if there is none of this name."""
    name = _ALIASES.get(name, name)
    if name not in _KINDS_BY_IDEA:
        return None
    intro, text = (fill_text(f"idea_{name}_{part}", {"noun": noun}) for part in ("intro", "text"))
    return Idea(name, intro, text)


def explain_idea(topic: str, noun: str, helpful: Sequence[str]) -> str:
    """Write what an idea is, or that it does not help in a game; empty for unknown names."""
    idea = find_idea(topic, noun)
    if idea is None:
        return ""
    if idea.name in helpful:
        return idea.text
    unhelpful = fill_text("idea_unhelpful", {"idea": fill_text(f"idea_{idea.name}_name", {})})
    if not helpful:
        return unhelpful
    questions = ", ".join(f"why {name}" for name in helpful)
    return f"{unhelpful} {fill_text('idea_helpful', {'questions': questions})}"


def refuse_topic(topic: str, questions: Iterable[str]) -> str:
    """Write that no idea has this name, and what can be asked."""
    return fill_text(
        "idea_unknown", {"topic": format_text(topic, 40), "questions": ", ".join(questions)}
    )


def format_new_idea(idea: Idea | None, introduced: set[str]) -> str:
    """Write a line that introduces an idea; empty if it was introduced before."""
    if idea is None or idea.name in introduced:
        return ""
    introduced.add(idea.name)
    return f"\n{idea.introduction} {fill_text('idea_more', {'idea': idea.name})}"


def introduce_idea(reason: Reason, noun: str, introduced: set[str]) -> Idea | None:
    """Return the idea behind a reason at its first appearance, and add it to `introduced`."""
    idea = get_idea(reason, noun)
    if idea is None or idea.name in introduced:
        return None
    introduced.add(idea.name)
    return idea


# Texts --------------------------------------------------------------------------------------------


def fill_text(key: str, facts: Mapping[str, Fact]) -> str:
    """Fill one of the coach's texts."""
    return load_texts()[key].fill(facts.__getitem__)


@cache
def load_texts() -> dict[str, Template]:
    """Return all texts by their keys."""
    texts = parse_toml(Path(__file__).with_name("sentences.toml").read_bytes(), "sentences.toml")
    return {key: Template(str(text)) for key, text in texts.items()}
