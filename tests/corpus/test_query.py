"""Questions to a pack."""

from __future__ import annotations

from pathlib import Path

import pytest

from corpus.some_graphs import some_graph
from graph_net.corpus.pack import Pack, PackWriter
from graph_net.corpus.query import select


@pytest.fixture
def pack(tmp_path: Path) -> Pack:
    with PackWriter(tmp_path) as writer:
        for name in ("b", "a", "C"):
            writer.add(name, some_graph(3))
    return Pack(tmp_path)


def test_the_plain_list_is_what_the_engine_would_answer(pack: Pack) -> None:
    assert select(pack) == select(pack, "true")
    assert [row["name"] for row in select(pack, limit=2)] == ["C", "a"]


@pytest.mark.parametrize("where", [None, "level = 'torch' OR level = 'aten'"])
def test_rows_have_the_columns_that_were_asked_for(pack: Pack, where: str | None) -> None:
    rows = select(pack, where, columns=("name", "nodes", "occurrences"))
    assert [list(row) for row in rows] == [["name", "nodes"]] * 3
