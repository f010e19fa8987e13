"""No request costs a server much more than a trivial one: all routes, fields and parsers.

The texts here are as long as they may be, and made to be expensive.
"""

from __future__ import annotations

import asyncio
import gc
import json
import re
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import suppress
from functools import partial
from math import inf
from pathlib import Path
from time import thread_time
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
from support.costs import FORM, JSON, TEXTS, Call, Meter, list_routes, measure_costs
from support.sizes import size

Measuring = Callable[[Meter], AsyncIterator[str]]
"""Measures requests, and yields complaints."""

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


class Inputs(NamedTuple):
    """The names of the fields that a route reads, beside its path."""

    query: str = ""
    form: str = ""
    json: str = ""


RULE_FORM = "title blocks fit target opening saved_blocks rules_text"
PUZZLE = "day seed number grade game"
INPUTS: dict[tuple[str, str], Inputs] = {
    ("POST", "/api/games/{address}/actions"): Inputs(json="do block version game kind step"),
    ("GET", "/api/games/{address}/events"): Inputs(query="limit"),
    ("GET", "/api/games/{address}/log"): Inputs(query="since limit"),
    ("GET", "/api/games/{address}/export"): Inputs(query="as"),
    ("POST", "/api/games"): Inputs(
        json="game record rulefile rules.blocks rules.opening rules.fit options.blocks "
        "options.target names first opponent.level best_of hints unknown"
    ),
    ("POST", "/api/games/{address}/join"): Inputs(json="name"),
    ("POST", "/api/games/{address}/handover"): Inputs(),
    ("POST", "/api/games/{address}/take"): Inputs(json="code"),
    ("POST", "/api/analyse"): Inputs(json="record"),
    ("POST", "/api/review"): Inputs(json="record"),
    ("GET", "/api/puzzles"): Inputs(query=PUZZLE),
    ("GET", "/api/puzzles/answer"): Inputs(query=f"block {PUZZLE}"),
    ("GET", "/join"): Inputs(query="code"),
    ("POST", "/join"): Inputs(form="code"),
    ("GET", "/new"): Inputs(query="game opponent blocks"),
    ("POST", "/new"): Inputs(
        form="game opponent level first name_1 name_2 target blocks opening hidden hints best_of "
        "rules_text remember"
    ),
    ("GET", "/rules"): Inputs(query="game rules_text"),
    ("POST", "/rules"): Inputs(form=f"{RULE_FORM} do"),
    ("POST", "/rules/live"): Inputs(form=RULE_FORM),
    ("GET", "/rules/verdict"): Inputs(query="game"),
    ("POST", "/new/change"): Inputs(form="change opponent name_1 blocks carried-blocks rules_text"),
    ("POST", "/theme"): Inputs(form="theme back"),
    ("POST", "/dismiss"): Inputs(form="game"),
    ("POST", "/preferences"): Inputs(form="tour values back"),
    ("POST", "/g/{address}/sit"): Inputs(form="name remember"),
    ("POST", "/g/{address}/handover"): Inputs(),
    ("POST", "/g/{address}/take/{code}"): Inputs(),
    ("POST", "/g/{address}/{action}"): Inputs(form="block version game kind step"),
    ("POST", "/class/new"): Inputs(
        form="games mode best_of odd level claim target blocks opening rules_text"
    ),
    ("POST", "/class/{code}/join"): Inputs(form="name remember"),
    ("POST", "/class/{code}/take"): Inputs(form="personal"),
    ("POST", "/class/{code}/teach/{token}"): Inputs(),
    ("POST", "/class/{code}/links"): Inputs(),
    ("POST", "/class/{code}/own-code"): Inputs(),
    ("POST", "/class/{code}/pupil-code"): Inputs(form="pupil"),
    ("POST", "/class/{code}/{action}"): Inputs(form="pupil pairing round name first second"),
    ("GET", "/analysis"): Inputs(query="game ply room"),
    ("POST", "/analysis/play"): Inputs(form="game level seat"),
    ("GET", "/puzzle"): Inputs(query="day"),
    ("POST", "/puzzle"): Inputs(form="answer"),
    ("GET", "/puzzles"): Inputs(query="seed number grade game"),
    ("POST", "/puzzles"): Inputs(form="answer"),
    ("GET", "/learn/{name}"): Inputs(query="at"),
    ("POST", "/learn/{name}"): Inputs(form="answer"),
    ("GET", "/share"): Inputs(query="game"),
    ("GET", "/share.{form}"): Inputs(query="game"),
    ("GET", "/lab/{name}"): Inputs(query="measure"),
    ("GET", "/lab/{name}/setting"): Inputs(query="blocks target measure"),
}
"""All routes with inputs; a route that changes something stands here even if it has none."""

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


