"""Ray nodes on this machine, each as small as can be, and none left behind."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from graph_net.isolate.descendants import descendants
from graph_net.isolate.privileges import adopting_orphans
from graph_net.programs.spaces.registry import GROUP

SETTINGS = {
    "RAY_AUTH_MODE": "disabled",
    "RAY_USAGE_STATS_ENABLED": "0",
    # A node that was killed refuses connections and is found out in two seconds; one that is only
    # slow, on a busy machine, has half a minute to answer.
    "RAY_health_check_initial_delay_ms": "1000",
    "RAY_health_check_period_ms": "500",
    "RAY_health_check_failure_threshold": "3",
    "RAY_health_check_timeout_ms": "30000",
}
STORE_BYTES = 80 << 20
TESTS = Path(__file__).parents[1]


class RayNodes:
    """A head and more nodes, one core each, which measure."""

    def __init__(self) -> None:
        from ray.cluster_utils import Cluster

        self.cluster = Cluster()
        self.add()

    @property
    def address(self) -> str:
        """The address to connect to."""
        return str(self.cluster.address)

    def add(self, environment: dict[str, str] | None = None) -> Any:
        """Start a node; return it."""
        return self.cluster.add_node(
            num_cpus=1,
            resources={"measure": 1},
            object_store_memory=STORE_BYTES,
            include_dashboard=False,
            env_vars=environment,
        )

    def kill(self, node: Any) -> None:
        """Kill all processes of a node at once."""
        self.cluster.remove_node(node, allow_graceful=False)

    def keep(self, count: int) -> list[Any]:
        """Have so many nodes beside the head, whatever a test before has left; return them."""
        nodes = list(self.cluster.worker_nodes)
        for node in nodes[count:]:
            self.kill(node)
        return nodes[:count] + [self.add() for _ in range(count - len(nodes))]


@contextmanager
def ray_nodes(cache: Path) -> Iterator[RayNodes]:
    """Give a head node; end every process of it and of what was added."""
    install_sleeping_space(cache)
    paths = [str(cache), str(TESTS), *filter(None, [os.environ.get("PYTHONPATH")])]
    changes = {
        **SETTINGS,
        "PYTHONPATH": os.pathsep.join(paths),
        "XDG_CACHE_HOME": str(cache),
    }
    before = {name: os.environ.get(name) for name in changes}
    others = set(descendants(os.getpid()))
    os.environ.update(changes)
    with adopting_orphans():
        nodes = RayNodes()
        try:
            yield nodes
        finally:
            import ray

            ray.shutdown()
            with suppress(Exception):
                nodes.cluster.shutdown()
            for name, value in before.items():
                os.environ.pop(name) if value is None else os.environ.update({name: value})
            _end(others)


def install_sleeping_space(folder: Path) -> None:
    """Make a directory from which Python sees an installed space of programs that only sleep."""
    info = folder / "sleeping-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: sleeping\nVersion: 1\n")
    entry = f"[{GROUP}]\nsleeping = graph_net.testing.space:SleepingSpace\n"
    (info / "entry_points.txt").write_text(entry)


def _end(others: set[int]) -> None:
    """Kill what is left of processes that were not here before."""
    while left := set(descendants(os.getpid())) - others:
        for pid in left:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        for pid in left:
            with suppress(ChildProcessError):
                os.waitpid(pid, 0)
