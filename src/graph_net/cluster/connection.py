"""A connection to a Ray cluster: one that runs already, or one started on this machine.

Ray is imported here, when a cluster is asked for.
"""

from __future__ import annotations

import os
import secrets
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from graph_net.cluster.address import LOCAL, is_address
from graph_net.isolate import Limits, MakePool, Pool, Sandbox, WorkPool
from graph_net.printable import first_line

MISSING = "working on a cluster needs Ray: pip install 'graph-net[ray]'"
STORE_BYTES = 512 << 20
"""Ray's object store of a local cluster; what is larger goes to a file."""


class ClusterError(ValueError):
    """A cluster cannot be reached, or cannot do what is asked of it."""


@dataclass(frozen=True)
class ClusterNode:
    """A living node: its id, its host, and the resources it was started with."""

    id: str
    host: str
    resources: dict[str, float]


class Cluster:
    """A connection to a cluster; ``close`` ends it, and a local cluster with it."""

    def __init__(self, address: str = LOCAL) -> None:
        if not is_address(address):
            raise ClusterError(
                f"{address!r} is not the address of a cluster; write HOST:PORT, auto (the cluster "
                "that this machine is in) or local"
            )
        self.ray = load_ray(address)
        self._owned = not self.ray.is_initialized()
        if self._owned:
            _connect(self.ray, address)

    def nodes(self) -> list[ClusterNode]:
        """List the living nodes."""
        return [
            ClusterNode(node["NodeID"], node["NodeManagerHostname"], dict(node["Resources"]))
            for node in self.ray.nodes()
            if node["Alive"]
        ]

    def cores(self) -> int:
        """Return how many cores the living nodes have for work."""
        return max(1, int(sum(node.resources.get("CPU", 0.0) for node in self.nodes())))

    def pool(
        self,
        limits: Limits,
        jobs: int = 0,
        sandbox: Sandbox | None = None,
        ready: Callable[[], object] = lambda: None,
    ) -> WorkPool:
        """Return a pool whose workers are on any node; 0 jobs: as many as there are cores."""
        from graph_net.cluster.cluster_pool import ClusterPool

        return ClusterPool(self, limits, jobs, sandbox or Sandbox(), ready)

    def close(self) -> None:
        """End the connection, unless the caller's program had made it."""
        if self._owned:
            self.ray.shutdown()


@contextmanager
def connected(cluster: Cluster | str | None) -> Iterator[Cluster | None]:
    """Give the cluster of an argument: None for none, an address connected inside the block."""
    if cluster is None or isinstance(cluster, Cluster):
        yield cluster
        return
    opened = Cluster(cluster)
    try:
        yield opened
    finally:
        opened.close()


@contextmanager
def pools(cluster: Cluster | str | None, jobs: int) -> Iterator[tuple[MakePool, int]]:
    """Give what makes pools, and their jobs: of this machine, or of a cluster for the block."""
    with connected(cluster) as nodes:
        if nodes is None:
            yield Pool, jobs or os.cpu_count() or 1
        else:
            yield nodes.pool, jobs


def load_ray(address: str = LOCAL) -> Any:
    """Return the module ``ray``; raise ClusterError with the install command if it is missing."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # a benchmark reports to nobody
    decided = "ray" in sys.modules or any(name.startswith("RAY_AUTH_") for name in os.environ)
    if address == LOCAL and not decided:
        # Ray listens on every interface. A token that lives as long as this process keeps others
        # out, on this machine too; Ray would write one to the home directory otherwise.
        os.environ["RAY_AUTH_MODE"] = "token"
        os.environ["RAY_AUTH_TOKEN"] = secrets.token_hex(32)
    try:
        return import_module("ray")
    except ImportError as error:
        raise ClusterError(MISSING) from error


def _connect(ray: Any, address: str) -> None:
    settings: dict[str, Any] = {"logging_level": "error", "log_to_driver": False}
    if address == LOCAL:
        settings |= {
            "address": LOCAL,
            "num_cpus": len(os.sched_getaffinity(0)),
            "object_store_memory": STORE_BYTES,
            "include_dashboard": False,
        }
    else:
        settings["address"] = address
    try:
        ray.init(**settings)
    except Exception as error:  # Ray raises whatever its parts raise
        raise ClusterError(f"no cluster answers at {address}: {first_line(error)}") from error
