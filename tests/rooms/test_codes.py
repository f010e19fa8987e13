"""Short codes: read from a screen, typed by anyone, never rude."""

from __future__ import annotations

from itertools import product
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from number_tower.rooms.codes import (
    ALPHABET,
    LENGTH,
    RUDE_PARTS,
    CodeError,
    make_code,
    normalize_code,
)


def draw_code(seed: int) -> str:
    return make_code(Random(seed))  # noqa: S311 - the same codes in every run


def codes() -> st.SearchStrategy[str]:
    return st.integers(0, 2**32).map(draw_code)


@given(codes())
def test_code_has_five_characters_that_are_not_confused(code: str) -> None:
    assert len(code) == LENGTH == 5
    assert set(code) <= set(ALPHABET)
    assert not set(code) & set("AEIOUYLBSVZ012568")
    assert not any(part in code for part in RUDE_PARTS)


@given(codes(), st.data())
def test_code_is_read_in_any_spelling(code: str, data: st.DataObject) -> None:
    spaced = "".join(
        data.draw(st.sampled_from(["", " ", "-", " – ", ".", "\t"])) + character
        for character in code
    )
    assert (
        normalize_code(spaced)
        == normalize_code(code.lower())
        == normalize_code(f" {code}\n")
        == code
    )


def test_character_that_no_code_has_counts_as_the_one_it_resembles() -> None:
    assert normalize_code("oQ06a") == "DDDG4"
    assert normalize_code("cdfge") == "CDFG3"


@pytest.mark.parametrize("text", ["", "CDFG", "CDFGHJ", "CDFG CDFG", "      "])
def test_text_of_another_length_is_refused(text: str) -> None:
    with pytest.raises(CodeError, match="a code has 5 letters or digits, such as"):
        normalize_code(text)


@pytest.mark.parametrize("character", [*"ILUVYSZB1258", "ß", "é", "٣", "\x00", "／"])
def test_unknown_character_is_refused(character: str) -> None:
    with pytest.raises(CodeError):
        normalize_code(f"CDFG{character}")


@given(st.text())
def test_any_text_is_a_code_or_refused(text: str) -> None:
    try:
        code = normalize_code(text)
    except CodeError:
        return
    assert normalize_code(code) == code
    assert set(code) <= set(ALPHABET)


def test_rude_words_are_not_drawn() -> None:
    assert all(set(part) <= set(ALPHABET) and part == part.upper() for part in RUDE_PARTS)

    class Stubborn(Random):
        """Draws every rude part first."""

        drawn = iter([*(f"{part:C<5}"[:5] for part in RUDE_PARTS if len(part) <= 5), "CDFGH"])

        def choices(self, *_: object, **__: object) -> list[Any]:
            return list(next(self.drawn))

    assert make_code(Stubborn()) == "CDFGH"


def test_few_codes_are_rude_and_few_repeat() -> None:
    refused = sum(
        any(part in "".join(code) for part in RUDE_PARTS) for code in product(ALPHABET, repeat=3)
    )
    assert refused < len(ALPHABET) ** 3 / 50
    assert len({draw_code(seed) for seed in range(2000)}) > 1990
