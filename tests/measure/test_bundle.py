"""A bundle runs with nothing but itself, torch and numpy, and its records come back."""

from __future__ import annotations

import json
import subprocess
import sys
import zipfile
from dataclasses import asdict
from pathlib import Path

import pytest

from graph_net.cli.main import main
from graph_net.compilers import CompilerError
from graph_net.corpus.pack import PackWriter
from graph_net.measure import MeasureLimits, Protocol
from graph_net.measure.bundle import BundlePlan, bundle_tasks, read_plan, write_bundle
from graph_net.results import Config, ConfigKind, Subject
from graph_net.store.records import RecordStore
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
    assert [record.settings for record in found] == [Protocol(seconds=0.1).settings] * 2
    capsys.readouterr()
    call("query", "SELECT count(*) AS n FROM records", "--records", str(records), "--json")
    assert json.loads(capsys.readouterr().out) == [{"n": 2}]


def test_a_plan_imports_no_file(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(f"open({str(tmp_path / 'harmed')!r}, 'w')")
    plan = BundlePlan(
        (),
        (Config(ConfigKind.COMPILER, str(tmp_path / "mine.py")),),
        "cpu",
        Protocol(),
        MeasureLimits(),
    )
    with zipfile.ZipFile(tmp_path / "plan.zip", "w") as bundle:
        bundle.writestr("plan.json", json.dumps(asdict(plan)))
    refused = pytest.raises(CompilerError, match="is a file")
    with zipfile.ZipFile(tmp_path / "plan.zip") as bundle, refused:
        read_plan(bundle)
    assert not (tmp_path / "harmed").exists()


@pytest.mark.parametrize("name", ["plan.json", "graphs/0"])
def test_what_unpacks_to_too_much_is_refused_before_it_is_unpacked(
    tmp_path: Path, name: str
) -> None:
    with (
        zipfile.ZipFile(tmp_path / "plan.zip", "w", zipfile.ZIP_DEFLATED) as bundle,
        bundle.open(name, "w") as member,
    ):
        for _ in range(300):
            member.write(bytes(1 << 20))
    plan = BundlePlan((Subject("g", "s", "n"),), (), "cpu", Protocol(), MeasureLimits())
    with zipfile.ZipFile(tmp_path / "plan.zip") as bundle:
        ask = read_plan if name == "plan.json" else lambda held: list(bundle_tasks(held, plan))
        with pytest.raises(ValueError, match=f"{name} in the bundle has 314,572,800 bytes"):
            ask(bundle)


def test_what_the_other_machine_would_refuse_is_not_bundled(tmp_path: Path) -> None:
    config = Config(ConfigKind.COMPILER, "inductor", "", {"cpp.march": "native"})
    with pytest.raises(CompilerError, match=r"may not set 'cpp\.march' of inductor"):
        write_bundle(tmp_path / "plan.zip", [], [config], "cpu", Protocol(), MeasureLimits())
    assert not (tmp_path / "plan.zip").exists()
