"""Whoever does not compute is no success, however fast it looks; whoever does, is."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from graph_net.graph import Graph
from graph_net.record import Record, Stage, Symptom
from graph_net.testing.models import graph_of
from measure.asking import QUICK, measured, task

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
}


def cheat(name: str) -> str:
    return f"{CHEATS}:{name}"


def wide_graph() -> Graph:
    """Layers that take some tenths of a millisecond; a call is much longer than a look-up."""
    with torch.random.fork_rng():
        torch.manual_seed(1)
        layers = [torch.nn.Linear(192, 192), torch.nn.Tanh()] * 3
        return graph_of(torch.nn.Sequential(*layers), (torch.randn(48, 192),), name="wide")


@pytest.fixture(scope="module")
def records() -> dict[str, Record]:
    """One run over all cheats."""
    found = measured(task(cheat(name), wide_graph(), protocol=BLOCKS) for name in EXPECTED)
    return {record.config.name.rpartition(":")[2]: record for record in found}


@pytest.mark.parametrize("name", EXPECTED)
def test_a_cheat_is_a_failure(name: str, records: dict[str, Record]) -> None:
    failure = records[name].failure
    assert failure is not None, records[name].timing
    stage, symptom, begins = EXPECTED[name]
    assert (failure.stage, failure.symptom) == (stage, symptom), failure.message
    assert failure.message.startswith(begins)
