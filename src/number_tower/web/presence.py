"""Who is there: what a server sees of the players in its rooms, and what it hears from other servers."""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from time import time
from typing import NamedTuple

from number_tower.presence import Presence, RoomPresence, Sighting, find_newest, judge_presence
from number_tower.store import StoreError
from number_tower.store.seats import SeatKey

MAX_PLAYERS = 20_000
"""Players who are tracked; of those without an open page, the least recent one is forgotten first."""

_LEASE = 20.0
"""Seconds for which other servers take it that a page stays open; it is renewed before."""

_LEAST_CHANGE = 5.0
"""Seconds by which a sighting has to be newer than the stored one to be stored as well."""

_JUST_NOW = 5.0
"""Seconds after a page said that it is hidden in which its stream ends."""


_log = logging.getLogger(__name__)


class PresenceTiming(NamedTuple):
    """How often players are looked for, in seconds; tests use shorter times."""

    interval: float = 5.0
    """Between two exchanges of sightings with the database, if nobody comes or goes."""
    pause: float = 0.1
    """Before each exchange, so that many who come at once are stored together."""


DEFAULT_PRESENCE_TIMING = PresenceTiming()


@dataclass(slots=True)
class _Player:
    """What is known of the player of a seat."""

    pages: int = 0
    """Open streams of visible pages at this server."""
    here: Sighting | None = None
    """The last sighting at this server."""
    elsewhere: Sighting | None = None
    """The last sighting at another server."""
    stored: Sighting | None = None
    """What this server has stored last."""
    hidden_at: float = 0.0
    """When a page last said that it is hidden."""

    def get_newest(self, now: float) -> Sighting | None:
        return Sighting(now) if self.pages else find_newest(self.here, self.elsewhere)

    def get_unstored(self, now: float) -> Sighting | None:
        """Return the sighting that other servers have to know of; None if they do."""
        if self.pages:
            is_known = (
                self.stored is not None
                and not self.stored.hidden
                and self.stored.until > now + _LEASE / 2
            )
            return None if is_known else Sighting(now + _LEASE)
        if self.here is None or self.here == self.stored:
            return None
        if self.stored is None or self.stored.hidden != self.here.hidden:
            return self.here
        return None if 0 <= self.here.until - self.stored.until < _LEAST_CHANGE else self.here


