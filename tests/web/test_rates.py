"""Who asks too often has to wait, and nobody else."""

from __future__ import annotations

import asyncio
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route
from starlette.testclient import TestClient
from starlette.types import Message, Receive, Scope, Send

from number_tower.web import middleware
from number_tower.web.middleware import rate_limit
from number_tower.web.middleware.rate_limit import (
    ACTION_LIMIT,
    COMPUTE_LIMIT,
    CREATE_LIMIT,
    HANDOVER_LIMIT,
    MAX_CONCURRENT,
    PAGE_LIMIT,
    READ_LIMIT,
    RateLimit,
    RateLimiter,
    RateLimitMiddleware,
)
from support.clocks import SLOW

buckets = st.builds(
    RateLimit, st.just("any"), st.floats(0.1, 1000), st.integers(1, 500), st.just("Wait.")
)
steps = st.lists(st.floats(0, 30), min_size=1, max_size=200)


def taken(bucket: RateLimit, pauses: list[float]) -> list[tuple[float, float]]:
    """Take one after each pause; return when that was and how long there is to wait."""
    now, full, waits = 1000.0, 0.0, []
    for pause in pauses:
        now += pause
        full, wait = bucket.take(full, now)
        waits.append((now, wait))
    return waits


@given(buckets, steps)
def test_no_stretch_of_time_has_more_than_burst_and_rate_allow(
    bucket: RateLimit, pauses: list[float]
) -> None:
    granted = [at for at, wait in taken(bucket, pauses) if not wait]
    for first, begin in enumerate(granted):
        for last in range(first, len(granted)):
            allowed = bucket.burst + bucket.rate * (granted[last] - begin)
            assert last - first + 1 <= allowed + 0.01


@given(buckets, st.floats(0, 1e6))
def test_a_full_bucket_gives_its_whole_burst_at_once_and_no_more(
    bucket: RateLimit, now: float
) -> None:
    full = 0.0
    for _ in range(bucket.burst):
        full, wait = bucket.take(full, now)
        assert not wait
    assert bucket.take(full, now)[1] > 0


@given(buckets, steps)
def test_whoever_waits_as_long_as_told_is_served(bucket: RateLimit, pauses: list[float]) -> None:
    now, full = 0.0, 0.0
    for pause in pauses:
        now += pause
        full, wait = bucket.take(full, now)
        if wait:
            now += wait
            full, wait = bucket.take(full, now)
            assert not wait


@given(buckets, st.integers(1, 300))
def test_whoever_keeps_to_the_rate_never_waits(bucket: RateLimit, number: int) -> None:
    assert not any(wait for _, wait in taken(bucket, [1 / bucket.rate] * number))


@given(buckets, steps)
def test_a_refusal_costs_nothing(bucket: RateLimit, pauses: list[float]) -> None:
    now, full = 0.0, 0.0
    for pause in pauses:
        now += pause
        after, wait = bucket.take(full, now)
        assert after == full if wait else after > full
        full = after


ONCE = RateLimit("once", 1, 1, "Once a second.")


def test_each_client_and_each_kind_has_a_bucket_of_its_own() -> None:
    limits = RateLimiter(clock=lambda: 100.0)
    other = ONCE._replace(name="other")
    assert [limits.take(who, kind) for who in ("a", "b") for kind in (ONCE, other)] == [0, 0, 0, 0]
    assert limits.take("a", ONCE) == pytest.approx(1)


@given(st.lists(st.integers(0, 30), max_size=200), st.integers(1, 10))
def test_no_more_clients_are_remembered_than_there_is_room_for(
    clients: list[int], most: int
) -> None:
    limits = RateLimiter(most, clock=lambda: 100.0)
    for each in clients:
        limits.take(str(each), ONCE)
        assert len(limits._full) <= most  # noqa: SLF001 - that it does not grow is not to be seen elsewhere
        assert limits.take(str(each), ONCE) > 0, "whoever asked last is remembered"


def test_whoever_asked_least_recently_is_forgotten_first() -> None:
    limits = RateLimiter(2, clock=lambda: 100.0)
    waits = [limits.take(who, ONCE) > 0 for who in "abacab"]
    assert waits == [False, False, True, False, True, False]
    roomy = RateLimiter(3, clock=lambda: 100.0)
    assert [roomy.take(who, ONCE) > 0 for who in "abcba"] == [False, False, False, True, True]


