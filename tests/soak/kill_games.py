"""Kill -9 at random moments of scripted games, and see whether anything that was announced is lost.

`make test` does it a few times, `make soak` 200 times: `python tests/soak/kill_games.py [KILLS]
[SEED]`.
"""

from __future__ import annotations

import os
import select
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from secrets import token_hex
from tempfile import TemporaryDirectory

import psycopg
from sqlalchemy import select as chosen

from number_tower import Game, Table
from number_tower.engine import catalogue
from number_tower.engine.catalogue import Rulebook
from number_tower.engine.table import Change
from number_tower.store.database import Store
from number_tower.store.games import load_game
from number_tower.store.rows import StoredGame
from number_tower.store.schema import games
from number_tower.words.voice import Voice
from support.clocks import SLOW
from support.command import ROOT, TOWER, plain_environment
from support.postgres import brought_up_to_date, fresh, make_location, on_server, run_postgres

OPTIONS: dict[str, dict[str, tuple[str | int, ...]]] = {
    "race": {"target": (15, 30), "blocks": ("1-9", "2,4,6,8")},
    "draft": {"target": (15, 21), "blocks": ("1-9", "1-12")},
    "summit": {"target": (20, 35)},
    "climb": {"opening": ("1-30", "1-9")},
    "factor": {"blocks": ("1-9", "1-24")},
}
"""What the scripted games are played with."""


