"""The page that a device shows without a connection, and the script that keeps it."""

from __future__ import annotations

from fastapi import APIRouter, Request
from fastapi.responses import Response

from number_tower import __version__
from number_tower.web.board.templates import render
from number_tower.web.http.static_files import build_static_url, hash_files
from number_tower.web.pages import render_page

router = APIRouter(include_in_schema=False)

OFFLINE = "/offline"
_FILES = (
    "tower.css",
    "tower.js",
    "vendor/idiomorph.min.js",
    "fonts/nunito-ascii-wght-normal.woff2",
    "favicon.svg",
)
"""The static files that the page needs."""


@router.get(OFFLINE)
async def show_offline(request: Request) -> Response:
    """Show that there is no connection."""
    return render_page(request, "offline.html")


@router.get("/service-worker.js")
async def send_service_worker() -> Response:
    """Send the script that shows the page; browsers fetch it again with every version."""
    files = [OFFLINE, *map(build_static_url, _FILES)]
    version = f"{__version__}-{hash_files()}"
    script = render("service_worker.js", version=version, files=files, offline=OFFLINE)
    return Response(script, media_type="text/javascript", headers={"Cache-Control": "no-cache"})
