"""No request costs a server much more than a trivial one: all routes, fields and parsers.

The texts here are as long as they may be, and made to be expensive.
"""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote, urlencode

import pytest

from number_tower import store
from number_tower.engine import catalogue, record
from number_tower.engine.blocks import classify_misread, count_blocks, parse_blocks, parse_number
from number_tower.engine.table import Change, check_player_names
from number_tower.support.text import Template
from number_tower.terminal.cli.input import parse_input
from number_tower.web import limits, settings
from number_tower.web.app import make_app
from number_tower.web.board import templates
from number_tower.web.http.log import mask_path
from number_tower.web.live import events
from number_tower.web.pages import rule_form
from number_tower.web.thinking import tasks
from number_tower.words.prompt import read_answer
from support import apps
from support.costs import FORM, JSON, TEXTS, Call, Meter, Route, find_min, list_routes, stopwatch
from support.sizes import size

pytest_plugins = ["anyio.pytest_plugin"]

MAX_COST = 60
"""How many times the CPU time of `GET /health/live` a request may take in the event loop."""

MAX_GROWTH = 2.5
"""How many times as long a request may take when its input is twice as long."""

MAX_MEMORY = 8_000_000
"""Bytes that a request may need at one time."""

SHORTEST = 0.0005
"""Seconds of CPU time below which a parser's growth is not looked at: it would be noise."""

STEP = size(64, 1)
"""Send one in this many texts to each field; `make soak` sends all of them."""

LOOK_STEP = size(3, 1)
"""Likewise with the ways to look at a long game, different ones with each game."""

TOO_CHEAP = 20
"""Below this multiple of the cheapest request, growth is not looked at: it would be noise."""

HEAD, BODY = 30_000, 60_000
"""Characters that are put into the head and the body of a request: escaped, near their limits."""

VALUES = {"form": "json", "number": "1", "action": "move", "path": "tower.css"}
"""What stands in a path for a real request, beside a room's addresses and a class's code."""


RULE_FORM = "title blocks fit target opening saved_blocks rules_text"
POSTED = {
    "/api/games/{address}/actions": "do block version game kind step",
    "/api/games": (
        "game record rulefile rules.blocks rules.opening rules.fit options.blocks options.target "
        "names first opponent.level best_of hints unknown"
    ),
    "/api/games/{address}/join": "name",
    "/api/games/{address}/handover": "",
    "/api/games/{address}/take": "code",
    "/api/analyse": "record",
    "/api/review": "record",
    "/join": "code",
    "/new": (
        "game opponent level first name_1 name_2 target blocks opening hidden hints best_of "
        "rules_text remember"
    ),
    "/rules": f"{RULE_FORM} do",
    "/rules/live": RULE_FORM,
    "/new/change": "change opponent name_1 blocks carried-blocks rules_text",
    "/theme": "theme back",
    "/dismiss": "game",
    "/preferences": "tour values back",
    "/g/{address}/sit": "name remember",
    "/g/{address}/handover": "",
    "/g/{address}/take/{code}": "",
    "/g/{address}/{action}": "block version game kind step",
    "/class/new": "games mode best_of odd level claim target blocks opening rules_text",
    "/class/{code}/join": "name remember",
    "/class/{code}/take": "personal",
    "/class/{code}/teach/{token}": "",
    "/class/{code}/links": "",
    "/class/{code}/own-code": "",
    "/class/{code}/pupil-code": "pupil",
    "/class/{code}/{action}": "pupil pairing round name first second",
    "/analysis/play": "game level seat",
    "/puzzle": "answer",
    "/puzzles": "answer",
    "/learn/{name}": "answer",
}
"""The fields of the form or, in the API, of the JSON that is posted to each path."""

UNDECLARED = {
    "/join": "code",
    "/new": "game opponent blocks",
    "/rules": "rules_text",
    "/lab/{name}/setting": "blocks target",
}
"""The fields of a query that a route reads without declaring them."""

HEADERS = (
    "cookie", "authorization", "content-type", "range", "accept", "accept-encoding",
    "if-none-match", "origin", "host", "x-fragment", "x-forwarded-for", "last-event-id", "referer",
    "user-agent",
)  # fmt: skip


class Case(NamedTuple):
    """A request that grows: its subject, how a text makes it, and how long the text can be."""

    name: str
    make: Callable[[str], Call]
    most: int


