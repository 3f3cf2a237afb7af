"""Features of schedules: from the trace alone, against TVM's, which replays the schedule.

Claims: at least 5,000 traces a second on a core, and at least 50 times as many as TVM describes the
stores of. Both sides get the same schedules, drawn here for a convolution with a bias and for a
matrix product, with TVM loaded and the space of the function made. With ``--records`` the real
schedules of a directory of records are encoded too; counted are those that are cut, and those that
their features, in half precision as they are kept, tell apart.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.common import console, seconds, show, verdict
from graph_net.programs.features.per_store import extractor
from graph_net.programs.spaces import Workload
from graph_net.programs.spaces.ansor_steps import CPU_LENGTH, GPU_LENGTH, encode_steps, steps_of
from graph_net.programs.spaces.metaschedule import MetaScheduleSpace, workload_of
from graph_net.programs.spaces.primitives import LENGTH, TraceEncoder
from graph_net.programs.store.program_store import ProgramStore

LEAST_RATE = 5000
LEAST_RATIO = 50
BATCH = 512
Encode = Callable[[Sequence[str]], object]


def convolution() -> Any:
    """Of 64 channels of 28 × 28, and a bias."""
    from tvm import te

    image = te.placeholder((1, 64, 30, 30), name="image")
    weight = te.placeholder((64, 64, 3, 3), name="weight")
    bias = te.placeholder((64,), name="bias")
    c, y, x = (te.reduce_axis((0, n), name=name) for n, name in ((64, "c"), (3, "y"), (3, "x")))
    found = te.compute(
        (1, 64, 28, 28),
        lambda n, o, i, j: te.sum(image[n, c, i + y, j + x] * weight[o, c, y, x], axis=[c, y, x]),
        name="conv",
    )
    done = te.compute((1, 64, 28, 28), lambda n, o, i, j: found[n, o, i, j] + bias[o], name="add")
    return te.create_prim_func([image, weight, bias, done])


def product() -> Any:
    """Of two matrices of 512 × 512."""
    from tvm import te

    left, right = (te.placeholder((512, 512), name=name) for name in ("left", "right"))
    k = te.reduce_axis((0, 512), name="k")
    done = te.compute(
        (512, 512), lambda i, j: te.sum(left[i, k] * right[k, j], axis=k), name="product"
    )
    return te.create_prim_func([left, right, done])


def drawn(count: int) -> list[tuple[Workload, list[str]]]:
    """Random schedules of both functions."""
    from tvm import IRModule

    found = []
    for make in (convolution, product):
        workload = workload_of(IRModule({"main": make()}), make.__name__)
        found.append((workload, list(MetaScheduleSpace(workload).sample(count, 1))))
    return found


def in_batches(encode: Encode, texts: Sequence[str]) -> None:
    for start in range(0, len(texts), BATCH):
        encode(texts[start : start + BATCH])


def against_tvm(count: int, repeats: int) -> tuple[float, float]:
    """Programs a second from the trace, and through TVM."""
    functions = drawn(count)
    texts = [text for _, schedules in functions for text in schedules]
    work = [(extractor(workload, ""), schedules) for workload, schedules in functions]
    encoder = TraceEncoder()
    took = seconds(
        {
            "primitives": lambda: in_batches(encoder.encode, texts),
            "per store, TVM": lambda: [each(one) for each, schedules in work for one in schedules],
        },
        repeats,
    )
    rates = {name: len(texts) / duration for name, duration in took.items()}
    base = rates["per store, TVM"]
    rows = [[name, f"{rate:,.0f}", f"{rate / base:.0f}"] for name, rate in rates.items()]
    longest = max(encoder.rows(text) for text in texts)
    title = f"{len(texts)} schedules for a CPU, at most {longest} rows, one core"
    show(title, ("", "programs/s", "× TVM"), rows)
    return rates["primitives"], base


def real(records: Path) -> list[list[str]]:
    """Rates of the schedules of a directory of records, and how many are cut."""
    by_format: dict[str, list[str]] = {}
    for _, program in ProgramStore(records).programs():
        by_format.setdefault(program.task.format, []).append(program.schedule)
    rows = []
    encoder = TraceEncoder()
    cases: list[tuple[str, Encode, Callable[[str], int], int]] = [
        ("metaschedule", encoder.encode, encoder.rows, LENGTH),
        ("ansor", lambda texts: encode_steps(texts, GPU_LENGTH), _steps, GPU_LENGTH),
        ("ansor", lambda texts: encode_steps(texts, CPU_LENGTH), _steps, CPU_LENGTH),
    ]
    for name, encode, length, most in cases:
        texts = by_format.get(name, [])
        if not texts:
            continue
        start = time.process_time()
        in_batches(encode, texts)
        rate = len(texts) / (time.process_time() - start)
        found = [length(text) for text in texts]
        cut = sum(longer > most for longer in found)
        apart = len({bytes(array) for array in stored(encode, sorted(set(texts)))})
        numbers = [len(texts), round(rate), max(found), cut, len(set(texts)), apart]
        rows.append([f"{name}, {most} rows", *(f"{number:,}" for number in numbers)])
    return rows


def stored(encode: Encode, texts: Sequence[str]) -> Iterator[NDArray[np.float16]]:
    """Features of each schedule, in half precision as they are kept."""
    for start in range(0, len(texts), BATCH):
        yield from np.asarray(encode(texts[start : start + BATCH])).astype(np.float16)


def _steps(schedule: str) -> int:
    return len(steps_of(schedule))


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--schedules", type=int, default=64, help="of each function")
    options.add_argument("--repeats", type=int, default=5)
    options.add_argument("--records", type=Path, help="a directory of records that has programs")
    given = options.parse_args()
    rate, base = against_tvm(given.schedules, given.repeats)
    if given.records:
        header = "programs programs/s longest cut distinct different".split()
        show(str(given.records.name), ["real schedules", *header], real(given.records))
    else:
        console.print("real schedules: none given (--records)")
    return 0 if all([
        verdict(rate >= LEAST_RATE, f"{rate:,.0f} traces a second ({LEAST_RATE:,})"),
        verdict(rate / base >= LEAST_RATIO, f"{rate / base:.0f} × TVM's rate ({LEAST_RATIO})"),
    ]) else 1  # fmt: skip


if __name__ == "__main__":
    sys.exit(main())
