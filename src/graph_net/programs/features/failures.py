"""What has no features, and why."""

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
    """Something without features, and why."""

    reason: str

    @classmethod
    def to(cls, death: Death) -> Lost:
        """Return what the process that computed them died of, in one line."""
        return cls(" ".join(death.reason.split())[:300])


def found_or_lost(done: Finished[Any], read: Callable[[bytes], Found]) -> Found | Lost:
    """Return what a process answered, or why that is nothing; its bytes are not trusted."""
    if done.death is not None:
        return Lost.to(done.death)
    try:
        return read(done.answer)
    except (ValueError, TypeError, KeyError, OSError, EOFError, BadZipFile) as error:
        return Lost.to(wrote_garbage(error))
