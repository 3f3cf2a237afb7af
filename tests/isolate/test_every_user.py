"""Whoever starts a process that may die says what it died of in the same words.

Not here: bisect, whose trials are measurements (``by_measuring``) and which goes on without the
values of a process that died; Ray itself, of which ``by_a_cluster`` needs only the one function
that a task calls.
"""

from __future__ import annotations

import inspect
import math
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from multiprocessing.connection import wait
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from configs.layouts.layout_graphs import images_graph
from graph_net.api.confined import run_confined
from graph_net.capture.collect import collect
from graph_net.capture.initialiser_store import InitialiserStore, record_initialisers
from graph_net.capture.worker import Spool
from graph_net.capture.zoo import Call, ZooEntry
from graph_net.cluster import cluster_pool, program_lane
from graph_net.cluster.turn_messages import TurnAnswer
from graph_net.compilers.eager import Eager
from graph_net.compilers.tvm_tuning import in_fork
from graph_net.configs.layouts import layout_bench
from graph_net.configs.layouts.layout_collection import open_layout_bench, sort_graphs
from graph_net.configs.layouts.plan import LayoutsWanted, LayoutTask
from graph_net.corpus import decompose, import_samples, outputs
from graph_net.corpus.pack import Pack, PackWriter
from graph_net.corpus.subgraph_spool import SubgraphSpool
from graph_net.corpus.subjects import subject_of
from graph_net.graph import GraphError, to_bytes
from graph_net.isolate import INHERITED, Batch, Died, Limits, Pool, call
from graph_net.isolate.lane import Lane
from graph_net.isolate.sandbox import SWITCH
from graph_net.learn.studies import run
from graph_net.learn.studies.study import Settings, Study, StudyCell, StudyData, StudyPicture
from graph_net.measure import MeasureLimits as MeasuringLimits
from graph_net.programs.collection import tasks
from graph_net.programs.collection.cpu_bench import TurnProcess, cpu_collection
from graph_net.programs.collection.plan import Wanted
from graph_net.programs.collection.task import CollectedTask
from graph_net.programs.features import graph_pipeline
from graph_net.programs.features.feature_store import FeatureStore
from graph_net.programs.formats import Format, ReadError
from graph_net.programs.spaces import Workload
from graph_net.programs.store import ingest
from graph_net.programs.store.program_store import Labels
from graph_net.programs.triton.cuda_bench import failure_of_end
from graph_net.repro import try_script
from graph_net.results import Json, Stage
from graph_net.search.inductor.collect import collect as collect_choices
from graph_net.search.inductor.collection_journal import CollectionJournal
from graph_net.serve import task_process
from graph_net.serve.ask_sql import SqlLimits, SqlProcess
from graph_net.serve.errors import ServeError
from graph_net.serve.holdings import Holdings
from graph_net.store.sql import SqlError
from graph_net.testing import compiler as kit
from graph_net.testing.space import SleepingSpace
from graph_net.validate.pool import ValidationItem, validate_all
from isolate import some_deaths
from isolate.some_deaths import WORDS, grows, hangs, killed
from measure.asking import measured, small_graph, task
from search.inductor.test_collect_choices import PRODUCT

Act = Callable[[], Any]
LIMITS = Limits(1, 2 << 30)
BUDGET = Limits.of(1, 2.0)


@pytest.fixture
def pack(tmp_path: Path) -> Pack:
    with PackWriter(tmp_path / "pack") as writer:
        writer.add("small", small_graph())
    return Pack(tmp_path / "pack")


class BadZoo:
    """A model whose building is the death of its process."""

    library = "testing"

    def __init__(self, act: Act) -> None:
        self.act = act

    def entries(self) -> Iterator[ZooEntry]:
        yield ZooEntry(self.library, "bad", "other")

    def build(self, entry: ZooEntry) -> Call:
        self.act()
        raise AssertionError


def by_call(act: Act) -> str:
    with pytest.raises(Died) as caught:
        call(act, LIMITS)
    return str(caught.value)


def by_a_pool(act: Act) -> str:
    (found,) = Pool(LIMITS).each([0], lambda _: act())
    return str(found.death)


def by_a_batch(act: Act) -> str:
    (found,) = Pool(LIMITS).batches([Batch(lambda: lambda _: act(), (0,))])
    return str(found.death)


def by_a_preparation(act: Act) -> str:
    (found,) = Pool(LIMITS).batches([Batch(act, (0,))])
    return str(found.death)


def by_a_lane(act: Act) -> str:
    lane: Lane[Any] = Lane(lambda: lambda _: act(), 1, LIMITS, INHERITED, starting=0)
    lane.give(0)
    while not (found := lane.take_finished()):
        wait(lane.descriptors(), timeout=0.5)
    lane.stop()
    return failure_of_end(found[0], Stage.COMPILE).message


def by_a_tuner(act: Act) -> str:
    value, why = in_fork(act, 1)
    assert value is None
    return str(why)


