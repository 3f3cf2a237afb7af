"""Device: where something was measured."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from graph_net.results.canonical import canonical, digest, plain


@dataclass(frozen=True)
class Device:
    """A fingerprint: hardware and software, as far as they decide how fast something runs.

    A fingerprint is complete or absent. One made of a name alone would be equal for machines that
    differ, and would differ from the complete fingerprint of the same machine.
    """

    kind: str
    name: str
    cores: int
    threads: int
    memory_bytes: int
    system: str
    python: str
    software: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def hash(self) -> str:
        """Equal for equal devices."""
        return digest(canonical(plain(self)))
