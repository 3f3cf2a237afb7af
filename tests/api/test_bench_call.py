"""Graphs measured, scored, compared and reported from Python."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
import torch
from torch import nn

import graph_net as gn
from measure.asking import small_graph


class Small(nn.Module):
    """A layer, in training mode as modules are made."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Sequential(nn.Linear(8, 8), nn.Dropout(0.5))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(self.inner(x))


@pytest.fixture(scope="module")
def records() -> gn.Records:
    """One captured model, measured with eager; kept nowhere."""
    graph = gn.capture(Small(), torch.ones(4, 8))
    return gn.bench(graph, compilers=["eager"], seconds=0.1, threads=1, jobs=1, progress=False)


def test_a_model_is_captured_and_left_in_its_mode() -> None:
    model = Small()
    graph = gn.capture(model, torch.ones(4, 8))
    assert graph.provenance.model == "Small"
    (dropout,) = (node for node in graph.nodes if "dropout" in node.target)
    assert dropout.args[-1] is False  # not training
    assert all(module.training for module in model.modules())


def test_a_function_is_captured() -> None:
    def doubled(x: torch.Tensor) -> torch.Tensor:
        return x * 2

    graph = gn.capture(doubled, (torch.ones(3),))
    assert (graph.provenance.model, len(graph.nodes)) == ("doubled", 1)


def test_a_graph_is_measured_without_a_directory_and_in_silence(
    records: gn.Records, capsys: pytest.CaptureFixture[str]
) -> None:
    (record,) = records
    assert record.subject.name == "Small"
    assert record.failure is None
    assert len(records) == 1
    assert capsys.readouterr() == ("", "")


def test_records_are_a_data_frame_with_their_samples(records: gn.Records) -> None:
    frame = records.to_pandas()
    assert isinstance(frame, pd.DataFrame)
    assert frame["graph"].tolist() == ["Small"]
    assert "speedup" in frame.columns


def test_records_are_scored(records: gn.Records) -> None:
    board = records.score()
    assert set(board.scored) == {"eager"}
    assert board["eager"].samples == 1
    assert "eager is " in repr(board)


def test_records_are_reported(records: gn.Records, tmp_path: Path) -> None:
    page = records.report(tmp_path / "report.html", title="of <mine>")
    assert "of &lt;mine&gt;" in page.read_text("utf-8")


def test_records_are_compared_with_themselves(records: gn.Records) -> None:
    found = gn.compare(records, records)
    assert (len(found), found.regressions) == (1, 0)


def test_a_directory_resumes_and_says_what_it_does(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    graphs = {"a": small_graph(3), "b": small_graph(4)}
    settings = {"seconds": 0.1, "threads": 1, "jobs": 1}
    gn.bench(graphs, "eager", store=tmp_path / "kept", limit=1, **settings)  # type: ignore[arg-type]
    assert "eager a: " in capsys.readouterr().err
    both = gn.bench(graphs, "eager", store=tmp_path / "kept", **settings)  # type: ignore[arg-type]
    said = capsys.readouterr().err
    assert "eager b: " in said
    assert "eager a: " not in said
    assert {record.subject.name for record in both} == {"a", "b"}


def test_nothing_measured_is_no_records(tmp_path: Path) -> None:
    none = gn.bench(small_graph(3), "eager", budget=0, store=tmp_path, progress=False)
    assert len(none) == 0
    assert "0 records" in repr(none)
    assert "0 records" in none._repr_html_()


def test_graphs_of_one_model_have_names_of_their_own() -> None:
    from graph_net.api.choose import named_graphs

    graph = small_graph(3).with_provenance(library="l", model="m")
    assert list(named_graphs([graph, graph])) == ["l/m", "l/m/1"]
