"""The site that the tests of one module share, and a visitor to it; coroutines run in asyncio."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from starlette.testclient import TestClient

from support.apps import open_app


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    with open_app(tmp_path_factory.mktemp("site")) as client:
        yield client


@pytest.fixture
def client(site: TestClient) -> TestClient:
    """A visitor who has not been here before."""
    site.cookies.clear()
    return site


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"
