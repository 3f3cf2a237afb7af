"""Graph breaks in a record: a compiler took the graph in pieces, Python ran the rest."""

from __future__ import annotations

from graph_net.results.record import Record

GRAPHS = "compiled_graphs"
BREAKS = "graph_breaks"
REASONS = "graph_break_reasons"
NOT_COMPILED = "not_compiled"
"""Keys of a record's environment."""


def count_in(record: Record, name: str) -> int | None:
    """Return a count of the environment; None if absent or invalid."""
    count = record.environment.get(name)
    valid = isinstance(count, int) and not isinstance(count, bool) and 0 <= count < 1 << 31
    return count if valid else None  # type: ignore[return-value]


def reasons_text(record: Record) -> str | None:
    """Return why a compiler broke the graph, as one text; None without a break."""
    reasons = record.environment.get(REASONS)
    return "; ".join(map(str, reasons)) if isinstance(reasons, list) and reasons else None


def pieces_text(record: Record) -> str:
    """Return ``3 graphs, 2 breaks`` or ``nothing compiled``; empty for a graph taken whole."""
    graphs, breaks = count_in(record, GRAPHS), count_in(record, BREAKS)
    if graphs == 0:
        return "nothing compiled"
    if not breaks:
        return ""
    pieces = "" if graphs is None else f"{graphs} graph{'s' * (graphs > 1)}, "
    return f"{pieces}{breaks} break{'s' * (breaks > 1)}"
