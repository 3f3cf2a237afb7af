"""A directory of records with a few tasks to look at; nothing in it needs a compiler."""

from __future__ import annotations

import json
from pathlib import Path

from graph_net.programs.formats import Place
from graph_net.programs.store.program_store import Labels, ProgramStore
from graph_net.programs.store.task_table import TaskStore
from graph_net.results import Failure, Json, Program, Stage, Symptom, Task, canonical

COSTS = (4e-3, 1e-3, 2e-3, 8e-3, 3e-3)
BROKEN = (
    Failure(Stage.COMPILE, Symptom.TIMEOUT, "building took too long"),
    Failure(Stage.COMPILE, Symptom.TIMEOUT, "building took far too long"),
    Failure(Stage.FIRST_RUN, Symptom.EXCEPTION, "[red]error[/red] while running"),
)
ANSOR = Task("ansor", '["matmul", 64, 32]', "matmul", "llvm", "[]")


def sleeping(number: int = 1, tiles: int = 12, **weights: int) -> Task:
    """A task of the space for tests, which has its module and networks with it."""
    details: dict[str, Json] = {"flops": 2e6, "structure": f"s{number}", "graph": "g"}
    details["module"] = {"tiles": tiles}
    details["weights"] = {**(weights or {"net": 1})}
    return Task(
        "sleeping", f"{number}" * 12, f"sleep{number}", '{"kind":"sleep"}', canonical(details)
    )


def tile(number: int) -> str:
    return canonical({"tile": number})


def steps(length: int) -> str:
    return json.dumps([["SP", 0, 0, 64, [length], 1], ["AN", 0, 1, 2]], separators=(",", ":"))


def shown(folder: Path, *more: Program, schedules: bool = True) -> Path:
    """Five programs of Ansor's that ran and three that failed; five of a space that is known."""
    programs = [
        Program.from_log(ANSOR, steps(place + 1), (cost, cost * 1.2))
        for place, cost in enumerate(COSTS)
    ]
    programs += [
        Program.from_log(ANSOR, steps(place + 10), (), why) for place, why in enumerate(BROKEN)
    ]
    task = sleeping(net=3, other=4)
    programs += [Program.from_log(task, tile(n), (1e-4 * (n + 1),)) for n in range(4)]
    return kept(folder, [*programs, *more], schedules)


def kept(folder: Path, programs: list[Program], schedules: bool = True) -> Path:
    """A directory of records that has these programs."""
    folder.mkdir(parents=True, exist_ok=True)
    source = folder.parent / f"{folder.name}.json"
    source.write_text(str(len(programs)))
    store = ProgramStore(folder)
    found = ((Place(line, 0), one) for line, one in enumerate(programs, 1))
    store.add(source, found, Labels("a device", schedules=schedules))
    known = {one.task.hash: one.task for one in programs if one.task.format == "sleeping"}
    TaskStore(folder).add("1", source.name, known.values())
    return folder