def list_cases(method: str, path: str, room: dict[str, str]) -> Iterator[Case]:
    """Yield every way to put a text into a request: into its path, its query, a form and a body."""
    inputs = INPUTS.get((method, path), Inputs())
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

    for kind, names, make, most in (
        ("path", re.findall(r"{(\w+)}", path), in_path, HEAD),
        ("query", inputs.query.split(), in_query, HEAD),
        ("form", inputs.form.split(), in_form, BODY),
        ("json", inputs.json.split(), in_json, BODY),
    ):
        for name in names:
            yield Case(f"{method} {path} {kind} {name}", partial(make, name), most)
    yield Case(
        f"{method} {path}?", lambda text: Call(method, real, quote(text, safe="=&,:(){}")), HEAD
    )
    if method == "POST":
        headers = (FORM if inputs.form else JSON), token
        yield Case(
            f"{path} body", lambda text: Call("POST", real, "", headers, text.encode()), 2 * BODY
        )


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
    """Yield every way to put a text into a header."""
    targets = ("GET", "/"), ("GET", "/static/tower.css"), ("POST", "/theme"), ("POST", "/api/games")
    for name in HEADERS:
        for target in targets:
            yield Case(f"{target} {name}", partial(write_header, name, *target), HEAD)
    for name, target, template in (
        ("cookie", ("GET", "/"), 'a="{}"'),
        ("range", ("GET", "/static/tower.css"), "bytes={}"),
        ("authorization", ("POST", "/api/games"), "Bearer {}"),
        ("content-type", ("POST", "/theme"), "multipart/form-data; boundary={}"),
    ):
        yield Case(
            f"{name} {template}", partial(write_header, name, *target, template=template), HEAD
        )
    yield Case("a part's name", partial(write_part, disposition='form-data; name="{}"'), BODY)
    yield Case("a part's header", write_part, BODY)
    yield Case(
        "a part's content", lambda text: write_part("", 'form-data; name="theme"', text), BODY
    )


def post_json(path: str, content: object, *headers: tuple[str, str]) -> Call:
    return Call("POST", path, "", (JSON, *headers), json.dumps(content).encode())


async def open_room(meter: Meter, game: object) -> dict[str, str]:
    """Open a room and a class; return what stands for them in paths."""
    made = await meter.ask(post_json("/api/games", game))
    assert made.status == 201, made.body
    room = json.loads(made.body)
    opened = await meter.ask(Call("POST", "/class/new", "", (FORM,), b"games=draft"))
    code = opened.headers[b"location"].decode().removeprefix("/class/")
    return {key: room[key] for key in ("address", "watch", "token")} | {
        "name": "draft",
        "code": code,
    }


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
    if (growth := await meter.growth(half, whole, MAX_GROWTH)) > MAX_GROWTH:
        yield f"{case.name}: {growth:.1f} times as long for twice the input"


async def find_costs(meter: Meter, call: Call) -> AsyncIterator[str]:
    if (cost := await meter.cost(call, MAX_COST)) > MAX_COST:
        yield f"{call.method} {call.path[:40]}: {cost:.0f} times as long as the cheapest request"
    if (memory := await meter.memory(call, MAX_MEMORY)) > MAX_MEMORY:
        yield f"{call.method} {call.path[:40]}: {memory / 1e6:.1f} MB"


@pytest.fixture(scope="module")
def find_all(
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Callable[[Measuring], list[str]]]:
    """Measure at an application that serves all tests; return all complaints."""

    async def collect(complaints: AsyncIterator[str]) -> list[str]:
        return [complaint async for complaint in complaints]

    with asyncio.Runner() as runner:
        measuring = measure_costs(tmp_path_factory.mktemp("costs"))
        meter = runner.run(measuring.__aenter__())
        runner.run(warm_up(meter))
        yield lambda measure: runner.run(collect(measure(meter)))
        runner.run(measuring.__aexit__(None, None, None))


