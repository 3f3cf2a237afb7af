"""The number of subgraphs of each kind in a pack, beside PassNet's."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass

from graph_net.corpus.marked_region import replace_region
from graph_net.corpus.pack import Pack, PackError

BEGIN, END = "<!-- subgraphs, made by `graph-net corpus stats` -->", "<!-- end of subgraphs -->"
PASSNET = {"sole_op": 5_939, "fusible": 22_870, "typical": 25_151}
"""The counts that PassNet (arXiv 2605.29357) publishes."""
ORDER = ("sole_op", "fusible", "typical", "task", "block")


@dataclass(frozen=True, slots=True)
class SubgraphStats:
    """The numbers of ids, structures and occurrences, by kind and in total."""

    kinds: dict[str, tuple[int, int, int]]
    ids: int
    structures: int
    pack_bytes: int


def count_subgraphs(pack: Pack) -> SubgraphStats:
    """Count the rows of a pack made by ``graph-net decompose``, without reading graphs."""
    if "kind" not in pack.columns:
        raise PackError(
            f"{pack.path} holds no subgraphs; make such a pack with `graph-net decompose`"
        )
    rows = pack.rows(["kind", "id", "structure", "occurrences"]).to_pylist()
    ids: defaultdict[str, set[str]] = defaultdict(set)
    structures: defaultdict[str, set[str]] = defaultdict(set)
    occurrences: Counter[str] = Counter()
    for row in rows:
        for kind in (row["kind"], ""):
            ids[kind].add(row["id"])
            structures[kind].add(row["structure"])
        occurrences[row["kind"]] += row["occurrences"]
    kinds = [kind for kind in ORDER if kind in occurrences]
    kinds += sorted(set(occurrences) - set(ORDER))
    return SubgraphStats(
        {kind: (len(ids[kind]), len(structures[kind]), occurrences[kind]) for kind in kinds},
        len(ids[""]),
        len(structures[""]),
        sum(part.stat().st_size for part in pack.parts),
    )


def subgraph_table(stats: SubgraphStats) -> str:
    """Return the counts as Markdown, beside PassNet's."""
    lines = ["| kind | distinct | structures | occurrences | PassNet |", "|---|---|---|---|---|"]
    for kind, numbers in stats.kinds.items():
        theirs = f"{PASSNET[kind]:,}" if kind in PASSNET else "none"
        lines.append(f"| `{kind}` | {' | '.join(f'{n:,}' for n in numbers)} | {theirs} |")
    total = sum(numbers[2] for numbers in stats.kinds.values())
    lines.append(f"| all | {stats.ids:,} | {stats.structures:,} | {total:,} | |")
    lines += ["", f"{stats.pack_bytes / 1e6:.1f} MB on disk."]
    return "\n".join(lines)


def with_subgraphs(page: str, stats: SubgraphStats) -> str:
    """Return the page with its region on subgraphs replaced."""
    return replace_region(page, BEGIN, END, subgraph_table(stats))
