"""Programs of two Triton tasks, one of them measured again, as a collector's lines."""

from __future__ import annotations

import json
from pathlib import Path

from graph_net.programs.triton import H200, TritonSpace
from graph_net.programs.triton.space import workload_of
from graph_net.results import Failure, Json, Program, Stage, Symptom, Task, canonical
from graph_net.results import program_to_json as line_of

MODULES: list[dict[str, Json]] = [
    {"kernel": "row_sum", "rows": 4096, "columns": 64, "dtype": "float16"},
    {"kernel": "row_sum", "rows": 512, "columns": 256, "dtype": "bfloat16"},
]
NETWORKS = ("torchvision/mobilenet_v2@32:float16", "torchvision/vgg16@8:tf32")
EACH = 4
WRONG = Failure(Stage.VERIFY, Symptom.NUMERIC, "3 of 9 numbers are off")
FIRST, SECOND = (1e-5, 1.2e-5), (1.1e-5, 1.32e-5)
"""Times of the program that is measured twice: the second are a tenth longer."""


def programs() -> list[Program]:
    """The first of a task fails, the second has two measurements."""
    found = []
    for place, module in enumerate(MODULES):
        work = workload_of(module)
        details = {
            "flops": work.flops,
            "graph": f"graph{place}",
            "module": json.loads(work.module),
            "structure": f"structure{place}",
            "weights": {NETWORKS[place]: 2},
        }
        task = Task("triton", work.hash, work.name, H200.text, canonical(details))
        schedules = TritonSpace(work, H200.text).sample(EACH, 1)
        for number, schedule in enumerate(schedules):
            extra = {"compiled": 0.25, "loaded": 0.0025, "registers": 20 + number, "shared": 1024}
            when = 1.7948e9 + number / 4
            if number == 0:
                found.append(
                    Program.from_log(
                        task, schedule, (), WRONG, "", 0.5, when, canonical({"compiled": 0.25})
                    )
                )
                continue
            costs = FIRST if number == 1 else (number * 1e-5, number * 1.2e-5)
            noted: dict[str, Json] = {**extra, "spills": 0}
            if number == 1:
                noted["torch"] = [2e-5, 4e-5]
            said = canonical(noted)
            found.append(Program.from_log(task, schedule, costs, None, "", 0.5, when, said))
    again = found[1]
    said = canonical({"again": True, "overtaken": True})
    found.append(
        Program.from_log(again.task, again.schedule, SECOND, None, "", 0.5, 1.7949e9, said)
    )
    return found


def collected(file: Path) -> Path:
    """Write them as a collector does."""
    file.write_text("".join(f"{line_of(program)}\n" for program in programs()))
    return file
