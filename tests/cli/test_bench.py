"""``graph-net bench``: graphs and compilers in, records out; and a compiler of one's own."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from cli.calling import Cli
from graph_net.api.options import parse_seconds
from graph_net.corpus.pack import PackWriter
from graph_net.display.board import Board
from graph_net.results import Failure, Stage, Symptom
from graph_net.store.records import RecordStore
from graph_net.testing.models import case_graph
from measure.asking import small_graph
from score.some_samples import record

MINE = '''
"""A compiler in thirty lines, with an option and something it refuses."""

from graph_net.compilers import Compiler, CompilerError, Job, Runner, Unsupported
from graph_net.graph.fx import to_fx


class Plain(Compiler):
    name = "plain"
    defaults = {"most": 2}

    def __init__(self, options=None):
        super().__init__(options)
        if not isinstance(self.options["most"], int):
            raise CompilerError("plain: most is a number")

    def compile(self, job: Job) -> Runner:
        strange = [n.target for n in job.graph.nodes if "fft" in n.target]
        if strange:
            raise Unsupported(strange)
        forward = to_fx(job.graph, job.device).forward
        most = self.options["most"]

        def run(inputs):
            return forward(*inputs) if most else None

        return run
'''


@pytest.fixture
def pack(tmp_path: Path) -> Path:
    path = tmp_path / "pack"
    with PackWriter(path) as writer:
        writer.add("small", small_graph(4))
        writer.add("spectrum", case_graph("spectrum"))
        writer.add("decoder", case_graph("decoder"))
    return path


def quick(pack: Path, records: Path, compilers: str, *words: str) -> list[str]:
    asked = ["bench", str(pack), "--compilers", compilers, "-o", str(records), "--threads", "1"]
    return [*asked, "--seconds", "0.1", "-j", "1", *words]


def test_a_record_that_fails_is_a_line_in_its_own_words(capsys: pytest.CaptureFixture[str]) -> None:
    noisy = record("g", (Stage.MEASURE, Symptom.TOO_NOISY))
    why = Failure(Stage.MEASURE, Symptom.TOO_NOISY, "eager differs from itself by 80%", "by #%")
    Board(1, None).add(replace(noisy, failure=why))
    said = capsys.readouterr().err
    assert "inductor g: measure too_noisy: eager differs from itself by 80%" in said


def test_a_compiler_of_ones_own_is_benchmarked(pack: Path, tmp_path: Path, cli: Cli) -> None:
    file = tmp_path / "mine.py"
    file.write_text(MINE)
    answer = cli(*quick(pack, tmp_path / "records", f"{file}:Plain[most=3]"))
    assert answer.code == 0, answer.err
    found = {record.subject.name: record for record in RecordStore(tmp_path / "records").records()}
    decoder, spectrum = found["decoder"], found["spectrum"]
    assert decoder.failure is None
    assert decoder.timing is not None
    assert decoder.config.options == {"most": 3}
    assert spectrum.failure is not None
    assert "fft" in spectrum.failure.message
    assert "unsupported" in answer.out


def test_the_same_command_again_does_nothing(pack: Path, tmp_path: Path, cli: Cli) -> None:
    words = quick(pack, tmp_path / "records", "eager", "--where", "name = 'small'")
    assert cli(*words).code == 0
    again = cli(*words)
    assert "nothing to do" in again.err
    assert cli(*words, "--no-resume").code == 0
    assert len(list(RecordStore(tmp_path / "records").records())) == 1


def test_a_budget_that_is_spent_starts_nothing(pack: Path, tmp_path: Path, cli: Cli) -> None:
    answer = cli(*quick(pack, tmp_path / "records", "eager", "--budget", "0s"))
    assert answer.code == 0
    assert not list(RecordStore(tmp_path / "records").records())
    assert "3 measurements did not fit; the same command resumes with them" in answer.err
    assert "nothing to do" not in answer.err


def test_records_are_asked_in_sql(pack: Path, tmp_path: Path, cli: Cli) -> None:
    records = tmp_path / "records"
    cli(*quick(pack, records, "eager", "--limit", "2"))
    asked = "SELECT status, count(*) AS n FROM records GROUP BY 1"
    answer = cli("query", asked, "--records", str(records), "--json")
    assert json.loads(answer.out) == [{"status": "success", "n": 2}]


@pytest.mark.parametrize(
    ("question", "message"),
    [
        ("SELECT * FROM read_csv('/etc/passwd')", "disabled"),
        ("SELECT lunch FROM records", "The tables are records (key"),
        ("SELECT 1; SELECT 2", "one statement"),
    ],
)
def test_questions_see_the_records_alone(
    question: str, message: str, pack: Path, tmp_path: Path, cli: Cli
) -> None:
    records = tmp_path / "records"
    cli(*quick(pack, records, "eager", "--limit", "1"))
    answer = cli("query", question, "--records", str(records))
    assert answer.code == 1
    assert message in answer.err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--compilers", "lunch"], "unknown compiler 'lunch'"),
        (["--compilers", "eager[lunch=1]"], "no option 'lunch'"),
        (["--compilers", "/nowhere.py:X"], "does not exist"),
        (["--budget", "soon"], "not a duration"),
        (["--where", "lunch = 1"], "lunch"),
    ],
)
def test_mistakes_are_told_before_anything_is_measured(
    words: list[str], message: str, pack: Path, tmp_path: Path, cli: Cli
) -> None:
    answer = cli("bench", str(pack), "-o", str(tmp_path / "records"), *words)
    assert answer.code == 1
    assert message in answer.err
    assert not (tmp_path / "records").exists()


@pytest.mark.parametrize(("text", "seconds"), [("90", 90), ("90s", 90), ("1.5m", 90), ("2h", 7200)])
def test_times_are_written_with_units(text: str, seconds: float) -> None:
    assert parse_seconds(text) == seconds


def test_a_graph_in_pieces_says_so_in_its_line_and_in_the_table(tmp_path: Path, cli: Cli) -> None:
    from compilers.some_breaks import number_in_the_middle

    with PackWriter(tmp_path / "pack") as writer:
        writer.add("broken", number_in_the_middle())
    answer = cli(*quick(tmp_path / "pack", tmp_path / "records", "inductor"))
    assert answer.code == 0, answer.err
    assert "(2 graphs, 1 break)" in answer.err
    assert "in pieces" in answer.out
