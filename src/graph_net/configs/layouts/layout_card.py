"""The card of a data set of layouts: its contents, how it was made, how to read it."""

from __future__ import annotations

import json
import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from statistics import median
from typing import Any

from graph_net.configs.layouts.layout_splits import LayoutSplits
from graph_net.results import Program

SECOND = "second measurements"


def count_by(names: Iterable[str]) -> dict[str, int]:
    """Return how often each name occurs."""
    return dict(sorted(Counter(names).items()))


def search_of(program: Program, is_second: bool) -> str:
    """Return the search that a result is of; a second measurement needs to name none."""
    named = json.loads(program.extra or "{}").get("search")
    return str(named) if named else SECOND if is_second else "unknown"


def differences_of_repeats(programs: Sequence[Program]) -> list[float]:
    """Return the difference in percent between two measurements of each layout that has two.

    Each is relative to the original of the same turn.
    """
    ratios: defaultdict[tuple[str, str], list[float]] = defaultdict(list)
    for program in programs:
        if program.failure is None:
            control = median(json.loads(program.extra)["control"])
            ratios[program.task.workload, program.schedule].append(median(program.costs) / control)
    twice = [pair for pair in ratios.values() if len(pair) > 1]
    return [100 * abs(math.log(pair[1] / pair[0])) for pair in twice]


def layouts_card(found: Sequence[Any], splits: LayoutSplits) -> str:
    """Return the card; ``found`` are the counts of each platform."""
    results = sum(one.results for one in found)
    lines = ["---", "license: mit", "pretty_name: GraphNet layouts", "task_categories:"]
    lines += ["- tabular-regression", "- graph-ml", "configs:"]
    for one in found:
        lines += [f"- config_name: {one.platform}", "  data_files:", "  - split: programs"]
        lines += [f"    path: {one.platform}/programs-plain.parquet"]
    head = "\n".join([*lines, "---", ""])
    rows = "\n".join(_row(one) for one in found)
    rules = "\n".join(
        f"- `{rule}`: {text} ({_sizes(splits.sides[rule])})" for rule, text in splits.rules.items()
    )
    return f"""{head}
# Layouts: whole graphs under dimension orders, measured

{results:,} measured layouts of PyTorch graphs: for every convolution, product of matrices, reshape
and permutation the dimension order (minor to major) of its output, input and kernel; the graph
rewritten with copies where strides ask for them, checked against the original and timed in rounds
with it. Made and published by `graph-net configs collect` and `graph-net configs publish`.

| platform | device | results | failed | graphs | second measurements | two times differ by |
|---|---|---|---|---|---|---|
{rows}

{_details(found)}
## Two forms

`PLATFORM/programs-plain.parquet` has one row per measurement: `costs` are the seconds of every
repeat, `schedule` the layout, `extra` the rest as JSON: `control` and `second` are the original's
seconds in the same rounds, `copies` the predicted number and bytes of copies (explicit, eager's
own, inside kernels; mixed: a call over two layouts), `error` the largest difference of an output
over its largest value, `search`, `turn`, and `again` for second measurements. Some of those are not
marked: any later row of the same `workload` and `schedule` is one. `[[0,431,0],…]` is output,
input, kernel of each configurable node, dimensions from 1, the most minor first, 0: as it comes.

`npz/layout/PLATFORM/SEARCH/SIDE/GRAPH.npz` is TpuGraphs' own form: a model that reads theirs reads
these. `random` is a random search, `default` a genetic one, as there. Differences: `config_runtime`
is the median ratio to the original in the same rounds times the original's median time;
permutations (`transpose`) are configurable too; an order that is not set is all -1, and one that is
set names all dimensions. On a GPU times are of recorded kernels (CUDA graph) from cold caches: the
host's launches are not in them.

## Splits

`splits.json` names the graphs of each side. The folders of the npz files are those of `graph`.

{rules}
"""


def _row(one: Any) -> str:
    noise = "" if one.noise is None else f"{one.noise:.2f} % ({one.pairs} layouts)"
    return (
        f"| `{one.platform}` | {one.device} | {one.results:,} | {one.failed:,} | {one.graphs} "
        f"| {one.twice} | {noise} |"
    )


def _details(found: Sequence[Any]) -> str:
    lines = []
    for one in found:
        kinds = [one.categories, one.searches, one.compilers]
        texts = [", ".join(f"{name} {count:,}" for name, count in kind.items()) for kind in kinds]
        lines.append(
            f"- `{one.platform}`: graphs by category: {texts[0]}; results by search: {texts[1]}; "
            f"by compiler: {texts[2]}."
        )
    return "\n".join(lines) + "\n"


def _sizes(sides: Mapping[str, Sequence[str]]) -> str:
    return ", ".join(f"{side} {len(names)}" for side, names in sides.items())
