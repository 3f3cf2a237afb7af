"""How many subgraphs of each kind a pack holds, beside PassNet's."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass

from graph_net.corpus.marked_region import with_region
from graph_net.corpus.pack import Pack, PackError

BEGIN, END = "<!-- subgraphs, made by `graph-net corpus stats` -->", "<!-- end of subgraphs -->"
PASSNET = {"sole_op": 5_939, "fusible": 22_870, "typical": 25_151}
"""What PassNet (arXiv 2605.29357) publishes of its own."""
ORDER = ("sole_op", "fusible", "typical", "task", "block")


@dataclass(frozen=True, slots=True)
class SubgraphStats:
    """For each kind the number of ids, structures and occurrences, and all kinds together."""

    kinds: dict[str, tuple[int, int, int]]
    ids: int
    structures: int
    pack_bytes: int


def count_subgraphs(pack: Pack) -> SubgraphStats:
    """Count the rows of a pack that ``graph-net decompose`` made; no graph is read."""
    if "kind" not in pack.columns:
        raise PackError(f"{pack.path} holds no subgraphs; `graph-net decompose` makes such a pack")
    rows = pack.rows(["kind", "id", "structure", "occurrences"]).to_pylist()
    ids: defaultdict[str, set[str]] = defaultdict(set)
    structures: defaultdict[str, set[str]] = defaultdict(set)
    occurrences: Counter[str] = Counter()
    for row in rows:
        for kind in (row["kind"], ""):
            ids[kind].add(row["id"])
            structures[kind].add(row["structure"])
        occurrences[row["kind"]] += row["occurrences"]
    known = [kind for kind in ORDER if kind in occurrences]
    known += sorted(set(occurrences) - set(ORDER))
    return SubgraphStats(
        {kind: (len(ids[kind]), len(structures[kind]), occurrences[kind]) for kind in known},
        len(ids[""]),
        len(structures[""]),
        sum(part.stat().st_size for part in pack.parts),
    )


def subgraph_table(stats: SubgraphStats) -> str:
    """The counts as Markdown, PassNet's beside them."""
    lines = ["| kind | distinct | structures | occurrences | PassNet |", "|---|---|---|---|---|"]
    for kind, numbers in stats.kinds.items():
        theirs = f"{PASSNET[kind]:,}" if kind in PASSNET else "none"
        lines.append(f"| `{kind}` | {' | '.join(f'{n:,}' for n in numbers)} | {theirs} |")
    total = sum(numbers[2] for numbers in stats.kinds.values())
    lines.append(f"| all | {stats.ids:,} | {stats.structures:,} | {total:,} | |")
    lines += ["", f"{stats.pack_bytes / 1e6:.1f} MB on disk."]
    return "\n".join(lines)


def with_subgraphs(page: str, stats: SubgraphStats) -> str:
    """The page, its region on subgraphs made anew."""
    return with_region(page, BEGIN, END, subgraph_table(stats))
