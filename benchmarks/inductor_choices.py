"""Inductor's max-autotune against choices that a model keeps: kernel times and seconds of tuning.

    python -m benchmarks.inductor_choices prepare -o build/inductor-graphs
    python -m benchmarks.inductor_choices kernels MODEL -o JOURNAL --seconds 560
    python -m benchmarks.inductor_choices graphs MODEL -o JOURNAL --graphs build/inductor-graphs
    python -m benchmarks.inductor_choices report JOURNAL

``prepare`` writes eight graphs of the corpus in half precision. ``kernels`` and ``graphs`` need a
GPU, torch, triton and numpy; the same command continues a journal. Held-out operations are compiled
in groups by each mode with empty caches; the winners of all modes are then timed in turns.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

from graph_net.search.inductor.case import FILE, KernelCase, load_cases
from graph_net.search.inductor.choice_model import load_choices
from graph_net.search.inductor.collect import compilers, operations
from graph_net.search.inductor.hooks import hooked
from graph_net.search.inductor.plugin import learned
from graph_net.search.inductor.reading import is_aten, read_call
from graph_net.search.inductor.template_call import key_of
from graph_net.store.journal import LineJournal, whole_lines

GROUP, ROUNDS, REPLAYS = 8, 5, 20
BASE, ATEN = "max-autotune", "aten"
MODES = (BASE, "learned", "widened", "autoheuristic")
GRAPH_MODES = ("default", BASE, "learned", "widened")
GRAPHS = """torchvision/vit_l_16@4:bfloat16 torchvision/mobilenet_v2@16:bfloat16
    transformers/BertModel@16:float16 transformers/EsmModel@16:bfloat16
    timm/resnet18@16:bfloat16 transformers/DeiTModel@8:float16
    transformers/WhisperModel@4:bfloat16 timm/mixer_b16_224@8:bfloat16""".split()
QUIET: dict[str, Any] = {
    "fx_graph_cache": False,
    "autotune_local_cache": False,
    "autotune_num_choices_displayed": 0,
    "max_autotune_report_choices_stats": False,
}


@dataclass
class Tuning:
    """What one compilation cost, and which choice won for each operation."""

    seconds: float = 0.0
    """Of precompiling and timing choices."""
    wall: float = 0.0
    """Of all of compiling."""
    choices: int = 0
    runs: dict[str, Callable[[], Any]] = field(default_factory=dict)
    aten: dict[str, Callable[[], Any]] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)

    def save(self, timings: dict[Any, float], name: str, nodes: Any, *rest: Any) -> None:
        """Note the winner of an operation, ready to run; a feedback saver of Inductor."""
        self.choices += len(timings)
        call = read_call(name, nodes, list(timings))
        if call is None or call.module is None:
            return
        key, best = key_of(call.module), min(timings, key=timings.__getitem__)
        self.runs[key], self.names[key] = runnable(best), str(best.hash_key())
        libraries = [
            choice for choice in timings if is_aten(choice) and choice.name != "bias_addmm"
        ]
        if libraries:
            self.aten[key] = runnable(libraries[0])


def runnable(choice: Any) -> Callable[[], Any]:
    """Return a choice with tensors to run it on."""
    import torch

    def tensor(sizes: Any, strides: Any, dtype: Any) -> Any:
        sizes, strides = [int(size) for size in sizes], [int(stride) for stride in strides]
        last = sum((size - 1) * stride for size, stride in zip(sizes, strides, strict=True))
        return torch.randn(last + 1, device="cuda").to(dtype).as_strided(sizes, strides)

    nodes = choice.input_nodes
    inputs = [tensor(node.get_size(), node.get_stride(), node.get_dtype()) for node in nodes]
    layout = choice.layout
    out = tensor(layout.size, layout.stride, layout.dtype)
    run: Callable[[], Any] = choice.bmreq.make_run_fn(*inputs, out=out)
    run()
    return run


@contextmanager
def tuned(mode: str, model: Any) -> Iterator[Tuning]:
    """Compile as a mode does, with empty caches; the compilation is timed."""
    import torch
    from torch._dynamo.utils import compilation_time_metrics as metrics
    from torch._inductor.utils import fresh_cache

    found = Tuning()
    asked = {"learned": learned(model), "widened": learned(model, widened=True)}
    folder = tempfile.mkdtemp(prefix="inductor-")
    with ExitStack() as stack:
        stack.enter_context(fresh_cache(dir=folder, delete=False))
        stack.enter_context(asked.get(mode, nullcontext()))
        stack.enter_context(hooked(found.save))
        metrics.clear()
        began = time.perf_counter()
        yield found
        torch.cuda.synchronize()
        found.wall = time.perf_counter() - began
        parts = ("_template_precompiling", "_template_autotuning")
        found.seconds = sum(sum(spent) for name, spent in metrics.items() if name.endswith(parts))


def options(mode: str) -> dict[str, Any]:
    """Return Inductor's options of a mode."""
    own = {"default": {}, "autoheuristic": {"max_autotune": True, "autoheuristic_use": "mm"}}
    return {**QUIET, **own.get(mode, {"max_autotune": True})}


