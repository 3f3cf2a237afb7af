"""A data set of programs: its tables, its splits, its statistics, its card and its metadata."""

from __future__ import annotations

import gzip
import json
import os
import signal
from pathlib import Path
from random import Random

import duckdb
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph_net.api.query import query
from graph_net.cli.main import main
from graph_net.graph import from_bytes
from graph_net.programs.collection.cpu_bench import CpuBench
from graph_net.programs.dataset.card import card
from graph_net.programs.dataset.columns import ABOUT, DESCRIPTIONS, SCHEMAS, kind_of
from graph_net.programs.dataset.dataset import files, platforms
from graph_net.programs.dataset.splits import is_held_out, load_splits, make_splits, split_of
from graph_net.programs.dataset.stats import BEGIN, END, count, markdown
from graph_net.programs.formats import Format, ReadError
from graph_net.programs.store.ingest import add_file
from graph_net.programs.store.program_store import Labels
from graph_net.programs.store.task_table import TaskStore
from graph_net.programs.view.overview import TaskSummary
from graph_net.results import Json, canonical
from graph_net.store.records import RecordStore
from programs.collection.some_programs import CPU, EACH, WORKS, data_set, on_a_gpu
from programs.triton.some_kernels import TESTED


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return data_set(tmp_path_factory.mktemp("programs"))


def call(*words: str | Path) -> int | str | None:
    with pytest.raises(SystemExit) as stop:
        main([str(word) for word in words])
    return stop.value.code


def ask(folder: Path, question: str) -> list[tuple[object, ...]]:
    return query(RecordStore(folder), question)[1]


def test_both_platforms_have_the_same_tables(made: Path) -> None:
    for path in platforms(made).values():
        for table, (part,) in files(path).items():
            assert pq.read_schema(part).names == SCHEMAS[kind_of(table, [part])].names
    assert list(files(made / "cpu")) == ["programs", "tasks", "workloads", "subgraphs"]
    assert list(files(made / "h200")) == ["programs", "tasks", "workloads"]


def test_tasks_join_with_programs_and_workloads(made: Path) -> None:
    question = (
        "SELECT network, weight, flops, count(*) FROM programs JOIN tasks USING (workload) "
        "JOIN workloads USING (workload) GROUP BY ALL ORDER BY ALL"
    )
    found = ask(made / "cpu", question)
    calls = sorted((network, n) for weights in CPU.values() for network, n in weights.items())
    assert found == [(network, n, 1e6, EACH) for network, n in calls]
    found = ask(made / "h200", question)
    assert len(found) == len(WORKS)
    module = "SELECT module FROM workloads ORDER BY module"
    assert ask(made / "h200", module) == sorted((work.workload.module,) for work in WORKS)


@pytest.mark.parametrize("plain", [False, True])
def test_a_collected_file_is_ingested(tmp_path: Path, plain: bool) -> None:
    file = on_a_gpu(tmp_path / "a.jsonl.gz")
    if plain:
        file.write_bytes(gzip.decompress(file.read_bytes()))
    assert call("ingest", file, "-o", tmp_path / "named") == 0
    assert call("ingest", file, "-o", tmp_path / "told", "--device", "mine") == 0
    devices = "SELECT DISTINCT device_name FROM programs"
    assert ask(tmp_path / "named", devices) == [("NVIDIA H200",)]
    assert ask(tmp_path / "told", devices) == [("mine",)]
    assert ask(tmp_path / "told", "SELECT count(*) FROM tasks") == [(len(WORKS),)]
    assert call("ingest", file, "-o", tmp_path / "named") == 0
    assert ask(tmp_path / "named", "SELECT count(*) FROM programs") == [(len(WORKS) * EACH,)]


@pytest.mark.parametrize("weights", [None, [1], {"resnet": 1.5}, {"resnet": -1}, {"resnet": True}])
def test_weights_that_are_none_make_no_rows(tmp_path: Path, weights: object) -> None:
    file = on_a_gpu(tmp_path / "a.jsonl.gz")
    line = json.loads(gzip.decompress(file.read_bytes()).splitlines()[0])
    line["task"]["details"] = json.dumps({"weights": weights}, separators=(",", ":"))
    (tmp_path / "b.jsonl").write_text(json.dumps(line))
    assert call("ingest", tmp_path / "b.jsonl", "-o", tmp_path / "out") == 0
    assert ask(tmp_path / "out", "SELECT count(*) FROM programs") == [(1,)]
    assert ask(tmp_path / "out", "SELECT count(*) FROM tasks") == [(0,)]


