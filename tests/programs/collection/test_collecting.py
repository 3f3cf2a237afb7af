"""Programs collected in the lanes: what is measured, what fails, what a kill costs."""

from __future__ import annotations

import base64
import faulthandler
import json
import math
import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Generator, Iterator
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from graph_net.api.query import query
from graph_net.corpus.pack import Pack
from graph_net.graph import to_bytes
from graph_net.measure.protocol import MeasureLimits
from graph_net.programs.collection.collect import Collection
from graph_net.programs.collection.collection_dir import claim
from graph_net.programs.collection.cpu_bench import CpuBench, cpu_collection
from graph_net.programs.collection.drawn_schedules import DrawnSchedules
from graph_net.programs.collection.journal import ProgramJournal
from graph_net.programs.collection.outcome import extra_of, make_program
from graph_net.programs.collection.plan import PendingProgram, Turn, Wanted
from graph_net.programs.collection.publish import SUBGRAPHS, store
from graph_net.programs.collection.task import CollectedTask
from graph_net.programs.collection.tasks import NetworkTask, merge_tasks
from graph_net.programs.collection.trial import Trial, trial_limits
from graph_net.programs.formats import Damage
from graph_net.programs.formats.collected import read_collected
from graph_net.programs.spaces import Workload, registry, repeats_of
from graph_net.programs.store.program_store import ProgramStore
from graph_net.programs.store.task_table import TaskStore
from graph_net.results import Failure, Program, Stage, Symptom, Task, canonical, program_to_json
from graph_net.store.records import RecordStore
from graph_net.testing.models import case_graph
from graph_net.testing.space import SleepingSpace, check_space


def wanted(per_task: int, turn: int = 32) -> Wanted:
    """Every program once."""
    return Wanted(per_task, turn=turn, repeated=0)


def workload(number: int = 1, **settings: Any) -> Workload:
    module = json.dumps({"tiles": 12, **settings})
    return Workload("sleeping", f"sleep{number}", str(number), module, 1e6)


def task(number: int = 1, **settings: Any) -> CollectedTask:
    piece = base64.b64encode(to_bytes(case_graph("residual"))).decode()
    made = workload(number, **settings)
    return CollectedTask(made, f"s{number}", f"g{number}", piece, {"net": number})


def store_all(collection: Collection, tasks: list[CollectedTask], output: Path) -> int:
    machine = claim(collection.journal.path.parent, collection.bench.device)
    return store(collection, machine, tasks, output)


@pytest.fixture(autouse=True)
def sleeping(monkeypatch: pytest.MonkeyPatch) -> None:
    known = {**registry.BUILT_IN, "sleeping": "graph_net.testing.space:SleepingSpace"}
    monkeypatch.setattr(registry, "BUILT_IN", known)


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """A second for everything, so that what never ends is ended soon."""
    monkeypatch.setattr("graph_net.programs.collection.trial.COMPILE_SECONDS", 1.0)


def test_the_space_for_tests_conforms() -> None:
    check_space(SleepingSpace(workload()))


def test_every_program_is_measured_once(tmp_path: Path) -> None:
    collection = cpu_collection(tmp_path / "work", wanted(12, turn=5), 2)
    tasks = [task(1), task(2)]
    assert collection.missing(tasks) == 24
    found = list(collection.run(tasks))
    assert len(found) == 24
    assert len({(p.task.workload, p.schedule) for p in found}) == 24
    assert all(len(p.costs) == repeats_of(1e6) for p in found)
    tile = {p.schedule: p.costs[0] for p in found}
    assert tile['{"tile":7}'] == pytest.approx(8e-6)
    assert collection.missing(tasks) == 0
    assert list(cpu_collection(tmp_path / "work", wanted(12, turn=5), 2).run(tasks)) == []


def test_tasks_take_turns(tmp_path: Path) -> None:
    collection = cpu_collection(tmp_path / "work", wanted(8, turn=4), 1)
    order = [p.task.workload for p in collection.run([task(1), task(2)])]
    assert order == ["1"] * 4 + ["2"] * 4 + ["1"] * 4 + ["2"] * 4


def test_a_space_that_has_no_more_ends(tmp_path: Path) -> None:
    collection = cpu_collection(tmp_path / "work", wanted(100), 2)
    assert len(list(collection.run([task(tiles=3)]))) == 3
    assert collection.missing([task(tiles=3)]) == 0


def test_trials_that_crash_hang_or_are_refused_cost_themselves(tmp_path: Path, quick: None) -> None:
    bad = task(refused=[1], endless=[2], crashing=[3])
    collection = cpu_collection(tmp_path / "work", wanted(12), 2)
    found = {json.loads(p.schedule)["tile"]: p.failure for p in collection.run([bad])}
    assert len(found) == 12
    ends = {tile: (f.stage, f.symptom) for tile, f in found.items() if f is not None}
    assert ends == {
        1: (Stage.COMPILE, Symptom.EXCEPTION),
        2: (Stage.COMPILE, Symptom.TIMEOUT),
        3: (Stage.FIRST_RUN, Symptom.CRASH),
    }


