"""The server put together: what it keeps games in, who listens and who thinks, and which pages and routes there are."""

from __future__ import annotations

import asyncio
import logging
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from fastapi import FastAPI
from starlette.staticfiles import StaticFiles

from number_tower import __version__
from number_tower.solve import compiling
from number_tower.store.games import Store
from number_tower.store.scribe import Scribe
from number_tower.store.trouble import StoreError
from number_tower.web import api, guards, health, pages, problems, reference
from number_tower.web.browser_cookie import BrowserCookies
from number_tower.web.events import Hub
from number_tower.web.listening import listen
from number_tower.web.lobby import Lobby
from number_tower.web.middleware.client_context import ClientContextMiddleware
from number_tower.web.pages import learn, play
from number_tower.web.quota import DailyQuota, DatabaseLimit, Quota
from number_tower.web.reconciler import TIMING
from number_tower.web.watchdog import Watchdog
from number_tower.web.workers import Workers

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from number_tower.web.metrics import Metrics
    from number_tower.web.reconciler import Timing
    from number_tower.web.settings import Settings

_LOG = logging.getLogger(__name__)

_SWEEPING = 3600.0
"""Seconds between two looks for rooms that nobody uses."""


def make_app(settings: Settings, timing: Timing = TIMING) -> FastAPI:
    """Return the application; it opens its database when it starts, and lets go of everything when it stops."""

    @asynccontextmanager
    async def life(app: FastAPI) -> AsyncGenerator[None]:
        store = await asyncio.to_thread(Store, settings.place)
        metrics: Metrics | None = app.state.metrics
        scribe, hub = Scribe(store, None if metrics is None else metrics.observe_write), Hub()
        workers = Workers(settings.thinkers + 1, dear=settings.thinkers, prepare=compiling.forgo)
        workers.on_wait = None if metrics is None else metrics.observe_wait
        lobby = Lobby(store, scribe, hub, workers, timing)
        listener = listen(store, lobby.news)
        quota = Quota(DatabaseLimit(store, settings.max_db), DailyQuota() if settings.limits else None)
        await quota.database.measure()
        works = _sweep(lobby, settings), quota.database.watch(), workers.warm()
        background = [asyncio.create_task(work) for work in works]
        watchdog = Watchdog(getattr(app.state, "notifier", None))
        watchdog.start()
        app.state.watchdog, app.state.listener, app.state.writes = watchdog, listener, health.WriteCheck(scribe)
        app.state.store, app.state.hub, app.state.workers, app.state.lobby = store, hub, workers, lobby
        app.state.quota = quota
        try:
            yield
        finally:
            for task in background:
                task.cancel()
            listener.close()
            hub.close()
            await lobby.close()
            await workers.close()
            await asyncio.to_thread(scribe.close)
            store.close()
            watchdog.close()

    app = FastAPI(
        title=reference.TITLE,
        version=__version__,
        description=reference.ABOUT,
        openapi_tags=reference.TAGS,
        docs_url=None,
        redoc_url=None,
        lifespan=life,
    )
    app.state.settings = settings
    app.state.metrics = _make_metrics(app) if settings.metrics is not None else None
    api.install(app)
    for router in (play.router, learn.router, reference.router, health.router):
        app.include_router(router)
    app.mount("/static", StaticFiles(directory=pages.STATIC), name="static")
    problems.install(app)
    reference.install(app)
    app.add_middleware(ClientContextMiddleware)
    app.add_middleware(BrowserCookies)
    guards.install(app, settings, problems.telling)
    return app


def _make_metrics(app: FastAPI) -> Metrics:
    from number_tower.web.metrics import Metrics  # noqa: PLC0415 - its library is loaded only if it is asked for

    return Metrics(app.state)


async def _sweep(lobby: Lobby, settings: Settings) -> None:
    while True:
        try:
            await lobby.sweep(settings.keep_days)
        except StoreError as trouble:
            _LOG.warning("old rooms could not be deleted, trying again in an hour: %s", trouble)
        await asyncio.sleep(_SWEEPING)
