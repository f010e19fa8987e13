"""Static files with a hash in their address, so that browsers may cache them for a year.

All files have one common hash, before the path, so relative addresses in a style sheet or in the
manifest have it too. A file is also found without the hash, or with that of another version; then
browsers have to ask each time whether it has changed.
"""

from __future__ import annotations

import re
from functools import cache
from hashlib import sha256
from pathlib import Path

from starlette.responses import Response
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

STATIC_DIRECTORY = Path(__file__).parent.parent / "static"

IMMUTABLE = "public, max-age=31536000, immutable"

_HASH = re.compile(r"[0-9a-f]{12}")


class HashedStaticFiles(StaticFiles):
    """Serves static files, with or without the hash before their path."""

    is_quiet = True
    """Only failures are logged."""

    def __init__(self) -> None:
        super().__init__(directory=STATIC_DIRECTORY)

    async def get_response(self, path: str, scope: Scope) -> Response:
        """Return a file; for a year, if the address has the hash of this version."""
        first, *rest = Path(path).parts or ("",)
        if rest and _HASH.fullmatch(first):
            path = str(Path(*rest))
        response = await super().get_response(path, scope)
        response.headers["cache-control"] = IMMUTABLE if first == hash_files() else "no-cache"
        return response


@cache
def hash_files() -> str:
    """Return the hash of all static files and their paths."""
    hashed = sha256()
    for path in sorted(path for path in STATIC_DIRECTORY.rglob("*") if path.is_file()):
        content = path.read_bytes()
        hashed.update(
            f"{path.relative_to(STATIC_DIRECTORY).as_posix()} {len(content)}\n".encode() + content
        )
    return hashed.hexdigest()[:12]


@cache
def build_static_url(path: str) -> str:
    """Return the address of a static file; it changes with the content of any of them."""
    if not (STATIC_DIRECTORY / path).is_file():
        raise FileNotFoundError(path)
    return f"/static/{hash_files()}/{path}"
