"""The mini selection inside the package is that of the corpus."""

from __future__ import annotations

from pathlib import Path

import pytest

from graph_net.corpus.mini import FILE
from graph_net.corpus.pack import Pack, PackError
from graph_net.corpus.shipped import (
    DATA,
    MINI,
    VARIABLE,
    corpus_at_hand,
    mini_names,
    shipped_corpus,
)


def test_it_has_the_same_graphs() -> None:
    assert (MINI / FILE).read_bytes() == (shipped_corpus() / FILE).read_bytes()
    names = mini_names()
    inside, whole = Pack(MINI), Pack(shipped_corpus())
    assert sorted(inside.names()) == names
    columns = [*inside.columns, "graph"]
    why = "run `python -m tools.mini_pack`"
    assert inside.rows_of(names, columns) == whole.rows_of(names, columns), why


def test_a_corpus_that_is_named_and_absent_is_not_replaced_by_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable in (VARIABLE, DATA):
        monkeypatch.setenv(variable, str(tmp_path))
        with pytest.raises(PackError, match=r"set \$GRAPH_NET_DATA to a checkout"):
            corpus_at_hand()
        monkeypatch.delenv(variable)
