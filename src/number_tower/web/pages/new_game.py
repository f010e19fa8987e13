"""Where a game begins: the first page, the form for a new game, and the choice of colours."""

from __future__ import annotations

from contextlib import suppress
from functools import cache
from secrets import randbelow
from typing import TYPE_CHECKING, Literal, NamedTuple, cast, get_args

from fastapi import APIRouter, Request
from fastapi.responses import RedirectResponse, Response
from starlette.datastructures import UploadFile

from number_tower import catalogue
from number_tower.blocks import parse_number
from number_tower.brief import describe_rules
from number_tower.game import Game
from number_tower.players import LEVELS
from number_tower.position import Position
from number_tower.rules import RulesError
from number_tower.store import StoreError
from number_tower.store.rooms import RoomNotFoundError
from number_tower.table import Table, TableError, check_player_name
from number_tower.text import make_sentence
from number_tower.voice import Voice
from number_tower.web import drawing, limits
from number_tower.web.lobby import NewRoom
from number_tower.web.middleware.browser_cookie import YEAR, get_browser_session
from number_tower.web.pages import Theme, read_form, render_page
from number_tower.web.view import RoomView

if TYPE_CHECKING:
    from collections.abc import Mapping

    from starlette.datastructures import FormData

    from number_tower.catalogue import Rulebook
    from number_tower.room import Room
    from number_tower.rules import Rules
    from number_tower.web.lobby import Lobby

router = APIRouter(include_in_schema=False)

OWN_RULES = "own"
"""What the form calls a game of one's own rules."""

MOST_LISTED = 50
"""Games that the home page looks up for a browser: those that are not over, then the newest."""

LONGEST_MATCH = 99
LONGEST_GIVEN = 1_000
"""Characters of a field in an address that the form is filled in with."""

_EXAMPLE = """\
title = "My tower"

[rules]
blocks = "1-12"
towers = "shared"    # or "own"
supply = "shared"    # or "own", "endless"
fit = "any"          # or "descending", "ascending", "related", "unrelated"
target = 30
"""


class FieldMessage(NamedTuple):
    """What cannot be wished for: which field, and why."""

    field: str
    text: str


class FormError(ValueError):
    """A wish that cannot be granted as it is."""

    def __init__(self, field: str, text: str) -> None:
        super().__init__(field, text)
        self.wrong = FieldMessage(field, text)


@cache
def _pick_default_game() -> Rulebook:
    """Return the game that is played if nobody chooses: the first that cannot be over with its first block."""
    for book in catalogue.load_all():
        start = Position.start(book.rules)
        if all(start.place(block).outcome is None for block in start.legal):
            return book
    return catalogue.load_all()[0]


@router.get("/")
async def show_home(request: Request) -> Response:
    """Show the games, and those of one's own that are not over."""
    going, over = await _list_games(request)
    games = [(book, drawing.draw_sample(book)) for book in catalogue.load_all()]
    return render_page(request, "home.html", games=games, going=going, over=over)


async def _list_games(request: Request) -> tuple[list[RoomView], list[RoomView]]:
    """Return this browser's games that go on, and those that are over, newest first; none while the database fails."""
    lobby: Lobby = request.app.state.lobby
    session = get_browser_session(request)
    views: list[RoomView] = []
    with suppress(StoreError):
        addresses = await lobby.list_rooms(session.secrets, MOST_LISTED) if session.secrets else []
        for address in addresses:
            credentials = session.get_credentials(address)
            with suppress(RoomNotFoundError):
                known = await lobby.find_room_for(address, credentials)
                if held := known.find_seats(credentials):
                    views.append(RoomView(known, held))
    if views:
        session.renew()
    views.sort(key=lambda view: view.known.game.changed, reverse=True)
    return [view for view in views if not _is_done(view.room)], [view for view in views if _is_done(view.room)]


def _is_done(room: Room) -> bool:
    """Say whether a game is over, and with it the match that it may be a part of."""
    return room.over and (room.best_of is None or room.series_over)


@router.get("/new")
async def show_form(request: Request) -> Response:
    """Ask what is to be played."""
    given = {name: value for name, value in request.query_params.items() if len(value) <= LONGEST_GIVEN}
    return _render_form(request, given)


@router.post("/new")
async def start_game(request: Request) -> Response:
    """Open a room as wished, and seat whoever wished for it."""
    form = await read_form(request)
    given = {key: value for key, value in form.items() if isinstance(value, str)}
    session = get_browser_session(request)
    try:
        wish = await _parse_wish(form, given)
        known, _ = await request.app.state.lobby.open_room(wish, session.current.secret)
    except FormError as refused:
        return _render_form(request, given, refused.wrong)
    except TableError:
        return _render_form(
            request, given, FieldMessage("name_1", "That is what the other player is called. Choose another name.")
        )
    session.renew()
    await request.app.state.lobby.wait_for_computer(known)
    return RedirectResponse(f"/g/{known.address}", 303)


@router.post("/theme")
async def set_theme(request: Request) -> Response:
    """Remember which colours a visitor wants."""
    form = await read_form(request)
    back = str(form.get("back", "/"))
    local = back.startswith("/") and not back.startswith(("//", "/\\")) and back.isprintable()
    answer = RedirectResponse(back if local else "/", 303)
    chosen = str(form.get("theme", ""))
    if chosen in get_args(Theme):
        answer.set_cookie("theme", chosen, max_age=YEAR, path="/", samesite="lax")
    return answer


