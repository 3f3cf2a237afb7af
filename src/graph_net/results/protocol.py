"""ProtocolSettings: every setting of the protocol that a record was measured under."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from graph_net.results.canonical import Json, canonical, digest


@dataclass(frozen=True)
class ProtocolSettings:
    """A protocol as data: its settings, and the version of their meaning.

    Plain JSON instead of the class that measures: a record stays readable when the class changes.
    """

    version: int
    values: Mapping[str, Json] = field(default_factory=dict)

    @cached_property
    def hash(self) -> str:
        """Equal for equal protocols."""
        return digest(str(self.version), canonical(dict(self.values)))
