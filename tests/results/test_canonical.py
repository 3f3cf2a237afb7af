"""Texts that may be anything, read as JSON objects."""

from __future__ import annotations

import pytest

from graph_net.results import json_object


@pytest.mark.parametrize("text", [None, "", "[1]", '"text"', "{", "null", "[" * 100_000, "\x00"])
def test_what_is_no_object_is_an_empty_one(text: str | None) -> None:
    assert json_object(text) == {}


def test_an_object_is_read() -> None:
    assert json_object('{"search":"random","turn":1}') == {"search": "random", "turn": 1}
