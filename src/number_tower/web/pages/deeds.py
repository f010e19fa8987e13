"""What a form of a room asks for, and in the game's words why it cannot be had."""

from __future__ import annotations

from typing import TYPE_CHECKING

from number_tower.blocks import misread, whole_number
from number_tower.room import Accept, Decline, Move, Offering, Rematch, Resign, Undo
from number_tower.showing import shown_text
from number_tower.web.story import words

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.datastructures import FormData

    from number_tower.position import MoveError
    from number_tower.room import Action
    from number_tower.web.lobby import Known

LONGEST_ANSWER = 40
_PLAIN: dict[str, Callable[[int], Action]] = {
    "resign": Resign,
    "accept": Accept,
    "decline": Decline,
    "rematch": Rematch,
}


class Unanswerable(ValueError):  # noqa: N818 - named for what it says
    """An answer that is no move, and what would be."""


def action(deed: str, form: FormData, known: Known) -> Action:
    """Return what a form asks for, by the last part of its address."""
    match deed:
        case "move":
            return Move(_version(form, known), _block(form, known), _game(form, known))
        case "undo":
            return Undo(_version(form, known), _game(form, known))
        case "offer":
            return Offering("rematch" if form.get("kind") == "rematch" else "takeback", _game(form, known))
        case _ if deed in _PLAIN:
            return _PLAIN[deed](_game(form, known))
        case _:
            raise Unanswerable("That cannot be done here.")


def _block(form: FormData, known: Known) -> int:
    """Read the number that was typed or pressed, or say in the game's words why it is none."""
    given = str(form.get("block", "")).strip()
    number = whole_number(given)
    if number is not None:
        return number
    answer = shown_text(given, LONGEST_ANSWER)
    said = known.voice.refuse(known.room.table, misread(given), answer)
    raise Unanswerable(words(said).replace(", or help", ""))


def refusal(known: Known, refused: MoveError) -> str:
    """Say why a block cannot be placed."""
    table = known.room.table
    reason = table.refusal(refused.block) or refused.reason
    return words(known.voice.refuse(table, reason, f"{refused.block}", refused.block))


def _version(form: FormData, known: Known) -> int:
    version = whole_number(str(form.get("version", "")))
    return known.room.table.version if version is None else version


def _game(form: FormData, known: Known) -> int:
    return whole_number(str(form.get("game", ""))) or known.room.number
