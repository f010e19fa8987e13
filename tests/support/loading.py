"""Which modules the command imports before its first prompt."""

from __future__ import annotations

import subprocess
import sys

from support.clocks import SLOW
from support.command import plain_environment

NEVER_AT_FIRST = {
    "sqlite3", "sqlalchemy", "alembic", "fastapi", "starlette", "uvicorn", "jinja2", "asyncio", "ssl", "http", "numpy",
    "numba", "rich", "textual", "argcomplete", "multiprocessing", "concurrent", "importlib.metadata", "gymnasium",
    "pettingzoo", "pyspiel", "textarena", "mcp", "PIL", "distributed", "dask", "matplotlib",
}  # fmt: skip


def loaded(*arguments: str, database: str = "none") -> set[str]:
    """Run the command in an interpreter of its own up to its first prompt, and list what it imported."""
    script = (
        "import sys\n"
        "before = set(sys.modules)\n"
        "import number_tower.cli.terminal as screen\n"
        "def prompt(self, text):\n"
        "    print(*sorted(set(sys.modules) - before), file=sys.stderr)\n"
        "    raise SystemExit\n"
        "screen.Terminal.ask = prompt\n"
        "from number_tower.cli.main import main\n"
        f"main({list(arguments)!r})\n"
        "print(*sorted(set(sys.modules) - before), file=sys.stderr)\n"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-c", script],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, env=plain_environment(NUMBER_TOWER_DB=database),
        timeout=SLOW, check=False,
    )  # fmt: skip
    return set(done.stderr.split())
