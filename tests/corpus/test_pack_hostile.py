"""Packs of strangers: small files that stand for much are refused before they are unpacked."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from corpus.some_graphs import some_graph
from graph_net.corpus.columns import SCHEMA, row_of
from graph_net.corpus.pack import Pack, PackError
from graph_net.corpus.query import select
from graph_net.store.parquet_guard import ParquetLimits

ROW = row_of("name", some_graph(1))
MEMORY = 250 << 20
"""More than it takes to say no, and less than what any of these would take."""


def part(folder: Path, changes: dict[str, pa.Array], count: int, **how: Any) -> Path:
    """A pack of one part with so many rows, some columns replaced."""
    folder.mkdir(parents=True, exist_ok=True)
    columns, fields = [], []
    for field in SCHEMA:
        given = changes.get(field.name)
        if given is None:
            given = repeated(pa.array([ROW[field.name]], field.type), count)
        columns.append(given)
        fields.append(field.with_type(given.type))
    table = pa.Table.from_arrays(columns, schema=pa.schema(fields, SCHEMA.metadata))
    how = {"compression": "zstd", "store_schema": False, "row_group_size": count} | how
    pq.write_table(table, folder / "part-00000.parquet", **how)
    return folder


def repeated(value: pa.Array, count: int) -> pa.Array:
    """A value again and again: texts by a dictionary, as which Parquet stores them."""
    places = pa.repeat(pa.scalar(0, pa.int32()), count)
    if pa.types.is_string(value.type) or pa.types.is_binary(value.type):
        return pa.DictionaryArray.from_arrays(places, value)
    return value.take(places)


def refused(pack: Path, why: str) -> None:
    """Every way of reading says why it does not, in one sentence."""
    for read in (lambda: Pack(pack).names(), lambda: select(Pack(pack))):
        with pytest.raises(PackError, match=why) as caught:
            read()
        assert "\n" not in str(caught.value)


def peak_of(pack: Path) -> int:
    """The most memory, in bytes, that a process takes to list a pack; it ends with 1."""
    code = (
        "import sys; sys.argv = ['graph-net', 'list', '--json', sys.argv[1]]\n"
        "from graph_net.cli.main import main\n"
        "try: main()\n"
        "except SystemExit as stop: assert stop.code == 1\n"
        "print(open('/proc/self/status').read().split('VmHWM:')[1].split()[0])"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code, str(pack)], capture_output=True, text=True, check=True
    )
    assert ran.stderr.startswith("error: ")
    assert ran.stderr.count("\n") == 1
    return int(ran.stdout) * 1024


# -- bombs --------------------------------------------------------------------------------------


def test_a_name_of_a_quarter_of_a_gigabyte(tmp_path: Path) -> None:
    quick = {"use_dictionary": False, "write_statistics": False}
    pack = part(tmp_path / "pack", {"name": pa.array(["x" * (250 << 20)])}, 1, **quick)
    assert (pack / "part-00000.parquet").stat().st_size < 100_000
    refused(pack, r"part-00000.parquet, column name: its pages unpack to 262,144,\d+ bytes")
    assert peak_of(pack) < MEMORY


def test_a_long_name_that_a_page_may_have_and_a_name_may_not(tmp_path: Path) -> None:
    pack = part(tmp_path / "pack", {"name": pa.array(["x" * 100_000])}, 1)
    refused(pack, r"column name: it has a value of 100,000 bytes; up to 65,536 are read")


def test_millions_of_rows(tmp_path: Path) -> None:
    pack = part(tmp_path / "pack", {}, 2_000_000)
    assert (pack / "part-00000.parquet").stat().st_size < 1_000_000
    refused(pack, "it has 2,000,000 rows; up to 1,048,576 are read")
    with pytest.raises(PackError, match="rows"):
        len(Pack(pack))
    assert peak_of(pack) < MEMORY


def test_a_text_that_a_dictionary_repeats(tmp_path: Path) -> None:
    words = repeated(pa.array(["x" * 60_000]), 20_000)
    pack = part(tmp_path / "pack", {"model": words}, 20_000)
    assert (pack / "part-00000.parquet").stat().st_size < 1_000_000
    with pytest.raises(PackError, match=r"column model: it decodes to 1,200,000,000 bytes"):
        select(Pack(pack))
    assert peak_of(pack) < MEMORY


def test_lists_that_repeat_a_text(tmp_path: Path) -> None:
    texts = repeated(pa.array(["x" * 60_000]), 20_000)
    tags = pa.ListArray.from_arrays(pa.array([0, 20_000], pa.int32()), texts)
    pack = part(tmp_path / "pack", {"tags": tags}, 1)
    with pytest.raises(PackError, match=r"column tags: it decodes to 1,200,000,000 bytes"):
        select(Pack(pack))
    assert peak_of(pack) < MEMORY


def test_lists_without_end(tmp_path: Path) -> None:
    texts = repeated(pa.array([""]), 5_000_000)
    tags = pa.ListArray.from_arrays(pa.array([0, 5_000_000], pa.int32()), texts)
    pack = part(tmp_path / "pack", {"tags": tags}, 1)
    with pytest.raises(PackError, match=r"column tags: it has 5,000,000 values"):
        select(Pack(pack))


def test_an_encoding_that_no_header_bounds(tmp_path: Path) -> None:
    names = pa.array(["x" * 60_000 + str(number) for number in range(5_000)])
    how = {"use_dictionary": False, "column_encoding": {"name": "DELTA_BYTE_ARRAY"}}
    pack = part(tmp_path / "pack", {"name": names}, 5_000, **how)
    refused(pack, "column name: it is encoded as DELTA_BYTE_ARRAY")


def test_many_row_groups_that_are_small_alone(tmp_path: Path) -> None:
    words = repeated(pa.array(["x" * 60_000]), 40_000)
    pack = part(tmp_path / "pack", {"model": words}, 40_000, row_group_size=2_000)
    with pytest.raises(PackError, match=r"take more than the limit of 1,024 MiB"):
        select(Pack(pack))
    assert len(Pack(pack).names()) == 40_000


def test_a_graph_that_a_dictionary_repeats(tmp_path: Path) -> None:
    graphs = repeated(pa.array([b"x" * (8 << 20)]), 1_000)
    pack = part(tmp_path / "pack", {"graph": graphs}, 1_000, dictionary_pagesize_limit=1 << 30)
    assert len(select(Pack(pack))) == 1_000
    with pytest.raises(PackError, match=r"column graph: it decodes to 8,388,608,000 bytes"):
        next(Pack(pack).blobs())


# -- columns that are other ones ----------------------------------------------------------------


@pytest.mark.parametrize("version", ["1.0", "2.0"])
@pytest.mark.parametrize("codec", ["none", "snappy", "gzip", "zstd", "lz4", "brotli"])
def test_pages_of_every_kind_are_measured(tmp_path: Path, version: str, codec: str) -> None:
    how = {"data_page_version": version, "compression": codec, "data_page_size": 1000}
    pack = part(tmp_path / "pack", {"model": repeated(pa.array(["x" * 60_000]), 9)}, 9, **how)
    assert len(select(Pack(pack))) == 9
    with pytest.raises(PackError, match=r"column model: it decodes to 540,000 bytes"):
        select(Pack(pack, parquet=ParquetLimits(chunk_bytes=500_000)))


def test_damaged_pages_are_refused_in_one_sentence(tmp_path: Path) -> None:
    pack = part(tmp_path / "pack", {}, 50)
    file = pack / "part-00000.parquet"
    whole = file.read_bytes()
    draw = random.Random(0)  # noqa: S311 - places, not secrets
    for _ in range(100):
        data = bytearray(whole)
        data[draw.randrange(4, 200)] = draw.randrange(256)
        file.write_bytes(data)
        said = ""
        try:
            assert len(select(Pack(pack))) == 50
        except PackError as error:
            said = str(error)
        assert "\n" not in said


@pytest.mark.parametrize(
    ("column", "values", "why"),
    [
        ("name", pa.array([1]), "int64 instead of string"),
        ("nodes", pa.array(["many"]), "string instead of int32"),
        ("tags", pa.array(["one"]), "string instead of list"),
        ("operators", pa.array([[[["deep"]]]]), "instead of list"),
        ("graph", pa.array(["text"]), "string instead of binary"),
        ("category", pa.array([b"\xff"]), "binary instead of string"),
    ],
)
def test_a_column_of_another_type_is_named(
    tmp_path: Path, column: str, values: pa.Array, why: str
) -> None:
    pack = part(tmp_path / "pack", {column: values}, 1)
    refused(pack, f"part-00000.parquet, column {column}: .*{why}")


def test_every_part_is_looked_at(tmp_path: Path) -> None:
    pack = part(tmp_path / "pack", {}, 1)
    part(tmp_path / "other", {"nodes": pa.array(["many"])}, 1)
    (tmp_path / "other" / "part-00000.parquet").rename(pack / "part-00001.parquet")
    refused(pack, "part-00001.parquet, column nodes")


def test_values_that_may_be_missing(tmp_path: Path) -> None:
    folder = tmp_path / "pack"
    folder.mkdir()
    table = pa.Table.from_pylist([ROW], schema=SCHEMA)
    loose = pa.schema([field.with_nullable(True) for field in SCHEMA])
    pq.write_table(table.cast(loose), folder / "part-00000.parquet", store_schema=False)
    refused(folder, "column name: its values may be missing")


# -- what stays as it was -----------------------------------------------------------------------


def test_limits_can_be_raised(tmp_path: Path) -> None:
    pack = part(tmp_path / "pack", {}, 1_100_000)
    assert len(Pack(pack, parquet=ParquetLimits(rows=1 << 21))) == 1_100_000


def test_a_pipe_among_the_parts_is_refused(tmp_path: Path) -> None:
    pack = part(tmp_path / "pack", {}, 1)
    os.mkfifo(pack / "part-00001.parquet")
    refused(pack, "part-00001.parquet cannot be read: it is a FIFO")
