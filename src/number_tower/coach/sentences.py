"""Reasons in words: sentences for the player who makes a move or about both by name, and the ideas behind them.

The words are keyed texts in `words.toml`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from itertools import pairwise
from typing import NamedTuple

from number_tower.catalogue import parse_toml
from number_tower.coach.patterns import MAX_ANSWERS, Answer, Reason
from number_tower.solve.worth import Value
from number_tower.text import Template, format_list, format_text, summarize_numbers
from number_tower.text import Value as Fact

_LONGEST_WAY = 6
"""Blocks of a way to the target that are listed."""

_MOST_TOLD = 5
"""Moves of a line that are told with the name of the player of each."""

_LOSSES = {"lower", "refuted", "too_low", "loss", "loss_line", "loss_long"}
_DRAWS = {"level", "blocked_draw", "draw", "draw_line", "draw_long"}

_PLANS = {"plan", "plan_careful", "plan_ahead"}
_ENDINGS = {"exact", "stuck", "higher"}
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
_ALIASES = {
    "pair": "pairs",
    "round": "rounds",
    "sum": "sums",
    "count": "counting",
    "threat": "threats",
}
_ALIASES |= {"answer": "answers", "plan": "plans"}


def get_value(reason: Reason) -> Value:
    """Return the value of the move that a reason explains."""
    return "loss" if reason.kind in _LOSSES else "draw" if reason.kind in _DRAWS else "win"


def format_sentence(reason: Reason, opponent: str, noun: str, *, player: str = "you") -> str:
    """Write whether a move wins, and why: "12 wins. That leaves 18 steps to 30. ...".

    Examples:
        >>> from number_tower.coach.reasons import explain_move
        >>> reason = explain_move(nt.solve(nt.Game(nt.Rules(target=15), moves=(9,))), 5)
        >>> format_sentence(reason, "Ann", "block")
        '5 loses: Ann can answer 1. That takes the tower to exactly 15.'
    """
    why = format_reason(reason, opponent=opponent, player=player, noun=noun)
    key = "verdict_refuted" if reason.kind == "refuted" else f"verdict_{get_value(reason)}"
    verdict = fill_text(key, {"block": reason.block, "why": why})
    return verdict if key == "verdict_refuted" else f"{verdict} {why}"


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
    return f"{fill_text(key, {'block': reason.block})} {format_reason(reason, opponent=opponent, noun=noun)}"


def format_reason(
    reason: Reason, *, opponent: str, player: str = "you", noun: str = "block"
) -> str:
    """Write why a move has its value, in at most three sentences; a refutation has one more."""
    facts = _collect_facts(reason, player, opponent, noun)
    if reason.because is not None and reason.kind not in {"forced", "threat_or"}:
        same = reason.because.mover == reason.mover
        names = (player, opponent) if same else (opponent, player)
        facts["because"] = format_reason(
            reason.because, player=names[0], opponent=names[1], noun=noun
        )
    return _begin_sentences(fill_text(_choose_key(reason), facts))


def format_details(
    reason: Reason, *, opponent: str, player: str = "you", noun: str = "block"
) -> str:
    """Write what a reason leaves out: why each answer wins, or all pairs; empty if that is nothing."""
    if reason.kind == "refuted" and reason.because is not None:
        return format_details(reason.because, opponent=player, player=opponent, noun=noun)
    if reason.kind == "pairs":
        facts = _collect_facts(reason, player, opponent, noun)
        matching = (
            fill_text("why_pairs_all", facts)
            if reason.facts["replies"] and reason.facts["matched"]
            else ""
        )
        spare = fill_text("more_pairs", facts) if reason.facts["spare"] else ""
        return _begin_sentences(f"{matching} {spare}".strip())
    if reason.kind != "answers_rule":
        return ""
    return _begin_sentences(
        " ".join(_format_answer(answer, player, opponent, noun) for answer in reason.answers)
    )


def _format_answer(answer: Answer, player: str, opponent: str, noun: str) -> str:
    facts: dict[str, Fact] = {
        "reply": answer.reply,
        "clause": _format_clause(answer.reason, player, opponent, noun),
    }
    if answer.block is None:
        return fill_text("more_reply", facts)
    return fill_text("more_answer", {**facts, "answer": answer.block})


def _choose_key(reason: Reason) -> str:
    """Return the text of a reason; some kinds have several."""
    variant = ""
    if reason.kind in {"out_of_reach", "too_low"} and not reason.facts["room"]:
        variant = "_stuck"
    elif reason.kind == "pairs" and not reason.facts["replies"]:
        variant = "_all"
    elif reason.kind == "threat" and reason.facts["unfit"]:
        variant = "_unfit"
    elif reason.kind == "outlasts" and reason.facts["mine"] == reason.facts["theirs"]:
        variant = "_level"
    elif len(_get_numbers(reason, "movers")) > _MOST_TOLD:
        variant = "_many"
    elif reason.kind in {"forced", "threat_or"}:
        variant = "_plan" if _starts_plan(reason) else "" if "answer" in reason.facts else "_end"
    return f"why_{reason.kind}{variant}"


def _starts_plan(reason: Reason) -> bool:
    return reason.because is not None and reason.because.kind in _PLANS


def _collect_facts(reason: Reason, player: str, opponent: str, noun: str) -> dict[str, Fact]:
    """Return the fields of a reason's text, but `because`."""
    facts: dict[str, Fact] = {
        **reason.facts,
        **_name_players(player, opponent),
        "noun": noun,
        "reach": "",
    }
    facts["such"] = _format_way(
        _get_numbers(reason, "way"), " with {}" if "blocked" in reason.kind else " ({})"
    )
    facts["both"] = "you can each" if "you" in {player, opponent} else "Both can"
    facts["up_to"] = "" if reason.facts.get("mine") == 1 else "up to "
    facts["tower"] = (
        "the tower" if reason.facts.get("towers") == "shared" else f"{facts['own']} tower"
    )
    facts["answers"] = _format_answers(reason)
    facts["matching"] = _format_pairs(_get_numbers(reason, "matched"))
    if room := _get_numbers(reason, "room"):
        facts["room"] = (
            format_list(room) if len(room) <= MAX_ANSWERS else summarize_numbers(room, ", ")
        )
    names = (player, opponent) if reason.mover == 0 else (opponent, player)
    moves, movers = _get_numbers(reason, "moves"), _get_numbers(reason, "movers")
    facts["line"] = format_moves(moves, movers, names, previous=reason.mover)
    facts["told"] = _tell_moves(moves, movers, names) if len(moves) <= _MOST_TOLD else ""
    if spare := _get_numbers(reason, "spare"):
        facts |= {"spare": format_list(spare), "spare_is": "is" if len(spare) == 1 else "are"}
        facts["such_one"] = "it" if len(spare) == 1 else "one of them"
    if reason.kind == "multiple":
        facts["times"] = fill_text("multiple_times", facts) if reason.facts["rounds"] != 1 else ""
        facts["second"] = _format_second_step(int(str(reason.facts["step"])))
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
    facts = [
        {**_name_players(names[mover], ""), "block": move}
        for move, mover in zip(moves, movers, strict=True)
    ]
    return ", ".join(fill_text("line_move", each) for each in facts)


