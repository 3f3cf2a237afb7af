"""A lane that measures nothing: it waits a moment, and says where it was."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from typing import Any

from graph_net.cluster.lane import node_name
from graph_net.cluster.lane_crew import LaneReport
from graph_net.results import Device

PAUSE = "GRAPH_NET_TEST_PAUSE"
"""A variable of a node: the seconds that an item takes there."""
DEVICE = Device("cpu", "echo", 1, 1, 1 << 30, "Linux", "3")


class EchoLane:
    """The actor."""

    def __init__(self, room: int) -> None:
        self.room, self.node = room, node_name()

    def report(self) -> LaneReport:
        """Describe a device that is the same everywhere."""
        return LaneReport(self.node, DEVICE, self.room)

    def work(self, item: int) -> tuple[int, str]:
        """Return the item, and where it was worked on."""
        time.sleep(float(os.environ.get(PAUSE, "0.01")))
        return item, self.node

    def close(self) -> None:
        """End nothing."""


@dataclass(frozen=True)
class EchoKind:
    """Lanes that echo."""

    actor: type = EchoLane
    device: str = "cpu"
    jobs: int = 1
    threaded: bool = True

    def arguments(self) -> tuple[Any, ...]:
        """Return nothing."""
        return ()

    def takes(self, report: LaneReport, item: int) -> bool:
        """Take everything."""
        return True

    def send(self, actor: Any, report: LaneReport, item: int) -> Any:
        """Begin an item."""
        return actor.work.remote(item)


def shout(item: str) -> str:
    """Work of a pool; one item kills its process."""
    if item == "die":
        os.abort()
    return item.upper()