@pytest.mark.parametrize(
    ("method", "path", "kind"),
    [
        ("GET", "/", PAGE_LIMIT),
        ("GET", "/g/abc", PAGE_LIMIT),
        ("GET", "/g/abc/table", PAGE_LIMIT),
        ("GET", "/g/abc/events", READ_LIMIT),
        ("GET", "/api/games/abc", READ_LIMIT),
        ("HEAD", "/", PAGE_LIMIT),
        ("GET", "/games", PAGE_LIMIT),
        ("GET", "/api/rulebooks", READ_LIMIT),
        ("POST", "/g/abc/move", ACTION_LIMIT),
        ("POST", "/api/games/abc/moves", ACTION_LIMIT),
        ("POST", "/api/games/abc/offers/accept", ACTION_LIMIT),
        ("POST", "/g/abc/sit", ACTION_LIMIT),
        ("PATCH", "/whatever", ACTION_LIMIT),
        ("POST", "/new", CREATE_LIMIT),
        ("POST", "/api/games", CREATE_LIMIT),
        ("POST", "/api/games/", CREATE_LIMIT),
        ("POST", "/analysis/play", CREATE_LIMIT),
        ("GET", "/new", PAGE_LIMIT),
        ("GET", "/analysis", COMPUTE_LIMIT),
        ("POST", "/g/abc/hint", COMPUTE_LIMIT),
        ("POST", "/api/games/abc/hint", COMPUTE_LIMIT),
        ("POST", "/api/analyse", COMPUTE_LIMIT),
        ("POST", "/api/review", COMPUTE_LIMIT),
        ("GET", "/api/puzzles", COMPUTE_LIMIT),
        ("POST", "/api/puzzles/answer", COMPUTE_LIMIT),
        ("GET", "/puzzle", COMPUTE_LIMIT),
        ("POST", "/puzzles", ACTION_LIMIT),
        ("POST", "/learn/one", ACTION_LIMIT),
        ("GET", "/games/one", COMPUTE_LIMIT),
        ("GET", "/learn/one", COMPUTE_LIMIT),
        ("GET", "/rules", COMPUTE_LIMIT),
        ("POST", "/rules", COMPUTE_LIMIT),
        ("GET", "/rules/verdict", COMPUTE_LIMIT),
        ("POST", "/rules/live", ACTION_LIMIT),
        ("GET", "/share", COMPUTE_LIMIT),
        ("GET", "/share.png", COMPUTE_LIMIT),
        ("POST", "/class/new", CREATE_LIMIT),
        ("GET", "/class/ABCDE/events", READ_LIMIT),
        ("GET", "/class/ABCDE/wall/events", READ_LIMIT),
        ("GET", "/wall/abc/board/3/events", READ_LIMIT),
        ("GET", "/class/ABCDE", PAGE_LIMIT),
        ("GET", "/g/abc/take/code", HANDOVER_LIMIT),
        ("POST", "/g/abc/take/code", HANDOVER_LIMIT),
        ("POST", "/g/abc/take/co/de", HANDOVER_LIMIT),
        ("POST", "/api/games/abc/take", HANDOVER_LIMIT),
        ("GET", "/health", None),
        ("GET", "/health/live", None),
        ("GET", "/health/ready", None),
        ("GET", "/health/else", PAGE_LIMIT),
    ],
)
def test_what_is_asked_for_follows_from_method_and_path(
    method: str, path: str, kind: RateLimit | None
) -> None:
    assert rate_limit.find_limit(method, path) is kind


@given(st.text(), st.sampled_from(["GET", "POST", "HEAD", "BREW"]))
def test_any_path_has_a_kind(path: str, method: str) -> None:
    assert rate_limit.find_limit(method, path) in {*rate_limit.RATE_LIMITS, None}


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("2001:db8:1:2::1", "2001:db8:1:2:ffff::9", True),
        ("2001:db8:1:2::1", "2001:db8:1:3::1", False),
        ("203.0.113.7", "::ffff:203.0.113.7", True),
        ("203.0.113.7", "203.0.113.8", False),
        ("fe80::1%eth0", "fe80::2%eth1", True),
    ],
)
def test_a_household_is_one_client(one: str, other: str, *, same: bool) -> None:
    clients = [middleware.identify_client({"client": (host, 1)}) for host in (one, other)]
    assert (clients[0] == clients[1]) is same


