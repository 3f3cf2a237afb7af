"""Lines out of chunks: the same as reading line by line, whatever the size of chunks and limits."""

from __future__ import annotations

import gzip
import io
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph_net.programs.formats import Damage, Place, ReadLimits
from graph_net.store import lines as module
from graph_net.store.lines import read_lines

contents = st.lists(st.sampled_from([b"\n", b"a", b"bc", b" ", b"\r", b"x" * 9])).map(b"".join)


def one_by_one(data: bytes, limit: int) -> list[tuple[Place, bytes | Damage]]:
    """What a reader of single lines finds."""
    found: list[tuple[Place, bytes | Damage]] = []
    offset = 0
    for number, line in enumerate(io.BytesIO(data), 1):
        if len(line) > limit:
            found.append((Place(number, offset), Damage(f"a line of more than {limit} bytes")))
        elif not line.isspace():
            found.append((Place(number, offset), line))
        offset += len(line)
    return found


@given(contents, st.integers(1, 40), st.integers(1, 20), st.booleans())
def test_chunks_make_the_same_lines(
    tmp_path_factory: pytest.TempPathFactory, data: bytes, chunk: int, limit: int, packed: bool
) -> None:
    path = tmp_path_factory.mktemp("lines") / "a"
    path.write_bytes(gzip.compress(data) if packed else data)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "CHUNK", chunk)
        found = list(read_lines(path, ReadLimits(line_bytes=limit)))
    assert found == one_by_one(data, limit)


def test_a_long_line_is_not_held(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "CHUNK", 1 << 10)
    path = tmp_path / "a"
    path.write_bytes(b"first\n" + b"x" * (1 << 20) + b"\nlast")
    longest = 0
    for found in module.read_chunks(path, ReadLimits(line_bytes=4096)):
        if isinstance(found, module.Lines):
            longest = max(longest, len(found.data))
    assert longest < 8192
    lines = [what for _, what in read_lines(path, ReadLimits(line_bytes=4096))]
    assert lines == [b"first\n", Damage("a line of more than 4096 bytes"), b"last"]
