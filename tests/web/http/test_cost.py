"""No request costs a server much more than a trivial one: each route, field and parser.

The texts here are as long as they may be, and made to be expensive. A route that is not in the
table fails the test.
"""

from __future__ import annotations

import asyncio
import gc
import json
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import suppress
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
"""Measures something, and gives what there is to complain of."""

MOST_COST = 60
"""How many times the CPU time of `GET /health/live` a request may take in the event loop."""

MOST_GROWTH = 2.5
"""How many times as long a request may take when its input is twice as long."""

MOST_MEMORY = 8_000_000
"""Bytes that a request may need at one time."""

SHORTEST = 0.0005
"""Seconds of CPU time below which a parser's growth is not looked at: it would be noise."""

EACH = size(64, 1)
"""Each how many of the texts is sent to a field; all of them in `make soak`."""

SHARE = size(3, 1)
"""Take one in this many ways to look at a long game, different ones with each game.

`make soak` takes all of them.
"""

TOO_CHEAP = 20
"""Below this multiple of the cheapest request, growth is not looked at: it would be noise."""

HEAD, BODY = 30_000, 60_000
"""Characters that are put into the head and the body of a request.

Escaped, they come close to what is taken.
"""


VALUES = {"form": "json", "number": "1", "action": "move", "path": "tower.css"}
"""What stands in a path for a real request, beside a room's addresses and a class's code."""


class Inputs(NamedTuple):
    """What a route reads, beside its path: names of fields."""

    query: tuple[str, ...] = ()
    form: tuple[str, ...] = ()
    json: tuple[str, ...] = ()


