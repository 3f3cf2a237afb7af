"""A connection to a Ray cluster: a running one, or one started on this machine.

Ray is imported only when a cluster is requested.
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
"""Bytes of a local cluster's object store; larger objects go to a file."""


class ClusterError(ValueError):
    """A cluster that cannot be reached, or cannot do the work."""


@dataclass(frozen=True)
class ClusterNode:
    """A living node: its id, host, and initial resources."""

    id: str
    host: str
    resources: dict[str, float]


class Cluster:
    """A connection to a cluster; ``close`` ends it, and also ends a local cluster."""

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
        """Return a pool with workers on any node; 0 jobs means one per core."""
        from graph_net.cluster.cluster_pool import ClusterPool

        return ClusterPool(self, limits, jobs, sandbox or Sandbox(), ready)

    def close(self) -> None:
        """Close the connection, unless the caller's program opened it."""
        if self._owned:
            self.ray.shutdown()


@contextmanager
def connected(cluster: Cluster | str | None) -> Iterator[Cluster | None]:
    """Yield the cluster of an argument: None for None; an address is connected for the block."""
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
    """Yield a maker of pools and their jobs: on this machine, or on a cluster for the block."""
    with connected(cluster) as nodes:
        if nodes is None:
            yield Pool, jobs or os.cpu_count() or 1
        else:
            yield nodes.pool, jobs


def load_ray(address: str = LOCAL) -> Any:
    """Return the module ``ray``; raise ClusterError with the install command if it is missing."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # a benchmark sends no usage statistics
    decided = "ray" in sys.modules or any(name.startswith("RAY_AUTH_") for name in os.environ)
    if address == LOCAL and not decided:
        # Ray listens on every interface. A token that lives as long as this process keeps other
        # users out, on this machine too; otherwise Ray would write one to the home directory.
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
