"""TenSet's scale: records like its own, ingested and asked, from half a million to 52 million.

    python -m benchmarks.programs_at_scale --sizes 500000 5000000 51577248

Claims: at most 48 bytes a record; ingested at a rate that takes 52 million in 15 minutes; each
question in a minute; no process over 4 GB, and memory that does not grow with the records. Lines
are made, ingested with ``graph-net ingest`` and deleted some files at a time: few are on disk.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from multiprocessing import get_context
from pathlib import Path

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq

from benchmarks.common import console, show, verdict
from benchmarks.memory import peak_of_this, used_by
from benchmarks.tenset_like import shards, write_shard
from graph_net.programs.store.program_store import ProgramStore
from graph_net.programs.store.questions import batches, best_by_task, top_k
from graph_net.store.sql import Sql

TENSET = 51_577_248
BYTES, MINUTES, SECONDS, GIGABYTES, GROWTH = 48, 15, 60, 4, 0.25
BATCH, KERNEL = 4096, "conv2d_layer"
RANKING = "ranking.parquet"


@dataclass
class Run:
    """What one size took."""

    records: int
    source_bytes: int = 0
    ingest: float = 0.0
    cpu: float = 0.0
    """Seconds on all cores: what the ingest would take of a machine that does nothing else."""
    memory: int = 0
    stored_bytes: int = 0
    asked: dict[str, float] = field(default_factory=dict)
    asked_memory: int = 0


def best(store: ProgramStore) -> str:
    """The least cost of every task."""
    return f"{len(best_by_task(store))} tasks"


def ranked(store: ProgramStore) -> str:
    """Top-k of a ranking of all programs that ran."""
    scores = top_k(store, ds.dataset(store.path / RANKING))
    return ", ".join(f"top-{score.k} {score.pooled:.4f}" for score in scores)


def batch(store: ProgramStore) -> str:
    """The first training batch of one kernel's programs, with their schedules."""
    found = next(batches(store, f"kernel = '{KERNEL}' AND status = 'success'", BATCH))
    return f"{len(found)} programs of {len(set(found['task'].to_pylist()))} tasks"


QUESTIONS: dict[str, Callable[[ProgramStore], str]] = {
    "per-task minimum": best,
    "top-k of a ranking": ranked,
    "training batch": batch,
}


def write_ranking(store: ProgramStore) -> None:
    """What a fair model would say: the cost, wrong by up to half."""
    with Sql() as connection:
        store.create_view(connection)
        found: pa.RecordBatchReader = connection.execute(
            "SELECT task, program, -cost * (0.5 + hash(program) % 1000 / 1000) AS score "
            "FROM programs WHERE status = 'success'"
        ).to_arrow_reader()
        with pq.ParquetWriter(store.path / RANKING, found.schema) as writer:
            for rows in found:
                writer.write_batch(rows)


def ingest(run: Run, folder: Path, records: int, given: argparse.Namespace) -> None:
    """Make the files, some at a time; only ``graph-net ingest`` is timed."""
    tool = [sys.executable, "-m", "graph_net.cli.main", "ingest", "-o", str(folder)]
    every = list(enumerate(shards(records, given.shard)))
    for begin in range(0, len(every), given.files):
        some = every[begin : begin + given.files]
        paths = [folder / f"shard-{number}.json" for number, _ in some]
        context = get_context("spawn")
        with ProcessPoolExecutor(given.jobs, mp_context=context) as pool:
            made = [
                pool.submit(write_shard, path, first, count, given.seed)
                for path, (_, (first, count)) in zip(paths, some, strict=True)
            ]
            run.source_bytes += sum(one.result() for one in made)
        start = time.perf_counter()
        process = subprocess.Popen(
            [*tool, "-j", str(given.jobs), *map(str, paths)], stderr=subprocess.DEVNULL
        )
        used = used_by(process)
        run.ingest += time.perf_counter() - start
        run.memory, run.cpu = max(run.memory, used.peak), run.cpu + used.cpu
        if process.returncode:
            raise RuntimeError(f"graph-net ingest ended with {process.returncode}")
        for path in paths:
            path.unlink()
        console.print(f"  {some[-1][0] + 1} of {len(every)} files, {run.ingest:.0f} s of ingest")


