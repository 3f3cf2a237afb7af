"""Compilers' records and tuners' programs are one table of results, joined by the structure."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from graph_net.api.query import RESULTS, query
from graph_net.programs.formats import Place
from graph_net.programs.store.program_store import Labels, ProgramStore
from graph_net.programs.store.task_table import SCHEMA, write_rows
from graph_net.results import Failure, Program, RecordError, Stage, Subject, Symptom, Task
from graph_net.store.records import RecordStore
from score.some_samples import record
from store.test_records import store_of


def program(
    workload: str, cost: float | None, details: str = "", format_name: str = "ansor"
) -> Program:
    failure = None if cost else Failure(Stage.COMPILE, Symptom.TIMEOUT, "too long")
    schedule = json.dumps([workload, cost])
    task = Task(format_name, workload, details=details)
    return Program.from_log(task, schedule, (cost,) if cost else (), failure)


def add_programs(directory: Path, programs: list[Program], device: str) -> None:
    placed = ((Place(number, 0), one) for number, one in enumerate(programs, 1))
    part = directory / f"programs-2-{device.replace(' ', '-')}.parquet"
    ProgramStore(directory).add_part(part, Path("x"), placed, Labels(device=device))


@pytest.fixture
def both(tmp_path: Path) -> RecordStore:
    """Records and programs of the structure ``s``, and programs of others."""
    subject = Subject("id", "s", "matmul")
    store = store_of(
        tmp_path,
        [record("a", subject=subject), record("b", (Stage.COMPILE, Symptom.CRASH))],
    )
    programs = [
        program("known", 2e-3),
        program("known", None),
        program("told", 3e-3, json.dumps({"structure": "s"})),
        program("damaged", 4e-3, "{"),
    ]
    add_programs(tmp_path, programs, "a gpu")
    row = {"network": "n", "workload": "known", "kernel": "", "structure": "s", "graph": "",
           "weight": 1, "flops": None}  # fmt: skip
    other = {**row, "network": "m"}
    write_rows(tmp_path / "tasks-x.parquet", SCHEMA, [row, other])
    return store


def test_a_structure_has_the_results_of_compilers_and_of_schedules(both: RecordStore) -> None:
    question = "SELECT kind, device, seconds, failure FROM results WHERE structure = 's' ORDER BY 3"
    assert query(both, question)[1] == [
        ("compiler", "a processor", 1e-3, None),
        ("schedule", "a gpu", 2e-3, None),
        ("schedule", "a gpu", 3e-3, None),
        ("schedule", "a gpu", None, "timeout"),
    ]


def test_every_result_is_there_once_and_has_a_configuration(both: RecordStore) -> None:
    names, rows = query(both, "SELECT * FROM results")
    assert tuple(names) == RESULTS
    assert len(rows) == 6
    assert len({row[2] for row in rows if row[0] == "schedule"}) == 4
    assert query(both, "SELECT failure FROM results WHERE structure = 'b'")[1] == [("crash",)]


@pytest.mark.parametrize(
    ("format_name", "kind"),
    [("ansor", "schedule"), ("eager_layout", "layout"), ("tpugraphs_tile", "tile")],
)
def test_a_program_has_the_kind_of_its_configuration(
    both: RecordStore, format_name: str, kind: str
) -> None:
    add_programs(both.path, [program("known", 1e-3, "", format_name)], "another gpu")
    of_programs = query(both, "SELECT kind FROM programs WHERE device_name = 'another gpu'")[1]
    of_results = query(both, "SELECT kind FROM results WHERE device = 'another gpu'")[1]
    assert of_programs == of_results == [(kind,)]


def test_a_wrong_question_names_the_tables(both: RecordStore) -> None:
    with pytest.raises(RecordError, match=r"results \(kind, structure, config, device, seconds"):
        query(both, "SELECT nothing FROM results")
