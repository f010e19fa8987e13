"""The coach's words: short sentences with numbers, and no idea is named before it is introduced."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import pytest

import number_tower as nt
from number_tower import Game
from number_tower.coach.hints import hint
from number_tower.coach.reasons import Reason, explain_move
from number_tower.coach.sentences import (
    IDEAS,
    find_idea,
    format_details,
    format_sentence,
    introduce_idea,
    name_idea,
)
from number_tower.solve.solution import Solution
from support.claims import require_idea
from support.command import GOLDEN, run_tower
from support.rulesets import sample_positions
from support.sizes import size

GAMES = ("climb", "draft", "factor", "race", "summit")
MOST_WORDS = 25
MOST_SENTENCES = 4
"""The verdict or the advice, and three sentences of the reason."""

NAMES_OF_IDEAS = re.compile(r"\b(?:pair|partner|multiple|complete)", re.IGNORECASE)
WORDS_BY_IDEA = (
    ("pairs", "pair|partner", 0),
    ("rounds", "multiple|complete", 0),
    ("rounds", "round", 1),
    ("threats", "threat", 0),
)
_ENTRY = r"\d+(?:-\d+)?(?: (?:with \d+|and \d+|needs none|\([^)]*\)))?"
LISTS = re.compile(rf"{_ENTRY}(?:(?:,| \+) (?:{_ENTRY}|and so on))+")


def split_sentences(text: str) -> list[str]:
    return re.split(r"(?<=[.!?]) ", text)


def count_words(sentence: str) -> int:
    """Count words; a list of numbers counts as one."""
    return len(LISTS.sub("1", sentence).split())


def list_texts(solution: Solution) -> Iterator[tuple[str, Reason | None]]:
    """Yield every text about a position, with the reason that it gives."""
    move = hint(solution)
    yield move.nudge("Number Block"), None
    yield move.name_move(), None
    yield move.why("Player 2", "Number Block"), move.reason
    for block in solution.position.legal:
        reason = explain_move(solution, block)
        yield format_sentence(reason, "Player 2", "Number Block"), reason
        yield format_sentence(reason, "Player 2", "Number Block", player="Player 1"), reason


def check_lengths(text: str) -> None:
    for sentence in split_sentences(text):
        assert count_words(sentence) <= MOST_WORDS, text


@pytest.mark.parametrize("name", GAMES)
def test_sentences_are_short_and_have_their_numbers(name: str) -> None:
    rules, number = nt.rules(name), size(40, 400)
    whole = nt.solve(Game(rules))
    for position in islice(dict.fromkeys(sample_positions(rules, number)), number):
        solution = whole.of(position)
        for text, reason in list_texts(solution):
            check_lengths(text)
            assert len(split_sentences(text)) <= MOST_SENTENCES, text
            assert not NAMES_OF_IDEAS.search(text), text
            if reason is not None:
                check_numbers(reason, text)
            else:
                assert not re.search(r"\bround", text), text
        for block in position.legal:
            check_lengths(format_details(explain_move(solution, block), opponent="Player 2"))


OPTIONAL_FACTS = {
    *("towers", "target", "moves", "movers", "way", "rounds", "whole", "modulus", "step", "last"),
    "spare",
}
"""Facts that texts may leave out."""


def check_numbers(reason: Reason, text: str) -> None:
    """What a reason counts stands in its text, here and in the reason that it refers to."""
    numbers = set(re.findall(r"\d+", text))
    assert str(reason.block) in numbers
    facts = dict(reason.facts)
    if reason.because is not None and reason.kind not in {"forced", "threat_or"}:
        check_numbers(reason.because, text)
    if reason.kind in {"exact", "stuck"}:
        facts = {"target": facts["target"]} if reason.kind == "exact" else {}
    for key, value in facts.items():
        if isinstance(value, int) and (
            key not in OPTIONAL_FACTS or reason.kind in {"multiple", "made_up_again"}
        ):
            assert str(value) in numbers, (key, value, text)


CALLS = {
    "learn": ("hint\nhint\nhelp\nskip\n" * 3 + "quit\n", "The answer: "),
    "puzzle --seed 4 --count 3": ("hint\nhelp\nskip\n" * 3, "The answer: "),
    "play": ("hint\nhint\nhint\nwhy more\nhelp\n7\nhint\nhint\nwhy\nhelp\nquit\n", "Play "),
}


@pytest.mark.slow
@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("name", GAMES)
def test_no_idea_is_named_before_it_is_introduced(name: str, call: str) -> None:
    typed, expected = CALLS[call]
    command, *options = call.split()
    done = run_tower(command, name, *options, typed=typed)
    assert expected in done.stdout
    check_introductions(done.stdout)


@pytest.mark.parametrize(
    "path", sorted((GOLDEN / "review").glob("*.txt")), ids=lambda path: path.stem
)
def test_no_review_names_an_idea_before_it_is_introduced(path: Path) -> None:
    check_introductions(path.read_text(encoding="utf-8"))


def check_introductions(text: str) -> None:
    """Check that no line before the one that introduces an idea names it.

    The line right before may speak of rounds.
    """
    # Rules may speak of multiples.
    lines = [line for line in text.splitlines() if not line.startswith("- ")]
    for name, words, before in WORDS_BY_IDEA:
        sentence = re.escape(require_idea(name, "NOUN").introduction).replace("NOUN", "[A-Za-z ]+")
        introductions = [number for number, line in enumerate(lines) if re.search(sentence, line)]
        earlier = "\n".join(lines[: introductions[0] - before] if introductions else lines)
        assert not re.search(rf"\b(?:{words})", earlier, re.IGNORECASE)


@pytest.mark.parametrize("name", IDEAS)
def test_idea_has_a_short_introduction_and_explanation(name: str) -> None:
    idea = require_idea(name, "number")
    assert idea.name == name
    assert len(split_sentences(idea.introduction)) == 1
    check_lengths(f"{idea.introduction} {idea.explanation}")


def test_only_the_first_reason_with_an_idea_introduces_it() -> None:
    introduced: set[str] = set()
    solution = nt.solve(Game(nt.rules("factor")))
    reasons = [explain_move(solution, block) for block in (4, 6)]
    assert [name_idea(reason) for reason in reasons] == ["pairs", "pairs"]
    first, second = (introduce_idea(reason, "number", introduced) for reason in reasons)
    assert first == find_idea("pairs", "number")
    assert second is None


def test_idea_is_found_by_its_name_and_no_other() -> None:
    assert find_idea("pair") == find_idea("pairs")
    assert find_idea("luck") is None
    assert find_idea("") is None
