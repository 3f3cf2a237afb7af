"""A record as a line of text, and as an HTML table for a notebook."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graph_net.printable import html_table
from graph_net.results.graph_breaks import pieces_text
from graph_net.results.signature import headline_of

if TYPE_CHECKING:
    from graph_net.results.record import Record


def line_of(record: Record) -> str:
    """Return the compiler, the graph, and its speedup or failure."""
    return f"{record.config.label} {record.subject.name}: {_result(record)}"


def html_of(record: Record) -> str:
    """Return the facts of a record as an HTML table."""
    rows = [
        ("graph", record.subject.name),
        ("compiler", f"{record.config.label} {record.config.version}".strip()),
        ("device", f"{record.device.name}, {record.device.threads} threads"),
        ("result", _result(record)),
        ("outputs pass at t", "" if record.t is None else f"{record.t:.2f}"),
        ("compile time", _seconds(record.cost.cold_seconds)),
    ]
    return html_table("record", ("", ""), rows)


def _result(record: Record) -> str:
    failure, timing = record.failure, record.timing
    if failure is not None:
        return f"{failure.stage} {failure.symptom}: {headline_of(failure.message)}"
    assert timing is not None
    speedup = f"{timing.speedup.value:.3f}× [{timing.speedup.low:.3f}, {timing.speedup.high:.3f}]"
    pieces = pieces_text(record)
    return f"{speedup} {timing.verdict}{f' ({pieces})' if pieces else ''}"


def _seconds(value: float | None) -> str:
    return "" if value is None else f"{value:.2f} s"