def list_cases(route: Route, room: dict[str, str]) -> Iterator[Case]:
    """Yield every way to put a text into a request: into its path, its query, a form and a body."""
    method, path = route.method, route.path
    token = ("authorization", f"Bearer {room['token']}")
    values = {**room, **VALUES}
    real = fill_path(path, values)

    def in_path(name: str, text: str) -> Call:
        return Call(method, fill_path(path, {**values, name: text}))

    def in_query(name: str, text: str) -> Call:
        return Call(method, real, urlencode({name: text}))

    def in_form(name: str, text: str) -> Call:
        form = {"game": "own" if name == "rules_text" else "draft", name: text}
        return Call("POST", real, "", (FORM,), urlencode(form).encode())

    def in_json(name: str, text: str) -> Call:
        return Call("POST", real, "", (JSON, token), json.dumps(nest(name, text)).encode())

    for name in re.findall(r"{(\w+)}", path):
        yield Case(f"{method} {path} {name}", partial(in_path, name), HEAD)
    whole = partial(quote, safe="=&,:(){}")
    yield Case(f"{method} {path}?", lambda text: Call(method, real, whole(text)), HEAD)
    if method == "GET":
        for name in (*route.query, *UNDECLARED.get(path, "").split()):
            yield Case(f"{path}?{name}", partial(in_query, name), HEAD)
        return
    write, kind = (in_json, JSON) if path.startswith("/api/") else (in_form, FORM)
    for name in POSTED[path].split():
        yield Case(f"{path} {name}", partial(write, name), BODY)
    head = kind, token
    yield Case(f"{path} body", lambda text: Call("POST", real, "", head, text.encode()), 2 * BODY)


def fill_path(path: str, values: dict[str, str]) -> str:
    for name, value in values.items():
        path = path.replace(f"{{{name}}}", value)
    return path


def nest(field: str, value: str) -> dict[str, Any]:
    """Return a body with a value in a field, or in a field of a field."""
    outer, _, inner = field.partition(".")
    if not inner:
        return {outer: [value] if outer == "names" else value}
    game = {} if outer == "rules" else {"game": "draft"}
    return {**game, outer: {inner: value}}


def to_ascii_line(text: str) -> str:
    return text.encode("ascii", "ignore").decode().replace("\n", "")


def write_header(name: str, method: str, path: str, text: str, template: str = "{}") -> Call:
    return Call(method, path, "", ((name, template.format(to_ascii_line(text))),))


def write_part(text: str, disposition: str = "{}", content: str = "1") -> Call:
    """Write a form of one part."""
    header = disposition.format(to_ascii_line(text))
    body = f"--x\r\nContent-Disposition: {header}\r\n\r\n{content}\r\n--x--\r\n"
    kind = ("content-type", "multipart/form-data; boundary=x")
    return Call("POST", "/theme", "", (kind,), body.encode())


def list_header_cases() -> Iterator[Case]:
    """Yield every way to put a text into a header, and into the parts of a form."""
    targets = ("GET", "/"), ("GET", "/static/tower.css"), ("POST", "/theme"), ("POST", "/api/games")
    headers = [(name, target, "{}") for name in HEADERS for target in targets] + [
        ("cookie", targets[0], 'a="{}"'),
        ("range", targets[1], "bytes={}"),
        ("authorization", targets[3], "Bearer {}"),
        ("content-type", targets[2], "multipart/form-data; boundary={}"),
    ]
    for name, target, template in headers:
        make = partial(write_header, name, *target, template=template)
        yield Case(f"{target} {name} {template}", make, HEAD)
    field = 'form-data; name="{}"'
    yield Case("a part's name", partial(write_part, disposition=field), BODY)
    yield Case("a part's header", write_part, BODY)
    yield Case("a part's content", lambda text: write_part("", field, text), BODY)


def list_all_cases(meter: Meter, room: dict[str, str]) -> list[Case]:
    """Return every way to put a text into a request."""
    routes = list_routes(meter.app)
    return [*(case for route in routes for case in list_cases(route, room)), *list_header_cases()]


def post_json(path: str, content: object, *headers: tuple[str, str]) -> Call:
    return Call("POST", path, "", (JSON, *headers), json.dumps(content).encode())


