"""The collector of Triton programs, with compilers and a GPU that are stand-ins.

The stand-ins run in real processes, which hang and die as the real ones do.
"""

import gzip
import json
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from graph_net.corpus.programs import Labels, ProgramStore
from graph_net.formats.tuning import Damage, Format, detect, read_programs
from graph_net.formats.tuning.collected import device_of, read_collected
from graph_net.record import Failure, Program, Stage, Symptom, canonical
from graph_net.space.triton import H200
from graph_net.space.triton.bench import (
    ATTEMPTS,
    HEAD_START,
    SHORT,
    NoRoom,
    Timed,
    TooSlow,
    WrongAnswer,
    costs_of,
    failure_of,
    timed,
)
from graph_net.space.triton.bench import (
    HOPELESS as TIMES_SLOWER,
)
from graph_net.space.triton.benches import Benches
from graph_net.space.triton.collect import HOPELESS, TURN, Collector, asked, main, plan
from graph_net.space.triton.family import Family
from graph_net.space.triton.lane import Handle, Lane, LastWork
from graph_net.space.triton.lines import Writer, already, begun
from graph_net.space.triton.tally import Tally
from graph_net.space.triton.workers import Piece, compile_failure
from graph_net.space.triton.workloads import collected

WORKS = collected()[:6]
Does = Callable[[Piece], dict[str, Any]]


def good(piece: Piece) -> dict[str, Any]:
    costs = [1e-4 * (1 + piece.place), 2e-4]
    details = {"registers": 64, "spills": 0, "shared": 1024}
    return {"costs": costs, "details": details, "loaded": 0.003, "seconds": 0.01}


def compiles(piece: Piece) -> dict[str, Any]:
    return {"compiled": 0.5}


def collect(
    path: Path,
    compile: Does = compiles,
    measure: Does = good,
    each: int = 3,
    done: list[Path] | None = None,
    limit: float = 30.0,
    seconds: float = 60.0,
) -> Collector:
    known, goes_on = begun(path, done or [])
    writer = Writer(path, H200.text, {"name": "a stand-in"}, goes_on)

    def lane(does: Does, size: int) -> Lane[Piece]:
        def make() -> Handle:
            return does

        return Lane(make, size, limit, starting=0.0)

    parts = lane(compile, 2), lane(measure, 1)
    collector = Collector(WORKS, *parts, writer, Tally(WORKS))
    try:
        pieces = plan(WORKS, H200.text, each, known)
        collector.run(pieces, time.monotonic() + seconds)
    finally:
        writer.close()
        for part in parts:
            part.stop()
    return collector


def programs(path: Path) -> list[Program]:
    found = [program for _, program in read_collected(path)]
    assert not any(isinstance(program, Damage) for program in found)
    return [program for program in found if isinstance(program, Program)]


def failures(path: Path) -> list[Failure]:
    return [program.failure for program in programs(path) if program.failure is not None]


def is_first(piece: Piece) -> bool:
    """Whether a piece is the first program of the first workload."""
    return piece == next(plan(WORKS, H200.text, 1, set()))


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
    places = [piece.place for piece in plan(WORKS, H200.text, TURN + 1, set())]
    assert places == [place for place in range(6) for _ in range(TURN)] + [*range(6)]


def test_a_later_run_does_what_is_left(tmp_path: Path) -> None:
    first, second = tmp_path / "1.jsonl.gz", tmp_path / "2.jsonl.gz"
    collect(first, each=1)
    collect(second, each=3, done=[first])
    before = {(program.task.workload, program.schedule) for program in programs(first)}
    after = {(program.task.workload, program.schedule) for program in programs(second)}
    assert (len(before), len(after)) == (6, 12)
    assert not before & after