def test_a_task_without_a_space_is_named_and_not_asked_again(tmp_path: Path) -> None:
    broken = CollectedTask(Workload("sleeping", "broken", "9", "{"), "s", "g", "", {"net": 1})
    collection = cpu_collection(tmp_path / "work", wanted(4), 1)
    assert [p.task.workload for p in collection.run([broken, task(1)])] == ["1"] * 4
    (why,) = collection.failures([broken, task(1)])
    assert why.startswith("broken: JSONDecodeError")
    assert list(collection.run([broken, task(1)])) == []
    collection.retry([broken])
    assert collection.failures([broken]) == []


def test_a_space_can_change_nothing_that_is_collected(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    collection = cpu_collection(tmp_path / "work", wanted(4), 1)
    names = ("samples/2-2.txt", "programs.jsonl", "programs.failed.json")
    others = [tmp_path / "work" / name for name in names]

    def draw(space: SleepingSpace, seed: int) -> None:
        refused = []
        for file in others:
            try:
                file.write_text("x")
            except PermissionError:
                refused.append(file.name)
        raise RuntimeError(" ".join(refused))

    monkeypatch.setattr(SleepingSpace, "draw", draw)
    assert list(collection.run([task(1)])) == []
    why = " ".join(file.name for file in others)
    assert collection.failures([task(1)]) == [f"sleep1: RuntimeError: {why}"]
    assert not any(file.exists() for file in others[:2])


@pytest.mark.parametrize("lines", [b"x\n", b"1 a", b"1 a\n\n", b"-1 a\n", b"end"])
def test_lines_that_are_no_schedules_are_not_added(tmp_path: Path, lines: bytes) -> None:
    samples = DrawnSchedules(tmp_path / "samples", 0)
    with pytest.raises(ValueError, match="not the lines"):
        samples.add(lines)
    assert not samples.path.exists()


def test_a_journal_says_what_programs_took(tmp_path: Path) -> None:
    journal = ProgramJournal(tmp_path / "one.jsonl")
    assert math.isnan(journal.seconds("1"))
    for tile, seconds in ((1, 0.5), (2, 1.0)):
        schedule = canonical({"tile": tile})
        journal.add(make_program(Task("sleeping", "1"), schedule, (1.0,), seconds, {}))
    assert journal.seconds("1") == 0.75


def test_what_the_machine_is_to_blame_for_is_tried_again(tmp_path: Path) -> None:
    journal = ProgramJournal(tmp_path / "one.jsonl")
    for symptom, kept in ((Symptom.INFRASTRUCTURE, False), (Symptom.TIMEOUT, True)):
        failure = Failure(Stage.MEASURE, symptom, "it ended")
        program = make_program(Task("sleeping", "1"), canonical({"tile": 1}), failure, 1.0, {})
        assert journal.add(program) == kept
        assert bool(journal.outcomes["1"]) == kept
    assert len(journal.path.read_bytes().splitlines()) == 1


def test_a_task_whose_process_crashes_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A crash is the task's own and for good."""

    def draw(space: SleepingSpace, seed: int) -> None:
        faulthandler.disable()
        os.kill(os.getpid(), signal.SIGSEGV)

    collection = cpu_collection(tmp_path / "work", wanted(4, turn=2), 1)
    monkeypatch.setattr(SleepingSpace, "draw", draw)
    assert list(collection.run([task(1)])) == []
    why = "sleep1: the process of its space ended: died of SIGSEGV"
    assert (collection.failures([task(1)]), collection.lost) == ([why], [])
    assert collection.missing([task(1)]) == 0


def test_a_task_whose_process_is_killed_has_its_next_turn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    collection = cpu_collection(tmp_path / "work", wanted(4, turn=2), 1)
    ready = tmp_path / "work" / "trials" / "ready"

    def draw(space: SleepingSpace, seed: int) -> None:
        ready.with_suffix(".new").write_text(str(os.getpid()))
        ready.with_suffix(".new").rename(ready)
        time.sleep(600)

    def kill_twice() -> None:
        for _ in range(2):
            while not ready.exists():
                time.sleep(0.01)
            victim = int(ready.read_text())
            ready.unlink()
            os.kill(victim, signal.SIGKILL)

    killer = threading.Thread(target=kill_twice)
    with monkeypatch.context() as patch:
        patch.setattr(SleepingSpace, "draw", draw)
        killer.start()
        assert list(collection.run([task(1)])) == []
    killer.join()
    reason = "killed by a signal from outside (SIGKILL)"
    why = f"sleep1: the process of its space ended: {reason}"
    assert (collection.failures([task(1)]), collection.lost) == ([], [why] * 2)
    assert len(list(collection.run([task(1)]))) == 4


def test_schedules_are_drawn_a_turn_at_a_time(tmp_path: Path) -> None:
    asked = wanted(12, turn=5)
    running = cpu_collection(tmp_path / "work", asked, 1).run([task(1), task(2)])
    next(running)
    assert isinstance(running, Generator)
    running.close()
    seed = Turn(task(1), 0, asked, {}).seed
    (file,) = (tmp_path / "work" / "samples").iterdir()
    drawn = DrawnSchedules(file, seed)
    assert file.name == f"1-{seed}.txt"
    assert len(drawn.known(12)[0]) == 5
    list(cpu_collection(tmp_path / "work", asked, 1).run([task(1)]))
    assert drawn.known(12) == (list(SleepingSpace(workload()).sample(12, seed)), True)


def test_a_sample_goes_on_wherever_a_kill_cut_it_off(tmp_path: Path) -> None:
    space, whole = SleepingSpace(workload(tiles=30)), DrawnSchedules(tmp_path / "whole", 0)
    whole.add(whole.draw(space, 100)[1])
    data = whole.path.read_bytes()
    assert whole.known(100) == (list(space.sample(100, 0)), True)
    assert whole.known(1000) == whole.known(100)
    for cut in range(0, len(data), 7):
        part = DrawnSchedules(tmp_path / "part", 0)
        part.path.write_bytes(data[:cut])
        part.add(part.draw(space, 3)[1])
        assert part.draw(space, 100)[0] == list(space.sample(100, 0))
        part.add(part.draw(space, 100)[1])
        assert part.path.read_bytes() == data


def test_a_directory_belongs_to_one_machine(tmp_path: Path) -> None:
    device = CpuBench(tmp_path, 1).device
    first = claim(tmp_path / "work", device)
    assert claim(tmp_path / "work", device) == first
    assert claim(tmp_path / "other", device) != first
    with pytest.raises(ValueError, match=r"is of .* and this is .*another"):
        claim(tmp_path / "work", replace(device, name="another"))


def test_times_of_threads_that_were_not_placed_are_not_mixed_with_others(tmp_path: Path) -> None:
    claim(tmp_path, CpuBench(tmp_path, 1).device)
    file = tmp_path / "machine.json"
    told = json.loads(file.read_text())
    assert told.pop("placed") is True
    file.write_text(json.dumps(told))
    with pytest.raises(ValueError, match=r"wherever the kernel put them, and this is .* their own"):
        claim(tmp_path, CpuBench(tmp_path, 1).device)


def test_two_collections_are_stored_beside_each_other(tmp_path: Path) -> None:
    for number in (1, 2):
        collection = cpu_collection(tmp_path / f"work{number}", wanted(4), 1)
        assert len(list(collection.run([task(number)]))) == 4
        store_all(collection, [task(number)], tmp_path / "records")
    found = query(RecordStore(tmp_path / "records"), "SELECT DISTINCT workload FROM programs")[1]
    assert sorted(found) == [("1",), ("2",)]


SCRIPT = """
import json, sys
from pathlib import Path
sys.path[:0] = json.loads(sys.argv[2])
from graph_net.programs.spaces import registry
registry.BUILT_IN["sleeping"] = "graph_net.testing.space:SleepingSpace"
from graph_net.programs.collection.cpu_bench import cpu_collection
from graph_net.programs.collection.plan import Wanted
from graph_net.programs.collection.task import CollectedTask
from graph_net.programs.spaces import Workload
work = Workload("sleeping", "sleep", "1", json.dumps({"tiles": 4000}), 1e6)
for _ in cpu_collection(Path(sys.argv[1]), Wanted(40, turn=8, repeated=4), 2).run(
    [CollectedTask(work, "s", "g", "", {"net": 1})]
):
    print(".", flush=True)
"""


def test_a_killed_collection_goes_on(tmp_path: Path) -> None:
    command = [sys.executable, "-c", SCRIPT, str(tmp_path / "work"), json.dumps(sys.path)]
    total = 0
    for wait in (3, 7, 5):
        with subprocess.Popen(command, stdout=subprocess.PIPE) as running:
            assert running.stdout is not None
            total += sum(1 for _ in zip(range(wait), running.stdout, strict=False))
            running.kill()
    journal = tmp_path / "work" / "programs.jsonl"
    before = len(journal.read_bytes().splitlines())
    assert before >= total
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    measured = Counter(json.loads(line)["schedule"] for line in journal.read_bytes().splitlines())
    turn = Turn(task(1), 0, Wanted(40, repeated=4), {})
    assert len(measured) == 40
    assert {one: 1 + turn.is_repeated(one) for one in measured} == measured
    assert 0 < sum(map(turn.is_repeated, measured)) < 40
    _until_no_process_is_left(str(tmp_path / "work"))


def _until_no_process_is_left(text: str) -> None:
    while any(text.encode() in line for line in _command_lines()):
        time.sleep(0.05)


def _command_lines() -> Iterator[bytes]:
    for place in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):  # it has ended
            yield place.read_bytes()


