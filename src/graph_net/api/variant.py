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
    """What to change; ``fits`` is bytes of tensors, ``about`` seconds of an eager run here.

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
    """Return a variant, made in a confined process, and a word for each change.

    Sizes are set first, then the dtype, then the training step is made.
    """
    from graph_net.rewrite.variant import variant_of

    def make() -> tuple[str, list[str]]:
        made, words = _changed(graph, changes)
        return b64encode(to_bytes(made)).decode(), words

    data, words = run_confined(make, gigabytes=64.0)
    return variant_of(from_bytes(b64decode(data)), graph), words


def _changed(graph: Graph, changes: Changes) -> tuple[Graph, list[str]]:
    made, words = _resized(graph, changes)
    if changes.dtype is not None:
        from graph_net.rewrite.variant import with_dtype

        made, words = with_dtype(made, changes.dtype, changes.cast), [*words, changes.dtype]
    if changes.training is not None:
        from graph_net.capture.training_graph import with_training

        made, words = with_training(made, changes.training), [*words, changes.training]
    if changes.device_free:
        from graph_net.rewrite.variant import device_free

        made, words = device_free(made), [*words, "free"]
    if changes.public:
        from graph_net.rewrite.public_names import to_public

        made, words = to_public(made), [*words, "public"]
    return made, words


def _resized(graph: Graph, changes: Changes) -> tuple[Graph, list[str]]:
    from graph_net.rewrite.variant import largest_that_fits, size_for_seconds, with_sizes
    from graph_net.rewrite.variant.sizes import size_of

    vary, words = changes.vary, [f"{word}={size}" for word, size in changes.sizes]
    graph = with_sizes(graph, dict(changes.sizes))
    if changes.fits is not None:
        graph = largest_that_fits(graph, changes.fits, vary)
    if changes.about is not None:
        graph = size_for_seconds(graph, changes.about, eager_seconds, vary)
    if changes.fits is not None or changes.about is not None:
        words.append(f"{vary}={size_of(graph, vary)}")
    return graph, words


def eager_seconds(graph: Graph) -> float:
    """The quickest of a few eager runs on this machine."""
    import torch

    from graph_net.graph.execute import make_inputs, run
    from graph_net.graph.fx import to_fx

    run(graph)  # guarded; what it lets pass may be timed without the guard
    inputs, forward, best = make_inputs(graph), to_fx(graph).forward, float("inf")
    with torch.inference_mode():
        for _ in range(RUNS):
            began = time.perf_counter()
            forward(*inputs)
            best = min(best, time.perf_counter() - began)
    return best
