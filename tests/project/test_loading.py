"""What each entry point may load: the first prompt is quick because little is behind it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from support.clocks import SLOW
from support.command import plain_environment

NEVER_AT_FIRST = {
    "sqlite3", "sqlalchemy", "alembic", "fastapi", "starlette", "uvicorn", "jinja2", "asyncio",
    "ssl", "http", "numpy", "numba", "rich", "textual", "argcomplete", "multiprocessing",
    "concurrent", "importlib.metadata", "gymnasium", "pettingzoo", "pyspiel", "textarena", "mcp",
    "PIL", "distributed", "dask", "matplotlib",
}  # fmt: skip

DATABASE = {"sqlite3", "sqlalchemy", "alembic"}


def loaded(*arguments: str, database: str = "none") -> set[str]:
    """Run the command in its own interpreter up to its first prompt, and list what it imported."""
    script = (
        "import sys\n"
        "before = set(sys.modules)\n"
        "import number_tower.terminal.cli.terminal as screen\n"
        "def prompt(self, text):\n"
        "    print(*sorted(set(sys.modules) - before), file=sys.stderr)\n"
        "    raise SystemExit\n"
        "screen.Terminal.ask = prompt\n"
        "from number_tower.terminal.cli.main import main\n"
        f"main({list(arguments)!r})\n"
        "print(*sorted(set(sys.modules) - before), file=sys.stderr)\n"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-c", script],
        stdin=subprocess.DEVNULL, capture_output=True, text=True,
        env=plain_environment(NUMBER_TOWER_DB=database), timeout=SLOW, check=False,
    )  # fmt: skip
    return set(done.stderr.split())


@pytest.mark.parametrize(
    "arguments",
    [
        ("--version",),
        ("play", "draft"),
        ("play", "climb", "--first", "2"),
        ("match", "draft"),
        (),
        ("solve", "draft"),
        ("solve", "factor"),
    ],
)
def test_the_first_answer_needs_nothing_heavy(arguments: tuple[str, ...]) -> None:
    modules = loaded(*arguments)
    assert "number_tower.engine.rules" in modules
    assert not modules & NEVER_AT_FIRST


@pytest.mark.parametrize(
    "arguments",
    [
        ("play", "draft", "--vs", "perfect", "--seat", "2"),
        ("match", "draft", "--vs", "easy", "--seat", "2", "--first", "2"),
        ("learn", "draft"),
        ("games",),
    ],
)
def test_an_opponent_needs_nothing_heavy(arguments: tuple[str, ...]) -> None:
    modules = loaded(*arguments)
    assert "number_tower.players.levels" in modules
    assert not modules & NEVER_AT_FIRST


@pytest.mark.parametrize(
    "arguments",
    [
        ("play", "draft"), ("play", "draft", "--vs", "gentle"), ("match", "draft"),
        ("resume", "draft:9,8"), (), ("learn", "draft"), ("puzzle", "draft", "--seed", "1"),
    ],
)  # fmt: skip
def test_no_database_is_loaded_or_opened_before_the_first_prompt(
    arguments: tuple[str, ...], tmp_path: Path
) -> None:
    file = tmp_path / "games.db"
    assert not loaded(*arguments, database=str(file)) & DATABASE
    assert not file.exists()


def test_only_a_computer_that_begins_has_something_to_keep_before_it(tmp_path: Path) -> None:
    file = tmp_path / "games.db"
    assert "sqlalchemy" in loaded(
        "play", "draft", "--vs", "gentle", "--seat", "2", database=str(file)
    )
    assert file.exists()


def test_the_engine_needs_nothing_but_the_standard_library() -> None:
    game = "import number_tower as nt; nt.Game(nt.rules('draft')).play(9)"
    script = f"{game}; import sys; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-I", "-c", script], capture_output=True, text=True, check=True
    )
    tops = {module.partition(".")[0] for module in done.stdout.split()} - {
        "number_tower",
        "__main__",
    }
    foreign = {
        top for top in tops if top not in sys.stdlib_module_names and not top.startswith("_")
    }
    assert foreign <= {"sitecustomize", "usercustomize"}


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


@pytest.mark.parametrize("module", ENVIRONMENTS)
def test_each_environment_loads_the_library_that_it_is_for_and_no_other(module: str) -> None:
    script = f"import number_tower.envs{module}, sys; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-I", "-c", script], capture_output=True, text=True, check=True
    )
    heavy = {
        "numpy",
        "numba",
        "jax",
        "pgx",
        "gymnasium",
        "pettingzoo",
        "pyspiel",
        "textarena",
        "mcp",
        "PIL",
        "fastapi",
        "sqlalchemy",
    }
    assert heavy & set(done.stdout.split()) <= ENVIRONMENTS[module]


def test_what_is_about_requests_loads_nothing_of_games() -> None:
    script = (
        "import pkgutil, sys; from importlib import import_module; "
        "import number_tower.web.http as http\n"
        "for module in pkgutil.walk_packages(http.__path__, f'{http.__name__}.'):\n"
        "    import_module(module.name)\n"
        "print(*sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-c", script], capture_output=True, text=True, check=True
    )
    parts = {name.removeprefix("number_tower.") for name in done.stdout.split()}
    assert "web.http.middleware.known_host" in parts
    games = ("rooms", "store", "web.limits", "web.pages", "web.classes", "web.live", "web.api")
    assert not [name for name in parts if name.startswith(games)]
