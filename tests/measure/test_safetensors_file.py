"""Golden files: the safetensors format, written and read here, and what is refused."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from graph_net.measure.golden_outputs import leaf_hash, read_leaves, write_leaves
from graph_net.measure.safetensors import (
    FileLimits,
    SafetensorsError,
    read_safetensors,
    write_safetensors,
)

DTYPES = [
    torch.float64, torch.float32, torch.float16, torch.bfloat16, torch.int64, torch.int32,
    torch.int16, torch.int8, torch.uint8, torch.bool, torch.float8_e4m3fn, torch.float8_e5m2,
]  # fmt: skip


def some_tensor(dtype: torch.dtype, shape: list[int], seed: int) -> torch.Tensor:
    numbers = torch.Generator().manual_seed(seed)
    return torch.randn(shape, generator=numbers).mul(3).to(dtype)


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    listed=st.lists(
        st.tuples(
            st.sampled_from(DTYPES), st.lists(st.integers(0, 4), max_size=3), st.integers(0, 9)
        ),
        max_size=5,
    )
)
def test_what_is_written_is_read_back_bit_by_bit(tmp_path: Path, listed: Any) -> None:
    tensors = [some_tensor(*each) for each in listed]
    write_safetensors(tmp_path / "x", tensors, {"a": "b"})
    found, metadata = read_safetensors(tmp_path / "x")
    assert metadata == {"a": "b"}
    assert [leaf_hash(found[str(n)]) for n in range(len(tensors))] == list(map(leaf_hash, tensors))


def test_the_library_of_that_name_reads_it_and_is_read(tmp_path: Path) -> None:
    library = pytest.importorskip("safetensors.torch")
    tensors = [some_tensor(dtype, [2, 3], 1) for dtype in DTYPES]
    write_safetensors(tmp_path / "ours", tensors, {})
    theirs = library.load_file(tmp_path / "ours")
    assert all(leaf_hash(theirs[str(n)]) == leaf_hash(t) for n, t in enumerate(tensors))
    library.save_file({f"{n}": t for n, t in enumerate(tensors)}, tmp_path / "theirs")
    found, _ = read_safetensors(tmp_path / "theirs")
    assert all(leaf_hash(found[str(n)]) == leaf_hash(t) for n, t in enumerate(tensors))


def test_leaves_that_are_no_tensors_come_back_too(tmp_path: Path) -> None:
    leaves = [
        torch.randn(2, dtype=torch.complex64), None, 3, True, math.inf, math.nan, 1.5,
        torch.randn(3, 2).t(), torch.tensor(1), 2 + 1j,
    ]  # fmt: skip
    told = write_leaves(tmp_path / "x", leaves)
    found = read_leaves(tmp_path / "x")
    assert told["outputs"] == [leaf_hash(leaf) for leaf in found]
    assert [type(leaf) for leaf in found] == [type(leaf) for leaf in leaves]
    assert torch.equal(found[0], leaves[0])  # type: ignore[arg-type]
    assert math.isnan(found[5])


def test_hashes_tell_bits_apart() -> None:
    assert leaf_hash(torch.tensor(0.0)) != leaf_hash(torch.tensor(-0.0))
    assert leaf_hash(torch.zeros(2, 3)) != leaf_hash(torch.zeros(3, 2))
    assert leaf_hash(1) != leaf_hash(True)


def raw(header: Any, data: bytes = b"", length: int | None = None) -> bytes:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return (len(text) if length is None else length).to_bytes(8, "little") + text + data


def entry(**changes: Any) -> dict[str, Any]:
    return {"x": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]} | changes}


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"1234567",
        raw({}, length=1 << 60),
        raw(b"[1]"),
        raw(b"{"),
        raw(b"[" * 100_000),
        raw(entry(), b"1234"),
        raw(entry(), b"123456789"),
        raw(entry(dtype="F99"), b"12345678"),
        raw(entry(shape=[-2]), b"12345678"),
        raw(entry(shape=[3]), b"12345678"),
        raw(entry(shape=[1 << 40, 1 << 40]), b"12345678"),
        raw(entry(shape=[2.0]), b"12345678"),
        raw(entry(shape=[True, 2]), b"12345678"),
        raw(entry(data_offsets=[4, 12]), b"123456789012"),
        raw(entry(data_offsets=[8, 0]), b"12345678"),
        raw(entry() | {"y": {"dtype": "F32", "shape": [2], "data_offsets": [4, 12]}}, b"1" * 12),
        raw(b'{"x": 1, "x": 2}'),
        raw({"__metadata__": {"a": 1}}),
        raw({"x": 5}),
    ],
)
def test_anything_else_is_refused(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "bad").write_bytes(data)
    with pytest.raises(SafetensorsError, match=r"^bad: "):
        read_safetensors(tmp_path / "bad")


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(place=st.integers(0, 10_000), value=st.integers(0, 255), cut=st.integers(0, 400))
def test_damage_gives_one_kind_of_error_or_other_values(
    tmp_path: Path, place: int, value: int, cut: int
) -> None:
    write_leaves(tmp_path / "x", [torch.arange(20.0), 3, None])
    data = bytearray((tmp_path / "x").read_bytes())
    data[place % len(data)] = value
    (tmp_path / "x").write_bytes(data[: len(data) - cut] if cut % 3 == 0 else data)
    try:
        read_leaves(tmp_path / "x")
    except SafetensorsError:
        return


def test_limits_hold(tmp_path: Path) -> None:
    write_safetensors(tmp_path / "x", [torch.zeros(3), torch.zeros(3)], {})
    for limits in (FileLimits(tensors=1), FileLimits(bytes=64), FileLimits(header=10)):
        with pytest.raises(SafetensorsError):
            read_safetensors(tmp_path / "x", limits)
    assert len(read_safetensors(tmp_path / "x")[0]) == 2
