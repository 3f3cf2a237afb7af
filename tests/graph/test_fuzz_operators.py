"""No allowed call kills its process, whatever arguments it is given."""

from __future__ import annotations

import os
import random
import signal

import pytest
from tools import fuzz_operators
from tools.fuzz_operators import Call, calls, fuzz, targets
from tools.hostile_arguments import arguments_for

ROUNDS = 4
"""Calls of each target; ``python -m tools.fuzz_operators`` makes as many as there is time for."""


def test_every_target_that_a_graph_may_call_comes_back() -> None:
    names = targets()
    assert len(names) > 2000
    deaths = fuzz(calls(ROUNDS * len(names), 1, names))
    assert [f"{death.how}: {death.call.target}={death.call.seed}" for death in deaths] == []


def test_a_call_that_kills_its_process_is_named_and_the_rest_are_made(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made = fuzz_operators.make

    def make(call: Call) -> None:
        if call.seed == "3":
            os.kill(os.getpid(), signal.SIGSEGV)
        made(call)

    monkeypatch.setattr(fuzz_operators, "make", make)
    series = [Call("aten.relu.default", str(i)) for i in range(8)]
    deaths = list(fuzz(series))
    assert [(death.call.seed, death.how) for death in deaths] == [("3", "SIGSEGV")]


def test_a_seed_repeats_a_call() -> None:
    target = "aten.conv2d.default"
    first, again = (repr(arguments_for(target, random.Random("7"))) for _ in range(2))  # noqa: S311
    assert first == again
