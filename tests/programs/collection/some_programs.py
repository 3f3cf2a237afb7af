"""A data set of two platforms, as two collections would leave it; no GPU and no TVM is needed."""

from __future__ import annotations

from base64 import b64encode
from dataclasses import replace
from pathlib import Path

from corpus.some_graphs import some_graph
from graph_net.graph import to_bytes
from graph_net.programs.collection.collect import Collection
from graph_net.programs.collection.collection_dir import JOURNAL, claim
from graph_net.programs.collection.cpu_bench import CpuBench
from graph_net.programs.collection.journal import ProgramJournal
from graph_net.programs.collection.outcome import make_program
from graph_net.programs.collection.plan import Wanted
from graph_net.programs.collection.publish import store
from graph_net.programs.collection.task import CollectedTask
from graph_net.programs.formats import Format
from graph_net.programs.spaces import Workload
from graph_net.programs.store.ingest import add_file
from graph_net.programs.store.program_store import Labels
from graph_net.programs.triton import H200, TritonSpace
from graph_net.results import Failure, Stage, Symptom
from programs.triton.some_kernels import TASKS

WORKS = TASKS
EACH = 4
SLOW = Failure(Stage.COMPILE, Symptom.TIMEOUT, "took more than 30 s")
DEVICE = {"torch": "2.11.0", "triton": "3.6.0"}
CPU = {
    "a": {"tenset/resnet50-1x224": 3, "tenset/wide_resnet50-1x224": 1},
    "b": {"tenset/wide_resnet50-1x224": 2},
    "c": {"tenset/resnet18-4x224": 5, "tenset/resnet18-8x224": 1},
}


def on_a_gpu(file: Path) -> Path:
    """Programs as a collection on a GPU leaves them; the first of each task fails."""
    journal = ProgramJournal(file)
    device = {"device": DEVICE}
    for work in WORKS:
        schedules = TritonSpace(work.workload, H200.text).sample(EACH, 1)
        for place, schedule in enumerate(schedules):
            costs = [place * 1e-5, place * 1.2e-5]
            extra = {"torch": [2e-5, 4e-5]} if place == 1 else device
            device = {}
            outcome = costs if place else SLOW
            journal.add(make_program(work.named(H200.text), schedule, outcome, 0.5, extra))
    journal.close()
    return file


def on_a_cpu(work: Path, output: Path) -> None:
    """A collection whose journal is full already."""
    bench = CpuBench(work, 1)
    collection = Collection(work / JOURNAL, Wanted(EACH), bench)
    tasks = []
    for name, weights in CPU.items():
        workload = Workload("metaschedule", f"fused_{name}", name * 16, "QQ==", 1e6)
        graph = some_graph(ord(name))
        subgraph = b64encode(to_bytes(graph)).decode()
        task = CollectedTask(workload, graph.structure, graph.id, subgraph, weights)
        tasks.append(task)
        for place in range(EACH):
            schedule, costs = f'[["{name}",{place}]]', (0.5 + place,) * 3
            program = make_program(task.named("llvm"), schedule, costs, 1.0, {})
            collection.journal.add(replace(program, device=bench.device))
    collection.journal.close()
    store(collection, claim(work, bench.device), tasks, output)


def data_set(folder: Path) -> Path:
    """Both, in one place."""
    on_a_cpu(folder / "work", folder / "set" / "cpu")
    gpu = folder / "set" / "h200"
    gpu.mkdir()
    file = on_a_gpu(folder / "h200.jsonl.gz")
    assert add_file(gpu, file, Format.COLLECTED, Labels()) is not None
    return folder / "set"
