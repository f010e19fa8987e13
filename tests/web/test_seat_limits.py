"""Requests count for the seat that their sender holds: a class behind one address is never told to wait."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import httpx2
import pytest
from fastapi import FastAPI
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route
from starlette.testclient import TestClient
from starlette.types import Message, Receive, Scope, Send

from number_tower.store.rooms import digest_secret
from number_tower.web import app as app_module
from number_tower.web import workers as workers_module
from number_tower.web.errors import install_error_handlers
from number_tower.web.middleware import rate_limit
from number_tower.web.middleware.accounts import SEATS_PER_ADDRESS, Account, identify_seat
from number_tower.web.middleware.rate_limit import (
    CODE_LIMIT,
    COMPUTE_LIMIT,
    CREATE_LIMIT,
    HANDOVER_LIMIT,
    MAX_CONCURRENT,
    RateLimiter,
    RateLimitMiddleware,
    count_failure,
)
from number_tower.web.middleware.streams import MAX_STREAMS_PER_CLIENT, StreamRegistry
from number_tower.web.workers import Lane
from support import apps
from support.clocks import SLOW, Clock
from support.worker_tasks import ThreadProcess

PUPILS = 30
SCHOOL = "203.0.113.7"
GAMES = ("race", "draft", "summit", "factor")


@asynccontextmanager
async def school(folder: Path) -> AsyncIterator[FastAPI]:
    """Have a server with all its limits, which answers questions in threads."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(workers_module, "WorkerProcess", ThreadProcess)
        patch.setattr(workers_module, "MAX_WAIT", dict.fromkeys(Lane, SLOW))
        patch.setattr(rate_limit, "RateLimiter", partial(RateLimiter, clock=Clock()))
        app = app_module.make_app(apps.settings(folder, limits=True))
        async with app.router.lifespan_context(app):
            yield app


def at_school(test: Callable[[FastAPI], Awaitable[None]], folder: Path) -> None:
    async def in_time() -> None:
        async with asyncio.timeout(SLOW), school(folder) as app:
            await test(app)

    asyncio.run(in_time())


def browser(app: FastAPI) -> httpx2.AsyncClient:
    """Return a browser at the school."""
    transport = httpx2.ASGITransport(app, client=(SCHOOL, 1))
    return httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1", timeout=SLOW)


async def together(requests: Iterable[Awaitable[httpx2.Response]]) -> list[httpx2.Response]:
    """Wait for requests that are sent at once; none of them is refused."""
    answers = await asyncio.gather(*requests)
    refused = [(answer.status_code, answer.text) for answer in answers if answer.status_code >= 400]
    assert not refused, refused[0]
    return answers


async def open_game(pupil: httpx2.AsyncClient, game: str) -> str:
    """Open a game with a link; return its path."""
    opened = await pupil.post("/new", data={"game": game, "opponent": "link", "hints": "yes"})
    assert opened.status_code == 303, opened.text
    return opened.headers["location"]


def test_thirty_pupils_who_ask_for_hints_and_reviews_in_one_moment_are_never_refused(
    tmp_path: Path,
) -> None:
    """The clock stands still: whatever is asked for at classroom pace, this is more at once."""

    async def test(app: FastAPI) -> None:
        pupils = [browser(app) for _ in range(PUPILS)]
        hosts, guests = pupils[::2], pupils[1::2]
        rooms = await asyncio.gather(
            *(open_game(pupil, GAMES[number % len(GAMES)]) for number, pupil in enumerate(hosts))
        )
        joined = await asyncio.gather(
            *(
                pupil.post(f"{room}/sit", data={"name": "Ben"})
                for pupil, room in zip(guests, rooms, strict=True)
            )
        )
        assert {answer.status_code for answer in joined} == {303}
        pairs = list(zip(pupils, (room for room in rooms for _ in "ab"), strict=True))
        for step in (1, 2, 3, 1, 2, 3):
            await together(pupil.get(room) for pupil, room in pairs)
            await together(
                pupil.post(f"{room}/hint", data={"step": str(step)})
                for pupil, room in zip(hosts, rooms, strict=True)
            )
        for number, line in enumerate(("draft:9,8,6", "race:5,8,9,7", "factor:7,1,5")):
            for ply in range(4):
                await together(
                    pupil.get("/analysis", params={"game": line, "ply": ply, "from": number})
                    for pupil, _ in pairs
                )
        for pupil in pupils:
            await pupil.aclose()

    at_school(test, tmp_path)


