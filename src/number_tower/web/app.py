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
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

from number_tower import __version__
from number_tower.store import StoreError
from number_tower.store.database import Store, Writer
from number_tower.store.maintenance import measure_size
from number_tower.web import api, errors, health
from number_tower.web.live import ChangeListener
from number_tower.web.lobby import Lobby
from number_tower.web.middleware.body_limit import BodyLimitMiddleware
from number_tower.web.middleware.browser_cookie import BrowserCookieMiddleware
from number_tower.web.middleware.cross_site import CrossSiteMiddleware
from number_tower.web.middleware.known_host import KnownHostMiddleware
from number_tower.web.middleware.security_headers import SecurityHeadersMiddleware
from number_tower.web.middleware.streams import StreamLimitMiddleware, StreamRegistry
from number_tower.web.pages import (
    analysis,
    classes,
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
from number_tower.web.quota import MAX_ROOMS_PER_DAY, StorageQuota
from number_tower.web.rates import REQUEST, RateLimiter, price
from number_tower.web.settings import Settings
from number_tower.web.static_files import HashedStaticFiles
from number_tower.web.workers import Workers

_log = logging.getLogger(__name__)

_SWEEP_INTERVAL = 3600.0
"""Seconds between two searches for rooms that are no longer used."""

_COMPRESSION = 5
"""How much time is spent on compressing answers: more than this makes pages hardly smaller."""


def make_app(settings: Settings) -> FastAPI:
    """Return the application; it opens its database when it starts, and closes everything when it stops."""

    @asynccontextmanager
    async def run_parts(app: FastAPI) -> AsyncGenerator[None]:
        store = await asyncio.to_thread(Store, settings.place)
        writer = Writer(store)
        workers = Workers(settings.workers + 1)
        max_rooms = MAX_ROOMS_PER_DAY if settings.limits else None
        app.state.quota = StorageQuota(partial(measure_size, store), settings.max_db, max_rooms)
        lobby = Lobby(store, writer, workers)
        listener = ChangeListener(store, lobby.hub)
        jobs = _sweep_rooms(lobby, settings), workers.warm()
        background = [asyncio.create_task(job) for job in jobs]
        app.state.listener, app.state.writes = listener, health.WriteCheck(writer)
        app.state.store, app.state.workers, app.state.lobby = store, workers, lobby
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

    app = FastAPI(
        title="Number Tower",
        version=__version__,
        description=api.ABOUT,
        docs_url=None,
        redoc_url=None,
        lifespan=run_parts,
    )
    app.state.settings = settings
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
    )
    for part in parts:
        app.include_router(part.router, dependencies=[price(REQUEST)])
    app.include_router(health.router)
    app.mount("/static", HashedStaticFiles(), name="static")
    errors.install_error_handlers(app)
    app.add_middleware(BrowserCookieMiddleware)
    install_middleware(app, settings)
    if settings.metrics is not None:
        from number_tower.web.metrics import Metrics, MetricsMiddleware  # noqa: PLC0415 - the library is optional

        app.state.metrics = Metrics(app.state)
        app.add_middleware(MetricsMiddleware, metrics=app.state.metrics)
    return app


def install_middleware(app: Starlette, settings: Settings) -> None:
    """Add the middleware that checks and limits requests; the last one added is the first that a request passes."""
    app.state.streams = StreamRegistry(limited=settings.limits)
    app.add_middleware(StreamLimitMiddleware, streams=app.state.streams)
    app.state.limiter = RateLimiter() if settings.limits else None
    app.add_middleware(BodyLimitMiddleware)
    app.add_middleware(CrossSiteMiddleware, public_url=settings.public_url)
    app.add_middleware(KnownHostMiddleware, names=settings.known_hosts, refuse=errors.handle_error)
    app.add_middleware(GZipMiddleware, compresslevel=_COMPRESSION)
    app.add_middleware(SecurityHeadersMiddleware)
    if settings.proxy:
        app.add_middleware(ProxyHeadersMiddleware, trusted_hosts=list(settings.proxy))


async def _sweep_rooms(lobby: Lobby, settings: Settings) -> None:
    while True:
        try:
            await lobby.delete_old_rooms(settings.keep_days)
        except StoreError as error:
            _log.warning("old rooms could not be deleted, trying again in an hour: %s", error)
        await asyncio.sleep(_SWEEP_INTERVAL)
