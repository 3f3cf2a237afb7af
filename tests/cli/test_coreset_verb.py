"""``graph-net coreset`` as a user calls it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from cli.calling import Cli
from corpus.some_graphs import some_graph
from graph_net.corpus.pack import Pack, PackWriter
from graph_net.results import Failure, Stage, Subject, Symptom
from graph_net.store.records import RecordStore
from score.some_samples import record


def a_pack(path: Path, graphs: int) -> Path:
    with PackWriter(path) as writer:
        for number in range(graphs):
            writer.add(f"g{number}", some_graph(number))
    return path


def records_of(path: Path, pack: Path) -> Path:
    """A compiler that is good at long graphs, measured on every graph of a pack."""
    store = RecordStore(path)
    with store.journal() as journal:
        for row in Pack(pack).rows(["name", "id", "nodes"]).to_pylist():
            family = "abcdefghij"[int(row["name"][1:]) % 10] * 3
            subject = Subject(row["id"], row["id"], row["name"], "test", family, "vision")
            speedup = 1 + 0.1 * row["nodes"]
            journal.add(replace(record(row["name"], speedup=speedup), subject=subject))
    return path


def test_names_are_printed_and_no_error_is_stated_without_records(tmp_path: Path, cli: Cli) -> None:
    answer = cli("coreset", a_pack(tmp_path / "pack", 30), "-k", "5")
    assert answer.code == 0
    names = answer.out.split()
    assert len(set(names)) == 5
    assert set(names) <= {f"g{number}" for number in range(30)}
    assert "no records to estimate the error" in answer.err


def test_records_tell_the_error_and_the_chosen_make_a_pack(tmp_path: Path, cli: Cli) -> None:
    pack = a_pack(tmp_path / "pack", 60)
    records = records_of(tmp_path / "records", pack)
    answer = cli(
        "coreset", pack, "-k", "6", "-r", records, "--transitions", "-o", tmp_path / "chosen"
    )
    assert answer.code == 0, answer.err
    assert "expected error" in answer.err
    assert all(method in answer.err for method in ("coreset *", "markov", "random"))
    assert len(Pack(tmp_path / "chosen")) == 6


def test_records_that_were_too_noisy_tell_no_error(tmp_path: Path, cli: Cli) -> None:
    """They are correct without a speedup: what a graph adds to the aggregate is not known."""
    pack = a_pack(tmp_path / "pack", 30)
    with RecordStore(tmp_path / "records").journal() as journal:
        for each in RecordStore(records_of(tmp_path / "timed", pack)).records():
            noisy = Failure(Stage.MEASURE, Symptom.TOO_NOISY, "eager differs from itself by 80%")
            journal.add(replace(each, failure=noisy))
    answer = cli("coreset", pack, "-k", "5", "-r", tmp_path / "records")
    assert answer.code == 0, answer.err
    assert "no records to estimate the error" in answer.err


def test_an_unknown_method_and_an_empty_choice_are_told(tmp_path: Path, cli: Cli) -> None:
    pack = a_pack(tmp_path / "pack", 3)
    assert "available: coreset" in cli("coreset", pack, "--method", "best").err
    assert "no graph to choose from" in cli("coreset", pack, "--where", "nodes > 999").err
