"""``eager``: PyTorch calling one operator after another; what every compiler is compared with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from graph_net.compilers.compiler import Compiler, Job, Runner


class Eager(Compiler):
    """No compiler at all."""

    name = "eager"
    devices = ("cpu", "cuda")

    def compile(self, job: Job) -> Runner:
        """The graph as generated Python that calls PyTorch."""
        from graph_net.graph.fx import to_fx

        forward = to_fx(job.graph, job.device).forward

        def run(inputs: Sequence[Any]) -> Any:
            return forward(*inputs)

        return run
