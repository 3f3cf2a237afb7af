"""One small cluster for all tests of this folder."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from cluster.ray_nodes import RayNodes, ray_nodes
from graph_net.cluster.connection import Cluster


@pytest.fixture(scope="session")
def nodes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RayNodes]:
    """A head node; tests add the others."""
    with ray_nodes(tmp_path_factory.mktemp("cache")) as nodes:
        yield nodes


@pytest.fixture(scope="session")
def cluster(nodes: RayNodes) -> Iterator[Cluster]:
    """A connection to it."""
    cluster = Cluster(nodes.address)
    yield cluster
    cluster.close()
