"""A class by real requests, whose server is killed meanwhile.

Nothing may be lost, and no request refused. (`tests/browser/test_classes.py` does it with pages.)

`make test` holds a small class, `make soak` one of thirty: `python tests/soak/kill_class.py
[PUPILS] [SEED]`.
"""

from __future__ import annotations

import csv
import re
import time
from collections import defaultdict
from contextlib import closing
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from threading import Timer
from typing import Any

import httpx2

from number_tower.engine import record
from serving import Server
from soak.shared import read_arguments
from support.clocks import SLOW
from support.command import plain_environment

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


class Lesson:
    """A class on a server that is killed some times; the server has its usual limits."""

    def __init__(self, database: Path, seed: str) -> None:
        self.server = Server(database, (), plain_environment())
        self.server.start()
        self.kills = 0
        self._chance = Random(seed)  # noqa: S311 - no secret
        self._granted: defaultdict[str, dict[int, int]] = defaultdict(dict)
        self._teacher = Visitor(self)
        made = self._teacher.ask("/class/new", games="draft", hints="yes")
        self.path: str = made.url.path
        self.code = self.path.rsplit("/", 1)[1]

    def close(self) -> None:
        """Stop the server."""
        self._teacher.close()
        self.server.stop()

    def hold(self, number: int, rounds: int, kills: int) -> None:
        """Let pupils join and play rounds.

        The server is killed `kills` times, at random moments.
        """
        pupils = [Pupil(self, f"Pupil {index}") for index in range(number)]
        kill_times = sorted(self._chance.sample(range(rounds * number), kills))
        acts = 0
        for round_number in range(1, rounds + 1):
            self._teacher.ask(f"{self.path}/start", round=str(round_number))
            deadline = time.monotonic() + SLOW
            while "is playing" in self._teacher.ask(self.path).text:
                assert time.monotonic() < deadline, "the round does not end"
                for pupil in self._chance.sample(pupils, number):
                    acts += 1
                    if kill_times and acts > kill_times[0]:
                        kill_times.pop(0)
                        self._strike()
                    pupil.act(self._chance)
        for pupil in pupils:
            pupil.close()

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
        return len(tables)

    def _load_table(self, name: str) -> list[dict[str, str]]:
        text = self._teacher.ask(f"{self.path}/{name}.csv").text
        return list(csv.DictReader(text.splitlines()))


def main() -> None:
    """Hold one class, with three rounds and two kills."""
    pupils, seed = read_arguments(30)
    with TemporaryDirectory() as folder, closing(Lesson(Path(folder, "games.db"), seed)) as lesson:
        lesson.hold(pupils, rounds=3, kills=2)
        games = lesson.check()
    print(f"{games} games, {lesson.kills} kills: nothing is lost, and the standings are right")


if __name__ == "__main__":
    main()
