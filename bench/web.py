"""How soon a move reaches the opponent, and how many moves a server takes, beside one that does as little as possible.

`make bench-web` starts both servers, each with a file of its own, and lets two hundred games be played at each: server
and players share this machine. It prints the table, keeps it in bench/RESULTS.md, and fails if a goal is missed.
"""

from __future__ import annotations

import argparse
import json
import socket
import subprocess
import sys
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from statistics import median, quantiles
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, NamedTuple

from machine import facts
from rows import Row, aligned, duration, markdown, number, replace_section

if TYPE_CHECKING:
    from collections.abc import Iterator

HERE = Path(__file__).parent
RESULTS = HERE / "RESULTS.md"
BEGIN, END = "<!-- bench-web: begin -->", "<!-- bench-web: end -->"

GAMES = 200
SECONDS = 20
MOVES = 40
"""Moves of each game, where as many as possible are made."""

MOVERS = 32
ROUNDS = 3
SOON = 0.050
"""Seconds within which 99 of 100 moves should have reached the opponent."""

PUPILS = 200
CLASS_MOVES = 12
"""Moves of each game in a class."""

SOON_IN_CLASS = 0.150
"""Seconds within which 99 of 100 moves of a class should have reached the opponent, and the wall."""


class Kind(NamedTuple):
    """A server that can be measured."""

    name: str
    bare: bool

    def call(self, port: int, file: Path) -> list[str]:
        """Return how it is started."""
        if self.bare:
            return [sys.executable, str(HERE / "web_bare.py"), str(port), str(file)]
        tower = str(Path(sys.executable).with_name("tower"))
        return [tower, "serve", "--no-limits", "--port", str(port), "--db", str(file)]


OURS = Kind("tower serve", bare=False)
BARE = Kind("one insert and one notify", bare=True)


@contextmanager
def running(kind: Kind) -> Iterator[int]:
    """Have a server with an empty file; its port is given."""
    with socket.create_server(("127.0.0.1", 0)) as found:
        port: int = found.getsockname()[1]
    with TemporaryDirectory() as folder, (Path(folder) / "said").open("w+") as said:
        process = subprocess.Popen(
            kind.call(port, Path(folder) / "games.db"), stdout=said, stderr=said
        )
        try:
            _wait(process, port)
            yield port
        except BaseException:
            said.seek(0)
            print(said.read(), file=sys.stderr)
            raise
        finally:
            process.terminate()
            process.wait()


def _wait(process: subprocess.Popen[bytes], port: int) -> None:
    """Wait until a server answers."""
    deadline = time.monotonic() + 60
    while process.poll() is None and time.monotonic() < deadline:
        with (
            suppress(OSError),
            socket.create_connection(("127.0.0.1", port), timeout=60) as connection,
        ):
            connection.sendall(
                b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n"
            )
            if connection.recv(12) == b"HTTP/1.1 200":
                return
        time.sleep(0.05)
    raise RuntimeError("the server does not answer")


