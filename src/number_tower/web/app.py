"""The application: its parts, pages, routes and middleware."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from functools import partial

from fastapi import FastAPI
from starlette.applications import Starlette
from starlette.middleware.gzip import GZipMiddleware

from number_tower import __version__
from number_tower.store import StoreError
from number_tower.store.database import Store, Writer
from number_tower.store.maintenance import measure_size
from number_tower.web import api, errors, health
from number_tower.web.health import Watchdog
from number_tower.web.limits import DailyQuota, Quota
from number_tower.web.live import ChangeListener
from number_tower.web.lobby import Lobby
from number_tower.web.middleware import rate_limit
from number_tower.web.middleware.access_log import AccessLogMiddleware
from number_tower.web.middleware.body_limit import BodyLimitMiddleware
from number_tower.web.middleware.browser_cookie import BrowserCookieMiddleware
from number_tower.web.middleware.cross_site import CrossSiteMiddleware
from number_tower.web.middleware.security_headers import SecurityHeadersMiddleware
from number_tower.web.middleware.streams import StreamLimitMiddleware, StreamRegistry
from number_tower.web.middleware.trusted_host import TrustedHostMiddleware
from number_tower.web.pages import (
    analysis,
    classes,
    docs,
    games,
    home,
    join,
    lab,
    lesson,
    new_class,
    new_game,
    offline,
    own_rules,
    puzzles,
    room,
    share,
)
from number_tower.web.room_cache import DEFAULT_TIMING, ReconcileTiming
from number_tower.web.settings import Settings
from number_tower.web.static_files import HashedStaticFiles
from number_tower.web.workers import Workers

_log = logging.getLogger(__name__)

_SWEEP_INTERVAL = 3600.0
"""Seconds between two searches for rooms that are no longer used."""

_COMPRESSION = 5
"""How much time is spent on compressing answers: more than this makes pages hardly smaller."""


def make_app(settings: Settings, timing: ReconcileTiming = DEFAULT_TIMING) -> FastAPI:
    """Return the application; it opens its database when it starts, and closes everything when it stops."""

    @asynccontextmanager
    async def run_parts(app: FastAPI) -> AsyncGenerator[None]:
        store = await asyncio.to_thread(Store, settings.place)
        metrics = app.state.metrics
        writer = Writer(store, None if metrics is None else metrics.observe_write)
        workers = Workers(settings.workers + 1)
        workers.on_wait = None if metrics is None else metrics.observe_wait
        quota = Quota(
            partial(measure_size, store), settings.max_db, DailyQuota() if settings.limits else None
        )
        await quota.measure()
        lobby = Lobby(store, writer, workers, quota, timing)
        listener = ChangeListener(store, lobby.note_change)
        jobs = _sweep_rooms(lobby, settings), quota.watch(), workers.warm()
        background = [asyncio.create_task(job) for job in jobs]
        watchdog = Watchdog(getattr(app.state, "notifier", None))
        watchdog.start()
        app.state.watchdog, app.state.listener, app.state.writes = (
            watchdog,
            listener,
            health.WriteCheck(writer),
        )
        app.state.store, app.state.workers, app.state.lobby = store, workers, lobby
        app.state.seat_checks = [lobby.cache.has_holder, lobby.classes.has_holder]
        try:
            yield
        finally:
            for task in background:
                task.cancel()
            listener.close()
            await lobby.close()
            await workers.close()
            await asyncio.to_thread(writer.close)
            store.close()
            watchdog.close()

    app = FastAPI(
        title=docs.TITLE,
        version=__version__,
        description=docs.ABOUT,
        openapi_tags=docs.TAGS,
        docs_url=None,
        redoc_url=None,
        lifespan=run_parts,
    )
    app.state.settings = settings
    app.state.metrics = None
    if settings.metrics is not None:
        from number_tower.web.metrics import Metrics  # noqa: PLC0415 - the library is optional

        app.state.metrics = Metrics(app.state)
    api.install_api(app)
    parts = (
        room,
        home,
        join,
        new_class,
        classes,
        new_game,
        own_rules,
        analysis,
        puzzles,
        lesson,
        games,
        lab,
        share,
        offline,
        docs,
        health,
    )
    for part in parts:
        app.include_router(part.router)
    app.mount("/static", HashedStaticFiles(), name="static")
    errors.install_error_handlers(app)
    docs.install_openapi(app)
    app.add_middleware(BrowserCookieMiddleware)
    install_middleware(app, settings)
    return app


def install_middleware(app: Starlette, settings: Settings) -> None:
    """Add the middleware that checks and limits requests; the last one added is the first that a request passes."""
    app.state.streams = StreamRegistry(limited=settings.limits)
    app.add_middleware(StreamLimitMiddleware, streams=app.state.streams)
    app.state.rates = rate_limit.RateLimiter() if settings.limits else None
    if settings.limits:
        app.add_middleware(rate_limit.RateLimitMiddleware, rates=app.state.rates)
    app.add_middleware(BodyLimitMiddleware)
    app.add_middleware(CrossSiteMiddleware, public_url=settings.public_url)
    app.add_middleware(TrustedHostMiddleware, settings=settings)
    app.add_middleware(GZipMiddleware, compresslevel=_COMPRESSION)
    app.add_middleware(AccessLogMiddleware, metrics=getattr(app.state, "metrics", None))
    app.add_middleware(SecurityHeadersMiddleware)


async def _sweep_rooms(lobby: Lobby, settings: Settings) -> None:
    while True:
        try:
            await lobby.delete_old_rooms(settings.keep_days)
        except StoreError as error:
            _log.warning("old rooms could not be deleted, trying again in an hour: %s", error)
        await asyncio.sleep(_SWEEP_INTERVAL)
