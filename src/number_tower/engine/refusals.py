"""Why a block cannot be placed, and the short words for it."""

from typing import Literal, NamedTuple

Refusal = Literal["not_a_block", "over", "used", "opening", "fit", "target"]
"""Why a block cannot be placed now."""

Unplaceable = Literal["unavailable"]
"""The only reason given for a used block where blocks are hidden."""


class RefusalText(NamedTuple):
    """Short words for a refused block.

    A voice has whole sentences, in `plain.toml` and rule files.
    """

    clause: str
    """To follow "it" or "which"."""
    label: str
    """To follow a number of such answers."""


REFUSALS: dict[Refusal | Unplaceable, RefusalText] = {
    "not_a_block": RefusalText("is not a block of this game", "not a block of the game"),
    "over": RefusalText("comes after the end of the game", "after the end"),
    "used": RefusalText("has been used already", "already used"),
    "unavailable": RefusalText("is not available", "not available"),
    "opening": RefusalText("may not start a tower", "not a permitted opening"),
    "fit": RefusalText("does not fit", "did not fit"),
    "target": RefusalText("passes the target", "past the target"),
}
