"""A bundle: graphs, configurations and the measuring code in one file for a bare machine.

``python BUNDLE.zip`` measures there, with torch, numpy and the standard library alone, and writes
one file of records; the same command again resumes.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import zipfile
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from graph_net.compilers.trusted import trusted_config
from graph_net.graph import DEFAULT_LIMITS
from graph_net.measure.device import describe
from graph_net.measure.plan import default_jobs, make_tasks
from graph_net.measure.protocol import MeasureLimits, Protocol
from graph_net.measure.runner import measure
from graph_net.measure.task import Measurement
from graph_net.printable import printable
from graph_net.results import Config, Record, Subject, read_as
from graph_net.store.bundle import read_member, write_sources
from graph_net.store.counting import counting_records
from graph_net.store.record_journal import RecordJournal, read_journal

PACKAGES = ("isolate", "graph", "results", "rewrite", "compilers", "measure")
MODULES = (
    "__init__.py",
    "printable.py",
    "user_file.py",
    *(
        f"store/{name}.py"
        for name in "__init__ atomic bundle counting files journal lines record_journal".split()
    ),
)
PLAN = "plan.json"
MOST_PLAN = 256 << 20
"""The most bytes of a plan; one graph takes a few hundred."""


@dataclass(frozen=True)
class BundlePlan:
    """What a bundle asks for."""

    subjects: tuple[Subject, ...]
    configs: tuple[Config, ...]
    device: str
    protocol: Protocol
    limits: MeasureLimits


def write_bundle(
    path: Path,
    graphs: Iterable[tuple[Subject, bytes]],
    configs: Sequence[Config],
    device: str,
    protocol: Protocol,
    limits: MeasureLimits,
) -> int:
    """Write a bundle; return how many graphs it holds."""
    for config in configs:
        trusted_config(config)  # refuse here what the other machine would refuse
    subjects: list[Subject] = []
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as bundle:
        write_sources(bundle, __name__, PACKAGES, MODULES)
        for subject, data in graphs:
            bundle.writestr(f"graphs/{len(subjects)}", data)
            subjects.append(subject)
        plan = BundlePlan(tuple(subjects), tuple(configs), device, protocol, limits)
        bundle.writestr(PLAN, json.dumps(asdict(plan)))
    return len(subjects)


def main(path: str, arguments: list[str] | None = None) -> None:
    """Measure a bundle's tasks; print one line per record, and a summary at the end."""
    parser = argparse.ArgumentParser(prog="python BUNDLE", description=__doc__.split("\n")[0])
    parser.add_argument("-o", "--output", type=Path, default=Path("records.jsonl"))
    parser.add_argument("-j", "--jobs", type=int, default=0, help="builders; 0: one per core")
    parser.add_argument(
        "--budget", type=float, default=0, help="start nothing new after this many seconds"
    )
    options = parser.parse_args(arguments)
    with zipfile.ZipFile(path) as bundle:
        plan = read_plan(bundle)
        done = set[str]()
        if options.output.exists():
            counting = counting_records(read_journal(options.output))
            done = {key for key, record in counting.items() if record.final}
        run = measure(
            take_until(bundle_tasks(bundle, plan, done), options.budget),
            jobs=options.jobs or default_jobs(plan.device),
            compilers=[config.name for config in plan.configs],
            device=plan.device,
        )
        _write_records(run, options.output)


def read_plan(bundle: zipfile.ZipFile) -> BundlePlan:
    """Return the plan of a bundle, with the compiler versions of this machine.

    Raise ValueError on a plan that is too large or has untrusted configurations.
    """
    plan = read_as(BundlePlan, read_member(bundle, PLAN, MOST_PLAN), "plan")
    return replace(plan, configs=tuple(map(trusted_config, plan.configs)))


def bundle_tasks(
    bundle: zipfile.ZipFile, plan: BundlePlan, done: Collection[str] = ()
) -> Iterator[Measurement]:
    """Return the tasks of a bundle, for this machine."""
    return make_tasks(
        _graphs(bundle, plan.subjects),
        plan.configs,
        describe(plan.device),
        plan.protocol,
        plan.limits,
        done,
    )


def _graphs(
    bundle: zipfile.ZipFile, subjects: Sequence[Subject]
) -> Iterator[tuple[Subject, bytes]]:
    for number, subject in enumerate(subjects):
        yield subject, read_member(bundle, f"graphs/{number}", DEFAULT_LIMITS.bytes)


def take_until(todo: Iterator[Measurement], seconds: float) -> Iterator[Measurement]:
    """Yield tasks for this many seconds; 0 means no limit."""
    end = time.monotonic() + seconds if seconds else None
    for task in todo:
        if end is not None and time.monotonic() > end:
            return
        yield task


def _write_records(run: Iterator[Record], output: Path) -> None:
    counts: Counter[str] = Counter()
    with RecordJournal(output) as journal:
        for record in run:
            journal.add(record)
            result = str(record.timing.verdict) if record.timing else ""
            if record.failure is not None:
                result = f"{record.failure.stage} {record.failure.symptom}"
            counts[result] += 1
            line = printable(f"{record.config.label} {record.subject.name}: {result}")
            print(line, file=sys.stderr)
    print(f"{output}: " + ", ".join(f"{n} {result}" for result, n in sorted(counts.items())))
