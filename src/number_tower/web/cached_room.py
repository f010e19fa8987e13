"""A room as one process knows it, and how it is told to everybody."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from number_tower.web import view

if TYPE_CHECKING:
    from collections.abc import Callable

    from number_tower.room import Room
    from number_tower.store.rooms import Credentials, StoredRoom
    from number_tower.store.rows import StoredGame
    from number_tower.voice import Voice


@dataclass(frozen=True)
class CachedRoom:
    """A room as this process knows it."""

    kept_room: StoredRoom
    voice: Voice
    remark: str = ""
    """What a computer has to say about its last move, such as that it could not be sure."""
    on_growth: Callable[[int], None] | None = field(default=None, compare=False, repr=False)
    """Called with the bytes that were encoded and are kept from now on, so that a cache can count them."""

    @property
    def address(self) -> str:
        """Where it is played."""
        return self.kept_room.address

    @property
    def watch(self) -> str:
        """Where it is watched."""
        return self.kept_room.watch

    @property
    def game(self) -> StoredGame:
        """The game that is played there."""
        return self.kept_room.game

    @property
    def room(self) -> Room:
        """The room itself."""
        return self.kept_room.room

    @property
    def tag(self) -> str:
        """What is different after everything that happens here."""
        return self.kept_room.tag

    def find_seats(self, credentials: Credentials | str | None) -> frozenset[int]:
        """Return the seats that these credentials hold; a plain string is the token of a seat."""
        return self.kept_room.find_seats(credentials)

    @cached_property
    def state(self) -> bytes:
        """What everybody may see, as JSON, written once for all who look."""
        seen = view.describe_room(self.room, self.game.seats, self.voice, self.tag, self.remark)
        return self._count_bytes(json.dumps(seen, ensure_ascii=False, separators=(",", ":")).encode())

    @cached_property
    def event(self) -> bytes:
        """The same as a server-sent event."""
        return self._count_bytes(b"event: state\nid: %s\ndata: %s\n\n" % (self.tag.encode(), self.state))

    def _count_bytes(self, encoded: bytes) -> bytes:
        if self.on_growth is not None:
            self.on_growth(len(encoded))
        return encoded