_RULE_FORMS = ("title", "blocks", "fit", "target", "opening", "saved_blocks", "rules_text")
_ROOM_FORMS = ("block", "version", "game", "kind", "step")
_CLASS_FORMS = (
    "games",
    "mode",
    "best_of",
    "odd",
    "level",
    "claim",
    "target",
    "blocks",
    "opening",
    "rules_text",
)
ROUTES: dict[tuple[str, str], Inputs] = {
    ("GET", "/openapi.json"): Inputs(),
    ("GET", "/health"): Inputs(),
    ("GET", "/health/live"): Inputs(),
    ("GET", "/static/{path}"): Inputs(),
    ("POST", "/api/games/{address}/actions"): Inputs(
        json=("do", "block", "version", "game", "kind", "step")),
    ("GET", "/api/games/{address}"): Inputs(),
    ("GET", "/api/games/{address}/seat"): Inputs(),
    ("GET", "/api/games/{address}/presence"): Inputs(),
    ("GET", "/api/games/{address}/events"): Inputs(query=("limit",)),
    ("GET", "/api/games/{address}/log"): Inputs(query=("since", "limit")),
    ("GET", "/api/games/{address}/export"): Inputs(query=("as",)),
    ("POST", "/api/games"): Inputs(
        json=(
            "game", "record", "rulefile", "rules.blocks", "rules.opening", "rules.fit",
            "options.blocks", "options.target", "names", "first", "opponent.level", "best_of",
            "hints", "unknown",
        )
    ),
    ("POST", "/api/games/{address}/join"): Inputs(json=("name",)),
    ("POST", "/api/games/{address}/handover"): Inputs(),
    ("POST", "/api/games/{address}/take"): Inputs(json=("code",)),
    ("GET", "/api/rulebooks"): Inputs(),
    ("GET", "/api/rulebooks/{name}"): Inputs(),
    ("GET", "/api/levels"): Inputs(),
    ("POST", "/api/analyse"): Inputs(json=("record",)),
    ("POST", "/api/review"): Inputs(json=("record",)),
    ("GET", "/api/puzzles"): Inputs(query=("day", "seed", "number", "grade", "game")),
    ("GET", "/api/puzzles/answer"): Inputs(
        query=("block", "day", "seed", "number", "grade", "game")),
    ("GET", "/"): Inputs(),
    ("GET", "/join"): Inputs(query=("code",)),
    ("POST", "/join"): Inputs(form=("code",)),
    ("GET", "/new"): Inputs(query=("game", "opponent", "blocks")),
    ("POST", "/new"): Inputs(
        form=(
            "game", "opponent", "level", "first", "name_1", "name_2", "target", "blocks", "opening",
            "hidden", "hints", "best_of", "rules_text", "remember",
        )
    ),
    ("GET", "/rules"): Inputs(query=("game", "rules_text")),
    ("POST", "/rules"): Inputs(form=(*_RULE_FORMS, "do")),
    ("POST", "/rules/live"): Inputs(form=_RULE_FORMS),
    ("GET", "/rules/verdict"): Inputs(query=("game",)),
    ("POST", "/new/change"): Inputs(
        form=("change", "opponent", "name_1", "blocks", "carried-blocks", "rules_text")),
    ("POST", "/theme"): Inputs(form=("theme", "back")),
    ("POST", "/dismiss"): Inputs(form=("game",)),
    ("POST", "/preferences"): Inputs(form=("tour", "values", "back")),
    ("GET", "/g/{address}"): Inputs(),
    ("GET", "/g/{address}/table"): Inputs(),
    ("GET", "/w/{watch}/play"): Inputs(),
    ("GET", "/w/{watch}"): Inputs(),
    ("GET", "/w/{watch}/table"): Inputs(),
    ("GET", "/g/{address}/events"): Inputs(),
    ("GET", "/w/{address}/events"): Inputs(),
    ("GET", "/g/{address}/games/{number}"): Inputs(),
    ("GET", "/w/{address}/games/{number}"): Inputs(),
    ("GET", "/g/{address}/record.{form}"): Inputs(),
    ("GET", "/w/{address}/record.{form}"): Inputs(),
    ("POST", "/g/{address}/sit"): Inputs(form=("name", "remember")),
    ("POST", "/g/{address}/handover"): Inputs(),
    ("GET", "/g/{address}/take/{code}"): Inputs(),
    ("POST", "/g/{address}/take/{code}"): Inputs(),
    ("GET", "/g/{address}/{action}"): Inputs(),
    ("POST", "/g/{address}/{action}"): Inputs(form=_ROOM_FORMS),
    ("GET", "/class/new"): Inputs(),
    ("POST", "/class/new"): Inputs(form=_CLASS_FORMS),
    ("GET", "/class/{code}"): Inputs(),
    ("GET", "/class/{code}/table"): Inputs(),
    ("GET", "/class/{code}/events"): Inputs(),
    ("GET", "/class/{code}/wall"): Inputs(),
    ("GET", "/class/{code}/wall/table"): Inputs(),
    ("GET", "/class/{code}/wall/events"): Inputs(),
    ("GET", "/class/{code}/board/{number}"): Inputs(),
    ("GET", "/class/{code}/board/{number}/table"): Inputs(),
    ("GET", "/class/{code}/board/{number}/events"): Inputs(),
    ("GET", "/class/{code}/review/{number}"): Inputs(),
    ("GET", "/class/{code}/standings.csv"): Inputs(),
    ("GET", "/class/{code}/results.csv"): Inputs(),
    ("GET", "/class/{code}/games.txt"): Inputs(),
    ("GET", "/class/{code}/games.jsonl"): Inputs(),
    ("POST", "/class/{code}/join"): Inputs(form=("name", "remember")),
    ("POST", "/class/{code}/take"): Inputs(form=("personal",)),
    ("GET", "/class/{code}/teach/{token}"): Inputs(),
    ("POST", "/class/{code}/teach/{token}"): Inputs(),
    ("POST", "/class/{code}/links"): Inputs(),
    ("POST", "/class/{code}/own-code"): Inputs(),
    ("POST", "/class/{code}/pupil-code"): Inputs(form=("pupil",)),
    ("GET", "/class/{code}/{action}"): Inputs(),
    ("POST", "/class/{code}/{action}"): Inputs(
        form=("pupil", "pairing", "round", "name", "first", "second")),
    ("GET", "/wall/{code}"): Inputs(),
    ("GET", "/wall/{code}/table"): Inputs(),
    ("GET", "/wall/{code}/events"): Inputs(),
    ("GET", "/wall/{code}/board/{number}"): Inputs(),
    ("GET", "/wall/{code}/board/{number}/table"): Inputs(),
    ("GET", "/wall/{code}/board/{number}/events"): Inputs(),
    ("GET", "/wall/{code}/review/{number}"): Inputs(),
    ("GET", "/analysis"): Inputs(query=("game", "ply", "room")),
    ("POST", "/analysis/play"): Inputs(form=("game", "level", "seat")),
    ("GET", "/puzzle"): Inputs(query=("day",)),
    ("POST", "/puzzle"): Inputs(form=("answer",)),
    ("GET", "/puzzles"): Inputs(query=("seed", "number", "grade", "game")),
    ("POST", "/puzzles"): Inputs(form=("answer",)),
    ("GET", "/learn/{name}"): Inputs(query=("at",)),
    ("POST", "/learn/{name}"): Inputs(form=("answer",)),
    ("GET", "/offline"): Inputs(),
    ("GET", "/service-worker.js"): Inputs(),
    ("GET", "/share"): Inputs(query=("game",)),
    ("GET", "/share.{form}"): Inputs(query=("game",)),
    ("GET", "/games"): Inputs(),
    ("GET", "/games/{name}"): Inputs(),
    ("GET", "/lab"): Inputs(),
    ("GET", "/lab/{name}"): Inputs(query=("measure",)),
    ("GET", "/lab/{name}/setting"): Inputs(query=("blocks", "target", "measure")),
}  # fmt: skip

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


