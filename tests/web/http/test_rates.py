"""A client that asks too often has to wait, and no other client.

A class behind one address can play.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.testclient import TestClient

from number_tower.web import app as app_module
from number_tower.web.http import middleware, rates
from number_tower.web.http.rates import BROWSERS_PER_ADDRESS, BURST, THINKING, RateLimiter
from support import apps
from support.clocks import Clock
from support.cookies import Browser

pauses = st.lists(st.floats(0, 30), min_size=1, max_size=200)
COOKIE = "browser-01234567=" + "x" * 43
OTHER_COOKIE = COOKIE.replace("x", "y")

# The bucket ---------------------------------------------------------------------------------------


@given(st.floats(0.1, 1000), st.integers(1, 500), pauses)
def test_rate_and_announced_wait_hold(rate: float, burst: int, pauses: list[float]) -> None:
    clock = Clock()
    limiter = RateLimiter(rate, burst, clock)
    times = []
    for pause in pauses:
        clock.now += pause
        if wait := limiter.spend(1, {"a": 1}):
            clock.now += wait
            assert not limiter.spend(1, {"a": 1})
        times.append(clock.now)
    for first, begin in enumerate(times):
        for last in range(first, len(times)):
            assert last - first + 1 <= burst + rate * (times[last] - begin) + 0.01


def test_refusal_costs_no_tokens() -> None:
    limiter = RateLimiter(1, 2, Clock())
    assert not limiter.spend(2, {"a": 1})
    assert limiter.spend(1, {"a": 1, "b": 1}) == pytest.approx(1)
    assert not limiter.spend(2, {"b": 1}), "a had too few, so b paid nothing"


def test_least_recent_client_is_forgotten_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rates, "MAX_CLIENTS", 2)
    limiter = RateLimiter(1, 1, Clock())
    waits = [limiter.spend(1, {client: 1}) > 0 for client in "abacab"]
    assert waits == [False, False, True, False, False, False]


# Clients ------------------------------------------------------------------------------------------


def test_household_is_one_address() -> None:
    def identify(host: str) -> str:
        return middleware.identify_address({"client": (host, 1)})

    assert identify("2001:db8:1:2::1") == identify("2001:db8:1:2:ffff::9")
    assert identify("2001:db8:1:2::1") != identify("2001:db8:1:3::1")
    assert identify("203.0.113.7") == identify("::ffff:203.0.113.7") != identify("203.0.113.8")


def test_browser_is_recognized_by_its_cookie() -> None:
    def is_recognized(cookie: str) -> bool:
        scope = {"client": ("203.0.113.7", 1), "headers": [(b"cookie", cookie.encode())]}
        return middleware.identify_client(scope) != "203.0.113.7"

    assert all(map(is_recognized, (COOKIE, f"theme=dark; __Host-{COOKIE}; a=b")))
    assert not any(map(is_recognized, (f"x{COOKIE}", f"{COOKIE}x", "theme=dark")))


# At the routes ------------------------------------------------------------------------------------


@contextmanager
def open_limited_app(folder: Path, clock: Clock) -> Iterator[TestClient]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(app_module, "RateLimiter", partial(RateLimiter, clock=clock))
        with apps.open_app(folder, limits=True) as client:
            yield client


def spend(client: TestClient, tokens: float, clients: dict[str, int]) -> None:
    """Spend tokens of clients without sending a request."""
    limiter = apps.get_parts(client).limiter
    assert limiter is not None
    assert not limiter.spend(tokens, clients)


def test_client_without_tokens_is_refused_for_the_announced_time(tmp_path: Path) -> None:
    clock = Clock()
    with open_limited_app(tmp_path, clock) as client:
        spend(client, BURST - THINKING, {"testclient": 1})
        assert client.get("/new").status_code == 200
        page = client.get("/rules")
        assert page.status_code == 429, "a page is cheap, and thinking is not"
        assert page.headers["content-type"].startswith("text/html")
        assert page.headers["retry-after"] == "1"
        assert "Please try again in 1 second." in page.text
        problem = client.post("/api/analyse", json={"record": "draft:9"})
        assert problem.headers["content-type"] == "application/problem+json"
        assert problem.json()["reason"] == "too_many"
        clock.now += 1
        assert client.get("/rules").status_code == 200
        assert 429 in {client.get("/new").status_code for _ in range(BURST)}
        assert client.get("/health").status_code == 200, "health is never limited"


def test_browsers_at_one_address_have_their_own_tokens_up_to_a_limit(tmp_path: Path) -> None:
    """Any client can invent a cookie, so all browsers at one address have a common limit too."""
    address = {"browsers at testclient": BROWSERS_PER_ADDRESS}

    def get_status(**headers: str) -> int:
        return client.get("/", headers=headers).status_code

    with open_limited_app(tmp_path, Clock()) as client:
        spend(client, BURST, {f"browser {'x' * 43}": 1})
        assert (get_status(Cookie=COOKIE), get_status(Cookie=OTHER_COOKIE)) == (429, 200)
        spend(client, BURST * BROWSERS_PER_ADDRESS - 1, address)
        # An address without cookies has its own tokens.
        assert (get_status(Cookie=OTHER_COOKIE), get_status()) == (429, 200)


def test_wrong_codes_are_charged_to_the_address_and_right_ones_always_work(tmp_path: Path) -> None:
    with open_limited_app(tmp_path, Clock()) as client:
        made = client.post("/api/games", json={"game": "draft", "opponent": "link"})
        wrong: dict[str, Any] = {"data": {"code": "CCCCD"}, "headers": {"Cookie": COOKIE}}
        statuses = [client.post("/join", **wrong).status_code for _ in range(21)]
        assert statuses == [404] * 19 + [429] * 2
        refused = client.get("/class/CCCCD", headers={"Cookie": OTHER_COOKIE})
        assert refused.status_code == 429
        assert "Too many wrong codes. Please try again in " in refused.text
        right = client.post("/join", data={"code": made.json()["code"]})
        assert right.status_code == 303


@pytest.mark.slow
def test_class_of_thirty_at_one_address_plays_and_asks_for_hints_at_once(tmp_path: Path) -> None:
    """The clock stands still: this costs more at once than any lesson."""
    with open_limited_app(tmp_path, Clock()) as client:
        teacher, *pupils = (Browser(client.app, portal=client.portal) for _ in range(31))
        made = teacher.ask("POST", "/class/new", data={"games": "draft", "hints": "yes"})
        page = made.headers["location"]
        for number, pupil in enumerate(pupils):
            pupil.ask("GET", page)
            joined = pupil.ask("POST", f"{page}/join", data={"name": f"Pupil {number}"})
            assert joined.status_code == 303
        assert teacher.ask("POST", f"{page}/start", data={"round": "1"}).status_code == 303
        statuses = set()
        for pupil in pupils:
            game = pupil.ask("GET", page).headers["location"]
            for _ in range(4):
                statuses.add(pupil.ask("GET", game).status_code)
            for _ in range(3):
                hint = pupil.ask("POST", f"{game}/hint", data={"step": "1"})
                analysis = pupil.ask("GET", "/analysis?game=draft:9,8")
                statuses |= {hint.status_code, analysis.status_code}
        assert statuses == {200, 409}, "a pupil who is not to move gets no hint"
