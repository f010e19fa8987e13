"""The page where a short code is typed: it leads to the free seat or the class that has the code."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from fastapi import APIRouter, HTTPException, Request
from fastapi.responses import RedirectResponse, Response

from number_tower.short_codes import CodeError, normalize_code
from number_tower.store import rooms
from number_tower.text import format_text, make_sentence
from number_tower.web.lobby import Lobby
from number_tower.web.pages import read_form, render_page
from number_tower.web.rates import charge_wrong_code

router = APIRouter(include_in_schema=False)

_LONGEST_GIVEN = 40
"""Characters of what was typed that the page repeats."""


@router.get("/join")
async def show_code_form(request: Request) -> Response:
    """Show the form, filled in from the address."""
    return _render_form(request, request.query_params.get("code", ""))


@router.post("/join")
async def follow_code(request: Request) -> Response:
    """Redirect to what a code leads to; an address that sends too many wrong ones has to wait."""
    lobby: Lobby = request.app.state.lobby
    given = str((await read_form(request)).get("code", "")).strip()
    if not given:
        return _render_form(request, "", "Please type the code that you were given.", 422)
    try:
        code = normalize_code(given)
        path = await lobby.database.read(partial(rooms.find_code, code=code))
    except CodeError as error:
        wrong, status = make_sentence(f"{error}"), 422
    else:
        if path is not None:
            return RedirectResponse(path, 303)
        wrong = (
            f"Nothing has the code {given.upper()} now. Perhaps the seat was taken, or a character is wrong. "
            "If it is a personal code, type the code of the class first."
        )
        status = 404
    try:
        charge_wrong_code(request)
    except HTTPException as error:
        return _render_form(request, given, error.detail, 429, error.headers)
    return _render_form(request, given, wrong, status)


def _render_form(
    request: Request,
    given: str,
    wrong: str = "",
    status: int = 200,
    headers: Mapping[str, str] | None = None,
) -> Response:
    page = render_page(
        request, "code.html", status=status, given=format_text(given, _LONGEST_GIVEN), wrong=wrong
    )
    page.headers.update(headers or {})
    return page