def test_a_file_is_gone_on_with(tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl.gz"
    collect(path, each=1, done=[path])  # it is not there yet
    before = programs(path)
    collect(path, each=3, done=[path])
    after = programs(path)
    assert (len(before), len(after)) == (6, 18)
    assert after[:6] == before
    assert len({(program.task.workload, program.schedule) for program in after}) == 18


@pytest.mark.parametrize("compressed", [True, False])
def test_a_file_that_was_cut_off_is_gone_on_with(tmp_path: Path, compressed: bool) -> None:
    path = tmp_path / "out.jsonl.gz"
    collect(path, each=2)
    whole = path.read_bytes()
    lines = gzip.decompress(whole).splitlines(keepends=True)
    cut = b"".join(lines[:5]) + lines[5][:40]
    path.write_bytes(gzip.compress(cut) if compressed else cut)
    collect(path, each=2, done=[path])
    assert len(programs(path)) == 12
    path.write_bytes(whole[:-12])
    collect(path, each=3, done=[path])
    assert len(programs(path)) == 18


def test_a_file_that_is_there_is_not_written_over(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "out.jsonl.gz"
    collect(path, each=1)
    before = path.read_bytes()
    assert main(["-o", str(path)]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert f"--done {path}" in line
    assert main(["-o", str(tmp_path / "new.gz"), "--done", str(tmp_path / "none.gz")]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1
    with pytest.raises(FileExistsError):
        Writer(path, H200.text, {})
    assert path.read_bytes() == before
    assert not (tmp_path / "new.gz").exists()


def test_a_file_that_was_cut_off_counts_as_far_as_it_goes(tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl"
    collect(tmp_path / "out.jsonl.gz")
    lines = gzip.decompress((tmp_path / "out.jsonl.gz").read_bytes()).splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:5]) + lines[5][:40])
    assert len(already([path])) == 5


def test_what_is_flushed_survives_a_kill(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "out.jsonl.gz"
    monkeypatch.setattr("graph_net.space.triton.lines.EVERY", 0.0)
    writer = Writer(path, H200.text, {})
    writer.program(WORKS[0], '{"block_m":64}', [1e-3], 0.5, {})
    cut = path.read_bytes()
    (tmp_path / "cut.gz").write_bytes(cut)
    (_, program), (_, damage) = read_collected(tmp_path / "cut.gz")
    assert isinstance(program, Program)
    assert isinstance(damage, Damage)
    assert "breaks off" in damage.reason
    writer.close()


def test_a_compiler_that_hangs_costs_one_program(tmp_path: Path) -> None:
    def hangs(piece: Piece) -> dict[str, Any]:
        if is_first(piece):
            time.sleep(600)
        return compiles(piece)

    collect(tmp_path / "out.jsonl.gz", compile=hangs, limit=1.0)
    assert len(programs(tmp_path / "out.jsonl.gz")) == 18
    (failure,) = failures(tmp_path / "out.jsonl.gz")
    assert (failure.stage, failure.symptom) == (Stage.COMPILE, Symptom.TIMEOUT)


def test_a_compiler_that_dies_costs_one_program(tmp_path: Path) -> None:
    def dies(piece: Piece) -> dict[str, Any]:
        if is_first(piece):
            os.kill(os.getpid(), signal.SIGKILL)
        return compiles(piece)

    collect(tmp_path / "out.jsonl.gz", compile=dies)
    assert len(programs(tmp_path / "out.jsonl.gz")) == 18
    (failure,) = failures(tmp_path / "out.jsonl.gz")
    assert (failure.symptom, failure.signal) == (Symptom.CRASH, signal.SIGKILL)


def test_a_poisoned_gpu_gets_a_new_process_and_its_program_a_failure(tmp_path: Path) -> None:
    seen = tmp_path / "processes"
    seen.mkdir()

    def poisons(piece: Piece) -> dict[str, Any]:
        (seen / str(os.getpid())).touch()
        if is_first(piece):
            failure = Failure(Stage.FIRST_RUN, Symptom.EXCEPTION, "an illegal memory access")
            raise LastWork({"failure": failure})
        return good(piece)

    collect(tmp_path / "out.jsonl.gz", measure=poisons)
    (failure,) = failures(tmp_path / "out.jsonl.gz")
    assert failure.message == "an illegal memory access"
    assert len(programs(tmp_path / "out.jsonl.gz")) == 18
    assert len(list(seen.iterdir())) == 2


def test_a_failure_in_the_compiler_is_not_measured(tmp_path: Path) -> None:
    failure = Failure(Stage.COMPILE, Symptom.UNSUPPORTED, "too much shared memory")

    def fails(piece: Piece) -> dict[str, Any]:
        return {"failure": failure}

    def measured(piece: Piece) -> dict[str, Any]:
        raise AssertionError("it was not compiled")

    collector = collect(tmp_path / "out.jsonl.gz", compile=fails, measure=measured)
    assert failures(tmp_path / "out.jsonl.gz") == [failure] * 18
    assert "18 compile unsupported" in collector.tally.table()


def test_a_gpu_that_never_works_ends_the_run(tmp_path: Path) -> None:
    def broken(piece: Piece) -> dict[str, Any]:
        raise RuntimeError("no driver")

    collector = collect(tmp_path / "out.jsonl.gz", measure=broken)
    assert collector.lost == HOPELESS
    assert collector.tally.good == 0
    assert "RuntimeError: no driver" in collector.tally.table()


def test_what_the_machine_is_to_blame_for_is_tried_again(tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl.gz"

    def full(piece: Piece) -> dict[str, Any]:
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
    def slow(piece: Piece) -> dict[str, Any]:
        time.sleep(0.2)
        return good(piece)

    collect(tmp_path / "out.jsonl.gz", measure=slow, seconds=1.0, each=50)
    assert 0 < len(programs(tmp_path / "out.jsonl.gz")) < 300


def test_the_best_time_so_far_is_passed_on(tmp_path: Path) -> None:
    def tells(piece: Piece) -> dict[str, Any]:
        return {**good(piece), "details": {"best": piece.best}}

    collect(tmp_path / "out.jsonl.gz", measure=tells)
    of_first = [p for p in programs(tmp_path / "out.jsonl.gz") if p.task.workload == _first()]
    assert [json.loads(p.extra)["best"] for p in of_first] == [None, *[pytest.approx(1.5e-4)] * 2]


def _first() -> str:
    return WORKS[0].workload.hash


def test_torch_is_compared_with(tmp_path: Path) -> None:
    def compared(piece: Piece) -> dict[str, Any]:
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
    def late(piece: Piece) -> dict[str, Any]:
        return {**good(piece), "details": {"overtaken": True}} if is_first(piece) else good(piece)

    collector = collect(tmp_path / "out.jsonl.gz", measure=late)
    found = programs(tmp_path / "out.jsonl.gz")
    assert [json.loads(one.extra).get("overtaken") for one in found].count(True) == 1
    assert "overtaken: 1 programs" in collector.tally.table()


def test_a_process_that_cannot_start_says_why() -> None:
    def make() -> Handle:
        raise ImportError("no triton here")

    assert "no triton here" in asked(make, "anything", 10.0).message


def test_failures_are_told_apart() -> None:
    assert failure_of(WrongAnswer("3 of 4")).symptom is Symptom.NUMERIC
    assert failure_of(TooSlow("1 s")).stage is Stage.MEASURE
    assert failure_of(NoRoom("full")).symptom is Symptom.INFRASTRUCTURE
    out_of = type("OutOfResources", (Exception,), {})
    assert failure_of(out_of("shared memory")).symptom is Symptom.UNSUPPORTED
    assert failure_of(RuntimeError("illegal access")).stage is Stage.FIRST_RUN
    assert compile_failure(ValueError("at 3:4\nlong\nbad dot")).message == (
        "ValueError: at 3:4 … bad dot"
    )


@pytest.mark.parametrize(
    "change",
    [
        {"v": "triton-1"},
        {"task": {"format": "triton", "workload": ""}},
        {"costs": []},
        {"costs": [0.0]},
        {"schedule": []},
        {"schedule": '{"block_m": 64}'},
        {"schedule": "[" * 30 + "]" * 30},
        {"extra": "{"},
        {"costs": [1e-3] * 70000},
        {"measured": 1e12},
        {"failure": {"stage": "compile", "symptom": "boredom", "message": "x"}},
        {"failure": {"stage": "compile", "symptom": "crash", "message": "x"}},
        {"measured": -1},
    ],
)
def test_a_line_that_is_wrong_is_damage(tmp_path: Path, change: dict[str, object]) -> None:
    path = tmp_path / "out.jsonl.gz"
    writer = Writer(path, H200.text, {})
    writer.program(WORKS[0], '{"block_m":64}', [1e-3], 0.5, {})
    writer.close()
    (line,) = gzip.decompress(path.read_bytes()).splitlines()
    changed = tmp_path / "changed.jsonl"
    changed.write_text(json.dumps({**json.loads(line), **change}))
    ((_, found),) = read_collected(changed)
    assert isinstance(found, Damage)


def test_a_collection_is_known_by_its_lines_and_goes_into_a_store(tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl.gz"

    def fails_once(piece: Piece) -> dict[str, Any]:
        failure = Failure(Stage.COMPILE, Symptom.UNSUPPORTED, "too much shared memory")
        return {"failure": failure} if is_first(piece) else compiles(piece)

    collect(path, compile=fails_once)
    kind = detect(path)
    assert kind is Format.COLLECTED
    store = ProgramStore(tmp_path)
    added = store.add(path, read_programs(path, kind), Labels(device="H200"))
    assert (added.programs, added.damaged) == (18, 0)
    kept = {program.schedule: program for _, program in store.programs()}
    for program in programs(path):
        assert kept[program.schedule].costs == program.costs
        assert kept[program.schedule].failure == program.failure
        assert kept[program.schedule].task.details == program.task.details


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
    clock.took = 1000 * SHORT * 2 * TIMES_SLOWER
    monkeypatch.setattr("torch.cuda.Event", clock.Event)
    monkeypatch.setattr("torch.cuda.synchronize", lambda: None)
    if overtaken:
        assert costs_of(clock.run, 1e9, 1e-3, clock).overtaken  # type: ignore[arg-type]
    else:
        with pytest.raises(TooSlow):
            costs_of(clock.run, 1e9, 1e-3, clock)  # type: ignore[arg-type]
