"""Checks of timed calls: are their results right for the inputs they had?

Which calls are checked is drawn from the system's randomness after each sample. A call that returns
an earlier call's result is as far from eager as other inputs would put it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from random import SystemRandom
from typing import Any

import torch

from graph_net.graph import Graph
from graph_net.graph.outputs import flat_outputs
from graph_net.measure.changing_inputs import ChangingInputs, Windows
from graph_net.measure.framework import Framework
from graph_net.measure.plain_outputs import leaf_bytes, plain_outputs
from graph_net.measure.verify import Reference, check_outputs
from graph_net.results import Failure, Output, Stage, Symptom

CHECKS, LEAST = 8, 3
MOST_BYTES = 128 << 20
"""Bytes of results held until they are checked; two are always held."""
TIMED_CALL = "a timed call with other inputs"
FAR = 0.1
"""The largest error that counts as rounding, as a share of the change by other inputs."""
WORSE = 10.0
"""A larger error counts only beyond this many times the first call's error (except integers)."""


@dataclass(frozen=True)
class _HeldCall:
    leaves: list[Any]
    windows: Windows
    calls: int


@dataclass(frozen=True)
class Stray:
    """An output farther from eager's than rounding explains."""

    position: int
    error: float
    change: float
    whole: bool
    """Whether its elements are integers, of which a near tie may change many."""


class TimedInputs:
    """Inputs of the timed calls, and the results of a few of these calls, chosen at random."""

    def __init__(
        self, graph: Graph, values: Sequence[Any], changing: Sequence[int], host: Framework
    ) -> None:
        self._random = SystemRandom()
        self._made_of = (graph, values, changing, self._random.getrandbits(62))
        self._host = host
        self._changing = ChangingInputs(*self._made_of, 1)
        self._windows: Windows = ()
        self._held: list[_HeldCall] = []
        self._count = 0
        self.turn = self._changing.turn

    def prepare(self, calls: int) -> None:
        """Make tensors for this many calls."""
        if calls > 1:
            self._changing = ChangingInputs(*self._made_of, calls)

    def renew(self, calls: int) -> None:
        """Give the next calls inputs of other values."""
        self._windows = self._changing.renew(self._random, calls)
        self.turn = self._changing.turn

    def observe(self, result: Any, calls: int) -> None:
        """Hold a copy of a result, each as likely as the others (a reservoir)."""
        outputs = plain_outputs(result)
        self._count += 1
        room = CHECKS
        if self._held:
            size = sum(map(leaf_bytes, self._held[0].leaves))
            room = max(2, min(CHECKS, MOST_BYTES // max(1, size)))
        slot = len(self._held) if self._count <= room else self._random.randrange(self._count)
        if slot >= room:
            return
        leaves = [_copy(self._host.to_torch(leaf)) for leaf in outputs]
        self._held[slot : slot + 1] = [_HeldCall(leaves, self._windows, calls)]

    def check(
        self,
        eager: Callable[[list[Any]], Any],
        restore: Callable[[], None],
        expected: Reference,
        verified: tuple[Output, ...],
        seconds: float,
    ) -> tuple[tuple[Output, ...], Failure | None]:
        """Return the outputs of one call, and a failure if results do not follow their inputs.

        A few calls are always checked, more while ``seconds`` last, and all that are held if one
        is suspicious.
        """
        outputs: tuple[Output, ...] = ()
        strays: list[Stray] = []
        began, checked = time.monotonic(), 0
        for call in self._held:
            late = time.monotonic() - began > seconds
            if checked >= LEAST and late and not strays:
                break
            self._changing.fill(call.windows, call.calls)
            restore()
            result = flat_outputs(eager(self._changing.last(call.calls)))
            wanted = [self._host.to_torch(leaf) for leaf in result]
            if checked == 0:
                outputs, failure = _check_first(call.leaves, wanted, expected, verified)
                if failure is not None:
                    return outputs, failure
            checked += 1
            stray = find_stray(call.leaves, wanted, expected.outputs, verified)
            strays += [] if stray is None else [stray]
        return outputs, failure_of(strays, checked)


def find_stray(
    leaves: Sequence[Any], wanted: Sequence[Any], first: Sequence[Any], verified: Sequence[Output]
) -> Stray | None:
    """Return the first output of a call that does not follow from its inputs.

    ``first`` are eager's outputs for other inputs, ``verified`` the candidate's errors there.
    """
    figures = iter(verified)
    for position, (leaf, want, before) in enumerate(zip(leaves, wanted, first, strict=False)):
        own = next(figures, None) if leaf is not None else None
        if not all(isinstance(value, torch.Tensor) for value in (leaf, want, before)):
            continue
        if not leaf.shape == want.shape == before.shape or leaf.dtype != want.dtype:
            continue
        error, change = _mean_distance(leaf, want), _mean_distance(before, want)
        usual = 0.0 if own is None or own.mean_abs is None else own.mean_abs
        whole = not (leaf.is_floating_point() or leaf.is_complex())
        if change > 0 and error > FAR * change and (whole or error > WORSE * usual):
            return Stray(position, error, change, whole)
    return None


def failure_of(strays: Sequence[Stray], checked: int, call: str = TIMED_CALL) -> Failure | None:
    """Return a failure if more calls stray than chance explains: two; for integers, most."""
    most = checked / 2 if strays and all(stray.whole for stray in strays) else 1.0
    if not strays or len(strays) <= min(most, checked - 1):
        return None
    worst = max(strays, key=lambda stray: stray.error / stray.change)
    why = (
        f"{call}: output {worst.position} is {worst.error:.3g} from eager's"
        f" on average, where these inputs change it by {worst.change:.3g} (in {len(strays)} of"
        f" {checked} calls looked at)"
    )
    return Failure(Stage.VERIFY, Symptom.NUMERIC, why)


def _check_first(
    leaves: list[Any], wanted: list[Any], expected: Reference, verified: tuple[Output, ...]
) -> tuple[tuple[Output, ...], Failure | None]:
    """Compare as ``check_outputs``; the float64 figures stay those of the first inputs."""
    # Inputs that the call changed are compared after the first call only.
    rest = expected.outputs[len(wanted) :]
    here = replace(expected, outputs=(*wanted, *rest), exact=None)
    outputs, failure = check_outputs([*leaves, *rest], here)
    if failure is not None:
        return outputs, replace(failure, message=f"{TIMED_CALL}: {failure.message}")
    merged = (
        replace(new, t_exact=old.t_exact, eager_t_exact=old.eager_t_exact)
        for new, old in zip(outputs, verified, strict=True)
    )
    return tuple(merged), None


def _mean_distance(first: torch.Tensor, second: torch.Tensor) -> float:
    """Return the mean distance of two tensors, where both are finite."""
    if not (first.is_floating_point() or first.is_complex()):
        return float((first != second).double().mean()) if first.numel() else 0.0
    wide = torch.complex128 if first.is_complex() else torch.float64
    apart = (first.to(wide) - second.to(wide)).abs()
    finite = apart[apart.isfinite()]
    return float(finite.mean()) if finite.numel() else 0.0


def _copy(leaf: Any) -> Any:
    return leaf.detach().clone() if isinstance(leaf, torch.Tensor) else leaf
