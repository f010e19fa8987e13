"""End games in the full-screen app by random signals, and see whether a shown move is lost.

`make test` does it a few times, `make soak` 200 times: `python tests/soak/kill_app.py [KILLS]
[SEED]`.
"""

from __future__ import annotations

import re
import signal
import sys
import time
from collections import Counter
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

from number_tower import store
from number_tower.engine import catalogue
from number_tower.engine.table import Table
from number_tower.store.games import GameFilter, list_games
from number_tower.store.rows import StoredGame
from number_tower.words.voice import get_voice
from support.terminal import Window

SIGNALS = ("SIGKILL", "SIGTERM", "SIGHUP", "SIGINT", "close", "vanish")
"""What ends a session.

"close" and "vanish" close the terminal; the command is told of the first only.
"""
SIZES = ((40, 16), (80, 24), (132, 43))
_ESCAPES = re.compile(r"\x1b(\[[0-9;:?<>=$]*[a-zA-Z]|[()][A-Z0-9]|[=>])")


class AppKiller:
    """Plays games of two people in the app.

    A signal ends every session at a random moment.
    """

    def __init__(self, file: Path, seed: str) -> None:
        self._file = file
        self._rng = Random(seed)  # noqa: S311 - which moment is no secret
        self.moments: Counter[str] = Counter()
        """How many moves were shown when a signal came, by the signal."""

    def kill(self, times: int) -> None:
        """End so many sessions, and check what each of them showed."""
        for _ in range(times):
            unfinished = self._load()
            game = self._rng.choice(catalogue.list_names())
            call = ("play", game) if unfinished is None else ("resume",)
            table = Table.start(catalogue.choose(game)) if unfinished is None else unfinished
            name = self._rng.choice(SIGNALS)
            shown = self._play(call, table, name)
            self._check(table, shown)
            self.moments[f"{name} after {len(shown)}"] += 1

    def _play(self, call: tuple[str, ...], table: Table, name: str) -> list[tuple[str, int]]:
        """Play a session until a signal ends it.

        Return the moves that it showed, with their players.
        """
        terminal = Window(self._rng.choice(SIZES), *call, "--app", NUMBER_TOWER_DB=str(self._file))
        terminal.until("turn")
        for _ in range(self._rng.randrange(4)):
            legal = table.game.legal
            if not legal:
                break
            block = self._rng.choice(legal)
            table = table.play(block)
            terminal.type(f"{block}\r" if table.game.rules.blocks[-1] > 9 else f"{block}")
            time.sleep(self._rng.random() * 0.6)
        if name in {"close", "vanish"}:
            terminal.close(told=name == "close")
            terminal.wait()
        else:
            terminal.send_signal(getattr(signal, name))
            terminal.end()
        seen = _ESCAPES.sub("", terminal.seen)
        players = "|".join(
            re.escape(get_voice(table.book).get_name(table, seat)) for seat in (0, 1)
        )
        return [
            (player, int(block))
            for player, block in re.findall(rf"({players}) places (\d+)\.", seen)
        ]

    def _check(self, before: Table, shown: list[tuple[str, int]]) -> None:
        """Check that every move that was shown is in the database."""
        after = self._load(over=True)
        if after is None:
            assert not shown
            return
        assert (
            after.game.moves[: len(before.game.moves)] == before.game.moves or not before.game.moves
        )
        voice = get_voice(after.book)
        moves = zip(after.game.movers, after.game.moves, strict=True)
        saved = {(voice.get_name(after, mover), block) for mover, block in moves}
        assert set(shown) <= saved, f"shown {shown}, saved {saved}"

    def _load(self, *, over: bool = False) -> Table | None:
        """Return the last game, unless it is over and only an unfinished one is wanted."""
        if not self._file.exists():
            return None
        opened = store.open_store(str(self._file))
        try:
            found = opened.find_last(unfinished=True)
            if found is not None or not over:
                return None if found is None else found.table
            with opened.read() as connection:
                (last, *_), _count = list_games(connection, GameFilter(), 1)
            assert isinstance(last, StoredGame)
            return last.table
        finally:
            opened.close()


def main(kills: int = 200, seed: str = "app") -> None:
    """End many sessions."""
    with TemporaryDirectory(prefix="tower-kill-app-") as folder:
        killer = AppKiller(Path(folder) / "games.db", seed)
        for done in range(kills):
            killer.kill(1)
            print(f"\r{done + 1} of {kills}", end="", flush=True)
    print(
        f"\nNothing that was shown is lost: {kills} sessions ended; "
        f"{dict(sorted(killer.moments.items()))}"
    )


if __name__ == "__main__":
    main(
        int(sys.argv[1]) if len(sys.argv) > 1 else 200, sys.argv[2] if len(sys.argv) > 2 else "app"
    )
