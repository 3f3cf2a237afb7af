"""The graphs that the benchmarks work on: models of real depth, in plain torch, without weights."""

from __future__ import annotations

import torch
from torch import nn

from graph_net.graph import Graph
from graph_net.testing.models import CASES, Decoder, Encoder, ResidualNet, case_graph, graph_of


def deep_graphs() -> dict[str, Graph]:
    """Models as deep and as wide as published ones, of three families."""
    image = torch.randn(1, 3, 224, 224, device="meta")
    words = torch.zeros(1, 128, dtype=torch.int64, device="meta")
    models: dict[str, tuple[nn.Module, tuple[torch.Tensor, ...]]] = {}
    with torch.device("meta"):
        for blocks, width in ((8, 64), (16, 128), (24, 64), (50, 256)):
            models[f"residual-{blocks}"] = (ResidualNet(blocks, width), (image,))
        for layers, width, heads in ((12, 768, 12), (24, 1024, 16), (32, 4096, 32), (40, 5120, 40)):
            models[f"decoder-{layers}"] = (Decoder(layers, width, heads, 32_000), (words,))
        for layers, width in ((6, 512), (12, 768), (24, 1024)):
            tokens = torch.randn(1, 128, width, device="meta")
            models[f"encoder-{layers}"] = (Encoder(layers, width), (tokens,))
    return {
        name: graph_of(model.eval(), inputs, name, category="benchmark")
        for name, (model, inputs) in models.items()
    }


def small_graphs() -> dict[str, Graph]:
    """One graph of every kind of model the tests know."""
    return {case.name: case_graph(case.name) for case in CASES}
