"""What a visitor chose before, in a cookie: names, opponents, and the options of each game."""

from __future__ import annotations

import binascii
import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Mapping

from fastapi import Request
from fastapi.responses import Response

from number_tower.engine.catalogue import OPTIONS
from number_tower.web.http.middleware.browser_cookie import set_cookie

GENERAL_FIELDS = ("name_1", "name_2", "opponent", "level", "first", "hints", "best_of")
"""Fields of the form for a new game that are the same for every game."""

GAME_FIELDS = (*OPTIONS, "openings", "preset")
"""Fields that each game has its own values of."""

_COOKIE = "choices"
_MAX_COOKIE = 2_500
"""Characters of the cookie; the options of the oldest games are forgotten first."""

_MAX_VALUE = 100
"""Characters of a value that is remembered."""


def read_choices(request: Request, game: str | None = None) -> dict[str, str]:
    """Return what was chosen before: the general fields, and those of a game (None: the last)."""
    remembered = _read_cookie(request)
    chosen = {field: remembered[field] for field in GENERAL_FIELDS if field in remembered}
    if name := game or remembered.get("game", ""):
        chosen["game"] = name
    for field in GAME_FIELDS:
        if value := remembered.get(f"{name}.{field}"):
            chosen[field] = value
    return chosen


def remember_choices(request: Request, response: Response, chosen: Mapping[str, str]) -> None:
    """Remember what was chosen in a form that asks for it; other fields stay as they were."""
    if not chosen.get("remember"):
        return
    changes = {field: chosen[field].strip() for field in GENERAL_FIELDS if field in chosen}
    if game := chosen.get("game"):
        changes["game"] = game
        for field in GAME_FIELDS:
            changes[f"{game}.{field}"] = chosen.get(field, "").strip()
    remembered = _read_cookie(request) | changes
    # The options of games that were played longer ago stand first, and are forgotten first.
    order = sorted(remembered, key=lambda field: field in changes or field in GENERAL_FIELDS)
    kept = {field: remembered[field] for field in order}
    kept = {field: value for field, value in kept.items() if 0 < len(value) <= _MAX_VALUE}
    while True:
        text = json.dumps(kept, ensure_ascii=False, separators=(",", ":"))
        cookie = urlsafe_b64encode(text.encode("utf-8", "replace")).decode().rstrip("=")
        if len(cookie) <= _MAX_COOKIE:
            break
        del kept[next(iter(kept))]
    set_cookie(request, response, _COOKIE, cookie)


def _read_cookie(request: Request) -> dict[str, str]:
    """Return what the cookie holds; nothing if it is not ours: a browser can send anything."""
    text = request.cookies.get(_COOKIE, "")[:_MAX_COOKIE]
    try:
        content = json.loads(urlsafe_b64decode(text + "=" * (-len(text) % 4)))
    except (binascii.Error, ValueError, RecursionError):
        return {}
    fields = content.items() if isinstance(content, dict) else ()
    return {
        key: value for key, value in fields if isinstance(value, str) and len(value) <= _MAX_VALUE
    }
