"""Find what changed between two stores of records.

python examples/what_changed.py [BEFORE AFTER]
"""

import sys
from dataclasses import replace
from pathlib import Path

from graph_net.compare import Change, compare
from graph_net.results import Interval, Record, Samples
from graph_net.store.records import RecordStore

SHIPPED = Path(__file__).parents[1] / "records/h200"


def slow_down(record: Record, factor: float) -> Record:
    """Return the record as it would be if the compiled graph took ``factor`` times as long."""
    assert record.timing is not None
    timing = record.timing
    wall = tuple(seconds * factor for seconds in timing.candidate.wall)
    speedup = Interval(
        *(x / factor for x in (timing.speedup.value, timing.speedup.low, timing.speedup.high))
    )
    return replace(record, timing=replace(timing, candidate=Samples(wall), speedup=speedup))


def make_after(before: Path, after: Path) -> Path:
    """Write the records of ``before`` again, every tenth graph 1.5 times as slow."""
    store = RecordStore(after)
    with store.journal() as journal:
        for number, record in enumerate(RecordStore(before).records()):
            slower = record.failure is None and number % 10 == 0
            journal.add(slow_down(record, 1.5) if slower else record)
    return after


if len(sys.argv) > 2:
    before, after = Path(sys.argv[1]), Path(sys.argv[2])
else:
    before, after = SHIPPED, make_after(SHIPPED, Path("build/after"))

comparison = compare(before, after)
for change in Change:
    print(f"{change.word}: {comparison.count(change)}")
for row in comparison.rows(comparison.order()[:3]):  # the worst first
    print(
        f"  {row.graph}: {row.change.word}, {row.ratio:.2f} of its speedup before; {row.sentence}"
    )
print(f"{comparison.regressions} regressions")