class PresenceTracker:
    """The players of rooms, as far as clients or other servers have shown them. It belongs to one event loop.

    A player is seen with every request, and as long as a visible page follows the room. What is seen here is stored
    for other servers, and what they have stored is read for rooms that have followers here.
    """

    def __init__(
        self,
        load: Callable[[Collection[int]], Awaitable[Mapping[SeatKey, Sighting]]],
        store: Callable[[Mapping[SeatKey, Sighting], Collection[int]], Awaitable[None]],
        list_followed: Callable[[], Collection[int]],
        publish: Callable[[int], None],
        timing: PresenceTiming = DEFAULT_PRESENCE_TIMING,
        clock: Callable[[], float] = time,
    ) -> None:
        self._load = load
        self._store = store
        self._list_followed = list_followed
        self._publish = publish
        self._timing = timing
        self._clock = clock
        self._started = self._get_time()
        self._players: OrderedDict[SeatKey, _Player] = OrderedDict()
        self._changing: set[SeatKey] = (
            set()
        )  # players with an open page, or with a sighting that may not be stored
        self._announced: set[int] = set()
        self._outdated: set[int] = set()
        self._wake = asyncio.Event()
        self._task = asyncio.create_task(self._run())

    def note(self, room: int, seats: Collection[int], *, hidden: bool = False) -> None:
        """Note that the players of some seats are seen now, perhaps by a page that is hidden."""
        now = self._get_time()
        for seat in seats:
            player = self._get_player(room, seat)
            before = judge_presence(player.get_newest(now), now)
            if hidden:
                player.hidden_at = now
            if not (hidden and player.pages):  # another page of the same player is visible
                player.here = Sighting(now, hidden)
                self._changing.add((room, seat))
                self._announce_change(room, before, player, now)

    @contextmanager
    def attend(self, room: int, seats: Collection[int]) -> Iterator[None]:
        """Count the players of some seats as here as long as a visible page follows the room."""
        self.note(room, seats)
        for seat in seats:
            self._get_player(room, seat).pages += 1
            self._changing.add((room, seat))
        self._publish(
            room
        )  # one who was gone for a moment counts as here, but the game could perhaps be claimed
        try:
            yield
        finally:
            now = self._get_time()
            for seat in seats:
                player = self._get_player(room, seat)
                player.pages -= 1
                self._changing.add((room, seat))
                if not player.pages:
                    player.here = Sighting(now, hidden=now - player.hidden_at < _JUST_NOW)
                    self._announce_change(room, "here", player, now)
            self._wake.set()

    def judge(self, room: int) -> tuple[Presence, Presence]:
        """Say where the players of both seats of a room are; other servers may soon say more of one not known yet."""
        if (room, 0) not in self._players or (room, 1) not in self._players:
            for seat in (0, 1):
                self._get_player(room, seat)
            self.mark(room)
        now = self._get_time()
        first, second = (judge_presence(self._find_newest(room, seat, now), now) for seat in (0, 1))
        return first, second

    def measure_absence(self, room: int, seat: int, since: float) -> float:
        """Return for how many seconds there was no sign of a player, counted from some time on.

        It is counted from the start of this server at most: nobody is gone because a server was.
        """
        now = self._get_time()
        sighting = self._find_newest(room, seat, now)
        seen = 0.0 if sighting is None else sighting.until
        return max(0.0, now - max(seen, since, self._started))

    def describe(self, room: int, mover: int, since: float) -> RoomPresence:
        """Return where the players of a room are; it is the turn of the mover since some time."""
        return RoomPresence(self.judge(room), self.measure_absence(room, mover, since))

    def mark(self, room: int) -> None:
        """Look soon for what another server has stored about a room."""
        self._outdated.add(room)
        self._wake.set()

    async def refresh(self, rooms: Collection[int]) -> None:
        """Read what other servers have stored about some rooms."""
        for (room, seat), sighting in (await self._load(rooms)).items():
            player = self._get_player(room, seat - 1)
            if sighting != player.stored:
                player.elsewhere = sighting

    async def close(self) -> None:
        """Stop exchanging sightings."""
        self._task.cancel()
        with suppress(asyncio.CancelledError):
            await self._task

    # Internals --------------------------------------------------------------------------------------------------------

    def _get_time(self) -> float:
        """Return the current time, as exactly as it is stored."""
        return round(self._clock(), 3)

    def _get_player(self, room: int, seat: int) -> _Player:
        key = room, seat
        player = self._players.get(key)
        if player is None:
            player = self._players[key] = _Player()
            if len(self._players) > MAX_PLAYERS:
                forgotten = (
                    each for each, known in self._players.items() if not known.pages and each != key
                )
                self._players.pop(next(forgotten, (-1, -1)), None)
        self._players.move_to_end(key)
        return player

    def _find_newest(self, room: int, seat: int, now: float) -> Sighting | None:
        player = self._players.get((room, seat))
        return None if player is None else player.get_newest(now)

    def _announce_change(self, room: int, before: Presence, player: _Player, now: float) -> None:
        """Tell followers and other servers if a player has come or gone."""
        if judge_presence(player.get_newest(now), now) != before:
            self._announced.add(room)
            self._publish(room)
            self._wake.set()

    def _has_player_elsewhere(self, room: int) -> bool:
        """Say whether a room has a known player without an open page at this server."""
        players = (self._players.get((room, seat)) for seat in (0, 1))
        return any(player is not None and not player.pages for player in players)

    async def _run(self) -> None:
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(self._timing.interval):
                    await self._wake.wait()
            await asyncio.sleep(self._timing.pause)
            self._wake.clear()
            try:
                await self._exchange()
            except StoreError:
                pass  # the next exchange makes up for it, and others report the failure
            except Exception:  # noqa: BLE001 - whatever fails here has to be tried again
                _log.exception("players could not be looked for, trying again")

    async def _exchange(self) -> None:
        """Store what was seen here, read what others have seen of other players, and wake the followers of these."""
        now = self._get_time()
        unstored: dict[SeatKey, Sighting] = {}
        for key in tuple(self._changing):
            player = self._players.get(key)
            sighting = None if player is None else player.get_unstored(now)
            if sighting is not None:
                unstored[key[0], key[1] + 1] = sighting
            elif player is None or not player.pages:
                self._changing.discard(key)
        announced, self._announced = self._announced, set()
        if unstored:
            await self._store(unstored, announced)
            for (room, seat), sighting in unstored.items():
                self._get_player(room, seat - 1).stored = sighting
        wanted, self._outdated = (
            self._outdated | set(filter(self._has_player_elsewhere, self._list_followed())),
            set(),
        )
        if wanted:
            await self.refresh(wanted)
        for room in wanted:
            self._publish(room)
