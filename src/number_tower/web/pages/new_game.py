"""The form for a new game."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from typing import NamedTuple
from urllib.parse import urlencode

from fastapi import APIRouter, Depends, Request
from fastapi.responses import RedirectResponse, Response
from starlette.datastructures import FormData, UploadFile

from number_tower.engine import catalogue
from number_tower.engine.blocks import parse_number
from number_tower.engine.catalogue import First, GameChoice, Rulebook
from number_tower.engine.position import Position
from number_tower.engine.rules import Rules, RulesError
from number_tower.engine.table import Table, TableError, check_player_name
from number_tower.players import LEVELS
from number_tower.support.errors import NumberTowerError
from number_tower.support.text import format_runs, make_sentence, summarize_numbers
from number_tower.web import limits
from number_tower.web.http.middleware.browser_cookie import get_browser_session
from number_tower.web.http.rates import NEW_GAME, price
from number_tower.web.live.new_room import NewRoom
from number_tower.web.live.quota import admit_room
from number_tower.web.pages import read_form, render_page, rule_form
from number_tower.web.pages.choices import GAME_FIELDS, read_choices, remember_choices
from number_tower.web.parts import get_parts

router = APIRouter(include_in_schema=False)

OWN_RULES = "own"
"""The name of a game with the visitor's own rules, in the form."""

CARRIED = "carried-"
"""Prefix of fields that the chosen game does not have; they return with the next game."""

MAX_QUERY = 6_000
"""Characters of an address that fills in the form; a longer one is not used."""

MAX_MATCH = 99
MAX_FIELD = 1_000
"""Characters of a field in an address that fills in the form."""


class FormError(NumberTowerError, ValueError):
    """A field of a form is wrong; the message says why."""

    reason = "bad_request"

    def __init__(self, field: str, text: str) -> None:
        super().__init__(text)
        self.field = field


@router.get("/new")
async def show_form(request: Request) -> Response:
    """Show the form, filled in from the address, and otherwise as this visitor chose before.

    An address with a preset means the whole preset, without options that were chosen before.
    """
    fields = _drop_long(request.query_params.items())
    before = read_choices(request, fields.get("game"))
    if "preset" in fields:
        before = {field: value for field, value in before.items() if field not in GAME_FIELDS}
    return render_form(request, {**before, **fields})


@router.post("/new/change")
async def change_game(request: Request) -> Response:
    """Show the form for another game, with everything else as it was filled in."""
    form = await read_form(request)
    fields = _drop_long(form.items())
    # A field that the game before did not have was only carried along.
    for field in GAME_FIELDS:
        fields[field] = fields.get(field) or fields.pop(f"{CARRIED}{field}", "")
    fields["game"] = fields.pop("change", "")
    if not fields.get(rule_form.TEXT):
        fields.pop(rule_form.TEXT, None)
    query = urlencode(fields)
    if len(query) > MAX_QUERY:
        return render_form(request, fields)
    return RedirectResponse(f"/new?{query}", 303)


@router.post("/new", dependencies=[price(NEW_GAME), Depends(admit_room)])
async def start_game(request: Request) -> Response:
    """Open a room as the form says, and seat the visitor there."""
    form = await read_form(request)
    fields = {key: value for key, value in form.items() if isinstance(value, str)}
    try:
        response = await open_room(request, await _read_room(form, fields))
    except FormError as error:
        return render_form(request, fields, error)
    except TableError:
        text = "The other player has that name. Choose another one."
        return render_form(request, fields, FormError("name_1", text))
    remember_choices(request, response, fields)
    return response


def _drop_long(fields: Iterable[tuple[str, object]]) -> dict[str, str]:
    """Return the fields that are short enough for an address; a rule file may be longer."""
    kept = {}
    for name, value in fields:
        most = limits.MAX_RULE_FILE if name == rule_form.TEXT else MAX_FIELD
        if isinstance(value, str) and len(value) <= most:
            kept[name] = value
    return kept


