"""Actions in a room, for pages and programs alike: they are parsed here, and performed."""

from __future__ import annotations

from typing import Annotated

from fastapi import Request
from fastapi.exceptions import RequestValidationError
from pydantic import Field, TypeAdapter, ValidationError
from starlette.datastructures import FormData

from number_tower.blocks import classify_misread, parse_number
from number_tower.coach.hints import HintText
from number_tower.errors import NumberTowerError
from number_tower.room import Action, TakeHint
from number_tower.store.rooms import Credentials, StoredRoom
from number_tower.text import format_text
from number_tower.voice import get_voice, join_messages
from number_tower.web.lobby import Lobby
from number_tower.web.questions import ask_for_hint
from number_tower.web.rates import THINKING, charge

LONGEST_ANSWER = 40
"""Characters of an answer that is no number, where the page repeats it."""

ACTIONS: TypeAdapter[Action] = TypeAdapter(Annotated[Action, Field(discriminator="do")])


class InvalidAnswerError(NumberTowerError, ValueError):
    """An answer in a form that is no action, and what would be one."""


async def parse_json(request: Request) -> Action:
    """Parse an action that a program sent."""
    try:
        return ACTIONS.validate_json(await request.body(), strict=True, extra="forbid")
    except ValidationError as error:
        # The first part of a place is the kind of action, which is no part of the document.
        wrong = [{**each, "loc": ("body", *each["loc"][1:])} for each in error.errors()]
        raise RequestValidationError(wrong) from None


def parse_form(do: str, form: FormData, stored: StoredRoom) -> Action:
    """Parse an action that a page sent, for the present game and version unless the form says otherwise."""
    table = stored.room.table
    fields: dict[str, object] = {"game": stored.room.number, "version": table.version}
    for name, value in form.items():
        number = parse_number(str(value))
        fields[name] = str(value) if number is None else number
    block = fields.get("block", "")
    if do == "move" and isinstance(block, str):
        answer = format_text(block.strip(), LONGEST_ANSWER)
        message = get_voice(table.book).refuse(table, classify_misread(block.strip()), answer)
        raise InvalidAnswerError(join_messages(message).replace(", or help", ""))
    try:
        return ACTIONS.validate_python({**fields, "do": do}, extra="ignore")
    except ValidationError:
        text = "That is not possible here. Please use the buttons on this page."
        raise InvalidAnswerError(text) from None


async def perform(
    request: Request, address: str, credentials: Credentials, action: Action
) -> tuple[StoredRoom, HintText | None]:
    """Perform an action; return the room after it, and the hint if it asks for one."""
    lobby: Lobby = request.app.state.lobby
    hint = None
    if isinstance(action, TakeHint):
        charge(request, THINKING)
        stored = await lobby.find_room(address)
        stored.room.apply(stored.find_seats(credentials), action)  # refuses it before the search
        hint = await ask_for_hint(request, stored, action.step)
    return await lobby.act(address, credentials, action), hint
