"""A bundle: graphs, configurations and the measuring code in one file for a bare machine.

``python BUNDLE.zip`` measures there, with torch, numpy and the standard library alone, and leaves
one file of records; the same command again goes on where it stopped.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import zipfile
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path

from graph_net.measure.device import describe
from graph_net.measure.journal import Journal, read_journal
from graph_net.measure.plan import default_jobs, tasks
from graph_net.measure.protocol import Limits, Protocol
from graph_net.measure.runner import measure
from graph_net.measure.task import Task
from graph_net.record import Config, Record, RecordError, Stage, Subject

PACKAGES = ("graph", "record", "rewrite", "isolate", "compilers", "measure")
_MAIN = """\
import sys

sys.dont_write_bytecode = True
from graph_net.measure.bundle import main

main(sys.path[0])
"""


def write_bundle(
    path: Path,
    graphs: Iterable[tuple[Subject, bytes]],
    configs: Sequence[Config],
    device: str,
    protocol: Protocol,
    limits: Limits,
) -> int:
    """Write a bundle; how many graphs it holds."""
    strange = [config.name for config in configs if ".py" in config.name]
    if strange:
        raise RecordError(f"{strange[0]} is a file of this machine; a bundle takes known compilers")
    source = Path(__file__).parents[1]
    subjects: list[dict[str, str]] = []
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as bundle:
        bundle.writestr("__main__.py", _MAIN)
        bundle.writestr("graph_net/__init__.py", (source / "__init__.py").read_text("utf-8"))
        for package in PACKAGES:
            for file in sorted((source / package).rglob("*")):
                if file.suffix in (".py", ".txt"):
                    bundle.write(file, f"graph_net/{file.relative_to(source)}")
        for subject, data in graphs:
            bundle.writestr(f"graphs/{len(subjects)}", data)
            subjects.append(asdict(subject))
        plan = {
            "subjects": subjects,
            "configs": [asdict(config) for config in configs],
            "device": device,
            "protocol": asdict(protocol),
            "limits": asdict(limits),
        }
        bundle.writestr("plan.json", json.dumps(plan))
    return len(subjects)


def main(place: str, arguments: list[str] | None = None) -> None:
    """Measure what the bundle at ``place`` holds; one line a record, a summary at the end."""
    parser = argparse.ArgumentParser(prog="python BUNDLE", description=__doc__.split("\n")[0])
    parser.add_argument("-o", "--output", type=Path, default=Path("records.jsonl"))
    parser.add_argument("-j", "--jobs", type=int, default=0, help="builders; 0 for one a core")
    parser.add_argument("--budget", type=float, default=0, help="start nothing after so many s")
    given = parser.parse_args(arguments)
    with zipfile.ZipFile(place) as bundle:
        plan = json.loads(bundle.read("plan.json"))
        done = set[str]()
        if given.output.exists():
            done = {record.key for record in read_journal(given.output) if record.final}
        run = measure(
            until(read_plan(bundle, done), given.budget),
            jobs=given.jobs or default_jobs(plan["device"]),
            compilers=[tree["name"] for tree in plan["configs"]],
            alone=plan["device"] == "cpu",
        )
        _write(run, given.output)


def read_plan(bundle: zipfile.ZipFile, done: Collection[str] = ()) -> Iterator[Task]:
    """The tasks of a bundle, for the machine this runs on."""
    plan = json.loads(bundle.read("plan.json"))
    limits = plan["limits"]
    seconds = {Stage(stage): value for stage, value in limits["seconds"].items()}
    return tasks(
        _graphs(bundle, plan["subjects"]),
        [config_here(Config(**tree)) for tree in plan["configs"]],
        describe(plan["device"]),
        Protocol(**plan["protocol"]),
        Limits(seconds, limits["memory_bytes"]),
        done,
    )


def config_here(config: Config) -> Config:
    """The configuration with the version that this machine has."""
    from graph_net.compilers import create

    compiler = create(config.name, config.options)
    version = "" if compiler.missing() else compiler.version()
    return Config(config.kind, config.name, version, config.options)


def _graphs(
    bundle: zipfile.ZipFile, subjects: list[dict[str, str]]
) -> Iterator[tuple[Subject, bytes]]:
    for number, tree in enumerate(subjects):
        yield Subject(**tree), bundle.read(f"graphs/{number}")


def until(todo: Iterator[Task], seconds: float) -> Iterator[Task]:
    """The tasks, until a time is over; 0 is never."""
    end = time.monotonic() + seconds if seconds else None
    for task in todo:
        if end is not None and time.monotonic() > end:
            return
        yield task


def _write(run: Iterator[Record], output: Path) -> None:
    counts: Counter[str] = Counter()
    with Journal(output) as journal:
        for record in run:
            journal.add(record)
            what = str(record.timing.verdict) if record.timing else str(record.failure)
            if record.failure is not None:
                what = f"{record.failure.stage} {record.failure.symptom}"
            counts[what] += 1
            print(f"{record.config.label} {record.subject.name}: {what}", file=sys.stderr)
    print(f"{output}: " + ", ".join(f"{n} {what}" for what, n in sorted(counts.items())))
