"""npz files from strangers: bounded, never unpickled, errors that name the file and the array."""

from __future__ import annotations

import zipfile
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from configs.small_graphs import layout_arrays, npy_bytes, tile_arrays, write_members, write_npz
from graph_net.configs.read_npz import read_npz
from graph_net.store.lines import ReadError


def test_an_object_array_is_refused_unread(tmp_path: Path) -> None:
    class Trap:
        def __reduce__(self) -> Any:
            return (Path.touch, (tmp_path / "ran",))

    arrays = layout_arrays() | {"node_opcode": np.array([Trap()] * 6, object)}
    path = write_npz(tmp_path / "x.npz", arrays)
    with pytest.raises(ReadError, match="node_opcode is not an array of plain numbers"):
        read_npz(path)
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"(6, 140)": "(9, 140)"}, "node_feat ends after"),
        ({"(6, 140)": "(5, 140)"}, "node_feat has more bytes"),
        ({"(6, 140)": "(999999999, 140)"}, "would take"),
        ({"(6, 140)": "(6, 139)"}, "not float32"),
        ({"'<f4'": "'<f8'"}, "not float32"),
        ({"'shape'": "'shapo'"}, "not an array of plain numbers"),
    ],
)
def test_a_header_that_lies_is_named(tmp_path: Path, changes: dict[str, str], why: str) -> None:
    arrays = layout_arrays()
    members = {f"{name}.npy": npy_bytes(array) for name, array in arrays.items()}
    members["node_feat.npy"] = npy_bytes(arrays["node_feat"], **changes)
    with pytest.raises(ReadError, match=why) as caught:
        read_npz(write_members(tmp_path / "x.npz", members))
    assert "x.npz" in str(caught.value)


def test_a_bomb_is_not_unpacked(tmp_path: Path) -> None:
    """A gigabyte of zeros behind an honest small header costs the bytes of the header's array."""
    members = {f"{name}.npy": npy_bytes(array) for name, array in layout_arrays().items()}
    members["node_opcode.npy"] += bytes(64 << 20)
    with pytest.raises(ReadError, match="node_opcode has more bytes"):
        read_npz(write_members(tmp_path / "x.npz", members))


def test_what_is_inconsistent_is_refused(tmp_path: Path) -> None:
    for change, why in (
        ({"node_config_ids": np.array([1, 9])}, "a configurable node is not among"),
        ({"node_config_ids": np.array([1])}, "layouts of 2 nodes"),
        ({"edge_index": np.array([(1, 77)])}, "leads out"),
        ({"config_runtime": np.array([5])}, "1 run times for 24 runs"),
        ({"config_runtime": np.full(24, -1)}, "negative"),
        ({"node_config_feat": np.full((24, 2, 18), 9, np.float32)}, "beyond the sixth"),
        ({"node_config_feat": np.full((24, 2, 18), 0.5, np.float32)}, "not a whole number"),
    ):
        path = write_npz(tmp_path / "x.npz", layout_arrays() | change)
        with pytest.raises(ReadError, match=why):
            read_npz(path)


def test_a_missing_array_is_named(tmp_path: Path) -> None:
    arrays = tile_arrays()
    del arrays["config_runtime_normalizers"]
    with pytest.raises(ReadError, match="it has no array config_runtime_normalizers"):
        read_npz(write_npz(tmp_path / "x.npz", arrays))


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.integers(0, 1 << 30), st.integers(1, 255))
def test_flipped_bytes_give_a_graph_or_a_read_error(tmp_path: Path, at: int, mask: int) -> None:
    source = tmp_path / "whole.npz"
    if not source.exists():
        write_npz(source, tile_arrays())
    data = bytearray(source.read_bytes())
    data[at % len(data)] ^= mask
    path = tmp_path / "flipped.npz"
    path.write_bytes(data)
    with suppress(ReadError):
        read_npz(path)


def test_a_file_that_is_no_archive_is_named(tmp_path: Path) -> None:
    path = tmp_path / "x.npz"
    path.write_bytes(b"PK\x03\x04 no archive")
    with pytest.raises(ReadError, match=r"x\.npz is not a whole npz"):
        read_npz(path)
    assert not zipfile.is_zipfile(path)