def test_a_line_that_a_kill_cut_off_is_measured_again(tmp_path: Path) -> None:
    collection = cpu_collection(tmp_path / "work", wanted(12), 1)
    whole = {p.schedule for p in collection.run([task(1)])}
    path = collection.journal.path
    os.truncate(path, path.stat().st_size - 20)
    assert len(ProgramJournal(path).outcomes["1"]) == 11
    (again,) = cpu_collection(tmp_path / "work", wanted(12), 1).run([task(1)])
    assert len(ProgramJournal(path).outcomes["1"]) == 12
    assert again.schedule in whole


def test_some_programs_are_measured_twice_turns_apart(tmp_path: Path) -> None:
    collection = cpu_collection(tmp_path / "work", Wanted(12, turn=2, repeated=3), 2)
    tasks = [task(1), task(2)]
    programs = list(collection.run(tasks))
    keys = [(program.task.workload, program.schedule) for program in programs]
    twice = [at for at, program in enumerate(programs) if extra_of(program).get("again")]
    assert len(set(keys)) == 24
    assert 0 < len(twice) == len(keys) - 24
    for at in twice:
        between = {workload for workload, _ in keys[keys.index(keys[at]) + 1 : at]}
        assert between == {"1", "2"}
    assert list(collection.run(tasks)) == []


