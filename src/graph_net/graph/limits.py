"""Bounds on what an untrusted graph may cost to read."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class GraphLimits:
    """Bounds on untrusted graphs; the defaults are an order of magnitude above real ones.

    The largest public GraphNet sample has 9,957 statements and 3,246 arguments; the largest
    TpuGraphs graph here has 21,918 nodes. ``tokens`` bounds one piece of source before it is
    parsed: the longest ``model.py`` of the shipped corpus has 794,169.
    """

    bytes: int = 64 << 20
    nodes: int = 250_000
    inputs: int = 100_000
    depth: int = 32
    atoms: int = 5_000_000
    tokens: int = 1_500_000
    literal: int = 65_536
    text: int = 65_536
    tensor_elements: int = 1 << 40
    call_bytes: int = 1 << 34


DEFAULT_LIMITS = GraphLimits()