def cases(method: str, path: str, room: dict[str, str]) -> Iterator[Case]:
    """Give every way to put a text into a request: into its path, its query, a form and a body."""
    inputs = ROUTES[method, path]
    token = ("authorization", f"Bearer {room['token']}")
    values = {**room, **VALUES}
    real = _fill(path, values)
    for name in values:
        if f"{{{name}}}" in path:
            yield Case(f"{method} {path} {name}", _in_path(method, path, values, name), HEAD)
    for name in inputs.query:
        yield Case(f"{method} {path}?{name}", _in_query(method, real, name), HEAD)
    yield Case(
        f"{method} {path}?", lambda text: Call(method, real, quote(text, safe="=&,:(){}")), HEAD
    )
    for name in inputs.form:
        yield Case(f"{method} {path} form {name}", _in_form(real, name), BODY)
    for name in inputs.json:
        yield Case(f"{method} {path} json {name}", _in_json(real, name, token), BODY)
    if method == "POST":
        kind = FORM if inputs.form else JSON
        yield Case(
            f"{path} body",
            lambda text: Call("POST", real, "", (kind, token), text.encode()),
            2 * BODY,
        )


def _fill(path: str, values: dict[str, str]) -> str:
    for name, value in values.items():
        path = path.replace(f"{{{name}}}", value)
    return path


def _in_path(method: str, path: str, values: dict[str, str], name: str) -> Callable[[str], Call]:
    return lambda text: Call(method, _fill(path, {**values, name: text}))


def _in_query(method: str, path: str, name: str) -> Callable[[str], Call]:
    return lambda text: Call(method, path, urlencode({name: text}))


def _in_form(path: str, name: str) -> Callable[[str], Call]:
    usual = {"game": "own" if name == "rules_text" else "draft"}
    return lambda text: Call("POST", path, "", (FORM,), urlencode({**usual, name: text}).encode())


def _in_json(path: str, name: str, token: tuple[str, str]) -> Callable[[str], Call]:
    return lambda text: Call(
        "POST", path, "", (JSON, token), json.dumps(_nested(name, text)).encode()
    )


def _in_header(
    method: str, path: str, name: str, start: str = "", end: str = ""
) -> Callable[[str], Call]:
    return lambda text: Call(method, path, "", ((name, f"{start}{_in_ascii(text)}{end}"),))


def _in_ascii(text: str) -> str:
    return text.encode("ascii", "ignore").decode().replace("\n", "")


def header_cases() -> Iterator[Case]:
    """Give every way to put a text into a header."""
    for name in HEADERS:
        for method, path in (
            ("GET", "/"),
            ("GET", "/static/tower.css"),
            ("POST", "/theme"),
            ("POST", "/api/games"),
        ):
            yield Case(f"{method} {path} {name}", _in_header(method, path, name), HEAD)
    yield Case("a cookie in quotes", _in_header("GET", "/", "cookie", 'a="', '"'), HEAD)
    yield Case("a range of bytes", _in_header("GET", "/static/tower.css", "range", "bytes="), HEAD)
    yield Case("a token", _in_header("POST", "/api/games", "authorization", "Bearer "), HEAD)
    parts = "multipart/form-data; boundary="
    yield Case("a boundary of parts", _in_header("POST", "/theme", "content-type", parts), HEAD)
    yield Case("a part's name", lambda text: _part(f'form-data; name="{_in_ascii(text)}"'), BODY)
    yield Case("a part's header", lambda text: _part(_in_ascii(text)), BODY)
    yield Case("a part's content", lambda text: _part('form-data; name="theme"', text), BODY)


