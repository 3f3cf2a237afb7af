"""``python -m graph_net.torch.test_target_device``: GraphNet's command, against a golden run.

The compiler, its options, warm-up, trials and the seed are the reference's. Samples that the
reference does not have are passed over, as GraphNet does.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from graph_net.compilers.trusted import trusted_config
from graph_net.corpus.open_sample import open_sample
from graph_net.formats.graphnet.device_log import Compared, DeviceWords, target_lines
from graph_net.formats.graphnet.log import Words
from graph_net.golden.runs import Lanes, Rerun, device_like, run_again
from graph_net.golden.store import GoldenError, GoldenRun, GoldenStore
from graph_net.golden.verdict import read_comparison
from graph_net.graph import GraphError
from graph_net.measure import MeasureLimits
from graph_net.measure.device import describe
from graph_net.measure.golden import ENVIRONMENT
from graph_net.measure.plan import config_of, default_jobs
from graph_net.printable import printable
from graph_net.results import Config, Record
from graph_net.torch.device_tests import (
    check_op_lib,
    choose_samples,
    compiler_options,
    device_parser,
)


def parser() -> argparse.ArgumentParser:
    """GraphNet's flags."""
    made = device_parser("graph_net.torch.test_target_device", "Hold a device against a reference.")
    made.add_argument(
        "--compiler", help="instead of the reference's; one of your own must be named again"
    )
    return made


@dataclass
class _Reference:
    """What a reference directory has of the samples that were asked for."""

    places: dict[str, list[str]]
    """Where the graph of each golden run lies, by its name."""
    left_out: list[str]


def main(arguments: list[str] | None = None) -> int:
    """Run the samples of the reference here; the log goes to standard error."""
    given = parser().parse_args(arguments)
    try:
        check_op_lib(given.op_lib)
        store = GoldenStore(given.reference_dir).require()
        found = _find(store, choose_samples(given.model_path, given.allow_list))
        describe(given.device)
        config = _config(store, found, given.compiler, compiler_options(given.config))
    except (ValueError, OSError, AssertionError, RuntimeError) as error:
        print(printable(f"error: {error}"), file=sys.stderr)
        return 2
    for remark in found.left_out:
        print(printable(remark), file=sys.stderr)
    lanes = Lanes(default_jobs(given.device), given.device)
    names = list(found.places)
    for again in run_again(store, names, device_like(given.device), MeasureLimits(), lanes, config):
        for path in found.places[again.name]:
            for line in _lines(again, path, given.log_prompt, given.op_lib):
                print(printable(line), file=sys.stderr, flush=True)
    return 0


def _find(store: GoldenStore, samples: list[Path]) -> _Reference:
    """Golden runs by the graphs of samples, whatever the samples are called here."""
    known: dict[str, list[str]] = {}
    found = _Reference({}, [])
    for name in store.names():
        try:
            known.setdefault(store.read(name).record.subject.id, []).append(name)
        except GoldenError as error:
            found.left_out.append(str(error))
    for sample in samples:
        try:
            names = known.get(open_sample(sample).id, [])
        except (GraphError, OSError) as error:
            found.left_out.append(f"{sample} is left out: it cannot be read: {error}")
            continue
        if not names:
            found.left_out.append(f"{sample} is left out: the reference does not have it")
        for name in names:
            found.places.setdefault(name, []).append(str(sample))
    return found


def _config(
    store: GoldenStore, found: _Reference, compiler: str | None, options: str
) -> Config | None:
    """What was asked for in the place of the reference's; its name is trusted, no file of it is."""
    if compiler is not None:
        return config_of(compiler, options)
    if not options or not found.places:
        return None
    stored = store.read(next(iter(found.places))).record.config
    return config_of(trusted_config(replace(stored, options={})).name, options)


def _lines(again: Rerun, path: str, prompt: str, op_lib: str) -> Iterator[str]:
    run = again.run
    if run is None or again.problem:
        yield f"{path} is left out: {again.problem}"
    elif again.record is None:
        yield f"{path} is left out: it failed on the reference device"
    else:
        yield from target_lines(
            run.record, again.record, _compared(again.record), path, _words(run, prompt, op_lib)
        )


def _words(run: GoldenRun, prompt: str, op_lib: str) -> DeviceWords:
    """What the reference was told; a golden run of ``graph-net reference`` was told none of it."""
    warmup, trials = run.asked.get("warmup"), run.asked.get("trials")
    words = Words(
        prompt,
        warmup if isinstance(warmup, int) else run.protocol.warm_calls,
        trials if isinstance(trials, int) else run.protocol.min_blocks,
    )
    origin = str(run.asked.get("op_lib", "default"))
    return DeviceWords(words, run.protocol.seed, origin if op_lib == "origin" else op_lib)


def _compared(record: Record) -> Compared:
    outputs, failure, _ = read_comparison(record)
    stored = record.environment.get(ENVIRONMENT)
    forms = stored.get("forms") if isinstance(stored, dict) else None
    if not isinstance(forms, list) or len(forms) != 2:
        return Compared(outputs, failure, ((), ()))
    then, now = (each if isinstance(each, list) else [] for each in forms)
    return Compared(outputs, failure, (then, now))


if __name__ == "__main__":
    sys.exit(main())
