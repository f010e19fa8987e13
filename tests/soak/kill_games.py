"""Kill -9 at random moments of scripted games, and see whether an announced change is lost.

`make test` does it a few times, `make soak` 200 times: `python tests/soak/kill_games.py [KILLS]
[SEED]`.
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from random import Random

from number_tower.engine.table import Change
from number_tower.store.rows import StoredGame
from soak import shared
from soak.scripted_games import Scene, Terminal, choose_answers, choose_game, format_answers


@dataclass(frozen=True)
class Session:
    """A session: all that was typed and shown, and whether it was killed."""

    scene: Scene
    typed: tuple[str, ...]
    seen: str
    killed: bool


class Killer:
    """Plays games on one database and kills them.

    Every random choice follows from the seed, but no moment does.
    """

    def __init__(self, database: str, seed: str) -> None:
        self.database = database
        self.moments: Counter[str] = Counter()
        """When the kills fell."""
        self._chance = Random(seed)  # noqa: S311 - play, not secrets
        self._pace = {True: 0.5, False: 0.02}
        """Seconds that a session's first change took, and a later one."""
        self._logs: dict[int, tuple[Change, ...]] = {}

    def kill(self, times: int) -> None:
        """Kill sessions, and check the database after each.

        Some games go on afterwards, and some of these end.
        """
        scene = choose_game(self._chance)
        while self.moments.total() < times:
            saved = self._check(self._play(scene))
            scene = choose_game(self._chance)
            if saved is not None and saved.table.outcome is None:
                if self._chance.random() < 0.5:
                    scene = saved
                elif self._chance.random() < 0.3:
                    self._check(self._play(saved, to_the_end=True))

    def _play(self, scene: Scene, *, to_the_end: bool = False) -> Session:
        """Play a while, and kill the session after an answer or before the first."""
        terminal, typed = Terminal(*scene.call, database=self.database), list[str]()
        early = not to_the_end and self._chance.random() < 0.1
        count = sys.maxsize if to_the_end else self._chance.randrange(5)
        waits = not early and terminal.wait_for(scene.prompt)
        while waits and len(typed) < count:
            changes = scene.read_changes(terminal.seen)
            assert terminal.seen == scene.draw(changes), "what is shown is not what was done"
            typed += choose_answers(self._chance, scene.apply(changes), 1, undo=not to_the_end)
            first, began = len(typed) == 1, time.monotonic()
            terminal.type(typed[-1])
            waits = terminal.wait_for(scene.prompt)
            self._pace[first] = time.monotonic() - began
        if waits:
            table = scene.apply(scene.read_changes(terminal.seen))
            answers = choose_answers(self._chance, table, self._chance.choice((1, 1, 3)))
            terminal.type(*answers)
            time.sleep(self._chance.uniform(0, 1.5) * self._pace[not typed] * len(answers))
            typed += answers
        elif early:
            time.sleep(self._chance.uniform(0, 0.4))
        if waits or early:
            terminal.process.kill()
        code, complaints = terminal.end()
        assert not complaints, complaints
        assert code in {0, -9}
        return Session(scene, tuple(typed), terminal.seen, killed=code != 0)

    def _check(self, session: Session) -> Scene | None:
        """Check that what was announced is saved, with at most one change more.

        Return the saved game, which may be continued, if any.
        """
        scene, seen = session.scene, session.seen
        shared.wait_for_disconnect(self.database)
        shared.check_file(self.database)
        saved = self._find(scene)
        changes = () if saved is None else saved.table.log[scene.table.version :]
        screen = scene.draw(changes)
        assert screen.startswith(seen), (
            f"announced and not saved: shown is {seen!r}, and saved is {screen!r}"
        )
        assert seen.startswith(scene.draw(changes[:-1], asked=False)) or not changes, (
            "saved long before it was announced"
        )
        answers = format_answers(changes)
        assert answers == list(session.typed[: len(answers)]), "saved, but never typed"
        if session.killed:
            self.moments[_name_moment(session, screen, len(answers))] += 1
        else:
            assert seen == screen
            assert saved is not None
            assert saved.table.outcome is not None
        if saved is None:
            return None
        self._logs[saved.id] = saved.table.log
        return Scene(("resume", str(saved.id)), saved.table, saved.table.book, saved.id)

    def _find(self, scene: Scene) -> StoredGame | None:
        """Find the game of a scene in the database; all others have to be as they were."""
        games = shared.load_games(self.database)
        new = games.keys() - self._logs.keys()
        assert len(new) <= (scene.id is None), "there are more games than were played"
        for identity, log in self._logs.items():
            assert identity in games, "a game is lost"
            saved = games[identity].table.log
            if identity == scene.id:
                saved = saved[: len(log)]
            assert saved == log, "a game that was saved before is another one now"
        game = games.get(min(new, default=0) if scene.id is None else scene.id)
        if game is not None:
            assert replace(game.table, game=scene.table.game) == scene.table
            assert game.table.game.rules == scene.table.game.rules
        return game


def _name_moment(session: Session, screen: str, saved: int) -> str:
    """Say when a kill fell."""
    if len(session.seen) < len(session.scene.draw(())):
        return "before the first question"
    if len(session.seen) < len(screen):
        return "saved, but not announced yet"
    return "typed, but not saved yet" if saved < len(session.typed) else "after the announcement"


def main() -> None:
    """Kill many sessions, half on SQLite and half on PostgreSQL, on two databases each."""
    kills, seed = shared.read_arguments(200)
    with shared.create_databases(2) as databases:
        killers = [
            Killer(database, f"{seed} {number}") for number, (_, database) in enumerate(databases)
        ]
        shares = [len(range(number, kills, len(killers))) for number in range(len(killers))]
        with ThreadPoolExecutor(len(killers)) as pool:
            for _ in pool.map(Killer.kill, killers, shares):
                pass
    print("Nothing is lost. The kills fell:")
    shared.print_counts(sum((killer.moments for killer in killers), Counter[str]()))


if __name__ == "__main__":
    main()
