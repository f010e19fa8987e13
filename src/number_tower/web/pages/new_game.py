"""The form for a new game."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import NamedTuple
from urllib.parse import urlencode

from fastapi import APIRouter, Depends, Request
from fastapi.responses import RedirectResponse, Response
from starlette.datastructures import FormData, UploadFile

from number_tower import catalogue
from number_tower.blocks import parse_number
from number_tower.catalogue import First, GameChoice, Rulebook
from number_tower.errors import NumberTowerError
from number_tower.players import LEVELS
from number_tower.position import Position
from number_tower.rules import Rules, RulesError
from number_tower.table import Table, TableError, check_player_name
from number_tower.text import format_runs, make_sentence, summarize_numbers
from number_tower.web import limits, rule_form
from number_tower.web.choices import GAME_FIELDS, read_choices, remember_choices
from number_tower.web.middleware.browser_cookie import get_browser_session
from number_tower.web.new_room import NewRoom
from number_tower.web.pages import read_form, render_page
from number_tower.web.quota import admit_room
from number_tower.web.rates import NEW_GAME, price

router = APIRouter(include_in_schema=False)

OWN_RULES = "own"
"""The name of a game with the visitor's own rules, in the form."""

CARRIED = "carried-"
"""What the names of fields begin with that the chosen game does not have; they come back with the next game."""

LONGEST_QUERY = 6_000
"""Characters of an address that fills in the form; a longer one is not used."""

LONGEST_MATCH = 99
LONGEST_GIVEN = 1_000
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

    An address with a preset means the whole preset, so options that were chosen before do not count then.
    """
    given = {
        name: value
        for name, value in request.query_params.items()
        if len(value) <= _find_limit(name)
    }
    before = read_choices(request, given.get("game"))
    if "preset" in given:
        before = {field: value for field, value in before.items() if field not in GAME_FIELDS}
    return render_form(request, {**before, **given})


@router.post("/new/change")
async def change_game(request: Request) -> Response:
    """Show the form for another game, with everything else as it was filled in."""
    form = await read_form(request)
    given = {
        key: value
        for key, value in form.items()
        if isinstance(value, str) and len(value) <= _find_limit(key)
    }
    for field in GAME_FIELDS:  # a field that the game before did not have was only carried along
        given[field] = given.get(field) or given.pop(f"{CARRIED}{field}", "")
    given["game"] = given.pop("change", "")
    query = urlencode(
        {key: value for key, value in given.items() if value or key != rule_form.TEXT}
    )
    return (
        RedirectResponse(f"/new?{query}", 303)
        if len(query) <= LONGEST_QUERY
        else render_form(request, given)
    )


@router.post("/new", dependencies=[price(NEW_GAME), Depends(admit_room)])
async def start_game(request: Request) -> Response:
    """Open a room as the form says, and seat the visitor there."""
    form = await read_form(request)
    given = {key: value for key, value in form.items() if isinstance(value, str)}
    try:
        response = await open_room(request, await _read_room(form, given))
    except FormError as error:
        return render_form(request, given, error)
    except TableError:
        text = "The other player has that name. Choose another one."
        return render_form(request, given, FormError("name_1", text))
    remember_choices(request, response, given)
    return response


def _find_limit(field: str) -> int:
    """Return how many characters a field may have in an address."""
    return limits.MAX_RULE_FILE if field == rule_form.TEXT else LONGEST_GIVEN


async def open_room(request: Request, room: NewRoom) -> Response:
    """Open a room for this browser, and redirect to it once a computer that begins has moved."""
    lobby, session = request.app.state.lobby, get_browser_session(request)
    stored, _ = await lobby.open_room(room, session.current.secret)
    session.renew()
    await lobby.wait_for_computer(stored)
    return RedirectResponse(f"/g/{stored.address}", 303)


def build_new_game_url(book: Rulebook, rules: Rules, title: str) -> str:
    """Return the address of the form filled in with these rules: as options of the game, or else as your own rules.

    It has every option, since the form remembers those of the last game; `title` is that of your own rules.
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
    """Return the game that is played if none is chosen: the first that cannot end with its first block."""
    starts = ((book, Position.start(book.rules)) for book in catalogue.load_all())
    return next(
        book
        for book, start in starts
        if all(start.place(each).outcome is None for each in start.legal)
    )


class OpeningChoice(NamedTuple):
    """First blocks to choose instead of any, and those with which the first move would win."""

    opening: str
    ends: str


@cache
def _suggest_opening(name: str) -> OpeningChoice | None:
    """Return the lowest first blocks for a game whose first move can end it at once; None for other games."""
    book = catalogue.load_named(name)
    rules, start = book.rules, Position.start(book.rules)
    ends = [block for block in start.legal if start.place(block).outcome is not None]
    if not ends or rules.step is None or "opening" not in book.options:
        return None
    return OpeningChoice(format_runs(rules.blocks[: rules.step]), summarize_numbers(ends, ", "))


