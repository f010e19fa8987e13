"""A class by real requests and real pages, whose server is killed meanwhile.

Nothing may be lost, and no request refused.

`make test` holds a small class, `make soak` one of thirty: `python tests/soak/kill_class.py
[PUPILS] [SEED]`.
"""

from __future__ import annotations

import csv
import re
import time
from collections import defaultdict
from contextlib import suppress
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from threading import Timer
from typing import Any

import httpx2
from playwright.sync_api import Error, Page, sync_playwright

import browser as browsers
from number_tower.engine import record
from serving import Server, person
from soak.shared import read_arguments
from support.clocks import SLOW

MOST_DELAY = 0.05
"""Seconds after which a server is killed at the latest, once that is due."""


class Visitor:
    """A client that sends plain requests, again if the server was killed meanwhile."""

    def __init__(self, lesson: Lesson) -> None:
        self._lesson = lesson
        self._client = httpx2.Client(
            base_url=lesson.server.url, timeout=SLOW, follow_redirects=True
        )

    def ask(self, path: str, **form: str) -> Any:
        """Get a page, or send a form; a form that is sent twice counts once."""
        while True:
            try:
                answer = self._client.post(path, data=form) if form else self._client.get(path)
            except httpx2.TransportError:
                self._lesson.revive()
                continue
            assert answer.status_code == 200, (path, form, answer.status_code, answer.text)
            return answer

    def close(self) -> None:
        """Close the connections."""
        self._client.close()


class Pupil(Visitor):
    """A pupil who plays by plain requests, asks for hints, and reviews games."""

    def __init__(self, lesson: Lesson, name: str) -> None:
        super().__init__(lesson)
        self.ask("/join", code=lesson.code.lower())
        self.ask(f"{lesson.path}/join", name=name)

    def act(self, chance: Random) -> None:
        """Place a block, if it is this pupil's turn; sometimes ask for a hint before."""
        page = self.ask(self._lesson.path)
        room, moves = page.url.path, re.search(r'data-version="1\.(\d+)"', page.text)
        if moves is None or "Your turn." not in page.text:
            return
        if chance.random() < 0.2:
            self.ask(f"{room}/hint", step="1", game="1")
        open_blocks = re.findall(r'name="block" value="(\d+)">', page.text)
        block, version = chance.choice(open_blocks), int(moves[1])
        self.ask(f"{room}/move", block=block, version=str(version), game="1")
        self._lesson.note_move(room, version, int(block))


class PagePupil:
    """A pupil with a real page, which leads to the games by itself."""

    def __init__(self, lesson: Lesson, name: str, page: Page) -> None:
        self._lesson, self._page = lesson, page
        page.goto("/join")
        page.get_by_label("Code").fill(lesson.code)
        page.get_by_role("button", name="Join").click()
        page.get_by_label("Your name").fill(name)
        page.get_by_role("button", name="Join").click()
        page.get_by_text("You are in").wait_for()

    def act(self, chance: Random) -> None:
        """Place a block, if it is this pupil's turn and the last one has arrived."""
        blocks = self._page.locator(".block[name=block]:not([aria-disabled])")
        with suppress(Error):  # the page may be replaced at any moment
            is_mine = (
                self._page.locator("#status.mine").count()
                and not self._page.locator(".pending").count()
            )
            if is_mine and (count := blocks.count()):
                blocks.nth(chance.randrange(count)).click(timeout=1_000)

    def find_game(self) -> None:
        """Wait until the page has led to a game, or says that there is none this round."""
        self._page.wait_for_function(
            "() => document.querySelector('#status:not(.over)') || "
            "document.body.innerText.includes('sit out')"
        )