def test_a_class_of_thirty_at_one_address_joins_plays_and_reviews_in_one_moment(
    tmp_path: Path,
) -> None:
    async def test(app: FastAPI) -> None:
        teacher, *pupils = (browser(app) for _ in range(1 + PUPILS))
        made = await teacher.post(
            "/class/new", data={"games": "draft", "hints": "yes", "odd": "bye"}
        )
        page = made.headers["location"]
        await together(pupil.get("/join") for pupil in pupils)
        await together(
            pupil.post(f"{page}/join", data={"name": f"Pupil {number}"})
            for number, pupil in enumerate(pupils, 1)
        )
        await together(pupil.get(page) for pupil in pupils)
        await together(
            [teacher.post(f"{page}/start", data={"round": "1"}), teacher.get(f"{page}/wall")]
        )
        games = [
            answer.headers["location"]
            for answer in await together(pupil.get(page) for pupil in pupils)
        ]
        assert len(set(games)) == PUPILS / 2
        both = list(zip(pupils, games, strict=True))
        for block in (9, 8, 6):
            await together(pupil.get(game) for pupil, game in both)
            hints = [pupil.post(f"{game}/hint", data={"step": "3"}) for pupil, game in both]
            assert {answer.status_code for answer in await asyncio.gather(*hints)} == {200, 409}, (
                "one of them is to move"
            )
            moves = [pupil.post(f"{game}/move", data={"block": str(block)}) for pupil, game in both]
            assert (
                sorted(answer.status_code for answer in await asyncio.gather(*moves))[: PUPILS // 2]
                == [303] * 15
            )
        reviews = await together(
            pupil.get(f"{page}/review/{number // 2 + 1}") for number, pupil in enumerate(pupils)
        )
        await together(
            pupil.get(each.headers["location"]) for pupil, each in zip(pupils, reviews, strict=True)
        )
        await together(
            [teacher.get(f"{page}/results.csv"), teacher.post(f"{page}/start", data={"round": "2"})]
        )
        for each in (teacher, *pupils):
            await each.aclose()

    at_school(test, tmp_path)


def test_thirty_different_reviews_wait_for_their_turn_and_none_is_refused(tmp_path: Path) -> None:
    async def test(app: FastAPI) -> None:
        pupils = [browser(app) for _ in range(PUPILS)]
        await asyncio.gather(*(open_game(pupil, "draft") for pupil in pupils))
        lines = [
            f"rules(blocks=1-{number + 9},target={number + 12},fit=any):1,2"
            for number in range(PUPILS)
        ]
        await together(
            pupil.get("/analysis", params={"game": line})
            for pupil, line in zip(pupils, lines, strict=True)
        )
        for pupil in pupils:
            await pupil.aclose()

    at_school(test, tmp_path)


def test_the_holder_of_a_token_or_a_cookie_is_known_by_it_and_nobody_else_is(
    tmp_path: Path,
) -> None:
    with apps.opened(tmp_path) as client:
        player, _ = apps.begun(client)
        state: Any = client.app.state  # type: ignore[attr-defined]  # it is a Starlette app
        asking = partial(_identify, client.app)
        token = str(player.token)
        assert asking(b"authorization", f"Bearer {token}") == digest_secret(token)
        assert asking(b"authorization", "Bearer " + "x" * 43) is None
        assert asking(b"cookie", "browser-01234567=" + "x" * 43) is None
        assert client.post("/new", data={"game": "draft", "opponent": "link"}).status_code == 303
        [(name, secret)] = [(each.name, each.value or "") for each in client.cookies.jar]
        others = "theme=dark; browser-89abcdef=" + "y" * 43
        for cookie in (
            f"{name}={secret}",
            f"{others}; {name}={secret}",
            f"{name}={secret}; {others}",
        ):
            assert asking(b"cookie", cookie) == digest_secret(secret)
        assert asking(b"cookie", f"x{name}={secret}") is None
        for room in list(state.lobby.cache):
            state.lobby.cache.remove(room)
        assert asking(b"cookie", f"{name}={secret}") is None, "only rooms in memory are asked"


def _identify(app: object, name: bytes, value: str) -> str | None:
    return identify_seat({"app": app, "headers": [(name, value.encode())]})


# Without the games ----------------------------------------------------------------------------------------------------


def limited(clock: Clock, status: Callable[[], int] = lambda: 200) -> TestClient:
    """Return a client of a server in which everyone whose token begins with "seat" holds a seat."""

    def answer(_: Request) -> PlainTextResponse:
        return PlainTextResponse("fine", status())

    app = Starlette(routes=[Route("/{path:path}", answer, methods=["GET", "POST"])])
    seats = {digest_secret(f"seat{number}") for number in range(100)}
    app.state.seat_checks = [seats.__contains__]
    app.add_middleware(RateLimitMiddleware, rates=RateLimiter(clock=clock))
    return TestClient(app)


def test_each_seat_has_an_allowance_of_its_own_and_strangers_share_that_of_the_address() -> None:
    asking = limited(Clock())
    burst = COMPUTE_LIMIT.burst
    for seat in ("seat1", "seat2"):
        codes = [
            asking.get("/analysis", headers=apps.bearing(seat)).status_code
            for _ in range(burst + 1)
        ]
        assert codes == [200] * burst + [429]
    codes = [
        asking.get("/analysis", headers=apps.bearing(f"nobody{each}")).status_code
        for each in range(burst + 1)
    ]
    assert codes == [200] * burst + [429], "a made-up token is no seat"


def test_all_seats_at_one_address_have_a_ceiling_and_what_it_refuses_costs_the_seat_nothing() -> (
    None
):
    clock = Clock()
    asking = limited(clock)
    for number in range(SEATS_PER_ADDRESS):
        headers = apps.bearing(f"seat{number}")
        assert {
            asking.get("/analysis", headers=headers).status_code for _ in range(COMPUTE_LIMIT.burst)
        } == {200}
    late = apps.bearing("seat99")
    assert {asking.get("/analysis", headers=late).status_code for _ in range(5)} == {429}
    clock.now += COMPUTE_LIMIT.burst / COMPUTE_LIMIT.rate
    assert {
        asking.get("/analysis", headers=late).status_code for _ in range(COMPUTE_LIMIT.burst)
    } == {200}


@pytest.mark.parametrize(
    ("path", "limit"), [("/new", CREATE_LIMIT), ("/g/abc/take/code", HANDOVER_LIMIT)]
)
def test_what_gives_seats_counts_for_the_address(path: str, limit: rate_limit.RateLimit) -> None:
    asking = limited(Clock())
    codes = [
        asking.post(path, headers=apps.bearing(f"seat{each}")).status_code
        for each in range(limit.burst + 1)
    ]
    assert codes == [200] * limit.burst + [429]


@pytest.mark.parametrize("status", [429, 503, 507])
def test_what_another_limit_refuses_does_not_use_up_the_allowance(status: int) -> None:
    answers = [status] * 2 * CREATE_LIMIT.burst + [200] * CREATE_LIMIT.burst
    asking = limited(Clock(), iter(answers).__next__)
    assert [asking.post("/new").status_code for _ in answers] == answers
    assert asking.post("/new").status_code == 429


def test_a_question_too_many_at_once_does_not_use_up_the_allowance() -> None:
    answers: list[int] = []
    enough = asyncio.Event()

    async def slow(scope: Scope, receive: Receive, send: Send) -> None:
        await enough.wait()
        await PlainTextResponse("fine")(scope, receive, send)

    async def ask(app: RateLimitMiddleware) -> None:
        async def send(message: Message) -> None:
            answers.append(message.get("status", 0))

        scope = {
            "type": "http",
            "method": "GET",
            "path": "/analysis",
            "client": (SCHOOL, 1),
            "headers": [],
        }
        await app(scope, _receive_nothing, send)

    async def all_of_it() -> None:
        app = RateLimitMiddleware(slow, RateLimiter(clock=Clock()))
        many = [asyncio.create_task(ask(app)) for _ in range(MAX_CONCURRENT + COMPUTE_LIMIT.burst)]
        await asyncio.wait(many, return_when=asyncio.FIRST_COMPLETED)
        enough.set()
        await asyncio.gather(*many)
        answers.clear()
        for _ in range(COMPUTE_LIMIT.burst - MAX_CONCURRENT):
            await ask(app)
        assert 429 not in answers
        await ask(app)
        assert 429 in answers

    asyncio.run(asyncio.wait_for(all_of_it(), SLOW))


async def _receive_nothing() -> Message:
    return {"type": "http.request", "body": b"", "more_body": False}


def test_streams_count_for_the_seat_too() -> None:
    async def play() -> None:
        streams = StreamRegistry()
        task = asyncio.current_task()
        assert task is not None
        seat, everyone = Account("seat"), Account("seats at one address", SEATS_PER_ADDRESS)
        for _ in range(MAX_STREAMS_PER_CLIENT):
            assert streams.check((seat, everyone)) is None
            streams.begin((seat, everyone), task)
        assert streams.check((seat, everyone)) is not None
        assert streams.check((Account("other seat"), everyone)) is None
        for _ in range(MAX_STREAMS_PER_CLIENT):
            streams.finish((seat, everyone), task)
        assert not streams._counts, "nobody is remembered"  # noqa: SLF001 - that it does not grow is not to be seen elsewhere

    asyncio.run(play())


def test_wrong_codes_are_counted_and_right_ones_are_not() -> None:
    clock = Clock()

    def look_up(request: Request) -> PlainTextResponse:
        if request.url.path != "/right":
            count_failure(request, CODE_LIMIT)
        return PlainTextResponse("known" if request.url.path == "/right" else "unknown")

    app = FastAPI(routes=[Route("/{path:path}", look_up)])
    app.state.rates = RateLimiter(clock=clock)
    install_error_handlers(app)
    asking = TestClient(app)
    assert [asking.get("/wrong").status_code for _ in range(21)] == [200] * 20 + [429]
    refused = asking.get("/wrong")
    assert refused.headers["retry-after"] == "3"
    assert "Too many wrong codes. Please try again in 3 seconds." in refused.text
    assert asking.get("/right").text == "known"
    clock.now += 3
    assert [asking.get("/wrong").status_code for _ in range(2)] == [200, 429]
    app.state.rates = None
    assert asking.get("/wrong").status_code == 200, "a server without limits counts nothing"
