"""The graphs that the benchmarks work on: models of real depth, in plain torch, without weights."""

from __future__ import annotations

import torch

from graph_net.graph import Graph
from graph_net.testing.models import CASES, Decoder, Encoder, ResidualNet, case_graph, graph_of


def deep_graphs() -> dict[str, Graph]:
    """Four models as deep as published ones."""
    image = torch.randn(1, 3, 224, 224, device="meta")
    words = torch.zeros(1, 128, dtype=torch.int64, device="meta")
    with torch.device("meta"):
        models = {
            "residual-50": (ResidualNet(24, 64), (image,)),
            "decoder-24": (Decoder(24, 1024, 16, 32_000), (words,)),
            "decoder-32": (Decoder(32, 4096, 32, 32_000), (words,)),
            "encoder-12": (Encoder(12, 768), (torch.randn(1, 128, 768, device="meta"),)),
        }
    return {
        name: graph_of(model.eval(), inputs, name, category="benchmark")
        for name, (model, inputs) in models.items()
    }


def small_graphs() -> dict[str, Graph]:
    """One graph of every kind of model the tests know."""
    return {case.name: case_graph(case.name) for case in CASES}
