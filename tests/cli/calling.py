"""What a command answered."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

NAMES = ["breaks/subgraph_0", "breaks/subgraph_1", "gpt_cuda", "noisy", "residual"]


@dataclass(frozen=True)
class Answer:
    """What a command printed, and its exit code."""

    code: int
    out: str
    err: str


Cli = Callable[..., Answer]
