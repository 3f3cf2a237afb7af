"""Which of several results counts: the last of each graph, configuration, device and protocol.

Last means stored last: first parts by number, then journals by number, each in the order of its
rows. A record's own start time comes from a clock that may be wrong, so among stored records it
decides nothing. Results of different protocols are different results: each counts.
``counting_records`` and ``counting_rows`` (of a table) agree.

Files from other machines are stored in any order, so ``Precedence`` rejects results that are older
than the stored one.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from graph_net.results import Record

KEY = ("graph_id", "config", "device", "protocol")
"""The columns that identify a result."""
SKEW = timedelta(minutes=10)
"""How far the clock of another machine may be ahead of this one's."""


def counting_records(records: Iterable[Record]) -> dict[str, Record]:
    """Return the records that count by key, from records in the order of storing."""
    return {record.key: record for record in records}


@dataclass(frozen=True)
class Precedence:
    """What decides between a stored result and one of the same key from another file."""

    final: bool
    """Whether a resumed run would skip it."""
    started: str

    def yields_to(self, other: Precedence, now: datetime) -> bool:
        """Return whether another result should be stored after this one, and so count.

        A final result wins over one that would be measured again, then a later one over an earlier
        one. An invalid time, or one in the future, is earlier than any other.
        """
        mine, theirs = ((p.final, _parse_time(p.started, now)) for p in (self, other))
        return mine < theirs


def _parse_time(started: str, now: datetime) -> float:
    try:
        time = datetime.fromisoformat(started)
    except ValueError:
        return float("-inf")
    time = time if time.tzinfo else time.replace(tzinfo=UTC)
    return time.timestamp() if time <= now + SKEW else float("-inf")
