"""One server for all tests of this directory, and someone who may ask it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from serve.served_files import make

if TYPE_CHECKING:
    import httpx

    from graph_net.serve.listen import Served


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What is served."""
    return make(tmp_path_factory.mktemp("served"))


@pytest.fixture(scope="session")
def server(folder: Path) -> Iterator[Served]:
    """Pages over the folder, served."""
    pytest.importorskip("starlette", reason="needs starlette: pip install -e .[dev]")
    import graph_net as gn
    from graph_net.serve.ask_sql import SqlLimits

    with pytest.MonkeyPatch.context() as patch:  # how fast the machine is decides nothing
        patch.setattr("graph_net.serve.listing.USERS", SqlLimits(1_000_000, 600.0))
        patch.setattr("graph_net.serve.view_tables.SHOWN", SqlLimits(500, 600.0))
        with gn.serve(folder) as served:
            yield served


@pytest.fixture(scope="session")
def root(server: Served) -> str:
    """The address of the server, without its token."""
    return f"http://127.0.0.1:{server.port}"


@pytest.fixture(scope="session")
def reader(server: Served, root: str) -> Iterator[httpx.Client]:
    """A client with the cookie."""
    import httpx

    with httpx.Client(base_url=root, timeout=600) as client:
        assert client.get(server.address).status_code == 303
        yield client


@pytest.fixture
def stranger(root: str) -> Iterator[httpx.Client]:
    """A client of the same machine that has neither token nor cookie."""
    import httpx

    with httpx.Client(base_url=root, timeout=600) as client:
        yield client
