"""The pages of a class: to join it, to teach it, its wall, and files to export."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from math import ceil
from typing import Any, NamedTuple, TypeVar

from fastapi import APIRouter, Request
from fastapi.responses import RedirectResponse, Response
from pydantic import TypeAdapter, ValidationError
from sqlalchemy import Connection
from starlette.datastructures import FormData

from number_tower.engine import record
from number_tower.engine.blocks import parse_number
from number_tower.rooms.actions import (
    ACTIONS,
    Action,
    Join,
    PairTwo,
    PairWaiting,
    Role,
    StartRound,
    check_right,
)
from number_tower.rooms.classroom import ClassroomError, Pupil
from number_tower.rooms.codes import PERSONAL_LENGTH, CodeError, normalize_code
from number_tower.store import classrooms
from number_tower.store.classrooms import ClassroomNotFoundError, StoredClassroom
from number_tower.store.transfer import format_line
from number_tower.web.classes.class_view import (
    ClassView,
    export_results,
    export_standings,
    stream_rounds,
    stream_wall,
)
from number_tower.web.classes.registry import Classes, ClassState
from number_tower.web.errors import describe_error
from number_tower.web.http.middleware import identify_address
from number_tower.web.http.middleware.browser_cookie import get_browser_session
from number_tower.web.http.rates import charge_wrong_code
from number_tower.web.http.streams import EventStream
from number_tower.web.live.room_actions import get_credentials
from number_tower.web.pages import describe_origin, is_fragment, read_form, render_page
from number_tower.web.pages.analysis import build_analysis_url
from number_tower.web.pages.choices import read_choices, remember_choices
from number_tower.web.parts import get_parts

T = TypeVar("T")

router = APIRouter(include_in_schema=False)

# Seeing a class ----------------------------------------------------------------------------------


@router.get("/class/{code}")
@router.get("/class/{code}/table")
async def show_class(request: Request, code: str) -> Response:
    """Show a class to its teacher; lead a pupil to the game; let others join."""
    state = await _find(request, code, _get_classes(request).find_state)
    visit = Visit.of(request, state.stored)
    belongs = visit.role in {"teacher", "pupil"}
    if is_fragment(request):
        # A pupil who was removed follows the class no more: the page's script takes 404 for that.
        return _render_class(request, state, status=200 if belongs else 404)
    if state.stored.code != code:
        return RedirectResponse(f"/class/{state.stored.code}", 303)
    if belongs:
        get_browser_session(request).renew()
    game = visit.find_game_path()
    return RedirectResponse(game, 303) if game else _render_class(request, state)


@router.get("/class/{code}/wall")
@router.get("/class/{code}/wall/table")
@router.get("/class/{code}/board/{number}")
@router.get("/class/{code}/board/{number}/table")
@router.get("/wall/{code}")
@router.get("/wall/{code}/table")
@router.get("/wall/{code}/board/{number}")
@router.get("/wall/{code}/board/{number}/table")
async def show_wall(request: Request, code: str, number: str | None = None) -> Response:
    """Show all boards of a class, or one of them large, to those in it and to spectators."""
    state = await _find(request, code, _get_classes(request).find_state)
    visit = Visit.of(request, state.stored)
    check_right(visit.role, "wall" if number is None else "board")
    only = None if number is None else state.classroom.get_pairing(parse_number(number) or 0).number
    if only is not None and only not in state.rooms:
        room = await _get_classes(request).find_room(state.stored, only)
        state = ClassState(state.stored, {**state.rooms, only: room})
    path = request.url.path.removesuffix("/table")
    class_path = "/".join(path.split("/")[:3])
    view = ClassView(state, visit.role, visit.pupil, class_path, only)
    return render_page(request, "wall.html", view=view, path=path)


@router.get("/class/{code}/events")
@router.get("/class/{code}/wall/events")
@router.get("/class/{code}/board/{number}/events")
@router.get("/wall/{code}/events")
@router.get("/wall/{code}/board/{number}/events")
async def stream_events(request: Request, code: str) -> Response:
    """Send the page an event whenever something happens in the class."""
    visit, classes = await _visit(request, code), _get_classes(request)
    code = visit.stored.code
    if visit.pupil is not None and request.url.path == f"/class/{code}/events":
        events = stream_rounds(classes, code, visit.pupil.number)
    else:
        check_right(visit.role, "wall")
        credentials = None if visit.role == "spectator" else get_credentials(request)
        events = stream_wall(classes, code, credentials)
    return EventStream(events, get_parts(request).streams)


@router.get("/class/{code}/review/{number}")
@router.get("/wall/{code}/review/{number}")
async def review_game(request: Request, code: str, number: str) -> Response:
    """Redirect to the analysis of a game that is over."""
    stored = (await _visit(request, code, "review")).stored
    stored_room = await _get_classes(request).find_room(stored, parse_number(number) or 0)
    if not stored_room.room.over:
        raise ClassroomError("not_now", "this game is not over yet; it can be reviewed then")
    line = record.to_line(stored_room.room.table)
    return RedirectResponse(build_analysis_url(line, room=stored_room.watch), 303)


@router.get("/class/{code}/standings.csv")
@router.get("/class/{code}/results.csv")
@router.get("/class/{code}/games.txt")
@router.get("/class/{code}/games.jsonl")
async def download(request: Request, code: str) -> Response:
    """Export standings, or all pairings with their records, or all games for `tower import`."""
    stored = (await _visit(request, code, "export")).stored
    name = request.url.path.rpartition("/")[2]
    if name == "standings.csv":
        text = export_standings(stored.classroom)
    else:
        text = await _get_classes(request).database.read(partial(_export_games, stored, name))
    file = f"class-{stored.code}.jsonl" if name == "games.jsonl" else f"class-{stored.code}-{name}"
    types = {"csv": "text/csv", "txt": "text/plain", "jsonl": "application/jsonl"}
    media_type = f"{types[name.rpartition('.')[2]]}; charset=utf-8"
    headers = {"Content-Disposition": f'attachment; filename="{file}"'}
    return Response(text, media_type=media_type, headers=headers)


def _export_games(stored: StoredClassroom, name: str, connection: Connection) -> str:
    games = classrooms.list_games(connection, stored.id)
    if name == "results.csv":
        return export_results(stored, games)
    if name == "games.txt":
        return "".join(f"{record.to_line(game.table)}\n" for _, game in games)
    return "".join(format_line(connection, game) for _, game in games)


# Acting in a class ------------------------------------------------------------------------------


@router.post("/class/{code}/join")
async def join_class(request: Request, code: str) -> Response:
    """Join a class under a name."""
    form = await read_form(request)
    name = str(form.get("name", "")).strip()
    session, stored = get_browser_session(request), (await _visit(request, code)).stored
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
    typed = str((await read_form(request)).get("personal", "")).strip()
    session, visit = get_browser_session(request), await _visit(request, code)
    try:
        check_right(visit.role, "join")
        personal = normalize_code(typed, PERSONAL_LENGTH)
        browser = session.current.secret
        take = partial(
            classrooms.take_pupil, identity=visit.stored.id, code=personal, browser=browser
        )
        await _get_classes(request).change(take)
    except (ClassroomError, CodeError) as error:
        charge_wrong_code(request)
        if isinstance(error, CodeError):
            error = ClassroomError("not_now", f"this is not a personal code: {error}")
        return await _render_refused(request, code, error)
    session.renew()
    return await _answer(request, visit.stored.code)


@router.get("/class/{code}/teach/{token}")
async def confirm_teacher(request: Request, code: str, token: str) -> Response:
    """Ask before this device gets the rights of the teacher."""
    stored = (await _visit(request, code)).stored
    return render_page(request, "class_link.html", stored=stored, token=token, kind="teach")


@router.post("/class/{code}/teach/{token}")
async def become_teacher(request: Request, code: str, token: str) -> Response:
    """Give this device the rights of the teacher."""
    session, stored = get_browser_session(request), (await _visit(request, code)).stored
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
    stored = (await _visit(request, code, "links")).stored
    make = partial(classrooms.replace_token, identity=stored.id)
    token = await _get_classes(request).database.write(make)
    return _render_link(request, stored, "links", token=token)


@router.post("/class/{code}/own-code")
@router.post("/class/{code}/pupil-code")
async def show_pupil_code(request: Request, code: str) -> Response:
    """Show a pupil, or the teacher, the code by which the pupil can continue on another device."""
    right = request.url.path.rpartition("/")[2]
    stored, _, pupil = await _visit(request, code, right)
    own = pupil is not None
    if pupil is None:
        number = parse_number(str((await read_form(request)).get("pupil", "")))
        pupil = stored.classroom.get_pupil(number or 0)
    make = partial(classrooms.make_pupil_code, identity=stored.id, number=pupil.number)
    personal = await _get_classes(request).database.write(make)
    return _render_link(request, stored, "code", pupil=pupil, personal=personal, own=own)


@router.get("/class/{code}/{action}")
async def redirect_to_class(code: str, action: str) -> Response:  # noqa: ARG001 - any action
    """Redirect to the class if the address of one of its forms is opened again."""
    try:
        return RedirectResponse(f"/class/{normalize_code(code)}", 303)
    except CodeError:
        raise ClassroomNotFoundError from None


@router.post("/class/{code}/{action}")
async def perform_action(request: Request, code: str, action: str) -> Response:
    """Perform an action; if it is refused, say why above the class as it is now."""
    visit, form = await _visit(request, code), await read_form(request)
    try:
        parsed = _parse_action(visit, action, form)
        rooms = 0
        if isinstance(parsed, StartRound):
            rooms = ceil(len(visit.stored.classroom.members) / 2)
        elif isinstance(parsed, PairWaiting | PairTwo):
            rooms = 1
        if rooms:
            await get_parts(request).quota.admit(identify_address(request.scope), rooms)
        # The right is checked again by the class as it is when the action is stored.
        await _get_classes(request).act(visit.stored, get_credentials(request), parsed)
    except ClassroomError as error:
        return await _render_refused(request, code, error)
    return await _answer(request, visit.stored.code)


def _parse_action(visit: Visit, name: str, form: FormData) -> Action:
    """Return the action that a form asks for, if the visitor has the right to it."""
    refusal = "that is not possible here; please use the buttons on this page"
    if name not in ACTIONS:
        raise ClassroomError("not_found", refusal)
    check_right(visit.role, name)
    kind = ACTIONS[name]
    fields: dict[str, object] = {key: form[key] for key in kind._fields if key in form}
    if visit.pupil is not None:  # pupils act for themselves
        fields["pupil"] = visit.pupil.number
    try:
        return TypeAdapter[Action](kind).validate_python(fields)
    except ValidationError:
        raise ClassroomError("not_found", refusal) from None


# Finding and rendering a class ------------------------------------------------------------------


class Visit(NamedTuple):
    """A class, and who asks for it."""

    stored: StoredClassroom
    role: Role
    pupil: Pupil | None

    @classmethod
    def of(cls, request: Request, stored: StoredClassroom) -> Visit:
        """Find out the role of a visitor, and which pupil it is, by what the browser holds."""
        credentials = get_credentials(request)
        role = stored.find_role(credentials, watches=request.url.path.startswith("/wall/"))
        return cls(stored, role, stored.find_pupil(credentials) if role == "pupil" else None)

    def find_game_path(self) -> str | None:
        """Return the address of the game that a pupil plays now; None if there is none."""
        if self.pupil is None:
            return None
        pairing = self.stored.classroom.find_pairing(self.pupil.number)
        if pairing is None or pairing.over or pairing.number not in self.stored.rooms:
            return None
        return f"/g/{self.stored.rooms[pairing.number].address}"


def _get_classes(request: Request) -> Classes:
    return get_parts(request).classes


async def _find(request: Request, code: str, find: Callable[[str], Awaitable[T]]) -> T:
    """Find a class by a code as it is typed, or by the longer address for spectators."""
    try:
        if request.url.path.startswith("/wall/"):
            return await find(code if code.startswith("w") else "")
        return await find(normalize_code(code))
    except (CodeError, ClassroomNotFoundError):
        charge_wrong_code(request)
        raise ClassroomNotFoundError from None


async def _visit(request: Request, code: str, right: str = "see") -> Visit:
    """Return a class to a visitor who has a right there."""
    visit = Visit.of(request, await _find(request, code, _get_classes(request).find))
    check_right(visit.role, right)
    return visit


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
    visit = Visit.of(request, state.stored)
    context |= {
        "view": ClassView(state, visit.role, visit.pupil, f"/class/{state.stored.code}"),
        "notice": notice,
        "game": visit.find_game_path(),
        "remembered_name": read_choices(request).get("name_1", ""),
        **describe_origin(request),
    }
    templates = {"teacher": "class.html", "pupil": "class_pupil.html"}
    template = templates.get(visit.role, "class_join.html")
    return render_page(request, template, status=status, **context)


def _render_link(request: Request, stored: StoredClassroom, kind: str, **context: Any) -> Response:
    context |= {"stored": stored, "kind": kind, **describe_origin(request)}
    return render_page(request, "class_link.html", **context)
