"""Prompts that tell language models a whole game, and how to read their answers."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal, NamedTuple

from number_tower.engine.blocks import MAX_NUMBER, parse_number
from number_tower.engine.refusals import Refusal, Unplaceable
from number_tower.engine.table import Table
from number_tower.support.text import format_runs, format_value, make_sentence
from number_tower.words.brief import describe_rules, explain_refusal
from number_tower.words.endings import describe_ending
from number_tower.words.voice import get_voice

Misread = Literal["empty", "no_number", "many_numbers"]
"""Why no block can be read from an answer."""

HOW_TO_ANSWER = "End your answer with the number that you place, in square brackets: [number]"

_MAX_ANSWER = 100_000
"""Characters of an answer that are read: the last ones, where the block should be."""

_MAX_SINGLE = 30
"""Numbers that are written one by one; more are written in runs."""

_CUT = re.compile(r"^[^\s\[]*")
"""The rest of a word or number at the beginning of a cut text."""

_BRACKETED = re.compile(r"\[\s*([0-9]+)\s*\]")
_WORD = re.compile(r"[\w.,:+*/-]+")
_DIGIT = re.compile(r"[0-9]")
_AROUND = ".,:;*_'\""
"""Punctuation and emphasis around a number."""


class AnswerCheck(NamedTuple):
    """The block that an answer names, if it can be placed; otherwise the problem and its reason."""

    block: int | None
    problem: str | None = None
    reason: Refusal | Unplaceable | Misread | None = None


def write_prompt(table: Table, *, legal: bool = True, problem: str | None = None) -> str:
    """Write a prompt that asks for a block; `problem` is what was wrong with the last answer."""
    parts = [write_rules(table), write_situation(table, legal=legal)]
    if problem is not None:
        parts.append(f"Your last answer could not be used. {make_sentence(problem)}")
    return "\n\n".join([*parts, HOW_TO_ANSWER])


def write_rules(table: Table) -> str:
    """Write the rules of the game."""
    voice = get_voice(table.book)
    one, other = (voice.get_name(table, player) for player in (0, 1))
    start = f"A game for two, {one} and {other}, who take turns."
    return "\n".join((start, *describe_rules(table.game.rules, voice.noun.lower(), literal=True)))


def write_situation(table: Table, *, legal: bool = True) -> str:
    """Write how the game stands: the moves so far, towers, blocks left, and whose turn it is."""
    game, voice = table.game, get_voice(table.book)
    names = [voice.get_name(table, player) for player in (0, 1)]
    lines = ["No move has been made yet."]
    if game.moves:
        moves = zip(game.movers, game.moves, strict=True)
        text = ", ".join(f"{names[mover]} placed {block}" for mover, block in moves)
        if any(event.kind == "skipped" for event in game.events):
            text += f"; {names[1 - game.to_move]} had to skip"
        lines = [f"Moves so far: {text}"]
    for player, tower in enumerate(game.towers[: 1 if game.rules.towers == "shared" else 2]):
        whose = "The tower" if game.rules.towers == "shared" else f"{names[player]}'s tower"
        blocks = ", ".join(map(str, tower)) or "empty"
        lines.append(f"{whose}, from the ground up: {blocks} (height {game.heights[player]})")
    nouns = f"{voice.noun[:1].upper()}{voice.noun[1:].lower()}s"
    left = [format_blocks(table.left(player) or ()) or "none" for player in (0, 1)]
    if table.hidden:
        lines.append(f"{nouns} that are left are hidden.")
    elif game.rules.supply == "own":
        lines += [f"{nouns} that {names[player]} has left: {left[player]}" for player in (0, 1)]
    elif game.rules.supply == "shared":
        lines.append(f"{nouns} left: {left[0]}")
    else:
        lines.append(f"{nouns}, each as often as you like: {left[0]}")
    if table.outcome is not None:
        ending = describe_ending(game, table.outcome, names, voice.noun.lower())
        lines.append(f"The game is over. {ending}")
    else:
        lines.append(f"You are {names[game.to_move]}, and it is your turn.")
        if legal and table.legal is not None:
            lines.append(f"You may place: {format_blocks(table.legal)}")
    return "\n".join(lines)


def check_answer(table: Table, answer: object, *, legal: bool = True) -> AnswerCheck:
    """Return the block that an answer names, if it can be placed now; otherwise what is wrong.

    An answer is a number, or a text with it: the last number in square brackets or, without
    brackets, the only one. The problem also says what could be placed, unless `legal` is False.
    """
    block = read_answer(answer)
    could = f"; you may place {format_blocks(table.legal)}" if legal and table.legal else ""
    if not isinstance(block, int):
        return AnswerCheck(None, f"{_MISREAD[block]}{could}", block)
    refusal = table.refusal(block)
    if refusal is None:
        return AnswerCheck(block)
    what = format_value(block) if block <= MAX_NUMBER else "so large a number"
    why = explain_refusal(table.game, block, refusal)
    return AnswerCheck(None, f"{what} cannot be placed: it {why}{could}", refusal)


def read_answer(answer: object) -> int | Misread:
    """Return the number that an answer names, legal or not, or why none can be read from it."""
    if isinstance(answer, int) and not isinstance(answer, bool):
        return answer
    if not isinstance(answer, str):
        return "empty" if answer is None else "no_number"
    if not answer.strip():
        return "empty"
    text = answer if len(answer) <= _MAX_ANSWER else _CUT.sub("", answer[-_MAX_ANSWER:])
    numbers = set(_BRACKETED.findall(text)[-1:])
    if not numbers:
        # Without brackets, every word of digits counts, whole numbers or not; "9b" does not.
        words = {word.strip(_AROUND) for word in _WORD.findall(text) if _DIGIT.search(word)}
        numbers = {word for word in words if not any(map(str.isalpha, word))}
    if len(numbers) > 1:
        return "many_numbers"
    number = parse_number(numbers.pop()) if numbers else None
    return "no_number" if number is None else number


_MISREAD: dict[Misread, str] = {
    "empty": "the answer was empty; expected a number in square brackets",
    "no_number": "no whole number in plain digits was found in the answer; "
    "expected one in square brackets",
    "many_numbers": "the answer has several numbers; expected the one to place in square brackets",
}


def format_blocks(blocks: Sequence[int]) -> str:
    """Write numbers one by one, or in runs if they are many."""
    if len(blocks) <= _MAX_SINGLE:
        return ", ".join(map(str, blocks))
    return format_runs(blocks).replace(",", ", ")
