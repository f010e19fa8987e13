"""What each entry point may load: the first prompt is quick because little is behind it."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

import pytest

from support.command import run_process

DATABASE = {"alembic", "sqlalchemy", "sqlite3"}
ENVIRONMENTS = {
    "": set[str](),
    ".openspiel": {"numpy", "pyspiel"},
    ".pettingzoo": {"numpy", "pettingzoo", "gymnasium"},
    ".gymnasium": {"numpy", "gymnasium"},
    ".vector": {"numpy", "numba", "gymnasium"},
    ".games": {"numpy", "numba"},
    ".textarena": {"textarena", "numpy"},
    ".jax": {"jax", "numpy"},
}
FOREIGN = {"fastapi", "mcp", "pgx", "PIL", "sqlalchemy"}.union(*ENVIRONMENTS.values())
HEAVY = DATABASE | {
    "PIL", "argcomplete", "asyncio", "concurrent", "dask", "distributed", "fastapi", "gymnasium",
    "http", "importlib.metadata", "jinja2", "matplotlib", "mcp", "multiprocessing", "numba",
    "numpy", "pettingzoo", "pyspiel", "rich", "ssl", "starlette", "textarena", "textual", "uvicorn",
}  # fmt: skip


def list_loaded(script: str, database: str = "none") -> set[str]:
    """Run a script in an interpreter of its own; return the modules that it has loaded then."""
    report = "import atexit, sys; atexit.register(lambda: print(*sys.modules, file=sys.stderr))"
    call = (sys.executable, "-I", "-c", f"{report}\n{script}")
    return set(run_process(*call, NUMBER_TOWER_DB=database).stderr.split())


def list_loaded_at_prompt(command: str, database: str = "none") -> set[str]:
    """Return the modules that the command has loaded at its first prompt, or at its end."""
    return list_loaded(
        "import number_tower.terminal.cli.terminal as terminal\n"
        "from number_tower.terminal.cli.main import main\n"
        "terminal.Terminal.ask = lambda *_: sys.exit()\n"
        f"main({shlex.split(command)!r})\n",
        database,
    )


@pytest.mark.parametrize(
    "command",
    [
        "", "--version", "games", "learn draft", "match draft",
        "match draft --vs easy --seat 2 --first 2", "play climb --first 2", "play draft",
        "play draft --vs gentle", "puzzle draft --seed 1", "resume draft:9,8", "solve draft",
        "solve factor",
    ],
)  # fmt: skip
def test_first_prompt_loads_nothing_heavy_and_opens_no_database(
    command: str, tmp_path: Path
) -> None:
    file = tmp_path / "games.db"
    loaded = list_loaded_at_prompt(command, str(file))
    assert "number_tower.engine.rules" in loaded
    assert not loaded & HEAVY
    assert not file.exists()


def test_opponent_that_begins_loads_nothing_but_the_database(tmp_path: Path) -> None:
    command, file = "play draft --vs perfect --seat 2", tmp_path / "games.db"
    assert not list_loaded_at_prompt(command) & HEAVY
    assert "sqlalchemy" in list_loaded_at_prompt(command, str(file))
    assert file.exists()


def test_engine_loads_only_the_standard_library() -> None:
    loaded = list_loaded("import number_tower as nt; nt.Game(nt.rules('draft')).play(9)")
    roots = {name.partition(".")[0] for name in loaded}
    own = {"number_tower", "__main__", "sitecustomize", "usercustomize"}
    foreign = roots - own - sys.stdlib_module_names
    assert "number_tower" in roots
    assert [name for name in foreign if not name.startswith("_")] == []


@pytest.mark.parametrize("module", ENVIRONMENTS)
def test_environment_loads_only_its_own_library(module: str) -> None:
    loaded = list_loaded(f"import number_tower.envs{module}")
    assert f"number_tower.envs{module}" in loaded
    assert loaded & FOREIGN <= ENVIRONMENTS[module]


def test_request_handling_loads_nothing_of_games() -> None:
    loaded = list_loaded(
        "import pkgutil; from importlib import import_module\n"
        "import number_tower.web.http as http\n"
        "for module in pkgutil.walk_packages(http.__path__, f'{http.__name__}.'):\n"
        "    import_module(module.name)\n"
    )
    assert "number_tower.web.http.middleware.known_host" in loaded
    games = tuple(
        f"number_tower.{name}"
        for name in ("rooms", "store", "web.api", "web.classes", "web.limits", "web.live",
                     "web.pages")
    )  # fmt: skip
    assert [name for name in loaded if name.startswith(games)] == []