def _format_second_step(step: int) -> str:
    """Write the answer to a climb of 2, after that to a climb of 1; empty if no more than 1 may be climbed."""
    return "" if step == 1 else fill_text("multiple_second", {"rest": step - 1})


def _format_plan(plans: Sequence[Reason], player: str, opponent: str, noun: str) -> str:
    """Write the rule that is a plan in some positions alike, but not how it ends."""
    plan = next((plan for plan in plans if plan.facts["first"]), plans[0])
    return format_reason(
        plan._replace(facts={**plan.facts, "end": ""}), player=player, opponent=opponent, noun=noun
    )


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


def _format_pairs(numbers: Sequence[int]) -> str:
    """Write numbers two by two: 1 and 7, 2 and 6."""
    return ", ".join(
        f"{one} and {other}" for one, other in zip(numbers[::2], numbers[1::2], strict=True)
    )


def _format_way(way: Sequence[int], form: str) -> str:
    return form.format(" + ".join(map(str, way))) if 0 < len(way) <= _LONGEST_WAY else ""


def format_moves(
    moves: Iterable[int],
    movers: Sequence[int],
    names: tuple[str, str],
    *,
    previous: int | None = None,
) -> str:
    """Write moves; with the players' names, unless they take turns. `previous` is who moved before them."""
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
    facts: dict[str, Fact] = {
        **reason.facts,
        **_name_players(player, opponent),
        "noun": noun,
        "block": reason.block,
    }
    shares_one_tower = (
        reason.kind == "stuck" and facts["towers"] == "shared" and not facts["target"]
    )
    return fill_text("clause_stuck_on" if shares_one_tower else f"clause_{reason.kind}", facts)


