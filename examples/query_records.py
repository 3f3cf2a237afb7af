"""Query records with SQL.

python examples/query_records.py [RECORDS]
"""

import sys
from pathlib import Path

from graph_net.api.query import query
from graph_net.store.records import RecordStore

SHIPPED = Path(__file__).parents[1] / "records/h200"
store = RecordStore(Path(sys.argv[1]) if len(sys.argv) > 1 else SHIPPED)


def show(title: str, question: str) -> None:
    """Print the answer to a question; the table ``records`` has one row per record."""
    names, rows = query(store, question)
    print(f"\n{title}\n  {' | '.join(names)}")
    for row in rows:
        print("  " + " | ".join(f"{x:.3g}" if isinstance(x, float) else str(x) for x in row))


show(
    "How fast, by category:",
    """
    SELECT category, count(*) AS graphs, median(speedup) AS speedup, median(cold_seconds) AS compile
    FROM records GROUP BY category ORDER BY graphs DESC""",
)
show(
    "What the verdicts are:",
    "SELECT verdict, count(*) AS graphs FROM records GROUP BY ALL ORDER BY 2 DESC",
)
show(
    "What failed, and why:",
    """
    SELECT stage, symptom, count(*) AS graphs FROM records
    WHERE symptom IS NOT NULL GROUP BY ALL ORDER BY graphs DESC""",
)
show(
    "The largest speedups:",
    """
    SELECT graph, speedup FROM records WHERE speedup IS NOT NULL ORDER BY speedup DESC LIMIT 3""",
)
