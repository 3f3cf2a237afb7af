"""Features on disk: computed once, found again by hash, joined with what was measured."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph_net.programs.features.failures import Lost
from graph_net.programs.features.feature_kinds import (
    ANSOR_CPU,
    ANSOR_GPU,
    GRAPH,
    KINDS,
    METASCHEDULE,
    PER_STORE,
)
from graph_net.programs.features.feature_store import FeatureStore, HashSet, arrays_of
from graph_net.programs.features.part_writer import FeaturePartWriter
from graph_net.programs.features.pipeline import Making
from graph_net.programs.features.training_batches import programs_by_key, training_batches
from graph_net.programs.spaces.ansor_steps import encode_steps
from graph_net.programs.spaces.primitives import TraceEncoder, encode_trace
from programs.features.some_programs import program, steps, stored, trace


def _stores(count: int, fill: float) -> list[np.ndarray]:
    return [np.full((count, 164), fill, np.float32)]


def test_ragged_rows_and_lost_ones_come_back(tmp_path: Path) -> None:
    store = FeatureStore(tmp_path / "new" / "features")
    store.add(PER_STORE, [
        (("a", 1), _stores(2, 0.5)), (("a", 2), Lost("too slow")), (("b", 1), _stores(3, 2.0)),
    ])  # fmt: skip
    (batch,) = store.batches(PER_STORE)
    values, starts = arrays_of(PER_STORE.columns[0], batch["values"])
    assert batch["task"].to_pylist() == ["a", "b"]
    assert starts.tolist() == [0, 2, 5]
    assert values.shape == (5, 164)
    assert values.dtype == np.float16
    assert values[:, 0].tolist() == [0.5, 0.5, 2, 2, 2]
    assert store.lost(PER_STORE) == {"too slow": 1}
    assert (len(store.known(PER_STORE)), len(store.known(PER_STORE, retry=True))) == (3, 2)


def test_a_part_names_its_kind_and_version(tmp_path: Path) -> None:
    store = FeatureStore(tmp_path)
    store.add(PER_STORE, [(("a", 1), _stores(1, 1.0))])
    (part,) = tmp_path.iterdir()
    assert part.name.startswith("features-per_store-1-")
    assert pq.read_schema(part).metadata[b"graph_net.features"] == b"per_store 1"
    part.rename(tmp_path / part.name.replace("per_store-1-", "per_store-0-"))
    assert not store.parts(PER_STORE), "features of another version are not read"


def test_all_rows_may_be_lost(tmp_path: Path) -> None:
    for kind in KINDS.values():
        store = FeatureStore(tmp_path / kind.name)
        keys = tuple(7 if key == "program" else "t" for key in kind.keys)
        store.add(kind, [(keys, Lost("no"))])
        assert sum(batch.num_rows for batch in store.batches(kind)) == 0
        assert store.lost(kind) == {"no": 1}


def test_what_a_later_try_computed_is_not_lost(tmp_path: Path) -> None:
    store = FeatureStore(tmp_path)
    store.add(PER_STORE, [(("a", n), Lost("too slow")) for n in range(4)])
    store.add(PER_STORE, [(("a", 2), Lost("too large")), (("a", 1), _stores(1, 1.0))])
    store.add(PER_STORE, [(("a", 3), _stores(1, 1.0)), (("b", 0), _stores(1, 1.0))])
    lost = store.lost(PER_STORE)
    assert (store.count(PER_STORE), lost.total()) == (3, 2)
    assert lost["too slow"] >= 1
    assert (len(store.known(PER_STORE)), len(store.known(PER_STORE, retry=True))) == (5, 3)


def test_graphs_of_different_sizes_are_one_column(tmp_path: Path) -> None:
    store = FeatureStore(tmp_path)
    widths = [column.width for column in GRAPH.columns]
    for nodes in (0, 3):
        arrays = [np.ones(widths[0]), np.ones((nodes, widths[1])), np.ones((nodes, 3))]
        store.add(GRAPH, [((f"g{nodes}",), arrays)])
    found = {}
    for batch in store.batches(GRAPH):
        found[batch["graph"][0].as_py()] = len(arrays_of(GRAPH.columns[1], batch["nodes"])[0])
    assert found == {"g0": 0, "g3": 3}


@given(st.lists(st.lists(st.integers(0, 40), max_size=20), max_size=4), st.integers(0, 10))
def test_what_was_added_is_known(added: list[list[int]], recent: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("graph_net.programs.features.feature_store.RECENT", recent)
        known = HashSet()
        for keys in added:
            known.add(np.array(keys, np.uint64))
    every = {key for keys in added for key in keys}
    asked = np.arange(41, dtype=np.uint64)
    assert known.has(asked).tolist() == [key in every for key in range(41)]
    assert len(known) == len(every)


def test_a_part_is_written_when_it_is_full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("graph_net.programs.features.part_writer.PART_ROWS", 2)
    store = FeatureStore(tmp_path)
    with FeaturePartWriter(store, PER_STORE) as parts:
        for number in range(5):
            parts.add((("t", number), _stores(1, 1.0)))
        assert store.count(PER_STORE) == 4
    assert (store.count(PER_STORE), len(store.parts(PER_STORE))) == (5, 3)


def _primitives(records: Path, store: FeatureStore) -> None:
    for _ in Making(records, store).primitives():
        pass


def test_sequences_are_made_by_format_and_joined_with_costs(tmp_path: Path) -> None:
    programs = [
        program(trace(2, 4), 1.0), program(trace(4, 2), None), program(trace(2, 4), 3.0),
        program(steps(4), 5.0, target="cuda"), program(steps(8), 6.0, target="llvm -mcpu=x"),
    ]  # fmt: skip
    records = stored(tmp_path / "records", programs)
    store = FeatureStore(tmp_path / "features")
    _primitives(records, store)
    assert [store.count(kind) for kind in (METASCHEDULE, ANSOR_CPU, ANSOR_GPU)] == [2, 1, 1]
    (batch,) = training_batches(store, METASCHEDULE, programs_by_key(records, METASCHEDULE))
    assert batch.values.shape == (2, 64, 64)
    assert len(batch.starts) == 3
    for cost, values in zip(batch.cost, batch.values, strict=True):
        wanted = encode_trace(trace(4, 2) if np.isnan(cost) else trace(2, 4))
        assert np.array_equal(values, wanted.astype(np.float16))
    assert sorted(batch.cost.tolist())[0] == 1.0  # the first measurement of the one that has two
    (gpu,) = training_batches(store, ANSOR_GPU, programs_by_key(records, ANSOR_GPU))
    assert gpu.cost.tolist() == [5.0]
    assert np.array_equal(gpu.values, encode_steps([steps(4)]).astype(np.float16))


def test_nothing_is_computed_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    records = stored(tmp_path / "records", [program(trace(2, 4), 1.0)])
    store = FeatureStore(tmp_path / "features")
    _primitives(records, store)
    stored(records, [program(trace(2, 4), 2.0), program(trace(8), 2.0)], "other", "b")
    seen: list[str] = []
    encode = TraceEncoder.encode

    def noted(self: TraceEncoder, texts: list[str]) -> object:
        seen.extend(texts)
        return encode(self, texts)

    monkeypatch.setattr(TraceEncoder, "encode", noted)
    _primitives(records, store)
    _primitives(records, store)
    assert seen == [trace(8)]
    found = list(training_batches(store, METASCHEDULE, programs_by_key(records, METASCHEDULE)))
    assert sum(len(batch.cost) for batch in found) == 3
    assert {len(set(batch.task.tolist())) for batch in found} == {1, 2}


def test_a_run_that_is_left_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("graph_net.programs.features.pipeline.ROWS", 2)
    records = stored(tmp_path / "records", [program(trace(n), 1.0) for n in range(1, 6)])
    store = FeatureStore(tmp_path / "features")
    run = Making(records, store).primitives()
    next(run)
    run.close()  # type: ignore[attr-defined]
    assert store.count(METASCHEDULE) == 2
    _primitives(records, store)
    assert (store.count(METASCHEDULE), len(store.known(METASCHEDULE))) == (5, 5)


def test_a_damaged_schedule_loses_itself_alone(tmp_path: Path) -> None:
    records = stored(tmp_path / "records", [program(trace(2), 1.0), program("[1,2]", 1.0)])
    store = FeatureStore(tmp_path / "features")
    _primitives(records, store)
    assert store.count(METASCHEDULE) == 1
    ((reason, number),) = store.lost(METASCHEDULE).items()
    assert reason.startswith("not a trace of MetaSchedule")
    assert number == 1


def test_stores_join_by_task_and_program(tmp_path: Path) -> None:
    records = stored(tmp_path / "records", [
        program(trace(2), 1.0), program(trace(4), 2.0), program(trace(2), 3.0, workload="2"),
    ])  # fmt: skip
    missing = Making(records, store := FeatureStore(tmp_path / "features")).missing(PER_STORE)
    assert sorted(len(programs) for programs in missing.values()) == [1, 2]
    for count, (task, programs) in enumerate(missing.items(), 1):
        store.add(PER_STORE, [((task, number), _stores(count, count)) for number in programs])
    assert Making(records, store).missing(PER_STORE) == {}
    measured = programs_by_key(records, PER_STORE, "cost > 1.5")
    found = list(training_batches(store, PER_STORE, measured, rows=1))
    assert sorted(float(batch.cost[0]) for batch in found) == [2.0, 3.0]
    for batch in found:
        count = 1 + list(missing).index(measured.tasks[batch.task[0]])
        assert batch.starts.tolist() == [0, count]
        assert batch.values.shape == (count, 164)
        assert (batch.values == count).all()


def test_a_condition_is_no_more_than_that(tmp_path: Path) -> None:
    records = stored(tmp_path / "records", [program(trace(2), 1.0)])
    more = "true)) USING (task); SELECT 1 FROM tasks JOIN (SELECT task FROM programs WHERE (true"
    for wrong in (more, "nothing = 1", "true)"):
        with pytest.raises(ValueError, match=r"more than a condition|cannot answer"):
            programs_by_key(records, METASCHEDULE, wrong)
