"""What the documentation tells people to paste works when it is pasted."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from docs.snippets import PAGES, ROOT, Snippet, parse_command, read_commands, read_snippets
from graph_net.cli.main import ANSWERS, main
from graph_net.formats.graphnet.write import write_sample
from graph_net.testing.models import case_graph
from real_files import SLICES

SHIPPED = ("corpus", "dataset", "records", "tests")
"""Folders of a checkout, where a reader pastes."""
SCHEDULES = SLICES / "metaschedule/a100_resnet34_database_tuning_record.json.gz"
COMMANDS_BEFORE = {
    "docs/features.md": [
        f"ingest {SCHEDULES} -o build/records",
        "programs features build/records -o build/features --kind primitives",
    ],
}
"""What a page tells the reader to call before its Python, on a small file."""
NEEDED = {"docs/paddle.md": "paddle"}
"""Extras without which a page cannot be tried."""


def python_snippets(page: str) -> list[Snippet]:
    return [snippet for snippet in read_snippets(page) if snippet.kind == "python"]


TUTORIALS = [page for page in PAGES if page.startswith("docs/tutorials/")]
REFERENCE = [page for page in PAGES if python_snippets(page) and page not in TUTORIALS]


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty directory with the folders of a checkout and a sample, to paste into."""
    for name in SHIPPED:
        (tmp_path / name).symlink_to(ROOT / name)
    write_sample(case_graph("residual"), tmp_path / "samples/resnet18")
    monkeypatch.setenv("GRAPH_NET_EXTRACT_WORKSPACE", str(tmp_path / "extracted"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def call(words: list[str]) -> None:
    """Call the program; where exit code 1 is an answer, it is one that a page may show."""
    with pytest.raises(SystemExit) as stop:
        main(words)
    assert not stop.value.code or (stop.value.code == 1 and words[0] in ANSWERS)


def run_python(page: str, snippet: Snippet, names: dict[str, object]) -> None:
    padding = "\n" * (snippet.line - 1)  # so that a traceback has the line of the page
    exec(compile(padding + snippet.text, str(ROOT / page), "exec"), names)
    unbound = set(re.findall(r"^for (\w+)", snippet.text, re.MULTILINE)) - names.keys()
    assert unbound == set(), f"{page}:{snippet.line}: a loop over nothing"


@pytest.mark.parametrize("page", REFERENCE)
def test_the_python_of_a_page_runs_from_top_to_bottom(page: str, checkout: Path) -> None:
    if page in NEEDED:
        pytest.importorskip(NEEDED[page])
    for command in COMMANDS_BEFORE.get(page, ()):
        call(command.split())
    names: dict[str, object] = {"__name__": "pasted"}
    snippets = python_snippets(page)
    for snippet in snippets:
        if snippet.not_run is None:
            run_python(page, snippet, names)
    assert Path.cwd() == checkout


@pytest.mark.parametrize("page", TUTORIALS)
def test_a_tutorial_can_be_pasted_block_by_block(page: str, checkout: Path) -> None:
    names: dict[str, object] = {"__name__": "pasted"}
    for snippet in read_snippets(page):
        assert snippet.not_run is None
        if file := re.match(r"# (\w+\.py)\n", snippet.text):
            (checkout / file[1]).write_text(snippet.text)
        elif snippet.kind == "python":
            run_python(page, snippet, names)
        else:
            for program, *words in read_commands(snippet):
                assert program == "graph-net"
                call(words)


@pytest.mark.parametrize("page", [*PAGES, "CONTRIBUTING.md"])
def test_every_command_of_a_page_is_one_the_program_takes(page: str) -> None:
    for snippet in read_snippets(page):
        if snippet.kind in ("", "console", "sh"):
            for words in read_commands(snippet):
                try:
                    parse_command(words)
                except (Exception, SystemExit) as error:
                    pytest.fail(f"{page}:{snippet.line}: {' '.join(words)}: {error}")


IMPORT = re.compile(r"`(from graph_net[\w.]* import [\w, ]+)`")
SENTENCES = [
    (page, words) for page in PAGES for words in IMPORT.findall((ROOT / page).read_text("utf-8"))
]


@pytest.mark.parametrize(("page", "words"), SENTENCES)
def test_an_import_within_a_sentence_works(page: str, words: str) -> None:
    exec(compile(words, page, "exec"), {})


def test_imports_within_sentences_are_found() -> None:
    assert ("docs/library.md", "from graph_net.compare import CompareSettings") in SENTENCES


def test_commands_are_found_and_parsed() -> None:
    verbs = {
        parse_command(words)
        for page in PAGES
        for snippet in read_snippets(page)
        if snippet.kind in ("", "console", "sh")
        for words in read_commands(snippet)
    }
    assert {"graph-net bench", "graph-net programs show", "graph_net.plot_ESt"} <= verbs


@pytest.mark.parametrize(
    "words",
    ["graph-net weigh", "graph-net bench --fast", "graph-net score", "python -m graph_net.x"],
)
def test_a_command_that_does_not_exist_is_not_taken(words: str) -> None:
    with pytest.raises((Exception, SystemExit)):
        parse_command(words.split())


def test_a_command_over_several_lines_is_one() -> None:
    text = '$ PYTHONPATH=src graph-net query "SELECT 1\n   FROM records" -r x > out  # why\n'
    text += "graph-net list \\\n a\n"
    found = list(read_commands(Snippet("console", text, 1)))
    assert found == [
        ["graph-net", "query", "SELECT 1\n   FROM records", "-r", "x"], ["graph-net", "list", "a"],
    ]  # fmt: skip


def test_a_snippet_that_is_not_run_says_why() -> None:
    marks = [s.not_run for page in PAGES for s in read_snippets(page) if s.not_run is not None]
    assert all(len(reason.split()) >= 3 for reason in marks)
    loose = [p for p in PAGES if (ROOT / p).read_text("utf-8").count("<!-- not run") > sum(
        snippet.not_run is not None for snippet in read_snippets(p)
    )]  # fmt: skip
    assert loose == [], "a mark stands right before its block and gives a reason"
