"""Many sample directories read at once: one that kills its process does not stop the others."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from corpus.some_graphs import some_graph
from graph_net.corpus.columns import row_of
from graph_net.corpus.import_samples import ImportCounts, SampleResult, read_directories, read_one
from graph_net.formats.graphnet import read_sample
from graph_net.formats.graphnet.write import write_sample


def samples_in(directory: Path, count: int) -> dict[str, Path]:
    found = {f"s{number}": directory / f"s{number}" for number in range(count)}
    for number, path in enumerate(found.values()):
        write_sample(some_graph(number), path)
    return found


def results_of(samples: dict[str, Path], jobs: int) -> dict[str, SampleResult]:
    results = list(read_directories(samples, jobs))
    assert len(results) == len(samples)
    return {result.name: result for result in results}


def test_a_sample_becomes_a_row(tmp_path: Path) -> None:
    write_sample(some_graph(3), tmp_path / "s")
    result = read_one("name", str(tmp_path / "s"))
    assert result.row == row_of("name", read_sample(tmp_path / "s"))
    assert result.sample_bytes == sum(file.stat().st_size for file in (tmp_path / "s").iterdir())
    assert result.reason == ""


def test_a_bad_sample_becomes_a_reason(tmp_path: Path) -> None:
    write_sample(some_graph(3), tmp_path / "s")
    (tmp_path / "s" / "model.py").write_text("class A:\n    def forward(self): return exit()\n")
    result = read_one("name", str(tmp_path / "s"))
    assert result.row is None
    assert "'exit' is not on the allow-list of call targets (line 2" in result.reason
    assert "model.py is missing" in read_one("name", str(tmp_path / "nowhere")).reason


@pytest.mark.parametrize("jobs", [1, 2])
def test_all_are_read_and_the_bad_are_refused(tmp_path: Path, jobs: int) -> None:
    samples = samples_in(tmp_path, 12)
    (samples["s5"] / "model.py").write_text("import os\n")
    results = results_of(samples, jobs)
    assert set(results) == set(samples)
    assert [name for name, result in results.items() if result.row is None] == ["s5"]
    for name, path in samples.items():
        if name != "s5":
            assert results[name].row == row_of(name, read_sample(path))


def test_no_samples_give_no_results() -> None:
    assert list(read_directories({}, 2)) == []


# -- processes that die -------------------------------------------------------------------------


def set_trap(sample: Path, deaths: int) -> None:
    """Make a sample one whose first readers are killed, so many of them."""
    (sample / "deaths").write_text("x" * deaths)


def doomed(name: str, path: str) -> SampleResult:
    """Read a sample, or die at it as the kernel kills a process that takes too much memory."""
    trap = Path(path) / "deaths"
    if trap.exists() and (left := trap.read_text()):
        trap.write_text(left[1:])
        os.kill(os.getpid(), signal.SIGKILL)
    return read_one(name, path)


def test_a_sample_that_kills_its_reader_twice_is_refused_alone(tmp_path: Path) -> None:
    samples = samples_in(tmp_path, 20)
    set_trap(samples["s3"], 2)
    results = {result.name: result for result in read_directories(samples, 2, doomed)}
    assert set(results) == set(samples)
    assert [name for name, result in results.items() if result.row is None] == ["s3"]
    assert results["s3"].reason == "killed by a signal from outside (SIGKILL)"


def test_a_sample_whose_reader_was_killed_once_is_read_again(tmp_path: Path) -> None:
    samples = samples_in(tmp_path, 20)
    expected = row_of("s19", read_sample(samples["s19"]))
    set_trap(samples["s19"], 1)
    results = {result.name: result for result in read_directories(samples, 2, doomed)}
    assert all(result.row is not None for result in results.values())
    assert results["s19"].row == expected


# -- names and files that are none --------------------------------------------------------------


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_sample_that_is_a_pipe_is_refused_at_once(tmp_path: Path, jobs: int) -> None:
    samples = samples_in(tmp_path, 4)
    (samples["s2"] / "model.py").unlink()
    os.mkfifo(samples["s2"] / "model.py")
    results = results_of(samples, jobs)
    assert [name for name, result in results.items() if result.row is None] == ["s2"]
    assert "it is a FIFO; only regular files are read" in results["s2"].reason


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_directory_whose_name_is_not_utf8_is_refused_alone(tmp_path: Path, jobs: int) -> None:
    samples = samples_in(tmp_path, 4)
    strange = os.fsdecode(b"caf\xe9")
    samples[strange] = samples.pop("s2").rename(tmp_path / strange)
    results = results_of(samples, jobs)
    assert [name for name, result in results.items() if result.row is None] == ["caf\\xe9"]
    assert "not UTF-8" in results["caf\\xe9"].reason


# -- the outcome --------------------------------------------------------------------------------


def test_reasons_are_grouped_without_their_lines() -> None:
    outcome = ImportCounts(read=7, skipped=1, sample_bytes=10, pack_bytes=2)
    outcome.refuse("a", "unknown name 'q' (line 3)")
    outcome.refuse("b", "a paddle sample")
    outcome.refuse("c", "unknown name 'q' (line 44)")
    assert outcome.reasons() == [
        ("unknown name 'q' (line …)", ["a", "c"]),
        ("a paddle sample", ["b"]),
    ]
    assert outcome.as_json() == {
        "read": 7,
        "already_there": 1,
        "refused": [
            {"sample": "a", "reason": "unknown name 'q' (line 3)"},
            {"sample": "b", "reason": "a paddle sample"},
            {"sample": "c", "reason": "unknown name 'q' (line 44)"},
        ],
        "sample_bytes": 10,
        "pack_bytes": 2,
    }
