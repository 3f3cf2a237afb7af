"""Samples and records for the tests of scores."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from graph_net.results import (
    Config,
    ConfigKind,
    Device,
    Failure,
    Interval,
    Output,
    Record,
    Samples,
    Stage,
    Subject,
    Symptom,
    Timing,
    Verdict,
)
from graph_net.score import Fault, ScoredGraph

DEVICE = Device("cpu", "a processor", 2, 2, 1 << 30, "Linux", "3.11", {"torch": "2.13.0"})
CONFIG = Config(ConfigKind.COMPILER, "inductor", "2.13", {})

SPEEDUPS = st.floats(0.01, 100)
LEVELS = st.one_of(st.just(-64.0), st.floats(-12, 6))
FAULTS = st.sampled_from([fault for fault in Fault if fault is not Fault.NONE])


@st.composite
def some_samples(draw: st.DrawFn) -> ScoredGraph:
    if draw(st.booleans()):
        return ScoredGraph(draw(SPEEDUPS), draw(LEVELS))
    return ScoredGraph(draw(st.one_of(st.none(), SPEEDUPS)), None, draw(FAULTS))


def timing(speedup: float = 2.0) -> Timing:
    eager, candidate = Samples((speedup * 1e-3,) * 3), Samples((1e-3,) * 3)
    ratio = Interval(speedup, speedup, speedup)
    return Timing(eager, eager, candidate, ratio, Interval(1, 1, 1), Verdict.SAME)


def output(t: float | None, far: float | None = 1e-3) -> Output:
    return Output("float32", (2,), t, far, far, t_of=(t,) * 4)


def record(
    name: str,
    failure: tuple[Stage, Symptom] | None = None,
    speedup: float = 2.0,
    t: float | None = -5.5,
    **changes: Any,
) -> Record:
    """A record of a graph of that name: a success, or a failure as a worker would report it."""
    known: dict[str, Any] = {"subject": Subject(name, name, name, "timm", name, "vision")}
    known |= {"config": CONFIG, "device": DEVICE, "protocol": "p"}
    if failure is None:
        known |= {"timing": timing(speedup), "outputs": (output(t),)}
    else:
        stage, symptom = failure
        signal = 11 if symptom is Symptom.CRASH else None
        known["failure"] = Failure(stage, symptom, "RuntimeError: it went wrong", "", signal)
        known["environment"] = {"eager_outputs": [["float32", [2]]]}
        if symptom in (Symptom.NUMERIC, Symptom.NON_FINITE, Symptom.NONDETERMINISTIC):
            far = None if symptom is Symptom.NON_FINITE else 9.0
            known |= {"outputs": (output(None, far),), "timing": timing(speedup)}
        if symptom is Symptom.TOO_NOISY:
            known |= {"outputs": (output(-5.0),), "timing": timing(speedup)}
    return Record(**(known | changes))
