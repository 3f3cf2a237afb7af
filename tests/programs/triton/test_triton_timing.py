"""Times on a GPU, with a stand-in for its queue: none may count waiting for the host."""

import pytest

from graph_net.programs.triton.timing import (
    ATTEMPTS,
    HEAD_START,
    HOPELESS,
    SHORT,
    Timed,
    TooSlow,
    costs_of,
    timed,
)


class Clock:
    """A GPU's queue: it gets ``ahead`` of the host at some of the events that are asked."""

    def __init__(self, ahead: list[bool]) -> None:
        self.ahead = ahead
        self.flushes = self.runs = 0
        self.took = 0.026879999786615372
        self.log: list[str] = []

    def zero_(self) -> None:
        self.flushes += 1

    def Event(self, enable_timing: bool) -> "Clock":
        return self

    def record(self) -> None:
        self.log.append("record")

    def query(self) -> bool:
        self.log.append("query")
        return self.ahead.pop(0)

    def elapsed_time(self, end: "Clock") -> float:
        return self.took

    def run(self) -> None:
        self.runs += 1
        self.log.append("run")


def timed_by(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> Timed:
    monkeypatch.setattr("torch.cuda.Event", clock.Event)
    monkeypatch.setattr("torch.cuda.synchronize", lambda: None)
    return timed(clock.run, 3, clock)  # type: ignore[arg-type]


def test_the_host_has_a_head_start(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock([False] * 3)
    assert timed_by(clock, monkeypatch) == Timed([2.688e-05] * 3)
    assert (clock.runs, clock.flushes) == (3, HEAD_START + 3)


def test_the_gpu_is_asked_when_all_of_a_run_is_queued(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock([False] * 3)
    timed_by(clock, monkeypatch)
    assert clock.log == ["record", "run", "record", "query"] * 3


def test_runs_that_the_gpu_waited_for_are_taken_again(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock([True, False, False, *[False] * 3])
    assert timed_by(clock, monkeypatch) == Timed([2.688e-05] * 3)
    assert clock.runs == 6
    late = Clock([True] * 3 * ATTEMPTS)
    assert timed_by(late, monkeypatch) == Timed([2.688e-05] * 3, overtaken=True)
    assert late.runs == 3 * ATTEMPTS


@pytest.mark.parametrize("overtaken", [True, False])
def test_a_program_is_given_up_for_its_own_time_alone(
    monkeypatch: pytest.MonkeyPatch, overtaken: bool
) -> None:
    clock = Clock([overtaken] * 99)
    clock.took = 1000 * SHORT * 2 * HOPELESS
    monkeypatch.setattr("torch.cuda.Event", clock.Event)
    monkeypatch.setattr("torch.cuda.synchronize", lambda: None)
    if overtaken:
        assert costs_of(clock.run, 1e9, 1e-3, clock).overtaken  # type: ignore[arg-type]
    else:
        with pytest.raises(TooSlow):
            costs_of(clock.run, 1e9, 1e-3, clock)  # type: ignore[arg-type]
