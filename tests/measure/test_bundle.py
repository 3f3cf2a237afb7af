"""A bundle runs with nothing but itself, torch and numpy, and its records come back."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from graph_net.cli.main import main
from graph_net.corpus.pack import PackWriter
from graph_net.corpus.records import RecordStore
from measure.asking import small_graph

BARE = """
import sys, runpy
class Nothing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {"pyarrow", "duckdb", "typer", "rich"}:
            raise ImportError(name + " is not on a bare machine")
sys.meta_path.insert(0, Nothing())
sys.argv = sys.argv[1:]
runpy.run_path(sys.argv[0], run_name="__main__")
"""


def call(*words: str) -> None:
    with pytest.raises(SystemExit) as caught:
        main(list(words))
    assert not caught.value.code


def test_a_bundle_runs_bare_resumes_and_is_ingested(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pack, bundle, lines = tmp_path / "pack", tmp_path / "plan.zip", tmp_path / "out.jsonl"
    with PackWriter(pack) as writer:
        for size in (3, 5):
            writer.add(f"small{size}", small_graph(size))
    call(*("bench", str(pack), "--compilers", "eager", "--plan", str(bundle), "--seconds", "0.1"))
    (tmp_path / "bare.py").write_text(BARE)

    def run() -> str:
        words = [str(bundle), "-o", str(lines), "-j", "1"]
        return subprocess.run(
            [sys.executable, "-I", str(tmp_path / "bare.py"), *words],
            cwd=tmp_path,
            check=True,
            capture_output=True,
            text=True,
        ).stdout

    run()
    assert len(lines.read_text().splitlines()) == 2
    run()
    assert len(lines.read_text().splitlines()) == 2  # nothing is measured twice
    records = tmp_path / "records"
    call("ingest", str(lines), "-o", str(records))
    call("ingest", str(lines), "-o", str(records))
    found = list(RecordStore(records).records())
    assert {record.subject.name for record in found} == {"small3", "small5"}
    capsys.readouterr()
    call("query", "SELECT count(*) AS n FROM records", "--records", str(records), "--json")
    assert json.loads(capsys.readouterr().out) == [{"n": 2}]
