"""A graph that holds one of everything: its text, bytes and hashes are meant to stay.

A change here is a change of format: raise the version in the codec or in the hash, keep reading
what was written before, and only then write the file anew.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from graph_net.graph import from_bytes, from_json, to_bytes, to_json


@pytest.fixture(scope="module")
def golden() -> dict[str, Any]:
    text = (Path(__file__).parent / "golden" / "small.json").read_text("utf-8")
    found: dict[str, Any] = json.loads(text)
    return found


def test_the_text_stays(golden: dict[str, Any]) -> None:
    graph = from_bytes(bytes.fromhex(golden["bytes"]))
    assert json.loads(to_json(graph)) == golden["graph"]


def test_the_bytes_stay(golden: dict[str, Any]) -> None:
    graph = from_json(json.dumps(golden["graph"]))
    assert to_bytes(graph).hex() == golden["bytes"]


def test_the_hashes_stay(golden: dict[str, Any]) -> None:
    graph = from_json(json.dumps(golden["graph"]))
    assert graph.structure == golden["structure"]
    assert graph.id == golden["id"]


def test_it_holds_one_of_everything(golden: dict[str, Any]) -> None:
    text = json.dumps(golden["graph"])
    values = "ref tuple dict slice dtype torch device float complex ellipsis".split()
    recipes = "normal uniform integers bernoulli constant literal".split()
    roles = "input parameter buffer constant".split()
    assert [word for word in (*values, *recipes, *roles) if f'"{word}"' not in text] == []
