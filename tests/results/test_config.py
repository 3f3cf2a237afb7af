"""Configurations and devices: what they are known by, and which kinds there are."""

from __future__ import annotations

import json
from typing import cast

import pytest

from graph_net.results import Config, ConfigKind, Device, RecordError, from_json, to_json
from results.test_record import record


def test_the_hash_of_a_configuration_does_not_change_between_versions() -> None:
    config = Config(ConfigKind.COMPILER, "inductor", "2.13", {"mode": "default", "n": 1})
    assert config.hash == "4ab0f2dea9bad0a441598fcf7f4b9cfe"


def test_the_hash_of_a_device_does_not_change_between_versions() -> None:
    device = Device("cpu", "AMD EPYC", 2, 4, 8 << 30, "Linux", "3.11", {"torch": "2.13"})
    assert device.hash == "4ca4ff485ffc64611c7fcc4c05ac47d2"


def test_a_kind_is_written_as_its_word() -> None:
    assert json.loads(to_json(record()))["config"]["kind"] == "compiler"


def test_the_kinds_are_those_of_the_design() -> None:
    assert set(ConfigKind) == {"compiler", "schedule", "tile", "layout"}


def test_an_unknown_kind_is_refused_when_a_record_is_read() -> None:
    tree = json.loads(to_json(record()))
    tree["config"]["kind"] = "spell"
    known = "compiler, schedule, tile, layout"
    with pytest.raises(RecordError, match=rf"record\.config\.kind: expected one of {known}"):
        from_json(json.dumps(tree))


def test_an_unknown_kind_cannot_be_built() -> None:
    with pytest.raises(RecordError, match=r"unknown kind of configuration: 'spell'\. Known: comp"):
        Config(cast(ConfigKind, "spell"), "x")


def test_a_kind_that_comes_as_text_becomes_the_kind() -> None:
    assert Config(cast(ConfigKind, "tile"), "x").kind is ConfigKind.TILE
