"""The benchmark's records: as Ansor writes them, the same for the same seed, by TenSet's rules."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from benchmarks.tenset_like import (
    FAILED,
    TASKS,
    WORKLOADS,
    shards,
    task_lines,
    tilings,
    workload,
    write_shard,
)

from graph_net.programs.formats import ProgramColumns, ansor_quick, read_ansor_blocks


def test_records_are_as_ansor_writes_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a"
    tasks = range(0, TASKS, TASKS // 12)
    path.write_text("".join(line for task in tasks for line in task_lines(task, 100)))
    monkeypatch.setattr(ansor_quick, "block_of", None)  # the way of lines that are not as expected
    (block,) = (found for found in read_ansor_blocks(path, 1 << 16))
    assert isinstance(block, ProgramColumns)
    assert len(block) == 100 * len(tasks)
    assert len(set(block.tasks.index.tolist())) == len(tasks)
    failed = np.mean([block.failures.values[code] is not None for code in block.failures.index])
    assert 0.2 * FAILED < failed < 3 * FAILED
    assert set(block.repeats.tolist()) <= {0, 4, 6, 8, 10}


def test_the_same_seed_gives_the_same_bytes() -> None:
    assert task_lines(7, 50, 3) == task_lines(7, 50, 3)
    assert task_lines(7, 50, 3) != task_lines(7, 50, 4)


def test_repeats_go_by_size() -> None:
    found = {workload(number).repeats: workload(number).flops for number in range(300)}
    assert {4, 6, 8, 10} == set(found)
    assert found[4] >= 2.4e9
    assert found[10] <= 2.1e6


def test_tilings_divide_the_loop() -> None:
    assert tilings(6, 1).tolist() == [[1], [2], [3], [6]]
    assert all(64 % int(np.prod(lengths)) == 0 for lengths in tilings(64, 3))


def test_shards_add_up(tmp_path: Path) -> None:
    found = list(shards(1_000_000, 400_000))
    assert sum(count for _, count in found) == 1_000_000
    assert found[0][0] == 0
    assert found[1][0] < WORKLOADS
    size = write_shard(tmp_path / "a", 5, 20)
    assert size == (tmp_path / "a").stat().st_size
    assert len((tmp_path / "a").read_text().splitlines()) == 20
