"""End games in the full-screen app by random signals, and see whether a shown move is lost.

`make test` does it a few times, `make soak` 200 times: `python tests/soak/kill_app.py [KILLS]
[SEED]`.
"""

from __future__ import annotations

import re
import signal
import time
from collections import Counter
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

from number_tower.engine import catalogue
from number_tower.engine.table import Table
from number_tower.words.voice import get_voice
from soak.shared import load_games, print_counts, read_arguments
from support.terminal import Window

SIGNALS = ("SIGKILL", "SIGTERM", "SIGHUP", "SIGINT", "close", "vanish")
"""What ends a session.

"close" and "vanish" close the terminal; only the first sends a signal.
"""
SIZES = ((40, 16), (80, 24), (132, 43))
_ESCAPES = re.compile(r"\x1b(\[[0-9;:?<>=$]*[a-zA-Z]|[()][A-Z0-9]|[=>])")


class AppKiller:
    """Plays games of two people in the app, and ends every session by a signal."""

    def __init__(self, file: Path, seed: str) -> None:
        self._file = file
        self._chance = Random(seed)  # noqa: S311 - which moment is no secret
        self.moments: Counter[str] = Counter()
        """How many moves were shown when a signal came, by the signal."""

    def kill(self, times: int) -> None:
        """End some sessions, and check what each of them showed."""
        for _ in range(times):
            name = self._chance.choice(catalogue.list_names())
            before, call = Table.start(catalogue.choose(name)), ["play", name]
            last = self._load_last()
            if last is not None and last.outcome is None:
                before, call = last, ["resume"]
            ending = self._chance.choice(SIGNALS)
            shown = self._play(call, before, ending)
            self._check(before, shown)
            self.moments[f"{ending} after {len(shown)}"] += 1

    def _play(self, call: list[str], table: Table, ending: str) -> list[tuple[str, int]]:
        """Play a session until a signal ends it.

        Return the moves that it showed, with their players.
        """
        size = self._chance.choice(SIZES)
        terminal = Window(size, *call, "--app", NUMBER_TOWER_DB=str(self._file))
        terminal.until("turn")
        for _ in range(self._chance.randrange(4)):
            legal = table.game.legal
            if not legal:
                break
            block = self._chance.choice(legal)
            table = table.play(block)
            terminal.type(f"{block}\r" if table.game.rules.blocks[-1] > 9 else f"{block}")
            time.sleep(self._chance.random() * 0.6)
        if ending in {"close", "vanish"}:
            terminal.close(hang_up=ending == "close")
            terminal.wait()
        else:
            terminal.send_signal(getattr(signal, ending))
            terminal.end()
        voice = get_voice(table.book)
        players = "|".join(re.escape(voice.get_name(table, seat)) for seat in (0, 1))
        moves = re.findall(rf"({players}) places (\d+)\.", _ESCAPES.sub("", terminal.seen))
        return [(player, int(block)) for player, block in moves]

    def _check(self, before: Table, shown: list[tuple[str, int]]) -> None:
        """Check that every move that was shown is in the database."""
        after = self._load_last()
        if after is None:
            assert not shown
            return
        earlier = before.game.moves
        assert after.game.moves[: len(earlier)] == earlier
        voice = get_voice(after.book)
        moves = zip(after.game.movers, after.game.moves, strict=True)
        saved = {(voice.get_name(after, mover), block) for mover, block in moves}
        assert set(shown) <= saved, f"shown {shown}, saved {saved}"

    def _load_last(self) -> Table | None:
        games = load_games(str(self._file))
        return games[max(games)].table if games else None


def main() -> None:
    """End many sessions."""
    kills, seed = read_arguments(200)
    with TemporaryDirectory(prefix="tower-kill-app-") as folder:
        killer = AppKiller(Path(folder) / "games.db", seed)
        for done in range(kills):
            killer.kill(1)
            print(f"\r{done + 1} of {kills}", end="", flush=True)
    print("\nNothing that was shown is lost. The signals came:")
    print_counts(killer.moments)


if __name__ == "__main__":
    main()