class Terminal:
    """The command with pipes for its keyboard and screen.

    It is used as a person does, by looking and typing.
    """

    def __init__(self, *arguments: str, database: str) -> None:
        self.process: subprocess.Popen[bytes] = subprocess.Popen(
            [TOWER, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, cwd=ROOT, env=plain_environment(NUMBER_TOWER_DB=database),
        )  # fmt: skip
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self._keyboard, self._screen = self.process.stdin, self.process.stdout
        self._seen = b""

    @property
    def seen(self) -> str:
        """All that was shown so far."""
        return self._seen.decode()

    def type(self, *answers: str) -> None:
        """Type some answers, a line each; who has ended meanwhile does not hear them."""
        with suppress(BrokenPipeError):
            os.write(self._keyboard.fileno(), "".join(f"{answer}\n" for answer in answers).encode())

    def look(self, prompt: str) -> bool:
        """Look until a prompt waits that was not there before.

        Say whether it does, or all has ended.
        """
        before, deadline = len(self._seen), time.monotonic() + SLOW
        while len(self._seen) == before or not self._seen.endswith(prompt.encode()):
            ready, _, _ = select.select([self._screen], [], [], max(deadline - time.monotonic(), 0))
            assert ready, f"never saw {prompt!r} in {self.seen[before:]!r}"
            more = os.read(self._screen.fileno(), 65536)
            if not more:
                return False
            self._seen += more
        return True

    def kill(self) -> None:
        """End it as nothing else does: without a word, in the middle of whatever goes on."""
        self.process.kill()

    def end(self) -> tuple[int, str]:
        """Type no more, and look until it has ended.

        Return the exit code and what it complained of.
        """
        rest, complaints = self.process.communicate(timeout=SLOW)
        self._seen += rest
        return self.process.returncode, complaints.decode()


@dataclass(frozen=True)
class Scene:
    """A game that a session begins with, new or as it was left, and the call that begins it."""

    call: tuple[str, ...]
    table: Table
    book: Rulebook
    id: int | None = None

    def changes(self, answers: Sequence[str]) -> tuple[Change, ...]:
        """Return the changes that answers make, where nobody else gives any."""
        table = self.table
        for answer in answers:
            table = table.undo() if answer == "undo" else table.play(int(answer))
        return table.log[self.table.version :]

    @property
    def prompt(self) -> str:
        """What asks for a move."""
        return Voice(self.book).format_prompt(self.table)

    def heard(self, seen: str) -> tuple[Change, ...]:
        """Return the changes that a session has shown since it began, after each prompt."""
        answers = [after.partition("\n") for after in seen.split(self.prompt)[1:]]
        return self.changes(
            [answer for answer, ended, _ in answers[len(self.table.game.moves) :] if ended]
        )

    def after(self, changes: Sequence[Change]) -> Table:
        """Return the table after some changes."""
        table = self.table
        for change in changes:
            table = table.answer(table.version, change)
            assert table.log[-1] == change
        return table

    def told(self, changes: Sequence[Change], *, asked: bool = True) -> str:
        """Return all that a session shows in which these changes are made.

        The next question is included if it is asked.
        """
        voice, shown = Voice(self.book), ""
        earlier = self.table
        for game in self.table.game.history():
            now = replace(self.table, game=game)
            shown += f"{voice.format_prompt(earlier)}{game.moves[-1]}\n" if game.moves else ""
            shown += "".join(said.text for said in voice.tell(now))
            earlier = now
        for number in range(len(changes)):
            now = self.after(changes[: number + 1])
            shown += voice.format_prompt(earlier)
            if changes[number].kind == "place":
                shown += f"{now.game.moves[-1]}\n" + "".join(said.text for said in voice.tell(now))
            else:
                shown += f"undo\n{_taken_back(voice, earlier, now)}{voice.tell_turn(now).text}"
            earlier = now
        return shown + ("" if earlier.outcome or not asked else voice.format_prompt(earlier))

    def typed(self, changes: Sequence[Change]) -> list[str]:
        """Return what has to be typed for these changes."""
        return ["undo" if change.kind == "undo" else str(change.number) for change in changes]


def _taken_back(voice: Voice, earlier: Table, now: Table) -> str:
    moves = earlier.game.moves
    return "".join(
        voice.tell_undo(
            replace(now, game=Game(now.game.rules, now.game.first, moves[:kept])), moves[kept]
        ).text
        for kept in range(len(moves) - 1, len(now.game.moves) - 1, -1)
    )


def some_game(chance: Random) -> Scene:
    """Make up a game of two people: any of the catalogue, with some of its options."""
    name, first = chance.choice(catalogue.list_names()), chance.randrange(2)
    book, given = (
        catalogue.load(name),
        {option: chance.choice(values) for option, values in OPTIONS[name].items()},
    )
    hidden = "hidden" in book.options and chance.random() < 0.3
    call = ["play", name, "--first", str(first + 1), "--names", "Ann,Ben", *["--hidden"] * hidden]
    call += [part for option, value in given.items() for part in (f"--{option}", str(value))]
    table = Table(Game(book.apply_options(given), first), name, ("Ann", "Ben"), hidden=hidden)
    return Scene(tuple(call), table, book)


def some_answers(chance: Random, table: Table, count: int, *, undo: bool = True) -> list[str]:
    """Think of answers: moves that can be made, and now and then a takeback."""
    answers: list[str] = []
    while table.outcome is None and len(answers) < count:
        if undo and table.may_undo and chance.random() < 0.2:
            table, answer = table.undo(), "undo"
        else:
            block = chance.choice(table.game.legal)
            table, answer = table.play(block), str(block)
        answers.append(answer)
    return answers


@dataclass(frozen=True)
class Session:
    """What came of a session: all that was typed and shown, and whether it was killed."""

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
        """Kill so many sessions, checking after each that all is well.

        Go on with some of the games, and end some.
        """
        scene = some_game(self._chance)
        while self.moments.total() < times:
            kept = self._check(self._session(scene))
            if kept is not None and kept.table.outcome is None and self._chance.random() < 0.5:
                scene = kept
                continue
            if kept is not None:
                kept = self._resumed(kept)
                if kept.table.outcome is None and self._chance.random() < 0.3:
                    self._check(self._session(kept, to_the_end=True))
            scene = some_game(self._chance)

    def _session(self, scene: Scene, *, to_the_end: bool = False) -> Session:
        """Play a while, and be killed at some moment after an answer, or before the first."""
        terminal, typed = Terminal(*scene.call, database=self.database), list[str]()
        early = not to_the_end and self._chance.random() < 0.1
        count = sys.maxsize if to_the_end else self._chance.randrange(5)
        there = not early and terminal.look(scene.prompt)
        while there and len(typed) < count:
            heard = scene.heard(terminal.seen)
            assert terminal.seen == scene.told(heard), "what is shown is not what was done"
            typed += some_answers(self._chance, scene.after(heard), 1, undo=not to_the_end)
            first, began = len(typed) == 1, time.monotonic()
            terminal.type(typed[-1])
            there = terminal.look(scene.prompt)
            self._pace[first] = time.monotonic() - began
        if there:
            count = self._chance.choice((1, 1, 3))
            answers = some_answers(self._chance, scene.after(scene.heard(terminal.seen)), count)
            terminal.type(*answers)
            time.sleep(self._chance.uniform(0, 1.5) * self._pace[not typed] * len(answers))
            typed += answers
        elif early:
            time.sleep(self._chance.uniform(0, 0.4))
        if there or early:
            terminal.kill()
        code, complaints = terminal.end()
        assert not complaints, complaints
        assert code in {0, -9}
        return Session(scene, tuple(typed), terminal.seen, killed=code != 0)

    def _check(self, session: Session) -> Scene | None:
        """Check that what was announced is kept, with at most one change more.

        Returns the game to go on with, if any.
        """
        scene, seen = session.scene, session.seen
        settle(self.database)
        sound(self.database)
        kept = self._found(scene)
        changes = () if kept is None else kept.table.log[scene.table.version :]
        told = scene.told(changes)
        assert told.startswith(seen), (
            f"announced and not kept: shown is {seen!r}, and kept is {told!r}"
        )
        assert seen.startswith(scene.told(changes[:-1], asked=False)) or not changes, (
            "kept long before it was announced"
        )
        done = scene.typed(changes)
        assert done == list(session.typed[: len(done)]), "kept, but never typed"
        if session.killed:
            self.moments[_moment(session, told, done)] += 1
        else:
            assert seen == told
            assert kept is not None
            assert kept.table.outcome is not None
        if kept is None:
            return None
        self._logs[kept.id] = kept.table.log
        return Scene(("resume", str(kept.id)), kept.table, kept.table.book, kept.id)

    def _found(self, scene: Scene) -> StoredGame | None:
        """Find the game of a scene in the database, where all others are as they were."""
        found = games_in(self.database)
        new = found.keys() - self._logs.keys()
        assert len(new) <= (scene.id is None), "there are more games than were played"
        for identity, log in self._logs.items():
            assert identity in found, "a game is lost"
            same = (
                found[identity].table.log
                if identity != scene.id
                else found[identity].table.log[: len(log)]
            )
            assert same == log, "what was kept before is another game now"
        kept = found.get(min(new, default=0) if scene.id is None else scene.id)
        assert kept is None or replace(kept.table, game=scene.table.game) == scene.table
        assert kept is None or kept.table.game.rules == scene.table.game.rules
        return kept

    def _resumed(self, scene: Scene) -> Scene:
        """See that a game can be gone on with: it is told so far, and it waits."""
        # Not a fork of this process: another of its threads may hold a lock of SQLite at that
        # moment.
        with subprocess.Popen(
            [TOWER, *scene.call],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=plain_environment(NUMBER_TOWER_DB=self.database),
        ) as running_on:
            shown, said = running_on.communicate("", timeout=SLOW)
        kept = games_in(self.database)[int(scene.call[1])]
        table, changes = kept.table, kept.table.log[scene.table.version :]
        told, complaints, code = scene.told(changes), "", 0
        assert not scene.typed(changes)
        if scene.table.outcome is not None:
            told += "\nThis game is over, so there is nothing to resume.\n"
        elif table.outcome is None:
            go_on = (
                f"Game saved. Resume it with: tower resume {kept.id}"
                if table.log
                else "No move was made, so there is nothing to save."
            )
            told, complaints, code = told + "\n", f"tower: {go_on}\n", 1
        expected = (told, complaints, code)
        seen = (shown, said, running_on.returncode)
        assert seen == expected, f"shown is {seen}, and expected was {expected}"
        self._logs[kept.id] = table.log
        return replace(scene, table=table)


def _moment(session: Session, told: str, done: Sequence[str]) -> str:
    """Say when a kill fell."""
    if len(session.seen) < len(session.scene.told(())):
        return "before the first question"
    if len(session.seen) < len(told):
        return "kept, but not announced yet"
    return "typed, but not kept yet" if len(done) < len(session.typed) else "after the announcement"


def games_in(database: str) -> dict[int, StoredGame]:
    """Return all games that a database holds; each is played again as it is read."""
    store = Store(make_location(database))
    try:
        with store.read() as connection:
            return {
                identity: load_game(connection, identity)
                for identity in connection.scalars(chosen(games.c.id))
            }
    finally:
        store.close()


def settle(database: str) -> None:
    """Wait until a server has noticed who is dead: it may still do what they asked last."""
    if not on_server(database):
        return
    others = (
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid "
        "<> pg_backend_pid()"
    )
    deadline = time.monotonic() + SLOW
    with psycopg.connect(database, autocommit=True) as connection:
        while connection.execute(others).fetchone() != (0,):
            assert time.monotonic() < deadline, "the server keeps the connections of the dead"
            time.sleep(0.005)


def sound(database: str) -> None:
    """See that a database is whole, and that no change is without its game."""
    if Path(database).exists():
        with closing(sqlite3.connect(database)) as connection:
            assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
            assert connection.execute("PRAGMA foreign_key_check").fetchall() == []


def main(kills: int, seed: str) -> None:
    """Kill so many sessions, half on SQLite and half on PostgreSQL, on two databases each."""
    print(f"{kills} kills, seed {seed}", flush=True)
    with ExitStack() as cleaning:
        folder = cleaning.enter_context(TemporaryDirectory())
        server = cleaning.enter_context(run_postgres())
        databases = [str(Path(folder, f"{number}.db")) for number in range(2)]
        for _ in range(2):
            databases.append(cleaning.enter_context(fresh(server)))
            brought_up_to_date(databases[-1])
        killers = [
            Killer(database, f"{seed} {number}") for number, database in enumerate(databases)
        ]
        shares = [len(range(number, kills, len(killers))) for number in range(len(killers))]
        with ThreadPoolExecutor(len(killers)) as pool:
            for _ in pool.map(Killer.kill, killers, shares):
                pass
    print("Nothing is lost. The kills fell:")
    for moment, times in sum((killer.moments for killer in killers), Counter[str]()).most_common():
        print(f"{times:6} {moment}")


if __name__ == "__main__":
    main(
        int(sys.argv[1]) if len(sys.argv) > 1 else 200,
        sys.argv[2] if len(sys.argv) > 2 else token_hex(4),
    )
