"""Text from files is shown whole, and does nothing to the terminal it is shown on."""

from __future__ import annotations

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph_net.printable import count_phrase, error_line, first_line, is_utf8, printable, utf8_name


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("résumé 模型 98 %", "résumé 模型 98 %"),
        ("\x1b]0;title\x07", r"\x1b]0;title\x07"),
        ("a\r\nb\tc", r"a\r\nb\tc"),
        ("\x9b2J\x7f", r"\x9b2J\x7f"),
        ("\u202etxt\u2066\u200b", r"\u202etxt\u2066\u200b"),
        ("caf" + os.fsdecode(b"\xe9"), r"caf\xe9"),
        ("\ud800", r"\ud800"),
    ],
)
def test_what_is_not_seen_is_written_out(text: str, shown: str) -> None:
    assert printable(text) == shown


def test_lines_stay_where_they_are_asked_for() -> None:
    assert printable("a\n\tb\x1b", lines=True) == "a\n\tb\\x1b"


@given(st.text(st.characters(exclude_categories=())))
def test_any_text_becomes_one_line_that_can_be_sent(text: str) -> None:
    shown = printable(text)
    assert is_utf8(shown)
    assert len(shown.splitlines()) <= 1
    assert printable(shown) == shown


def test_only_names_that_are_not_utf8_are_written_out() -> None:
    assert utf8_name("a\nb") == "a\nb"
    assert utf8_name(os.fsdecode(b"\xff")) == r"\xff"


def test_one_thing_is_not_many() -> None:
    assert count_phrase(1, "graph") == "1 graph"
    assert count_phrase(0, "graph") == "0 graphs"
    assert count_phrase(4228, "graph") == "4,228 graphs"
    assert count_phrase(2, "box", "boxes") == "2 boxes"


@pytest.mark.parametrize(
    ("error", "line", "typed"),
    [
        (ValueError("\nnot a size\nsee above"), "not a size", "ValueError: not a size"),
        (AssertionError(), "AssertionError", "AssertionError"),
        (KeyError(" "), "' '", "KeyError: ' '"),
        (RuntimeError("a" * 300), "a" * 200, "RuntimeError: " + "a" * 200),
    ],
)
def test_an_error_is_said_in_one_line(error: Exception, line: str, typed: str) -> None:
    assert first_line(error) == line
    assert error_line(error) == typed
