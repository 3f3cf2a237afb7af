"""What a verb does with a graph that may be a stranger's, in a confined process."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from graph_net.graph import GraphError
from graph_net.isolate import Died, Limits, Raised, Sandbox, call

SECONDS = 600
LIBRARIES = 16 << 30
"""Bytes of addresses that frameworks take for themselves and their threads."""


def run_confined(
    work: Callable[[], Any],
    *,
    seconds: int = SECONDS,
    gigabytes: float = 16.0,
    device: str = "cpu",
) -> Any:
    """Return what ``work`` gives, something JSON can hold, from a confined process.

    Its errors, and its death, are GraphErrors here.
    """
    most = None if device != "cpu" else LIBRARIES + int(gigabytes * 2**30)
    try:
        foreseen, answer = call(
            lambda: _foreseen(work), Limits(seconds, most), Sandbox(device=device)
        )
    except Raised as error:
        raise GraphError(str(error)) from error
    except Died as error:
        raise GraphError(f"the process that ran this graph gave nothing: {error}") from error
    if not foreseen:
        raise GraphError(answer)
    return answer


def _foreseen(work: Callable[[], Any]) -> tuple[bool, Any]:
    """The answer, or the sentence of an error that is told without its class."""
    if "torch" in sys.modules:  # its threads, if it has any, are not in this process
        import torch

        torch.set_num_threads(1)
    try:
        return True, work()
    except (ValueError, OSError) as error:
        return False, str(error)
