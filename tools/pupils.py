"""Pupils of a class who have no window: they join and play by plain requests, each with cookies of their own."""

from __future__ import annotations

import re
from http.cookiejar import CookieJar
from typing import TYPE_CHECKING
from urllib.parse import urlencode
from urllib.request import HTTPCookieProcessor, build_opener

if TYPE_CHECKING:
    from playwright.sync_api import Page

NAMES = ("Ann", "Ben", "Cem", "Dana", "Eva", "Finn", "Gül", "Hanna", "Ida", "Jonas", "Kim", "Leo")


class Pupil:
    """Somebody who joins a class and plays."""

    def __init__(self, class_url: str, name: str) -> None:
        self.class_url = class_url
        self.origin = "/".join(class_url.split("/")[:3])
        self.name = name
        self._opener = build_opener(HTTPCookieProcessor(CookieJar()))
        self._send(f"{class_url}/join", name=name)

    def place(self, *blocks: int) -> None:
        """Place blocks in the present game."""
        for block in blocks:
            page = self._open(self.class_url)
            action = re.search(r'action="(/g/[^"]+)/move"', page)
            if action is None:
                raise ValueError(f"{self.name} has no game")
            self._send(f"{self.origin}{action[1]}/move", block=str(block))

    def _open(self, url: str, data: bytes | None = None) -> str:
        with self._opener.open(url, data, timeout=60) as answer:
            text: str = answer.read().decode()
            return text

    def _send(self, url: str, **form: str) -> None:
        self._open(url, urlencode(form).encode())


def make_class(page: Page, count: int, **settings: str) -> dict[str, Pupil]:
    """Make a class in a window, by the form, and let pupils join; return them by name."""
    page.goto("/class/new")
    for field, value in settings.items():
        page.locator(f'[name="{field}"][value="{value}"]').check()
    page.get_by_role("button", name="Make the class").click()
    page.wait_for_url(re.compile(r"/class/[A-Z0-9]{5}$"))
    return {name: Pupil(page.url, name) for name in NAMES[:count]}


def start_round(page: Page, number: int = 1) -> list[tuple[str, str]]:
    """Start a round in the teacher's window; return who plays whom, the one who begins first."""
    page.get_by_role(
        "button", name="Start" if number == 1 else f"Start round {number}", exact=True
    ).click()
    page.get_by_role("heading", name=f"Round {number}").wait_for()
    pairs = [
        board.locator(".player .name").all_inner_texts()
        for board in page.locator(".class-board").all()
    ]
    return [(pair[0], pair[1]) for pair in pairs if len(pair) == 2]
