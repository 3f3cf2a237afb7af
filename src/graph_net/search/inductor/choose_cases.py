"""Choose the operations of the corpus to measure inside Inductor.

``python -m graph_net.search.inductor.choose_cases`` writes ``dataset/inductor/cases.json``: cases
to learn from and held-out ones, which come from networks that no model is trained on.
"""

from __future__ import annotations

import argparse
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from graph_net.corpus.pack import Pack
from graph_net.graph import Graph
from graph_net.programs.collection.kernel_tasks import HELD_OUT, NETWORKS, Network
from graph_net.programs.triton.family import Family
from graph_net.programs.triton.match import find_matches
from graph_net.programs.triton.target import H200
from graph_net.results import canonical
from graph_net.search.inductor.case import FILE, KernelCase, save_cases
from graph_net.search.inductor.families import FLEX, MASK_BLOCK, inductor_family
from graph_net.search.inductor.template_modules import template_modules

LEAST_FLOPS, MOST_FLOPS = 1e6, 2e12
MOST_BYTES = 1 << 30
"""Most bytes of all tensors of a case."""


@dataclass(frozen=True)
class CaseCounts:
    """Number of cases per kernel."""

    matmul: int
    batched_matmul: int
    convolution: int
    mm_plus_mm: int
    scaled_mm: int
    flex_attention: int


TO_LEARN, TO_TEST = CaseCounts(52, 20, 28, 40, 32, 32), CaseCounts(48, 16, 22, 10, 10, 12)
EVERY = 5
"""One batched product in this many adds a tensor (``baddbmm``), which the matcher does not find."""
MASKED, SHARED, HEADS = 2, 3, 4
"""One attention in so many is causal; in one of so many, this number of heads shares its keys."""


@dataclass
class _Found:
    """A workload, and the networks that call it."""

    module: dict[str, Any]
    calls: Counter[str] = field(default_factory=Counter)

    @property
    def family(self) -> Family:
        return inductor_family(self.module, H200)


def choose_cases(pack: Pack, networks: Sequence[Network] = NETWORKS) -> list[KernelCase]:
    """Return training and held-out cases; workloads of held-out networks are not learned from."""
    graphs = dict(pack.graphs(sorted({network.graph for network in networks})))
    tested: dict[str, _Found] = {}
    learned: dict[str, _Found] = {}
    for network in networks:
        into = tested if network.name in HELD_OUT else learned
        for sized in dict.fromkeys((network, replace(network, batch=1))):
            _add(into, sized, graphs[network.graph])
    kept = {key: found for key, found in learned.items() if key not in tested}
    return [*_cases(kept, TO_LEARN, False), *_cases(tested, TO_TEST, True)]


def _add(into: dict[str, _Found], network: Network, graph: Graph) -> None:
    for match in find_matches(graph, network.dtype, network.batch):
        product = plain_product(match.module)
        others = template_modules(graph, match)
        for module in others if product is None else [product, *others]:
            if _is_measurable(module):
                found = into.setdefault(canonical(module), _Found(module))
                found.calls[network.name] += 1


def plain_product(module: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the product or convolution alone, as Inductor lowers it; None for other kernels.

    Inductor has separate nodes for an activation, and for a convolution's bias and residual. A
    convolution of one pixel is a product.
    """
    if module["kernel"] not in ("matmul", "batched_matmul", "convolution"):
        return None
    parts = module["epilogue"].split("_")
    if module["kernel"] != "convolution":
        kept = next((part for part in ("bias", "add") if part in parts), "none")
        if module["kernel"] == "batched_matmul" and kept == "bias":
            kept = "none"
        if module["kernel"] == "matmul" and kept == "add":
            kept = "none"
        return {**module, "epilogue": kept}
    if module["r"] * module["s"] > 1:
        return {**module, "epilogue": "none"}
    if module["stride"] > 1 or module["pad"]:
        return None
    rows = module["n"] * module["h"] * module["w"]
    sizes = {"m": rows, "n": module["k"], "k": module["c"], "dtype": module["dtype"]}
    return {"kernel": "matmul", **sizes, "epilogue": "none", "transposed": True}


def _is_measurable(module: Mapping[str, Any]) -> bool:
    family = inductor_family(module, H200)
    return LEAST_FLOPS <= family.flops() <= MOST_FLOPS and family.bytes() <= MOST_BYTES


def _cases(found: Mapping[str, _Found], wanted: CaseCounts, held_out: bool) -> Iterator[KernelCase]:
    for kernel, count in asdict(wanted).items():
        alike = [one for one in found.values() if one.module["kernel"] == kernel]
        for place, one in enumerate(_spread(alike, count)):
            module = _variant(one.module, place)
            yield KernelCase(canonical(module), held_out, dict(sorted(one.calls.items())))


def _variant(module: Mapping[str, Any], place: int) -> dict[str, Any]:
    """Return the workload at a place of its list: some are of a kind that no network shows."""
    if module["kernel"] == "batched_matmul" and place % EVERY == EVERY - 1:
        return {**module, "epilogue": "add"}
    if module["kernel"] != FLEX:
        return dict(module)
    shares = place % SHARED == SHARED - 1 and module["b"] % HEADS == 0
    masked = place % MASKED == 1 and module["m"] == module["k"] > MASK_BLOCK
    return {**module, "masked": masked, "shared": HEADS if shares else 1}


def _spread(found: Sequence[_Found], count: int) -> list[_Found]:
    """Return workloads of all networks in turn, those of different sizes first."""
    queues: dict[str, list[_Found]] = defaultdict(list)
    for one in found:
        queues[next(iter(sorted(one.calls)))].append(one)
    for queue in queues.values():
        queue.sort(key=lambda one: -one.family.flops() * one.calls.total())
    chosen: list[_Found] = []
    sizes: Counter[tuple[Any, ...]] = Counter()
    while len(chosen) < count and any(queues.values()):
        for queue in filter(None, queues.values()):
            best = min(range(len(queue)), key=lambda place: (sizes[_size(queue[place])], place))
            chosen.append(queue.pop(best))
            sizes[_size(chosen[-1])] += 1
    return chosen[:count]


def _size(one: _Found) -> tuple[Any, ...]:
    """Return the key by which workloads count as alike: dtype and magnitudes of sizes."""
    module = one.module
    names = ("m", "n", "k", "b", "c", "h", "r", "d", "stride")
    sizes = tuple(module[name].bit_length() // 2 for name in names if name in module)
    return (module["dtype"], sizes)


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the file of cases."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("corpus", type=Path, nargs="?", default=Path("corpus"))
    parser.add_argument("-o", "--output", type=Path, default=FILE)
    options = parser.parse_args(arguments)
    cases = choose_cases(Pack(options.corpus))
    save_cases(cases, options.output)
    for held_out, purpose in ((False, "to learn from"), (True, "held out")):
        kernels = Counter(case.kernel for case in cases if case.held_out == held_out)
        print(f"{purpose}: {', '.join(f'{count} {name}' for name, count in kernels.items())}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