def by_validating(act: Act) -> str:
    (verdict,) = validate_all([ValidationItem("bad", act)], 1, BUDGET)
    return verdict.failures[0].reason


def by_capturing(act: Act, tmp_path: Path) -> str:
    zoo = BadZoo(act)
    (result,) = collect(zoo, zoo.entries(), Spool(tmp_path), 1, BUDGET)
    return result.reason


def by_listening(act: Act, tmp_path: Path) -> str:
    zoo = BadZoo(act)
    ((_, problem),) = record_initialisers(zoo, zoo.entries(), InitialiserStore(tmp_path), 1, BUDGET)
    return problem


def by_looking(act: Act, tmp_path: Path, pack: Pack, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(outputs, "observe", lambda *_: act())
    (seen,) = outputs.observe_all(pack, ["small"], tmp_path / "kept", 1, LIMITS)
    return seen.reason


def by_decomposing(act: Act, tmp_path: Path, pack: Pack, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(decompose, "cut_pieces", lambda *_: act())
    made = decompose.Decomposition(pack, ["task"], SubgraphSpool(tmp_path / "spool"))
    list(made.run(made.missing(), 1, BUDGET))
    (notes,) = made.notes()
    return notes.failed


def by_features(act: Act, tmp_path: Path, pack: Pack, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(graph_pipeline, "graph_features", lambda *_: act())
    store = FeatureStore(tmp_path / "features")
    missing = graph_pipeline.missing_graphs(pack, store)
    (lost,) = graph_pipeline.make_graphs(pack, missing, store, Pool(LIMITS))
    assert lost is not None
    return lost.reason


def by_tasks(act: Act, tmp_path: Path, pack: Pack, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(tasks, "network_tasks", lambda *_: act())
    asked = tasks.Extraction(tmp_path, 1, {"small": "id"}, BUDGET)
    asked.run(pack.blobs(["small"]), 1, lambda: None)
    return asked.failures()["small"]


def by_programs(act: Act, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(SleepingSpace, "draw", lambda *_: act())
    monkeypatch.setattr(TurnProcess, "most_seconds", 1)
    monkeypatch.setitem(programs_registry(), "sleeping", "graph_net.testing.space:SleepingSpace")
    work = Workload("sleeping", "sleep", "1", '{"tiles":4}', 1e6)
    asleep = CollectedTask(work, "s", "g", "", {"net": 1})
    collection = cpu_collection(tmp_path / "work", Wanted(1, repeated=0), 1)
    list(collection.run([asleep]))
    (why,) = [*collection.failures([asleep]), *collection.lost]
    return why


def programs_registry() -> dict[str, str]:
    from graph_net.programs.spaces import registry

    return registry.BUILT_IN


def by_the_kit(act: Act, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(kit, "SECONDS", 1)
    (found,) = kit.examine(dying(act)(), graphs=("matmul",)).findings
    return found


def by_measuring(act: Act) -> str:
    name = f"{some_deaths.__file__}:{dying(act).__name__}"
    limits = MeasuringLimits(memory_bytes=2 << 30).with_compile(2.0)
    (record,) = measured([task(name, limits=limits)], 1)
    assert record.failure is not None
    return record.failure.message


def by_a_verb(act: Act) -> str:
    with pytest.raises(GraphError) as caught:
        run_confined(act, seconds=1, gigabytes=2.0)
    return str(caught.value)


def by_importing(act: Act, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(import_samples, "LIMITS", LIMITS)
    samples = {"one": tmp_path, "other": tmp_path}
    read = import_samples.read_directories(samples, 2, lambda *_: act())
    return next(read).reason


def by_ingesting(act: Act, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(ingest, "LIMITS", LIMITS)
    monkeypatch.setattr(ingest, "add_file", lambda *_: act())
    files = [(tmp_path / name, Format.ANSOR) for name in ("one", "other")]
    with pytest.raises(ReadError) as caught:
        list(ingest.add_files(tmp_path, files, Labels(), 2))
    return str(caught.value)


class BadStudy(Study[StudyData]):
    """One training, which is the death of its process."""

    name = title = about = "bad"

    def __init__(self, act: Act) -> None:
        self.act = act

    def cells(self, data: StudyData, seeds: Sequence[int]) -> list[Settings]:
        return [{"seed": 0}]

    def compute(self, data: StudyData, settings: Settings) -> Mapping[str, Json]:
        self.act()
        raise AssertionError

    def table(self, cells: Sequence[StudyCell]) -> str:
        raise NotImplementedError

    def picture(self, cells: Sequence[StudyCell]) -> StudyPicture:
        raise NotImplementedError


def by_a_study(act: Act, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(run, "LIMITS", LIMITS)
    journal = run.StudyJournal(tmp_path / "journal.jsonl", "data")
    data: Any = None  # the study looks at none
    (why,) = run.run_study(BadStudy(act), data, journal).failures
    return why


def by_layouts(act: Act, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    def rewrites(item: Any) -> Iterator[Any]:
        for _ in item.schedules:
            yield {"facts": {}}
            yield b"a graph"

    monkeypatch.setattr(layout_bench, "SECONDS", 1)
    monkeypatch.setattr(layout_bench, "Lane", partial(Lane, starting=0))
    monkeypatch.setattr(layout_bench, "rewriter", lambda _: lambda: rewrites)
    monkeypatch.setattr(layout_bench, "timer", lambda _: lambda: lambda item: act())
    graph = images_graph()
    graphs = sort_graphs([LayoutTask(subject_of("bad", graph), to_bytes(graph))])
    wanted = LayoutsWanted(per_graph=1, turn=1, repeated=0, repeats=1)
    with open_layout_bench(graphs, wanted, tmp_path / "layouts.jsonl", jobs=1) as bench:
        assert list(bench.run()) == []
    (why,) = bench.lost
    return why


def by_inductor(act: Act, tmp_path: Path) -> str:
    journal = CollectionJournal(tmp_path / "timings.jsonl")
    lane: Lane[Any] = Lane(lambda: lambda _: act(), 1, LIMITS, INHERITED, starting=0)
    collect_choices([PRODUCT], journal, lane, math.inf)
    lane.stop()
    journal.close()
    return journal.failed[PRODUCT.key]


def by_a_cluster(act: Act, monkeypatch: pytest.MonkeyPatch) -> str:
    shared: cluster_pool._Shared[Any] = cluster_pool._Shared(Pool(LIMITS), lambda _: act())
    monkeypatch.setitem(sys.modules, "ray", SimpleNamespace(get=lambda _: shared))
    ((_, death, _),) = cluster_pool.run_batch([object()], Batch(cluster_pool._no_work, (0,)))
    return str(death)


def by_a_script(act: Act) -> str:
    return try_script(script_of(act), patience(act)).sentence


def by_sql(act: Act) -> str:
    process = SqlProcess(())
    process._child = start(act)
    with pytest.raises(SqlError) as caught:
        process.ask(Holdings(()), "SELECT 1", (), SqlLimits(1, patience(act)))
    return str(caught.value)


def by_a_task_page(act: Act, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(task_process, "COMMAND", ("-c", script_of(act)))
    monkeypatch.setattr(task_process, "SECONDS", patience(act))
    with pytest.raises(ServeError) as caught:
        task_process.read_in_process(tmp_path, "task")
    return str(caught.value)


def by_a_node(act: Act, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(program_lane, "forget_thread_count", lambda: None)
    monkeypatch.setattr(program_lane, "node_name", lambda: "a node")
    lane = program_lane.ProgramLane("cpu", None, 1)
    lane.process = start(act)
    answer = lane.turn({}, b"")
    lane.close()
    assert isinstance(answer, TurnAnswer)
    (lost,) = answer.lost
    return lost.text


def start(act: Act) -> subprocess.Popen[bytes]:
    """Start an interpreter that dies when it is asked something."""
    command = [sys.executable, "-c", script_of(act)]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)


def script_of(act: Act) -> str:
    """Return a program that reads something and dies."""
    imports = "import faulthandler, os, signal, sys, time\n\n"
    return f"{imports}{inspect.getsource(act)}\nos.read(0, 1)\n{act.__name__}()\n"


def patience(act: Act) -> float:
    """Return the seconds for a process that starts an interpreter: few only if it is to hang."""
    return 1.0 if act is hangs else 600.0


def dying(act: Act) -> type[Eager]:
    found: type[Eager] = getattr(some_deaths, act.__name__.capitalize())
    return found


USERS = [value for name, value in list(globals().items()) if name.startswith("by_")]
WITHOUT_LIMIT = {by_a_tuner, by_the_kit, by_a_task_page, by_layouts}
"""Those that hold a process to no memory of its own."""
INTERPRETERS = {by_a_script, by_sql, by_a_node}
"""Those that start an interpreter, which prints an exception and exits."""
PATIENT = {by_a_node}
"""Those that wait for a process which limits its own work."""
CASES = [(user, act) for user in USERS for act in WORDS if user not in PATIENT or act is not hangs]


@pytest.mark.parametrize(("user", "act"), CASES)
def test_a_death_has_the_same_words_everywhere(
    user: Callable[..., str],
    act: Act,
    request: pytest.FixtureRequest,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if act is killed:
        monkeypatch.setenv(SWITCH, "off")
    words = WORDS[act]
    if act is grows and user in WITHOUT_LIMIT:
        words = r"the machine ran out of memory \(MemoryError\)"
    if act is grows and user in INTERPRETERS:
        words = "ended with status 1 and no answer"
    names = user.__code__.co_varnames[1 : user.__code__.co_argcount]
    found = user(act, **{name: request.getfixturevalue(name) for name in names})
    assert re.search(words, found), found


def test_what_hangs_is_not_called_killed() -> None:
    assert "killed" not in by_call(hangs)
