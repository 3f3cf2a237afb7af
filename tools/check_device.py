"""Checks the graph half of the package on another machine: another torch, another Python, a GPU.

    python -m tools.check_device make SAMPLES -o build/device    # here
    python -m tools.check_device run build/device --device cuda  # there, with src on the path

``make`` copies samples and writes down their hashes, digests of their tensors and the shapes of
their outputs. ``run`` needs torch, numpy and the standard library alone; it reads the samples
again, compares, runs each on the CPU and on the device, lowers it and runs that.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import sys
import time
import traceback
from collections import Counter
from pathlib import Path
from typing import Any

import torch

from graph_net.formats.graphnet import find_samples, read_sample
from graph_net.graph import Graph, GraphError, Normal, from_bytes, to_bytes
from graph_net.graph.effects import draws_random
from graph_net.graph.execute import digest, flat_outputs, make_inputs, run
from graph_net.graph.fx import from_fx, to_fx
from graph_net.graph.tensors import draw
from graph_net.rewrite.lower import to_aten

MOST_BYTES = 300 << 20
EXPECTED = "expected.json"


def make(samples: Path, output: Path, count: int) -> None:
    """Choose samples evenly, copy them, and write down what must hold everywhere."""
    shutil.rmtree(output, ignore_errors=True)
    found = list(find_samples(samples))
    facts: dict[str, Any] = {}
    for directory in found[:: max(1, len(found) // count)]:
        try:
            graph = read_sample(directory)
        except GraphError:
            continue
        if graph.tensor_bytes > MOST_BYTES:
            continue
        name = str(directory.relative_to(samples)).replace("/", "__")
        shutil.copytree(directory, output / name, ignore=shutil.ignore_patterns("subgraph_*"))
        facts[name] = {
            "structure": graph.structure,
            "id": graph.id,
            "inputs": digest(make_inputs(graph)),
            "outputs": described(run(graph)),
        }
    (output / EXPECTED).write_text(json.dumps(facts, indent=1), "utf-8")
    print(f"{len(facts)} samples in {output}")


def described(outputs: Any) -> list[str]:
    """Shapes and dtypes of outputs."""
    return [
        f"{leaf.dtype}{list(leaf.shape)}" if isinstance(leaf, torch.Tensor) else repr(leaf)
        for leaf in flat_outputs(outputs)
    ]


def close(here: Any, there: Any) -> bool:
    """Whether outputs agree as well as two devices can."""
    for a, b in zip(flat_outputs(here), flat_outputs(there), strict=True):
        if isinstance(a, torch.Tensor) and a.is_floating_point() and a.numel():
            scale = float(a.double().abs().max().nan_to_num(1.0)) or 1.0
            error = (a.double() - b.cpu().double()).abs().nan_to_num(0.0)
            if float(error.max()) > 0.02 * scale:
                return False
    return True


def check(directory: Path, facts: dict[str, Any], device: str) -> list[str]:
    """What does not hold of one sample."""
    wrong = []
    graph: Graph = read_sample(directory)
    if (graph.structure, graph.id) != (facts["structure"], facts["id"]):
        wrong.append("hash")
    if from_bytes(to_bytes(graph)) != graph:
        wrong.append("bytes")
    if from_fx(to_fx(graph)) != graph:
        wrong.append("fx")
    inputs = make_inputs(graph)
    if digest(inputs) != facts["inputs"]:
        wrong.append("tensors")
    if digest(make_inputs(graph, device)) != digest(inputs):
        wrong.append("tensors on the device")
    here = run(graph)
    if described(here) != facts["outputs"]:
        wrong.append("outputs")
    there = run(graph, device=device)
    random = any(draws_random(node) for node in graph.nodes)
    if not random and not close(here, there):
        wrong.append("outputs on the device")
    lowered = to_aten(graph)
    if digest(run(lowered)) != digest(here):
        wrong.append("lowered")
    run(lowered, device=device)
    return wrong


def speed(device: str, gigabytes: float) -> str:
    """Drawing against torch.randn, in turns."""
    count = int(gigabytes * 2**30 / 4)
    jobs = {
        "draw": lambda: draw(Normal(0.0, 1.0), (count,), "float32", name="w", device=device),
        "randn": lambda: torch.randn(count, device=device),
    }
    times: dict[str, list[float]] = {name: [] for name in jobs}
    for _ in range(5):
        for name, job in jobs.items():
            if device != "cpu":
                torch.cuda.synchronize()
            start = time.perf_counter()
            made: torch.Tensor = job()  # type: ignore[no-untyped-call]
            if device != "cpu":
                torch.cuda.synchronize()
            times[name].append(time.perf_counter() - start)
            del made
    medians = {name: sorted(taken)[2] for name, taken in times.items()}
    rate = gigabytes / medians["draw"]
    return f"{rate:.1f} GiB/s, {medians['randn'] / medians['draw']:.2f} x torch.randn"


def run_all(directory: Path, device: str) -> int:
    expected = json.loads((directory / EXPECTED).read_text("utf-8"))
    results: Counter[str] = Counter()
    for name, facts in expected.items():
        try:
            wrong = check(directory / name, facts, device)
        except Exception as error:
            wrong = [f"{type(error).__name__}: {str(error).splitlines()[0][:150]}"]
            if os.environ.get("DEBUG"):
                traceback.print_exc()
        results["holds" if not wrong else "fails"] += 1
        if wrong:
            print(f"{name}: {'; '.join(wrong)}")
    print(f"Python {platform.python_version()}, torch {torch.__version__}, {device}")
    print(f"draw on cpu: {speed('cpu', 0.5)}")
    if device != "cpu":
        print(f"draw on {torch.cuda.get_device_name()}: {speed(device, 2.0)}")
    print(f"{results['holds']} of {len(expected)} samples hold")
    return 1 if results["fails"] else 0


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__)
    verbs = options.add_subparsers(dest="verb", required=True)
    making = verbs.add_parser("make")
    making.add_argument("samples", type=Path)
    making.add_argument("--output", "-o", type=Path, default=Path("build/device"))
    making.add_argument("--count", type=int, default=80)
    running = verbs.add_parser("run")
    running.add_argument("directory", type=Path)
    running.add_argument("--device", default="cuda")
    given = options.parse_args()
    if given.verb == "make":
        make(given.samples, given.output, given.count)
        return 0
    return run_all(given.directory, given.device)


if __name__ == "__main__":
    sys.exit(main())
