"""Limits on what clients may ask for: time of questions, size of games and texts, new rooms, size of the database.

The limits on requests per second are in `middleware/rate_limit.py`, those on connections in `connections.py`.
"""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from math import ceil, inf
from time import monotonic

from number_tower import catalogue
from number_tower.blocks import count_blocks
from number_tower.catalogue import Preset, Rulebook
from number_tower.rules import Rules
from number_tower.text import format_count, format_duration
from number_tower.voice import get_voice
from number_tower.web.settings import format_size

_log = logging.getLogger(__name__)

# Questions ------------------------------------------------------------------------------------------------------------

POSITION_TIMEOUT, GAME_TIMEOUT, PUZZLE_TIMEOUT = 8.0, 12.0, 15.0
"""Seconds after which a question about a position, a game or a puzzle is given up, whatever its own limits are."""

PICTURE_TIMEOUT = 8.0
"""Seconds after which the picture of a game is given up."""

REVIEW_SECONDS = 6.0
"""Seconds for all positions of a game that is reviewed."""

MAX_REVIEWED_MOVES = 400

# Games and texts ------------------------------------------------------------------------------------------------------

MAX_BODY = 128 * 1024
"""Bytes of the body of a request."""

MAX_RULE_FILE = 16 * 1024
"""Bytes of a rule file: five times what the games of the catalogue need."""

MAX_RECORD_LENGTH = 12_000
"""Characters of a record in an address."""

MAX_BLOCKS = 1_000
MAX_IRREGULAR_BLOCKS = 300
"""Blocks with gaps between them of which each has to be compared with each."""

MAX_WRITTEN_BLOCKS = 50_000
"""Blocks that a text may stand for before they are made, and counted one by one."""

MAX_TARGET = 10_000
MAX_MOVES = 2_000
"""Moves that a game can last at most: all of them are told and sent."""

MAX_VOICE_FIELDS, MAX_TEXT_FIELDS, MAX_TEXT_LENGTH = 200, 20, 2_000
"""Fields in all texts of a voice, fields in one text, and characters of one text: each field can grow to a list."""


class TooLargeError(ValueError):
    """A game is too large for a server; the message says how large one may be, and `key` which rule is to blame."""

    def __init__(self, message: str, key: str = "") -> None:
        super().__init__(message)
        self.key = key


def check_rules(rules: Rules) -> Rules:
    """Return rules that a server can play by, or raise what is too large about them."""
    blocks = len(rules.blocks)
    _check_size("a game may have", MAX_BLOCKS, " blocks; this one has", blocks, "blocks")
    if rules.fit in {"related", "unrelated"} and not rules.is_regular:
        what = "a game of divisors and multiples may have"
        _check_size(
            what,
            MAX_IRREGULAR_BLOCKS,
            " blocks with gaps between them; this one has",
            blocks,
            "blocks",
        )
    _check_size("the target may be", MAX_TARGET, "; this one is", rules.target or 0, "target")
    longest = "target" if rules.supply == "endless" else "blocks"
    _check_size(
        "a game may last", MAX_MOVES, " moves; this one can last", rules.most_plies, longest
    )
    return rules


def _check_size(what: str, most: int, but: str, size: int, key: str = "") -> None:
    """Raise if a size is larger than it may be, with the words before and between the two numbers."""
    if size > most:
        raise TooLargeError(f"{what} at most {most:,}{but} {size:,}", key)


def check_text(text: str, key: str = "blocks", most: int = MAX_WRITTEN_BLOCKS) -> str:
    """Return the options of a record, or a set of blocks, unless it stands for more blocks than a server can make.

    Time and memory grow with the length of the text alone.
    """
    # The values of options such as `rules(target=9,blocks=1-5)`, without their keys.
    values = ",".join(part.rpartition("=")[2].rstrip(") ") for part in text.split(","))
    if text.count(",") > 3 * MAX_BLOCKS or count_blocks(values) > most:
        raise TooLargeError(
            f"a game may have at most {MAX_BLOCKS:,} blocks; these are {'far ' * (most > MAX_BLOCKS)}more",
            key,
        )
    return text


