"""Values out of bytes: how deep they may be."""

from __future__ import annotations

import json
from typing import Any

import pytest

from graph_net.programs.formats.values import DEPTH, from_text, to_text
from graph_net.store.lines import ReadError


@pytest.mark.parametrize(("opens", "closes"), [("[", "]"), ('{"a":', "}")])
def test_brackets_are_nested_so_deep_and_no_deeper(opens: str, closes: str) -> None:
    def nested(depth: int) -> Any:
        return json.loads(opens * depth + "1" + closes * depth)

    assert json.loads(to_text(nested(DEPTH))) == nested(DEPTH)
    with pytest.raises(ReadError, match="within brackets"):
        to_text(nested(DEPTH + 1))


def test_numbers_that_are_not_finite_are_not_kept() -> None:
    with pytest.raises(ReadError, match="not finite"):
        to_text(from_text(b"[1e999]"))
