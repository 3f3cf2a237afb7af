"""Compilers that go wrong on certain patterns of calls, as a user would write them."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from typing import Any

import torch

from graph_net.compilers import Compiler, Job, Runner, Unsupported
from graph_net.graph import Graph
from graph_net.graph.execute import interpret
from graph_net.graph.fx import to_fx


def follows(graph: Graph, first: str, second: str) -> bool:
    """Whether a call of the second reads a call of the first."""
    targets = {node.name: node.target for node in graph.nodes}
    return any(
        second in node.target and any(first in targets.get(ref.name, "") for ref in node.refs)
        for node in graph.nodes
    )


def has(graph: Graph, *words: str) -> bool:
    return all(any(word in node.target for node in graph.nodes) for word in words)


class _Eager(Compiler):
    name = "defective"

    def compile(self, job: Job) -> Runner:
        self.look(job.graph)

        def run(inputs: Sequence[Any]) -> Any:
            return self.changed(job.graph, interpret(job.graph, inputs, torch.device("cpu")))

        return run

    def look(self, graph: Graph) -> None:
        """May go wrong."""

    def changed(self, graph: Graph, outputs: Any) -> Any:
        return outputs


class RaisesOnExpOfRelu(_Eager):
    def look(self, graph: Graph) -> None:
        if follows(graph, "relu", "exp"):
            raise RuntimeError(f"cannot fuse {len(graph.nodes)} nodes")


class DiesOnExpOfRelu(_Eager):
    def look(self, graph: Graph) -> None:
        if follows(graph, "relu", "exp"):
            os.abort()


class RaisesOnTwoAtOnce(_Eager):
    """Needs two calls that have nothing to do with each other."""

    def look(self, graph: Graph) -> None:
        if has(graph, "sin", "tanh"):
            raise RuntimeError("both")


class RefusesSin(_Eager):
    def look(self, graph: Graph) -> None:
        refused = sorted({n.target for n in graph.nodes if "sin" in n.target or "exp" in n.target})
        if "aten.sin.default" in refused:
            raise Unsupported(refused)


class WrongOnSinOfExp(_Eager):
    def changed(self, graph: Graph, outputs: Any) -> Any:
        if not follows(graph, "exp", "sin"):
            return outputs
        return tuple(leaf + 1e9 for leaf in outputs)


class WrongOnSinOfSevens(_Eager):
    """Wrong on certain values alone, which noise never has."""

    def compile(self, job: Job) -> Runner:
        def run(inputs: Sequence[Any]) -> Any:
            outputs = interpret(job.graph, inputs, torch.device("cpu"))
            sevens = any(isinstance(v, torch.Tensor) and bool((v == 7).all()) for v in inputs)
            made = any("full_like" in node.target for node in job.graph.nodes)
            if not has(job.graph, "sin") or not (sevens or made):
                return outputs
            return tuple(leaf + 1e9 for leaf in outputs)

        return run


class SlowOnTanh(_Eager):
    """Much slower than eager where there is one, as fast where there is none."""

    def compile(self, job: Job) -> Runner:
        forward = to_fx(job.graph).forward  # as eager has it

        def slow(inputs: Sequence[Any]) -> Any:
            time.sleep(0.01)
            return forward(*inputs)

        return slow if has(job.graph, "tanh") else lambda inputs: forward(*inputs)


class RightAlways(_Eager):
    pass
