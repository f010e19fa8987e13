"""Pupils of a class without a browser: they join and play by plain requests."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import httpx2

if TYPE_CHECKING:
    from playwright.sync_api import Page

NAMES = ("Ann", "Ben", "Cem", "Dana", "Eva", "Finn", "Gül", "Hanna", "Ida", "Jonas", "Kim", "Leo")


class Pupil:
    """A pupil who joins a class and plays."""

    def __init__(self, class_url: str, name: str) -> None:
        self.name = name
        self.path = urlsplit(class_url).path
        self._client = httpx2.Client(
            base_url=class_url.removesuffix(self.path), timeout=60, follow_redirects=True
        )
        self._send(f"{self.path}/join", name=name)

    def place(self, *blocks: int) -> None:
        """Place blocks in the current game."""
        for block in blocks:
            action = re.search(r'action="(/g/[^"]+/move)"', self._client.get(self.path).text)
            if action is None:
                raise ValueError(f"{self.name} has no game")
            self._send(action[1], block=str(block))

    def _send(self, path: str, **form: str) -> None:
        self._client.post(path, data=form).raise_for_status()


def make_class(page: Page, count: int, **settings: str) -> dict[str, Pupil]:
    """Make a class by its form, and let pupils join it; return them by name."""
    page.goto("/class/new")
    for field, value in settings.items():
        page.locator(f'[name="{field}"][value="{value}"]').check()
    page.get_by_role("button", name="Make the class").click()
    page.wait_for_url(re.compile(r"/class/[A-Z0-9]{5}$"))
    return {name: Pupil(page.url, name) for name in NAMES[:count]}


def start_round(page: Page, number: int = 1) -> list[tuple[str, str]]:
    """Start a round on the teacher's page; return the pairs, with the player who begins first."""
    button = "Start" if number == 1 else f"Start round {number}"
    page.get_by_role("button", name=button, exact=True).click()
    page.get_by_role("heading", name=f"Round {number}").wait_for()
    pairs = [
        board.locator(".player .name").all_inner_texts()
        for board in page.locator(".class-board").all()
    ]
    return [(pair[0], pair[1]) for pair in pairs if len(pair) == 2]
