"""The pages of a class: to join it, to teach it, its wall, and files to export."""

from __future__ import annotations

from math import ceil
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import RedirectResponse, Response
from starlette.datastructures import FormData

from number_tower import record
from number_tower.blocks import parse_number
from number_tower.class_actions import ACTIONS, Action, PairTwo, PairWaiting, StartRound
from number_tower.classroom import ClassroomError
from number_tower.short_codes import CodeError, normalize_code
from number_tower.store.classrooms import ClassroomNotFoundError, StoredClassroom
from number_tower.text import make_sentence
from number_tower.web.choices import read_choices, remember_choices
from number_tower.web.class_view import (
    ClassView,
    export_results,
    export_standings,
    stream_rounds,
    stream_wall,
)
from number_tower.web.classes import Classes, ClassState, Visitor
from number_tower.web.live import EventStream
from number_tower.web.middleware import identify_address
from number_tower.web.middleware.browser_cookie import get_browser_session
from number_tower.web.pages import get_credentials, is_fragment, read_form, render_page
from number_tower.web.pages.analysis import build_analysis_url
from number_tower.web.rates import charge_wrong_code

router = APIRouter(include_in_schema=False)

_STATUSES = {"not_yours": 403, "not_found": 404, "bad_name": 422, "taken": 422}
"""Statuses of refused actions by their reason; others are 409."""


# Seeing a class -------------------------------------------------------------------------------------------------------


@router.get("/class/{code}")
@router.get("/class/{code}/table")
async def show_class(request: Request, code: str) -> Response:
    """Show a class to its teacher; lead a pupil to the game; let others join."""
    state, visitor = await _find_state(request, code)
    if state.stored.code != code and not is_fragment(request):
        return RedirectResponse(f"/class/{state.stored.code}", 303)
    if visitor.role in {"teacher", "pupil"} and not is_fragment(request):
        get_browser_session(request).renew()
    game = _find_game_path(state, visitor)
    if game is not None and not is_fragment(request):
        return RedirectResponse(game, 303)
    # The page of a pupil who was removed follows the class no more: its script takes this status for that.
    is_outside = visitor.role not in {"teacher", "pupil"} and is_fragment(request)
    return _render_class(request, state, visitor, status=404 if is_outside else 200)


@router.get("/class/{code}/wall")
@router.get("/class/{code}/wall/table")
@router.get("/wall/{code}")
@router.get("/wall/{code}/table")
async def show_wall(request: Request, code: str) -> Response:
    """Show all boards of a class, to those in it and to spectators."""
    return await _render_wall(request, code, "wall")


@router.get("/class/{code}/board/{number}")
@router.get("/class/{code}/board/{number}/table")
@router.get("/wall/{code}/board/{number}")
@router.get("/wall/{code}/board/{number}/table")
async def show_board(request: Request, code: str, number: str) -> Response:
    """Show one board of a class large."""
    return await _render_wall(request, code, "board", number)


@router.get("/class/{code}/events")
@router.get("/class/{code}/wall/events")
@router.get("/class/{code}/board/{number}/events")
@router.get("/wall/{code}/events")
@router.get("/wall/{code}/board/{number}/events")
async def stream_events(request: Request, code: str) -> Response:
    """Send the page an event whenever something happens in the class."""
    state, visitor = await _find_state(request, code)
    stored, classes = state.stored, _get_classes(request)
    if visitor.pupil is not None and request.url.path == f"/class/{stored.code}/events":
        events = stream_rounds(classes, stored.code, visitor.pupil.number)
    else:
        visitor.require("wall")
        events = stream_wall(
            classes, stored.code, None if visitor.role == "spectator" else get_credentials(request)
        )
    return EventStream(events, headers={"X-Accel-Buffering": "no"})


@router.get("/class/{code}/review/{number}")
@router.get("/wall/{code}/review/{number}")
async def review_game(request: Request, code: str, number: str) -> Response:
    """Redirect to the analysis of a game that is over."""
    state, visitor = await _find_state(request, code)
    visitor.require("review")
    room = await _get_classes(request).find_room(state.stored, parse_number(number) or 0)
    if not room.room.over:
        raise ClassroomError("not_now", "this game is not over yet; it can be reviewed then")
    return RedirectResponse(
        build_analysis_url(record.to_line(room.room.table), room=room.watch), 303
    )


@router.get("/class/{code}/standings.csv")
async def download_standings(request: Request, code: str) -> Response:
    """Export the standings."""
    stored = await _read_for_export(request, code)
    return _download(
        export_standings(stored.classroom), f"class-{stored.code}-standings.csv", "text/csv"
    )


@router.get("/class/{code}/results.csv")
async def download_results(request: Request, code: str) -> Response:
    """Export all pairings with their results and records."""
    stored = await _read_for_export(request, code)
    games = await _get_classes(request).list_games(stored)
    return _download(export_results(stored, games), f"class-{stored.code}-results.csv", "text/csv")


