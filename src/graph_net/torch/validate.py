"""``python -m graph_net.torch.validate``: GraphNet's own check of a sample, with its flags."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

from graph_net.corpus.import_samples import read_directories
from graph_net.corpus.open_sample import open_confined, open_sample
from graph_net.corpus.pack import Pack, is_pack
from graph_net.corpus.shipped import shipped_corpus
from graph_net.formats.graphnet import find_samples
from graph_net.graph import Graph, GraphError
from graph_net.isolate import Died, Limits, call
from graph_net.printable import printable, utf8_name
from graph_net.rewrite.lower import to_aten
from graph_net.validate.pool import ValidationItem, validate_all
from graph_net.validate.report import ValidationReport

LOWERING = Limits.of(300, 32.0)


def main(arguments: Sequence[str] | None = None) -> int:
    """Return 0 if every sample under the path is valid and none is redundant, else 1."""
    parser = argparse.ArgumentParser(prog="graph_net.torch.validate", description=__doc__)
    parser.add_argument("--model-path", required=True, type=Path, help="A sample directory.")
    parser.add_argument(
        "--graph-net-samples-path",
        type=Path,
        help="Samples (or a pack) it must not repeat; the shipped corpus if none is named.",
    )
    parser.add_argument("--no-check-redundancy", action="store_true")
    options = parser.parse_args(arguments)
    samples = {utf8_name(str(path)): path for path in find_samples(options.model_path)}
    if not samples:
        print(printable(f"{options.model_path} holds no sample"), file=sys.stderr)
        return 1
    tasks = [
        ValidationItem(name, partial(open_confined, path), path) for name, path in samples.items()
    ]
    verdicts = sorted(validate_all(tasks, os.cpu_count() or 1), key=lambda v: v.name)
    for verdict in verdicts:
        _print(verdict)
    valid = all(verdict.ok for verdict in verdicts)
    if not options.no_check_redundancy:
        index = structures(options.graph_net_samples_path, options.model_path)
        for name, path in samples.items():
            other = redundant_with(path, index)
            if other:
                print(printable(f"{name}: redundant, its structure is that of {other}"))
                valid = False
    if valid:
        print(f"Validation success, model_path={str(options.model_path)!r}")
    return 0 if valid else 1


def _print(verdict: ValidationReport) -> None:
    print(printable(verdict.name))
    for finding in verdict.findings:
        why = f": {finding.reason}" if finding.reason else ""
        print(printable(f"  {finding.requirement.value}: {finding.state.value}{why}"))
    if verdict.difference is not None:
        print(f"  largest difference: {verdict.difference:g}")


def structures(source: Path | None, besides: Path) -> dict[str, str]:
    """Return the structures of the samples in a folder (or pack), each with the name of one.

    Samples at or below ``besides`` are excluded: they are the ones being checked.
    """
    source = source or shipped_corpus()
    if is_pack(source):
        rows = Pack(source).rows(["structure", "name"]).to_pylist()
        return {row["structure"]: row["name"] for row in rows}
    own = besides.resolve()
    others = {
        str(path): path
        for path in find_samples(source)
        if own != path.resolve() and own not in path.resolve().parents
    }
    results = read_directories(others, os.cpu_count() or 1)
    return {r.row["structure"]: r.name for r in results if r.row is not None}


def redundant_with(path: Path, names: Mapping[str, str]) -> str:
    """Return the name of a graph with a sample's structure, as it is or lowered; else empty."""
    try:
        graph: Graph = open_sample(path)
        if graph.structure in names:
            return names[graph.structure]
        # Lowering runs it on tensors without values.
        return names.get(call(lambda: to_aten(graph).structure, LOWERING), "")
    except (GraphError, Died):
        return ""  # the requirements report it


if __name__ == "__main__":
    sys.exit(main())
