"""A death becomes a failure in one way, whoever measured."""

from __future__ import annotations

import signal

import pytest

from graph_net.isolate.deaths import (
    Death,
    Ending,
    death_from,
    held_more,
    oom_kills,
    raised,
    started_more,
    took_longer,
    wrote_garbage,
)
from graph_net.results import RETRIED, Stage, Symptom
from graph_net.results.death import failure_from


@pytest.mark.parametrize(
    ("death", "symptom", "message"),
    [
        (took_longer(30.0), Symptom.TIMEOUT, "compile took more than 30 s"),
        (held_more(1 << 30), Symptom.OUT_OF_MEMORY, "held more than the limit of 1.0 GiB"),
        (held_more(None), Symptom.OUT_OF_MEMORY, "the machine ran out of memory"),
        (started_more(9), Symptom.CRASH, "started more than 9 processes at compile"),
        (wrote_garbage("x"), Symptom.EXCEPTION, "wrote something that is not an answer: x"),
        (Death(Ending.EXCEPTION, "KeyError: 1"), Symptom.EXCEPTION, "KeyError: 1"),
        (Death(Ending.CRASH, "died of SIGILL", 4), Symptom.CRASH, "died of SIGILL at compile"),
        (Death(Ending.KILLED, "killed", 9), Symptom.INFRASTRUCTURE, "killed"),
    ],
)
def test_every_ending_has_its_symptom(death: Death, symptom: Symptom, message: str) -> None:
    failure = failure_from(death, Stage.COMPILE)
    assert (failure.stage, failure.symptom, failure.message) == (Stage.COMPILE, symptom, message)
    assert failure.signal == (death.signal if symptom is Symptom.CRASH else None)


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("MemoryError", ""),
        ("_ArrayMemoryError", "Unable to allocate 8.00 TiB"),
        ("OutOfMemoryError", "CUDA out of memory"),
        ("RuntimeError", "DefaultCPUAllocator: can't allocate memory: you tried"),
        ("OSError", "[Errno 12] Cannot allocate memory"),
    ],
)
def test_an_allocation_that_failed_is_out_of_memory_whoever_raises_it(
    kind: str, message: str
) -> None:
    death = raised(kind, message, 1 << 30)
    assert death.ending is Ending.OUT_OF_MEMORY
    assert death.reason.startswith(f"held more than the limit of 1.0 GiB ({kind}")
    assert raised("ValueError", "memory", 1).ending is Ending.EXCEPTION


def test_an_exit_before_anything_foreign_ran_is_not_the_compilers() -> None:
    ended = death_from(3 << 8, None, 0)
    assert ended.reason == "ended with status 3 and no answer"
    assert failure_from(ended, Stage.EAGER).symptom is Symptom.INFRASTRUCTURE
    assert failure_from(ended, Stage.COMPILE).symptom is Symptom.EXCEPTION


def test_a_kill_that_nobody_here_sent_is_measured_again() -> None:
    killed = death_from(signal.SIGKILL, None, oom_kills())
    assert killed.reason == "killed by a signal from outside (SIGKILL)"
    assert failure_from(killed, Stage.MEASURE).symptom in RETRIED


def test_an_alarm_is_the_limits_only_where_one_was_set() -> None:
    assert death_from(signal.SIGALRM, 5, 0).reason == "took more than 5 s"
    assert death_from(signal.SIGALRM, None, 0).reason == "died of SIGALRM"
