"""The pages of a class: to join it, to teach it, its wall, and files to export."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from math import ceil
from typing import Any, TypeVar

from fastapi import APIRouter, Request
from fastapi.responses import RedirectResponse, Response
from pydantic import TypeAdapter, ValidationError
from sqlalchemy import Connection
from starlette.datastructures import FormData

from number_tower import record
from number_tower.blocks import parse_number
from number_tower.class_actions import (
    ACTIONS,
    Action,
    Join,
    PairTwo,
    PairWaiting,
    Role,
    StartRound,
    check_right,
)
from number_tower.classroom import ClassroomError, Pupil
from number_tower.short_codes import PERSONAL_LENGTH, CodeError, normalize_code
from number_tower.store import classrooms
from number_tower.store.classrooms import ClassroomNotFoundError, StoredClassroom
from number_tower.store.transfer import format_line
from number_tower.web.choices import read_choices, remember_choices
from number_tower.web.class_view import (
    ClassView,
    export_results,
    export_standings,
    stream_rounds,
    stream_wall,
)
from number_tower.web.classes import Classes, ClassState
from number_tower.web.errors import describe_error
from number_tower.web.live import EventStream
from number_tower.web.middleware import identify_address
from number_tower.web.middleware.browser_cookie import get_browser_session
from number_tower.web.pages import (
    describe_origin,
    get_credentials,
    is_fragment,
    read_form,
    render_page,
)
from number_tower.web.pages.analysis import build_analysis_url
from number_tower.web.rates import charge_wrong_code

T = TypeVar("T")

router = APIRouter(include_in_schema=False)

# Seeing a class -------------------------------------------------------------------------------------------------------


@router.get("/class/{code}")
@router.get("/class/{code}/table")
async def show_class(request: Request, code: str) -> Response:
    """Show a class to its teacher; lead a pupil to the game; let others join."""
    state = await _find(request, code, _get_classes(request).find_state)
    role = _find_role(request, state.stored)
    belongs = role in {"teacher", "pupil"}
    if is_fragment(request):
        # The page of a pupil who was removed follows the class no more: its script takes this status for that.
        return _render_class(request, state, status=200 if belongs else 404)
    if state.stored.code != code:
        return RedirectResponse(f"/class/{state.stored.code}", 303)
    if belongs:
        get_browser_session(request).renew()
    game = _find_game_path(request, state)
    return RedirectResponse(game, 303) if game else _render_class(request, state)


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
    classes, stored = _get_classes(request), await _find_class(request, code)
    role, pupil = _find_role(request, stored), _find_pupil(request, stored)
    if pupil is not None and request.url.path == f"/class/{stored.code}/events":
        events = stream_rounds(classes, stored.code, pupil.number)
    else:
        check_right(role, "wall")
        credentials = None if role == "spectator" else get_credentials(request)
        events = stream_wall(classes, stored.code, credentials)
    return EventStream(events, headers={"X-Accel-Buffering": "no"})


@router.get("/class/{code}/review/{number}")
@router.get("/wall/{code}/review/{number}")
async def review_game(request: Request, code: str, number: str) -> Response:
    """Redirect to the analysis of a game that is over."""
    stored = await _find_class(request, code, "review")
    room = await _get_classes(request).find_room(stored, parse_number(number) or 0)
    if not room.room.over:
        raise ClassroomError("not_now", "this game is not over yet; it can be reviewed then")
    line = record.to_line(room.room.table)
    return RedirectResponse(build_analysis_url(line, room=room.watch), 303)


@router.get("/class/{code}/standings.csv")
@router.get("/class/{code}/results.csv")
@router.get("/class/{code}/games.txt")
@router.get("/class/{code}/games.jsonl")
async def download(request: Request, code: str) -> Response:
    """Export the standings, all pairings with their records, or all games: as records, or for `tower import`."""
    stored = await _find_class(request, code, "export")
    name = request.url.path.rpartition("/")[2]

    def export(connection: Connection) -> tuple[str, str]:
        if name == "standings.csv":
            return "text/csv", export_standings(stored.classroom)
        games = classrooms.list_games(connection, stored.id)
        if name == "results.csv":
            return "text/csv", export_results(stored, games)
        if name == "games.txt":
            return "text/plain", "".join(f"{record.to_line(game.table)}\n" for _, game in games)
        return "application/jsonl", "".join(format_line(connection, game) for _, game in games)

    media_type, text = await _get_classes(request).database.read(export)
    file = f"class-{stored.code}.jsonl" if name == "games.jsonl" else f"class-{stored.code}-{name}"
    headers = {"Content-Disposition": f'attachment; filename="{file}"'}
    return Response(text, media_type=f"{media_type}; charset=utf-8", headers=headers)


# Acting in a class ----------------------------------------------------------------------------------------------------


@router.post("/class/{code}/join")
async def join_class(request: Request, code: str) -> Response:
    """Join a class under a name."""
    form = await read_form(request)
    name = str(form.get("name", "")).strip()
    session, stored = get_browser_session(request), await _find_class(request, code)
    browser = session.current.secret
    try:
        await _get_classes(request).act(stored, get_credentials(request), Join(name), browser)
    except ClassroomError as error:
        return await _render_refused(request, code, error, name=name)
    session.renew()
    response = await _answer(request, stored.code)
    remember_choices(request, response, {"name_1": name, "remember": str(form.get("remember", ""))})
    return response


@router.post("/class/{code}/take")
async def take_over(request: Request, code: str) -> Response:
    """Continue on this device as the pupil that a personal code is for."""
    personal = str((await read_form(request)).get("personal", "")).strip()
    session, stored = get_browser_session(request), await _find_class(request, code)
    try:
        check_right(_find_role(request, stored), "join")
        given = normalize_code(personal, PERSONAL_LENGTH)
        browser = session.current.secret
        take = partial(classrooms.take_pupil, identity=stored.id, code=given, browser=browser)
        await _get_classes(request).change(take)
    except (ClassroomError, CodeError) as error:
        charge_wrong_code(request)
        if isinstance(error, CodeError):
            error = ClassroomError("not_now", f"this is not a personal code: {error}")
        return await _render_refused(request, code, error)
    session.renew()
    return await _answer(request, stored.code)


@router.get("/class/{code}/teach/{token}")
async def confirm_teacher(request: Request, code: str, token: str) -> Response:
    """Ask before this device gets the rights of the teacher."""
    stored = await _find_class(request, code)
    return render_page(request, "class_link.html", stored=stored, token=token, kind="teach")


@router.post("/class/{code}/teach/{token}")
async def become_teacher(request: Request, code: str, token: str) -> Response:
    """Give this device the rights of the teacher."""
    session, stored = get_browser_session(request), await _find_class(request, code)
    browser = session.current.secret
    add = partial(classrooms.add_teacher, identity=stored.id, token=token, browser=browser)
    try:
        await _get_classes(request).change(add)
    except ClassroomError:
        charge_wrong_code(request)
        raise
    session.renew()
    return RedirectResponse(f"/class/{stored.code}", 303)


@router.post("/class/{code}/links")
async def show_links(request: Request, code: str) -> Response:
    """Show the links of the teacher and of spectators; the teacher's link is made anew."""
    stored = await _find_class(request, code, "links")
    make = partial(classrooms.replace_token, identity=stored.id)
    token = await _get_classes(request).database.write(make)
    return _render_link(request, stored, "links", token=token)