@pytest.mark.parametrize(
    ("said", "stored"),
    [
        ({"structure": "s" * 16, "graph": "g" * 16, "flops": 5}, ("s" * 16, "g" * 16, 5.0)),
        ({"structure": None, "graph": 7, "flops": True}, ("", "", None)),
        ({"flops": 10**400}, ("", "", None)),
    ],
)
def test_what_details_say_of_a_subgraph_is_in_the_table_of_tasks(
    tmp_path: Path, said: dict[str, object], stored: tuple[object, ...]
) -> None:
    lines = gzip.decompress(on_a_gpu(tmp_path / "a.jsonl.gz").read_bytes()).splitlines()
    rows = [json.loads(line) for line in lines[:EACH]]
    for row in rows:
        details = json.loads(row["task"]["details"])
        row["task"]["details"] = canonical({"weights": details["weights"]} | said)
    (tmp_path / "b.jsonl").write_text("\n".join(map(json.dumps, rows)))
    assert call("ingest", tmp_path / "b.jsonl", "-o", tmp_path / "out") == 0
    question = "SELECT network, workload, structure, graph, flops FROM tasks"
    (network,) = WORKS[0].weights
    assert ask(tmp_path / "out", question) == [(network, WORKS[0].workload.hash, *stored)]


def test_programs_are_there_only_with_their_tasks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = on_a_gpu(tmp_path / "a.jsonl.gz")
    with monkeypatch.context() as patch:
        patch.setattr(TaskStore, "add", lambda *_: signal.raise_signal(signal.SIGINT))
        with pytest.raises(KeyboardInterrupt):
            add_file(tmp_path, file, Format.COLLECTED, Labels())
    assert not list(tmp_path.glob("*.parquet"))
    assert add_file(tmp_path, file, Format.COLLECTED, Labels()) is not None
    assert ask(tmp_path, "SELECT count(*) FROM tasks") == [(len(WORKS),)]
    assert add_file(tmp_path, file, Format.COLLECTED, Labels()) is None


def test_tasks_that_fill_the_memory_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("graph_net.programs.store.ingest.TASK_BYTES", 100)
    with pytest.raises(ReadError, match="has tasks of more than"):
        add_file(tmp_path, on_a_gpu(tmp_path / "a.jsonl.gz"), Format.COLLECTED, Labels())
    assert not list(tmp_path.glob("*.parquet"))


def test_a_task_of_a_held_out_network_is_for_testing_wherever_else_it_occurs(made: Path) -> None:
    cpu, h200 = count(made)
    of = {task.kernel: task.task for task in cpu.tasks}
    assert cpu.split.held_out == ("tenset/resnet50-1x224",)
    assert cpu.split.test == (of["fused_a"],)
    assert set(cpu.split.train) == {of["fused_b"], of["fused_c"]}
    held = {work.workload.hash for work in WORKS if TESTED in work.weights}
    assert 0 < len(held) < len(WORKS)
    assert {task.workload for task in h200.tasks if task.task in h200.split.test} == held


def summary(task: str, weights: dict[str, int]) -> TaskSummary:
    said = ("triton", task, "", "", "", "")
    return TaskSummary(task, *said, 1, 0, 1.0, 1.0, 1.0, weights, 0.0, "", "")


NETWORKS = st.sampled_from(
    ["tenset/bert_base-1x128", "resnet50-1x224", "vgg-1x224", "torchvision/vit_l_16@8:bfloat16"]
)


@given(st.lists(st.dictionaries(NETWORKS, st.integers(1, 9)), max_size=12), st.randoms())
def test_a_split_has_every_task_once_and_does_not_depend_on_order(
    weights: list[dict[str, int]], chance: Random
) -> None:
    tasks = [summary(f"{place:03}", one) for place, one in enumerate(weights)]
    split = split_of(tasks)
    assert sorted([*split.train, *split.test]) == [task.task for task in tasks]
    for task in tasks:
        held = any(map(is_held_out, task.weights))
        assert (task.task in split.test) == held
    chance.shuffle(tasks)
    assert split_of(tasks) == split


def test_statistics_count_what_is_there(made: Path) -> None:
    cpu, h200 = count(made)
    assert (h200.programs, h200.ran, h200.runs) == (24, 18, 36)
    assert h200.failures == {"compile: timeout": 6}
    assert (h200.fewest, h200.most, h200.jumpy) == (2, 2, 0)
    assert h200.noise == pytest.approx(0.1 * 2**0.5 / 1.1)
    assert list(h200.torch.values()) == [pytest.approx(3e-5)] * 6
    assert h200.software == "torch 2.11.0, triton 3.6.0"
    assert (cpu.programs, cpu.ran, cpu.noise, cpu.torch) == (12, 12, 0.0, {})
    tvm = CpuBench(made.parent / "work", 1).device.software.get("tvm")
    assert cpu.software == (f"tvm {tvm}" if tvm else "")
    assert len(cpu.networks) == 4
    assert cpu.bytes == sum(file.stat().st_size for file in (made / "cpu").rglob("*.parquet"))


