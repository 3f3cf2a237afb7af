"""Make a variant of a graph: another dtype, other sizes, a training step."""

from __future__ import annotations

import time
from base64 import b64decode, b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from graph_net.api.confined import run_confined
from graph_net.graph import from_bytes, to_bytes

if TYPE_CHECKING:
    from graph_net.graph import Graph

RUNS = 5


@dataclass(frozen=True)
class Changes:
    """The changes of a variant; ``fits`` is bytes of tensors, ``about`` seconds of an eager run.

    ``vary`` is the size that these two change; ``cast`` is ``autocast`` or ``all``.
    """

    sizes: Sequence[tuple[str, int]] = ()
    fits: int | None = None
    about: float | None = None
    vary: str = "batch"
    dtype: str | None = None
    cast: str = "autocast"
    training: str | None = None
    device_free: bool = False
    public: bool = False


def make_variant(graph: Graph, changes: Changes) -> tuple[Graph, list[str]]:
    """Return a variant, made in a confined process, and a label for each change.

    Sizes are set first, then the dtype, then the training step is made.
    """
    from graph_net.rewrite.variant import variant_of

    def make() -> tuple[str, list[str]]:
        variant, labels = _apply(graph, changes)
        return b64encode(to_bytes(variant)).decode(), labels

    data, labels = run_confined(make, gigabytes=64.0)
    return variant_of(from_bytes(b64decode(data)), graph), labels


def _apply(graph: Graph, changes: Changes) -> tuple[Graph, list[str]]:
    graph, labels = _resize(graph, changes)
    if changes.dtype is not None:
        from graph_net.rewrite.variant import with_dtype

        graph, labels = with_dtype(graph, changes.dtype, changes.cast), [*labels, changes.dtype]
    if changes.training is not None:
        from graph_net.capture.training_graph import with_training

        graph, labels = with_training(graph, changes.training), [*labels, changes.training]
    if changes.device_free:
        from graph_net.rewrite.variant import device_free

        graph, labels = device_free(graph), [*labels, "free"]
    if changes.public:
        from graph_net.rewrite.public_names import to_public

        graph, labels = to_public(graph), [*labels, "public"]
    return graph, labels


def _resize(graph: Graph, changes: Changes) -> tuple[Graph, list[str]]:
    from graph_net.rewrite.variant import largest_that_fits, size_for_seconds, with_sizes
    from graph_net.rewrite.variant.sizes import size_of

    vary, labels = changes.vary, [f"{name}={size}" for name, size in changes.sizes]
    graph = with_sizes(graph, dict(changes.sizes))
    if changes.fits is not None:
        graph = largest_that_fits(graph, changes.fits, vary)
    if changes.about is not None:
        graph = size_for_seconds(graph, changes.about, eager_seconds, vary)
    if changes.fits is not None or changes.about is not None:
        labels.append(f"{vary}={size_of(graph, vary)}")
    return graph, labels


def eager_seconds(graph: Graph) -> float:
    """Return the time of the quickest of a few eager runs on this machine."""
    import torch

    from graph_net.graph.execute import make_inputs, run
    from graph_net.graph.fx import to_fx

    run(graph)  # guarded once; then timed without the guard
    inputs, forward, best = make_inputs(graph), to_fx(graph).forward, float("inf")
    with torch.inference_mode():
        for _ in range(RUNS):
            began = time.perf_counter()
            forward(*inputs)
            best = min(best, time.perf_counter() - began)
    return best
