"""As much of Ray as a dispatcher sees: references that are ready, or raise."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any


class RayError(Exception):
    """What Ray raises if a worker or a node is lost."""


class RayTaskError(RayError):
    """What Ray raises if the work itself raised."""


class FakeRay:
    """References are objects with an answer; each is ready at once."""

    exceptions = SimpleNamespace(RayError=RayError, RayTaskError=RayTaskError)

    def wait(
        self, references: Sequence[Any], num_returns: int = 1, **_: Any
    ) -> tuple[list[Any], list[Any]]:
        """Return the first references as ready."""
        return list(references[:num_returns]), list(references[num_returns:])

    def get(self, reference: Any) -> Any:
        """Return the answer of a reference, or raise it."""
        if isinstance(reference.answer, Exception):
            raise reference.answer
        return reference.answer
