"""Ansor's records: both forms of workload keys, errors, damage, and back to lines."""

from __future__ import annotations

import gzip
import io
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph_net.programs.formats import ReadError, ReadLimits, read_ansor, write_ansor
from graph_net.programs.formats.outcome import FAILURES
from graph_net.results import Stage, Symptom
from programs.formats.tuning_samples import STEPS, ansor, costs, damages, lines, programs


def test_a_record_has_its_task_schedule_and_every_repeat(tmp_path: Path) -> None:
    (found,) = programs(list(read_ansor(lines(tmp_path / "a", ansor()))))
    assert found.task.kernel == "matmul"
    assert found.task.workload == '["matmul", 64, 64]'
    assert found.task.target == "llvm -mcpu=core-avx2"
    assert json.loads(found.schedule) == STEPS
    assert (found.costs, found.failure, found.version) == ((0.5, 0.25), None, "v0.6")
    assert (found.seconds, found.measured) == (2.5, 1638197554.0)


def test_a_dag_hash_is_a_workload_without_a_name(tmp_path: Path) -> None:
    key = json.dumps(["0123456789abcdef" * 2, 1, 64])
    (found,) = programs(list(read_ansor(lines(tmp_path / "a", ansor(key=key)))))
    assert (found.task.kernel, found.task.workload) == ("", key)


def test_tasks_of_older_versions_are_shorter(tmp_path: Path) -> None:
    (found,) = programs(list(read_ansor(lines(tmp_path / "a", ansor(rest=[], v="v0.2")))))
    assert found.task.details == "[]"


@pytest.mark.parametrize("number", FAILURES)
def test_an_error_number_is_a_failure_without_costs(tmp_path: Path, number: int) -> None:
    row = ansor(r=[[1e10], number, 1, 5])
    (found,) = programs(list(read_ansor(lines(tmp_path / "a", row))))
    assert (found.costs, found.failure) == ((), FAILURES[number])


def test_error_numbers_are_told_in_the_words_of_records() -> None:
    said = {number: (failure.stage, failure.symptom) for number, failure in FAILURES.items()}
    assert said[2] == (Stage.COMPILE, Symptom.EXCEPTION)
    assert said[5] == (Stage.VERIFY, Symptom.NUMERIC)
    assert said[6] == (Stage.COMPILE, Symptom.TIMEOUT)
    assert said[7] == (Stage.FIRST_RUN, Symptom.TIMEOUT)


DAMAGED = {
    "cut short": (json.dumps(ansor())[:60].encode(), "not JSON"),
    "junk": (bytes(range(128, 256)), "not UTF-8"),
    "another kind of value": (b"[1, 2]", "an object"),
    "a field too few": (b'{"i": [], "r": []}', "i, r and v"),
    "NaN": (ansor(r=[[float("nan")], 0, 1, 5]), "NaN is not a number"),
    "infinity": (b'{"i": 1e999, "r": 0, "v": ""}', "an input"),
    "an infinite cost": (json.dumps(ansor()).replace("0.25", "1e999").encode(), "a cost"),
    "a negative cost": (ansor(r=[[-1.0], 0, 1, 5]), "a cost"),
    "no time, no error": (ansor(r=[[1e10], 0, 1, 5]), "under 1e+09 seconds"),
    "no costs": (ansor(r=[[], 0, 1, 5]), "1 to 65536 costs"),
    "a cost as text": (ansor(r=[["1"], 0, 1, 5]), "a cost, a number"),
    "an unknown error": (ansor(r=[[1.0], 9, 1, 5]), "an error number"),
    "true for a number": (ansor(r=[[1.0], False, 1, 5]), "an error number"),
    "a late date": (ansor(r=[[1.0], 0, 1, 1e18]), "a time stamp"),
    "a long number": (b'{"i": ' + b"9" * 9999 + b"}", "not JSON"),
    "deep in a step": (ansor(steps=[["SP", json.loads("[" * 40 + "]" * 40)]]), "within brackets"),
    "deep": (b"[" * 100_000, "within brackets"),
    "an unknown step": (ansor(steps=[["XX", 1]]), "steps of known kinds"),
    "a key that is no list": (ansor(key="matmul"), "not JSON"),
    "half a character": (ansor(key='["\\ud800"]'), "whole characters"),
}


@pytest.mark.parametrize("name", DAMAGED)
def test_damage_is_told_with_its_place_and_costs_no_other_line(tmp_path: Path, name: str) -> None:
    bad, reason = DAMAGED[name]
    found = list(read_ansor(lines(tmp_path / "a", ansor(), bad, ansor(v="v0.5"))))
    assert [program.version for program in programs(found)] == ["v0.6", "v0.5"]
    ((line, said),) = damages(found)
    assert line == 2
    assert reason in said
    assert found[1][0].offset == len(json.dumps(ansor())) + 1


def test_a_line_that_is_too_long_is_passed_over(tmp_path: Path) -> None:
    path = lines(tmp_path / "a", ansor(), b" " * 300_000 + b"x", ansor())
    found = list(read_ansor(path, ReadLimits(line_bytes=2000)))
    assert len(programs(found)) == 2
    assert damages(found) == [(2, "a line of more than 2000 bytes")]


def test_a_file_that_is_too_large_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "bomb.gz"
    path.write_bytes(gzip.compress(b"\n" * 1_000_000))
    with pytest.raises(ReadError, match="limit of 5000 bytes"):
        list(read_ansor(path, ReadLimits(file_bytes=5000)))


def test_gzip_is_read_as_far_as_it_goes(tmp_path: Path) -> None:
    rows = b"".join(json.dumps(ansor(r=[[1 / n], 0, n, n])).encode() + b"\n" for n in range(1, 999))
    path = tmp_path / "a.gz"
    path.write_bytes(gzip.compress(rows))
    assert len(programs(list(read_ansor(path)))) == 998
    path.write_bytes(gzip.compress(rows)[:-200])
    found = list(read_ansor(path))
    assert 0 < len(programs(found)) < 998
    assert "compressed data breaks off" in damages(found)[-1][1]


numbers = st.integers(0, 2**40)
stamps = st.integers(0, 4 * 10**9)
steps = st.lists(
    st.tuples(st.sampled_from(["SP", "AN", "RE"]), numbers, st.lists(numbers, max_size=4)),
    max_size=4,
)
results = st.one_of(
    st.tuples(costs, st.just(0), st.floats(0, 1e6), st.floats(0, 4e9)),
    st.tuples(st.just([1e10]), st.sampled_from(list(FAILURES)), st.floats(0, 1e6), stamps),
)
keys = st.lists(numbers | st.text(max_size=5), max_size=4).map(lambda x: json.dumps(["op", *x]))


@given(st.lists(st.builds(ansor, key=keys, steps=steps, r=results), min_size=1, max_size=4))
def test_what_is_written_is_read_again(
    tmp_path_factory: pytest.TempPathFactory, rows: list[dict[str, Any]]
) -> None:
    path = tmp_path_factory.mktemp("ansor") / "a"
    first = programs(list(read_ansor(lines(path, *rows))))
    assert len(first) == len(rows)
    out = io.BytesIO()
    write_ansor(first, out)
    path.write_bytes(out.getvalue())
    assert programs(list(read_ansor(path))) == first
    assert [json.loads(line)["i"] for line in out.getvalue().splitlines()] == [
        json.loads(json.dumps(row["i"])) for row in rows
    ]
