"""Names and messages from files do nothing to the terminal they are shown on."""

from __future__ import annotations

import re
from dataclasses import replace
from io import StringIO
from pathlib import Path

import pytest
from rich.highlighter import ReprHighlighter
from rich.table import Table
from rich.text import Text

from cli.calling import Answer, Cli
from corpus.some_graphs import some_graph
from graph_net.corpus.pack import PackWriter
from graph_net.corpus.subjects import subject_of
from graph_net.display.progress import progress
from graph_net.display.terminal import Terminal, lines
from graph_net.graph import Provenance
from graph_net.programs.formats import Place
from graph_net.programs.store.program_store import Labels, ProgramStore
from graph_net.results import (
    Config,
    ConfigKind,
    Device,
    Failure,
    Program,
    Record,
    Stage,
    Symptom,
    Task,
)
from graph_net.store.records import RecordStore

NASTY = "\x1b]0;x\x07[/foo][red]\nb\u202e\x9b"
CORE = r"\x1b]0;x\x07[/foo][red]"
SHOWN = CORE + r"\nb\u202e\x9b"
RAW = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069]")


def harmless(answer: Answer, code: int = 0) -> str:
    """All that a command printed, once it is known to be text alone."""
    printed = answer.out + answer.err
    assert answer.code == code, printed
    assert not RAW.search(printed), ascii(printed)
    return re.sub(r"[\s│┃]", "", printed)  # a cell may be folded


@pytest.fixture
def hostile(tmp_path: Path) -> Path:
    """A pack of two graphs whose names and origins are hostile."""
    origin = Provenance(library=NASTY, model=NASTY, category=NASTY, subcategory=NASTY)
    with PackWriter(tmp_path / "pack") as writer:
        for number, name in enumerate((NASTY, f"{NASTY}2")):
            writer.add(name, replace(some_graph(number), provenance=origin))
    return tmp_path / "pack"


@pytest.fixture
def records(tmp_path: Path) -> Path:
    """Records of failures that say hostile things of hostile graphs."""
    device = Device("cpu", NASTY, 1, 1, 1, NASTY, NASTY, {"torch": NASTY})
    with RecordStore(tmp_path / "records").journal() as journal:
        for number in range(3):
            subject = subject_of(f"{NASTY}{number}", some_graph(number, library=NASTY))
            failure = Failure(Stage.COMPILE, Symptom.EXCEPTION, NASTY, NASTY)
            config = Config(ConfigKind.COMPILER, NASTY, NASTY, {"mode": NASTY})
            journal.add(Record(subject, config, device, "p", failure))
    return tmp_path / "records"


# -- by construction ----------------------------------------------------------------------------


def test_whatever_is_printed_is_text(tmp_path: Path) -> None:
    file = StringIO()
    terminal = Terminal(file=file, width=400)
    table = Table(NASTY, title=NASTY, caption=NASTY)
    table.add_row(NASTY)
    table.add_row(Text(NASTY))
    table.add_row(lines(NASTY))
    for what in (NASTY, Text(NASTY), lines(NASTY), table, f"[bold]{NASTY}"):
        terminal.print(what)
    assert not RAW.search(file.getvalue())
    assert SHOWN in file.getvalue()
    assert f"[bold]{SHOWN}" in file.getvalue()


def test_colours_are_styles_and_stay() -> None:
    file = StringIO()
    Terminal(file=file, force_terminal=True, color_system="standard").print(Text("no", "red"))
    assert file.getvalue() == "\x1b[31mno\x1b[0m\n"


def test_a_bar_shows_its_label_as_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    with progress(NASTY, 1) as advance:
        advance()
    assert not RAW.search(capsys.readouterr().err)


# -- verb by verb -------------------------------------------------------------------------------


def test_a_pack_is_listed_sampled_and_shown(cli: Cli, hostile: Path) -> None:
    assert SHOWN in harmless(cli("list", hostile))
    assert SHOWN in harmless(cli("sample", hostile, "-k", "1", "--by", "level"))
    assert SHOWN in harmless(cli("show", f"{hostile}:{NASTY}", "--no-flops"))
    harmless(cli("show", f"{hostile}:{NASTY}", "--code"))
    harmless(cli("show", f"{hostile}:{NASTY}", "--json"))
    harmless(cli("list", hostile, "--json"))


def test_an_error_says_names_as_they_are(cli: Cli, hostile: Path) -> None:
    assert CORE in harmless(cli("show", hostile), 1)
    assert "didyoumean" in harmless(cli("show", f"{hostile}:{NASTY}3"), 1)
    assert CORE in harmless(cli("show", f"{hostile}:{NASTY}3", "--debug"), 1)
    harmless(cli("list", hostile, "--where", NASTY), 1)


def test_a_graph_is_run_under_any_name(cli: Cli, hostile: Path) -> None:
    assert SHOWN in harmless(cli("run", f"{hostile}:{NASTY}"))


def test_graphs_are_validated_under_any_name(cli: Cli, hostile: Path) -> None:
    assert SHOWN in harmless(cli("validate", hostile, "-j", "1"))


def test_graphs_are_measured_under_any_name(cli: Cli, hostile: Path, tmp_path: Path) -> None:
    words = ("--compilers", "eager", "--seconds", "0.05", "--threads", "1", "-j", "1")
    assert SHOWN in harmless(cli("bench", hostile, *words, "-o", tmp_path / "out"))


def test_an_import_reports_names_as_they_are(cli: Cli, tmp_path: Path) -> None:
    sample = tmp_path / "samples" / NASTY.replace("/", "_")
    sample.mkdir(parents=True)
    (sample / "model.py").write_text(f"{NASTY}\n", "utf-8")
    answer = cli("import", tmp_path / "samples", "-o", tmp_path / "out", "-j", "1")
    assert CORE[:8] in harmless(answer, 1)


def test_programs_are_shown_under_any_name(cli: Cli, tmp_path: Path) -> None:
    task = Task("ansor", "w", NASTY, NASTY, "")
    failure = Failure(Stage.COMPILE, Symptom.EXCEPTION, NASTY, NASTY)
    schedule = NASTY.replace("\n", "")
    programs = [
        Program.from_log(task, schedule, (0.5,)),
        Program.from_log(task, f"{schedule}2", (), failure),
    ]
    (tmp_path / "source").write_bytes(b"any")
    found = [(Place(line, 0), program) for line, program in enumerate(programs, 1)]
    ProgramStore(tmp_path).add(tmp_path / "source", found, Labels(device=NASTY))
    assert CORE in harmless(cli("programs", "show", "-r", tmp_path))
    assert CORE in harmless(cli("programs", "show", "w", "-r", tmp_path, "--steps"))
    harmless(cli("programs", "show", "w", "-r", tmp_path, "--json"))
    assert CORE in harmless(cli("query", "SELECT kernel FROM programs", "-r", tmp_path))


def test_records_are_asked_scored_and_compared(cli: Cli, records: Path) -> None:
    assert SHOWN in harmless(cli("query", "SELECT graph, message FROM records", "-r", records))
    assert CORE[5:] in harmless(cli("score", records))
    assert CORE[5:] in harmless(cli("compare", records, records, "--all"))
    harmless(cli("compare", records, records, "--markdown", "-"))
    harmless(cli("compare", records, records, "--json"))


def test_a_text_of_any_length_is_printed_without_looking_for_what_to_colour(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[int] = []
    monkeypatch.setattr(
        ReprHighlighter, "highlight", lambda self, text: asked.append(len(text.plain))
    )
    terminal = Terminal(file=StringIO())
    terminal.print("x" * 100_000)
    terminal.print("x" * 100)
    assert asked == [100]
