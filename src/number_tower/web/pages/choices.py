"""What a visitor chose before, remembered on the device: names, opponents, and the options of each game."""

from __future__ import annotations

import binascii
import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Mapping

from fastapi import Request
from fastapi.responses import Response

from number_tower.catalogue import OPTIONS
from number_tower.web.middleware.browser_cookie import set_cookie

GENERAL_FIELDS = ("name_1", "name_2", "opponent", "level", "first", "hints", "best_of")
"""Fields of the form for a new game that are the same for every game."""

GAME_FIELDS = (*OPTIONS, "openings", "preset")
"""Fields that each game has its own values of."""

_COOKIE = "choices"
_LONGEST_COOKIE = 2_500
"""Characters of the cookie; the options of games that were played longer ago are forgotten first."""

_LONGEST_VALUE = 100
"""Characters of a value that is remembered."""


def read_choices(request: Request, game: str | None = None) -> dict[str, str]:
    """Return what was chosen before: the general fields, the last game, and the fields of a game (None: the last)."""
    remembered = _read_cookie(request)
    chosen = {field: value for field, value in remembered.items() if field in GENERAL_FIELDS}
    name = game or remembered.get("game", "")
    own = {field: remembered.get(f"{name}.{field}", "") for field in GAME_FIELDS}
    return {
        **chosen,
        **({"game": name} if name else {}),
        **{field: value for field, value in own.items() if value},
    }


def remember_choices(request: Request, response: Response, chosen: Mapping[str, str]) -> None:
    """Remember what was chosen in a form that says so (`remember`); fields that it does not have stay as they were."""
    if not chosen.get("remember"):
        return
    remembered = _read_cookie(request)
    changes = {field: chosen[field].strip() for field in GENERAL_FIELDS if field in chosen}
    if game := chosen.get("game"):
        for field in GAME_FIELDS:
            remembered.pop(f"{game}.{field}", None)
        changes |= {
            "game": game,
            **{f"{game}.{field}": chosen.get(field, "").strip() for field in GAME_FIELDS},
        }
    remembered |= changes
    last = sorted(
        remembered, key=lambda field: field in changes or field in GENERAL_FIELDS
    )  # forgotten last
    remembered = {
        field: value for field in last if 0 < len(value := remembered[field]) <= _LONGEST_VALUE
    }
    while len(text := _encode(remembered)) > _LONGEST_COOKIE:
        del remembered[next(iter(remembered))]
    set_cookie(request, response, _COOKIE, text)


def _encode(remembered: Mapping[str, str]) -> str:
    text = json.dumps(remembered, ensure_ascii=False, separators=(",", ":"))
    return urlsafe_b64encode(text.encode("utf-8", "replace")).decode().rstrip("=")


def _read_cookie(request: Request) -> dict[str, str]:
    """Return what the cookie holds; nothing if it is not ours, since a browser can send anything."""
    text = request.cookies.get(_COOKIE, "")[:_LONGEST_COOKIE]
    try:
        found = json.loads(urlsafe_b64decode(text + "=" * (-len(text) % 4)))
    except (binascii.Error, ValueError, RecursionError):
        return {}
    if not isinstance(found, dict):
        return {}
    return {
        key: value
        for key, value in found.items()
        if isinstance(value, str) and len(value) <= _LONGEST_VALUE
    }