def check_rule_table(rules: object, most: int = MAX_WRITTEN_BLOCKS) -> None:
    """Check that a table of rules, as in a file or a record, stands for no more blocks than a server can make."""
    if isinstance(rules, Mapping):
        for key, value in rules.items():
            if isinstance(value, str):
                check_text(value, key, most)


def check_voice(book: Rulebook) -> None:
    """Check that a server can render a game's texts again and again."""
    tables = {
        "": book.voice,
        **{f"{key}.": table for key, table in book.voice.items() if isinstance(table, Mapping)},
    }
    texts = {
        f"{prefix}{key}": text
        for prefix, table in tables.items()
        for key, text in table.items()
        if isinstance(text, str)
    }
    fields = sum(text.count("{") for text in texts.values())
    _check_size(
        "the texts of a game may have", MAX_VOICE_FIELDS, " fields in braces; these have", fields
    )
    for key, text in texts.items():
        _check_size(f"voice.{key} may have", MAX_TEXT_LENGTH, " characters; it has", len(text))
        _check_size(
            f"voice.{key} may have", MAX_TEXT_FIELDS, " fields in braces; it has", text.count("{")
        )


def check_preset(book: Rulebook, preset: Preset) -> None:
    """Check that a server can play by the rules of a preset."""
    try:
        check_rules(book.apply_options(preset.options))
    except TooLargeError as error:
        raise TooLargeError(f"the preset {preset.name} is too large: {error}") from None


def read_rule_file(content: bytes, name: str, source: str) -> Rulebook:
    """Return the rulebook in a rule file that a client sent; raise if it is too large or wrong."""
    return make_rulebook(parse_rule_file(content, source), content, name, source)


def parse_rule_file(content: bytes, source: str) -> dict[str, object]:
    """Return the table in a rule file that a client sent, unless it is too large or not TOML."""
    if len(content) > MAX_RULE_FILE:
        most = f"at most {MAX_RULE_FILE // 1024} KiB"
        raise TooLargeError(
            f"a rule file may have {most}; this one has {len(content) / 1024:,.0f} KiB"
        )
    return catalogue.parse_toml(content, source)


def make_rulebook(table: Mapping[str, object], content: bytes, name: str, source: str) -> Rulebook:
    """Return the rulebook in a client's parsed rule file; raise if it is too large or wrong."""
    presets = table.get("presets")
    # The rules are made again for every preset, so a file with presets gets no blocks that would be refused later.
    check_rule_table(table.get("rules"), MAX_BLOCKS if presets else MAX_WRITTEN_BLOCKS)
    for settings in presets.values() if isinstance(presets, Mapping) else ():
        if isinstance(settings, Mapping):
            check_rule_table(
                {option: settings.get(option) for option in catalogue.RULE_OPTIONS}, MAX_BLOCKS
            )
    book = catalogue.make_rulebook(table, content, name, source)
    check_voice(book)
    check_rules(book.rules)
    for preset in book.presets.values():
        check_preset(book, preset)
    get_voice(book)
    return book


MAX_CLIENTS = 50_000
"""Addresses whose requests and rooms are counted; the least recent one is forgotten first."""


# New rooms ------------------------------------------------------------------------------------------------------------

DAY = 24 * 60 * 60
MAX_ROOMS_PER_DAY = 1_000
"""New rooms from one address: a school behind one address needs 500."""

MAX_BYTES_PER_DAY = 64 * 1024 * 1024
"""Disk space that the new rooms of one address may take: 500 with the largest rule file, and many more without."""

MEASURE_INTERVAL = 5.0
"""Seconds between two measurements of the database."""

FULL = "This server has no space for new games right now. Games that have started can continue."
RETRY_FULL = 3600
"""Seconds after which a room may be asked for again where the database is full: old rooms are deleted every hour."""

_NEARLY_FULL = 0.9
"""Part of its size from which a database is nearly full."""

_MARGIN = 0.02
"""Part of its size by which a database has to shrink until it is no longer full: else every move would be logged."""


class QuotaError(Exception):
    """A new room is refused; the headers say when to try again."""

    def __init__(self, status: int, reason: str, detail: str, retry_after: float) -> None:
        super().__init__(detail)
        self.status = status
        self.reason = reason
        self.headers = {"Retry-After": str(ceil(retry_after))}