def test_tables_say_it(made: Path) -> None:
    text = markdown(count(made))
    assert "| distinct programs | 12 | 24 |" in text
    assert "| that ran | 12 (100.0%) | 18 (75.0%) |" in text
    assert "| worst over best of one (median, largest) | 7 ×, 7 × | 3 ×, 3 × |" in text
    assert "| cpu | resnet18 | 2 | 1 | 0 | 4 | 4 × |" in text
    assert "| cpu | wide_resnet50 | 1 | 2 | 1 | 8 | 4 × |" in text
    assert "| h200 | compile | timeout | 6 |" in text


def test_a_page_gets_the_tables_between_its_marks(made: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"before\n{BEGIN}\nold\n{END}\nafter\n")
    assert call("programs", "stats", made, "--page", page) == 0
    text = page.read_text("utf-8")
    assert text == f"before\n{BEGIN}\n{markdown(count(made))}\n{END}\nafter\n"


def test_every_column_is_described() -> None:
    assert ABOUT.keys() == DESCRIPTIONS.keys() == SCHEMAS.keys()
    for table, schema in SCHEMAS.items():
        assert list(DESCRIPTIONS[table]) == schema.names


def test_the_card_leads_to_all_files(made: Path) -> None:
    text = card(count(made))
    head = text.split("---\n")[1]
    paths = [line.split(": ")[1] for line in head.splitlines() if line.startswith("    path: ")]
    found = [list(made.glob(path)) for path in paths]
    assert all(found)
    assert sorted(part for parts in found for part in parts) == sorted(made.rglob("*.parquet"))
    assert head.count("default: true") == 1


def test_the_view_of_the_card_reads_the_files_with_duckdb_alone(
    made: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sql = card(count(made)).split("```sql\n")[1].split("```")[0]
    monkeypatch.chdir(made)
    with duckdb.connect(":memory:") as connection:
        connection.execute(sql)
        columns = "kernel, costs, cost, schedule, status"
        question = f"SELECT {columns} FROM programs ORDER BY kernel, schedule"  # noqa: S608
        assert connection.execute(question).fetchall() == ask(made / "cpu", question)


def test_its_own_reader_finds_no_fault_in_the_metadata(made: Path) -> None:
    mlcroissant = pytest.importorskip("mlcroissant")
    assert call("programs", "card", made, "--published", "2026-01-01") == 0
    assert load_splits(made) == make_splits({of.name: of.tasks for of in count(made)})
    data = mlcroissant.Dataset(str(made / "croissant.json"))
    assert not data.metadata.ctx.issues.errors
    assert not data.metadata.ctx.issues.warnings
    records = list(data.records("h200_programs"))
    assert len(records) == 24
    repeats = [one["h200_programs/repeats"] for one in records]
    assert (repeats.count(2), repeats.count(0)) == (18, 6)
    assert len(list(data.records("cpu_tasks"))) == 5
    (graph, *_) = data.records("cpu_subgraphs")
    assert from_bytes(graph["cpu_subgraphs/graph"]).id == graph["cpu_subgraphs/id"].decode()


@pytest.mark.parametrize(
    ("weights", "why"),
    [
        ({}, "nothing to test with: no task says which networks call it"),
        ({"vgg-1x224": 2}, "nothing to test with: none of its networks is one"),
        ({"resnet50-1x224": 2}, "nothing to train on: networks that are held out"),
    ],
)
def test_a_split_with_an_empty_side_is_told(
    tmp_path: Path, weights: Json, why: str, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = gzip.decompress(on_a_gpu(tmp_path / "a.jsonl.gz").read_bytes()).splitlines()
    row = json.loads(lines[1])
    row["task"]["details"] = canonical({"weights": weights})
    (tmp_path / "b.jsonl").write_text(json.dumps(row))
    assert call("ingest", tmp_path / "b.jsonl", "-o", tmp_path / "set" / "cpu") == 0
    assert call("programs", "card", tmp_path / "set") == 0
    assert f"warning: cpu has {why}" in capsys.readouterr().err
    assert why in (tmp_path / "set" / "README.md").read_text("utf-8")


def test_a_split_with_two_sides_is_no_warning(
    made: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call("programs", "card", made) == 0
    assert "warning" not in capsys.readouterr().err
    assert "nothing to" not in card(count(made))


def test_a_directory_without_programs_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "cpu").mkdir()
    for verb in ("stats", "card"):
        for place in (tmp_path, tmp_path / "none", Path(os.devnull)):
            assert call("programs", verb, place) == 1
            assert "has no directory with programs in it" in capsys.readouterr().err
