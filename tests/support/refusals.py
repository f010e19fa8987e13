"""What the product says when it refuses a call, to be compared with a snapshot."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from number_tower.engine.catalogue import Rulebook, RuleFileError
from number_tower.engine.catalogue.rule_file import parse_rulebook

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


def describe_refusal(call: Callable[..., object], *arguments: Any, **options: Any) -> str:
    """Return the kind and the text of the error that a call raises."""
    try:
        call(*arguments, **options)
    except Exception as error:  # noqa: BLE001 - the kind of the error is part of the result
        text = f"{type(error).__name__}: {error}"
        assert text.isprintable()
        return text
    pytest.fail(f"{call} accepted {arguments} {options}")


def describe_refusals(call: Callable[[Any], object], values: Iterable[object]) -> dict[str, str]:
    """Return what a call says about each of these values, none of which it may accept."""
    refusals: dict[str, str] = {}
    for value in values:
        name = repr(value)[:100]
        assert name not in refusals
        refusals[name] = describe_refusal(call, value)
    return refusals


def parse_rule_file(text: str) -> Rulebook:
    """Return the rulebook of a rule file with this text."""
    return parse_rulebook(text.encode(), "mygame", "mygame.toml")


def refuse_rule_file(text: str) -> RuleFileError:
    """Return the error about a rule file with this text."""
    with pytest.raises(RuleFileError) as refused:
        parse_rule_file(text)
    assert str(refused.value).isprintable() == ("\n" not in str(refused.value))
    return refused.value
