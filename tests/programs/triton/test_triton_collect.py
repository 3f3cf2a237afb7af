"""The collector of Triton programs: turns, limits, what fails and what a failure costs."""

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from graph_net.isolate.worker import Retire
from graph_net.programs.collection.collect import Collection
from graph_net.programs.collection.journal import ProgramJournal
from graph_net.programs.collection.plan import PendingProgram, Wanted
from graph_net.programs.formats.collected import device_of
from graph_net.programs.triton import H200
from graph_net.programs.triton.cuda_bench import HOPELESS, ask_process
from graph_net.programs.triton.family import Family
from graph_net.programs.triton.timing import TooSlow
from graph_net.programs.triton.workers import Handle, compile_failure
from graph_net.programs.triton.workload_data import NoRoom, WorkloadCache, WrongAnswer, failure_of
from graph_net.results import Failure, Stage, Symptom, canonical
from programs.triton.some_kernels import TASKS, TRAINED
from programs.triton.triton_collecting import (
    STAND_IN,
    bench_of,
    collect,
    compiles,
    failures,
    good,
    is_first,
    programs,
    stop_the_clock_at,
)


def test_every_program_is_measured_once_and_read_back(tmp_path: Path) -> None:
    _, tally = collect(tmp_path / "out.jsonl.gz")
    found = programs(tmp_path / "out.jsonl.gz")
    assert len({(program.task.hash, program.schedule) for program in found}) == 18
    assert tally.outcomes == {"success": 18}
    one = found[0]
    assert one.task.format == "triton"
    assert one.costs[1] == 2e-4
    assert one.seconds == pytest.approx(0.51)
    details = json.loads(one.task.details)
    assert details["weights"] == {TRAINED: 3}
    assert canonical(details["module"]) == TASKS[0].workload.module
    assert json.loads(one.extra) == {
        "compiled": 0.5,
        "loaded": 0.003,
        "registers": 64,
        "spills": 0,
        "shared": 1024,
    }
    assert json.loads(one.task.target) == json.loads(H200.text)
    assert device_of(tmp_path / "out.jsonl.gz") == STAND_IN.name
    assert all(program.device == STAND_IN for program in found)


def planned(path: Path, wanted: Wanted) -> list[tuple[int, str, bool]]:
    """The programs that a run would measure, with the number of their task."""
    collection = Collection(path, wanted, bench_of())
    numbers = {task.workload: number for number, task in enumerate(TASKS)}
    pending = bench_of().pending(collection.turns(TASKS))
    return [(numbers[one.workload], one.schedule, one.again) for one in pending]


def test_tasks_take_turns(tmp_path: Path) -> None:
    plan = planned(tmp_path / "none", Wanted(11, turn=10, repeated=0))
    assert [task for task, _, _ in plan] == [task for task in range(6) for _ in range(10)] + [
        *range(6)
    ]


def test_some_programs_come_twice_when_all_others_had_their_turns(tmp_path: Path) -> None:
    plan = planned(tmp_path / "none", Wanted(120, turn=10))
    first = {(task, schedule): at for at, (task, schedule, again) in enumerate(plan) if not again}
    twice = [(at, task, schedule) for at, (task, schedule, again) in enumerate(plan) if again]
    assert len(first) == 720
    assert 3 <= len(twice) <= 40
    assert len({(task, schedule) for _, task, schedule in twice}) == len(twice)
    for at, task, schedule in twice:
        between = {other for other, _, _ in plan[first[task, schedule] + 1 : at]}
        assert between == set(range(len(TASKS)))


