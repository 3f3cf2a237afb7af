"""What a record says of a graph that a compiler took in pieces, the rest run by Python."""

from __future__ import annotations

from graph_net.results.record import Record

GRAPHS = "compiled_graphs"
BREAKS = "graph_breaks"
REASONS = "graph_break_reasons"
NOT_COMPILED = "not_compiled"
"""Where these stand in a record's environment."""


def count_in(record: Record, name: str) -> int | None:
    """A count of the environment; None where the record does not say."""
    found = record.environment.get(name)
    counts = isinstance(found, int) and not isinstance(found, bool) and 0 <= found < 1 << 31
    return found if counts else None  # type: ignore[return-value]


def reasons_text(record: Record) -> str | None:
    """Why a compiler broke the graph, as one text; None where it did not."""
    found = record.environment.get(REASONS)
    return "; ".join(map(str, found)) if isinstance(found, list) and found else None


def pieces_text(record: Record) -> str:
    """``3 graphs, 2 breaks`` or ``nothing compiled``; nothing to say of a graph taken whole."""
    graphs, breaks = count_in(record, GRAPHS), count_in(record, BREAKS)
    if graphs == 0:
        return "nothing compiled"
    if not breaks:
        return ""
    pieces = "" if graphs is None else f"{graphs} graph{'s' * (graphs > 1)}, "
    return f"{pieces}{breaks} break{'s' * (breaks > 1)}"
