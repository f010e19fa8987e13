"""A class of hundreds: pupils join, are paired and move, and a wall shows all boards."""

from __future__ import annotations

import asyncio
import re
import time
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import uvloop
from httpx2 import AsyncClient

from web_load import MAX_WAIT, Seen

if TYPE_CHECKING:
    from collections.abc import Callable

    Note = Callable[[str, float], None]
    """Notes an event that came at a time."""

PACE = 5.0
"""Seconds between two moves of a pupil."""

WALL = 2
"""The wall's place among those who see a game, after both players."""

BOARD = re.compile(r'title="(P\d+)".*?class="class-towers(.*)class="board-status', re.DOTALL)
"""A board on the wall: who begins, and the drawing with the numbers that are placed."""


class ClassTask(NamedTuple):
    """What to measure: the server's port, how many pupils, and how many moves each game has."""

    port: int
    pupils: int
    moves: int


class ClassGame(NamedTuple):
    """A game of the class, and who sees which move when."""

    path: str
    players: list[AsyncClient]
    seen: Seen

    async def play(self, moves: int, start: float, pause: float) -> list[tuple[float, float]]:
        """Make the moves of a game; return how long each took to reach opponent and wall."""
        sent = []
        for version in range(moves):
            await asyncio.sleep(max(0.0, start + version * pause - time.perf_counter()))
            sent.append(time.perf_counter())
            # In climb the next larger number can be placed, 30 times.
            move = {"block": version + 1, "version": version, "game": 1}
            await send(self.players[version % 2], f"{self.path}/move", **move)
        for place in (moves % 2, WALL):
            await self.seen.wait(place, moves)
        when = self.seen.when
        return [
            (when(1 - version % 2, version + 1) - at, when(WALL, version + 1) - at)
            for version, at in enumerate(sent)
        ]


async def follow(browser: AsyncClient, path: str, note: Note) -> None:
    """Note every event of a stream when it is there as a whole."""
    async with browser.stream("GET", path, timeout=None) as answer:
        event = ""
        async for text in answer.aiter_text():
            now = time.perf_counter()
            *events, event = (event + text).split("\n\n")
            for whole in events:
                note(whole, now)


def play_in_class(task: ClassTask) -> dict[str, list[float]]:
    """Let a class play; return how long moves took to reach the opponent and the wall."""
    return uvloop.run(_play_in_class(task))


async def _play_in_class(task: ClassTask) -> dict[str, list[float]]:
    games, followers = await open_class(task)
    for game in games:
        for seat in (0, 1):
            await game.seen.wait(seat, 0)
    # The wall says nothing before the first move; it is connected within this second.
    start, pause = time.perf_counter() + 1, PACE / 2
    played = [
        game.play(task.moves, start + pause * number / len(games), pause)
        for number, game in enumerate(games)
    ]
    taken = [took for times in await asyncio.gather(*played) for took in times]
    for follower in followers:
        follower.cancel()
    return {"opponent": [took[0] for took in taken], "wall": [took[1] for took in taken]}


async def open_class(task: ClassTask) -> tuple[list[ClassGame], list[asyncio.Task[None]]]:
    """Make a class of pairs; return the games, and who follows them and the wall."""
    teacher, *pupils = (
        AsyncClient(base_url=f"http://127.0.0.1:{task.port}", timeout=MAX_WAIT, verify=False)
        for _ in range(1 + task.pupils)
    )
    path = await send(teacher, "/class/new", games="climb")
    paired: dict[str, list[int]] = {}
    for number, pupil in enumerate(pupils):
        await send(pupil, f"{path}/join", name=f"P{number}")
    await send(teacher, f"{path}/start", round=1)
    for number, pupil in enumerate(pupils):
        room = (await pupil.get(path)).headers["location"]
        paired.setdefault(room, []).append(number)
    boards = dict[str, Seen]()
    games, followers = list[ClassGame](), list[asyncio.Task[None]]()
    for room, pair in paired.items():
        page = await pupils[pair[0]].get(room)
        first, second = pair if "Your turn" in page.text else reversed(pair)
        game = ClassGame(room, [pupils[first], pupils[second]], Seen(followers=3))
        boards[f"P{first}"] = game.seen
        for seat, player in enumerate(game.players):
            note = partial(note_move, game.seen, seat)
            followers.append(asyncio.create_task(follow(player, f"{room}/events", note)))
        games.append(game)
    wall = follow(teacher, f"{path}/wall/events", partial(note_board, boards))
    followers.append(asyncio.create_task(wall))
    return games, followers


async def send(browser: AsyncClient, path: str, **form: object) -> str:
    """Send a form as the script of a page does; return where the answer leads."""
    answer = await browser.post(path, data=form, headers={"X-Fragment": "1"})
    if answer.is_error:
        raise RuntimeError(f"{path}: {answer.status_code} {answer.text}")
    return str(answer.headers.get("location", ""))


def note_move(seen: Seen, seat: int, event: str, now: float) -> None:
    """Note that a player sees a move."""
    version = re.search(r'"version":(\d+)', event)
    if version:
        seen.note(seat, int(version[1]), now)


def note_board(boards: dict[str, Seen], event: str, now: float) -> None:
    """Note that a board on the wall shows a move."""
    board = BOARD.search(event)
    if board:
        numbers = map(int, re.findall(r"(?:^|>)\s*(\d+)\s*(?:<|$)", board[2]))
        boards[board[1]].note(WALL, max(numbers, default=0), now)
