"""Graphs taken out of a pack."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cli.calling import Cli
from cli.conftest import cli as cli
from graph_net.corpus.pack import Pack, PackError, PackWriter
from graph_net.corpus.prune import prune
from graph_net.testing.models import case_graph


@pytest.fixture
def pack(tmp_path: Path) -> Pack:
    for names in (("a", "b"), ("c",), ("d", "e")):
        with PackWriter(tmp_path / "pack") as writer:  # a part each
            for name in names:
                writer.add(name, case_graph("residual"))
    return Pack(tmp_path / "pack")


def test_only_parts_that_hold_one_are_written_again(pack: Pack) -> None:
    before = {part.name: part.read_bytes() for part in pack.parts}
    graph = pack.graph("e")
    assert prune(pack, ["b", "c", "nobody"]) == 2
    after = Pack(pack.path)
    assert after.names() == ["a", "d", "e"]
    assert after.graph("e") == graph
    same = [part.name for part in after.parts if part.read_bytes() == before[part.name]]
    assert same == ["part-00002.parquet"]
    assert [part.name for part in after.parts] == ["part-00000.parquet", "part-00002.parquet"]


def test_mistakes_are_told(pack: Pack, cli: Cli) -> None:
    with pytest.raises(PackError, match="a single part"):
        prune(Pack(pack.parts[0]), ["a"])
    done = cli("corpus", "prune", str(pack.path))
    assert done.code == 1
    assert "prune needs --verdicts" in done.err


def test_what_validation_refused_goes(pack: Pack, cli: Cli, tmp_path: Path) -> None:
    kept = tmp_path / "verdicts.jsonl"
    assert cli("validate", str(pack.path), "--keep", str(kept), "-j", "1").code == 0
    lines = [json.loads(line) for line in kept.read_text().splitlines() if line]
    refused = [line | {"runnable": "failed", "ok": False} for line in lines if line["name"] == "d"]
    kept.write_text("".join(json.dumps(line) + "\n" for line in [*lines, *refused]))
    done = cli("corpus", "prune", str(pack.path), "--verdicts", str(kept))
    assert done.code == 0, done.err
    assert Pack(pack.path).names() == ["a", "b", "c", "e"]