def test_a_client_without_an_address_is_counted_too() -> None:
    assert middleware.identify_client({"client": None}) == "here"
    assert middleware.identify_client({"client": ("testclient", 1)}) == "testclient"


def client(clock: list[float]) -> TestClient:
    def fine(_: Request) -> PlainTextResponse:
        return PlainTextResponse("fine")

    app = Starlette(routes=[Route("/{path:path}", fine, methods=["GET", "POST"])])
    app.add_middleware(RateLimitMiddleware, rates=RateLimiter(clock=lambda: clock[0]))
    return TestClient(app)


def test_too_many_new_games_are_refused_until_the_time_that_is_said() -> None:
    clock = [1000.0]
    asking = client(clock)
    codes = [asking.post("/new").status_code for _ in range(61)]
    assert codes == [200] * 60 + [429]
    refused = asking.post("/new")
    assert refused.headers["content-type"].startswith("text/html")
    assert refused.headers["retry-after"] == "1"
    assert "Please try again in 1 second." in refused.text
    assert asking.post("/g/abc/move").status_code == 200, "moves go on"
    clock[0] += 1
    assert asking.post("/new").status_code == 200


def test_a_refusal_speaks_of_this_client_and_not_of_the_server() -> None:
    words = {limit.words for limit in rate_limit.RATE_LIMITS}
    assert len(words) == len(rate_limit.RATE_LIMITS)
    assert all(said.startswith("Too many ") for said in words)
    assert COMPUTE_LIMIT.words == "Too many questions at once."


def test_a_program_is_refused_with_problem_details() -> None:
    asking = client([1000.0])
    answers = [asking.post("/api/games/abc/take") for _ in range(11)]
    assert answers[9].status_code == 200
    refused = answers[10]
    assert refused.status_code == 429
    assert refused.headers["content-type"] == "application/problem+json"
    problem = json.loads(refused.text)
    assert (problem["status"], problem["reason"]) == (429, "too_many")
    assert "headers" not in problem


@pytest.mark.slow
def test_a_whole_class_behind_one_address_can_play() -> None:
    clock = [1000.0]
    asking = client(clock)
    for _ in range(5):
        assert {asking.post(f"/g/room{pupil}/move").status_code for pupil in range(30)} == {200}
        assert {asking.get(f"/g/room{pupil}/table").status_code for pupil in range(30)} == {200}
        clock[0] += 1


def test_one_client_does_not_have_everything_thought_about_at_once() -> None:
    answers: list[int] = []
    enough = asyncio.Event()

    async def slow(_scope: Scope, _receive: Receive, send: Send) -> None:
        await enough.wait()
        await PlainTextResponse("fine")(_scope, _receive, send)

    async def ask(limited: RateLimitMiddleware, host: str) -> None:
        async def send(message: Message) -> None:
            if message["type"] == "http.response.start":
                answers.append(message["status"])

        scope = {
            "type": "http",
            "method": "GET",
            "path": "/analysis",
            "client": (host, 1),
            "headers": [],
        }
        await limited(scope, _nothing, send)

    async def all_of_it() -> None:
        limited = RateLimitMiddleware(slow, RateLimiter(clock=lambda: 1000.0))
        many = [asyncio.create_task(ask(limited, "203.0.113.7")) for _ in range(MAX_CONCURRENT + 1)]
        other = asyncio.create_task(ask(limited, "203.0.113.8"))
        await asyncio.wait(many, return_when=asyncio.FIRST_COMPLETED)
        assert answers == [429]
        enough.set()
        await asyncio.gather(*many, other)
        assert sorted(answers) == [200] * (MAX_CONCURRENT + 1) + [429]
        answers.clear()
        await ask(limited, "203.0.113.7")
        assert answers == [200], "what was answered does not count any more"

    asyncio.run(asyncio.wait_for(all_of_it(), SLOW))


async def _nothing() -> Message:
    return {"type": "http.request", "body": b"", "more_body": False}
