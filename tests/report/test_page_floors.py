"""Floors on the page: how near a time is to what the machine can do."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

from graph_net.roofline.store import Rooflines, read_rooflines, write_rooflines
from report.synthetic import (
    floored,
    page_of,
    stored,
    synthetic,
    unpacked,
)


def test_floors_are_on_the_page_where_a_roofline_was_measured(tmp_path: Path) -> None:
    records = synthetic(30)
    page = page_of(tmp_path, records)
    assert "No roofline was measured" in page.inside["text"]
    assert set(json.loads(page.inside["data"])["rows"]["floor"]) == {None}
    floored(records, tmp_path / "records", 1e-5)
    page = page_of(tmp_path, records)
    rows = json.loads(page.inside["data"])["rows"]
    timed = [place for place, speedup in enumerate(rows["speedup"]) if speedup is not None]
    assert {rows["floor"][place] for place in timed} == {1e-5}
    assert all(10 < rows["headroom"][place] < 400 for place in timed)
    assert not any(rows["impossible"])
    assert "Headroom" in page.inside["text"]


def test_graphs_whose_flops_are_unknown_are_marked(tmp_path: Path) -> None:
    records = synthetic(30)
    path = stored(tmp_path / "records", records)
    floored(records, path, 1e-5)
    known = read_rooflines(path)
    missing = {
        name: replace(work, reason="lstm is not counted") for name, work in known.work.items()
    }
    write_rooflines(path, Rooflines(known.peaks, missing))
    page = page_of(tmp_path, records)
    rows = json.loads(page.inside["data"])["rows"]
    timed = [place for place, speedup in enumerate(rows["speedup"]) if speedup is not None]
    assert {rows["floor"][place] for place in timed} == {1e-5}
    assert set(rows["headroom"]) == {None}
    assert "FLOPs unknown" in page.inside["text"]
    told = unpacked(page.inside["details"].split("\n")[timed[0]])
    assert told["floor"]["reason"] == "FLOPs unknown: lstm is not counted"


def test_what_is_faster_than_possible_is_flagged(tmp_path: Path) -> None:
    records = synthetic(30)
    floored(records, stored(tmp_path / "records", records), 1.0)
    page = page_of(tmp_path, records)
    data = json.loads(page.inside["data"])
    flags = data["rows"]["impossible"]
    assert flags == [speedup is not None for speedup in data["rows"]["speedup"]]
    assert "faster than this machine can be" in page.inside["text"]
    told = unpacked(page.inside["details"].split("\n")[flags.index(True)])
    assert "below the memory floor" in told["floor"]["reason"]
