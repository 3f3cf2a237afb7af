"""Ansor's lines in columns: what the reader of single lines finds, row for row, damage included."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graph_net.programs.formats import (
    Damage,
    ProgramColumns,
    ReadLimits,
    read_ansor,
    read_ansor_blocks,
)
from graph_net.programs.formats import ansor_quick as quick
from graph_net.programs.formats.ansor import read_line
from graph_net.programs.formats.decoded_parts import DecodedParts
from graph_net.programs.formats.results import read_results, repeats_of
from graph_net.programs.formats.text_numbers import fill_numbers, split_numbers
from graph_net.results import Program
from programs.formats.tuning_samples import ansor, lines, rows_of

ODD = b'0123456789-+.eE,"[]{}\\ \t\r\x00\x01nt\xc3\xff$'
"""Bytes on which a reader that does not decode might be mistaken."""


def both(path: Path, limits: ReadLimits, rows: int = 3) -> tuple[list[Any], list[Any]]:
    """What the quick and the slow reader find, in the order of lines."""
    fast: list[Any] = []
    for found in read_ansor_blocks(path, rows, limits):
        fast += rows_of(found) if isinstance(found, ProgramColumns) else [(found[0].line, found)]
    slow = [
        (place.line, (place, what) if isinstance(what, Damage) else what)
        for place, what in read_ansor(path, limits)
    ]
    return sorted(fast, key=lambda row: row[0]), slow


def assert_same(path: Path, limits: ReadLimits = ReadLimits()) -> None:  # noqa: B008 - frozen
    fast, slow = both(path, limits)
    assert fast == slow


ODD_LINES = {
    "a leading zero": ('"SP", 0, 0, 64', '"SP", 0, 00, 64'),
    "minus zero": ('"SP", 0, 0, 64', '"SP", 0, -0, 64'),
    "minus one": ('"SP", 0, 0, 64', '"SP", 0, -1, 64'),
    "a fraction": ('"SP", 0, 0, 64', '"SP", 0, 1.50, 64'),
    "a long number": ('"SP", 0, 0, 64', '"SP", 0, 0, 123456789012345678901234567890'),
    "a number with zeros in a text": ("auto_unroll$16", "auto_unroll$007"),
    "an escape": ("auto_unroll$16", "auto\\u0041$16"),
    "a space in a text": ("auto_unroll$16", "auto unroll$16"),
    "a space in a number": ('"SP", 0, 0, 64', '"SP", 0, 0, 6 4'),
    "a comma in a text": ("auto_unroll$16", "a, b"),
    "a comma and no space in a text": ("auto_unroll$16", "a,b"),
    "a bracket in a text": ("auto_unroll$16", "]]]], [[1"),
    "the end in a text": ("auto_unroll$16", ']]], \\"r\\": [['),
    "the middle in a key": ("llvm", "], [[], [["),
    "other letters": ("auto_unroll$16", "ä"),
    "no spaces": (", ", ","),
    "two spaces": ('"AN", 0', '"AN",  0'),
    "a space before a comma": ('"AN", 0', '"AN" , 0'),
    "true": ('"AN", 0', '"AN", true'),
    "an unknown step": ('"AN", 0', '"XX", 0'),
    "a kind with a number": ('"AN", 0', '"AN1", 0'),
    "no cost": ("[0.5, 0.25]", "[]"),
    "a cost of zero": ("[0.5, 0.25]", "[0.5, 0.0]"),
    "a cost with a leading zero": ("[0.5, 0.25]", "[0.5, 00.25]"),
    "a cost without end": ("[0.5, 0.25]", "[0.5, 1e999]"),
    "a cost as a whole number": ("[0.5, 0.25]", "[1, 123456789]"),
    "no time": ("[0.5, 0.25]", "[0.5, 1e+10]"),
    "a failure": ("[0.5, 0.25], 0,", "[1e+10], 4,"),
    "a failure with odd costs": ("[0.5, 0.25], 0,", "[0, 1e308], 4,"),
    "an unknown error": ("[0.5, 0.25], 0,", "[1e+10], 9,"),
    "a late date": ("1638197554", "253402300800"),
    "a fraction of a date": ("1638197554", "1638197554.25"),
    "another version": ("v0.6", "v0.2-rc"),
    "a carriage return": ('"v0.6"}', '"v0.6"}\r'),
    "something after": ('"v0.6"}', '"v0.6"} 1'),
    "a field twice": ('"v": "v0.6"', '"v": "v0.5", "v": "v0.6"'),
    "an early field twice": ('{"i"', '{"i": 1, "i"'),
    "the result twice": ('{"i"', '{"r": 1, "i"'),
    "another order": ('{"i"', '{"x": 1, "i"'),
    "no steps": (json.dumps(ansor()["i"][1][1]), "[]"),
    "cut short": ('"v0.6"}', ""),
    "empty": (json.dumps(ansor()), ""),
    "blank": (json.dumps(ansor()), " \t "),
}


@pytest.mark.parametrize("name", ODD_LINES)
def test_an_odd_line_comes_to_the_same(tmp_path: Path, name: str) -> None:
    old, new = ODD_LINES[name]
    plain = json.dumps(ansor())
    assert old in plain
    odd = plain.replace(old, new).encode()
    assert_same(lines(tmp_path / "a", ansor(), odd, ansor(v="v0.5"), odd))


def mangled(line: bytes, changes: list[tuple[int, int, int]]) -> bytes:
    """A line with some bytes replaced, put in or taken out."""
    for at, kind, byte in changes:
        place = at % (len(line) + 1)
        line = line[:place] + bytes([byte])[: kind < 2] + line[place + (kind != 1) :]
    return line


small = st.integers(0, 300)
steps = st.lists(
    st.one_of(
        st.tuples(st.sampled_from(["SP", "AN", "RE"]), small, st.lists(small, max_size=4)),
        st.tuples(st.just("PR"), small, st.sampled_from(["auto_unroll$16", "a$0", "x"])),
    ),
    min_size=1,
    max_size=4,
)
changes = st.lists(
    st.tuples(st.integers(0, 400), st.integers(0, 2), st.sampled_from(ODD)), max_size=3
)
printed = st.floats(0, 2e9).map(lambda value: float(f"{value:.6g}"))
results = st.tuples(
    st.lists(printed | st.floats(0, 2e9), min_size=1, max_size=3),
    st.sampled_from([0, 0, 4, 9]),
    printed,
    st.integers(0, 2 * 10**9),
)


@settings(max_examples=300)
@given(st.lists(st.tuples(st.builds(ansor, steps=steps, r=results), changes), max_size=8))
def test_mangled_lines_come_to_the_same(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[dict[str, Any], Any]]
) -> None:
    path = tmp_path_factory.mktemp("quick") / "a"
    lines(path, *(mangled(json.dumps(row).encode(), change) for row, change in rows))
    assert_same(path, ReadLimits(line_bytes=400))


@pytest.mark.parametrize("name", ["k80/matmul", "v100/pooling", "k80/elementwise"])
def test_real_files_come_to_the_same_without_the_slow_reader(
    name: str, real_files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = real_files / "ansor" / f"{name}.json.gz"
    decoded: list[bytes] = []

    def read(line: bytes) -> Program:
        decoded.append(line)
        return read_line(line)

    monkeypatch.setattr(quick, "read_line", read)
    fast, slow = both(path, ReadLimits(), rows=1 << 16)
    assert fast == slow
    tasks = {program.task for _, program in slow}
    assert len(decoded) <= len(tasks) + 5, "once per task, and a few lines of odd form"


def test_what_is_remembered_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(quick, "REMEMBERED", 1 << 10)
    monkeypatch.setattr("graph_net.store.lines.CHUNK", 1 << 12)
    path = lines(tmp_path / "a", *(ansor(key=json.dumps(["op", n])) for n in range(200)))
    blocks = [
        block for block in read_ansor_blocks(path, 1 << 16) if isinstance(block, ProgramColumns)
    ]
    assert len(blocks) > 5
    assert sum(map(len, blocks)) == 200
    assert_same(path)
    bad = json.dumps(ansor()).replace('{"i": [["', '{"i": [[1, "').encode()
    assert_same(lines(path, *(bad.replace(b"matmul", b"%d" % n) for n in range(200)), ansor()))


def test_a_chunk_may_have_no_line_as_expected(tmp_path: Path) -> None:
    assert_same(lines(tmp_path / "a", ansor(r=[[1 / 3], 0, 1, 5])))
    assert_same(lines(tmp_path / "a", ansor(steps=[["SP", -1]])))
    assert_same(lines(tmp_path / "a"))


def test_a_broken_archive_gives_what_comes_before_the_break(tmp_path: Path) -> None:
    rows = b"".join(json.dumps(ansor(r=[[1 / n], 0, n, n])).encode() + b"\n" for n in range(1, 999))
    path = tmp_path / "a.gz"
    path.write_bytes(gzip.compress(rows)[:-200])
    assert_same(path)


@given(st.lists(st.text(st.sampled_from('0123456789[],"-. $e'), max_size=40), min_size=1))
def test_numbers_go_back_into_their_texts(texts: list[str]) -> None:
    apart = split_numbers([text.encode() for text in texts])
    values = iter(apart.numbers.tolist())
    back = [
        fill_numbers(skeleton, [b"%d" % next(values) for _ in range(count)])
        for skeleton, count in zip(apart.skeletons, apart.counts.tolist(), strict=True)
    ]
    assert back == [text.encode() for text in texts]
    assert next(values, None) is None


numerals = st.one_of(
    st.floats(0, 1e300).map(lambda value: f"{value:.6g}"),
    st.floats(0, 1e300).map(repr),
    st.from_regex(r"[0-9]{1,17}(\.[0-9]{1,17})?(e[+-]?[0-9]{1,3})?", fullmatch=True),
)


@given(st.lists(st.lists(numerals, min_size=1, max_size=4), min_size=1, max_size=6))
def test_a_number_is_the_double_that_float_reads_or_is_not_read(rows: list[list[str]]) -> None:
    texts = [f"{', '.join(row)}], 0, {row[0]}, {row[-1]}".encode() for row in rows]
    fits, found = read_results(texts, DecodedParts(repeats_of))
    good = [row for row, fit in zip(rows, fits, strict=True) if fit]
    assert found.repeats.tolist() == [len(row) for row in good]
    assert found.costs.tolist() == [float(text) for row in good for text in row]
    assert found.seconds.tolist() == [float(row[0]) for row in good]
    assert found.stamps.tolist() == [float(row[-1]) for row in good]


def test_numbers_as_they_are_printed_are_read() -> None:
    text = b"0.000398768, 9.5e-05, 1e+10, 12], 0, 2.5, 1638197554"
    fits, found = read_results([text, b"01], 0, 1, 1", b"1.], 0, 1, 1"], DecodedParts(repeats_of))
    assert fits.tolist() == [True, False, False]
    assert found.costs.tolist() == [0.000398768, 9.5e-05, 1e10, 12.0]
