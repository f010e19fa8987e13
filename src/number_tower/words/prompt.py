"""Prompts that tell a whole game in words, for readers such as language models, and the reading of their answers."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

from number_tower.blocks import LARGEST_NUMBER, parse_number
from number_tower.brief import describe_rules, explain_refusal
from number_tower.endings import describe_ending
from number_tower.game import Game
from number_tower.position import Refusal
from number_tower.table import Table, Unplaceable
from number_tower.text import format_runs, format_value, make_sentence
from number_tower.voice import get_voice

Misread = Literal["empty", "no_number", "many_numbers"]
"""Why no block can be read from an answer."""

HOW_TO_ANSWER = "End your answer with the number that you place, in square brackets: [number]"

_LONGEST_ANSWER = 100_000
"""Characters of an answer that are read: the last ones, where the block should be."""

_FEW = 30
"""Numbers that are written one by one; more are written in runs."""

_CUT = re.compile(r"^[^\s\[]*")
"""The rest of a word or number at the beginning of a cut text."""

_BRACKETED = re.compile(r"\[\s*([0-9]+)\s*\]")
_WORD = re.compile(r"[\w.,:+*/-]+")
_DIGIT = re.compile(r"[0-9]")
_AROUND = ".,:;*_'\""
"""Punctuation and emphasis around a number."""


class AnswerCheck(NamedTuple):
    """The block that an answer names, if it can be placed; otherwise the problem, in words and as a reason."""

    block: int | None
    problem: str | None = None
    reason: Refusal | Unplaceable | Misread | None = None


def write_prompt(table: Table, *, legal: bool = True, problem: str | None = None) -> str:
    """Write a prompt that asks the player to move for a block; `problem` is what was wrong with the last answer."""
    parts = [write_rules(table), write_situation(table, legal=legal)]
    if problem is not None:
        parts.append(f"Your last answer could not be used. {make_sentence(problem)}")
    return "\n\n".join([*parts, HOW_TO_ANSWER])


def write_rules(table: Table) -> str:
    """Write the rules of the game."""
    voice = get_voice(table.book)
    one, other = (voice.get_name(table, player) for player in (0, 1))
    return "\n".join(
        [
            f"A game for two, {one} and {other}, who take turns.",
            *describe_rules(table.game.rules, voice.noun.lower(), literal=True),
        ]
    )


def write_situation(table: Table, *, legal: bool = True) -> str:
    """Write how the game stands: the moves so far, the towers, the blocks left, and whose turn it is."""
    return "\n".join(_list_situation(table, legal=legal))


def check_answer(table: Table, answer: object, *, legal: bool = True) -> AnswerCheck:
    """Return the block that an answer names, if it can be placed now; otherwise the problem and what could be placed.

    An answer is a number, or a text with it: the last number in square brackets or, without brackets, the only one.
    """
    block = read_answer(answer)
    could = f"; you may place {format_blocks(table.legal)}" if legal and table.legal else ""
    if not isinstance(block, int):
        return AnswerCheck(None, f"{_MISREAD[block]}{could}", block)
    refusal = table.refusal(block)
    if refusal is None:
        return AnswerCheck(block)
    what = format_value(block) if block <= LARGEST_NUMBER else "so large a number"
    return AnswerCheck(
        None,
        f"{what} cannot be placed: it {explain_refusal(table.game, block, refusal)}{could}",
        refusal,
    )


def read_answer(answer: object) -> int | Misread:
    """Return the number that an answer names, legal or not, or why none can be read from it."""
    if isinstance(answer, int) and not isinstance(answer, bool):
        return answer
    if not isinstance(answer, str):
        return "empty" if answer is None else "no_number"
    if not answer.strip():
        return "empty"
    text = answer if len(answer) <= _LONGEST_ANSWER else _CUT.sub("", answer[-_LONGEST_ANSWER:])
    found = _BRACKETED.findall(text)[-1:] or list(dict.fromkeys(_find_numbers(text)))
    if len(found) > 1:
        return "many_numbers"
    number = parse_number(found[0]) if found else None
    return "no_number" if number is None else number


def _find_numbers(text: str) -> Iterator[str]:
    """Yield everything written in digits, whole numbers or not; words that contain digits are left out."""
    for word in filter(_DIGIT.search, _WORD.findall(text)):
        figure = word.strip(_AROUND)
        if not any(map(str.isalpha, figure)):
            yield figure


_MISREAD: dict[Misread, str] = {
    "empty": "the answer was empty; expected a number in square brackets",
    "no_number": "no whole number in plain digits was found in the answer; expected one in square brackets",
    "many_numbers": "the answer has several numbers; expected the one to place in square brackets",
}


def format_blocks(blocks: Sequence[int]) -> str:
    """Write numbers one by one, or in runs if they are many."""
    return (
        ", ".join(map(str, blocks))
        if len(blocks) <= _FEW
        else format_runs(blocks).replace(",", ", ")
    )


# How a game stands ----------------------------------------------------------------------------------------------------


def _list_situation(table: Table, *, legal: bool) -> Iterator[str]:
    game, voice = table.game, get_voice(table.book)
    names = [voice.get_name(table, player) for player in (0, 1)]
    yield _describe_moves(game, names)
    for player, tower in enumerate(game.towers[: 1 if game.rules.towers == "shared" else 2]):
        whose = "The tower" if game.rules.towers == "shared" else f"{names[player]}'s tower"
        stands = (
            f"{', '.join(map(str, tower))} (height {game.heights[player]})"
            if tower
            else "empty (height 0)"
        )
        yield f"{whose}, from the ground up: {stands}"
    yield from _describe_left(table, names, f"{voice.noun[:1].upper()}{voice.noun[1:].lower()}s")
    if table.outcome is not None:
        ending = describe_ending(table.game, table.outcome, names, voice.noun.lower())
        yield f"The game is over. {ending}"
        return
    yield f"You are {names[game.to_move]}, and it is your turn."
    if legal and table.legal is not None:
        yield f"You may place: {format_blocks(table.legal)}"


def _describe_moves(game: Game, names: list[str]) -> str:
    if not game.moves:
        return "No move has been made yet."
    made = ", ".join(
        f"{names[mover]} placed {block}"
        for mover, block in zip(game.movers, game.moves, strict=True)
    )
    skipped = (
        f"; {names[1 - game.to_move]} had to skip"
        if any(each.kind == "skipped" for each in game.events)
        else ""
    )
    return f"Moves so far: {made}{skipped}"


def _describe_left(table: Table, names: list[str], nouns: str) -> Iterator[str]:
    if table.hidden:
        yield f"{nouns} that are left are hidden."
        return
    left = [format_blocks(table.left(player) or ()) or "none" for player in (0, 1)]
    match table.game.rules.supply:
        case "own":
            yield from (
                f"{nouns} that {name} has left: {blocks}"
                for name, blocks in zip(names, left, strict=True)
            )
        case "shared":
            yield f"{nouns} left: {left[0]}"
        case "endless":
            yield f"{nouns}, each as often as you like: {left[0]}"