async def open_room(meter: Meter, game: object) -> dict[str, str]:
    """Open a room and a class; return what stands for them in paths."""
    made = await meter.ask(post_json("/api/games", game))
    assert made.status == 201, made.body
    room = json.loads(made.body)
    opened = await meter.ask(Call("POST", "/class/new", "", (FORM,), b"games=draft"))
    code = opened.headers[b"location"].decode().removeprefix("/class/")
    tokens = {key: room[key] for key in ("address", "watch", "token")}
    return {**tokens, "name": "draft", "code": code}


async def find_complaints(
    meter: Meter, case: Case, write: Callable[[int], str], unit: float
) -> AsyncIterator[str]:
    half, whole = case.make(write(case.most // 2)), case.make(write(case.most))
    answer = await meter.ask(whole, keep=False)
    if answer.status >= 500 and answer.status != 503:
        yield f"{case.name}: status {answer.status}"
    if await meter.seconds(whole) <= TOO_CHEAP * unit:
        return
    async for complaint in find_costs(meter, whole):
        yield f"{case.name}: {complaint}"
    growth = await find_min(partial(meter.measure_growth, half, whole), MAX_GROWTH)
    if growth > MAX_GROWTH:
        yield f"{case.name}: {growth:.1f} times as long for twice the input"


async def find_costs(meter: Meter, call: Call) -> AsyncIterator[str]:
    cost = await find_min(partial(meter.measure_cost, call), MAX_COST)
    if cost > MAX_COST:
        yield f"{call.method} {call.path[:40]}: {cost:.0f} times as long as the cheapest request"
    memory = await find_min(partial(meter.measure_memory, call), MAX_MEMORY, tries=6)
    if memory > MAX_MEMORY:
        yield f"{call.method} {call.path[:40]}: {memory / 1e6:.1f} MB"


@pytest.fixture(scope="module")
async def meter(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Meter]:
    """An application for all tests, which has made all that it makes once."""
    app = make_app(apps.make_settings(tmp_path_factory.mktemp("costs")))
    async with app.router.lifespan_context(app):
        meter = Meter(app)
        for route in list_routes(app):
            if route.method == "GET" and "{" not in route.path:
                await meter.ask(Call("GET", route.path), keep=False)
        yield meter


def test_inputs_of_all_routes_are_declared_or_listed(tmp_path: Path) -> None:
    routes = [*list_routes(make_app(apps.make_settings(tmp_path)))]
    assert {route.path for route in routes if route.method != "GET"} == POSTED.keys()
    readers = [route for route in routes if "query_params" in inspect.getsource(route.endpoint)]
    assert {route.path for route in readers} == UNDECLARED.keys()


async def test_no_text_is_expensive_in_any_input(meter: Meter) -> None:
    room = await open_room(meter, {"game": "draft", "opponent": "table"})
    unit = await meter.unit()
    complaints = [
        f"{text}: {complaint}"
        for number, case in enumerate(list_all_cases(meter, room))
        for text in list(TEXTS)[number % STEP :: STEP]
        async for complaint in find_complaints(meter, case, TEXTS[text], unit)
    ]
    assert complaints == []


ATTACKS = {
    "zeros and a colon": "/analysis?game",
    "escaped quotes": """('GET', '/') cookie a="{}\"""",
    "zeros": "/new blocks",
    "zeros and dashes": "/api/games record",
    "nines": "/api/analyse record",
}
"""Requests that once stopped a server for seconds or longer."""


@pytest.mark.parametrize("text", ATTACKS)
async def test_attacks_that_once_stopped_a_server_are_cheap(meter: Meter, text: str) -> None:
    room = await open_room(meter, {"game": "draft", "opponent": "table"})
    [case] = [case for case in list_all_cases(meter, room) if case.name == ATTACKS[text]]
    case, unit = case._replace(most=11_000), await meter.unit()
    assert [complaint async for complaint in find_complaints(meter, case, TEXTS[text], unit)] == []


PARSERS: dict[str, Callable[[str], object]] = {
    "blocks": parse_blocks,
    "blocks counted": count_blocks,
    "a whole number": parse_number,
    "a misread number": classify_misread,
    "a record on one line": record.from_line,
    "a record of JSON": record.from_json,
    "the options of a record": lambda text: record.from_line(f"draft({text}):9"),
    "the moves of a record": lambda text: record.from_line(f"draft:{text}"),
    "a change": Change.from_text,
    "a rule file": lambda text: catalogue.parse_rulebook(text.encode(), "name", "file"),
    "the words of a game": lambda text: Template(text, ["legal"]),
    "names": lambda text: check_player_names([text, "Ben"]),
    "an answer of a language model": read_answer,
    "an answer at the prompt": parse_input,
    "the bounds of a record": limits.check_text,
    "a strange record": tasks.parse_record,
    "a rule file in a form": rule_form.check_text,
    "a strange rule file": lambda text: limits.read_rule_file(text.encode(), "name", "file"),
    "a database's address": lambda text: store.find_location(f"postgresql://{text}"),
    "a path in the log": lambda text: mask_path(text, None),
    "runs in a page": templates.wrap_ranges,
    "a revision": events.find_newest_revision,
    "a proxy's address": settings.parse_proxies,
    "a public address": settings.parse_public_url,
}


async def measure_growth(parse: Callable[[str], object], write: Callable[[int], str]) -> float:
    """Return how many times as long twice the text takes; 0 if it takes no time."""
    seconds = []
    for text in (write(15_000), write(30_000)):
        with stopwatch() as get_seconds:
            with suppress(ValueError, LookupError):
                parse(text)
            seconds.append(get_seconds())
    return seconds[1] / seconds[0] if seconds[1] > SHORTEST else 0.0


@pytest.mark.parametrize("name", PARSERS)
async def test_no_parser_takes_more_than_twice_as_long_for_twice_the_text(name: str) -> None:
    for kind, write in TEXTS.items():
        measure = partial(measure_growth, PARSERS[name], write)
        assert await find_min(measure, MAX_GROWTH) <= MAX_GROWTH, kind


FAT = "\n".join(
    f'{key} = "{"x" * 1800}{"{left:, }{tower:, }{rules}" * 5}"'
    for key in ("turn", "placed", "undone")
)
LONG_GAMES: dict[str, dict[str, object]] = {
    "very many moves": {
        "record": f"rules(blocks=1-3,supply=endless,towers=own,target=1000):{'1,' * 1989}1"
    },
    "very many blocks": {
        "record": f"rules(blocks=1-1000,fit=unrelated):{','.join(map(str, range(501, 1000)))}"
    },
    "very many words": {
        "rulefile": f"[rules]\nblocks = '1-900'\nsupply = 'own'\ntowers = 'own'\n[voice]\n{FAT}"
    },
}


@pytest.mark.parametrize("game", LONG_GAMES)
async def test_long_game_is_cheap_to_look_at_and_to_play(meter: Meter, game: str) -> None:
    room = await open_room(meter, {**LONG_GAMES[game], "opponent": "table"})
    looks = await play_and_list_looks(meter, room)
    calls = looks[list(LONG_GAMES).index(game) % LOOK_STEP :: LOOK_STEP]
    assert [cost for call in calls async for cost in find_costs(meter, call)] == []


async def play_and_list_looks(meter: Meter, room: dict[str, str]) -> list[Call]:
    """Play and take back for a while, and return all ways to look at the game."""
    api, token = f"/api/games/{room['address']}", ("authorization", f"Bearer {room['token']}")
    state = json.loads((await meter.ask(Call("GET", api))).body)
    for turn in range(size(12, 90)):
        action = {"do": "undo", "version": state["version"]}
        if turn % 3 < 2:
            block = state["legal"][-1] if state["legal"] else 1000 - turn
            action |= {"do": "move", "block": block}
        answer = await meter.ask(post_json(f"{api}/actions", action, token))
        content = json.loads(answer.body)
        state = content if answer.status == 200 else content["state"]
    record = state["record"]
    form = urlencode({"game": record, "level": "easy", "seat": "1"}).encode()
    paths = [route.path for route in list_routes(meter.app) if route.method == "GET"]
    return [
        *(Call("GET", fill_path(path, {**room, **VALUES}), "", (token,)) for path in paths),
        Call("GET", f"{api}/log", f"since={max(0, state['version'] - 40)}"),
        Call("GET", "/analysis", urlencode({"game": record})),
        Call("POST", "/analysis/play", "", (FORM,), form),
        *(
            post_json(path, {"record": record})
            for path in ("/api/analyse", "/api/review", "/api/games")
        ),
    ]