async def warm_up(meter: Meter) -> None:
    """Let everything be made that is made once."""
    for method, path in list_routes(meter.app):
        if method == "GET" and "{" not in path:
            await meter.ask(Call("GET", path), keep=False)


def test_all_routes_that_change_something_list_their_inputs(tmp_path: Path) -> None:
    routes = set(list_routes(make_app(apps.make_settings(tmp_path))))
    assert {route for route in routes if route[0] != "GET"} <= INPUTS.keys() <= routes


def test_no_text_is_expensive_in_any_input(
    find_all: Callable[[Measuring], list[str]],
) -> None:
    async def measure(meter: Meter) -> AsyncIterator[str]:
        room = await open_room(meter, {"game": "draft", "opponent": "table"})
        unit = await meter.unit()
        routes = list_routes(meter.app)
        cases = [case for route in routes for case in list_cases(*route, room)]
        for number, case in enumerate([*cases, *list_header_cases()]):
            for text in list(TEXTS)[number % STEP :: STEP]:
                async for complaint in find_complaints(meter, case, TEXTS[text], unit):
                    yield f"{text}: {complaint}"

    assert find_all(measure) == []


ATTACKS: dict[str, Callable[[str], Call]] = {
    "zeros and a colon": lambda text: Call("GET", "/analysis", urlencode({"game": text})),
    "escaped quotes": lambda text: Call("GET", "/", "", (("cookie", f'a="{text}"'),)),
    "zeros": lambda text: Call(
        "POST", "/new", "", (FORM,), urlencode({"game": "draft", "blocks": text}).encode()
    ),
    "zeros and dashes": lambda text: post_json("/api/games", {"record": text}),
    "nines": lambda text: post_json("/api/analyse", {"record": text}),
}
"""Requests that once stopped a server for seconds or longer."""


@pytest.mark.parametrize("text", ATTACKS)
def test_attacks_that_once_stopped_a_server_are_cheap(
    text: str, find_all: Callable[[Measuring], list[str]]
) -> None:
    async def measure(meter: Meter) -> AsyncIterator[str]:
        case = Case(text, ATTACKS[text], 11_000)
        async for complaint in find_complaints(meter, case, TEXTS[text], await meter.unit()):
            yield complaint

    assert find_all(measure) == []


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


def test_no_parser_takes_more_than_twice_as_long_for_twice_the_text() -> None:
    complaints = []
    for name, parse in PARSERS.items():
        for kind, write in TEXTS.items():
            if (growth := measure_growth(parse, write(15_000), write(30_000))) > MAX_GROWTH:
                complaints.append(f"{name}: {growth:.1f} times as long for twice as many {kind}")
    assert complaints == []


def measure_growth(parse: Callable[[str], object], half: str, whole: str, tries: int = 30) -> float:
    least = inf
    for _ in range(tries):
        once, twice = measure_seconds(parse, half), measure_seconds(parse, whole)
        if twice < SHORTEST:
            return 0.0
        least = min(least, twice / once)
        if least <= MAX_GROWTH:
            break
    return least


def measure_seconds(parse: Callable[[str], object], text: str) -> float:
    gc.disable()  # it would come now and then, and count for the one in whose time it comes
    try:
        begun = thread_time()
        with suppress(ValueError, LookupError):
            parse(text)
        return thread_time() - begun
    finally:
        gc.enable()


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
def test_a_long_game_is_cheap_to_look_at_and_to_play(
    game: str, find_all: Callable[[Measuring], list[str]]
) -> None:
    async def measure(meter: Meter) -> AsyncIterator[str]:
        room = await open_room(meter, {**LONG_GAMES[game], "opponent": "table"})
        looks = await play_and_list_looks(meter, room)
        for call in looks[list(LONG_GAMES).index(game) % LOOK_STEP :: LOOK_STEP]:
            async for complaint in find_costs(meter, call):
                yield complaint

    assert find_all(measure) == []


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
    paths = [path for method, path in list_routes(meter.app) if method == "GET"]
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
