"""Published programs: plain columns that need nothing of this package, read here like any."""

from __future__ import annotations

import json
import math
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graph_net.api.query import query
from graph_net.cli.main import main
from graph_net.programs.dataset.card import card
from graph_net.programs.dataset.export import publish
from graph_net.programs.dataset.splits import split_of
from graph_net.programs.dataset.stats import count
from graph_net.programs.features.feature_kinds import ANSOR_GPU, METASCHEDULE
from graph_net.programs.features.feature_store import FeatureStore
from graph_net.programs.features.pipeline import Making
from graph_net.programs.features.training_batches import programs_by_key, training_batches
from graph_net.programs.formats import Format, Place, ReadError
from graph_net.programs.store.columns import COLUMNS
from graph_net.programs.store.ingest import add_file
from graph_net.programs.store.plain_format import PARAMETERS
from graph_net.programs.store.program_store import Labels, ProgramStore
from graph_net.programs.store.questions import batches, best_by_task
from graph_net.programs.triton.layers import conv, linear
from graph_net.programs.triton.space import FAMILIES, family_of, workload_of
from graph_net.programs.triton.target import Target
from graph_net.programs.view.overview import summaries, tables
from graph_net.report.page_programs import read_programs
from graph_net.results import Json, Program, Task, canonical
from graph_net.store.records import RecordStore
from programs.dataset.plain_programs import EACH, MODULES, NETWORKS, collected, programs
from programs.features.some_programs import program, steps, stored, trace

PART = "programs-plain.parquet"


def call(*words: str | Path) -> int | str | None:
    with pytest.raises(SystemExit) as stop:
        main([str(word) for word in words])
    return stop.value.code


def ask(folder: Path, question: str) -> list[tuple[object, ...]]:
    return query(RecordStore(folder), question)[1]


@pytest.fixture(scope="module")
def packed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory of records that a collected file was ingested into."""
    folder = tmp_path_factory.mktemp("packed")
    assert add_file(folder, collected(folder / "a.jsonl"), Format.COLLECTED, Labels()) is not None
    return folder


@pytest.fixture(scope="module")
def plain(packed: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data set with one platform, published from it."""
    folder = tmp_path_factory.mktemp("set")
    assert call("programs", "publish", packed, "-o", folder / "h200") == 0
    return folder


def lines(packed: Path) -> list[dict[str, Any]]:
    """What was measured, as the collector wrote it."""
    return [json.loads(line) for line in (packed / "a.jsonl").read_text().splitlines()]


