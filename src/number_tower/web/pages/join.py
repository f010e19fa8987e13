"""The page for a short code, which leads to a free seat or a class."""

from __future__ import annotations

from functools import partial

from fastapi import APIRouter, Request
from fastapi.responses import RedirectResponse, Response

from number_tower.rooms.codes import CodeError, normalize_code
from number_tower.store import rooms
from number_tower.support.text import format_text, make_sentence
from number_tower.web.http.rates import charge_wrong_code
from number_tower.web.pages import read_form, render_page
from number_tower.web.parts import get_parts

router = APIRouter(include_in_schema=False)

_MAX_SHOWN = 40
"""Characters of what was typed that the page repeats."""


@router.get("/join")
async def show_code_form(request: Request) -> Response:
    """Show the form, filled in from the address."""
    return _render_form(request, request.query_params.get("code", ""))


@router.post("/join")
async def follow_code(request: Request) -> Response:
    """Redirect to what a code leads to; an address that sends too many wrong ones has to wait."""
    lobby = get_parts(request).lobby
    typed = str((await read_form(request)).get("code", "")).strip()
    if not typed:
        return _render_form(request, "", "Please type the code that you were given.", 422)
    try:
        code = normalize_code(typed)
        path = await lobby.database.read(partial(rooms.find_code, code=code))
    except CodeError as error:
        wrong, status = make_sentence(f"{error}"), 422
    else:
        if path is not None:
            return RedirectResponse(path, 303)
        wrong = (
            f"Nothing has the code {typed.upper()} now. Perhaps the seat was taken, "
            "or a character is wrong. If it is a personal code, type the code of the class first."
        )
        status = 404
    charge_wrong_code(request)
    return _render_form(request, typed, wrong, status)


def _render_form(request: Request, typed: str, wrong: str = "", status: int = 200) -> Response:
    shown = format_text(typed, _MAX_SHOWN)
    return render_page(request, "code.html", status=status, given=shown, wrong=wrong)
