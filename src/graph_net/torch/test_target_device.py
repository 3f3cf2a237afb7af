"""``python -m graph_net.torch.test_target_device``: GraphNet's command, against a golden run.

The compiler, its options, warm-up, trials and the seed are the reference's. Samples that the
reference does not have are skipped, as GraphNet does.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from graph_net.compilers.trusted import trusted_config
from graph_net.corpus.open_sample import open_sample
from graph_net.formats.graphnet.device_log import DeviceComparison, DeviceLogHeader, target_lines
from graph_net.formats.graphnet.log import LogHeader
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
    make_device_parser,
)


def make_parser() -> argparse.ArgumentParser:
    """Return a parser of GraphNet's flags."""
    program = "graph_net.torch.test_target_device"
    parser = make_device_parser(program, "Compare a device with a reference.")
    parser.add_argument(
        "--compiler", help="instead of the reference's; one of your own must be named again"
    )
    return parser


@dataclass
class _Reference:
    """The golden runs of a reference directory for the samples that were asked for."""

    paths: dict[str, list[str]]
    """The samples of each golden run, by its name."""
    left_out: list[str]


def main(arguments: list[str] | None = None) -> int:
    """Run the samples of the reference here; the log goes to standard error."""
    options = make_parser().parse_args(arguments)
    try:
        check_op_lib(options.op_lib)
        store = GoldenStore(options.reference_dir).require()
        reference = _find(store, choose_samples(options.model_path, options.allow_list))
        describe(options.device)
        config = _config(store, reference, options.compiler, compiler_options(options.config))
    except (ValueError, OSError, AssertionError, RuntimeError) as error:
        print(printable(f"error: {error}"), file=sys.stderr)
        return 2
    for remark in reference.left_out:
        print(printable(remark), file=sys.stderr)
    lanes = Lanes(default_jobs(options.device), options.device)
    names = list(reference.paths)
    device = device_like(options.device)
    for again in run_again(store, names, device, MeasureLimits(), lanes, config):
        for path in reference.paths[again.name]:
            for line in _lines(again, path, options.log_prompt, options.op_lib):
                print(printable(line), file=sys.stderr, flush=True)
    return 0


def _find(store: GoldenStore, samples: list[Path]) -> _Reference:
    """Find golden runs by the graphs of samples, whatever the samples are called here."""
    names_by_graph: dict[str, list[str]] = {}
    reference = _Reference({}, [])
    for name in store.names():
        try:
            names_by_graph.setdefault(store.read(name).record.subject.id, []).append(name)
        except GoldenError as error:
            reference.left_out.append(str(error))
    for sample in samples:
        try:
            names = names_by_graph.get(open_sample(sample).id, [])
        except (GraphError, OSError) as error:
            reference.left_out.append(f"{sample} is left out: it cannot be read: {error}")
            continue
        if not names:
            reference.left_out.append(f"{sample} is left out: the reference does not have it")
        for name in names:
            reference.paths.setdefault(name, []).append(str(sample))
    return reference


def _config(
    store: GoldenStore, reference: _Reference, compiler: str | None, options: str
) -> Config | None:
    """Return the configuration asked for instead of the reference's; only its name is trusted."""
    if compiler is not None:
        return config_of(compiler, options)
    if not options or not reference.paths:
        return None
    stored = store.read(next(iter(reference.paths))).record.config
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


def _words(run: GoldenRun, prompt: str, op_lib: str) -> DeviceLogHeader:
    """Return the reference's settings; ``graph-net reference`` stores none of them."""
    warmup, trials = run.asked.get("warmup"), run.asked.get("trials")
    words = LogHeader(
        prompt,
        warmup if isinstance(warmup, int) else run.protocol.warm_calls,
        trials if isinstance(trials, int) else run.protocol.min_blocks,
    )
    origin = str(run.asked.get("op_lib", "default"))
    return DeviceLogHeader(words, run.protocol.seed, origin if op_lib == "origin" else op_lib)


def _compared(record: Record) -> DeviceComparison:
    outputs, failure, _ = read_comparison(record)
    stored = record.environment.get(ENVIRONMENT)
    forms = stored.get("forms") if isinstance(stored, dict) else None
    if not isinstance(forms, list) or len(forms) != 2:
        return DeviceComparison(outputs, failure, ((), ()))
    then, now = (form if isinstance(form, list) else [] for form in forms)
    return DeviceComparison(outputs, failure, (then, now))


if __name__ == "__main__":
    sys.exit(main())
