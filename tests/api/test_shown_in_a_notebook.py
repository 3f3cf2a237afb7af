"""What objects show of themselves, in a notebook and in a terminal."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

import graph_net as gn
from corpus.some_graphs import some_graph
from graph_net.corpus.pack import PackWriter
from graph_net.printable import html_table
from graph_net.results import Stage, Symptom
from graph_net.store.records import RecordStore
from score.some_samples import record

HOSTILE = "<script>alert('x')</script>\x1b[2J"
TAGS = {"table", "caption", "thead", "tbody", "tr", "th", "td"}


class Parsed(HTMLParser):
    """The elements and the text of a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags, self.text = set[str](), ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.tags.add(tag)

    def handle_data(self, data: str) -> None:
        self.text += data + " "


def stored(tmp_path: Path) -> gn.Records:
    hostile = record("g", (Stage.COMPILE, Symptom.EXCEPTION))
    with RecordStore(tmp_path / "records").journal() as journal:
        journal.add(replace(hostile, subject=replace(hostile.subject, name=HOSTILE)))
        journal.add(record("other"))
    return gn.Records(tmp_path / "records")


def packed(tmp_path: Path) -> gn.Corpus:
    with PackWriter(tmp_path / "pack") as writer:
        writer.add(HOSTILE.replace("\x1b", ""), some_graph(3))
    return gn.corpus(tmp_path / "pack")


def graph_of(_: Path) -> gn.Graph:
    return some_graph(3).with_provenance(model=HOSTILE, category=HOSTILE)


def failed(tmp_path: Path) -> gn.Record:
    return next(iter(stored(tmp_path)))


def compared(tmp_path: Path) -> gn.Comparison:
    records = stored(tmp_path)
    good = record("g")
    with RecordStore(tmp_path / "before").journal() as journal:
        journal.add(replace(good, subject=replace(good.subject, name=HOSTILE)))
    return gn.compare(tmp_path / "before", records)


@pytest.mark.parametrize("make", [stored, packed, graph_of, failed, compared])
def test_names_of_strangers_are_text_in_a_notebook(
    make: Callable[[Path], Any], tmp_path: Path
) -> None:
    page = Parsed(make(tmp_path)._repr_html_())
    assert page.tags == TAGS
    assert "<script>alert('x')</script>" in page.text
    assert "\x1b" not in page.text


@pytest.mark.parametrize("make", [stored, packed, graph_of, failed, compared])
def test_a_terminal_gets_one_line_without_escapes(
    make: Callable[[Path], Any], tmp_path: Path
) -> None:
    said = repr(make(tmp_path))
    assert said.startswith("<")
    assert "\x1b" not in said
    assert "\n" not in said
    assert len(said) < 300


def test_a_graph_says_its_model_and_size() -> None:
    graph = some_graph(3).with_provenance(library="timm", model="resnet18")
    assert "timm/resnet18: " in repr(graph)
    assert f"{len(graph.nodes)} node" in repr(graph)
    assert graph.nodes[0].target in Parsed(graph._repr_html_()).text


def test_a_record_says_its_speedup_or_its_failure(tmp_path: Path) -> None:
    assert "× [" in repr(record("good"))
    assert "compile exception: " in repr(failed(tmp_path))


def test_a_comparison_lists_what_changed(tmp_path: Path) -> None:
    found = compared(tmp_path)
    assert "Regression: 1 newly failing" in repr(found)
    assert "new failure" in Parsed(found._repr_html_()).text


def test_a_scoreboard_has_a_row_per_compiler(tmp_path: Path) -> None:
    board = stored(tmp_path).score()
    page = Parsed(board._repr_html_())
    assert page.tags == TAGS
    assert "inductor" in page.text
    assert "ES(3)" in page.text


def test_a_long_table_says_how_much_it_leaves_out() -> None:
    assert "… 1,200 more" in html_table("t", ("a",), [("x",)], more=1200)
