"""Kernel Tuner's T4: one document, an element at a time, and back."""

from __future__ import annotations

import gzip
import io
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph_net.programs.formats import ReadError, ReadLimits, json_stream, read_t4, write_t4
from graph_net.programs.formats.t4 import FAILURES
from programs.formats.tuning_samples import costs, damages, json_values, programs, t4


def document(path: Path, *results: Any, indent: int | None = None, **more: Any) -> Path:
    tree = {"metadata": {"timeunit": "miliseconds"}, "results": list(results)} | more
    path.write_text(json.dumps(tree | {"schema_version": "1.0.0"}, indent=indent))
    return path


def test_a_result_has_its_configuration_and_times_in_seconds(tmp_path: Path) -> None:
    (found,) = programs(list(read_t4(document(tmp_path / "conv.json", t4()))))
    assert (found.task.kernel, found.version) == ("conv", "1.0.0")
    assert json.loads(found.schedule) == t4()["configuration"]
    assert found.costs == (0.004, 0.002)
    assert found.measured == 1703238845.502007
    extra = json.loads(found.extra)
    assert extra["times"] == {"compilation": 0.9185, "framework": 0.002}
    assert extra["measurements"][0]["unit"] == "miliseconds"


def test_the_unit_may_stand_after_the_results_and_the_caller_names_the_kernel(
    tmp_path: Path,
) -> None:
    path = tmp_path / "a"
    path.write_text(json.dumps({"results": [t4()], "metadata": {"timeunit": "us"}}))
    (found,) = programs(list(read_t4(path, "convolution")))
    assert (found.task.workload, found.costs) == ("convolution", (4e-6, 2e-6))
    path.write_text(json.dumps({"results": [t4()]}))
    assert programs(list(read_t4(path)))[0].costs == (0.004, 0.002)


def test_a_mean_stands_in_for_runs_that_were_not_kept(tmp_path: Path) -> None:
    (found,) = programs(list(read_t4(document(tmp_path / "a", t4(times={})))))
    assert found.costs == (0.003,)


@pytest.mark.parametrize("word", FAILURES)
def test_an_invalid_configuration_is_a_failure(tmp_path: Path, word: str) -> None:
    row = t4(invalidity=word, times={"compilation": 1.0})
    (found,) = programs(list(read_t4(document(tmp_path / "a", row))))
    assert (found.costs, found.failure) == ((), FAILURES[word])


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (t4(invalidity="odd"), "a known invalidity"),
        (t4(configuration=5), "a configuration, an object"),
        (t4(times={"runtimes": [float("nan")]}), "NaN is not a number"),
        (t4(times={"runtimes": [-1.0]}), "a run's time"),
        (t4(times={"runtimes": 1}), "runtimes, a list"),
        (t4(times={"compilation": "long"}), "times.compilation"),
        (t4(times={}, measurements=[]), "expected runtimes"),
        (t4(timestamp="yesterday"), "ISO 8601"),
        (t4(measurements=[{}]), "a measurement's name"),
        (t4(times={}, measurements=[{"name": "time", "unit": [5]}]), "a unit of time"),
        (t4(configuration={"a": json.loads("[" * 40 + "]" * 40)}), "within brackets"),
        ([t4()], "a result, an object"),
    ],
)
def test_a_bad_element_costs_no_other(tmp_path: Path, bad: Any, reason: str) -> None:
    found = list(read_t4(document(tmp_path / "a", t4(), bad, t4())))
    assert len(programs(found)) == 2
    ((line, said),) = damages(found)
    assert line == 2
    assert reason in said


def test_an_element_that_is_too_long_is_passed_over(tmp_path: Path) -> None:
    path = document(tmp_path / "a", t4(), t4(configuration={"a": '\\"[' * 99_999}), t4())
    found = list(read_t4(path, limits=ReadLimits(line_bytes=5000)))
    assert len(programs(found)) == 2
    assert damages(found) == [(2, "an element of more than 5000 bytes")]


def test_a_document_that_breaks_off_gives_what_it_has(tmp_path: Path) -> None:
    path = document(tmp_path / "a", t4(), t4(), t4())
    path.write_bytes(path.read_bytes()[:-200])
    found = list(read_t4(path))
    assert len(programs(found)) == 2
    assert damages(found) == [(3, "the document breaks off")]


@pytest.mark.parametrize("unit", ["fortnights", 5])
def test_an_unknown_unit_is_refused(tmp_path: Path, unit: Any) -> None:
    path = document(tmp_path / "a", t4(), metadata={"timeunit": unit})
    with pytest.raises(ReadError, match="a unit of time"):
        list(read_t4(path))


def test_another_schema_is_told(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_text(json.dumps({"results": [t4()], "schema_version": "2.0"}))
    assert "not 2.0" in damages(list(read_t4(path)))[0][1]


@given(st.lists(json_values, max_size=5), st.integers(1, 9), st.sampled_from([None, 1]))
def test_elements_are_found_whatever_they_are_and_however_they_are_read(
    tmp_path_factory: pytest.TempPathFactory, values: list[Any], size: int, indent: int | None
) -> None:
    path = tmp_path_factory.mktemp("pieces") / "a"
    path.write_text(json.dumps({"a": {"b": [1]}, "list": values, "c": 1}, indent=indent))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json_stream, "CHUNK", size)
        found = [piece for _, piece in json_stream.read_pieces(path, ReadLimits())]
    assert all(isinstance(piece, json_stream.JsonPiece) for piece in found)
    kept = [piece for piece in found if isinstance(piece, json_stream.JsonPiece)]
    assert [json.loads(piece.data) for piece in kept if piece.list == "list"] == values
    assert [json.loads(b"{" + piece.data + b"}") for piece in kept if not piece.list] == [
        {"a": {"b": [1]}},
        {"c": 1},
    ]


results = st.one_of(
    st.builds(lambda x: t4(times={"runtimes": [value * 1000 for value in x]}), costs),
    st.builds(
        lambda word, config: t4(invalidity=word, times={}, configuration=config),
        st.sampled_from(list(FAILURES)),
        st.dictionaries(st.text(max_size=5), json_values, max_size=3),
    ),
)


@given(st.lists(results, min_size=1, max_size=4), st.booleans())
def test_what_is_written_is_read_again(
    tmp_path_factory: pytest.TempPathFactory, rows: list[Any], packed: bool
) -> None:
    path = document(tmp_path_factory.mktemp("t4") / "conv.json", *rows, indent=2)
    first = programs(list(read_t4(path)))
    assert len(first) == len(rows)
    out = io.BytesIO()
    write_t4(first, out)
    path.write_bytes(gzip.compress(out.getvalue()) if packed else out.getvalue())
    assert programs(list(read_t4(path))) == first