@router.post("/class/{code}/own-code")
async def show_own_code(request: Request, code: str) -> Response:
    """Show a pupil the code by which to continue on another device."""
    stored = await _find_class(request, code, "own-code")
    pupil = _find_pupil(request, stored)
    assert pupil is not None  # noqa: S101 - only pupils have the right
    return await _render_pupil_code(request, stored, pupil, own=True)


@router.post("/class/{code}/pupil-code")
async def show_pupil_code(request: Request, code: str) -> Response:
    """Show the teacher the code by which a pupil can continue on another device."""
    stored = await _find_class(request, code, "pupil-code")
    number = parse_number(str((await read_form(request)).get("pupil", "")))
    return await _render_pupil_code(request, stored, stored.classroom.get_pupil(number or 0))


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
    stored, form = await _find_class(request, code), await read_form(request)
    try:
        parsed = _parse_action(request, stored, action, form)
        if isinstance(parsed, StartRound | PairWaiting | PairTwo):
            is_round = isinstance(parsed, StartRound)
            rooms = ceil(len(stored.classroom.members) / 2) if is_round else 1
            await request.app.state.quota.admit(identify_address(request.scope), rooms)
        await _get_classes(request).act(stored, get_credentials(request), parsed)
    except ClassroomError as error:
        return await _render_refused(request, code, error)
    return await _answer(request, stored.code)


def _parse_action(request: Request, stored: StoredClassroom, name: str, form: FormData) -> Action:
    """Return the action that a form asks for, if the visitor has the right to it; pupils act for themselves."""
    refusal = ClassroomError(
        "not_found", "that is not possible here; please use the buttons on this page"
    )
    if name not in ACTIONS:
        raise refusal
    check_right(_find_role(request, stored), name)
    kind = ACTIONS[name]
    fields: dict[str, object] = {key: form[key] for key in kind._fields if key in form}
    if (pupil := _find_pupil(request, stored)) is not None:
        fields["pupil"] = pupil.number
    try:
        return TypeAdapter[Action](kind).validate_python(fields)
    except ValidationError:
        raise refusal from None