def _format_rule(reason: Reason, facts: Mapping[str, Fact]) -> str:
    """Write what the answers have in common."""
    reasons = [answer.reason for answer in reason.answers if answer.reason.kind not in _ENDINGS]
    kinds = {each.kind for each in reasons}
    key = (
        next((key for key, included in _RULES if kinds <= included), "rule_mixed")
        if kinds
        else "rule_end"
    )
    return fill_text(key, {**facts, "target": reasons[0].facts.get("target", 0) if reasons else 0})


def _begin_sentences(text: str) -> str:
    """Write "you" and "your" with a capital letter where a sentence begins."""
    return re.sub(r"(^|[.!?] )you(?=r? )", r"\1You", text)


# Ideas ----------------------------------------------------------------------------------------------------------------


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
    """Write what an idea is, or that it does not help in a game and what does; empty if no idea has this name."""
    idea = find_idea(topic, noun)
    if idea is None or idea.name in helpful:
        return "" if idea is None else idea.text
    unhelpful = fill_text("idea_unhelpful", {"idea": fill_text(f"idea_{idea.name}_name", {})})
    questions = ", ".join(f"why {name}" for name in helpful)
    return (
        f"{unhelpful} {fill_text('idea_helpful', {'questions': questions})}"
        if questions
        else unhelpful
    )


def refuse_topic(topic: str, questions: Iterable[str]) -> str:
    """Write that no idea has this name, and what can be asked."""
    return fill_text(
        "idea_unknown", {"topic": format_text(topic, 40), "questions": ", ".join(questions)}
    )


def format_new_idea(idea: Idea | None, introduced: set[str]) -> str:
    """Write a line that introduces an idea, and how to ask for more; empty if it was introduced before."""
    new = _introduce(idea, introduced)
    return (
        "" if new is None else f"\n{new.introduction} {fill_text('idea_more', {'idea': new.name})}"
    )


def introduce_idea(reason: Reason, noun: str, introduced: set[str]) -> Idea | None:
    """Return the idea behind a reason the first time that it appears, and add it to those introduced."""
    return _introduce(get_idea(reason, noun), introduced)


def _introduce(idea: Idea | None, introduced: set[str]) -> Idea | None:
    if idea is None or idea.name in introduced:
        return None
    introduced.add(idea.name)
    return idea


# Texts ----------------------------------------------------------------------------------------------------------------


def fill_text(key: str, facts: Mapping[str, Fact]) -> str:
    """Fill one of the coach's texts."""
    return load_texts()[key].fill(facts.__getitem__)


@cache
def load_texts() -> dict[str, Template]:
    """Return all texts by their keys."""
    with open(os.path.join(os.path.dirname(__file__), "words.toml"), "rb") as stream:
        texts = parse_toml(stream.read(), "words.toml")
    return {key: Template(str(text)) for key, text in texts.items()}