class Lesson:
    """A class on a server that is killed some times."""

    def __init__(self, server: Server, seed: str) -> None:
        self.server = server
        self.kills = 0
        self._chance = Random(seed)  # noqa: S311 - no secret
        self._granted: defaultdict[str, dict[int, int]] = defaultdict(dict)
        self._teacher = Visitor(self)
        made = self._teacher.ask("/class/new", games="draft", hints="yes")
        self.path: str = made.url.path
        self.code = self.path.rsplit("/", 1)[1]

    def hold(self, pupils: int, pages: list[Page], rounds: int, kills: int) -> None:
        """Let pupils join and play rounds.

        The server is killed `kills` times, at random moments.
        """
        windows = [PagePupil(self, f"Page {number}", page) for number, page in enumerate(pages)]
        others = [Pupil(self, f"Pupil {number}") for number in range(pupils - len(pages))]
        players: list[Pupil | PagePupil] = [*windows, *others]
        kill_times = sorted(self._chance.sample(range(rounds * pupils), kills))
        acts = 0
        for number in range(1, rounds + 1):
            self._teacher.ask(f"{self.path}/start", round=str(number))
            for window in windows:
                window.find_game()
            deadline = time.monotonic() + SLOW
            while "is playing" in self._teacher.ask(self.path).text:
                assert time.monotonic() < deadline, "the round does not end"
                for player in self._chance.sample(players, pupils):
                    acts += 1
                    if kill_times and acts > kill_times[0]:
                        kill_times.pop(0)
                        self._strike()
                    player.act(self._chance)
        for other in others:
            other.close()

    def _strike(self) -> None:
        """Kill the server within some milliseconds, perhaps while it works on a request."""
        self.kills += 1
        Timer(self._chance.uniform(0, MOST_DELAY), self.server.kill).start()

    def revive(self) -> None:
        """Start the server again, if it was killed."""
        time.sleep(0.05)
        if self.server.process.poll() is not None:
            self.server.start()

    def note_move(self, room: str, version: int, block: int) -> None:
        """Note a move that was granted."""
        self._granted[room][version] = block

    def check(self) -> int:
        """Check that every granted move is recorded and the standings follow; count the games."""
        results = self._load_table("results")
        tables = {row["board"]: record.read(row["records"]) for row in results if row["records"]}
        saved = [table.game.moves for table in tables.values()]
        for granted in self._granted.values():
            assert any(
                all(moves[version : version + 1] == (block,) for version, block in granted.items())
                for moves in saved
            )
        points: defaultdict[str, float] = defaultdict(float)
        for row in results:
            if not row["second"]:  # who sits out gets a point
                points[row["first"]] += 1
                continue
            outcome = tables[row["board"]].outcome
            assert outcome is not None
            gained = 0.5 if outcome.winner is None else 1.0 - outcome.winner
            points[row["first"]] += gained
            points[row["second"]] += 1 - gained
        standings = self._load_table("standings")
        assert [float(row["points"]) for row in standings] == sorted(points.values())[::-1]
        assert all(float(row["points"]) == points[row["name"]] for row in standings)
        pairs = [frozenset((row["first"], row["second"])) for row in results]
        assert len(set(pairs)) == len(pairs), "two met twice"
        self._teacher.close()
        return len(tables)

    def _load_table(self, name: str) -> list[dict[str, str]]:
        text = self._teacher.ask(f"{self.path}/{name}.csv").text
        return list(csv.DictReader(text.splitlines()))


def main() -> None:
    """Hold one class, with six real pages, three rounds and two kills."""
    pupils, seed = read_arguments(30)
    with TemporaryDirectory() as folder, sync_playwright() as playwright:
        server = Server(Path(folder, "games.db"), ())
        server.start()
        browser = playwright.chromium.launch(executable_path=browsers.get(), args=[*browsers.FLAGS])
        try:
            lesson = Lesson(server, seed)
            pages = [person(browser, server.url).new_page() for _ in range(6)]
            lesson.hold(pupils, pages, rounds=3, kills=2)
            games = lesson.check()
        finally:
            with suppress(Error):
                browser.close()
            server.stop()
    print(f"{games} games, {lesson.kills} kills: nothing is lost, and the standings are right")


if __name__ == "__main__":
    main()