@dataclass
class _Usage:
    """What an address has used in the day that began at some time."""

    began: float
    rooms: int = 0
    size: int = 0


@dataclass
class DailyQuota:
    """Counts new rooms and their bytes by address; a day begins with the first room after the last day."""

    rooms: int = MAX_ROOMS_PER_DAY
    size: int = MAX_BYTES_PER_DAY
    max_clients: int = MAX_CLIENTS
    clock: Callable[[], float] = monotonic
    _used: OrderedDict[str | None, _Usage] = field(default_factory=OrderedDict)

    @contextmanager
    def admit(self, client: str | None, size: int) -> Iterator[None]:
        """Count a room of a client while it is opened; if that fails, it does not count.

        It is counted before, so that many requests at once cannot exceed the quota. One that is cancelled counts,
        since its room may be there.
        """
        used = self._reserve(client, size)
        try:
            yield
        except Exception:
            used.rooms -= 1
            used.size -= size
            raise

    def _reserve(self, client: str | None, size: int) -> _Usage:
        """Count a room, or raise what says when there may be another."""
        now = self.clock()
        used = self._used.get(client)
        if used is None or now >= used.began + DAY:
            used = _Usage(now)
        problem = None
        if used.rooms >= self.rooms:
            problem = f"One address can start at most {format_count(self.rooms, 'new game')} a day"
        elif used.size + size > self.size:
            most = format_size(self.size)
            problem = f"The new games of one address can take at most {most} a day"
        if problem is not None:
            wait = used.began + DAY - now
            raise QuotaError(
                429, "quota", f"{problem}. Please try again in {format_duration(wait)}.", wait
            )
        used.rooms += 1
        used.size += size
        self._used[client] = used
        self._used.move_to_end(client)
        if len(self._used) > self.max_clients:
            self._used.popitem(last=False)
        return used


class Quota:
    """Admits new rooms: within the daily quota of an address, if there is one, and the size of the database.

    The database is measured in the background, never by a request.
    """

    def __init__(
        self, measure: Callable[[], int], max_size: int | None, daily: DailyQuota | None = None
    ) -> None:
        self._measure = measure
        self._max_size = inf if max_size is None else max_size
        self._daily = daily
        self._size = 0
        self._added = 0
        self._level = 0.0
        self._failing = False

    @property
    def full(self) -> bool:
        """Whether the database is as large as it may be, with the rooms opened since it was measured."""
        return self._level == 1.0 or self._size + self._added >= self._max_size

    @contextmanager
    def admit(self, client: str | None, size: int) -> Iterator[None]:
        """Count a room while it is opened, or refuse it."""
        if self.full:
            raise QuotaError(507, "full", FULL, RETRY_FULL)
        with nullcontext() if self._daily is None else self._daily.admit(client, size):
            yield
        self._added += size

    async def watch(self, seconds: float = MEASURE_INTERVAL) -> None:
        """Measure the database again and again."""
        while self._max_size < inf:
            await asyncio.sleep(seconds)
            await self.measure()

    async def measure(self) -> None:
        """Measure the database, and log when it becomes nearly full, full, or no longer so."""
        if self._max_size == inf:
            return
        try:
            size = await asyncio.to_thread(self._measure)
        except Exception as error:  # noqa: BLE001 - whatever it is, without measuring again, a full database would go unnoticed
            if not self._failing:
                _log.warning("the size of the database could not be measured: %s", error)
            self._failing = True
            return
        self._failing = False
        self._size, self._added = size, 0
        self._log_change(size)

    def _log_change(self, size: int) -> None:
        max_size = self._max_size
        level = next((level for level in (1.0, _NEARLY_FULL) if size >= level * max_size), 0.0)
        has_barely_shrunk = level < self._level and size >= (self._level - _MARGIN) * max_size
        if level == self._level or has_barely_shrunk:
            return
        used = f"{format_size(size)} of {format_size(max_size)}"
        if level == 1.0:
            _log.error(
                "the database is full (%s): new games are refused, games that have started can continue",
                used,
            )
        elif level > self._level:
            _log.warning("the database is nearly full (%s)", used)
        elif self._level == 1.0:
            _log.warning("the database has space again (%s): new games can be started", used)
        self._level = level
