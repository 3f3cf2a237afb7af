"""Programs read to learn from: what counts, what is left out, and how much is held."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from graph_net.learn import read_set as module
from graph_net.learn.learning_set import LearnError
from graph_net.learn.program_features import (
    BOTH,
    CODE,
    ENCODERS,
    IS_STORE,
    join_rows,
    store_columns,
)
from graph_net.learn.read_set import read_set
from graph_net.programs.dataset.export import publish
from graph_net.programs.features import code_features
from graph_net.programs.formats import Format, ReadError
from graph_net.programs.spaces import ansor_steps, loop_tiles, primitives
from graph_net.programs.store.ingest import add_file
from graph_net.programs.store.program_store import Labels
from graph_net.programs.triton import H200, TritonSpace
from graph_net.programs.triton.features import NAMES
from graph_net.programs.triton.space import workload_of
from graph_net.results import Program
from graph_net.results import program_to_json as line_of
from learn.some_records import EACH, MODULES, NOISE, TESTED, TRAINED, data_set, programs, records
from programs.features.some_programs import program, steps, stored, trace

SLICES = Path(__file__).parents[1] / "slices"


@pytest.fixture(scope="module")
def packed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return records(tmp_path_factory.mktemp("read") / "records")


def test_tasks_carry_what_scores_need(packed: Path) -> None:
    data = read_set(packed).data
    assert len(data.tasks) == len(MODULES)
    by_graph = {task.graph: task for task in data.tasks}
    assert by_graph["graph0"].kind == "matmul"
    assert by_graph["graph8"].kind == "softmax"
    assert by_graph["graph1"].weights == {TESTED: 2.0}
    assert by_graph["graph3"].weights == {TRAINED: 4.0}
    assert {task.platform for task in data.tasks} == {"h200"}


def test_a_program_counts_once_with_its_first_measurement(packed: Path) -> None:
    measured = read_set(packed)
    assert len(measured.data) == len(MODULES) * EACH
    first: dict[tuple[str, str], tuple[float, ...]] = {}
    for one in programs():
        first.setdefault((one.task.workload, one.schedule), one.costs)
    costs = [np.mean(runs) for runs in first.values() if runs]
    found = measured.data.programs.costs
    np.testing.assert_allclose(np.sort(found[np.isfinite(found)]), np.sort(costs))


def test_a_program_that_failed_has_an_infinite_cost(packed: Path) -> None:
    assert np.isinf(read_set(packed).data.programs.costs).sum() == len(MODULES)


def test_second_measurements_are_the_noise(packed: Path) -> None:
    measured = read_set(packed)
    assert measured.repeated.costs.size == len(MODULES) * (EACH // 2 - 1)
    assert 0 < np.abs(measured.repeated.log_ratios).max() < 1.1 * NOISE


def test_a_line_that_is_there_twice_is_no_second_measurement(tmp_path: Path) -> None:
    twice = [program(trace(2, 32), 0.5), program(trace(2, 32), 0.5), program(trace(4, 16), 1.0)]
    assert read_set(stored(tmp_path / "records", twice)).repeated.costs.size == 0
    other = [program(trace(2, 32), 0.5), program(trace(2, 32), 0.6), program(trace(4, 16), 1.0)]
    assert read_set(stored(tmp_path / "others", other, name="b")).repeated.costs.size == 1


def test_plain_columns_are_read_as_packed_ones(packed: Path, tmp_path: Path) -> None:
    publish(packed, tmp_path)
    one, other = read_set(packed), read_set(tmp_path)
    np.testing.assert_array_equal(one.data.rows, other.data.rows)
    np.testing.assert_allclose(one.data.programs.costs, other.data.programs.costs)
    np.testing.assert_array_equal(one.programs, other.programs)
    assert one.data.tasks == other.data.tasks


def test_features_of_triton_are_those_of_the_space(packed: Path) -> None:
    data = read_set(packed, "triton").data
    assert data.columns == tuple(NAMES)
    assert data.is_tabular
    space = TritonSpace(workload_of(MODULES[0]), H200.text)
    wanted = {space.encode(schedule).tobytes() for schedule in space.sample(EACH, 1)}
    (place,) = [n for n, task in enumerate(data.tasks) if task.graph == "graph0"]
    assert {row.tobytes() for row in data.rows[data.programs.tasks == place]} == wanted


def test_a_limit_takes_programs_without_looking_at_their_costs(packed: Path) -> None:
    few, all_of_them = read_set(packed, per_task=8), read_set(packed)
    assert np.bincount(few.data.programs.tasks).tolist() == [8] * len(MODULES)
    for place in range(len(MODULES)):
        every = np.sort(all_of_them.programs[all_of_them.data.programs.tasks == place])
        taken = np.sort(few.programs[few.data.programs.tasks == place])
        assert taken.tolist() == every[:8].tolist()


def test_features_that_do_not_fit_into_memory_are_refused(
    packed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MOST_BYTES", 1000)
    with pytest.raises(LearnError, match="take fewer programs of a task"):
        read_set(packed)


def test_tasks_with_one_program_are_left_out(tmp_path: Path) -> None:
    found = [
        program(trace(2, 32), 0.5),
        program(trace(4, 16), 1.0),
        program(trace(8, 8), 1.0, workload="alone"),
        program(trace(2, 8), None, workload="broken"),
        program(trace(8, 2), None, workload="broken"),
    ]
    told: list[str] = []
    measured = read_set(stored(tmp_path / "records", found), tell=told.append)
    assert len(measured.data.tasks) == 1
    assert len(measured.data) == 2
    assert "2 tasks without a choice of programs are left out" in told[0]


def test_a_task_of_second_measurements_alone_is_left_out(tmp_path: Path) -> None:
    lonely = [replace_extra(one) for one in programs()[:3]]
    file = tmp_path / "a.jsonl"
    kept = [one for one in programs() if one.task != lonely[0].task]
    file.write_text("".join(f"{line_of(one)}\n" for one in [*lonely, *kept]))
    assert add_file(tmp_path, file, Format.COLLECTED, Labels("h200")) is not None
    assert len(read_set(tmp_path).data.tasks) == len(MODULES) - 1


def replace_extra(one: Program) -> Program:
    """The same, as a second measurement."""
    return Program.from_log(one.task, one.schedule, one.costs or (1.0,), extra='{"again":true}')


def test_primitives_have_no_padding(tmp_path: Path) -> None:
    found = [program(trace(2, 32), 0.5), program(trace(4, 4, 4), 1.0)]
    data = read_set(stored(tmp_path / "records", found)).data
    assert len(data.columns) == primitives.WIDTH
    assert np.diff(data.starts).tolist() == [1, 1]
    split = data.columns.index("step.Split")
    assert data.rows[:, split].tolist() == [1.0, 1.0]


def test_steps_of_ansor_are_rows(tmp_path: Path) -> None:
    found = [program(steps(2), 0.5, target="cuda"), program(steps(4), 1.0, target="cuda")]
    measured = read_set(stored(tmp_path / "records", found))
    assert measured.features == "primitives"
    assert len(measured.data.columns) == ansor_steps.WIDTH
    assert measured.data.rows[:, measured.data.columns.index("step.SP")].tolist() == [1.0, 1.0]
    assert {task.platform for task in measured.data.tasks} == {"cuda"}


def test_a_schedule_that_cannot_be_encoded_is_left_out_alone(tmp_path: Path) -> None:
    found = [program(trace(2, 32), 0.5), program(trace(4, 16), 1.0), program("[1]", 0.1)]
    told: list[str] = []
    measured = read_set(stored(tmp_path / "records", found), tell=told.append)
    assert len(measured.data) == 2
    assert told == [
        f"{tmp_path / 'records'}: 1 programs have no features primitives and are left out"
    ]


def test_formats_that_have_nothing_in_common_are_told(tmp_path: Path) -> None:
    found = [program(trace(2, 32), 0.5), program(steps(2), 0.5)]
    with pytest.raises(LearnError, match="ansor and metaschedule have no features in common"):
        read_set(stored(tmp_path / "records", found))


@pytest.mark.parametrize(
    ("features", "why"),
    [
        ("colours", "unknown features 'colours'; available: auto, triton"),
        ("per_store", "triton have no features per_store; they have: triton"),
    ],
)
def test_features_that_there_are_none_of_are_told(packed: Path, features: str, why: str) -> None:
    with pytest.raises(LearnError, match=why):
        read_set(packed, features)


def test_a_data_set_is_read_with_all_its_platforms(tmp_path: Path) -> None:
    measured = read_set(data_set(tmp_path / "set"))
    assert {task.platform for task in measured.data.tasks} == {"first", "second"}
    assert len(measured.data) == 2 * len(MODULES) * EACH
    alone = read_set(tmp_path / "set" / "second")
    assert {task.platform for task in alone.data.tasks} == {"second"}
    mine = [n for n, task in enumerate(measured.data.tasks) if task.platform == "second"]
    np.testing.assert_array_equal(measured.data.select(mine).rows, alone.data.rows)


def test_a_place_without_programs_is_told(tmp_path: Path) -> None:
    with pytest.raises(ReadError, match="no directory with programs"):
        read_set(tmp_path)
    with pytest.raises(ReadError, match="is not a directory of records"):
        read_set(tmp_path / "nowhere")


def test_rows_of_two_kinds_share_a_matrix() -> None:
    stores, found = np.full((2, 3), 5, np.float32), np.full((1, 2), 7, np.float32)
    assert join_rows(stores, found).tolist() == [
        [1, 5, 5, 5, 0, 0],
        [1, 5, 5, 5, 0, 0],
        [0, 0, 0, 0, 7, 7],
    ]


def test_columns_have_distinct_names() -> None:
    for make in ENCODERS.values():
        columns = make().columns
        assert len(set(columns)) == len(columns)
    both = (IS_STORE, *store_columns(), *ENCODERS["primitives", "metaschedule"]().columns)
    assert len(set(both)) == 1 + 164 + primitives.WIDTH


def test_stores_and_primitives_of_real_schedules_are_joined(tmp_path: Path) -> None:
    pytest.importorskip("tvm")
    from learn.some_schedules import real_records

    folder = real_records(tmp_path / "records")
    both = read_set(folder, BOTH, cache=tmp_path / "cache")
    stores = read_set(folder, "per_store", cache=tmp_path / "cache")
    traces = read_set(folder, "primitives")
    assert list((tmp_path / "cache").glob("features-per_store-*.parquet"))
    assert len(both.data) == len(stores.data) == len(traces.data)
    assert len(both.data.rows) == len(stores.data.rows) + len(traces.data.rows)
    assert both.data.rows[:, 0].sum() == len(stores.data.rows)


def test_a_data_set_may_hold_features_of_machine_code_itself(tmp_path: Path) -> None:
    pytest.importorskip("tvm")
    from learn.some_schedules import real_records

    folder, told = real_records(tmp_path / "records"), list[str]()
    first = read_set(folder, CODE, cache=tmp_path / "cache", tell=told.append)
    assert any("computing machine_code of" in line for line in told)
    assert first.data.columns == (*loop_tiles.COLUMNS, *code_features.COLUMNS)
    assert first.data.is_tabular
    for part in (tmp_path / "cache").iterdir():
        part.rename(folder / part.name)
    told.clear()
    again = read_set(folder, CODE, tell=told.append)
    assert not any("computing" in line for line in told)
    assert np.array_equal(again.data.rows, first.data.rows)
    assert np.array_equal(again.data.rows[:, : len(loop_tiles.COLUMNS)], read_set(folder).data.rows)


@pytest.mark.parametrize(("device", "kind"), [("Tesla V100-SXM2", "ansor_gpu"), ("", "primitives")])
def test_ansors_programs_have_a_gpus_numbers_where_the_gpu_is_known(
    tmp_path: Path, device: str, kind: str
) -> None:
    for file in sorted((SLICES / "ansor" / "v100").glob("*.gz")):
        add_file(tmp_path, file, Format.ANSOR, Labels(device=device))
    measured = read_set(tmp_path)
    assert measured.features == kind
    assert measured.data.is_tabular == (kind == "ansor_gpu")
    assert len(measured.data) > 20
