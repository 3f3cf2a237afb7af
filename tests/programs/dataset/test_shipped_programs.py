"""The shipped data set of programs is whole, and what is said of it holds."""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from graph_net.corpus.marked_region import replace_region
from graph_net.programs.collection.kernel_tasks import HELD_OUT, NETWORKS
from graph_net.programs.dataset.card import FILE, card
from graph_net.programs.dataset.dataset import digest, files, platforms
from graph_net.programs.dataset.splits import load_splits, make_splits
from graph_net.programs.dataset.stats import BEGIN, END, Platform, count, markdown
from graph_net.programs.features.feature_kinds import MACHINE_CODE
from graph_net.programs.features.feature_store import FeatureStore
from graph_net.programs.triton import H200, TritonSpace, workload_of
from graph_net.results import canonical

ROOT = Path(__file__).parents[3]
PLACE = ROOT / "dataset" / "programs"
MOST = 30e6
LEAST = {"cpu": 30_000, "h200": 60_000, "h200_spaces": 25_000}
"""Programs that ran."""
EXHAUSTIVE = "h200_spaces"
"""Has every program of a few spaces."""
PLAIN = "programs-plain.parquet"


def spaces_of(platform: str) -> dict[str, TritonSpace]:
    rows = pq.read_table(PLACE / platform / "workloads-plain.parquet").to_pylist()
    works = [workload_of(json.loads(row["module"])) for row in rows]
    return {work.hash: TritonSpace(work, H200.text) for work in works}


@pytest.fixture(scope="module")
def counted() -> list[Platform]:
    return count(PLACE)


def test_it_is_as_large_as_it_should_be(counted: list[Platform]) -> None:
    assert sum(of.bytes for of in counted) < MOST
    assert {of.name: of.ran >= LEAST[of.name] for of in counted} == dict.fromkeys(LEAST, True)
    for of in (of for of in counted if of.name != EXHAUSTIVE):
        assert len(of.tasks) >= 120
        assert len({network for task in of.tasks for network in task.weights}) >= 12
        assert of.fewest >= 3


def test_programs_are_plain_columns(counted: list[Platform]) -> None:
    assert not any(of.packed for of in counted)
    for of in counted:
        rows = pq.read_table(PLACE / of.name / PLAIN, columns=["costs", "again"]).to_pylist()
        assert sum(bool(row["costs"]) and not row["again"] for row in rows) == of.ran


def test_the_machine_code_of_all_but_a_few_cpu_programs_is_there() -> None:
    columns = ["task", "program"]
    programs = pq.read_table(PLACE / "cpu" / PLAIN, columns=columns).to_pylist()
    store = FeatureStore(PLACE / "cpu")
    (part,) = store.parts(MACHINE_CODE)
    described = pq.read_table(part, columns=columns).to_pylist()
    keys = [{(row["task"], row["program"]) for row in rows} for rows in (programs, described)]
    assert keys[0] == keys[1]
    assert store.lost(MACHINE_CODE).total() < 20


def test_the_tasks_of_the_h200_are_those_of_the_corpus(counted: list[Platform]) -> None:
    (h200,) = [of for of in counted if of.name == "h200"]
    assert h200.networks == {network.name for network in NETWORKS}
    assert set(h200.split.held_out) == HELD_OUT


def test_each_task_of_the_h200_has_140_programs_or_all(counted: list[Platform]) -> None:
    (h200,) = [of for of in counted if of.name == "h200"]
    spaces = spaces_of("h200")
    for task in h200.tasks:
        assert task.programs == 140 or task.programs == spaces[task.workload].count(), task.name


def test_eight_spaces_are_there_whole() -> None:
    rows = pq.read_table(PLACE / EXHAUSTIVE / PLAIN, columns=["workload", "schedule", "again"])
    measured: defaultdict[str, list[str]] = defaultdict(list)
    for row in rows.to_pylist():
        if not row["again"]:
            measured[row["workload"]].append(row["schedule"])
    spaces = spaces_of(EXHAUSTIVE)
    assert len(spaces) == 8
    for name, space in spaces.items():
        assert sorted(measured[name]) == sorted(canonical(dict(c)) for c in space.configs())


def test_nearly_each_task_of_the_cpu_with_a_choice_has_256_programs_or_64(
    counted: list[Platform],
) -> None:
    """The rest are small spaces, of pools and sums along rows."""
    (cpu,) = [of for of in counted if of.name == "cpu"]
    for side, wanted in ((cpu.split.test, 256), (cpu.split.train, 64)):
        counts = [t.programs for t in cpu.tasks if t.task in side and t.programs > 1]
        assert sum(count >= wanted for count in counts) > 0.95 * len(counts) > 75


@pytest.mark.parametrize("name", ["cpu", "h200"])
def test_one_program_in_fifty_was_measured_twice(name: str, counted: list[Platform]) -> None:
    (platform,) = [of for of in counted if of.name == name]
    assert platform.repeatability is not None
    assert platform.repeatability.pairs > platform.programs / 100
    assert 0 < platform.repeatability.median < platform.repeatability.ninth_decile
    assert platform.repeatability.median < 0.05


def test_its_card_its_page_and_its_splits_are_of_these_files(counted: list[Platform]) -> None:
    assert (PLACE / FILE).read_text("utf-8") == card(counted)
    page = (ROOT / "docs" / "programs.md").read_text("utf-8")
    assert page == replace_region(page, BEGIN, END, markdown(counted))
    assert load_splits(PLACE) == make_splits({of.name: of.tasks for of in counted})


def test_each_platform_to_learn_from_has_tasks_on_both_sides(counted: list[Platform]) -> None:
    for of in counted:
        assert of.split.held_out
        assert bool(of.split.train) == (of.name != EXHAUSTIVE)
        assert of.split.test
        assert all(task.weights for task in of.tasks)


def test_its_metadata_has_the_digests_of_its_files() -> None:
    tree = json.loads((PLACE / "croissant.json").read_text("utf-8"))
    told = {f["name"]: f["sha256"] for f in tree["distribution"] if "sha256" in f}
    tables = [files(path) for path in platforms(PLACE).values()]
    parts = [part for found in tables for each in found.values() for part in each]
    assert told == {part.relative_to(PLACE).as_posix(): digest(part) for part in parts}
