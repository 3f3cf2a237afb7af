"""Files are known by their first lines; and no bytes make a reader fail or tell nonsense."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph_net.programs.formats import (
    Damage,
    Format,
    Place,
    ReadError,
    ReadLimits,
    detect,
    read_programs,
)
from graph_net.results import NEVER
from programs.formats.tuning_samples import ansor, autotvm, json_values, lines, meta, t4

HEADS = [
    (ansor(), Format.ANSOR),
    (autotvm(), Format.AUTOTVM),
    (meta(), Format.METASCHEDULE),
    (["123", "QQ=="], Format.WORKLOADS),
    ({"metadata": {}, "results": [t4()]}, Format.T4),
    ({"results": [t4()]}, Format.T4),
    (b'{"config":{"kind":', Format.RECORDS),
]


@pytest.mark.parametrize(("row", "kind"), HEADS)
@pytest.mark.parametrize("packed", [False, True])
def test_a_format_is_known_whatever_the_name(
    tmp_path: Path, row: Any, kind: Format, packed: bool
) -> None:
    path = lines(tmp_path / "a.txt", row)
    if packed:
        path.write_bytes(gzip.compress(path.read_bytes()))
    assert detect(path) is kind


def test_damaged_lines_at_the_start_are_looked_past(tmp_path: Path) -> None:
    assert detect(lines(tmp_path / "a", b'{"i": [[', b"\xff", b"5", ansor())) is Format.ANSOR


@pytest.mark.parametrize("data", [b"\x00\xff" * 99, b"5\n", b"{}\n", b'["a"]\n', b"\n\n", b"a,b\n"])
def test_what_is_none_of_them_is_refused_with_their_names(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "a.json"
    path.write_bytes(data)
    with pytest.raises(ReadError, match=r"is none of: .*Ansor records.*Kernel Tuner T4"):
        detect(path)


def test_archives_are_told_what_to_do(tmp_path: Path) -> None:
    path = tmp_path / "a.zip"
    path.write_bytes(b"PK\x03\x04...")
    with pytest.raises(ReadError, match="unpack it"):
        detect(path)
    path.write_bytes(b"\x1f\x8b")
    with pytest.raises(ReadError, match="not a complete gzip file"):
        detect(path)


KINDS = [Format.ANSOR, Format.AUTOTVM, Format.METASCHEDULE, Format.T4]
GOOD = {
    Format.ANSOR: ansor(),
    Format.AUTOTVM: autotvm(),
    Format.METASCHEDULE: meta(),
    Format.T4: {"metadata": {"timeunit": "ms"}, "results": [t4(), t4()]},
}


def read(folder: Path, kind: Format, data: bytes) -> None:
    """Read a file; nothing but ReadError is raised and all that comes is sound."""
    lines(folder / "workload", ["123", "QQ=="])
    path = folder / "tuning_record"
    path.write_bytes(data)
    last = Place(0, -1)
    try:
        for place, what in read_programs(path, kind, limits=ReadLimits(line_bytes=1 << 16)):
            assert place.offset >= last.offset
            last = place
            if isinstance(what, Damage):
                assert what.reason
                continue
            assert what.task.workload
            assert (what.failure is None) == bool(what.costs)
            assert all(0 < cost < NEVER for cost in what.costs)
            json.loads(what.schedule)
            (what.task.workload + what.task.kernel + what.task.target + what.version).encode()
    except ReadError as error:
        assert str(error)  # noqa: PT017 - it may, or may not, be raised


@pytest.mark.parametrize("kind", KINDS)
@given(data=st.binary(max_size=300))
def test_junk_is_never_more_than_damage(
    tmp_path_factory: pytest.TempPathFactory, kind: Format, data: bytes
) -> None:
    read(tmp_path_factory.mktemp("junk"), kind, data)


def places(tree: Any, here: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Where in a tree a value can be put."""
    found = [here]
    pairs: Any = ()
    if isinstance(tree, dict):
        pairs = tree.items()
    elif isinstance(tree, list):
        pairs = enumerate(tree)
    for key, value in pairs:
        found += places(value, (*here, key))
    return found


def put(tree: Any, place: tuple[Any, ...], value: Any) -> Any:
    """A tree with another value at a place."""
    if not place:
        return value
    copy = dict(tree) if isinstance(tree, dict) else list(tree)
    copy[place[0]] = put(tree[place[0]], place[1:], value)
    return copy


ODD = json_values | st.sampled_from(
    [float("nan"), float("inf"), 10**400, -0.0, 1e-320, 1e300, True, "\ud800", [[[]]], "\x00"]
)


@pytest.mark.parametrize("kind", KINDS)
@given(draw=st.data())
def test_no_value_in_any_place_makes_a_reader_fail(
    tmp_path_factory: pytest.TempPathFactory, kind: Format, draw: st.DataObject
) -> None:
    good = json.loads(json.dumps(GOOD[kind]))
    place = draw.draw(st.sampled_from(places(good)))
    text = json.dumps(put(good, place, draw.draw(ODD)))
    cut = draw.draw(st.integers(0, len(text)) | st.just(len(text)))
    read(tmp_path_factory.mktemp("odd"), kind, text[:cut].encode() + b"\n")
