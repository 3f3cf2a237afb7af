"""Layouts of small graphs with times that follow their calls."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from graph_net.configs.layouts.call_features import COLUMNS, call_rows
from graph_net.configs.layouts.call_trees import roofline_seconds
from graph_net.configs.layouts.draws import draw_layouts
from graph_net.configs.layouts.hand_features import COLUMNS as HAND
from graph_net.configs.layouts.layout_config import default_layout
from graph_net.configs.layouts.layout_examples import GraphLayouts, merge_rows
from graph_net.configs.layouts.rewrite import LayoutRewriter
from graph_net.graph import Graph

EXPLICIT = COLUMNS.index("is_explicit")


def layouts_of(graph: Graph, seed: int, count: int = 60) -> GraphLayouts:
    """Return layouts whose explicit copies cost five times their roofline, other calls once."""
    rewriter = LayoutRewriter(graph)
    drawn = draw_layouts(rewriter.sites, count, set(), [], seed)
    usual = call_rows(rewriter.calls(default_layout(rewriter.sites)))
    calls = merge_rows(usual, [call_rows(rewriter.calls(layout)) for layout in drawn])
    hand = np.random.default_rng(seed).random((count, len(HAND)))
    known = GraphLayouts(hand, np.zeros(count), np.full(count, 1e-4), calls, "cpu", graph=graph.id)
    factors = 1 + 4 * calls.features[:, EXPLICIT]
    seconds = calls.count * (roofline_seconds(known) * factors)[calls.call]
    times = 1 + np.bincount(calls.layout, seconds, minlength=count) / 1e-4
    return replace(known, labels=np.log(times), schedules=("",) * count)
