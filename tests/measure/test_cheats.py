"""Whoever does not compute is no success, however fast it looks; whoever does, is."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from graph_net.graph import Graph
from graph_net.results import Record, Stage, Symptom
from graph_net.testing.models import case_graph, graph_of
from measure.asking import QUICK, measured, small_graph, task

CHEATS = Path(__file__).with_name("some_cheats.py")
BLOCKS = replace(QUICK, min_blocks=8, max_blocks=8)
"""As many samples as a measurement takes at least: a memory needs calls to remember."""
LOOKED_AT = "a timed call with other inputs"
EXPECTED = {
    "RemembersTheFirst": (Stage.VERIFY, Symptom.NUMERIC, LOOKED_AT),
    "RemembersByAddress": (Stage.VERIFY, Symptom.NUMERIC, LOOKED_AT),
    "RemembersByAPeek": (Stage.VERIFY, Symptom.NUMERIC, LOOKED_AT),
    "SkipsWhenTimed": (Stage.VERIFY, Symptom.NUMERIC, LOOKED_AT),
    "GarbageLater": (Stage.VERIFY, Symptom.NUMERIC, LOOKED_AT),
    "BribesTheVerifier": (Stage.VERIFY, Symptom.NUMERIC, "a call for its parent's own inputs"),
    "FixesTheInputs": (Stage.MEASURE, Symptom.INFRASTRUCTURE, "the worker changed other inputs"),
    "SaysNoMore": (Stage.MEASURE, Symptom.IMPOSSIBLE, "the worker did not show its parent"),
    "ComputesWhenLookedAt": (
        Stage.MEASURE,
        Symptom.EXCEPTION,
        "Deferred: returned a tensor of class",
    ),
    "ComputesWhenCounted": (Stage.MEASURE, Symptom.EXCEPTION, "Deferred: returned a list of class"),
    "DiesWhenAsked": (Stage.MEASURE, Symptom.CRASH, "died of SIGSEGV"),
}
TINY = {"BribesTheVerifier", "FixesTheInputs"}
"""Cheats on a graph that takes no time: nothing about their speed is impossible."""


def cheat(name: str) -> str:
    return f"{CHEATS}:{name}"


def wide_graph(width: int = 192) -> Graph:
    """Layers that take some tenths of a millisecond; a call is much longer than a look-up."""
    with torch.random.fork_rng():
        torch.manual_seed(1)
        layers = [torch.nn.Linear(width, width), torch.nn.Tanh()] * 3
        return graph_of(torch.nn.Sequential(*layers), (torch.randn(48, width),), name="wide")


@pytest.fixture(scope="module")
def records() -> dict[str, Record]:
    """One run over all cheats."""
    found = measured(
        task(cheat(name), small_graph(32) if name in TINY else wide_graph(), protocol=BLOCKS)
        for name in EXPECTED
    )
    return {record.config.name.rpartition(":")[2]: record for record in found}


@pytest.mark.parametrize("name", EXPECTED)
def test_a_cheat_is_a_failure(name: str, records: dict[str, Record]) -> None:
    failure = records[name].failure
    assert failure is not None, records[name].timing
    stage, symptom, begins = EXPECTED[name]
    assert (failure.stage, failure.symptom) == (stage, symptom), failure.message
    assert failure.message.startswith(begins)


@pytest.mark.parametrize("name", ["SlowsTheClock", "StopsTheClock"])
def test_a_clock_that_lies_is_no_success(name: str) -> None:
    """It is caught by the parent's clock, by noise, or by a time that no machine can reach."""
    protocol = replace(BLOCKS, noise_limit=1.9)
    (record,) = measured([task(cheat(name), wide_graph(640), protocol=protocol)])
    assert record.failure is not None
    assert record.failure.symptom in (Symptom.IMPOSSIBLE, Symptom.TOO_NOISY)
    assert re.match("the worker's clock says |.* no machine of this kind", record.failure.message)


def test_no_machine_computes_so_fast() -> None:
    """A verifier that is bribed says that nothing is wrong; the time is all there is to see."""
    model = torch.nn.Linear(1024, 1024)
    large = graph_of(model, (torch.randn(1024, 1024),), name="large")
    (record,) = measured([task(cheat("BribesTheVerifier"), large)])
    assert record.failure is not None
    assert (record.failure.stage, record.failure.symptom) == (Stage.MEASURE, Symptom.IMPOSSIBLE)
    assert "where no machine of this kind needs less than" in record.failure.message


@pytest.mark.parametrize("compiler", ["eager", "inductor", "onnxruntime"])
def test_who_computes_is_a_success(compiler: str) -> None:
    graphs = [wide_graph()] if compiler == "inductor" else [wide_graph(), case_graph("residual")]
    for record in measured(task(compiler, graph, protocol=BLOCKS) for graph in graphs):
        assert record.failure is None, record.failure
        # As many as are in a batch; on a busy machine a batch may be one call.
        assert int(str(record.environment["checked_by_parent"])) >= 1
        assert record.t is not None
        assert record.t < -3


def test_a_graph_that_changes_its_inputs_is_checked_by_the_parent() -> None:
    (record,) = measured([task("eager", graph_of(Counts(), (torch.randn(64),)))])
    assert record.failure is None
    assert record.environment["checked_by_parent"] == 1
    assert record.t == -64.0


class Counts(torch.nn.Module):
    total: torch.Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("total", torch.zeros(64))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.total.add_(x)
        x.mul_(2)
        return self.total * x
