"""AutoTVM's logs: both versions, and pickles, which are never read."""

from __future__ import annotations

import base64
import io
import json
import pickle
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph_net.programs.formats import (
    Format,
    ReadError,
    detect,
    read_ansor,
    read_autotvm,
    write_autotvm,
)
from graph_net.programs.formats.outcome import FAILURES
from graph_net.results import Program, Task
from programs.formats.tuning_samples import (
    ansor,
    autotvm,
    costs,
    damages,
    json_values,
    lines,
    programs,
)


def test_a_record_has_its_task_config_and_result(tmp_path: Path) -> None:
    (found,) = programs(list(read_autotvm(lines(tmp_path / "a", autotvm()))))
    assert (found.task.kernel, found.task.target) == ("dense.x86", "llvm")
    assert json.loads(found.task.workload) == ["dense.x86", [["TENSOR", [1, 8], "float32"]], {}]
    assert json.loads(found.schedule)["entity"] == [["tile", "sp", [-1, 8]]]
    assert (found.costs, found.measured, found.version) == ((0.5,), 1600000000.5, "0.2")
    assert json.loads(found.extra) == {"tvm_version": "0.8.0"}


def test_the_first_version_names_its_workload(tmp_path: Path) -> None:
    config = {"i": 3, "t": "direct", "c": None, "e": [["tile", "sp", [-1, 8]]]}
    row = {"i": ["cuda", "conv", [], {}, ["conv2d", 1], config], "r": [[1e9], 6, 1, 5], "v": 0.1}
    path = lines(tmp_path / "a", b"# a comment", row)
    assert detect(path) is Format.AUTOTVM
    (found,) = programs(list(read_autotvm(path)))
    assert (found.task.workload, found.version) == ('["conv2d",1]', "0.1")
    assert found.task.details == '{"arguments":[],"options":{}}'
    assert found.failure is not None
    assert found.failure.message == "building took too long"


class Harmful:
    """Unpickling one leaves a file behind."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (self.path,)


def test_pickles_are_damage_and_nothing_of_them_runs(tmp_path: Path) -> None:
    packed = base64.b64encode(pickle.dumps(Harmful(tmp_path / "ran")))
    path = lines(tmp_path / "a", b"\t".join([b"llvm -mcpu=x", packed, packed, packed]), autotvm())
    assert detect(path) is Format.AUTOTVM
    found = list(read_autotvm(path))
    assert damages(found) == [(1, "a pickle, which runs code when it is read")]
    assert len(programs(found)) == 1
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"version": 0.3}, "version 0.1 or 0.2"),
        ({"config": {"index": 3}}, "the entities"),
        ({"config": [1]}, "an object"),
        ({"input": ["llvm", "dense"]}, "of 4 items"),
        ({"input": ["llvm", 5, [], {}]}, "a name of a task"),
        ({"result": [[0.0], 0, 1, 5]}, "from 1e-18"),
        ({"result": None}, "a result, a list"),
    ],
)
def test_damage_is_told(tmp_path: Path, changes: dict[str, Any], reason: str) -> None:
    found = list(read_autotvm(lines(tmp_path / "a", autotvm(**changes), autotvm())))
    assert len(programs(found)) == 1
    ((line, said),) = damages(found)
    assert line == 1
    assert reason in said


words = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
entities = st.lists(json_values, max_size=3)
results = st.one_of(
    st.tuples(costs, st.just(0), st.floats(0, 1e6), st.floats(0, 4e9)),
    st.tuples(st.just([1e9]), st.sampled_from(list(FAILURES)), st.floats(0, 1e6), st.just(5)),
)
versions = st.sampled_from([0.1, 0.2])
long = st.builds(
    lambda said, entity, result, version, tvm: (
        autotvm(
            input=list(said), config={"index": 3, "entity": entity}, result=result, version=version
        )
        | {"tvm_version": tvm}
    ),
    st.tuples(words, words, json_values, json_values),
    entities,
    results,
    versions,
    words,
)
short = st.builds(
    lambda said, entity, result, version: {
        "i": [*said, {"i": 3, "t": "direct", "c": None, "e": entity}],
        "r": result,
        "v": version,
    },
    st.tuples(words, words, json_values, json_values, st.none() | json_values),
    entities,
    results,
    versions,
)


@given(st.lists(long | short, min_size=1, max_size=4))
def test_what_is_written_is_read_again(
    tmp_path_factory: pytest.TempPathFactory, rows: list[dict[str, Any]]
) -> None:
    path = tmp_path_factory.mktemp("autotvm") / "a"
    first = programs(list(read_autotvm(lines(path, *rows))))
    assert len(first) == len(rows)
    out = io.BytesIO()
    write_autotvm(first, out)
    path.write_bytes(out.getvalue())
    assert programs(list(read_autotvm(path))) == first
    for row, line in zip(rows, out.getvalue().splitlines(), strict=True):
        again = json.loads(line)
        assert again.keys() == row.keys()
        for key in row.keys() - {"r", "result"}:
            assert again[key] == json.loads(json.dumps(row[key]))


def test_programs_of_another_layout_or_format_are_not_written(tmp_path: Path) -> None:
    (other,) = programs(list(read_ansor(lines(tmp_path / "a", ansor()))))
    with pytest.raises(ReadError, match="programs of autotvm, not ansor"):
        write_autotvm([other], io.BytesIO())
    kept = Program.from_log(Task("autotvm", '["conv2d",1,2]'), '{"e":[]}', (1.0,), None, "0.1")
    with pytest.raises(ReadError, match="entities of a configuration"):
        write_autotvm([kept], io.BytesIO())