def measured(records: int, folder: Path, given: argparse.Namespace) -> Run:
    run = Run(records)
    ingest(run, folder, records, given)
    store = ProgramStore(folder)
    run.stored_bytes = sum(part.stat().st_size for part in store.parts())
    write_ranking(store)
    for name in QUESTIONS:
        words = [sys.executable, "-m", __spec__.name, "--ask", name, "--folder", str(folder)]
        said = subprocess.run(words, check=True, capture_output=True, text=True).stdout
        answer = json.loads(said.splitlines()[-1])
        run.asked[name] = answer["seconds"]
        run.asked_memory = max(run.asked_memory, answer["memory"])
        console.print(f"  {name}: {answer['answer']}, {answer['seconds']:.2f} s")
    return run


def answer(name: str, folder: Path) -> None:
    """One question in a process of its own, so that its memory can be told."""
    start = time.perf_counter()
    said = QUESTIONS[name](ProgramStore(folder))
    took = time.perf_counter() - start
    print(json.dumps({"answer": said, "seconds": took, "memory": peak_of_this()}))


def table(runs: list[Run]) -> Iterator[list[str]]:
    """A line a figure: its value at each size, and the exponent of its growth."""
    figures: dict[str, tuple[Callable[[Run], float], str]] = {
        "source, GB": (lambda run: run.source_bytes / 1e9, ".2f"),
        "ingest, s": (lambda run: run.ingest, ".1f"),
        "records/s": (lambda run: run.records / run.ingest, ",.0f"),
        "ingest, CPU s": (lambda run: run.cpu, ".1f"),
        "records a CPU second": (lambda run: run.records / run.cpu, ",.0f"),
        "bytes a record": (lambda run: run.stored_bytes / run.records, ".1f"),
        "peak of an ingesting process, MB": (lambda run: run.memory / 1e6, ".0f"),
        **{f"{name}, s": (_asked(name), ".2f") for name in QUESTIONS},
        "peak of an asking process, MB": (lambda run: run.asked_memory / 1e6, ".0f"),
    }
    for name, (figure, form) in figures.items():
        values = [figure(run) for run in runs]
        yield [name, *(format(value, form) for value in values), f"{_growth(runs, values):.2f}"]


def _asked(name: str) -> Callable[[Run], float]:
    return lambda run: run.asked[name]


def _growth(runs: list[Run], values: list[float]) -> float:
    """The power of the number of records that a figure grows with, from the first to the last."""
    if len(runs) < 2:
        return math.nan
    return math.log(values[-1] / values[0]) / math.log(runs[-1].records / runs[0].records)


def claims(runs: list[Run]) -> bool:
    last = runs[-1]
    size, rate = last.stored_bytes / last.records, last.records / last.ingest
    slowest = max(last.asked.values())
    peak = max(last.memory, last.asked_memory) / 1e9
    held = [
        verdict(size <= BYTES, f"{size:.1f} bytes a record (at most {BYTES})"),
        verdict(
            rate >= TENSET / (60 * MINUTES),
            f"{rate:,.0f} records/s: TenSet in {TENSET / rate / 60:.1f} minutes ({MINUTES})",
        ),
        verdict(slowest <= SECONDS, f"the slowest question takes {slowest:.1f} s ({SECONDS})"),
        verdict(peak <= GIGABYTES, f"no process takes more than {peak:.2f} GB ({GIGABYTES})"),
    ]
    if len(runs) > 1:
        growth = _growth(runs, [float(run.memory) for run in runs])
        held.append(verdict(growth <= GROWTH, f"ingest's memory grows with n^{growth:.2f}"))
    return all(held)


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--sizes", type=int, nargs="+", default=[500_000, 5_000_000])
    options.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    options.add_argument("--shard", type=int, default=500_000, help="records a file")
    options.add_argument("--files", type=int, default=16, help="files on disk at once")
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("--folder", type=Path, help="where to work; else a temporary folder")
    options.add_argument("--ask", choices=QUESTIONS, help=argparse.SUPPRESS)
    given = options.parse_args()
    if given.ask:
        answer(given.ask, given.folder)
        return 0
    runs: list[Run] = []
    for records in sorted(given.sizes):
        console.print(f"{records:,} records")
        with tempfile.TemporaryDirectory(dir=given.folder) as folder:
            runs.append(measured(records, Path(folder), given))
    header = ("records", *(f"{run.records:,}" for run in runs), "growth n^")
    show("programs at scale", header, list(table(runs)))
    return 0 if claims(runs) else 1


if __name__ == "__main__":
    sys.exit(main())
