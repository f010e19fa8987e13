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
from number_tower.blocks import whole_number
from number_tower.brief import brief
from number_tower.game import Game
from number_tower.players import LEVELS
from number_tower.position import Position
from number_tower.rules import RulesError
from number_tower.showing import sentence
from number_tower.store.trouble import StoreError
from number_tower.table import Table, TableError, player_name
from number_tower.voice import Voice
from number_tower.web import bounds, drawing, lines
from number_tower.web.browser_cookie import YEAR, browser_session
from number_tower.web.lobby import NoSuchRoom, Wish
from number_tower.web.pages import Theme, page, read_form
from number_tower.web.pages.seeing import View
from number_tower.web.quota import admitted

if TYPE_CHECKING:
    from collections.abc import Mapping

    from starlette.datastructures import FormData

    from number_tower.catalogue import Rulebook
    from number_tower.room import Room
    from number_tower.rules import Rules
    from number_tower.web.lobby import Lobby

router = APIRouter(include_in_schema=False)

OWN = "own"
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


class Wrong(NamedTuple):
    """What cannot be wished for: which field, and why."""

    field: str
    text: str


class Refused(ValueError):  # noqa: N818 - named for what it says
    """A wish that cannot be granted as it is."""

    def __init__(self, field: str, text: str) -> None:
        super().__init__(field, text)
        self.wrong = Wrong(field, text)


@cache
def _usual() -> Rulebook:
    """Return the game that is played if nobody chooses: the first that cannot be over with its first block."""
    for book in catalogue.games():
        start = Position.start(book.rules)
        if all(start.place(block).outcome is None for block in start.legal):
            return book
    return catalogue.games()[0]


@router.get("/")
async def home(request: Request) -> Response:
    """Show the games, and those of one's own that are not over."""
    going, over = await _list_games(request)
    games = [(book, drawing.idea(book)) for book in catalogue.games()]
    return page(request, "home.html", games=games, going=going, over=over)


async def _list_games(request: Request) -> tuple[list[View], list[View]]:
    """Return this browser's games that go on, and those that are over, newest first; none while the database fails."""
    lobby: Lobby = request.app.state.lobby
    session = browser_session(request)
    views: list[View] = []
    with suppress(StoreError):
        addresses = await lobby.list_rooms(session.secrets, MOST_LISTED) if session.secrets else []
        for address in addresses:
            credentials = session.credentials(address)
            with suppress(NoSuchRoom):
                known = await lobby.look_for(address, credentials)
                if held := known.held(credentials):
                    views.append(View(known, held))
    if views:
        session.renew()
    views.sort(key=lambda view: view.known.kept.changed, reverse=True)
    return [view for view in views if not _is_done(view.room)], [view for view in views if _is_done(view.room)]


def _is_done(room: Room) -> bool:
    """Say whether a game is over, and with it the match that it may be a part of."""
    return room.over and (room.best_of is None or room.series_over)


@router.get("/new")
async def ask(request: Request) -> Response:
    """Ask what is to be played."""
    given = {name: value for name, value in request.query_params.items() if len(value) <= LONGEST_GIVEN}
    return _form(request, given)


@router.post("/new")
async def begin(request: Request) -> Response:
    """Open a room as wished, and seat whoever wished for it."""
    form = await read_form(request)
    given = {key: value for key, value in form.items() if isinstance(value, str)}
    session = browser_session(request)
    try:
        wish = await _wish(form, given)
        with admitted(request, wish):
            known, _ = await request.app.state.lobby.begin(wish, session.current.secret)
    except Refused as refused:
        return _form(request, given, refused.wrong)
    except TableError:
        return _form(request, given, Wrong("name_1", "That is what the other player is called. Choose another name."))
    session.renew()
    await request.app.state.lobby.settled(known)
    return RedirectResponse(f"/g/{known.address}", 303)


@router.post("/theme")
async def colours(request: Request) -> Response:
    """Remember which colours a visitor wants."""
    form = await read_form(request)
    back = str(form.get("back", "/"))
    local = back.startswith("/") and not back.startswith(("//", "/\\")) and back.isprintable()
    answer = RedirectResponse(back if local else "/", 303)
    chosen = str(form.get("theme", ""))
    if chosen in get_args(Theme):
        answer.set_cookie("theme", chosen, max_age=YEAR, path="/", samesite="lax")
    return answer


