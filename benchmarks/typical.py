"""Recurring sequences in texts of growing length. Claim: the time a token stays.

The text is the shipped corpus's calls: every eighth graph, every fourth, every second, all.
"""

from __future__ import annotations

import argparse
import sys
import time

from benchmarks.common import show, verdict
from graph_net.corpus.pack import Pack
from graph_net.corpus.shipped import shipped_corpus
from graph_net.rewrite.typical import Text, sequences

MOST = 2.0
"""Eight times the tokens may cost so many times more a token: caches end, more recurs."""


def texts(graphs: int | None) -> dict[str, Text]:
    """The corpus as texts, by how many of its graphs are in them."""
    made = {step: Text() for step in (8, 4, 2, 1)}
    for number, (_, graph) in enumerate(Pack(shipped_corpus()).graphs()):
        if graphs is not None and number >= graphs:
            break
        for step, text in made.items():
            if number % step == 0:
                text.add(graph)
    return {f"1/{step}": text for step, text in made.items()}


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--repeats", type=int, default=3)
    options.add_argument("--graphs", type=int, help="at most so many graphs")
    given = options.parse_args()
    made = texts(given.graphs)
    found = dict.fromkeys(made, 0)

    def find(name: str) -> None:
        found[name] = sum(1 for _ in sequences(made[name]))

    took = dict.fromkeys(made, float("inf"))
    for _ in range(given.repeats):
        for name in made:
            start = time.process_time()  # one thread, and whatever else runs does not count
            find(name)
            took[name] = min(took[name], time.process_time() - start)
    rows, cost = [], []
    for name, text in made.items():
        tokens = len(text.tokens())
        cost.append(took[name] / tokens)
        rows.append([name, f"{tokens:,}", f"{found[name]:,}", f"{cost[-1] * 1e6:.2f}"])
    show("typical sequences", ("graphs", "tokens", "sequences", "processor µs a token"), rows)
    growth = cost[-1] / cost[0]
    claim = f"eight times the tokens cost {growth:.2f} times as much a token, at most {MOST}"
    return 0 if verdict(growth <= MOST, claim) else 1


if __name__ == "__main__":
    sys.exit(main())
