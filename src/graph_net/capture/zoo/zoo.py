"""What a model zoo is to us: names, and for each name a model with inputs to call it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from torch import nn

CATEGORIES = ("computer_vision", "nlp", "audio", "multimodal", "scientific", "other")


@dataclass(frozen=True, slots=True)
class ZooEntry:
    """A model that its library itself names: an architecture, a head, a published configuration."""

    library: str
    name: str
    category: str
    subcategory: str = ""
    tags: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.category not in CATEGORIES:
            known = ", ".join(CATEGORIES)
            raise ValueError(f"{self.name}: unknown category {self.category!r}; known: {known}")


@dataclass(frozen=True, slots=True)
class Call:
    """A model and what to call it with; ``mode`` and ``dtype`` as ``capture`` takes them."""

    model: nn.Module
    args: tuple[Any, ...] = ()
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    mode: str = "inference"
    dtype: str = ""


class Zoo(Protocol):
    """A library of models.

    ``entries`` enumerates without building anything. ``build`` is called inside
    ``graph_net.capture.weights.without_weights``: it constructs the model with random weights,
    downloads nothing, and makes inputs of batch size 1 as real tensors.
    """

    @property
    def library(self) -> str:
        """What the library is called."""
        ...

    def entries(self) -> Iterator[ZooEntry]:
        """Every model the library names, in a fixed order."""
        ...

    def build(self, entry: ZooEntry) -> Call:
        """The model of an entry, in evaluation mode, with inputs."""
        ...
