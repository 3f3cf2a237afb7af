"""Repeated layers folded into blocks: nodes before and after, on the shipped corpus.

Claim: folding halves the nodes of the corpus at least, and every graph expands to itself.
"""

from __future__ import annotations

import argparse
import sys
from collections import defaultdict

from benchmarks.common import show, verdict
from graph_net.corpus.pack import Pack
from graph_net.corpus.query import select
from graph_net.corpus.sample import sample
from graph_net.corpus.shipped import shipped_corpus
from graph_net.rewrite.blocks import expand, fold_blocks

LEAST = 2.0


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--graphs", type=int, default=200, help="a fair sample of so many")
    given = options.parse_args()
    pack = Pack(shipped_corpus())
    names = sample(select(pack), given.graphs, ["library"], 0)
    before: defaultdict[str, int] = defaultdict(int)
    after: defaultdict[str, int] = defaultdict(int)
    exact = True
    for _, graph in pack.graphs(names):
        folded = fold_blocks(graph)
        exact = exact and expand(folded) == graph.nodes
        for row in (graph.provenance.library, "all"):
            before[row] += len(graph.nodes)
            after[row] += folded.size
    rows = [
        [name, f"{before[name]:,}", f"{after[name]:,}", f"{before[name] / after[name]:.1f}"]
        for name in sorted(before, key=lambda name: (name == "all", name))
    ]
    show(f"nodes of {len(names)} graphs", ("library", "before", "after", "ratio"), rows)
    ratio = before["all"] / max(after["all"], 1)
    holds = [
        verdict(ratio >= LEAST, f"folding leaves 1/{ratio:.1f} of the nodes"),
        verdict(exact, "every folded graph expands to itself"),
    ]
    return 0 if all(holds) else 1


if __name__ == "__main__":
    sys.exit(main())
