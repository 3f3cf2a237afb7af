"""Gives the graphs of a pack the values their models would begin with, and counts what it changes.

    python -m tools.initial_values listen corpus --work build/heard          # where libraries are
    python -m tools.initial_values apply corpus --work build/heard -o build/corpus
    python -m tools.initial_values count corpus --sample 300 --keep build/before.jsonl
    python -m tools.initial_values count build/corpus --sample 300 --keep build/after.jsonl

``listen`` builds every model of the pack whose library is installed, without memory and without
tracing, and keeps what its initialisers write. ``apply`` writes the pack's parts anew; what nobody
was heard to write goes by role. ``count`` runs graphs in confined processes and counts outputs that
are constant, not finite or above 1e6: of ``--sample`` graphs drawn evenly, those run that have
at most ``--most-bytes`` of tensors and about ``--most-flops``. Each goes on where it was stopped.
"""

from __future__ import annotations

import argparse
import math
import os
from collections import Counter
from pathlib import Path

from graph_net.capture.initialiser_store import InitialiserStore, record_initialisers
from graph_net.capture.zoo import available, load
from graph_net.capture.zoo.variant import model_name
from graph_net.corpus.outputs import OutputKind, observe_all, read_looks, summarize_outputs
from graph_net.corpus.pack import Pack
from graph_net.corpus.revalue import revalue
from graph_net.corpus.sample import sample
from graph_net.graph import Graph, Node, TensorSpec
from graph_net.graph.operators import Trait, base_name, names
from graph_net.isolate import Limits

PRODUCTS = names(Trait.PRODUCT)


def listen_to(pack: Pack, given: argparse.Namespace) -> None:
    """Listen to the models of a pack whose libraries are installed."""
    rows = pack.rows(["library", "model"]).to_pylist()
    named = {(row["library"], row["model"]) for row in rows}
    heard = InitialiserStore(given.work)
    libraries = given.zoos.split(",") if given.zoos else sorted({name for name, _ in named})
    for library in libraries:
        if not available().get(library):
            print(f"{library}: not installed; its graphs go by role")
            continue
        zoo = load(library)
        entries = [e for e in zoo.entries() if (library, model_name(e)) in named]
        wanted = len({model for name, model in named if name == library})
        failed: Counter[str] = Counter()
        for _, problem in record_initialisers(
            zoo, entries, heard, given.jobs, Limits.of(given.seconds, 16.0)
        ):
            failed[problem[:100]] += bool(problem)
        there = sum(heard.problem(library, model_name(e)) == "" for e in entries)
        print(f"{library}: {there} of {wanted} models heard; {(+failed).most_common(5)}")


def apply(pack: Pack, given: argparse.Namespace) -> None:
    """Write the pack anew with what was heard."""
    heard = InitialiserStore(given.work)
    total: Counter[str] = Counter()
    for found in revalue(pack, given.output, heard.recipes):
        total += found
        print(dict(total), flush=True)


def count(pack: Pack, given: argparse.Namespace) -> None:
    """Run some graphs and count what their outputs are like."""
    rows = pack.rows(["name", "tensor_bytes"]).to_pylist()
    sizes = {row["name"]: row["tensor_bytes"] for row in rows}
    drawn = sample(rows, given.sample, seed=given.seed)
    small = [name for name in drawn if sizes[name] <= given.most_bytes]
    names = [name for name, graph in pack.graphs(small) if rough_flops(graph) <= given.most_flops]
    memory = None if given.device == "cuda" else int(given.gigabytes * 2**30)
    limits = Limits(given.seconds, memory)
    for seen in observe_all(pack, names, given.keep, given.jobs, limits, given.device):
        if seen.kind is not OutputKind.LIVELY:
            print(seen, flush=True)
    chosen = [seen for seen in read_looks(given.keep) if seen.name in set(names)]
    print(summarize_outputs(chosen, len(drawn)))


def rough_flops(graph: Graph) -> int:
    """About what a run costs: the products of its convolutions, linear layers and matrices."""
    total = 0
    for node in graph.nodes:
        name, out = base_name(node.target), node.result
        if name not in PRODUCTS or not isinstance(out, TensorSpec):
            continue
        operands = [graph.index[ref.name] for ref in node.refs][:2]
        specs = [e.result if isinstance(e, Node) else e.spec for e in operands]
        shapes = [s.sizes(graph.bindings) for s in specs if isinstance(s, TensorSpec)]
        if len(shapes) == 2 and shapes[1]:
            inner = shapes[0][-1] if "m" in name else math.prod(shapes[1][1:])
            total += 2 * inner * out.elements(graph.bindings)
    return total


def main() -> None:
    """Do what the command line says."""
    parser = argparse.ArgumentParser(prog="python -m tools.initial_values")
    parser.add_argument("action", choices=("listen", "apply", "count"))
    parser.add_argument("pack", type=Path)
    parser.add_argument("--work", type=Path, default=Path("build/heard"))
    parser.add_argument("--output", "-o", type=Path, default=Path("build/corpus"))
    parser.add_argument("--keep", type=Path, default=Path("build/outputs.jsonl"))
    parser.add_argument("--zoos", default="", help="libraries, comma-separated; all by default")
    parser.add_argument("--jobs", "-j", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--seconds", type=int, default=120)
    parser.add_argument("--gigabytes", type=float, default=8.0)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--sample", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--most-flops", type=float, default=2e9)
    parser.add_argument("--most-bytes", type=int, default=200_000_000)
    given = parser.parse_args()
    actions = {"listen": listen_to, "apply": apply, "count": count}
    actions[given.action](Pack(given.pack), given)


if __name__ == "__main__":
    main()
