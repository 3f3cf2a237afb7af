"""Inductor's max-autotune against choices that a model keeps: kernel times and seconds of tuning.

    python -m benchmarks.inductor_choices prepare
    python -m benchmarks.inductor_choices all -o JOURNAL
    python -m benchmarks.inductor_choices report JOURNAL

``prepare`` writes eight graphs of the corpus in half precision into ``build/inductor-graphs``; it
needs the package, no GPU. ``all`` needs a GPU, torch, triton and numpy, and nothing else. It
measures products, convolutions, added and scaled products, flex attention and the graphs, in this
order, and starts nothing that does not fit into ``--seconds``; the same command continues a
journal, and retries what failed after all else. ``kernels`` and ``graphs`` measure a part.

Held-out operations are compiled in groups by each mode with empty caches; the winners of all modes
are then timed in turns.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.inductor_tuning import (
    BASE,
    CLOCK,
    ROUNDS,
    STOCK,
    Tuning,
    elapsed,
    replay,
    time_offered,
    time_winners,
    tuned,
)
from benchmarks.inductor_tuning import options as mode_options
from graph_net.search.inductor.case import FILE, KernelCase, load_cases
from graph_net.search.inductor.choice_model import load_choices
from graph_net.search.inductor.collector import describe, operations
from graph_net.search.inductor.compile_pool import compile_pool
from graph_net.search.inductor.families import SCALED
from graph_net.search.inductor.plugin import SHIPPED
from graph_net.store.journal import LineJournal, whole_lines

GROUP = 10
MOST_FAILURES = 2
"""After so many in a row a new process is needed."""
HEURISTIC = "autoheuristic"
EVERY = 8
"""The exhaustive space, AutoHeuristic and ``CLOCK`` are measured for one group in so many, and
``STOCK``, where every choice is compiled twice, for a last group that is small.
"""
MANY = 5
"""A scaled product has so many times the choices of others."""
MODES = (BASE, "learned", "widened", HEURISTIC, STOCK, CLOCK)
GRAPH_MODES = ("default", BASE, "learned")
GRAPHS = """transformers/BertModel@16:float16 timm/resnet18@16:bfloat16
    torchvision/alexnet@32:float16 timm/mixer_b16_224@8:bfloat16
    torchvision/mobilenet_v2@16:bfloat16 transformers/DeiTModel@8:float16
    transformers/EsmModel@16:bfloat16 transformers/CLIPVisionModel@8:bfloat16""".split()


def measure_group(
    cases: Sequence[KernelCase], model: Any, turn: int, device: str
) -> dict[str, Any]:
    """Tune a group by every mode, then time the winners in turns."""
    import torch

    shown: dict[str, Tuning] = {}
    offered: list[str] = []
    modes = MODES[turn % len(MODES) :] + MODES[: turn % len(MODES)]
    for mode in modes:
        if not is_measured(mode, cases, turn):
            continue
        torch._dynamo.reset()
        graph = operations(cases, device)
        with torch.no_grad(), tuned(mode, model) as shown[mode]:
            chosen = mode_options(mode, device)
            compiled: Any = torch.compile(graph, dynamic=False, options=chosen)
            compiled(*(operands[0] for operands in graph.operands))
            shown[mode].stop()
            if mode == BASE:
                offered = list(time_offered(shown[mode], describe(device).name))
    kernels = {case.key: time_winners(case.key, shown) for case in cases}
    cost = {mode: one.cost() for mode, one in shown.items()}
    group = [case.key for case in cases]
    return {"group": group, "cost": cost, "kernels": kernels, "offered": offered}


def is_measured(mode: str, cases: Sequence[KernelCase], turn: int) -> bool:
    """Return whether a mode is measured for a group; torch 2.13 has no AutoHeuristic."""
    from torch._inductor import config

    if mode == HEURISTIC:
        known = hasattr(config, "autoheuristic_use") and cases[0].kind == "products"
        return known and turn % EVERY == 1
    if mode == STOCK:
        return len(cases) < GROUP // 2
    if mode == "widened":
        return turn % EVERY == 0 and cases[0].kind in ("products", "convolutions")
    return mode != CLOCK or turn % EVERY == 0


def measure_graph(path: Path, model: Any) -> dict[str, Any]:
    """Compile a whole graph by every mode, then replay all of them in turns."""
    import torch

    from graph_net.graph import from_bytes
    from graph_net.graph.execute import make_inputs
    from graph_net.graph.fx import to_fx

    graph = from_bytes(path.read_bytes())
    inputs = make_inputs(graph, "cuda")
    cost, replays = {}, {}
    for mode in GRAPH_MODES:
        forward = to_fx(graph, "cuda").forward
        with torch.inference_mode(), tuned(mode, model) as one:
            compiled: Any = torch.compile(forward, dynamic=False, options=mode_options(mode))
            compiled(*inputs)
        cost[mode] = one.cost()
        replays[mode] = replay(compiled, inputs)
        print(f"{path.stem} {mode}: {one.wall:.1f} s", flush=True)
    taken: dict[str, list[float]] = {mode: [] for mode in replays}
    for turn in range(2 * ROUNDS):
        for mode in GRAPH_MODES if turn % 2 == 0 else reversed(GRAPH_MODES):
            taken[mode].append(elapsed(replays[mode]))
    times = {mode: median(values) for mode, values in taken.items()}
    return {"graph": path.stem, "cost": cost, "times": times}


def measure(given: argparse.Namespace) -> int:
    """Measure what a journal lacks, until no more fits into the time; return 1 if a part failed."""
    began, model = time.monotonic(), load_choices(given.model)
    lines = (
        [json.loads(line) for line in whole_lines(given.output)] if given.output.exists() else []
    )
    longest, failures, failed = 40.0, 0, False
    with LineJournal(given.output) as journal, compile_pool(given.jobs):
        for name, size, work in pending(given, model, lines):
            start = time.monotonic()
            if start + 1.1 * longest * size > began + given.seconds:
                print(f"out of time before {name}: the same command continues", flush=True)
                break
            try:
                line = {"part": name, **work()}
                failures = 0
            except Exception as error:
                line = {"failed": name, "why": f"{type(error).__name__}: {error}"[:500]}
                print(line, file=sys.stderr, flush=True)
                failures, failed = failures + 1, True
            journal.append(json.dumps(line).encode())
            longest = max(0.7 * longest, (time.monotonic() - start) / size)
            print(f"{name}: {time.monotonic() - start:.0f} s", flush=True)
            if failures == MOST_FAILURES:  # an illegal access makes the process unusable
                print("stopped after failures in a row: the same command continues", flush=True)
                break
    return 1 if failed else 0


Part = tuple[str, float, Callable[[], dict[str, Any]]]
"""A name, how long it takes beside others by an estimate, and the work."""


def pending(given: argparse.Namespace, model: Any, lines: Sequence[Any]) -> list[Part]:
    """Return what is left to do with its name, the important first; what failed comes last."""
    failed = {line.get("failed") for line in lines}
    left = [] if given.part == "graphs" else list(kernel_parts(given, model, lines))
    left += [] if given.part == "kernels" else list(graph_parts(given, model, lines))
    return sorted(left, key=lambda part: part[0] in failed)


def graph_parts(given: argparse.Namespace, model: Any, lines: Sequence[Any]) -> Iterator[Part]:
    """Yield the whole graphs that a journal lacks, in the order of GRAPHS."""
    done, order = {line.get("graph") for line in lines}, [stem_of(name) for name in GRAPHS]
    paths = {path.stem: path for path in sorted(given.graphs.glob("*.graph"))}
    if not paths:
        print(f"{given.graphs} has no graphs: `prepare` writes them", file=sys.stderr, flush=True)
    for stem in sorted(paths, key=lambda stem: order.index(stem) if stem in order else len(order)):
        if stem not in done:
            yield stem, 1.0, partial(measure_graph, paths[stem], model)


def kernel_parts(given: argparse.Namespace, model: Any, lines: Sequence[Any]) -> Iterator[Part]:
    """Yield the groups of held-out operations that a journal lacks, in the order of the cases."""
    cases = [case for case in load_cases(given.cases) if case.held_out]
    done = {key for line in lines for key in line.get("group", ())}
    for kind in dict.fromkeys(case.kind for case in cases):
        alike = [case for case in cases if case.kind == kind]
        for turn, start in enumerate(range(0, len(alike), GROUP)):
            group = [case for case in alike[start : start + GROUP] if case.key not in done]
            if group and kind in (given.kinds or (kind,)):
                size = sum(MANY if case.kernel == SCALED else 1 for case in group) / len(group)
                work = partial(measure_group, group, model, turn, given.device)
                yield f"{kind} {turn}", size, work


def stem_of(name: str) -> str:
    """Return the name of a graph's file without its ending."""
    return name.replace("/", "-").replace("@", "-").replace(":", "-")