def render_form(
    request: Request, given: Mapping[str, str], wrong: FormError | None = None
) -> Response:
    """Show the form with the values given."""
    name = given.get("game", "").lower()
    book = catalogue.load_named(name) if name in catalogue.list_names() else pick_default_game()
    text = given.get(rule_form.TEXT, "")
    suggested = None if name == OWN_RULES else _suggest_opening(book.name)
    if suggested and given.get("opening") == suggested.opening:  # it has a choice of its own
        given = {**given, "opening": "", "openings": suggested.opening}
    rules = _find_chosen_rules(book, given)
    context: dict[str, object] = {
        "book": book,
        "chosen_rules": rules,
        "suggested": suggested,
        "all_options": catalogue.OPTIONS,
    }
    if name == OWN_RULES:
        context |= {
            "book": None,
            "example": rule_form.make_text(),
            "own_book": rule_form.check_text(text).book,
        }
    return render_page(
        request, "new.html", status=422 if wrong else 200, given=given, wrong=wrong, **context
    )


def _find_chosen_rules(book: Rulebook, given: Mapping[str, str]) -> Rules:
    """Return the rules as the form is filled in; those of the rulebook if that is not possible."""
    try:
        options = {key: value for key, value in _read_options(given).items() if key in book.options}
        limits.check_text(",".join(map(str, options.values())))
        rules = catalogue.choose(book, options, preset=given.get("preset") or None).rules
        limits.check_rules(rules)
    except (FormError, RulesError, catalogue.UnknownPresetError, limits.TooLargeError):
        return book.rules
    return rules


# Reading the form -----------------------------------------------------------------------------------------------------


async def _read_room(form: FormData, given: Mapping[str, str]) -> NewRoom:
    table = Table.start(await read_choice(form, given))
    opponent = given.get("opponent", "computer")
    if opponent not in {"table", "computer", "link"}:
        raise FormError("opponent", "Choose who plays.")
    level = given.get("level") or "easy"
    if level not in LEVELS:
        raise FormError("level", f"Choose one of the levels: {', '.join(LEVELS)}.")
    return NewRoom(
        table=table,
        opponent=level if opponent == "computer" else opponent,
        names=_read_names(given, opponent),
        best_of=_read_best_of(given),
        hints=given.get("hints") == "yes" or (given.get("hints") != "no" and opponent != "link"),
    )


async def read_choice(form: FormData, given: Mapping[str, str]) -> GameChoice:
    """Return the game and options that a form asks for, or raise which field is wrong."""
    options = _read_options(given)
    starters: dict[str, First] = {"other": 2, "toss": "random"}
    try:
        book = await _read_rulebook(form, given)
        hidden = bool(given.get("hidden")) and "hidden" in book.options
        limits.check_text(",".join(map(str, options.values())))
        first = starters.get(given.get("first", ""), 1)
        choice = catalogue.choose(
            book, options, preset=given.get("preset") or None, hidden=hidden, first=first
        )
        limits.check_rules(choice.rules)
    except RulesError as error:
        raise FormError(error.key, make_sentence(error.problem)) from None
    except limits.TooLargeError as error:
        field = "blocks" if options else rule_form.TEXT
        raise FormError(field, make_sentence(f"{error}")) from None
    except catalogue.CatalogueError as error:
        raise FormError(error.field, make_sentence(f"{error}")) from None
    return choice


async def _read_rulebook(form: FormData, given: Mapping[str, str]) -> Rulebook:
    name = given.get("game", "").lower() or pick_default_game().name
    if name != OWN_RULES:
        return catalogue.load_named(name)
    upload = form.get("rules_file")
    content = await upload.read() if isinstance(upload, UploadFile) else b""
    content = content or given.get("rules_text", "").replace("\r\n", "\n").encode()
    if not content.strip():
        raise FormError("rules_text", "Paste your rules here, or choose a file.")
    try:
        return limits.read_rule_file(content, rule_form.NAME, rule_form.NAME)
    except catalogue.RuleFileError as error:
        problems = (rule_form.format_mistake(*mistake) for mistake in error.mistakes)
        raise FormError("rules_text", " ".join(problems)) from None
    except limits.TooLargeError as error:
        raise FormError("rules_text", make_sentence(f"{error}")) from None


def _read_options(given: Mapping[str, str]) -> dict[str, object]:
    options: dict[str, object] = {
        option: text for option in catalogue.RULE_OPTIONS if (text := given.get(option, "").strip())
    }
    if "opening" not in options and (opening := given.get("openings", "").strip()):
        options["opening"] = opening
    if "target" in options:
        options["target"] = parse_number(str(options["target"]))
        if options["target"] is None:
            raise FormError("target", rule_form.NUMBER_EXPECTED["target"])
    return options


def _read_names(given: Mapping[str, str], opponent: str) -> tuple[str | None, str | None]:
    names: list[str | None] = []
    for field in ("name_1", "name_2"):
        name = given.get(field, "").strip() if field == "name_1" or opponent == "table" else ""
        try:
            names.append(check_player_name(name) if name else None)
        except TableError as error:
            raise FormError(field, make_sentence(f"{error}")) from None
    first, second = names
    if first and second and first.casefold() == second.casefold():
        raise FormError("name_2", "Choose two different names, so that it is clear who is who.")
    return first, second


def _read_best_of(given: Mapping[str, str]) -> int | None:
    text = given.get("best_of", "").strip()
    number = parse_number(text)
    if text and not 1 <= (number or 0) <= LONGEST_MATCH:
        raise FormError("best_of", f"A match has 1 to {LONGEST_MATCH} games.")
    return number