def measure_group(cases: Sequence[KernelCase], model: Any, turn: int) -> dict[str, Any]:
    """Tune a group by every mode, then time the winners in turns."""
    import torch

    shown: dict[str, Tuning] = {}
    modes = MODES[turn % len(MODES) :] + MODES[: turn % len(MODES)]
    for mode in modes:
        if mode == "autoheuristic" and cases[0].is_convolution:
            continue
        torch._dynamo.reset()
        graph = operations(cases, "cuda")
        with torch.no_grad(), tuned(mode, model) as shown[mode]:
            compiled: Any = torch.compile(graph, dynamic=False, options=options(mode))
            compiled(*(operands[0] for operands in graph.operands))
    kernels = {case.key: time_winners(case.key, shown) for case in cases}
    cost = {
        mode: {"tuning": one.seconds, "wall": one.wall, "choices": one.choices}
        for mode, one in shown.items()
    }
    return {"group": [case.key for case in cases], "cost": cost, "kernels": kernels}


def time_winners(key: str, shown: dict[str, Tuning]) -> dict[str, float]:
    """Return the milliseconds of each mode's winner, equal winners measured once."""
    from torch._inductor.runtime.benchmarking import benchmarker

    base = shown[BASE]
    runs = {base.names.get(key, ATEN): base.runs.get(key), ATEN: base.aten.get(key)}
    for one in shown.values():
        runs.setdefault(one.names.get(key, ATEN), one.runs.get(key))
    taken: dict[str, list[float]] = {name: [] for name, run in runs.items() if run is not None}
    for turn in range(ROUNDS):
        names = list(taken)
        for name in names if turn % 2 == 0 else reversed(names):
            taken[name].append(float(benchmarker.benchmark_gpu(runs[name])))
    times = {name: median(values) for name, values in taken.items()}
    found = {mode: times.get(one.names.get(key, ATEN), math.nan) for mode, one in shown.items()}
    return {**found, ATEN: times.get(ATEN, math.nan)}


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
            compiled: Any = torch.compile(forward, dynamic=False, options=options(mode))
            compiled(*inputs)
        cost[mode] = {"tuning": one.seconds, "wall": one.wall, "choices": one.choices}
        replays[mode] = replay(compiled, inputs)
        print(f"{path.stem} {mode}: {one.wall:.1f} s", flush=True)
    taken: dict[str, list[float]] = {mode: [] for mode in replays}
    for turn in range(2 * ROUNDS):
        for mode in GRAPH_MODES if turn % 2 == 0 else reversed(GRAPH_MODES):
            taken[mode].append(elapsed(replays[mode]))
    times = {mode: median(values) for mode, values in taken.items()}
    return {"graph": path.stem, "cost": cost, "times": times}