def _form(request: Request, given: Mapping[str, str], wrong: Wrong | None = None) -> Response:
    """Show the form, with what was given kept in it."""
    name = given.get("game", "").lower()
    book = None if name == OWN else catalogue.named(name) if name in catalogue.names() else _usual()
    return page(
        request,
        "new.html",
        status=422 if wrong else 200,
        games=catalogue.games(),
        book=book,
        rules=() if book is None else brief(book.rules, Voice(book).noun),
        usual={} if book is None else book.rules.written(),
        options=catalogue.OPTIONS if book is None else book.options,
        called=("Player 1", "Player 2") if book is None else Voice(book).players,
        idea=None if book is None else drawing.idea(book),
        levels=LEVELS.values(),
        example=_EXAMPLE,
        given=given,
        wrong=wrong,
    )


# What was wished for --------------------------------------------------------------------------------------------------


async def _wish(form: FormData, given: Mapping[str, str]) -> Wish:
    book = await _book(form, given)
    rules = _rules(book, given)
    first = {"other": 1, "toss": randbelow(2)}.get(given.get("first", ""), 0)
    opponent = given.get("opponent", "computer")
    if opponent not in {"table", "computer", "link"}:
        raise Refused("opponent", "Choose whom you want to play.")
    level = given.get("level") or "easy"
    if level not in LEVELS:
        raise Refused("level", f"Choose one of the levels: {', '.join(LEVELS)}.")
    hidden = bool(given.get("hidden")) and "hidden" in book.options
    return Wish(
        book=book,
        table=Table(Game(rules, first), hidden=hidden, book=book),
        opponent=cast("Literal['table', 'computer', 'link']", opponent),
        level=level if opponent == "computer" else None,
        names=_names(given, opponent),
        best_of=_best_of(given),
        hints=given.get("hints", "yes") != "no",
    )


async def _book(form: FormData, given: Mapping[str, str]) -> Rulebook:
    name = given.get("game", "").lower() or _usual().name
    try:
        if name != OWN:
            return catalogue.named(name)
        upload = form.get("rules_file")
        content = await upload.read() if isinstance(upload, UploadFile) else b""
        content = content or given.get("rules_text", "").replace("\r\n", "\n").encode()
        if not content.strip():
            raise Refused("rules_text", "Paste your rules here, or choose a file that holds them.")
        return lines.read_rule_file(content, "my rules", "my rules")
    except catalogue.RuleFileError as wrong:
        raise Refused("rules_text", _told(wrong)) from None
    except bounds.TooLarge as wrong:
        raise Refused("rules_text", sentence(f"{wrong}")) from None
    except catalogue.UnknownGame as wrong:
        raise Refused("game", sentence(f"{wrong}")) from None


def _told(wrong: catalogue.RuleFileError) -> str:
    """Say what is wrong with a rule file: where, as it stands there, and what was expected."""
    return f"{wrong.key}: {wrong.problem.rstrip('.')}." if wrong.key else sentence(wrong.problem)


def _rules(book: Rulebook, given: Mapping[str, str]) -> Rules:
    chosen: dict[str, object] = {
        option: text for option in catalogue.RULE_OPTIONS if (text := given.get(option, "").strip())
    }
    if "target" in chosen:
        number = whole_number(str(chosen["target"]))
        if number is None:
            raise Refused("target", "A target is a whole number, such as 21.")
        chosen["target"] = number
    try:
        bounds.check_text(",".join(map(str, chosen.values())))
        rules = bounds.check(book.with_options(chosen))
    except RulesError as wrong:
        raise Refused(wrong.key, sentence(wrong.problem)) from None
    except catalogue.OptionError as wrong:
        raise Refused(wrong.option, sentence(f"{wrong}")) from None
    except bounds.TooLarge as wrong:
        raise Refused("blocks" if chosen else "rules_text", sentence(f"{wrong}")) from None
    return rules


def _names(given: Mapping[str, str], opponent: str) -> tuple[str | None, str | None]:
    names: list[str | None] = []
    for field in ("name_1", "name_2"):
        name = given.get(field, "").strip() if field == "name_1" or opponent == "table" else ""
        try:
            names.append(player_name(name) if name else None)
        except TableError as wrong:
            raise Refused(field, sentence(f"{wrong}")) from None
    first, second = names
    if first and second and first.casefold() == second.casefold():
        raise Refused("name_2", "Choose two different names, so that everybody can tell you apart.")
    return first, second


def _best_of(given: Mapping[str, str]) -> int | None:
    text = given.get("best_of", "").strip()
    if not text:
        return None
    number = whole_number(text)
    if number is None or not 1 <= number <= LONGEST_MATCH:
        raise Refused("best_of", f"A match has 1 to {LONGEST_MATCH} games.")
    return number