async def open_room(request: Request, room: NewRoom) -> Response:
    """Open a room for this browser, and redirect to it once a computer that begins has moved."""
    lobby, session = get_parts(request).lobby, get_browser_session(request)
    stored, _ = await lobby.open_room(room, session.current.secret)
    session.renew()
    await lobby.wait_for_computer(stored)
    return RedirectResponse(f"/g/{stored.address}", 303)


def build_new_game_url(book: Rulebook, rules: Rules, title: str) -> str:
    """Return the address of the form filled in with these rules.

    They are options of the game, or else own rules with this title. The address has every option,
    since the form remembers those of the last game.
    """
    fields: dict[str, object] = dict.fromkeys(GAME_FIELDS, "")
    options = book.find_options(rules)
    if options is None:
        fields |= {"game": OWN_RULES, rule_form.TEXT: rule_form.make_text(title, rules)}
    else:
        fields |= {"game": book.name, **options}
    return f"/new?{urlencode(fields)}"


@cache
def pick_default_game() -> Rulebook:
    """Return the usual game: the first that cannot end with its first block."""
    for book in catalogue.load_all():
        start = Position.start(book.rules)
        if all(start.place(block).outcome is None for block in start.legal):
            return book
    raise AssertionError("every game of the catalogue can end with its first block")


class OpeningChoice(NamedTuple):
    """First blocks to choose instead of any, and those with which the first move would win."""

    opening: str
    ends: str


@cache
def _suggest_opening(name: str) -> OpeningChoice | None:
    """Return low first blocks for a game that its first move can end; None for others."""
    book = catalogue.load_named(name)
    rules, start = book.rules, Position.start(book.rules)
    ends = [block for block in start.legal if start.place(block).outcome is not None]
    if not ends or rules.step is None or "opening" not in book.options:
        return None
    return OpeningChoice(format_runs(rules.blocks[: rules.step]), summarize_numbers(ends, ", "))


def render_form(
    request: Request, fields: Mapping[str, str], wrong: FormError | None = None
) -> Response:
    """Show the form as it was filled in."""
    name = fields.get("game", "").lower()
    book = catalogue.load_named(name) if name in catalogue.list_names() else pick_default_game()
    text = fields.get(rule_form.TEXT, "")
    suggested = None if name == OWN_RULES else _suggest_opening(book.name)
    # The suggested first blocks have a choice of their own in the form.
    if suggested and fields.get("opening") == suggested.opening:
        fields = {**fields, "opening": "", "openings": suggested.opening}
    options = {key: value for key, value in _read_options(fields).items() if key in book.options}
    # A form that names no valid rules shows those of the rulebook.
    try:
        chosen_rules = _choose(book, options, fields).rules
    except (RulesError, catalogue.UnknownPresetError, limits.TooLargeError):
        chosen_rules = book.rules
    context: dict[str, object] = {
        "book": book,
        "chosen_rules": chosen_rules,
        "suggested": suggested,
        "all_options": catalogue.OPTIONS,
    }
    if name == OWN_RULES:
        context |= {
            "book": None,
            "example": rule_form.make_text(),
            "own_book": rule_form.check_text(text).book,
        }
    status = 422 if wrong else 200
    return render_page(request, "new.html", status=status, fields=fields, wrong=wrong, **context)


# Reading the form -------------------------------------------------------------------------------