# Finding and rendering a class ----------------------------------------------------------------------------------------


def _get_classes(request: Request) -> Classes:
    classes: Classes = request.app.state.lobby.classes
    return classes


async def _find(request: Request, code: str, find: Callable[[str], Awaitable[T]]) -> T:
    """Return what is found by a code as it is typed, or by the longer address for spectators; count a wrong one."""
    try:
        if request.url.path.startswith("/wall/"):
            return await find(code if code.startswith("w") else "")
        return await find(normalize_code(code))
    except (CodeError, ClassroomNotFoundError):
        charge_wrong_code(request)
        raise ClassroomNotFoundError from None


async def _find_class(request: Request, code: str, right: str = "see") -> StoredClassroom:
    """Return a class to a visitor who has a right there."""
    stored = await _find(request, code, _get_classes(request).find)
    check_right(_find_role(request, stored), right)
    return stored


def _find_role(request: Request, stored: StoredClassroom) -> Role:
    watches = request.url.path.startswith("/wall/")
    return stored.find_role(get_credentials(request), watches=watches)


def _find_pupil(request: Request, stored: StoredClassroom) -> Pupil | None:
    """Return which pupil the visitor is; None if none."""
    is_pupil = _find_role(request, stored) == "pupil"
    return stored.find_pupil(get_credentials(request)) if is_pupil else None


def _find_game_path(request: Request, state: ClassState) -> str | None:
    """Return the address of the game that a pupil plays now; None if there is none."""
    pupil = _find_pupil(request, state.stored)
    pairing = None if pupil is None else state.classroom.find_pairing(pupil.number)
    if pairing is None or pairing.over or pairing.number not in state.stored.rooms:
        return None
    return f"/g/{state.stored.rooms[pairing.number].address}"


async def _answer(request: Request, code: str) -> Response:
    """Answer an action that was done: with the page, or without a script by a redirect to it."""
    if not is_fragment(request):
        return RedirectResponse(f"/class/{code}", 303)
    return _render_class(request, await _get_classes(request).find_state(code))


async def _render_refused(
    request: Request, code: str, error: ClassroomError, **context: object
) -> Response:
    """Show a class as it is now, and why something was refused."""
    state = await _find(request, code, _get_classes(request).find_state)
    problem = describe_error(error)
    return _render_class(request, state, problem.detail, problem.status, **context)


def _render_class(
    request: Request, state: ClassState, notice: str = "", status: int = 200, **context: object
) -> Response:
    templates = {"teacher": "class.html", "pupil": "class_pupil.html"}
    view = _make_view(request, state, f"/class/{state.stored.code}")
    context |= {
        "view": view,
        "notice": notice,
        "game": _find_game_path(request, state),
        "remembered_name": read_choices(request).get("name_1", ""),
        **describe_origin(request),
    }
    template = templates.get(view.role, "class_join.html")
    return render_page(request, template, status=status, **context)


def _make_view(
    request: Request, state: ClassState, path: str, only: int | None = None
) -> ClassView:
    stored = state.stored
    return ClassView(state, _find_role(request, stored), _find_pupil(request, stored), path, only)


async def _render_wall(
    request: Request, code: str, right: str, number: str | None = None
) -> Response:
    state = await _find(request, code, _get_classes(request).find_state)
    check_right(_find_role(request, state.stored), right)
    only = None if number is None else state.classroom.get_pairing(parse_number(number) or 0).number
    if only is not None and only not in state.rooms:
        room = await _get_classes(request).find_room(state.stored, only)
        state = ClassState(state.stored, {**state.rooms, only: room})
    path = request.url.path.removesuffix("/table")
    view = _make_view(request, state, "/".join(path.split("/")[:3]), only)
    return render_page(request, "wall.html", view=view, path=path)


async def _render_pupil_code(
    request: Request, stored: StoredClassroom, pupil: Pupil, *, own: bool = False
) -> Response:
    make = partial(classrooms.make_pupil_code, identity=stored.id, number=pupil.number)
    personal = await _get_classes(request).database.write(make)
    return _render_link(request, stored, "code", pupil=pupil, personal=personal, own=own)


def _render_link(request: Request, stored: StoredClassroom, kind: str, **context: Any) -> Response:
    context |= {"stored": stored, "kind": kind, **describe_origin(request)}
    return render_page(request, "class_link.html", **context)
