"""Whether a server can do its work: a real look at its database, which may not keep anybody waiting."""

from __future__ import annotations

import asyncio
from concurrent.futures import Future
from threading import Thread
from time import monotonic
from typing import TYPE_CHECKING

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse
from sqlalchemy import text

from number_tower import __version__

if TYPE_CHECKING:
    from collections.abc import Callable

    from number_tower.store.games import Store

PATIENCE = 3.0
"""Seconds after which a database that does not answer is in trouble."""

FRESH = 1.0
"""Seconds for which an answer holds, however many ask."""

router = APIRouter()


class Checkup:
    """One look at a time at a database, each in a thread that may hang without holding up anything."""

    def __init__(self, look: Callable[[], object], patience: float = PATIENCE, fresh: float = FRESH) -> None:
        self._look = look
        self._patience = patience
        self._fresh = fresh
        self._answer: Future[str | None] | None = None
        self._asked = 0.0

    async def trouble(self) -> str | None:
        """Say what is wrong with the database; None if nothing is."""
        answer = self._answer
        if answer is None or (answer.done() and monotonic() - self._asked >= self._fresh):
            self._asked = monotonic()
            self._answer = answer = Future()
            Thread(target=self._ask, args=(answer,), name="health", daemon=True).start()
        try:
            return await asyncio.wait_for(asyncio.shield(asyncio.wrap_future(answer)), self._patience)
        except TimeoutError:
            return f"the database has not answered for {monotonic() - self._asked:.0f} seconds"

    def _ask(self, answer: Future[str | None]) -> None:
        try:
            self._look()
        except Exception as trouble:  # noqa: BLE001 - whatever it is, it is what is wrong
            answer.set_result(str(trouble) or type(trouble).__name__)
        else:
            answer.set_result(None)


def look_at(store: Store) -> None:
    """Ask a database for something that it has, if it works at all."""
    with store.looking() as connection:
        connection.execute(text("SELECT version_num FROM alembic_version")).scalar_one()


@router.get("/health", include_in_schema=False)
async def health(request: Request) -> JSONResponse:
    """Say whether the server can do its work, and if not, why."""
    state = request.app.state
    if not hasattr(state, "checkup"):
        store: Store = state.store
        state.checkup = Checkup(lambda: look_at(store))
    trouble = await state.checkup.trouble()
    if trouble is not None:
        trouble = trouble.replace(f" {state.store.place.name}", "")
    said = {
        "status": "ok" if trouble is None else "failing",
        "version": __version__,
        "database": trouble or "ok",
        "thinkers": state.settings.thinkers,
    }
    return JSONResponse(said, 200 if trouble is None else 503, {"Cache-Control": "no-store"})
