"""The collector of Triton programs: turns, limits, what fails and what a failure costs."""

import json
import os
import signal
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from graph_net.isolate.worker import Retire
from graph_net.programs.formats.collected import device_of
from graph_net.programs.triton import H200
from graph_net.programs.triton.bench import (
    NoRoom,
    TooSlow,
    WrongAnswer,
    failure_of,
)
from graph_net.programs.triton.benches import Benches
from graph_net.programs.triton.collect import HOPELESS, TURN, ask_process, plan
from graph_net.programs.triton.family import Family
from graph_net.programs.triton.workers import Handle, PendingProgram, compile_failure
from graph_net.results import Failure, Stage, Symptom, canonical
from programs.triton.triton_collecting import (
    WORKS,
    collect,
    compiles,
    failures,
    good,
    is_first,
    programs,
)


def test_every_program_is_measured_once_and_read_back(tmp_path: Path) -> None:
    collector = collect(tmp_path / "out.jsonl.gz")
    found = programs(tmp_path / "out.jsonl.gz")
    assert len({(program.task.hash, program.schedule) for program in found}) == 18
    assert collector.tally.good == 18
    one = found[0]
    assert one.task.format == "triton"
    assert one.costs[1] == 2e-4
    assert one.seconds == pytest.approx(0.51)
    details = json.loads(one.task.details)
    assert details["weights"] == {"mobilenet_v2-32x224": 1}
    assert canonical(details["module"]) == WORKS[0].workload.module
    assert json.loads(one.extra) == {
        "device": {"name": "a stand-in"},
        "compiled": 0.5,
        "loaded": 0.003,
        "registers": 64,
        "spills": 0,
        "shared": 1024,
    }
    assert json.loads(one.task.target) == json.loads(H200.text)
    assert device_of(tmp_path / "out.jsonl.gz") == "NVIDIA H200"
    assert not any("device" in json.loads(program.extra) for program in found[1:])


def test_workloads_take_turns() -> None:
    pieces = plan(WORKS, H200.text, TURN + 1, Counter())
    places = [piece.place for piece in pieces if not piece.again]
    assert places == [place for place in range(6) for _ in range(TURN)] + [*range(6)]


def test_some_programs_come_twice_when_all_others_had_their_turns() -> None:
    pieces = list(plan(WORKS, H200.text, 12 * TURN, Counter()))
    first = {
        (piece.place, piece.schedule): at for at, piece in enumerate(pieces) if not piece.again
    }
    twice = [(at, piece) for at, piece in enumerate(pieces) if piece.again]
    assert 3 <= len(twice) <= 40
    assert len({(piece.place, piece.schedule) for _, piece in twice}) == len(twice)
    for at, piece in twice:
        between = {other.place for other in pieces[first[piece.place, piece.schedule] + 1 : at]}
        assert between == set(range(len(WORKS)))


def test_what_was_measured_twice_does_not_come_a_third_time() -> None:
    every = list(plan(WORKS, H200.text, 12 * TURN, Counter()))
    keys = [(WORKS[piece.place].workload.hash, piece.schedule) for piece in every]
    assert list(plan(WORKS, H200.text, 12 * TURN, Counter(keys))) == []
    once = list(plan(WORKS, H200.text, 12 * TURN, Counter(set(keys))))
    assert once == [piece for piece in every if piece.again]


def test_a_compiler_that_hangs_costs_one_program(tmp_path: Path) -> None:
    def hangs(piece: PendingProgram) -> dict[str, Any]:
        if is_first(piece):
            time.sleep(600)
        return compiles(piece)

    collect(tmp_path / "out.jsonl.gz", compile=hangs, limit=1)
    assert len(programs(tmp_path / "out.jsonl.gz")) == 18
    (failure,) = failures(tmp_path / "out.jsonl.gz")
    assert (failure.stage, failure.symptom) == (Stage.COMPILE, Symptom.TIMEOUT)


def test_a_compiler_that_dies_costs_one_program(tmp_path: Path) -> None:
    def dies(piece: PendingProgram) -> dict[str, Any]:
        if is_first(piece):
            os.kill(os.getpid(), signal.SIGUSR2)
        return compiles(piece)

    collect(tmp_path / "out.jsonl.gz", compile=dies)
    assert len(programs(tmp_path / "out.jsonl.gz")) == 18
    (failure,) = failures(tmp_path / "out.jsonl.gz")
    assert (failure.symptom, failure.signal) == (Symptom.CRASH, signal.SIGUSR2)


def test_a_compiler_that_somebody_killed_is_tried_again(tmp_path: Path) -> None:
    def killed(piece: PendingProgram) -> dict[str, Any]:
        if is_first(piece):
            os.kill(os.getpid(), signal.SIGKILL)
        return compiles(piece)

    path = tmp_path / "out.jsonl.gz"
    collect(path, compile=killed)
    assert (len(programs(path)), failures(path)) == (17, [])
    collect(path, done=[path])
    assert (len(programs(path)), failures(path)) == (18, [])


def test_a_poisoned_gpu_gets_a_new_process_and_its_program_a_failure(tmp_path: Path) -> None:
    seen = tmp_path / "processes"
    seen.mkdir()

    def poisons(piece: PendingProgram) -> dict[str, Any]:
        (seen / str(os.getpid())).touch()
        if is_first(piece):
            failure = Failure(Stage.FIRST_RUN, Symptom.EXCEPTION, "an illegal memory access")
            raise Retire({"failure": failure})
        return good(piece)

    collect(tmp_path / "out.jsonl.gz", measure=poisons)
    (failure,) = failures(tmp_path / "out.jsonl.gz")
    assert failure.message == "an illegal memory access"
    assert len(programs(tmp_path / "out.jsonl.gz")) == 18
    assert len(list(seen.iterdir())) == 2


