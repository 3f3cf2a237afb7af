"""``eager``: one operator after another, by PyTorch or Paddle; the baseline of comparisons."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from graph_net.compilers.compiler import Compiler, Job, Runner
from graph_net.graph import Level


class Eager(Compiler):
    """No compiler at all."""

    name = "eager"
    devices = ("cpu", "cuda")
    levels = (Level.TORCH, Level.ATEN, Level.PADDLE)

    def compile(self, job: Job) -> Runner:
        """Return the graph as generated Python that calls PyTorch, or as calls of Paddle."""
        if job.graph.level is Level.PADDLE:
            from graph_net.graph.paddle_execute import prepare

            return prepare(job.graph)
        from graph_net.graph.fx import to_fx

        forward = to_fx(job.graph, job.device).forward

        def run(inputs: Sequence[Any]) -> Any:
            return forward(*inputs)

        return run
