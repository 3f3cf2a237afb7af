"""The protocol of a model zoo: names, and for each name a model with inputs to call it."""

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
            names = ", ".join(CATEGORIES)
            raise ValueError(f"{self.name}: unknown category {self.category!r}; known: {names}")


@dataclass(frozen=True, slots=True)
class Call:
    """A model and its arguments; ``mode`` and ``dtype`` as ``capture`` takes them."""

    model: nn.Module
    args: tuple[Any, ...] = ()
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    mode: str = "inference"
    dtype: str = ""


class Zoo(Protocol):
    """A library of models.

    ``build`` is called inside ``graph_net.capture.weights.without_weights``: it constructs the
    model with random weights, downloads nothing, and makes inputs of batch size 1 as real tensors.
    """

    @property
    def library(self) -> str:
        """The library's import name."""
        ...

    def entries(self) -> Iterator[ZooEntry]:
        """Yield every model the library names, in a fixed order, without building any."""
        ...

    def build(self, entry: ZooEntry) -> Call:
        """Build the model of an entry, in evaluation mode, with inputs."""
        ...
