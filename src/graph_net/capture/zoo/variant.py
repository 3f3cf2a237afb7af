"""A zoo whose models are captured in another mode or dtype: training graphs, half precision."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from graph_net.capture.zoo.zoo import Call, Zoo, ZooEntry

MARK = "@"
"""Separates a model's name from its mode and dtype: ``resnet18@training``."""


@dataclass(frozen=True, slots=True)
class Variant:
    """Every model of a zoo, captured in a mode and a dtype."""

    zoo: Zoo
    mode: str = "inference"
    dtype: str = ""

    @property
    def library(self) -> str:
        """The library of the wrapped zoo."""
        return self.zoo.library

    @property
    def words(self) -> tuple[str, ...]:
        """Mode and dtype as they appear in names and tags."""
        mode = () if self.mode == "inference" else (self.mode,)
        return (*mode, self.dtype) if self.dtype else mode

    def entries(self) -> Iterator[ZooEntry]:
        """Yield the zoo's entries under names with mode and dtype."""
        for entry in self.zoo.entries():
            name = MARK.join((entry.name, *self.words))
            yield replace(entry, name=name, tags=(*entry.tags, *self.words))

    def build(self, entry: ZooEntry) -> Call:
        """Build the zoo's model, to be captured in this mode and dtype."""
        tags = entry.tags[: len(entry.tags) - len(self.words)]
        call = self.zoo.build(replace(entry, name=model_name(entry), tags=tags))
        return replace(call, mode=self.mode, dtype=self.dtype)


def model_name(entry: ZooEntry) -> str:
    """Return the name of the model without mode and dtype."""
    return entry.name.partition(MARK)[0]
