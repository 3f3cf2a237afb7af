"""Run work on an untrusted graph in a confined process."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from graph_net.graph import GraphError
from graph_net.isolate import Died, Limits, Raised, Sandbox, call

SECONDS = 600
LIBRARIES = 16 << 30
"""Bytes of address space that frameworks reserve for themselves and their threads."""


def run_confined(
    work: Callable[[], Any],
    *,
    seconds: int = SECONDS,
    gigabytes: float = 16.0,
    device: str = "cpu",
) -> Any:
    """Run ``work`` in a confined process and return its result, which must be JSON.

    Raises GraphError for its errors, and for its death.
    """
    most = None if device != "cpu" else LIBRARIES + int(gigabytes * 2**30)
    try:
        expected, answer = call(
            lambda: _call_or_message(work), Limits(seconds, most), Sandbox(device=device)
        )
    except Raised as error:
        raise GraphError(str(error)) from error
    except Died as error:
        raise GraphError(f"the process that ran this graph died: {error}") from error
    if not expected:
        raise GraphError(answer)
    return answer


def _call_or_message(work: Callable[[], Any]) -> tuple[bool, Any]:
    """Return True and the result, or False and the message of an expected error."""
    if "torch" in sys.modules:  # its threads are not in this forked process
        import torch

        torch.set_num_threads(1)
    try:
        return True, work()
    except (ValueError, OSError) as error:
        return False, str(error)
