"""Config: how a graph is run, of whatever kind."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property

from graph_net.results.canonical import Json, RecordError, canonical, digest
from graph_net.results.labels import short_name


class ConfigKind(StrEnum):
    """What a configuration chooses."""

    COMPILER = "compiler"
    """A compiler for a whole graph; the options are the compiler's."""
    SCHEDULE = "schedule"
    """A program of a task; the name is that of the format, ``schedule`` its only option."""
    TILE = "tile"
    """A tile size of a kernel."""
    LAYOUT = "layout"
    """A layout for each node of a graph."""


@dataclass(frozen=True)
class Config:
    """How a graph is run: for a compiler its name, version and options."""

    kind: ConfigKind
    name: str
    version: str = ""
    options: Mapping[str, Json] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.kind not in ConfigKind.__members__.values():
            known = ", ".join(ConfigKind)
            raise RecordError(f"unknown kind of configuration: '{self.kind}'. Known: {known}")
        object.__setattr__(self, "kind", ConfigKind(self.kind))  # where it came as text

    @cached_property
    def hash(self) -> str:
        """Equal for equal configurations."""
        return digest(self.kind, self.name, self.version, self.options_text)

    @cached_property
    def options_text(self) -> str:
        """The options as JSON with one spelling."""
        return canonical(dict(self.options))

    @property
    def label(self) -> str:
        """The name with the options that were given, for people."""
        given = ",".join(f"{key}={value}" for key, value in sorted(self.options.items()))
        name = short_name(self.name)
        return f"{name}[{given}]" if given else name
