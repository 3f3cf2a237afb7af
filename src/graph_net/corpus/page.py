"""The tables of docs/corpus.md, from the counts."""

from __future__ import annotations

from graph_net.corpus.marked_region import replace_region
from graph_net.corpus.stats import Stats

BEGIN, END = "<!-- made by `graph-net corpus stats` -->", "<!-- end -->"
GRAPHNET = {
    "graphs, distinct as GraphNet counts": "2,495",
    "unique structures": "not published",
    "training graphs": "not counted apart",
    "libraries": "timm, huggingface_hub and others",
    "categories": "5: computer_vision 1,123, nlp 996, other 250, audio 60, multimodal 54",
    "operators covered": "268 spellings of torch calls",
    "dtypes of inputs, in graphs": "96 % of tensors float32",
    "batch sizes": "1 in 2,426 of 2,495",
    "nodes of a graph (median, largest)": "585, 7,032",
    "tensors of a graph (median, largest)": "281 MB, 19.5 GB",
    "largest model": "19.5 GB of tensors",
    "space on disk": "1.1 GB",
    "bytes a node": "about 310 (a statement)",
}
"""The figures of GraphNet's torch samples of May 2026; its nodes are torch calls."""


def make_tables(stats: Stats) -> str:
    """Return the composition beside GraphNet's, and by library and category, as Markdown."""
    ours = _our_column(stats)
    lines = ["| | this corpus | GraphNet (torch) |", "|---|---|---|"]
    lines += [f"| {name} | {ours[name]} | {theirs} |" for name, theirs in GRAPHNET.items()]
    kinds = list(stats.categories)
    lines += ["", f"| library | graphs | {' | '.join(kinds)} |", "|---" * (len(kinds) + 2) + "|"]
    for library, counts in sorted(stats.libraries.items(), key=lambda i: (-sum(i[1].values()), i)):
        cells = [f"{counts[kind]:,}" if kind in counts else "" for kind in kinds]
        lines.append(f"| {library} | {sum(counts.values()):,} | {' | '.join(cells)} |")
    totals = [f"{number:,}" for number in stats.categories.values()]
    lines.append(f"| all | {stats.graphs:,} | {' | '.join(totals)} |")
    return "\n".join(lines)


def _our_column(stats: Stats) -> dict[str, str]:
    categories = ", ".join(f"{name} {number:,}" for name, number in stats.categories.items())
    dtypes = ", ".join(f"{name} {number:,}" for name, number in stats.dtypes.items())
    batches = list(stats.batches.items())
    shown = ", ".join(f"{size} in {number:,}" for size, number in batches[:4])
    rest = sum(number for _, number in batches[4:])
    largest = stats.largest
    whole = stats.codes - stats.training
    return {
        "graphs, distinct as GraphNet counts": f"{whole:,} ({stats.graphs:,} stored)",
        "unique structures": f"{stats.structures:,}",
        "training graphs": f"{stats.training:,}",
        "libraries": f"{len(stats.libraries)}: {', '.join(stats.libraries)}",
        "categories": f"{len(stats.categories)}: {categories}",
        "operators covered": f"{len(stats.operators):,} ATen overloads",
        "dtypes of inputs, in graphs": dtypes,
        "batch sizes": shown + (f", other in {rest:,}" if rest else ""),
        "nodes of a graph (median, largest)": f"{stats.nodes[2]:,}, {stats.nodes[4]:,}",
        "tensors of a graph (median, largest)": (
            f"{_bytes(stats.tensor_bytes[2])}, {_bytes(stats.tensor_bytes[4])}"
        ),
        "largest model": f"{largest['name']}, {largest['parameters'] / 1e9:.1f} G parameters",
        "space on disk": _bytes(stats.pack_bytes),
        "bytes a node": f"{stats.pack_bytes / max(stats.total_nodes, 1):.1f}",
    }


def _bytes(number: int) -> str:
    for unit in ("B", "kB", "MB"):
        if number < 1000:
            return f"{number:.3g} {unit}"
        number = number / 1000  # type: ignore[assignment]
    return f"{number:.3g} GB" if number < 1000 else f"{number:,.0f} GB"


def with_tables(page: str, stats: Stats) -> str:
    """Return the page with its tables replaced."""
    return replace_region(page, BEGIN, END, make_tables(stats))
