"""Directories of records whose fast programs can be learned: few warps and few stages are fast."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path

from graph_net.programs.collection.kernel_tasks import HELD_OUT
from graph_net.programs.dataset.splits import make_splits, save_splits
from graph_net.programs.formats import Format
from graph_net.programs.spaces import Workload
from graph_net.programs.store.ingest import add_file
from graph_net.programs.store.program_store import Labels
from graph_net.programs.triton import H200, TritonSpace
from graph_net.programs.triton.layers import along, linear
from graph_net.programs.triton.space import workload_of
from graph_net.programs.view.overview import summaries, tables
from graph_net.results import Failure, Program, Stage, Symptom, Task, canonical
from graph_net.results import program_to_json as line_of

TRAINED, TESTED = "torchvision/vgg16@8:tf32", min(HELD_OUT)
MODULES = [
    *(linear(rows, 768, 768, "float16") for rows in (128, 256, 512, 2048, 1024)),
    *(along("softmax", rows, 1000, "float16") for rows in (512, 1024, 2048, 4096)),
]
"""What the tasks compute; every third is called by a network that is held out."""
EACH = 30
NOISE = 0.01
BROKEN = Failure(Stage.VERIFY, Symptom.NUMERIC, "3 of 9 numbers are off")


def true_cost(schedule: str, scale: float) -> float:
    """What a program takes, without noise."""
    config: dict[str, int] = json.loads(schedule)
    return 1e-6 * scale * (1 + math.log2(config["num_warps"]) + 0.3 * config["num_stages"])


def programs(modules: Sequence[dict[str, object]] = MODULES, each: int = EACH) -> list[Program]:
    """Some of each task; the third fails, and every other one was measured again."""
    found = []
    for place, module in enumerate(modules):
        work = workload_of(module)
        details = {
            "flops": work.flops,
            "graph": f"graph{place}",
            "module": json.loads(work.module),
            "structure": str(module["kernel"]),
            "weights": {TESTED if place % 3 == 1 else TRAINED: place + 1},
        }
        task = Task("triton", work.hash, work.name, H200.text, canonical(details))
        found += _of_task(task, work, place + 1.0, each)
    return found


def _of_task(task: Task, work: Workload, scale: float, each: int) -> list[Program]:
    found, again = [], []
    for number, schedule in enumerate(TritonSpace(work, H200.text).sample(each, 1)):
        if number == 2:
            found.append(Program.from_log(task, schedule, (), BROKEN))
            continue
        cost = true_cost(schedule, scale) * (1 + NOISE * math.sin(number))
        found.append(Program.from_log(task, schedule, (cost, cost)))
        if number % 2 == 0:
            second = (cost * (1 + NOISE * math.cos(number)),) * 2
            said = canonical({"again": True})
            again.append(Program.from_log(task, schedule, second, extra=said))
    return found + again


def records(folder: Path, each: int = EACH, device: str = "h200") -> Path:
    """A directory of records that has them."""
    folder.mkdir(parents=True)
    file = folder.parent / f"{folder.name}.jsonl"
    file.write_text("".join(f"{line_of(program)}\n" for program in programs(each=each)))
    assert add_file(folder, file, Format.COLLECTED, Labels(device)) is not None
    return folder


def data_set(folder: Path) -> Path:
    """Two platforms with the same tasks, and their splits."""
    known = {}
    for name in ("first", "second"):
        with tables(records(folder / name, device=name)) as connection:
            known[name] = summaries(connection)
    save_splits(folder, make_splits(known))
    return folder