def test_what_was_collected_is_stored_and_asked(tmp_path: Path) -> None:
    collection = cpu_collection(tmp_path / "work", wanted(12), 2)
    tasks = [task(1, refused=[4]), task(2)]
    measured = {(p.task, p.schedule): p for p in collection.run(tasks)}
    assert store_all(collection, tasks, tmp_path / "records") == 24
    assert store_all(collection, tasks, tmp_path / "records") == 24  # in the place of the first
    programs = dict(enumerate(ProgramStore(tmp_path / "records").programs()))
    stored = {(p.task, p.schedule): p for _, p in programs.values()}
    assert stored.keys() == measured.keys()
    assert all(stored[key].costs == measured[key].costs for key in stored)
    question = (
        "SELECT network, count(*), count(*) FILTER (status = 'success') "
        "FROM programs JOIN tasks USING (workload) GROUP BY ALL"
    )
    assert query(RecordStore(tmp_path / "records"), question)[1] == [("net", 24, 23)]
    everything = query(RecordStore(tmp_path / "records"), "SELECT * FROM programs")
    assert len(everything[1]) == 24
    when = everything[1][0][everything[0].index("measured")]
    assert abs(datetime.now(UTC).replace(tzinfo=None) - when) < timedelta(hours=1)
    assert TaskStore(tmp_path / "records").source().count_rows() == 2
    names = Pack(tmp_path / "records" / SUBGRAPHS).names()
    assert names == ["sleep1-1", "sleep2-2"]


def test_the_same_workload_of_two_networks_is_one_task() -> None:
    one, other = workload(1), workload(2)
    found = merge_tasks(
        [
            NetworkTask("a", one, 3, "s", "g", ""),
            NetworkTask("b", one, 2, "s", "g", ""),
            NetworkTask("b", other, 1, "", "", ""),
        ]
    )
    assert [(t.workload.hash, t.weights) for t in found] == [("1", {"a": 3, "b": 2})]
    assert len(merge_tasks([NetworkTask("b", other, 1, "", "", "")], every=True)) == 1


def test_lines_of_a_journal_are_read_or_told(tmp_path: Path) -> None:
    program = make_program(Task("sleeping", "1", details="{}"), '{"tile":1}', (1.0,), 1.0, {})
    line = program_to_json(program)
    bad = [line.replace("1.0", "-1"), line.replace('"{}"', '"{ }"'), line[:-9], "{}"]
    path = tmp_path / "some.jsonl"
    path.write_text("\n".join([line, *bad, line]) + "\n")
    kinds = Counter(type(found) for _, found in read_collected(path))
    assert kinds == {Program: 2, Damage: 4}


def test_the_limits_are_those_of_tenset() -> None:
    limits: MeasureLimits = trial_limits()
    assert limits.seconds[Stage.MEASURE] == 5.0
    assert [repeats_of(f) for f in (3e9, 1e9, 1e8, 2e6)] == [4, 6, 8, 10]
    program = PendingProgram(workload(), "{}")
    assert Trial(SleepingSpace(workload()), Task("s", "1"), program).key
