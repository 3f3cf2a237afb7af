"""Bytes a node and graphs read per second: a pack, GraphNet's layout, ``torch.export.save``.

Claims: a pack takes at most 1/50 of the sample directories; opening and filtering 10,000 graphs
reads none of them.
"""

from __future__ import annotations

import argparse
import io
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensorMode

from benchmarks.common import seconds, show, verdict
from benchmarks.material import deep_graphs, small_graphs
from graph_net.corpus.columns import row_of
from graph_net.corpus.pack import Pack, PackWriter
from graph_net.corpus.query import select
from graph_net.formats.graphnet import read_sample
from graph_net.formats.graphnet.write import write_sample
from graph_net.graph import Graph, from_bytes, to_bytes
from graph_net.graph.execute import fake_inputs
from graph_net.graph.fx import to_fx

LEAST = 50
LISTED = 10_000


def as_upstream(directory: Path) -> dict[str, Any]:
    """What GraphNet's own tools do: execute the source and the metadata classes."""
    names: dict[str, Any] = {"__name__": "sample"}
    for file in ("model.py", "weight_meta.py"):
        code = compile((directory / file).read_text("utf-8"), file, "exec")
        exec(code, names)  # noqa: S102 - this program wrote the file itself
    return names


def exported(graph: Graph) -> bytes:
    """The graph through torch.export, its parameters inputs as in ours: no weights inside."""
    mode = FakeTensorMode(allow_non_fake_inputs=True)
    program = torch.export.export(to_fx(graph), tuple(fake_inputs(graph, mode)), strict=False)
    program._example_inputs = None  # tensors without values, which it would pickle
    buffer = io.BytesIO()
    torch.export.save(program, buffer)
    return buffer.getvalue()


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--repeats", type=int, default=5)
    given = options.parse_args()
    graphs = {**deep_graphs(), **small_graphs()}
    nodes = sum(len(graph.nodes) for graph in graphs.values())
    with tempfile.TemporaryDirectory() as root:
        samples, packs = Path(root) / "samples", Path(root) / "pack"
        for name, graph in graphs.items():
            write_sample(graph, samples / name)
        with PackWriter(packs) as writer:
            for name, graph in graphs.items():
                writer.add(name, graph)
        programs = {name: exported(graph) for name, graph in graphs.items() if name in EXPORTABLE}
        some = sum(len(graphs[name].nodes) for name in programs)
        sizes: dict[str, tuple[int, int]] = {
            "sample directories": (sum(f.stat().st_size for f in samples.rglob("*.*")), nodes),
            "torch.export.save": (sum(len(program) for program in programs.values()), some),
            "binary form": (sum(len(to_bytes(graph)) for graph in graphs.values()), nodes),
            "pack": (sum(f.stat().st_size for f in packs.iterdir()), nodes),
        }
        pack = Pack(packs)
        blobs = [to_bytes(graphs[name]) for name in programs]
        directories = [samples / name for name in programs]
        readers: dict[str, Callable[[], Any]] = {
            "sample directories": lambda: [as_upstream(directory) for directory in directories],
            "sample directories, parsed": lambda: [read_sample(d) for d in directories],
            "torch.export.save": lambda: [
                torch.export.load(io.BytesIO(program)) for program in programs.values()
            ],
            "binary form": lambda: [from_bytes(blob) for blob in blobs],
            "pack": lambda: list(pack.graphs(list(programs))),
        }
        took = seconds(readers, given.repeats)
        rows = []
        for name, duration in took.items():
            size, count = sizes.get(name, (0, 1))
            speed = len(programs) / duration
            rows.append(
                [
                    name,
                    f"{size / count:.1f}" if size else "",
                    f"{speed:.0f}",
                    f"{took['sample directories'] / duration:.1f}",
                ]
            )
        show("storage", ("form", "bytes a node", "graphs/s", "× samples executed"), rows)
        held = listing(Path(root) / "many", next(iter(graphs.values())), given.repeats)
    ratio = sizes["sample directories"][0] / sizes["pack"][0]
    ok = verdict(ratio >= LEAST, f"the pack takes 1/{ratio:.0f} of the directories (1/{LEAST})")
    return 0 if ok and held else 1


EXPORTABLE = frozenset("residual-24 decoder-24 encoder-12 unet residual decoder experts".split())


def listing(path: Path, graph: Graph, repeats: int) -> bool:
    """Open and filter a pack of 10,000 graphs, against reading one hundredth of them."""
    row = row_of("", graph)
    with PackWriter(path) as writer:
        for i in range(LISTED):
            writer.add_row({**row, "name": f"graph-{i:05d}", "nodes": i})
    took = seconds(
        {
            "open": lambda: Pack(path),
            "filter": lambda: select(Pack(path), "nodes BETWEEN 500 AND 520"),
            "read 1 %": lambda: [from_bytes(row["graph"]) for _ in range(LISTED // 100)],
        },
        repeats,
    )
    rows = [[name, f"{duration * 1e3:.1f}"] for name, duration in took.items()]
    show(f"a pack of {LISTED:,} graphs", ("what", "ms"), rows)
    return verdict(
        took["filter"] < took["read 1 %"], "filtering 10,000 graphs costs less than reading 100"
    )


if __name__ == "__main__":
    sys.exit(main())
