"""Which of several results counts: of a graph, a configuration, a device and a protocol the last.

Last is what was stored last: parts have numbers, then journals have, and in each the order of rows
holds. The time that a record says it began is data of a clock that may be wrong, here or on the
machine that a file came from, so among stored records it decides nothing. Results of different
protocols are different results: each counts. ``counting_records``, ``counting_sql`` and
``counting_rows`` say the same of records, in SQL and of a table.

Files from elsewhere are stored in any order, so ``Precedence`` keeps results out that are older
than what is there.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from graph_net.results import Record

KEY = ("graph_id", "config", "device", "protocol")
"""The columns that say what was measured, and how."""
SKEW = timedelta(minutes=10)
"""How far the clock of another machine may be ahead of this one's."""


def counting_sql(table: str, order: str) -> str:
    """Return a question for the rows of a table that count; ``order`` grows as they are stored."""
    key = ", ".join(f"coalesce({name}, '')" for name in KEY)
    choice = f"row_number() OVER (PARTITION BY {key} ORDER BY {order} DESC) = 1"
    return f"SELECT * FROM {table} QUALIFY {choice}"  # noqa: S608 - names of this program


def counting_records(records: Iterable[Record]) -> dict[str, Record]:
    """Return the records that count by their keys, of records in the order of storing."""
    return {record.key: record for record in records}


@dataclass(frozen=True)
class Precedence:
    """What decides between a stored result and one of the same key from elsewhere."""

    final: bool
    """Whether a resumed run would pass it over."""
    started: str

    def yields_to(self, other: Precedence, now: datetime) -> bool:
        """Return whether another result is to be stored after this one, and so to count.

        A final one goes before one that would be measured again, and then a later one before an
        earlier one. A time that is none, or that has not come yet, is earlier than any other.
        """
        mine, theirs = ((each.final, _moment(each.started, now)) for each in (self, other))
        return mine < theirs


def _moment(started: str, now: datetime) -> float:
    try:
        found = datetime.fromisoformat(started)
    except ValueError:
        return float("-inf")
    found = found if found.tzinfo else found.replace(tzinfo=UTC)
    return found.timestamp() if found <= now + SKEW else float("-inf")
