"""Directories of records with a few programs of MetaSchedule and of Ansor."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from graph_net.programs.formats import Place
from graph_net.programs.store.program_store import Labels, ProgramStore
from graph_net.results import Failure, Program, Stage, Symptom, Task

FAILED = Failure(Stage.MEASURE, Symptom.EXCEPTION, "failed")


def trace(*factors: int) -> str:
    """A schedule that splits a loop."""
    names = [f"v{place}" for place in range(len(factors))]
    made = [
        ["SamplePerfectTile", ["l0"], [len(factors), 64], names],
        ["Split", ["l0", *names], [1], []],
    ]
    return json.dumps([made, [[0, list(factors)]]], separators=(",", ":"))


def steps(length: int) -> str:
    """A schedule of Ansor's that splits a loop."""
    return json.dumps([["SP", 0, 0, 64, [length], 1]], separators=(",", ":"))


def program(schedule: str, cost: float | None, workload: str = "1", target: str = "{}") -> Program:
    """A measured schedule; without a cost it failed."""
    form = "ansor" if schedule.startswith('[["SP"') else "metaschedule"
    task = Task(form, workload, "", target, "[]")
    return Program.from_log(task, schedule, (cost,) if cost else (), None if cost else FAILED)


def stored(records: Path, programs: Sequence[Program], device: str = "", name: str = "a") -> Path:
    """A directory of records that has these programs."""
    records.mkdir(parents=True, exist_ok=True)
    source = records.parent / f"{name}.json"
    source.write_text(f"{name}{device}")
    found = ((Place(line, 0), one) for line, one in enumerate(programs, 1))
    ProgramStore(records).add(source, found, Labels(device))
    return records
