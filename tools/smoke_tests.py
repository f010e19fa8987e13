"""Smoke tests of an installed package: `python tools/smoke_tests.py NAME`, with its Python.

NAME is `base`, for the package without extras, or an extra; each test does one small thing with the
package, the extra and the standard library alone. tools/release.py runs them, each in an
environment of its own.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import number_tower as nt
from fresh import GOLDEN, ROOT, run, visit_server

if TYPE_CHECKING:
    from collections.abc import Callable

TOWER = str(Path(sys.executable).with_name("tower"))


def check(claim: object, otherwise: str) -> None:
    """End with a message unless a claim is true."""
    if not claim:
        sys.exit(otherwise)


def run_tower(*arguments: str, typed: str = "", **environment: str) -> str:
    """Return what the installed command prints."""
    return run(TOWER, *arguments, env={**os.environ, **environment}, typed=typed)


def check_base() -> None:
    """Play, save and solve with the command."""
    home = Path(nt.__file__)
    check(not home.is_relative_to(ROOT), f"{home} is the code of the clone, not the installed one")
    version = metadata.version("number-tower")
    check(version == nt.__version__, f"the package says {version}, its code {nt.__version__}")
    check(version in run_tower("--version"), f"tower --version does not say {version}")
    with TemporaryDirectory() as folder:
        database = str(Path(folder, "games.db"))
        moves, expected = ((GOLDEN / f"draft.{ending}").read_text() for ending in ("moves", "txt"))
        output = run_tower("play", "draft", typed=moves, NUMBER_TOWER_DB=database)
        check(output == expected, f"tower play draft differs from the golden dialogue:\n{output}")
        check("draft" in run_tower("history", NUMBER_TOWER_DB=database), "the game was not saved")
    check("wins" in run_tower("solve", "draft"), "tower solve draft names no winner")


def check_cluster() -> None:
    """Run an arena on a cluster of one worker, a thread of this process."""
    from distributed import LocalCluster

    alone = {"host": "127.0.0.1", "dashboard_address": None, "protocol": "tcp"}
    with LocalCluster(n_workers=1, processes=False, **alone) as cluster:
        with TemporaryDirectory() as folder:
            games = ("--games", "2", "--out", str(Path(folder, "games.jsonl")))
            call = ("arena", "draft", "--players", "gentle,easy", *games)
            output = run_tower(*call, "--cluster", cluster.scheduler_address)
        check("gentle" in output, "the arena has no result")


def check_jax() -> None:
    """Make a move by a compiled step."""
    import jax

    from number_tower.envs.jax import make

    env = make("draft", first=0)
    state = jax.jit(env.step)(env.init(jax.random.key(0)), jax.numpy.int32(8))
    check(int(state.current_player) == 1, "the turn did not change")


def check_lab() -> None:
    """Measure a small sweep, and write its report with a chart."""
    with TemporaryDirectory() as folder:
        rows, report = Path(folder, "rows.jsonl"), Path(folder, "report")
        run_tower("lab", "draft", "--blocks", "1-8..1-9", "--target", "14..15", "--out", str(rows))
        run_tower("lab", str(rows), "--report", str(report))
        text = (report / "index.html").read_text(encoding="utf-8")
        check("data:image/svg" in text, "the report has no chart")


def check_mcp() -> None:
    """Start a game by a tool, as a client."""
    from mcp import Client
    from number_tower.mcp.server import make_server

    async def start_game() -> bool:
        async with Client(make_server()) as client:
            return not (await client.call_tool("start_game", {"game": "draft"})).is_error

    check(asyncio.run(start_game()), "start_game was refused")


def check_postgres() -> None:
    """Ask for a database without a server: that is reported, and not a missing package."""
    with TemporaryDirectory() as folder:
        call = (TOWER, "db", "check", "--db", f"postgresql:///games?host={folder}")
        done = subprocess.run(call, stderr=subprocess.PIPE, text=True, check=False)
    check(done.returncode, "there is no server, and no error")
    check("pip install" not in done.stderr and "Traceback" not in done.stderr, done.stderr)


def check_rl() -> None:
    """Begin a game in each library, and in compiled loops."""
    import gymnasium

    import number_tower.envs.gymnasium
    from number_tower.envs.games import Games
    from number_tower.envs.pettingzoo import env

    single = gymnasium.make("NumberTower/draft-v0")
    check(single.reset(seed=1)[1]["action_mask"].all(), "Gymnasium: not every block can open")
    pair = env("draft")
    pair.reset(seed=1)
    check(pair.agent_selection == "player_0", "PettingZoo: the wrong player begins")
    check(Games("draft", 16).masks.all(), "compiled loops: not every block can open")
    if sys.platform != "win32":
        import pyspiel

        import number_tower.envs.openspiel  # noqa: F401 - makes the games known

        state = pyspiel.load_game("number_tower(game=draft)").new_initial_state()
        check(len(state.legal_actions()) == 9, "OpenSpiel: not every block can open")


def check_solve() -> None:
    """Solve a game, and see that the search was compiled."""
    from number_tower.solve import jit, kernel

    check(jit.is_available() and jit.load_compiler(), "Numba is not found")
    value = nt.solve(nt.Game(nt.rules("draft"))).value
    check(value == "win", "draft is not won by the player who begins")
    compiled = getattr(jit.compile_kernel(kernel.search), "signatures", ())
    check(compiled, "the search was not compiled")


def check_textarena() -> None:
    """Make a move in words."""
    import textarena

    import number_tower.envs.textarena  # noqa: F401 - makes the games known

    env = textarena.make("NumberTower-draft-v0")
    env.reset(num_players=2, seed=1)
    check(env.step("I place [9]") == (False, {}), "the move was refused")


def check_tui() -> None:
    """Open the app and close it."""
    from number_tower.terminal.tui.app import AppSettings, TowerApp

    async def open_app() -> str:
        app = TowerApp(AppSettings(database="none"))
        async with app.run_test() as pilot:
            await pilot.pause()
            return app.export_screenshot()

    check("draft" in asyncio.run(open_app()), "the first screen shows no games")


def check_web() -> None:
    """Start a server, and make a game in it."""
    with TemporaryDirectory() as folder:
        environment = {**os.environ, "NUMBER_TOWER_DB": str(Path(folder, "games.db"))}
        visit_server(TOWER, "serve", "--port", "0", cwd=Path(folder), environment=environment)


CHECKS: dict[str, Callable[[], None]] = {
    "base": check_base,
    "cluster": check_cluster,
    "jax": check_jax,
    "lab": check_lab,
    "mcp": check_mcp,
    "postgres": check_postgres,
    "rl": check_rl,
    "solve": check_solve,
    "textarena": check_textarena,
    "tui": check_tui,
    "web": check_web,
}

if __name__ == "__main__":
    CHECKS[sys.argv[1]]()
