"""Parse and perform actions in a room, for pages and for programs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

from fastapi import Request
from fastapi.exceptions import RequestValidationError
from pydantic import Field, TypeAdapter, ValidationError
from starlette.datastructures import FormData

from number_tower.coach.hints import HintText, give_hint
from number_tower.engine.blocks import classify_misread, parse_number
from number_tower.rooms.room import Action, TakeHint
from number_tower.store.rooms import Credentials, StoredRoom
from number_tower.support.errors import NumberTowerError
from number_tower.support.text import format_text
from number_tower.web.http.middleware.browser_cookie import get_browser_session
from number_tower.web.http.rates import THINKING, charge
from number_tower.web.parts import get_parts
from number_tower.words.voice import get_voice, join_messages

MAX_ANSWER_LENGTH = 40
"""A page repeats at most this many characters of an answer that is not a number."""

ACTIONS: TypeAdapter[Action] = TypeAdapter(Annotated[Action, Field(discriminator="do")])


class InvalidAnswerError(NumberTowerError, ValueError):
    """An answer in a form that is no action, and what would be one."""


def get_credentials(request: Request) -> Credentials:
    """Return the secrets by which a browser holds its seats."""
    return Credentials(browsers=get_browser_session(request).secrets)


async def parse_json(request: Request) -> Action:
    """Parse an action that a program sent."""
    try:
        return ACTIONS.validate_json(await request.body(), strict=True, extra="forbid")
    except ValidationError as error:
        # The first part of a location is the kind of action, which is no part of the document.
        mistakes = [{**mistake, "loc": ("body", *mistake["loc"][1:])} for mistake in error.errors()]
        raise RequestValidationError(mistakes) from None


def parse_form(do: str, form: FormData, stored: StoredRoom) -> Action:
    """Parse an action that a page sent, by default for the present game and version."""
    table = stored.room.table
    fields: dict[str, object] = {"game": stored.room.number, "version": table.version}
    for name, value in form.items():
        number = parse_number(str(value))
        fields[name] = str(value) if number is None else number
    block = fields.get("block", "")
    if do == "move" and isinstance(block, str):
        answer = format_text(block.strip(), MAX_ANSWER_LENGTH)
        message = get_voice(table.book).refuse(table, classify_misread(block.strip()), answer)
        raise InvalidAnswerError(join_messages(message).replace(", or help", ""))
    try:
        return ACTIONS.validate_python({**fields, "do": do}, extra="ignore")
    except ValidationError:
        text = "That is not possible here. Please use the buttons on this page."
        raise InvalidAnswerError(text) from None


async def perform(
    request: Request,
    address: str,
    credentials: Credentials,
    do: str,
    read_action: Callable[[StoredRoom], Action],
) -> tuple[StoredRoom, HintText | None]:
    """Perform an action, which may depend on its room; return the room after it, and any hint."""
    lobby = get_parts(request).lobby
    if do != "hint":
        return await lobby.act(address, credentials, read_action), None
    charge(request, THINKING)
    stored = await lobby.find_room(address)
    action = read_action(stored)
    assert isinstance(action, TakeHint)  # noqa: S101 - that is what the name stands for
    stored.room.apply(stored.find_seats(credentials), action)  # refuses it before the search
    hint = await get_parts(request).workers.ask(give_hint, stored.room.table, action.step)
    return await lobby.act(address, credentials, action), hint
