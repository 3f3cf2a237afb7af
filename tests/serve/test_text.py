"""Texts of strangers: on pages, in commands, in spreadsheets, in cards."""

from __future__ import annotations

import shlex
from html.parser import HTMLParser

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph_net.printable import printable
from graph_net.serve.commands import command, copied, graph_commands
from graph_net.serve.download import to_file
from graph_net.serve.markdown import to_html
from graph_net.serve.markup import address, tag
from report.synthetic import EVIL


class Elements(HTMLParser):
    """What a browser makes of markup."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[str] = []
        self.values: list[str | None] = []
        self.text = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.values += [value for _, value in attrs]

    def handle_data(self, data: str) -> None:
        self.text += data


@given(st.text())
def test_a_text_stays_a_text(text: str) -> None:
    shown = printable(text, lines=True)
    found = Elements(tag("p", text, title=text))
    assert found.tags == ["p"]
    assert found.text == shown
    assert found.values == [shown]


@given(st.text(min_size=1))
def test_an_address_keeps_what_it_names(text: str) -> None:
    found = Elements(
        tag("a", "x", href=address("/graph", id=text.encode("utf-8", "replace").decode()))
    )
    assert found.values[0] is not None
    assert found.values[0].startswith("/graph?id=")


@given(st.text(st.characters(codec="utf-8")))
def test_a_command_is_words_or_nothing(text: str) -> None:
    line = command("repro", text)
    assert (
        line == "" if not text.isprintable() else shlex.split(line) == ["graph-net", "repro", text]
    )


@pytest.mark.parametrize("text", ["a\nrm -rf x", "a\x1b[201~rm", "a\x03", "a\rb", "a\u202eb"])
def test_what_a_terminal_would_act_on_is_never_offered(text: str) -> None:
    assert command("show", text) == ""
    assert copied(command("show", text)) is None
    assert graph_commands("pack", "id", [text]) == []


def test_commands_name_the_device() -> None:
    assert graph_commands("a pack", "1f", ["inductor[mode=default]"], "cuda") == [
        "graph-net repro 'a pack:1f' 'inductor[mode=default]' --device cuda",
        "graph-net bisect 'a pack:1f' 'inductor[mode=default]' --device cuda",
    ]


def test_a_spreadsheet_computes_nothing() -> None:
    table = pa.table({"=name": ["=1+1", "+1", "-1", "@x", "plain", None], "n": [1, -2, 3, 4, 5, 6],
                      "l": [["=a"]] * 6})  # fmt: skip
    lines = to_file(table, "csv").decode().splitlines()
    assert lines[0].startswith('"\'=name"')
    assert [line.split(",")[0] for line in lines[1:]] == [
        '"\'=1+1"', '"\'+1"', '"\'-1"', '"\'@x"', '"plain"', ""]  # fmt: skip
    assert lines[2].split(",")[1] == "-2"


def test_parquet_is_the_table_itself() -> None:
    table = pa.table({"name": ["=1+1", EVIL], "values": [[1.0], [2.0, 3.0]]})
    assert pq.read_table(pa.BufferReader(to_file(table, "parquet"))).equals(table)


def test_a_card_is_headings_tables_and_text() -> None:
    table = f"| a | b |\n|---|---|\n| 1 | {EVIL} |"
    card = f"# A model\n\nSee `x < y` {EVIL}\n\n    graph-net learn\n\n{table}\n- one"
    found = Elements(to_html(card))
    assert "script" not in found.tags
    assert "img" not in found.tags
    assert {"h2", "code", "pre", "table", "td", "ul"} <= set(found.tags)
    assert EVIL in found.text