@router.get("/class/{code}/games.txt")
async def download_records(request: Request, code: str) -> Response:
    """Export all games as records, a line each."""
    stored = await _read_for_export(request, code)
    games = await _get_classes(request).list_games(stored)
    lines = "".join(f"{record.to_line(game.table)}\n" for _, game in games)
    return _download(lines, f"class-{stored.code}-games.txt", "text/plain")


@router.get("/class/{code}/games.jsonl")
async def download_games(request: Request, code: str) -> Response:
    """Export all games as lines that `tower import` reads."""
    stored = await _read_for_export(request, code)
    lines = await _get_classes(request).export_games(stored)
    return _download(lines, f"class-{stored.code}.jsonl", "application/jsonl")


def _download(text: str, name: str, media_type: str) -> Response:
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return Response(text, media_type=f"{media_type}; charset=utf-8", headers=headers)


# Acting in a class ----------------------------------------------------------------------------------------------------


@router.post("/class/{code}/join")
async def join_class(request: Request, code: str) -> Response:
    """Join a class under a name."""
    form = await read_form(request)
    name = str(form.get("name", "")).strip()
    session = get_browser_session(request)
    state, visitor = await _find_state(request, code)
    try:
        visitor.require("join")
        await _get_classes(request).join(state.stored.code, name, session.current.secret)
    except ClassroomError as error:
        return await _render_refused(request, code, error, name=name)
    session.renew()
    response = await _answer(request, state.stored.code)
    remember_choices(request, response, {"name_1": name, "remember": str(form.get("remember", ""))})
    return response


@router.post("/class/{code}/take")
async def take_over(request: Request, code: str) -> Response:
    """Continue on this device as the pupil that a personal code is for."""
    personal = str((await read_form(request)).get("personal", "")).strip()
    session = get_browser_session(request)
    state, visitor = await _find_state(request, code)
    try:
        visitor.require("join")
        await _get_classes(request).take_pupil(state.stored.code, personal, session.current.secret)
    except ClassroomError as error:
        charge_wrong_code(request)
        return await _render_refused(request, code, error)
    session.renew()
    return await _answer(request, state.stored.code)


@router.get("/class/{code}/teach/{token}")
async def confirm_teacher(request: Request, code: str, token: str) -> Response:
    """Ask before this device gets the rights of the teacher."""
    state, _ = await _find_state(request, code)
    return render_page(request, "class_link.html", stored=state.stored, token=token, kind="teach")


@router.post("/class/{code}/teach/{token}")
async def become_teacher(request: Request, code: str, token: str) -> Response:
    """Give this device the rights of the teacher."""
    session = get_browser_session(request)
    state, _ = await _find_state(request, code)
    try:
        await _get_classes(request).add_teacher(state.stored.code, token, session.current.secret)
    except ClassroomError as error:
        charge_wrong_code(request)
        text = make_sentence(f"{error}")
        return render_page(
            request, "error.html", status=403, heading="This link does not work", text=text
        )
    session.renew()
    return RedirectResponse(f"/class/{state.stored.code}", 303)


@router.post("/class/{code}/links")
async def show_links(request: Request, code: str) -> Response:
    """Show the links of the teacher and of spectators; the teacher's link is made anew."""
    state, visitor = await _find_state(request, code)
    visitor.require("links")
    token = await _get_classes(request).make_teacher_token(state.stored.code)
    return _render_link(request, state, "links", token=token)


@router.post("/class/{code}/own-code")
async def show_own_code(request: Request, code: str) -> Response:
    """Show a pupil the code by which to continue on another device."""
    state, visitor = await _find_state(request, code)
    visitor.require("own-code")
    assert visitor.pupil is not None  # noqa: S101 - only pupils have the right
    return await _render_pupil_code(request, state, visitor.pupil.number, own=True)


@router.post("/class/{code}/pupil-code")
async def show_pupil_code(request: Request, code: str) -> Response:
    """Show the teacher the code by which a pupil can continue on another device."""
    state, visitor = await _find_state(request, code)
    visitor.require("pupil-code")
    return await _render_pupil_code(request, state, _parse_int(await read_form(request), "pupil"))


@router.get("/class/{code}/{action}")
async def redirect_to_class(code: str, action: str) -> Response:  # noqa: ARG001 - any form's address
    """Redirect to the class if the address of one of its forms is opened again."""
    try:
        return RedirectResponse(f"/class/{normalize_code(code)}", 303)
    except CodeError:
        raise ClassroomNotFoundError from None


@router.post("/class/{code}/{action}")
async def perform_action(request: Request, code: str, action: str) -> Response:
    """Perform an action; if it is refused, say why above the class as it is now."""
    state, visitor = await _find_state(request, code)
    form = await read_form(request)
    try:
        parsed = _parse_action(action, form, visitor)
        if isinstance(parsed, StartRound | PairWaiting | PairTwo):
            is_round = isinstance(parsed, StartRound)
            rooms = ceil(len(state.classroom.members) / 2) if is_round else 1
            await request.app.state.quota.admit(identify_address(request.scope), rooms)
        await _get_classes(request).act(state.stored.code, get_credentials(request), parsed)
    except ClassroomError as error:
        return await _render_refused(request, code, error)
    return await _answer(request, state.stored.code)


