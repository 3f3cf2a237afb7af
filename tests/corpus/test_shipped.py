"""The corpus that comes with the repository."""

from __future__ import annotations

from pathlib import Path

import pytest

from graph_net.capture.check import check_graph_runs
from graph_net.cli.main import main
from graph_net.corpus.pack import Pack, PackError
from graph_net.corpus.query import select
from graph_net.corpus.shipped import shipped_corpus


def test_every_graph_can_be_read_and_is_itself() -> None:
    pack = Pack(shipped_corpus())
    ids = {row["name"]: row["id"] for row in select(pack)}
    names = [row["name"] for row in select(pack, "nodes < 400", limit=60)]
    assert {name: graph.id for name, graph in pack.graphs(names)} == {n: ids[n] for n in names}
    assert len(set(ids.values())) == len(ids)


def test_a_few_of_each_library_run() -> None:
    pack = Pack(shipped_corpus())
    for library in {row["library"] for row in select(pack)}:
        rows = select(pack, f"library = '{library}' AND nodes < 300", limit=3)
        for _, graph in pack.graphs([row["name"] for row in rows]):
            check_graph_runs(graph)


def test_list_without_a_pack_lists_it(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["list", "--where", "nodes < 100"])
    assert stopped.value.code == 0
    assert "timm/" in capsys.readouterr().out


def test_a_missing_corpus_is_told_with_the_way_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GRAPH_NET_CORPUS", str(tmp_path))
    with pytest.raises(PackError, match="name a pack, or set"):
        shipped_corpus()
