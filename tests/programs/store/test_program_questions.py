"""The best of each task, the worth of a ranking, and batches of programs."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pytest

from graph_net.programs.formats import Format, ReadError, read_ansor
from graph_net.programs.formats.columns import schedule_hashes
from graph_net.programs.store import program_store as stored
from graph_net.programs.store.ingest import add_file
from graph_net.programs.store.program_store import Labels, ProgramStore
from graph_net.programs.store.questions import batches, best_by_task, top_k
from programs.formats.tuning_samples import ansor, lines

COSTS = {"a": [4.0, 1.0, 2.0], "b": [8.0, 10.0, 32.0]}


def step(number: int) -> list[list[object]]:
    return [["SP", 0, 0, 64, [number], 1]]


def program(number: int) -> int:
    return int(schedule_hashes([json.dumps(step(number), separators=(",", ":")).encode()])[0])


@pytest.fixture
def store(tmp_path: Path) -> ProgramStore:
    """Two tasks of three programs, and of each one that failed."""
    rows = [
        ansor(key=json.dumps([name]), steps=step(number), r=[[cost, cost], 0, 1, 5])
        for name, costs in COSTS.items()
        for number, cost in enumerate(costs)
    ]
    failed = [ansor(key=json.dumps([n]), steps=step(9), r=[[1e10], 4, 1, 5]) for n in COSTS]
    add_file(tmp_path, lines(tmp_path / "x", *rows, *failed), Format.ANSOR, Labels())
    return ProgramStore(tmp_path)


def tasks(store: ProgramStore) -> dict[str, str]:
    """The hash of each task, by its name."""
    found = best_by_task(store).to_pylist()
    return {json.loads(row["workload"])[0]: row["task"] for row in found}


def ranking(store: ProgramStore, **order: list[int]) -> pa.Table:
    """Programs of tasks, best first."""
    known = tasks(store)
    rows = [
        {"task": known[name], "program": program(number), "score": -float(place)}
        for name, numbers in order.items()
        for place, number in enumerate(numbers)
    ]
    return pa.Table.from_pylist(
        rows,
        pa.schema([("task", pa.string()), ("program", pa.uint64()), ("score", pa.float64())]),
    )


def test_the_best_program_of_each_task(store: ProgramStore) -> None:
    found = {
        json.loads(row["workload"])[0]: (row["programs"], row["ran"], row["cost"], row["program"])
        for row in best_by_task(store).to_pylist()
    }
    assert found == {"a": (4, 3, 1.0, program(1)), "b": (4, 3, 8.0, program(0))}


def test_top_k_is_least_latency_over_latency_of_the_first_k(store: ProgramStore) -> None:
    one, two, three = top_k(store, ranking(store, a=[0, 2, 1], b=[1, 0, 2]), ks=(1, 2, 3))
    assert one.pooled == pytest.approx((1 + 8) / (4 + 10))
    assert two.pooled == pytest.approx((1 + 8) / (2 + 8))
    assert three.pooled == 1


def test_top_k_by_network_counts_how_often_a_task_occurs(store: ProgramStore) -> None:
    known = tasks(store)
    weights = pa.table(
        {
            "network": ["m", "m", "n"],
            "task": [known["a"], known["b"], known["a"]],
            "weight": [3.0, 1.0, 1.0],
        }
    )
    (found,) = top_k(store, ranking(store, a=[0], b=[1]), ks=(1,), weights=weights)
    assert found.networks == pytest.approx({"m": (3 + 8) / (12 + 10), "n": 1 / 4})
    assert found.mean == pytest.approx((0.5 + 0.25) / 2)
    assert found.pooled == pytest.approx((3 + 8 + 1) / (12 + 10 + 4))
    (found,) = top_k(store, ranking(store, a=[0]), ks=(1,), weights=weights)
    assert found.networks == pytest.approx({"m": 1 / 4, "n": 1 / 4})


def test_a_ranking_that_begins_with_failures_is_worth_nothing(store: ProgramStore) -> None:
    first, second = top_k(store, ranking(store, a=[9, 1]), ks=(1, 2))
    assert (first.pooled, second.pooled) == (0, 1)


def test_a_table_that_is_no_ranking_is_refused(store: ProgramStore) -> None:
    with pytest.raises(ReadError, match="no column score"):
        top_k(store, pa.table({"task": ["a"], "program": [1]}))
    with pytest.raises(ReadError, match="no task of the ranking"):
        top_k(store, pa.table({"task": ["a"], "program": [1], "score": [1.0]}))


@pytest.fixture
def many(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ProgramStore:
    """A thousand programs of five tasks in thirty row groups."""
    monkeypatch.setattr(stored, "ROW_GROUP", 34)
    rows = [
        ansor(key=json.dumps([f"k{n % 5}"]), steps=step(n), r=[[0.001 * (n + 1)], 0, 1, n])
        for n in range(1000)
    ]
    path = lines(tmp_path / "x", *rows)
    found = ProgramStore(tmp_path)
    found.add(path, read_ansor(path), Labels())
    return found


def schedules(tables: list[pa.Table]) -> list[str]:
    return [text for table in tables for text in table["schedule"].to_pylist()]


def test_batches_have_every_chosen_program_once(many: ProgramStore) -> None:
    found = list(batches(many, "kernel = 'k3' AND cost < 0.5", size=32))
    assert [len(table) for table in found] == [32, 32, 32, 4]
    wanted = [json.dumps(step(n), separators=(",", ":")) for n in range(3, 499, 5)]
    assert sorted(schedules(found)) == sorted(wanted)


def test_batches_are_the_same_by_seed_and_in_no_order_of_the_file(many: ProgramStore) -> None:
    first, again, other = (list(batches(many, size=100, seed=seed)) for seed in (1, 1, 2))
    assert schedules(first) == schedules(again)
    assert schedules(first) != schedules(other)
    assert sorted(schedules(first)) == sorted(schedules(other))
    assert all(len(set(table["task"].to_pylist())) == 5 for table in first)


def test_a_batch_has_the_columns_that_are_asked(many: ProgramStore) -> None:
    (found,) = batches(many, "line = 7", columns=("costs", "measured", "kernel"))
    assert found.column_names == ["costs", "measured", "kernel"]
    assert found["costs"].to_pylist() == [[0.007]]


def test_a_wrong_condition_or_column_is_told(many: ProgramStore) -> None:
    with pytest.raises(ReadError, match="Columns: source"):
        list(batches(many, "nothing = 1"))
    with pytest.raises(ReadError, match="no column nothing"):
        list(batches(many, columns=("nothing",)))
    with pytest.raises(ReadError, match="give one statement at a time"):
        list(batches(many, "true); SELECT 1; SELECT (true"))
    with pytest.raises(ReadError, match="disabled"):
        list(batches(many, "line IN (SELECT 1 FROM read_text('/etc/hostname'))"))


def test_no_programs_make_no_batches(tmp_path: Path) -> None:
    assert list(batches(ProgramStore(tmp_path))) == []


def test_what_is_stored_without_schedules_has_none(tmp_path: Path) -> None:
    path = lines(tmp_path / "x", ansor())
    add_file(tmp_path, path, Format.ANSOR, Labels(schedules=False))
    (found,) = batches(ProgramStore(tmp_path))
    assert found["schedule"].to_pylist() == [None]
