"""The conformance kit for zoos: passes a good zoo, and finds each defect in a bad one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import pytest
import torch
from torch import Tensor, nn

from graph_net.capture.worker import Result, capture_entry
from graph_net.capture.zoo import Call, Zoo, ZooEntry
from graph_net.testing.zoo import (
    ZooDefect,
    check_build,
    check_capture,
    check_entries,
    check_zoo,
)


@dataclass
class GoodZoo:
    """Two small models, made when asked for."""

    library: str = "made_up"

    def entries(self) -> Iterator[ZooEntry]:
        for width in (3, 5):
            yield ZooEntry(self.library, f"linear{width}", "other", "made up", ("linear",))

    def build(self, entry: ZooEntry) -> Call:
        width = int(entry.name.removeprefix("linear"))
        return Call(nn.Linear(4, width).eval(), (torch.zeros(1, 4),))


class OneEntry(GoodZoo):
    """A zoo whose only entry is given."""

    def __init__(self, entry: ZooEntry) -> None:
        super().__init__()
        self.entry = entry

    def entries(self) -> Iterator[ZooEntry]:
        yield self.entry


ENTRY = ZooEntry("made_up", "linear3", "other", "made up", ("linear",))


def test_a_good_zoo_passes_and_the_sample_is_told() -> None:
    assert {entry.name for entry in check_zoo(GoodZoo())} == {"linear3", "linear5"}
    assert len(check_zoo(GoodZoo(), sample=1)) == 1


def test_a_zoo_that_names_nothing_is_found() -> None:
    class Empty(GoodZoo):
        def entries(self) -> Iterator[ZooEntry]:
            return iter(())

    with pytest.raises(ZooDefect, match="made_up: names no model"):
        check_zoo(Empty())


def test_a_name_given_twice_is_found() -> None:
    class Twice(GoodZoo):
        def entries(self) -> Iterator[ZooEntry]:
            yield ENTRY
            yield replace(ENTRY, subcategory="another")

    with pytest.raises(ZooDefect, match="made_up/linear3 is named twice"):
        check_entries(Twice())


def test_an_order_that_changes_is_found() -> None:
    class Shuffled(GoodZoo):
        turn = 0

        def entries(self) -> Iterator[ZooEntry]:
            self.turn += 1
            found = list(GoodZoo.entries(self))
            return iter(found if self.turn % 2 else found[::-1])

    with pytest.raises(ZooDefect, match="made_up/linear3 is 'linear5' when enumerated again"):
        check_entries(Shuffled())


def test_entries_that_run_out_are_found() -> None:
    class Spent(GoodZoo):
        def __init__(self) -> None:
            super().__init__()
            self.once = list(GoodZoo.entries(self))

        def entries(self) -> Iterator[ZooEntry]:
            while self.once:
                yield self.once.pop(0)

    with pytest.raises(ZooDefect, match="2 entries, 0 when asked again"):
        check_entries(Spent())


def unchecked(**changes: object) -> ZooEntry:
    """An entry as a careless subclass could make it: without its own checks."""
    entry = replace(ENTRY)
    for name, value in changes.items():
        object.__setattr__(entry, name, value)
    return entry


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"library": "elsewhere"}, "library other than its zoo"),
        ({"name": " "}, "empty or begins or ends in space"),
        ({"category": "vision"}, "unknown category 'vision'; known: computer_vision"),
        ({"tags": ["linear"]}, "tags are a tuple of words"),
        ({"tags": ("linear", "")}, "tags are a tuple of words"),
        ({"tags": ("linear", "linear")}, "repeats a tag"),
    ],
)
def test_a_bad_description_is_found(changes: dict[str, object], told: str) -> None:
    with pytest.raises(ZooDefect, match=told):
        check_entries(OneEntry(unchecked(**changes)))


def test_a_model_that_cannot_be_built_is_named_with_the_reason() -> None:
    with pytest.raises(ZooDefect, match="made_up/conv cannot be built: ValueError"):
        check_build(GoodZoo(), replace(ENTRY, name="conv"))


def test_a_model_in_training_is_found() -> None:
    class Training(GoodZoo):
        def build(self, entry: ZooEntry) -> Call:
            call = super().build(entry)
            return replace(call, model=call.model.train())

    with pytest.raises(ZooDefect, match="made_up/linear3 is in training mode"):
        check_build(Training(), ENTRY)


def test_weights_made_before_the_model_was_asked_for_are_found() -> None:
    class Eager(GoodZoo):
        model = nn.Linear(4, 3).eval()

        def build(self, entry: ZooEntry) -> Call:
            return Call(self.model, (torch.zeros(1, 4),))

    with pytest.raises(ZooDefect, match="holds memory for the parameter 'weight'"):
        check_build(Eager(), ENTRY)


class Changing(GoodZoo):
    """Builds something else each time."""

    turn = 0

    def turns(self) -> int:
        self.turn += 1
        return self.turn


def test_a_model_of_another_size_each_time_is_found() -> None:
    class Growing(Changing):
        def build(self, entry: ZooEntry) -> Call:
            return Call(nn.Linear(4, self.turns()).eval(), (torch.zeros(1, 4),))

    with pytest.raises(ZooDefect, match=r"not the same when built again: bias is \(\(1,\)"):
        check_build(Growing(), ENTRY)


def test_inputs_of_other_values_each_time_are_found() -> None:
    class Drifting(Changing):
        def build(self, entry: ZooEntry) -> Call:
            return Call(nn.Linear(4, 3).eval(), (torch.full((1, 4), float(self.turns())),))

    with pytest.raises(ZooDefect, match="not the same when built again: input 0"):
        check_build(Drifting(), ENTRY)


class Branching(nn.Module):
    """Asks for a value, which no fake tensor has."""

    def forward(self, x: Tensor) -> Tensor:
        raise RuntimeError(f"the sum is {x.sum().item():.0f}")


def test_a_model_that_is_no_graph_is_named_with_the_reason() -> None:
    class Uncapturable(GoodZoo):
        def build(self, entry: ZooEntry) -> Call:
            return Call(Branching().eval(), (torch.zeros(1, 4),))

    with pytest.raises(ZooDefect, match="made_up/linear3 cannot be captured: export"):
        check_capture(Uncapturable(), ENTRY)


def test_a_call_that_the_model_does_not_take_is_found() -> None:
    class Narrow(GoodZoo):
        def build(self, entry: ZooEntry) -> Call:
            return Call(nn.Linear(4, 3).eval(), (torch.zeros(1, 5),))

    with pytest.raises(ZooDefect, match="made_up/linear3 cannot be captured"):
        check_capture(Narrow(), ENTRY)


def test_a_graph_that_says_another_origin_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """No zoo can bring this about by itself: only a capture that loses what it was told."""

    def forgetful(zoo: Zoo, entry: ZooEntry) -> tuple[Result, list[bytes]]:
        return capture_entry(zoo, replace(entry, subcategory="forgotten"))

    monkeypatch.setattr("graph_net.testing.zoo.capture_entry", forgetful)
    with pytest.raises(ZooDefect, match=r"became a graph with the provenance .*forgotten"):
        check_capture(GoodZoo(), ENTRY)