def replay(compiled: Any, inputs: Sequence[Any]) -> Callable[[], Any]:
    """Return a call of a compiled graph without the time of the host, where it can be recorded."""
    import torch

    def call() -> Any:
        with torch.inference_mode():
            return compiled(*inputs)

    try:
        side = torch.cuda.Stream()
        with torch.cuda.stream(side):
            for _ in range(3):
                call()
        torch.cuda.synchronize()
        recorded = torch.cuda.CUDAGraph()
        with torch.cuda.graph(recorded):
            call()
        torch.cuda.synchronize()
    except Exception as error:
        print(f"not recorded: {error}", file=sys.stderr)
        return call
    return recorded.replay


def elapsed(run: Callable[[], Any]) -> float:
    """Return the milliseconds of a call, of many in a row."""
    import torch

    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    run()
    begin.record()
    for _ in range(REPLAYS):
        run()
    end.record()
    torch.cuda.synchronize()
    return float(begin.elapsed_time(end)) / REPLAYS


def measure(given: argparse.Namespace) -> int:
    """Measure what a journal lacks, until no more fits into the time."""
    began, model = time.monotonic(), load_choices(given.model)
    known = (
        [json.loads(line) for line in whole_lines(given.output)] if given.output.exists() else []
    )
    longest = 60.0
    with LineJournal(given.output) as journal, compilers(given.jobs):
        for name, work in parts(given, model, known):
            start = time.monotonic()
            if start + 1.2 * longest > began + given.seconds:
                print(f"out of time before {name}", flush=True)
                break
            try:
                line = work()
            except Exception as error:
                line = {"failed": name, "why": f"{type(error).__name__}: {error}"[:500]}
                print(line, file=sys.stderr, flush=True)
            journal.append(json.dumps(line).encode())
            longest = max(longest if known else 0.0, time.monotonic() - start)
            print(f"{name}: {time.monotonic() - start:.0f} s", flush=True)
    return 0


def parts(
    given: argparse.Namespace, model: Any, known: Sequence[Any]
) -> Iterator[tuple[str, Callable[[], dict[str, Any]]]]:
    """Yield what is left to do, with its name."""
    if given.part == "graphs":
        done = {line.get("graph") for line in known}
        for path in sorted(given.graphs.glob("*.graph")):
            if path.stem not in done:
                yield path.stem, lambda path=path: measure_graph(path, model)  # type: ignore[misc]
        return
    cases = [case for case in load_cases(given.cases) if case.held_out]
    done = {key for line in known for key in line.get("group", ())}
    for is_convolution in (False, True):
        alike = [case for case in cases if case.is_convolution == is_convolution]
        for turn in range(0, len(alike), GROUP):
            group = [case for case in alike[turn : turn + GROUP] if case.key not in done]
            if group:
                at = turn // GROUP
                name = f"{'convolutions' if is_convolution else 'products'} {at}"
                yield name, lambda group=group, at=at: measure_group(group, model, at)  # type: ignore[misc]


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
        path = given.output / f"{name.replace('/', '-').replace('@', '-').replace(':', '-')}.graph"
        path.write_bytes(to_bytes(made))
        print(path)
    return 0


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one part."""
    from benchmarks.inductor_choices_report import report

    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    commands = parser.add_subparsers(dest="part", required=True)
    making = commands.add_parser("prepare")
    making.add_argument("-o", "--output", type=Path, default=Path("build/inductor-graphs"))
    making.add_argument("--corpus", type=Path, default=Path("corpus"))
    for name in ("kernels", "graphs"):
        one = commands.add_parser(name)
        one.add_argument("model", type=Path)
        one.add_argument("-o", "--output", type=Path, required=True)
        one.add_argument("--cases", type=Path, default=FILE)
        one.add_argument("--graphs", type=Path, default=Path("build/inductor-graphs"))
        one.add_argument("--seconds", type=float, default=560.0)
        one.add_argument("--jobs", type=int, default=16)
    shown = commands.add_parser("report")
    shown.add_argument("journal", type=Path)
    given = parser.parse_args(arguments)
    if given.part == "report":
        return report(given.journal)
    return prepare(given) if given.part == "prepare" else measure(given)


if __name__ == "__main__":
    raise SystemExit(main())
