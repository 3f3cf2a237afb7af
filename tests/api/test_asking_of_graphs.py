"""Subgraphs, validation, rooflines, programs, bisection and scripts, called from Python."""

from __future__ import annotations

from pathlib import Path

import pytest

import graph_net as gn
from corpus.some_graphs import some_graph
from graph_net.bisect import BisectError
from graph_net.corpus.pack import Pack
from graph_net.graph import GraphError
from graph_net.measure import peaks
from graph_net.results import Device, RecordError
from graph_net.results.peaks import Peaks, identity
from graph_net.testing.models import case_graph
from measure.asking import measured, small_graph, task
from report.synthetic import stored

BROKEN = '''
"""A compiler that knows no Fourier transform."""

from graph_net.compilers import Compiler, Job, Runner
from graph_net.graph.fx import to_fx


class NoFourier(Compiler):
    name = "nofourier"

    def compile(self, job: Job) -> Runner:
        if any("fft" in node.target for node in job.graph.nodes):
            raise RuntimeError("no transforms here")
        forward = to_fx(job.graph, job.device).forward
        return lambda inputs: forward(*inputs)
'''


def test_a_graph_is_cut_into_distinct_subgraphs(capsys: pytest.CaptureFixture[str]) -> None:
    graph = case_graph("decoder")
    found = gn.subgraphs(graph, "task", jobs=1, progress=False)
    assert len(found) > 1
    assert sum(len(found[name].nodes) for name in found) <= len(graph.nodes)
    assert {row["kind"] for row in found.rows} == {"task"}
    assert "occurrences" in found.to_pandas()
    assert capsys.readouterr() == ("", "")


def test_subgraphs_are_kept_where_they_are_wanted(tmp_path: Path) -> None:
    gn.subgraphs(some_graph(3), ["sole_op"], output=tmp_path / "cut", jobs=1, progress=False)
    assert len(Pack(tmp_path / "cut")) >= 1


def test_a_kind_of_which_there_is_none_is_told() -> None:
    with pytest.raises(GraphError, match="no subgraph of these kinds"):
        gn.subgraphs(some_graph(3), "block", jobs=1, progress=False)


def test_graphs_in_memory_are_validated() -> None:
    graphs = {"one": some_graph(3), "two": some_graph(4)}
    verdicts = gn.validate(graphs, jobs=1, progress=False)
    assert [verdict.name for verdict in verdicts] == ["one", "two"]
    assert all(verdict.ok for verdict in verdicts)


@pytest.fixture
def _quick_peaks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Peaks that take no time, and that this user does not have yet."""

    def measure(device: Device, _: object = None) -> Peaks:
        rates = {"float32": 1e15}
        return Peaks(identity(device), device.name, 1e12, 1e13, 1 << 20, rates)

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(peaks, "measure_peaks", measure)


@pytest.mark.usefixtures("_quick_peaks")
def test_the_peaks_of_this_machine_are_measured() -> None:
    (found,) = gn.roofline(progress=False).peaks.values()
    assert found.bandwidth == 1e12


@pytest.mark.usefixtures("_quick_peaks")
def test_records_are_held_against_their_floors(tmp_path: Path) -> None:
    from graph_net.corpus.pack import PackWriter

    with PackWriter(tmp_path / "pack") as writer:
        writer.add("small4", small_graph(4))
    stored(tmp_path / "records", measured([task("eager", small_graph(4))], 1))
    records = gn.Records(tmp_path / "records")
    found = gn.roofline(records, corpus=tmp_path / "pack", progress=False)
    (above,) = found.headrooms
    assert above.seconds > above.floor.seconds
    assert "small4" in found._repr_html_()
    assert "1 measurement" in repr(found)


def test_programs_that_are_not_there_are_told_with_the_way_out(tmp_path: Path) -> None:
    with pytest.raises(RecordError, match=r"nowhere is neither .* set \$GRAPH_NET_DATA"):
        gn.programs(tmp_path / "nowhere")


def test_the_shipped_programs_are_listed_and_asked() -> None:
    found = gn.programs("cpu")
    first, *_ = found.tasks()
    assert found.task(first.task).summary.name == first.name
    assert len(found) >= first.programs
    frame = found.to_pandas(f"task = '{first.task}' AND NOT again")
    assert len(frame) == first.programs
    assert f"{len(found):,} programs of " in repr(found)
    assert first.name in found._repr_html_()


def test_a_graph_is_bisected(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(BROKEN)
    mine = f"{tmp_path / 'mine.py'}:NoFourier"
    witness = gn.bisect(case_graph("spectrum"), mine, jobs=1, threads=1, progress=False)
    assert witness.shown.problem == "crash"
    assert len(witness.graph.nodes) < witness.calls


def test_a_graph_that_shows_no_problem_is_told() -> None:
    with pytest.raises(BisectError):
        gn.bisect(small_graph(3), "eager", "crash", jobs=1, threads=1, progress=False)


def test_a_script_is_written_and_tried(tmp_path: Path) -> None:
    made = gn.repro(small_graph(3), "eager", tmp_path / "script.py", seconds=0.1, progress=False)
    assert not made.reproduced
    assert "import torch" in made.path.read_text("utf-8")
