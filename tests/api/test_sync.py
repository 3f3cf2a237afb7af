"""Records of several machines in one directory: each key once, the latest, in any order."""

from __future__ import annotations

from itertools import permutations
from pathlib import Path

import pytest

from cli.calling import Cli
from cli.conftest import cli as cli
from graph_net.api.sync import SyncedSource, sync
from graph_net.programs.store.program_store import ProgramStore
from graph_net.results import Record
from graph_net.store import fetch
from graph_net.store.records import RecordStore
from programs.features.some_programs import program, stored, trace
from store.test_records import about, killed, store_of


def brought(output: Path, *sources: Path | str) -> list[SyncedSource]:
    return list(sync(sources, output, progress=False))


def held(output: Path) -> dict[str, str]:
    return {one.subject.name: one.started for one in RecordStore(output).records()}


@pytest.fixture
def places(tmp_path: Path) -> list[Path]:
    """Three machines that measured some of the same: as parts, as a journal, as both."""
    runs: list[list[list[Record]]] = [
        [[about("a", "2026-01-01"), about("b", "2026-01-03")]],
        [[about("a", "2026-01-02")], [about("c", "2026-01-01")]],
        [[killed("b", "2026-01-09"), about("c", "2026-01-05")], [about("c", "2026-01-04")]],
    ]
    stores = [store_of(tmp_path / f"machine{k}", *run) for k, run in enumerate(runs)]
    stores[0].compact()
    return [store.path for store in stores]


def test_the_latest_final_result_stays_in_whatever_order_places_come(
    places: list[Path], tmp_path: Path
) -> None:
    for number, order in enumerate(permutations(places)):
        output = tmp_path / f"out{number}"
        brought(output, *order)
        # Of c, what its own store holds to be the last counts, although its clock went back.
        assert held(output) == {"a": "2026-01-02", "b": "2026-01-03", "c": "2026-01-04"}
        assert not RecordStore(output).journals()


def test_the_same_command_again_adds_what_is_new_and_nothing_else(
    places: list[Path], tmp_path: Path
) -> None:
    output = tmp_path / "out"
    brought(output, *places)
    parts = RecordStore(output).parts()
    assert all(one.summary.startswith("0 records added") for one in brought(output, *places))
    assert RecordStore(output).parts() == parts
    store_of(places[1], [about("d", "2026-02-01")])
    brought(output, *places)
    assert set(held(output)) == {"a", "b", "c", "d"}


def test_an_address_that_pyarrow_reads_is_a_place(places: list[Path], tmp_path: Path) -> None:
    output = tmp_path / "out"
    (one,) = brought(output, places[0].as_uri())
    assert (one.failed, set(held(output))) == (False, {"a", "b"})


def test_programs_come_along_and_an_earlier_state_of_them_is_replaced(tmp_path: Path) -> None:
    first = [program(trace(k), 1.0) for k in (1, 2)]
    here, there = stored(tmp_path / "here", first), tmp_path / "there"
    brought(there, here)
    assert sum(1 for _ in ProgramStore(there).programs()) == 2
    (part,) = ProgramStore(there).parts()
    before = part.read_bytes()
    part.write_bytes(b"")
    (one,) = brought(tmp_path / "other", there)
    assert one.failed
    part.write_bytes(before)
    (there / "tasks-x.parquet").write_bytes(b"no Parquet at all")
    assert brought(tmp_path / "another", there)[0].failed
    assert "already there" in brought(there, here)[0].summary
    assert part.read_bytes() == before


def test_a_place_that_cannot_be_read_costs_itself(
    places: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (places[1] / "part-00000.parquet").write_bytes(b"no Parquet at all")
    output = tmp_path / "out"
    nowhere = (tmp_path / "nowhere").as_uri()
    said = brought(output, tmp_path / "nothing", places[1], nowhere, output, places[0])
    assert [one.failed for one in said] == [True, True, True, True, False]
    assert "does not exist" in said[0].summary
    assert "part-00000.parquet" in said[1].summary
    assert "is the directory they go to" in said[3].summary
    assert set(held(output)) == {"a", "b"}
    monkeypatch.setattr(fetch, "MOST_BYTES", 10)
    (large,) = brought(output, places[0].as_uri())
    assert "more than the limit" in large.summary


def test_a_control_character_in_a_name_is_damage(tmp_path: Path) -> None:
    place = store_of(tmp_path / "place", [about("a"), about("b\x1b[2J")])
    (one,) = brought(tmp_path / "out", place.path)
    assert "1 row damaged" in one.summary
    assert "\x1b" not in one.summary
    assert set(held(tmp_path / "out")) == {"a"}


def test_the_verb_says_what_came_from_where(places: list[Path], tmp_path: Path, cli: Cli) -> None:
    words = ["sync", *map(str, places), "-o", str(tmp_path / "out")]
    done = cli(*words)
    assert done.code == 0, done.err
    assert "2 records added, 0 already there" in done.err
    assert cli(*words, str(tmp_path / "nothing")).code == 3
    assert cli("sync", str(tmp_path / "nothing"), "-o", str(tmp_path / "out")).code == 1
