"""Timed calls looked at again: is what they gave right for the inputs they had?

Which calls are looked at is drawn from the system's randomness after each sample. A call that gives
an earlier call's result, or none of its own, is as far from eager as other inputs would put it.
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
from graph_net.measure.changing_inputs import ChangingInputs, Places
from graph_net.measure.framework import Framework
from graph_net.measure.plain_outputs import plain_outputs
from graph_net.measure.verify import Reference, check
from graph_net.results import Failure, Output, Stage, Symptom

CHECKS, LEAST = 8, 3
MOST_BYTES = 128 << 20
"""What may be held of results until they are looked at; two are held in any case."""
WHAT = "a timed call with other inputs"
FAR = 0.1
"""An error of this part of what other inputs change is no rounding …"""
WORSE = 10.0
"""… if it is also so many times the error of the first call, which was verified."""


@dataclass(frozen=True)
class _Kept:
    leaves: list[Any]
    places: Places
    calls: int


@dataclass(frozen=True)
class Stray:
    """An output that is farther from eager's than rounding explains."""

    position: int
    error: float
    change: float
    whole: bool
    """Whether it is made of whole numbers, of which a near tie may change many."""


class TimedInputs:
    """Inputs of the timed calls, and results of a few of these calls, drawn by lot."""

    def __init__(
        self, graph: Graph, given: Sequence[Any], places: Sequence[int], host: Framework
    ) -> None:
        self._random = SystemRandom()
        self._made_of = (graph, given, places, self._random.getrandbits(62))
        self._host = host
        self._changing = ChangingInputs(*self._made_of, 1)
        self._places: Places = ()
        self._kept: list[_Kept] = []
        self._seen = 0
        self.turn = self._changing.turn

    def prepare(self, calls: int) -> None:
        """Make tensors for so many calls."""
        if calls > 1:
            self._changing = ChangingInputs(*self._made_of, calls)

    def renew(self, calls: int) -> None:
        """Give the next so many calls inputs of other values."""
        self._places = self._changing.renew(self._random, calls)
        self.turn = self._changing.turn

    def keep(self, result: Any, calls: int) -> None:
        """Hold a copy of a result, each as likely as the others (a reservoir)."""
        given = plain_outputs(result)
        self._seen += 1
        room = CHECKS
        if self._kept:
            held = sum(_bytes(leaf) for leaf in self._kept[0].leaves)
            room = max(2, min(CHECKS, MOST_BYTES // max(1, held)))
        place = len(self._kept) if self._seen <= room else self._random.randrange(self._seen)
        if place >= room:
            return
        leaves = [_copied(self._host.seen(leaf)) for leaf in given]
        self._kept[place : place + 1] = [_Kept(leaves, self._places, calls)]

    def check(
        self,
        eager: Callable[[list[Any]], Any],
        restore: Callable[[], None],
        expected: Reference,
        verified: tuple[Output, ...],
        seconds: float,
    ) -> tuple[tuple[Output, ...], Failure | None]:
        """The outputs of one of the calls, and a failure where some are not of their inputs.

        A few calls are looked at in any case, more of them for so many seconds, and all that are
        held where one is suspicious.
        """
        outputs: tuple[Output, ...] = ()
        strays: list[Stray] = []
        began, looked_at = time.monotonic(), 0
        for number, kept in enumerate(self._kept):
            late = time.monotonic() - began > seconds
            if number >= LEAST and late and not strays:
                break
            looked_at += 1
            self._changing.fill(kept.places, kept.calls)
            restore()
            result = flat_outputs(eager(self._changing.last(kept.calls)))
            wanted = [self._host.seen(leaf) for leaf in result]
            if number == 0:
                outputs, failure = _checked(kept.leaves, wanted, expected, verified)
                if failure is not None:
                    return outputs, failure
            stray = find_stray(kept.leaves, wanted, expected.outputs, verified)
            strays += [] if stray is None else [stray]
        return outputs, failure_of(strays, looked_at)


def find_stray(
    found: Sequence[Any], wanted: Sequence[Any], first: Sequence[Any], verified: Sequence[Output]
) -> Stray | None:
    """The first output of a call that is not what its inputs make it.

    ``first`` is what eager gave for other inputs, ``verified`` how far the candidate was from it.
    """
    figures = iter(verified)
    for position, (leaf, want, before) in enumerate(zip(found, wanted, first, strict=False)):
        own = next(figures, None) if leaf is not None else None
        if not all(isinstance(each, torch.Tensor) for each in (leaf, want, before)):
            continue
        if not leaf.shape == want.shape == before.shape or leaf.dtype != want.dtype:
            continue
        error, change = _mean_distance(leaf, want), _mean_distance(before, want)
        usual = 0.0 if own is None or own.mean_abs is None else own.mean_abs
        whole = not (leaf.is_floating_point() or leaf.is_complex())
        if change > 0 and error > FAR * change and (whole or error > WORSE * usual):
            return Stray(position, error, change, whole)
    return None


def failure_of(strays: Sequence[Stray], looked_at: int, what: str = WHAT) -> Failure | None:
    """A failure where more calls stray than chance explains: two, of whole numbers most."""
    most = looked_at / 2 if strays and all(stray.whole for stray in strays) else 1.0
    if not strays or len(strays) <= min(most, looked_at - 1):
        return None
    worst = max(strays, key=lambda stray: stray.error / stray.change)
    why = (
        f"{what}: output {worst.position} is {worst.error:.3g} from eager's"
        f" on average, where these inputs change it by {worst.change:.3g} (in {len(strays)} of"
        f" {looked_at} calls looked at)"
    )
    return Failure(Stage.VERIFY, Symptom.NUMERIC, why)


def _checked(
    found: list[Any], wanted: list[Any], expected: Reference, verified: tuple[Output, ...]
) -> tuple[tuple[Output, ...], Failure | None]:
    """As ``check``; there is no float64 run for these inputs, so the figures of the first stay."""
    # Inputs that the call changed are compared after the first call only.
    rest = expected.outputs[len(wanted) :]
    here = replace(expected, outputs=(*wanted, *rest), exact=None)
    outputs, failure = check([*found, *rest], here)
    if failure is not None:
        return outputs, replace(
            failure, message=f"a timed call with other inputs: {failure.message}"
        )
    merged = (
        replace(new, t_exact=old.t_exact, eager_t_exact=old.eager_t_exact)
        for new, old in zip(outputs, verified, strict=True)
    )
    return tuple(merged), None


def _mean_distance(first: torch.Tensor, second: torch.Tensor) -> float:
    """How far apart two tensors are on average, where both are finite."""
    if not (first.is_floating_point() or first.is_complex()):
        return float((first != second).double().mean()) if first.numel() else 0.0
    wide = torch.complex128 if first.is_complex() else torch.float64
    apart = (first.to(wide) - second.to(wide)).abs()
    finite = apart[apart.isfinite()]
    return float(finite.mean()) if finite.numel() else 0.0


def _copied(leaf: Any) -> Any:
    return leaf.detach().clone() if isinstance(leaf, torch.Tensor) else leaf


def _bytes(leaf: Any) -> int:
    return leaf.numel() * leaf.element_size() if isinstance(leaf, torch.Tensor) else 0