def _part(disposition: str, content: str = "1") -> Call:
    body = f"--x\r\nContent-Disposition: {disposition}\r\n\r\n{content}\r\n--x--\r\n"
    return Call(
        "POST", "/theme", "", (("content-type", "multipart/form-data; boundary=x"),), body.encode()
    )


def _nested(field: str, value: str) -> dict[str, Any]:
    outer, _, inner = field.partition(".")
    if inner:
        return (
            {"game": "draft", outer: {inner: value}}
            if outer != "rules"
            else {outer: {inner: value}}
        )
    return {outer: [value] if outer == "names" else value}


async def _begin(meter: Meter, wanted: object) -> dict[str, str]:
    made = await meter.ask(Call("POST", "/api/games", "", (JSON,), json.dumps(wanted).encode()))
    assert made.status == 201, made.body
    content = json.loads(made.body)
    opened = await meter.ask(Call("POST", "/class/new", "", (FORM,), b"games=draft"))
    code = opened.headers[b"location"].decode().removeprefix("/class/")
    return {key: content[key] for key in ("address", "watch", "token")} | {
        "name": "draft",
        "code": code,
    }


async def _complaints(
    meter: Meter, case: Case, write: Callable[[int], str], unit: float
) -> AsyncIterator[str]:
    half, whole = case.make(write(case.most // 2)), case.make(write(case.most))
    answer = await meter.ask(whole, keep=False)
    if answer.status >= 500 and answer.status != 503:
        yield f"{case.name}: status {answer.status}"
    if await meter.seconds(whole) <= TOO_CHEAP * unit:
        return
    async for said in _dear(meter, whole):
        yield f"{case.name}: {said}"
    if (growth := await meter.growth(half, whole, MOST_GROWTH)) > MOST_GROWTH:
        yield f"{case.name}: {growth:.1f} times as long for twice the input"


async def _dear(meter: Meter, call: Call) -> AsyncIterator[str]:
    if (cost := await meter.cost(call, MOST_COST)) > MOST_COST:
        yield f"{call.method} {call.path[:40]}: {cost:.0f} times as long as the cheapest request"
    if (memory := await meter.memory(call, MOST_MEMORY)) > MOST_MEMORY:
        yield f"{call.method} {call.path[:40]}: {memory / 1e6:.1f} MB"


@pytest.fixture(scope="module")
def complaints(
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Callable[[Measuring], list[str]]]:
    """Measure something at an application that serves all tests, and return all complaints."""
    with asyncio.Runner() as runner:
        loop = runner.get_loop()
        ready: asyncio.Future[Meter] = loop.create_future()
        done = asyncio.Event()

        async def serve() -> None:
            async with measure_costs(tmp_path_factory.mktemp("costs")) as meter:
                await _warm_up(meter)
                ready.set_result(meter)
                await done.wait()

        async def wait() -> Meter:
            either: list[asyncio.Future[Any]] = [serving, ready]
            await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
            if serving.done():
                serving.result()
            return ready.result()

        serving = loop.create_task(serve())
        meter = runner.run(wait())
        yield lambda measure: runner.run(_list(measure(meter)))
        done.set()
        loop.run_until_complete(serving)


async def _list(said: AsyncIterator[str]) -> list[str]:
    return [each async for each in said]


def test_every_route_is_measured(tmp_path: Path) -> None:
    assert set(list_routes(make_app(apps.make_settings(tmp_path)))) == ROUTES.keys()


def test_no_text_is_expensive_wherever_it_is_sent(
    complaints: Callable[[Measuring], list[str]],
) -> None:
    async def measure(meter: Meter) -> AsyncIterator[str]:
        room = await _begin(meter, {"game": "draft", "opponent": "table"})
        unit = await meter.unit()
        found = [case for route in ROUTES for case in cases(*route, room)] + [*header_cases()]
        for number, case in enumerate(found):
            for text in list(TEXTS)[number % EACH :: EACH]:
                async for said in _complaints(meter, case, TEXTS[text], unit):
                    yield f"{text}: {said}"

    assert complaints(measure) == []


async def _warm_up(meter: Meter) -> None:
    """Let everything be made that is made once."""
    for method, path in ROUTES:
        if method == "GET" and "{" not in path:
            await meter.ask(Call("GET", path), keep=False)


KNOWN: dict[str, Callable[[str], Call]] = {
    "zeros and a colon": lambda text: Call("GET", "/analysis", urlencode({"game": text})),
    "escaped quotes": lambda text: Call("GET", "/", "", (("cookie", f'a="{text}"'),)),
    "zeros": lambda text: Call(
        "POST", "/new", "", (FORM,), urlencode({"game": "draft", "blocks": text}).encode()
    ),
    "zeros and dashes": lambda text: Call(
        "POST", "/api/games", "", (JSON,), json.dumps({"record": text}).encode()
    ),
    "nines": lambda text: Call(
        "POST", "/api/analyse", "", (JSON,), json.dumps({"record": text}).encode()
    ),
}
"""Requests that have stopped a server for seconds or for ever."""


@pytest.mark.parametrize("text", KNOWN)
def test_what_once_stopped_a_server_does_not(
    text: str, complaints: Callable[[Measuring], list[str]]
) -> None:
    async def measure(meter: Meter) -> AsyncIterator[str]:
        case = Case(text, KNOWN[text], 11_000)
        async for said in _complaints(meter, case, TEXTS[text], await meter.unit()):
            yield said

    assert complaints(measure) == []


PARSERS: dict[str, Callable[[str], object]] = {
    "blocks": parse_blocks,
    "blocks counted": count_blocks,
    "a whole number": parse_number,
    "what is no number": classify_misread,
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
            if (growth := _growth(parse, write(15_000), write(30_000))) > MOST_GROWTH:
                complaints.append(f"{name}: {growth:.1f} times as long for twice as many {kind}")
    assert complaints == []


def _growth(parse: Callable[[str], object], half: str, whole: str, tries: int = 30) -> float:
    least = inf
    for _ in range(tries):
        once, twice = _seconds(parse, half), _seconds(parse, whole)
        if twice < SHORTEST:
            return 0.0
        least = min(least, twice / once)
        if least <= MOST_GROWTH:
            break
    return least


def _seconds(parse: Callable[[str], object], text: str) -> float:
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
def test_no_game_is_expensive_to_look_at_or_to_play(
    game: str, complaints: Callable[[Measuring], list[str]]
) -> None:
    async def measure(meter: Meter) -> AsyncIterator[str]:
        room = await _begin(meter, {**LONG_GAMES[game], "opponent": "table"})
        for call in (await _visits(meter, room))[list(LONG_GAMES).index(game) % SHARE :: SHARE]:
            async for said in _dear(meter, call):
                yield said

    assert complaints(measure) == []


async def _visits(meter: Meter, room: dict[str, str]) -> list[Call]:
    """Play and take back for a while, and return all ways to look at the game."""
    api, token = f"/api/games/{room['address']}", ("authorization", f"Bearer {room['token']}")
    state = json.loads((await meter.ask(Call("GET", api))).body)
    for turn in range(size(12, 90)):
        version, block = state["version"], state["legal"][-1] if state["legal"] else 1000 - turn
        content = {"do": "undo", "version": version}
        if turn % 3 < 2:
            content = {"do": "move", "version": version, "block": block}
        answer = await meter.ask(
            Call("POST", f"{api}/actions", "", (JSON, token), json.dumps(content).encode())
        )
        found = json.loads(answer.body)
        state = found if answer.status == 200 else found["state"]
    record = state["record"]
    looks = [
        Call("GET", _fill(path, {**room, **VALUES}), "", (token,))
        for method, path in ROUTES
        if method == "GET"
    ]
    form = urlencode({"game": record, "level": "easy", "seat": "1"}).encode()
    body = json.dumps({"record": record}).encode()
    return [
        *looks,
        Call("GET", f"{api}/log", f"since={max(0, state['version'] - 40)}"),
        Call("GET", "/analysis", urlencode({"game": record})),
        Call("POST", "/analysis/play", "", (FORM,), form),
        *(
            Call("POST", path, "", (JSON,), body)
            for path in ("/api/analyse", "/api/review", "/api/games")
        ),
    ]
