"""The application: its parts, routes and middleware, and how it answers what fails."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware.gzip import GZipMiddleware
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

from number_tower import __version__
from number_tower.engine.position import MoveError
from number_tower.engine.table import StaleError
from number_tower.rooms.room import RoomError
from number_tower.store import StoreError
from number_tower.store.database import Store, Writer, probe_write
from number_tower.store.maintenance import measure_size
from number_tower.store.rooms import RoomNotFoundError, StoredRoom
from number_tower.web import api
from number_tower.web.classes import new_class
from number_tower.web.classes import pages as class_pages
from number_tower.web.classes.registry import Classes
from number_tower.web.errors import ERRORS, HEADERS, PROBLEM, RoomProblem, describe_error
from number_tower.web.http import health
from number_tower.web.http.connections import ConnectionRegistry
from number_tower.web.http.log import LogMiddleware
from number_tower.web.http.middleware.body_limit import BodyLimitMiddleware
from number_tower.web.http.middleware.browser_cookie import BrowserCookieMiddleware
from number_tower.web.http.middleware.cross_site import CrossSiteMiddleware
from number_tower.web.http.middleware.known_host import KnownHostMiddleware
from number_tower.web.http.middleware.security_headers import (
    SECURITY_HEADERS,
    SecurityHeadersMiddleware,
)
from number_tower.web.http.problems import MEDIA_TYPE
from number_tower.web.http.rates import REQUEST, RateLimiter, price
from number_tower.web.http.static_files import HashedStaticFiles
from number_tower.web.http.streams import StreamRegistry
from number_tower.web.live.events import ChangeListener
from number_tower.web.live.lobby import BehindError, Lobby
from number_tower.web.live.quota import MAX_ROOMS_PER_DAY, StorageQuota
from number_tower.web.live.state import describe_room
from number_tower.web.pages import (
    analysis,
    games,
    home,
    join,
    lab,
    lesson,
    new_game,
    offline,
    own_rules,
    puzzles,
    render_page,
    room,
    share,
)
from number_tower.web.parts import Parts, get_parts
from number_tower.web.settings import Settings
from number_tower.web.thinking.workers import Workers

if TYPE_CHECKING:
    from number_tower.web.http.metrics import Metrics

_log = logging.getLogger(__name__)

_SWEEP_INTERVAL = 3600.0
"""Seconds between two searches for rooms that are no longer used."""

_COMPRESSION = 5
"""How much time is spent on compressing answers: more than this makes pages hardly smaller."""

_PAGES = (
    room, home, join, new_class, class_pages, new_game, own_rules,
    analysis, puzzles, lesson, games, lab, share, offline,
)  # fmt: skip
"""The modules with pages, the most used ones first, since routes are matched in this order."""


def make_app(
    settings: Settings,
    connections: ConnectionRegistry | None = None,
    workers: Workers | None = None,
) -> FastAPI:
    """Return the application; it opens its database when it starts, and closes it in the end.

    It closes its workers too; without any, it uses its own processes.
    """

    @asynccontextmanager
    async def run_parts(app: FastAPI) -> AsyncGenerator[None]:
        store = await asyncio.to_thread(Store, settings.place)
        writer = Writer(store)
        pool = Workers(settings.workers + 1) if workers is None else workers
        max_rooms = MAX_ROOMS_PER_DAY if settings.limits else None
        lobby = Lobby(store, writer, pool)
        listener = ChangeListener(store, lobby.hub)
        app.state.parts = Parts(
            settings=settings,
            limiter=RateLimiter() if settings.limits else None,
            streams=StreamRegistry(limited=settings.limits),
            connections=ConnectionRegistry() if connections is None else connections,
            store=store,
            writes=health.WriteCheck(partial(writer.submit, probe_write)),
            listener=listener,
            quota=StorageQuota(partial(measure_size, store), settings.max_db, max_rooms),
            workers=pool,
            lobby=lobby,
            classes=Classes(lobby.database, lobby.hub, lobby.cache),
        )
        jobs = _sweep_rooms(lobby, settings), pool.warm()
        background = [asyncio.create_task(job) for job in jobs]
        try:
            yield
        finally:
            for task in background:
                task.cancel()
            listener.close()
            await lobby.close()
            await pool.close()
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
    api.install_api(app)
    for part in _PAGES:
        app.include_router(part.router, dependencies=[price(REQUEST)])
    app.include_router(health.router)
    app.mount("/static", HashedStaticFiles(), name="static")
    install_error_handlers(app)
    app.add_middleware(BrowserCookieMiddleware)
    install_middleware(app, settings)
    return app


def install_middleware(app: Starlette, settings: Settings) -> None:
    """Add the middleware that checks and limits requests; a request passes the last one first."""
    app.add_middleware(BodyLimitMiddleware)
    app.add_middleware(CrossSiteMiddleware, public_url=settings.public_url)
    app.add_middleware(KnownHostMiddleware, names=settings.known_hosts, refuse=handle_error)
    app.add_middleware(GZipMiddleware, compresslevel=_COMPRESSION)
    app.add_middleware(SecurityHeadersMiddleware)
    app.add_middleware(LogMiddleware)
    if settings.proxy:
        app.add_middleware(ProxyHeadersMiddleware, trusted_hosts=list(settings.proxy))


def install_metrics(app: FastAPI) -> Metrics:
    """Let an app count its requests, and return where the counts are kept."""
    from number_tower.web.http.metrics import Metrics, MetricsMiddleware  # noqa: PLC0415

    metrics = Metrics(app.state)
    app.add_middleware(MetricsMiddleware, metrics=metrics)
    return metrics


async def _sweep_rooms(lobby: Lobby, settings: Settings) -> None:
    while True:
        try:
            await lobby.delete_old_rooms(settings.keep_days)
        except StoreError as error:
            _log.warning("old rooms could not be deleted, trying again in an hour: %s", error)
        await asyncio.sleep(_SWEEP_INTERVAL)


# Errors -------------------------------------------------------------------------------------------


def install_error_handlers(app: FastAPI) -> None:
    """Let an app answer every error: programs get a problem, people a page."""
    for kind in (*ERRORS, RequestValidationError, HTTPException):
        app.add_exception_handler(kind, handle_error)


async def handle_error(request: Request, error: Exception) -> Response:
    """Answer a request that failed."""
    try:
        stored = await _find_room(request, error)
    except StoreError as failure:  # a refusal without the state, which it promises, would mislead
        stored, error = None, failure
    if isinstance(error, StoreError):
        _log.error("%s", error)
    problem = describe_error(error, stored)
    headers = {**(getattr(error, "headers", None) or {})}
    if problem.status == 500:
        headers |= SECURITY_HEADERS  # Starlette answers this outside of all middleware
    for key in (problem.status, problem.reason):
        headers |= HEADERS.get(key, {})
    path = request.scope["path"]
    if path.startswith(("/api/", "/health/")) or path in {"/api", "/health", "/openapi.json"}:
        credentials = getattr(request.state, "credentials", None)
        state = None if stored is None else describe_room(stored, credentials)
        content = PROBLEM.dump_json(RoomProblem(**{**vars(problem), "state": state}))
        return Response(content, problem.status, headers, MEDIA_TYPE)
    heading = "Not found" if problem.status == 404 else "That did not work"
    page = render_page(
        request, "error.html", status=problem.status, heading=heading, text=problem.detail
    )
    page.headers.update(headers)
    return page


async def _find_room(request: Request, error: Exception) -> StoredRoom | None:
    """Return the room that a request was about, if the answer shows its state."""
    address = request.path_params.get("address") or request.path_params.get("watch")
    if address is None or not isinstance(error, StaleError | MoveError | RoomError | BehindError):
        return None
    try:
        return await get_parts(request).lobby.find_room(address)
    except RoomNotFoundError:
        return None
