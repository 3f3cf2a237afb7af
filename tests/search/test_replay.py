"""Spaces to replay searches on, from real files and from the shipped data."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from graph_net.search.history import SearchHistory
from graph_net.search.replay import encode_parameters, replay_t4
from real_files import SLICES, find_real_files


def test_a_file_of_kernel_tuner_is_a_space() -> None:
    path = next(iter(sorted(SLICES.rglob("*T4.json*"))))
    task = replay_t4(path, "A100")
    assert len(task.space.schedules) == len(task.measurer.costs) > 1
    assert np.isfinite(task.space.data.rows).all()


@pytest.mark.parametrize("device", ["A100"])
def test_random_needs_hundreds_of_measurements_in_the_whole_files(device: str) -> None:
    path = find_real_files("whole") / "kernel_tuner" / f"convolution_{device}_T4.json.gz"
    costs = np.array(list(replay_t4(path, device).measurer.costs.values()))
    near = (costs <= 1.02 * costs.min()).sum()
    assert 470 < (costs.size + 1) / (near + 1) < 2200


def test_parameters_are_logarithms_divisors_and_products() -> None:
    configs = [
        {"block_size_x": x, "block_size_y": y, "use": use, "constant": 15, "mode": mode}
        for x, y, use, mode in [(48, 2, 0, "a"), (64, 1, 1, "b"), (96, 4, 1, "a")]
    ]
    names, rows = encode_parameters(configs)
    found = dict(zip(names, rows.T.tolist(), strict=True))
    assert found["block_size_x divisor"] == [4, 6, 5]
    assert found["block_size product"] == pytest.approx([np.log2(96), 6, np.log2(384)])
    assert found["mode"] == [0, 1, 0]
    assert "constant" not in names
    assert "block_size_y divisor" not in names, "the same numbers as block_size_y"


def test_neighbours_differ_in_one_parameter() -> None:
    import json
    from random import Random

    from search.some_spaces import bowl

    space = bowl().space
    mine = json.loads(space.schedules[50])
    for text in space.neighbours(space.schedules[50], Random(0)):  # noqa: S311
        other = json.loads(text)
        assert sum(other[name] != mine[name] for name in mine) == 1


def test_only_measured_costs_are_shown_to_a_model() -> None:
    from search.some_spaces import bowl

    task = bowl()
    history = SearchHistory()
    history.add(task.space.schedules[3], 2.0)
    data, measured, texts = task.space.describe(history, None)
    assert measured.tolist() == [3]
    assert set(data.programs.costs.tolist()) == {1.0, 2.0}
    assert texts == list(task.space.schedules)


def test_a_file_that_is_none_is_refused(tmp_path: Path) -> None:
    from graph_net.store.lines import ReadError

    path = tmp_path / "nothing.json"
    path.write_text("{}")
    with pytest.raises((ValueError, ReadError)):
        replay_t4(path)
