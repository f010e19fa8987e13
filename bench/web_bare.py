"""The least that a server of games can do: one insert and one notify for every move.

It checks nothing, knows no games, and keeps one row a move, as durably as ours.
Usage: python bench/web_bare.py --db FILE --port PORT
"""

from __future__ import annotations

import asyncio
import sys
from collections import defaultdict
from collections.abc import AsyncIterator
from typing import Any

import uvicorn
from fastapi import FastAPI
from pydantic import BaseModel
from sqlalchemy import Column, Integer, MetaData, Table, create_engine, event, insert
from starlette.concurrency import run_in_threadpool
from starlette.responses import StreamingResponse

changes = Table(
    "changes",
    MetaData(),
    Column("game", Integer, primary_key=True, autoincrement=False),
    Column("version", Integer, primary_key=True, autoincrement=False),
    Column("block", Integer, nullable=False),
)


class Move(BaseModel):
    """A block, and the version that it answers."""

    block: int
    version: int


def _prepare(connection: Any, _: object) -> None:
    connection.isolation_level = None
    for setting in ("journal_mode = WAL", "synchronous = FULL", "foreign_keys = ON"):
        connection.execute(f"PRAGMA {setting}")


def app_with(file: str) -> FastAPI:
    """Return the server; its connections take turns in Python, not at the lock of the file."""
    engine = create_engine(
        f"sqlite:///{file}", pool_size=1, max_overflow=0, connect_args={"check_same_thread": False}
    )
    event.listen(engine, "connect", _prepare)
    event.listen(
        engine, "begin", lambda connection: connection.exec_driver_sql("BEGIN IMMEDIATE") and None
    )
    changes.metadata.create_all(engine)
    listeners: defaultdict[int, set[asyncio.Queue[str]]] = defaultdict(set)
    app = FastAPI()

    def keep(game: int, move: Move) -> None:
        with engine.begin() as connection:
            connection.execute(
                insert(changes).values(game=game, version=move.version, block=move.block)
            )

    @app.post("/api/games/{game}/actions")
    async def place(game: int, move: Move) -> dict[str, int]:
        await run_in_threadpool(keep, game, move)
        version = move.version + 1
        data = f'{{"version":{version},"block":{move.block}}}'
        news = f"event: state\nid: {version}\ndata: {data}\n\n"
        for listener in listeners[game]:
            listener.put_nowait(news)
        return {"version": version}

    @app.get("/api/games/{game}/events")
    async def follow(game: int) -> StreamingResponse:
        async def events() -> AsyncIterator[str]:
            queue: asyncio.Queue[str] = asyncio.Queue()
            listeners[game].add(queue)
            try:
                yield 'event: state\nid: 0\ndata: {"version":0}\n\n'
                while True:
                    yield await queue.get()
            finally:
                listeners[game].discard(queue)

        return StreamingResponse(events(), media_type="text/event-stream")

    @app.get("/health")
    async def health() -> dict[str, str]:
        return {"status": "ok"}

    return app


if __name__ == "__main__":
    uvicorn.run(
        app_with(sys.argv[2]),
        host="127.0.0.1",
        port=int(sys.argv[4]),
        log_level="warning",
        access_log=False,
    )