def load(kind: Kind, script: str = "web_load.py", **task: int) -> Any:
    """Let a server be used by players in a process of their own; return what they measured."""
    with running(kind) as port:
        wanted = json.dumps({"port": port, "bare": kind.bare, **task})
        done = subprocess.run(
            [sys.executable, str(HERE / script)],
            input=wanted,
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
    return json.loads(done.stdout)


def latencies() -> Iterator[Row]:
    """Measure how long moves take to reach the opponent while every game has one each second."""
    taken = {kind: load(kind, games=GAMES, moves=SECONDS)["taken"] for kind in (OURS, BARE)}
    hundredths = {
        kind: quantiles(times, n=100, method="inclusive") for kind, times in taken.items()
    }
    work = f"{GAMES} games, one move a second each: a move reaches the opponent"
    for share, goal in ((50, None), (99, SOON)):
        ours, bare = (hundredths[kind][share - 1] for kind in (OURS, BARE))
        met = None if goal is None else ours <= goal
        shown = "" if goal is None else duration(goal)
        other = f"{BARE.name}: {duration(bare)}"
        yield Row(
            f"{work}, p{share}",
            duration(ours),
            other,
            f"{number(ours / bare)} x the time",
            shown,
            met,
        )
    ours, bare = (max(taken[kind]) for kind in (OURS, BARE))
    yield Row(
        f"{work}, the slowest of {len(taken[OURS]):,}",
        duration(ours),
        f"{BARE.name}: {duration(bare)}",
    )


def class_latencies() -> Iterator[Row]:
    """Measure how long moves take to reach the opponent and the wall in a class whose pupils move every 5 seconds."""
    taken = {
        kind: load(kind, "web_class.py", pupils=PUPILS, moves=CLASS_MOVES) for kind in (OURS, BARE)
    }
    for place, words in (("opponent", "the opponent"), ("wall", "the wall")):
        hundredths = {
            kind: quantiles(each[place], n=100, method="inclusive") for kind, each in taken.items()
        }
        for share, goal in ((50, None), (99, SOON_IN_CLASS)):
            ours, bare = (hundredths[kind][share - 1] for kind in (OURS, BARE))
            work = f"a class of {PUPILS}, a move every 5 s each: a move reaches {words}, p{share}"
            met = None if goal is None else ours <= goal
            shown = "" if goal is None else duration(goal)
            other = f"{BARE.name}: {duration(bare)}"
            yield Row(work, duration(ours), other, f"{number(ours / bare)} x the time", shown, met)


def rates() -> Iterator[Row]:
    """Measure how many moves a second are made if each mover moves as soon as the last move is answered."""
    rounds: dict[Kind, list[float]] = {OURS: [], BARE: []}
    for _ in range(ROUNDS):
        for kind, found in rounds.items():
            done = load(kind, games=GAMES, moves=MOVES, movers=MOVERS)
            found.append(done["moves"] / done["seconds"])
    ours, bare = median(rounds[OURS]), median(rounds[BARE])
    work = f"{GAMES} games, {MOVERS} movers who never wait: moves a second"
    other = f"{BARE.name}: {number(bare)}"
    yield Row(
        work,
        number(ours),
        other,
        f"{number(ours / bare)} x as many",
        "0.5 x as many",
        ours >= bare / 2,
    )


def kept(page: str, about: dict[str, str], table: dict[str, list[Row]]) -> str:
    """Return the page of results with this run in its own part, whatever else stands there."""
    known = "\n".join(
        f"- {what}: {about[what]}" for what in ("date", "machine", "system", "Python")
    )
    part = f"""{BEGIN}
## In the browser

Written by `make bench-web`. Server and players share the machine, and every game is followed by both of its players
({2 * GAMES} streams). Games are saved in SQLite, each move on the disk before anyone sees it. The other server is
the same FastAPI and uvicorn with the same settings of SQLite; it checks nothing, and for each move does one insert in
a thread and one notify. A time is from just before the move is sent until the opponent has the event.

{known}

{markdown(table)}
{END}"""
    return replace_section(page, BEGIN, part, END)


def main() -> int:
    """Measure, print one table, and fail if a goal is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help=f"keep the table in {RESULTS.name}")
    asked = parser.parse_args()
    about = facts()
    table: dict[str, list[Row]] = {}
    for heading, section in (
        ("moves that arrive", latencies),
        ("a class", class_latencies),
        ("moves that are made", rates),
    ):
        print(f"measuring: {heading} ...", file=sys.stderr, flush=True)
        table[heading] = list(section())
    print(aligned(table))
    if asked.write:
        RESULTS.write_text(
            kept(RESULTS.read_text(encoding="utf-8"), about, table), encoding="utf-8"
        )
    return int(any(row.met is False for rows in table.values() for row in rows))


if __name__ == "__main__":
    sys.exit(main())
