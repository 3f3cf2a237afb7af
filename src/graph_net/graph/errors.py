"""The exceptions that reading, constructing or running a Graph raises on bad input."""

from __future__ import annotations


class GraphError(ValueError):
    """A graph, or the bytes of one, is invalid.

    ``node`` and ``field`` locate the error, ``line`` is the line of a source file.
    """

    def __init__(
        self,
        message: str,
        *,
        node: str | None = None,
        field: str | None = None,
        line: int | None = None,
    ) -> None:
        parts = (("line", line), ("node", node), ("field", field))
        where = ", ".join(f"{kind} {value}" for kind, value in parts if value is not None)
        super().__init__(f"{message} ({where})" if where else message)
        self.reason = message
        self.node = node
        self.field = field
        self.line = line


class UnknownTarget(GraphError):
    """A call target is not on the allow-list."""


class LimitExceeded(GraphError):
    """Input is larger, deeper or longer than the limits in force allow."""


class RefusedCall(GraphError):
    """A call has arguments that are unsafe to call it with."""
