"""``graph-net roofline``: peaks measured once, floors of records, JSON."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cli.calling import Cli
from graph_net.corpus.pack import PackWriter
from graph_net.measure import peaks
from graph_net.measure.device import describe
from graph_net.results import Device
from graph_net.results.peaks import Peaks, identity
from graph_net.roofline.store import read_rooflines
from measure.asking import measured, small_graph, task
from report.synthetic import stored

FAST = Peaks("", "fast", 1e12, 1e13, 1 << 20, {"float32": 1e15}, load=5.0)


@pytest.fixture
def asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """How often peaks were measured; here it takes no time."""
    told: list[str] = []

    def measure(device: Device, _: object = None) -> Peaks:
        told.append(device.name)
        return Peaks(**(vars(FAST) | {"device": identity(device), "name": device.name}))

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(peaks, "measure_peaks", measure)
    return told


@pytest.fixture(scope="module")
def records(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("roofline")
    with PackWriter(root / "pack") as writer:
        writer.add("small4", small_graph(4))
    stored(root / "records", measured([task("eager", small_graph(4))], 1))
    return root


def test_peaks_are_measured_once_and_again_when_asked(asked: list[str], cli: Cli) -> None:
    for words, times in ([], 1), ([], 1), (["--again"], 2), (["--json"], 2):
        answer = cli("roofline", "--threads", "1", *words)
        assert answer.code == 0, answer.err
        assert len(asked) == times
    assert json.loads(answer.out)["bandwidth"] == FAST.bandwidth
    assert "1000.0 GB/s" in cli("roofline", "--threads", "1").out
    assert "may be too low" in cli("roofline", "--threads", "1").err


def test_records_get_floors_that_travel_with_them(
    asked: list[str], records: Path, cli: Cli
) -> None:
    place = records / "records"
    answer = cli("roofline", place, "--corpus", records / "pack", "--threads", "1", "--json")
    assert answer.code == 0, answer.err
    (found,) = json.loads(answer.out)["graphs"]
    assert found["graph"] == "small4"
    assert found["headroom"] == pytest.approx(found["seconds"] / found["floor_seconds"])
    assert not found["impossible"]
    kept = read_rooflines(place)
    assert set(kept.peaks) == {identity(describe("cpu", 1))}
    assert next(iter(kept.work.values())).flops == 2 * 2 * 4 * 4
    answer = cli("roofline", place, "--corpus", records / "pack", "--threads", "1")
    assert "small4" in answer.out
    assert "1 measurements have a floor, 0 are faster than possible" in answer.err


def test_no_records_is_one_sentence(asked: list[str], tmp_path: Path, cli: Cli) -> None:
    answer = cli("roofline", tmp_path / "nothing", "--threads", "1")
    assert answer.code == 1
    assert "holds no records" in answer.err
