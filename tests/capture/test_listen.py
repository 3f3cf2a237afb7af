"""Initialisers heard of many models, each in a process of its own."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import torch
from torch import nn

from graph_net.capture.initialiser_store import InitialiserStore, record_initialisers
from graph_net.capture.zoo import Call, ZooEntry
from graph_net.graph import Constant, Uniform
from graph_net.graph.json_codec import recipe_to_json
from graph_net.isolate import Limits


def _killed() -> nn.Module:
    os.kill(os.getpid(), signal.SIGKILL)
    return nn.Identity()


def _refused() -> nn.Module:
    raise ValueError("no such model")


class MadeUpZoo:
    """A model, one that cannot be built, and one that takes its process with it."""

    library = "testing"

    def __init__(self) -> None:
        self.models = {
            "linear": lambda: nn.Linear(64, 3),
            "refused": _refused,
            "killed": _killed,
        }

    def entries(self) -> Iterator[ZooEntry]:
        return (ZooEntry(self.library, name, "other") for name in self.models)

    def build(self, entry: ZooEntry) -> Call:
        return Call(self.models[entry.name](), (torch.zeros(1, 64),))


def test_what_is_heard_is_kept_and_failures_say_why(tmp_path: Path) -> None:
    zoo, heard = MadeUpZoo(), InitialiserStore(tmp_path)
    told = {
        entry.name: why
        for entry, why in record_initialisers(zoo, zoo.entries(), heard, 2, Limits.of(60, 8))
    }
    assert told["linear"] == ""
    assert told["refused"] == "ValueError: no such model"
    assert told["killed"] == "killed by a signal from outside (SIGKILL)"
    bound = Uniform(-0.125, 0.125)
    assert heard.recipes("testing", "linear") == {"weight": bound, "bias": bound}
    assert heard.recipes("testing", "refused") == {}


def test_models_that_were_listened_to_are_passed_over(tmp_path: Path) -> None:
    zoo, heard = MadeUpZoo(), InitialiserStore(tmp_path)
    for name in ("refused", "killed"):
        heard.put("testing", name, {}, "known to fail")
    heard.put("testing", "linear", {"weight": recipe_to_json(Constant(2.0))})
    assert list(record_initialisers(zoo, zoo.entries(), heard, 1, Limits.of(60, 8))) == []
    assert heard.recipes("testing", "linear") == {"weight": Constant(2.0)}
