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
    """0 if every sample under the path meets the requirements and none is there already, else 1."""
    options = argparse.ArgumentParser(prog="graph_net.torch.validate", description=__doc__)
    options.add_argument("--model-path", required=True, type=Path, help="A sample directory.")
    options.add_argument(
        "--graph-net-samples-path",
        type=Path,
        help="Samples (or a pack) it must not repeat; the shipped corpus if none is named.",
    )
    options.add_argument("--no-check-redundancy", action="store_true")
    given = options.parse_args(arguments)
    samples = {utf8_name(str(path)): path for path in find_samples(given.model_path)}
    if not samples:
        print(printable(f"{given.model_path} holds no sample"), file=sys.stderr)
        return 1
    tasks = [
        ValidationItem(name, partial(open_confined, path), path) for name, path in samples.items()
    ]
    verdicts = sorted(validate_all(tasks, os.cpu_count() or 1), key=lambda v: v.name)
    good = True
    for verdict in verdicts:
        _tell(verdict)
        good &= verdict.ok
    if not given.no_check_redundancy:
        known = structures(given.graph_net_samples_path, given.model_path)
        for name, path in samples.items():
            other = redundant_with(path, known)
            if other:
                print(printable(f"{name}: redundant, its structure is that of {other}"))
                good = False
    if good:
        print(f"Validation success, model_path={str(given.model_path)!r}")
    return 0 if good else 1


def _tell(verdict: ValidationReport) -> None:
    print(printable(verdict.name))
    for finding in verdict.findings:
        why = f": {finding.reason}" if finding.reason else ""
        print(printable(f"  {finding.requirement.value}: {finding.state.value}{why}"))
    if verdict.difference is not None:
        print(f"  largest difference: {verdict.difference:g}")


def structures(place: Path | None, besides: Path) -> dict[str, str]:
    """The structures of the samples in a folder (or pack), each with a name that has it.

    Samples at or below ``besides`` do not count: they are the ones asked about.
    """
    place = place or shipped_corpus()
    if is_pack(place):
        rows = Pack(place).rows(["structure", "name"]).to_pylist()
        return {row["structure"]: row["name"] for row in rows}
    own = besides.resolve()
    others = {
        str(path): path
        for path in find_samples(place)
        if own != path.resolve() and own not in path.resolve().parents
    }
    results = read_directories(others, os.cpu_count() or 1)
    return {r.row["structure"]: r.name for r in results if r.row is not None}


def redundant_with(path: Path, known: Mapping[str, str]) -> str:
    """Which graph has a sample's structure already, as it is or lowered to ATen."""
    try:
        graph: Graph = open_sample(path)
        if graph.structure in known:
            return known[graph.structure]
        # Lowering runs it on tensors without values.
        return known.get(call(lambda: to_aten(graph).structure, LOWERING), "")
    except (GraphError, Died):
        return ""  # told by the requirements


if __name__ == "__main__":
    sys.exit(main())
