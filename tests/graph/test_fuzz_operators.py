"""No allowed call kills its process, whatever arguments it is given."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys

import pytest
from tools import fuzz_operators
from tools.fuzz_operators import Call, fuzz, targets
from tools.hostile_arguments import arguments_for

ROUNDS = 1
"""Calls of each target; ``python -m tools.fuzz_operators`` makes as many as there is time for."""


def test_every_target_that_a_graph_may_call_comes_back() -> None:
    """In a process of its own: kernels crash in forks of one whose threads have computed."""
    count = len(targets())
    assert count > 2000
    command = [sys.executable, "-m", "tools.fuzz_operators", "--calls", str(ROUNDS * count)]
    done = subprocess.run([*command, "--seed", "1"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


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