def _parse_action(name: str, form: FormData, visitor: Visitor) -> Action:
    """Return the action that a form asks for, if the visitor has the right to it; pupils act for themselves."""
    if name not in ACTIONS:
        raise ClassroomError(
            "not_found", "that is not possible here; please use the buttons on this page"
        )
    visitor.require(name)
    numbers = ("pupil", "pairing", "round", "first", "second")
    given: dict[str, Any] = {field: _parse_int(form, field) for field in numbers}
    given["name"] = str(form.get("name", "")).strip()
    if visitor.pupil is not None:
        given["pupil"] = visitor.pupil.number
    kind = ACTIONS[name]
    return kind(
        **{
            field: given[field] or kind._field_defaults.get(field, given[field])
            for field in kind._fields
        }
    )


def _parse_int(form: FormData, field: str) -> int:
    return parse_number(str(form.get(field, ""))) or 0


# Finding and rendering a class ----------------------------------------------------------------------------------------


def _get_classes(request: Request) -> Classes:
    classes: Classes = request.app.state.lobby.classes
    return classes


def _normalize(request: Request, code: str) -> str:
    """Return a code as it was made; spectators have a longer address, which stays as it is."""
    if request.url.path.startswith("/wall/"):
        return code if code.startswith("w") else ""
    try:
        return normalize_code(code)
    except CodeError:
        raise ClassroomNotFoundError from None


async def _find_state(request: Request, code: str) -> tuple[ClassState, Visitor]:
    """Return a class and who asks for it; a wrong code is counted."""
    try:
        state = await _get_classes(request).find_state(_normalize(request, code))
    except ClassroomNotFoundError:
        charge_wrong_code(request)
        raise
    watches = request.url.path.startswith("/wall/")
    return state, state.find_visitor(get_credentials(request), watches=watches)


async def _read_for_export(request: Request, code: str) -> StoredClassroom:
    state, visitor = await _find_state(request, code)
    visitor.require("export")
    return state.stored


def _find_game_path(state: ClassState, visitor: Visitor) -> str | None:
    """Return the address of the game that a pupil plays now; None if there is none."""
    if visitor.pupil is None:
        return None
    pairing = state.classroom.find_pairing(visitor.pupil.number)
    if pairing is None or pairing.over or pairing.number not in state.stored.rooms:
        return None
    return f"/g/{state.stored.rooms[pairing.number].address}"


async def _answer(request: Request, code: str) -> Response:
    """Answer an action that was done: with the page, or without a script by a redirect to it."""
    if not is_fragment(request):
        return RedirectResponse(f"/class/{code}", 303)
    state, visitor = await _find_state(request, code)
    return _render_class(request, state, visitor)


async def _render_refused(
    request: Request, code: str, error: ClassroomError, **context: object
) -> Response:
    """Show a class as it is now, and why something was refused."""
    state, visitor = await _find_state(request, code)
    notice, status = make_sentence(f"{error}"), _STATUSES.get(error.reason, 409)
    return _render_class(request, state, visitor, notice=notice, status=status, **context)


def _render_class(
    request: Request,
    state: ClassState,
    visitor: Visitor,
    notice: str = "",
    status: int = 200,
    **context: object,
) -> Response:
    names = {"teacher": "class.html", "pupil": "class_pupil.html"}
    view = ClassView(state, visitor, f"/class/{state.stored.code}")
    game = _find_game_path(state, visitor)
    context |= {"view": view, "notice": notice, "game": game, **_describe_origin(request)}
    context |= {"remembered_name": read_choices(request).get("name_1", "")}
    return render_page(
        request, names.get(visitor.role, "class_join.html"), status=status, **context
    )


async def _render_wall(
    request: Request, code: str, right: str, number: str | None = None
) -> Response:
    state, visitor = await _find_state(request, code)
    visitor.require(right)
    only = None if number is None else state.classroom.get_pairing(parse_number(number) or 0).number
    if only is not None and only not in state.rooms:
        room = await _get_classes(request).find_room(state.stored, only)
        state = ClassState(state.stored, {**state.rooms, only: room})
    path = request.url.path.removesuffix("/table")
    base = "/".join(path.split("/")[:3])
    return render_page(
        request,
        "wall.html",
        view=ClassView(state, visitor, base, only=only),
        path=path,
        **_describe_origin(request),
    )


async def _render_pupil_code(
    request: Request, state: ClassState, number: int, *, own: bool = False
) -> Response:
    pupil = state.classroom.get_pupil(number)
    personal = await _get_classes(request).make_pupil_code(state.stored.code, number)
    return _render_link(request, state, "code", pupil=pupil, personal=personal, own=own)


def _render_link(request: Request, state: ClassState, kind: str, **context: Any) -> Response:
    return render_page(
        request,
        "class_link.html",
        stored=state.stored,
        kind=kind,
        **_describe_origin(request),
        **context,
    )


def _describe_origin(request: Request) -> dict[str, Any]:
    settings, url = request.app.state.settings, request.url
    return {
        "origin": settings.get_origin(url.scheme, url.netloc),
        "only_here": settings.is_local_only(url.netloc),
    }