async def _read_room(form: FormData, fields: Mapping[str, str]) -> NewRoom:
    table = Table.start(await read_choice(form, fields))
    opponent = read_pick(fields, "opponent", ("table", "computer", "link"), "computer")
    level = read_pick(fields, "level", LEVELS, "easy")
    games = fields.get("best_of", "").strip()
    best_of = parse_number(games)
    # Text that is no number counts as 0, and is refused as well.
    if games and not 1 <= (best_of or 0) <= MAX_MATCH:
        raise FormError("best_of", f"A match has 1 to {MAX_MATCH} games.")
    # Only at one table does the form name both players.
    names: list[str | None] = []
    for field in ("name_1", "name_2"):
        # Only at one screen does this visitor name the other player.
        is_named = field == "name_1" or opponent == "table"
        name = fields.get(field, "").strip() if is_named else ""
        try:
            names.append(check_player_name(name) if name else None)
        except TableError as error:
            raise FormError(field, make_sentence(f"{error}")) from None
    first, second = names
    if first and second and first.casefold() == second.casefold():
        raise FormError("name_2", "Choose two different names, so that it is clear who is who.")
    return NewRoom(
        table=table,
        opponent=level if opponent == "computer" else opponent,
        names=(first, second),
        best_of=best_of,
        # Between friends there are hints only if they say so.
        hints=fields.get("hints") == "yes" or (fields.get("hints") != "no" and opponent != "link"),
    )


def read_pick(fields: Mapping[str, str], field: str, choices: Iterable[str], usual: str) -> str:
    """Return which of some choices a field has, or raise which there are."""
    value = fields.get(field) or usual
    if value not in (allowed := tuple(choices)):
        raise FormError(field, f"Choose one of these: {', '.join(allowed)}.")
    return value


async def read_choice(form: FormData, fields: Mapping[str, str]) -> GameChoice:
    """Return the game and options that a form asks for, or raise which field is wrong."""
    options = _read_options(fields)
    try:
        return _choose(await _read_rulebook(form, fields), options, fields)
    except RulesError as error:
        raise FormError(error.key, make_sentence(error.problem)) from None
    except limits.TooLargeError as error:
        field = "blocks" if options else rule_form.TEXT
        raise FormError(field, make_sentence(f"{error}")) from None
    except catalogue.CatalogueError as error:
        raise FormError(error.field, make_sentence(f"{error}")) from None


def _choose(book: Rulebook, options: Mapping[str, object], fields: Mapping[str, str]) -> GameChoice:
    limits.check_text(",".join(map(str, options.values())))
    starters: dict[str, First] = {"other": 2, "toss": "random"}
    choice = catalogue.choose(
        book,
        options,
        preset=fields.get("preset") or None,
        hidden=bool(fields.get("hidden")) and "hidden" in book.options,
        first=starters.get(fields.get("first", ""), 1),
    )
    limits.check_rules(choice.rules)
    return choice


async def _read_rulebook(form: FormData, fields: Mapping[str, str]) -> Rulebook:
    name = fields.get("game", "").lower() or pick_default_game().name
    if name != OWN_RULES:
        return catalogue.load_named(name)
    upload = form.get("rules_file")
    content = await upload.read() if isinstance(upload, UploadFile) else b""
    # A browser sends the lines of a text field with CRLF.
    content = content or fields.get("rules_text", "").replace("\r\n", "\n").encode()
    if not content.strip():
        raise FormError("rules_text", "Paste your rules here, or choose a file.")
    try:
        return limits.read_rule_file(content, rule_form.NAME, rule_form.NAME)
    except catalogue.RuleFileError as error:
        problems = (rule_form.format_mistake(*mistake) for mistake in error.mistakes)
        raise FormError("rules_text", " ".join(problems)) from None
    except limits.TooLargeError as error:
        raise FormError("rules_text", make_sentence(f"{error}")) from None


def _read_options(fields: Mapping[str, str]) -> dict[str, object]:
    options: dict[str, object] = {
        option: text
        for option in catalogue.RULE_OPTIONS
        if (text := fields.get(option, "").strip())
    }
    if "opening" not in options and (opening := fields.get("openings", "").strip()):
        options["opening"] = opening
    number = parse_number(str(options.get("target", "")))
    # Other text is refused with the other rules.
    if number is not None:
        options["target"] = number
    return options