def test_a_failure_in_the_compiler_is_not_measured(tmp_path: Path) -> None:
    failure = Failure(Stage.COMPILE, Symptom.UNSUPPORTED, "too much shared memory")

    def fails(piece: PendingProgram) -> dict[str, Any]:
        return {"failure": failure}

    def measured(piece: PendingProgram) -> dict[str, Any]:
        raise AssertionError("it was not compiled")

    collector = collect(tmp_path / "out.jsonl.gz", compile=fails, measure=measured)
    assert failures(tmp_path / "out.jsonl.gz") == [failure] * 18
    assert "18 compile unsupported" in collector.tally.table()


def test_a_gpu_that_never_works_ends_the_run(tmp_path: Path) -> None:
    def broken(piece: PendingProgram) -> dict[str, Any]:
        raise RuntimeError("no driver")

    collector = collect(tmp_path / "out.jsonl.gz", measure=broken)
    assert collector.lost == HOPELESS
    assert collector.tally.good == 0
    assert "RuntimeError: no driver" in collector.tally.table()


def test_what_the_machine_is_to_blame_for_is_tried_again(tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl.gz"

    def full(piece: PendingProgram) -> dict[str, Any]:
        return {"failure": failure_of(NoRoom("no room"))} if is_first(piece) else good(piece)

    collector = collect(path, measure=full)
    assert len(programs(path)) == 17
    assert "1 load infrastructure" in collector.tally.table()
    collect(path, done=[path])
    assert len(programs(path)) == 18
    assert not failures(path)


def test_few_workloads_have_their_data_on_the_gpu() -> None:
    made: list[str] = []

    def make(family: Family) -> Any:
        made.append(family.module["kernel"])
        return object()

    benches = Benches(WORKS, H200.text, make, most=2)
    first, second = benches.of(0), benches.of(1)
    assert benches.of(0) == first
    benches.of(2)  # the second makes room
    assert benches.of(0) == first
    assert len(made) == 3
    assert benches.of(1) != second
    assert len(made) == 4


def test_data_that_does_not_fit_lets_go_of_the_rest() -> None:
    full = type("OutOfMemoryError", (RuntimeError,), {})
    made: list[Family] = []

    def make(family: Family) -> Any:
        made.append(family)
        if len(made) == 2:
            raise full("CUDA out of memory")
        return object()

    benches = Benches(WORKS, H200.text, make)
    first = benches.of(0)
    with pytest.raises(NoRoom, match="no room for the data of"):
        benches.of(1)
    assert benches.of(0) != first


def test_the_end_of_its_time_ends_it(tmp_path: Path) -> None:
    def slow(piece: PendingProgram) -> dict[str, Any]:
        time.sleep(0.2)
        return good(piece)

    collect(tmp_path / "out.jsonl.gz", measure=slow, seconds=1.0, each=50)
    assert 0 < len(programs(tmp_path / "out.jsonl.gz")) < 300


def test_the_best_time_so_far_is_passed_on(tmp_path: Path) -> None:
    def tells(piece: PendingProgram) -> dict[str, Any]:
        return {**good(piece), "details": {"best": piece.best}}

    collect(tmp_path / "out.jsonl.gz", measure=tells)
    of_first = [p for p in programs(tmp_path / "out.jsonl.gz") if p.task.workload == _first()]
    assert [json.loads(p.extra)["best"] for p in of_first] == [None, *[pytest.approx(1.5e-4)] * 2]


def _first() -> str:
    return WORKS[0].workload.hash


def test_torch_is_compared_with(tmp_path: Path) -> None:
    def compared(piece: PendingProgram) -> dict[str, Any]:
        late = piece.place == 0
        return {**good(piece), "baseline": [3e-4] * 3, "baseline_overtaken": late}

    collector = collect(tmp_path / "out.jsonl.gz", measure=compared)
    assert len(programs(tmp_path / "out.jsonl.gz")) == 18
    assert set(collector.tally.torch) == set(range(6))
    extra = [json.loads(program.extra) for program in programs(tmp_path / "out.jsonl.gz")]
    assert all(one["torch"] == [3e-4] * 3 for one in extra)
    assert sum("torch_overtaken" in one for one in extra) == 3
    assert "TFLOP/s" in collector.tally.table()


def test_times_that_count_waiting_are_marked(tmp_path: Path) -> None:
    def late(piece: PendingProgram) -> dict[str, Any]:
        return {**good(piece), "details": {"overtaken": True}} if is_first(piece) else good(piece)

    collector = collect(tmp_path / "out.jsonl.gz", measure=late)
    found = programs(tmp_path / "out.jsonl.gz")
    assert [json.loads(one.extra).get("overtaken") for one in found].count(True) == 1
    assert "overtaken: 1 programs" in collector.tally.table()


def test_a_process_that_cannot_start_says_why() -> None:
    def make() -> Handle:
        raise ImportError("no triton here")

    assert "no triton here" in str(ask_process(make, "anything", 10).death)


def test_failures_are_told_apart() -> None:
    assert failure_of(WrongAnswer("3 of 4")).symptom is Symptom.NUMERIC
    assert failure_of(TooSlow("1 s")).stage is Stage.FIRST_RUN
    assert failure_of(NoRoom("full")).symptom is Symptom.INFRASTRUCTURE
    out_of = type("OutOfResources", (Exception,), {})
    assert failure_of(out_of("shared memory")).symptom is Symptom.UNSUPPORTED
    assert failure_of(RuntimeError("illegal access")).stage is Stage.FIRST_RUN
    assert compile_failure(ValueError("at 3:4\nlong\nbad dot")).message == (
        "ValueError: at 3:4 … bad dot"
    )