def _render_form(request: Request, given: Mapping[str, str], wrong: FieldMessage | None = None) -> Response:
    """Show the form, with what was given kept in it."""
    name = given.get("game", "").lower()
    book = (
        None
        if name == OWN_RULES
        else catalogue.load_named(name)
        if name in catalogue.list_names()
        else _pick_default_game()
    )
    return render_page(
        request,
        "new.html",
        status=422 if wrong else 200,
        games=catalogue.load_all(),
        book=book,
        rules=() if book is None else describe_rules(book.rules, Voice(book).noun),
        usual={} if book is None else book.rules.written(),
        options=catalogue.OPTIONS if book is None else book.options,
        called=("Player 1", "Player 2") if book is None else Voice(book).players,
        idea=None if book is None else drawing.draw_sample(book),
        levels=LEVELS.values(),
        example=_EXAMPLE,
        given=given,
        wrong=wrong,
    )


# What was wished for --------------------------------------------------------------------------------------------------


async def _parse_wish(form: FormData, given: Mapping[str, str]) -> NewRoom:
    book = await _read_rulebook(form, given)
    rules = _read_rules(book, given)
    first = {"other": 1, "toss": randbelow(2)}.get(given.get("first", ""), 0)
    opponent = given.get("opponent", "computer")
    if opponent not in {"table", "computer", "link"}:
        raise FormError("opponent", "Choose whom you want to play.")
    level = given.get("level") or "easy"
    if level not in LEVELS:
        raise FormError("level", f"Choose one of the levels: {', '.join(LEVELS)}.")
    hidden = bool(given.get("hidden")) and "hidden" in book.options
    return NewRoom(
        book=book,
        table=Table(Game(rules, first), hidden=hidden, book=book),
        opponent=cast("Literal['table', 'computer', 'link']", opponent),
        level=level if opponent == "computer" else None,
        names=_read_names(given, opponent),
        best_of=_read_best_of(given),
        hints=given.get("hints", "yes") != "no",
    )


async def _read_rulebook(form: FormData, given: Mapping[str, str]) -> Rulebook:
    name = given.get("game", "").lower() or _pick_default_game().name
    try:
        if name != OWN_RULES:
            return catalogue.load_named(name)
        upload = form.get("rules_file")
        content = await upload.read() if isinstance(upload, UploadFile) else b""
        content = content or given.get("rules_text", "").replace("\r\n", "\n").encode()
        if not content.strip():
            raise FormError("rules_text", "Paste your rules here, or choose a file that holds them.")
        return limits.read_rule_file(content, "my rules", "my rules")
    except catalogue.RuleFileError as wrong:
        raise FormError("rules_text", _format_rule_error(wrong)) from None
    except limits.TooLargeError as wrong:
        raise FormError("rules_text", make_sentence(f"{wrong}")) from None
    except catalogue.UnknownGameError as wrong:
        raise FormError("game", make_sentence(f"{wrong}")) from None


def _format_rule_error(wrong: catalogue.RuleFileError) -> str:
    """Say what is wrong with a rule file: where, as it stands there, and what was expected."""
    return f"{wrong.key}: {wrong.problem.rstrip('.')}." if wrong.key else make_sentence(wrong.problem)


def _read_rules(book: Rulebook, given: Mapping[str, str]) -> Rules:
    chosen: dict[str, object] = {
        option: text for option in catalogue.RULE_OPTIONS if (text := given.get(option, "").strip())
    }
    if "target" in chosen:
        number = parse_number(str(chosen["target"]))
        if number is None:
            raise FormError("target", "A target is a whole number, such as 21.")
        chosen["target"] = number
    try:
        limits.check_text(",".join(map(str, chosen.values())))
        rules = limits.check_rules(book.apply_options(chosen))
    except RulesError as wrong:
        raise FormError(wrong.key, make_sentence(wrong.problem)) from None
    except catalogue.OptionError as wrong:
        raise FormError(wrong.option, make_sentence(f"{wrong}")) from None
    except limits.TooLargeError as wrong:
        raise FormError("blocks" if chosen else "rules_text", make_sentence(f"{wrong}")) from None
    return rules


def _read_names(given: Mapping[str, str], opponent: str) -> tuple[str | None, str | None]:
    names: list[str | None] = []
    for field in ("name_1", "name_2"):
        name = given.get(field, "").strip() if field == "name_1" or opponent == "table" else ""
        try:
            names.append(check_player_name(name) if name else None)
        except TableError as wrong:
            raise FormError(field, make_sentence(f"{wrong}")) from None
    first, second = names
    if first and second and first.casefold() == second.casefold():
        raise FormError("name_2", "Choose two different names, so that everybody can tell you apart.")
    return first, second


def _read_best_of(given: Mapping[str, str]) -> int | None:
    text = given.get("best_of", "").strip()
    if not text:
        return None
    number = parse_number(text)
    if number is None or not 1 <= number <= LONGEST_MATCH:
        raise FormError("best_of", f"A match has 1 to {LONGEST_MATCH} games.")
    return number
