"""The server put together: what it keeps games in, who listens and who thinks, and which pages and routes there are."""

from __future__ import annotations

import asyncio
import logging
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from fastapi import FastAPI
from starlette.staticfiles import StaticFiles

from number_tower import __version__
from number_tower.solve import jit
from number_tower.store import StoreError
from number_tower.store.database import Store, Writer
from number_tower.web import api, errors, health, pages
from number_tower.web.errors import render_plain
from number_tower.web.health import Watchdog
from number_tower.web.live import Hub, start_listener
from number_tower.web.lobby import Lobby
from number_tower.web.middleware.access_log import AccessLogMiddleware
from number_tower.web.middleware.body_limit import BodyLimitMiddleware
from number_tower.web.middleware.browser_cookie import BrowserCookieMiddleware
from number_tower.web.middleware.client_context import ClientContextMiddleware
from number_tower.web.middleware.rate_limit import RateLimitMiddleware
from number_tower.web.middleware.security import CrossSiteMiddleware, SecurityHeadersMiddleware
from number_tower.web.middleware.streams import StreamLimitMiddleware, StreamRegistry
from number_tower.web.middleware.trusted_host import TrustedHostMiddleware
from number_tower.web.pages import analysis, docs, games, home, new_game, puzzles, room
from number_tower.web.quota import DailyQuota, DatabaseLimit, Quota
from number_tower.web.room_cache import DEFAULT_TIMING
from number_tower.web.workers import Workers

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from starlette.applications import Starlette

    from number_tower.web.errors import RefusalRenderer
    from number_tower.web.metrics import Metrics
    from number_tower.web.room_cache import ReconcileTiming
    from number_tower.web.settings import Settings

_log = logging.getLogger(__name__)


_SWEEP_INTERVAL = 3600.0


"""Seconds between two looks for rooms that nobody uses."""


def make_app(settings: Settings, timing: ReconcileTiming = DEFAULT_TIMING) -> FastAPI:
    """Return the application; it opens its database when it starts, and lets go of everything when it stops."""

    @asynccontextmanager
    async def life(app: FastAPI) -> AsyncGenerator[None]:
        store = await asyncio.to_thread(Store, settings.place)
        metrics: Metrics | None = app.state.metrics
        scribe, hub = Writer(store, None if metrics is None else metrics.observe_write), Hub()
        workers = Workers(settings.workers + 1, dear=settings.workers, prepare=jit.disable_jit)
        workers.on_wait = None if metrics is None else metrics.observe_wait
        lobby = Lobby(store, scribe, hub, workers, timing)
        listener = start_listener(store, lobby.note_change)
        quota = Quota(DatabaseLimit(store, settings.max_db), DailyQuota() if settings.limits else None)
        await quota.database.measure()
        works = _sweep_rooms(lobby, settings), quota.database.watch(), workers.warm()
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
        title=docs.TITLE,
        version=__version__,
        description=docs.ABOUT,
        openapi_tags=docs.TAGS,
        docs_url=None,
        redoc_url=None,
        lifespan=life,
    )
    app.state.settings = settings
    app.state.metrics = _make_metrics(app) if settings.metrics is not None else None
    api.install_api(app)
    for part in (room, home, new_game, analysis, puzzles, games, docs, health):
        app.include_router(part.router)
    app.mount("/static", StaticFiles(directory=pages.STATIC_DIRECTORY), name="static")
    errors.install_error_handlers(app)
    docs.install_openapi(app)
    app.add_middleware(ClientContextMiddleware)
    app.add_middleware(BrowserCookieMiddleware)
    install_middleware(app, settings, errors.render_refusal)
    return app


def _make_metrics(app: FastAPI) -> Metrics:
    from number_tower.web.metrics import Metrics  # noqa: PLC0415 - its library is loaded only if it is asked for

    return Metrics(app.state)


async def _sweep_rooms(lobby: Lobby, settings: Settings) -> None:
    while True:
        try:
            await lobby.delete_old_rooms(settings.keep_days)
        except StoreError as trouble:
            _log.warning("old rooms could not be deleted, trying again in an hour: %s", trouble)
        await asyncio.sleep(_SWEEP_INTERVAL)


def install_middleware(app: Starlette, settings: Settings, telling: RefusalRenderer = render_plain) -> None:
    """Put all guards around an app. What they refuse is told in the given form."""
    metrics: Metrics | None = getattr(app.state, "metrics", None)
    on_refusal = None if metrics is None else metrics.count_refusal
    app.state.streams = streams = StreamRegistry(limited=settings.limits)
    app.add_middleware(StreamLimitMiddleware, streams=streams, telling=telling, on_refusal=on_refusal)
    if settings.limits:
        app.add_middleware(RateLimitMiddleware, telling=telling, on_refusal=on_refusal)
    app.add_middleware(BodyLimitMiddleware, telling=telling)
    app.add_middleware(CrossSiteMiddleware, public_url=settings.public_url, telling=telling)
    app.add_middleware(TrustedHostMiddleware, settings=settings, telling=telling)
    app.add_middleware(AccessLogMiddleware, telling=telling, metrics=metrics)
    app.add_middleware(SecurityHeadersMiddleware)