def test_what_was_measured_twice_does_not_come_a_third_time(tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl.gz"
    collect(path, each=4, repeated=2)
    measured = programs(path)
    again = [program for program in measured if json.loads(program.extra).get("again")]
    assert 0 < len(again) == len(measured) - 24
    assert planned(path, Wanted(4, turn=10, repeated=2)) == []
    assert planned(path, Wanted(4, turn=10, repeated=1))  # others would


def test_a_compiler_that_hangs_costs_one_program(tmp_path: Path) -> None:
    def hangs(program: PendingProgram) -> dict[str, Any]:
        if is_first(program):
            time.sleep(600)
        return compiles(program)

    collect(tmp_path / "out.jsonl.gz", compile=hangs, limit=5)
    assert len(programs(tmp_path / "out.jsonl.gz")) == 18
    (failure,) = failures(tmp_path / "out.jsonl.gz")
    assert (failure.stage, failure.symptom) == (Stage.COMPILE, Symptom.TIMEOUT)


def test_a_compiler_that_dies_costs_one_program(tmp_path: Path) -> None:
    def dies(program: PendingProgram) -> dict[str, Any]:
        if is_first(program):
            os.kill(os.getpid(), signal.SIGUSR2)
        return compiles(program)

    collect(tmp_path / "out.jsonl.gz", compile=dies)
    assert len(programs(tmp_path / "out.jsonl.gz")) == 18
    (failure,) = failures(tmp_path / "out.jsonl.gz")
    assert (failure.symptom, failure.signal) == (Symptom.CRASH, signal.SIGUSR2)


def test_a_compiler_that_somebody_killed_is_tried_again(tmp_path: Path) -> None:
    def killed(program: PendingProgram) -> dict[str, Any]:
        if is_first(program):
            os.kill(os.getpid(), signal.SIGKILL)
        return compiles(program)

    path = tmp_path / "out.jsonl.gz"
    collect(path, compile=killed)
    assert (len(programs(path)), failures(path)) == (17, [])
    collect(path)
    assert (len(programs(path)), failures(path)) == (18, [])


def test_a_poisoned_gpu_gets_a_new_process_and_its_program_a_failure(tmp_path: Path) -> None:
    seen = tmp_path / "processes"
    seen.mkdir()

    def poisons(program: PendingProgram) -> dict[str, Any]:
        (seen / str(os.getpid())).touch()
        if is_first(program):
            failure = Failure(Stage.FIRST_RUN, Symptom.EXCEPTION, "an illegal memory access")
            raise Retire({"failure": failure})
        return good(program)

    collect(tmp_path / "out.jsonl.gz", measure=poisons)
    (failure,) = failures(tmp_path / "out.jsonl.gz")
    assert failure.message == "an illegal memory access"
    assert len(programs(tmp_path / "out.jsonl.gz")) == 18
    assert len(list(seen.iterdir())) == 2


def test_a_failure_in_the_compiler_is_not_measured(tmp_path: Path) -> None:
    failure = Failure(Stage.COMPILE, Symptom.UNSUPPORTED, "too much shared memory")

    def fails(program: PendingProgram) -> dict[str, Any]:
        return {"failure": failure}

    def measured(program: PendingProgram) -> dict[str, Any]:
        raise AssertionError("it was not compiled")

    _, tally = collect(tmp_path / "out.jsonl.gz", compile=fails, measure=measured)
    assert failures(tmp_path / "out.jsonl.gz") == [failure] * 18
    assert tally.outcomes == {"compile: unsupported": 18}
    assert "too much shared memory" in tally.table()


def test_a_gpu_that_never_works_ends_the_run(tmp_path: Path) -> None:
    def broken(program: PendingProgram) -> dict[str, Any]:
        raise RuntimeError("no driver")

    collection, tally = collect(tmp_path / "out.jsonl.gz", measure=broken)
    assert tally.outcomes == {"first_run: infrastructure": HOPELESS}
    assert "RuntimeError: no driver" in tally.table()
    assert collection.lost == [f"{HOPELESS} measuring processes in a row ended without a result"]
    assert not (tmp_path / "out.jsonl.gz").exists()


def test_what_the_machine_is_to_blame_for_is_tried_again(tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl.gz"

    def full(program: PendingProgram) -> dict[str, Any]:
        return {"failure": failure_of(NoRoom("no room"))} if is_first(program) else good(program)

    _, tally = collect(path, measure=full)
    assert len(programs(path)) == 17
    assert tally.outcomes["load: infrastructure"] == 1
    collect(path)
    assert len(programs(path)) == 18
    assert not failures(path)


def test_few_workloads_have_their_data_on_the_gpu() -> None:
    made: list[str] = []

    def make(family: Family) -> Any:
        made.append(family.module["kernel"])
        return object()

    cache = WorkloadCache(H200.text, make, most=2)
    one, two, three = (task.workload for task in TASKS[:3])
    first, second = cache.load(one), cache.load(two)
    assert cache.load(one) == first
    cache.load(three)  # the second makes room
    assert cache.load(one) == first
    assert len(made) == 3
    assert cache.load(two) != second
    assert len(made) == 4


def test_data_that_does_not_fit_lets_go_of_the_rest() -> None:
    full = type("OutOfMemoryError", (RuntimeError,), {})
    made: list[Family] = []

    def make(family: Family) -> Any:
        made.append(family)
        if len(made) == 2:
            raise full("CUDA out of memory")
        return object()

    cache = WorkloadCache(H200.text, make)
    first = cache.load(TASKS[0].workload)
    with pytest.raises(NoRoom, match="no room for the data of"):
        cache.load(TASKS[1].workload)
    assert cache.load(TASKS[0].workload) != first


def test_the_end_of_its_time_ends_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "out.jsonl.gz"
    stop_the_clock_at(path, monkeypatch)
    collect(path, seconds=1.0, each=50)
    assert 0 < len(programs(path)) < 300


def test_the_best_time_so_far_is_passed_on(tmp_path: Path) -> None:
    def tells(program: PendingProgram) -> dict[str, Any]:
        return {**good(program), "extra": {"best": program.best}}

    collect(tmp_path / "out.jsonl.gz", measure=tells)
    of_first = [p for p in programs(tmp_path / "out.jsonl.gz") if p.task.workload == _first()]
    assert [json.loads(p.extra)["best"] for p in of_first] == [None, *[pytest.approx(1.5e-4)] * 2]


def _first() -> str:
    return TASKS[0].workload.hash


def test_the_best_time_of_an_earlier_run_is_passed_on(tmp_path: Path) -> None:
    def tells(program: PendingProgram) -> dict[str, Any]:
        return {**good(program), "extra": {"best": program.best}}

    collect(tmp_path / "out.jsonl.gz", each=1)
    collect(tmp_path / "out.jsonl.gz", measure=tells, each=2)
    second = programs(tmp_path / "out.jsonl.gz")[6:]
    assert [json.loads(p.extra)["best"] for p in second] == [pytest.approx(1.5e-4)] * 6


def test_torch_is_compared_with(tmp_path: Path) -> None:
    def compared(program: PendingProgram) -> dict[str, Any]:
        return {**good(program), "extra": {"torch": [3e-4] * 3}}

    _, tally = collect(tmp_path / "out.jsonl.gz", measure=compared)
    extra = [json.loads(program.extra) for program in programs(tmp_path / "out.jsonl.gz")]
    assert all(one["torch"] == [3e-4] * 3 for one in extra)
    rows = [line.split() for line in tally.table().splitlines() if line.startswith("matmul")]
    assert rows == [["matmul", "2", "6", "0", "2.00"]]


def test_times_that_count_waiting_are_marked(tmp_path: Path) -> None:
    def late(program: PendingProgram) -> dict[str, Any]:
        return (
            {**good(program), "extra": {"overtaken": True}} if is_first(program) else good(program)
        )

    _, tally = collect(tmp_path / "out.jsonl.gz", measure=late)
    found = programs(tmp_path / "out.jsonl.gz")
    assert [json.loads(one.extra).get("overtaken") for one in found].count(True) == 1
    assert "overtaken: 1 programs" in tally.table()


SCRIPT = """
import json, sys, time
from pathlib import Path
sys.path[:0] = json.loads(sys.argv[2])
from programs.triton.triton_collecting import TASKS, Collection, Wanted, bench_of, good

def slow(program):
    time.sleep(0.01)
    return good(program)

wanted = Wanted(9, turn=3, repeated=5)
for _ in Collection(Path(sys.argv[1]), wanted, bench_of(measure=slow)).run(TASKS):
    print(".", flush=True)
"""


def test_a_killed_collection_loses_and_doubles_nothing(tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl.gz"
    command = [sys.executable, "-c", SCRIPT, str(path), json.dumps(sys.path)]
    seen = 0
    for lines in (3, 11, 7):
        with subprocess.Popen(command, stdout=subprocess.PIPE) as running:
            assert running.stdout is not None
            seen += sum(1 for _ in zip(range(lines), running.stdout, strict=False))
            running.kill()
        assert len(ProgramJournal(path).outcomes) >= 1
        assert len(programs(path)) >= seen  # what was told of is on disk
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    whole = tmp_path / "whole.jsonl.gz"
    subprocess.run([*command[:3], str(whole), command[4]], check=True, stdout=subprocess.DEVNULL)
    assert measured(path) == measured(whole)
    assert len(measured(path)) == 54
    assert 54 < measured(path).total() < 108


def measured(path: Path) -> Counter[tuple[str, str]]:
    return Counter((program.task.workload, program.schedule) for program in programs(path))


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
