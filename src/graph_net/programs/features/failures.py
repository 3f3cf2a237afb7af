"""Items without features, and the reasons."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar
from zipfile import BadZipFile

from graph_net.isolate import Death, Finished
from graph_net.isolate.deaths import wrote_garbage

Found = TypeVar("Found")


@dataclass(frozen=True)
class Lost:
    """The reason why an item has no features."""

    reason: str

    @classmethod
    def to(cls, death: Death) -> Lost:
        """Return the cause of death of the process that computed features, in one line."""
        return cls(" ".join(death.reason.split())[:300])


def found_or_lost(done: Finished[Any], read: Callable[[bytes], Found]) -> Found | Lost:
    """Return a process's answer, or the reason for having none; its bytes are untrusted."""
    if done.death is not None:
        return Lost.to(done.death)
    try:
        return read(done.answer)
    except (ValueError, TypeError, KeyError, OSError, EOFError, BadZipFile) as error:
        return Lost.to(wrote_garbage(error))