def prepare(given: argparse.Namespace) -> int:
    """Write graphs of the corpus in half precision at larger batches."""
    from graph_net.corpus.pack import Pack
    from graph_net.graph import to_bytes
    from graph_net.rewrite.variant import with_dtype, with_sizes

    given.output.mkdir(parents=True, exist_ok=True)
    pack = Pack(given.corpus)
    for name in GRAPHS:
        graph, _, rest = name.partition("@")
        batch, _, dtype = rest.partition(":")
        [(_, found)] = pack.graphs([graph])
        made = with_dtype(with_sizes(found, {"batch": int(batch)}), dtype, cast="all")
        path = given.output / f"{stem_of(name)}.graph"
        path.write_bytes(to_bytes(made))
        print(path)
    return 0


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one part."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    commands = parser.add_subparsers(dest="part", required=True)
    making = commands.add_parser("prepare")
    making.add_argument("-o", "--output", type=Path, default=Path("build/inductor-graphs"))
    making.add_argument("--corpus", type=Path, default=Path("corpus"))
    helps = {"all": "kernels, then graphs", "kernels": "held-out operations", "graphs": "graphs"}
    for name, text in helps.items():
        one = commands.add_parser(name, help=text)
        one.add_argument("model", type=Path, nargs="?", default=SHIPPED, help="else the shipped")
        one.add_argument("-o", "--output", type=Path, required=True)
        one.add_argument("--cases", type=Path, default=FILE)
        one.add_argument("--graphs", type=Path, default=Path("build/inductor-graphs"))
        one.add_argument("--seconds", type=float, default=560.0)
        one.add_argument("--kinds", nargs="*", help="such as 'flex attention'; else all")
        one.add_argument("--jobs", type=int, default=16)
        one.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    shown = commands.add_parser("report")
    shown.add_argument("journal", type=Path)
    given = parser.parse_args(arguments)
    if given.part == "report":
        from benchmarks.inductor_choices_report import report  # needs more than a GPU machine has

        return report(given.journal)
    return prepare(given) if given.part == "prepare" else measure(given)


if __name__ == "__main__":
    raise SystemExit(main())
