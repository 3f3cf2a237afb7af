"""Reading a GraphNet sample against parsing its files, and directories on all cores.

Claim: reading a sample costs at most twice what ``ast.parse`` of its own files costs.
"""

from __future__ import annotations

import argparse
import ast
import os
import sys
import tempfile
from pathlib import Path

from benchmarks.common import seconds, show, verdict
from benchmarks.material import deep_graphs, small_graphs
from graph_net.corpus.import_samples import read_directories
from graph_net.formats.graphnet import read_sample
from graph_net.formats.graphnet.write import write_sample

MOST = 2.0


def parse_all(directory: Path) -> None:
    """What any reader that looks at the source must at least do."""
    for file in directory.glob("*.py"):
        ast.parse(file.read_text("utf-8"))


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--repeats", type=int, default=7)
    options.add_argument("--copies", type=int, default=12, help="directories for the parallel part")
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as root:
        rows, ratios = [], []
        graphs = {**deep_graphs(), **small_graphs()}
        for name, graph in graphs.items():
            directory = Path(root) / name
            write_sample(graph, directory)
            took = seconds(
                {
                    "parse": lambda directory=directory: parse_all(directory),  # type: ignore[misc]
                    "read": lambda directory=directory: read_sample(directory),  # type: ignore[misc]
                },
                given.repeats,
            )
            ratio = took["read"] / took["parse"]
            ratios.append((took["read"], took["parse"]))
            rows.append(
                [name, f"{len(graph.nodes):,}", f"{took['parse'] * 1e3:.1f}", f"{ratio:.2f}"]
            )
        total = sum(read for read, _ in ratios) / sum(parse for _, parse in ratios)
        rows.append(["together", "", "", f"{total:.2f}"])
        show("reading / ast.parse", ("sample", "nodes", "ast.parse ms", "ratio"), rows)
        many = {
            f"{name}-{i}": Path(root) / name for name in deep_graphs() for i in range(given.copies)
        }
        cores = os.cpu_count() or 1
        took = seconds(
            {
                "one": lambda: list(read_directories(many, 1)),
                "all": lambda: list(read_directories(many, cores)),
            },
            3,
        )
        speedup = took["one"] / took["all"]
        show(
            "directories",
            ("how", "samples", "speed-up"),
            [["one process", str(len(many)), "1.00"], [f"{cores} cores", "", f"{speedup:.2f}"]],
        )
        held = verdict(total <= MOST, f"reading costs {total:.2f} × ast.parse, at most {MOST}")
        return 0 if held else 1


if __name__ == "__main__":
    sys.exit(main())