def test_row_groups_are_written_one_after_the_other(
    packed: Path, plain: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("graph_net.programs.dataset.export.ROWS", 3)
    count = publish(packed, tmp_path)
    part = pq.ParquetFile(tmp_path / PART)
    groups = [part.metadata.row_group(k).num_rows for k in range(part.num_row_groups)]
    assert max(groups) == 3
    assert sum(groups) == count
    assert part.read().equals(pq.read_table(plain / "h200" / PART))


def test_pyarrow_alone_reads_what_was_measured(packed: Path, plain: Path) -> None:
    rows = pq.read_table(plain / "h200" / PART).to_pylist()
    for row, line in zip(sorted(rows, key=lambda row: row["line"]), lines(packed), strict=True):
        task, extra = line["task"], json.loads(line["extra"])
        assert (row["workload"], row["kernel"]) == (task["workload"], task["kernel"])
        assert (row["format"], row["device"]) == ("triton", "NVIDIA H200")
        assert (row["schedule"], row["costs"]) == (line["schedule"], line["costs"])
        assert row["measured"].replace(tzinfo=UTC).timestamp() == line["measured"]
        assert row["seconds"] == line["seconds"]
        for name, value in json.loads(line["schedule"]).items():
            assert row[name] == value
        for name in ("registers", "spills", "shared"):
            assert row[name] == extra.get(name)
        assert row["torch_costs"] == extra.get("torch")
        assert row["again"] == extra.get("again", False)
        module = json.loads(task["details"])["module"]
        assert (row["dtype"], row["shape"]) == (
            module["dtype"],
            [module["rows"], module["columns"]],
        )
        failure = line["failure"]
        assert row["status"] == ("failed" if failure else "success")
        for name in ("stage", "symptom", "message"):
            assert row[name] == (failure[name] if failure else None)
        details = json.loads(task["details"])
        assert (row["structure"], row["graph"]) == (details["structure"], details["graph"])


def test_times_are_timestamps_in_utc(plain: Path) -> None:
    (first, *_) = sorted(pq.read_table(plain / "h200" / PART)["measured"].to_pylist())
    assert first == datetime.fromtimestamp(1.7948e9, UTC).replace(tzinfo=None)


def test_a_part_has_the_parameters_that_occur_in_it(plain: Path) -> None:
    names = pq.read_schema(plain / "h200" / PART).names
    assert "block_rows" in names
    assert "block_m" not in names


def test_every_parameter_of_a_triton_kernel_has_a_column() -> None:
    modules = [MODULES[0], linear(64, 64, 64, "float16"), conv(1, 56, 64, 64, 3, "float16", "bias")]
    families = [family_of(module, Target()) for module in modules]
    assert {type(family) for family in families} == set(FAMILIES)
    found = {name for family in families for name in family.parameters()}
    assert found == PARAMETERS.keys()


def test_published_programs_are_the_programs(packed: Path, plain: Path) -> None:
    published = dict(ProgramStore(plain / "h200").programs())
    assert published == dict(ProgramStore(packed).programs())
    assert [published[line] for line in sorted(published)] == programs()


def test_questions_have_the_same_answers(packed: Path, plain: Path) -> None:
    names = [name for name in COLUMNS if name not in ("cost", "extra")]
    question = f"SELECT {', '.join(names)}, round(cost, 12) FROM programs ORDER BY line"  # noqa: S608
    assert ask(plain / "h200", question) == ask(packed, question)
    for table in ("tasks", "workloads"):
        everything = f"SELECT * FROM {table} ORDER BY ALL"  # noqa: S608
        assert ask(plain / "h200", everything) == ask(packed, everything)


def test_what_collectors_noted_is_seen_as_json_too(packed: Path, plain: Path) -> None:
    question = "SELECT extra FROM programs ORDER BY line"
    both = [
        [json.loads(str(extra)) for (extra,) in ask(at, question)]
        for at in (packed, plain / "h200")
    ]
    assert both[0] == both[1]


def test_questions_may_name_the_plain_columns(plain: Path) -> None:
    question = "SELECT count(*) FROM programs WHERE block_rows > 0 AND dtype = 'float16'"
    assert ask(plain / "h200", question) == [(EACH + 1,)]


def test_one_table_has_the_parts_of_both_layouts(packed: Path, plain: Path, tmp_path: Path) -> None:
    for part in (*packed.glob("programs-*.parquet"), plain / "h200" / PART):
        (tmp_path / part.name).write_bytes(part.read_bytes())
    rows = len(programs())
    assert ask(tmp_path, "SELECT count(*), count(block_rows) FROM programs") == [(2 * rows, rows)]
    store = ProgramStore(tmp_path)
    assert len(list(store.programs())) == 2 * rows
    (batch,) = batches(store, "status = 'success'")
    assert len(batch) == 2 * len([one for one in programs()[:-1] if one.costs])


def test_a_batch_has_a_program_that_was_measured_again_once(packed: Path, plain: Path) -> None:
    for folder in (packed, plain / "h200"):
        (batch,) = batches(ProgramStore(folder), columns=("program", "cost", "costs"))
        assert len(batch) == len(set(batch["program"].to_pylist())) == 2 * EACH
        assert [1e-5, 1.2e-5] in batch["costs"].to_pylist()
        assert [1.1e-5, 1.32e-5] not in batch["costs"].to_pylist()


def test_training_has_the_first_measurement_of_a_program(packed: Path) -> None:
    found = programs_by_key(packed, ANSOR_GPU)
    assert len(found.program) == 2 * EACH
    assert pytest.approx(1.1e-5) in found.cost.tolist()
    assert pytest.approx(1.21e-5) not in found.cost.tolist()


def test_features_of_published_programs_are_those_of_the_programs(tmp_path: Path) -> None:
    measured = [program(trace(2, 4), 1.0), program(trace(4, 2), None), program(steps(8), 2.0)]
    packed = stored(tmp_path / "packed", measured)
    publish(packed, tmp_path / "plain")
    found = []
    for records in (packed, tmp_path / "plain"):
        features = FeatureStore(tmp_path / f"features-{records.name}")
        assert sum(Making(records, features).primitives()) == len(measured)
        chosen = programs_by_key(records, METASCHEDULE)
        (batch,) = training_batches(features, METASCHEDULE, chosen)
        found.append((batch.task.tolist(), batch.program.tolist(), batch.values.tolist()))
    assert found[0] == found[1]


def test_the_report_has_the_published_tasks(packed: Path, plain: Path) -> None:
    pages = [read_programs(folder, packs=()) for folder in (packed, plain / "h200")]
    assert pages[0].programs == pages[1].programs == 2 * EACH
    assert [one.heights for one in pages[0].tasks] == [one.heights for one in pages[1].tasks]


def test_counts_are_of_distinct_programs(packed: Path, plain: Path) -> None:
    for folder in (packed, plain / "h200"):
        assert best_by_task(ProgramStore(folder))["programs"].to_pylist() == [EACH, EACH]
        with tables(folder) as connection:
            assert [(task.programs, task.failed) for task in summaries(connection)] == [
                (EACH, 1)
            ] * 2


def test_two_measurements_of_a_program_are_the_noise(plain: Path) -> None:
    (h200,) = count(plain)
    assert h200.repeatability is not None
    assert h200.repeatability.pairs == 1
    assert h200.repeatability.median == pytest.approx(math.log(1.1))
    assert h200.repeatability.ninth_decile == pytest.approx(math.log(1.1))
    assert (h200.programs, h200.ran) == (2 * EACH, 2 * (EACH - 1))


def test_networks_of_the_corpus_are_held_out_by_their_name(plain: Path) -> None:
    (h200,) = count(plain)
    assert h200.split.held_out == (NETWORKS[0],)
    held = {task.workload for task in h200.tasks if task.task in h200.split.test}
    assert held == {workload_of(MODULES[0]).hash}
    assert split_of(list(h200.tasks)) == h200.split


def test_the_card_describes_the_plain_columns(plain: Path) -> None:
    (h200,) = count(plain)
    text = card([h200])
    for name in pq.read_schema(plain / "h200" / PART).names:
        assert f"| `{name}` | " in text
    assert "`block_m`" not in text
    assert "| `template` |" not in text
    assert 'pandas.read_parquet("h200/programs-plain.parquet")' in text


def test_its_own_reader_finds_no_fault_in_the_metadata_of_plain_columns(plain: Path) -> None:
    mlcroissant = pytest.importorskip("mlcroissant")
    assert call("programs", "card", plain, "--published", "2026-01-01") == 0
    data = mlcroissant.Dataset(str(plain / "croissant.json"))
    assert not data.metadata.ctx.issues.errors
    records = list(data.records("h200_programs"))
    assert len(records) == len(programs())
    assert sum(bool(one["h200_programs/again"]) for one in records) == 1


def test_publishing_again_replaces_what_was_published(packed: Path, tmp_path: Path) -> None:
    for _ in range(2):
        publish(packed, tmp_path)
    assert ask(tmp_path, "SELECT count(*) FROM programs") == [(len(programs()),)]
    publish(tmp_path, tmp_path)
    assert dict(ProgramStore(tmp_path).programs()) == dict(ProgramStore(packed).programs())


def test_publishing_among_other_programs_is_refused(packed: Path, tmp_path: Path) -> None:
    add_file(tmp_path, packed / "a.jsonl", Format.COLLECTED, Labels())
    with pytest.raises(ReadError, match=r"has programs of its own: delete programs-2-\w+\.parq"):
        publish(packed, tmp_path)


def test_a_directory_without_programs_is_not_published(tmp_path: Path) -> None:
    with pytest.raises(ReadError, match="holds no programs"):
        publish(tmp_path, tmp_path / "out")


numbers = st.integers(-(2**40), 2**40) | st.floats(allow_nan=False, allow_infinity=False)
noted = st.dictionaries(
    st.sampled_from(["again", "compiled", "registers", "torch", "zeta", "a"]),
    st.booleans() | numbers | st.text(max_size=3) | st.lists(numbers, max_size=2),
    max_size=4,
)
extras = st.just("") | (noted | numbers).map(lambda tree: canonical(cast(Json, tree)))
some_programs = st.builds(
    Program.from_log,
    st.sampled_from([Task("triton", "w"), Task("t4", "v", details="{}")]),
    st.sampled_from(['{"block_m":16,"num_warps":4}', '{"block_m":"x"}', "[1]"]),
    st.lists(st.floats(1e-9, 1e3), min_size=1, max_size=3).map(tuple),
    seconds=st.none() | st.floats(0, 1e3),
    measured=st.none() | st.integers(0, 4 * 10**8).map(lambda ticks: ticks / 100),
    extra=extras,
)


@settings(max_examples=30)
@given(st.lists(some_programs, min_size=1, max_size=6))
def test_whatever_was_noted_is_published_without_loss(
    tmp_path_factory: pytest.TempPathFactory, given_programs: list[Program]
) -> None:
    folder = tmp_path_factory.mktemp("any")
    (folder / "a").write_text("")
    found = ((Place(line, 0), one) for line, one in enumerate(given_programs))
    ProgramStore(folder).add(folder / "a", found, Labels())
    publish(folder, folder / "out")
    published = dict(ProgramStore(folder / "out").programs())
    assert [published[line] for line in sorted(published)] == given_programs
