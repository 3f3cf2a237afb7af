"""``python -m graph_net.torch.test_reference_device``: GraphNet's command, as a golden run.

The flags and the log are GraphNet's. It leaves the golden run that ``graph-net reference`` makes,
with a log beside it for every sample.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from pathlib import Path

from graph_net.compilers import require_compiler
from graph_net.formats.graphnet.device_log import DeviceLogHeader, reference_lines
from graph_net.formats.graphnet.log import LogHeader
from graph_net.golden.runs import Lanes, make_golden
from graph_net.golden.store import GoldenStore
from graph_net.measure.device import describe
from graph_net.measure.plan import config_of, default_jobs
from graph_net.printable import printable
from graph_net.results import Json, Record
from graph_net.store.atomic import write_text
from graph_net.store.records import RecordStore
from graph_net.torch.device_tests import (
    check_op_lib,
    choose_samples,
    compiler_options,
    log_path,
    make_device_parser,
)
from graph_net.torch.test_compiler import pair_with_samples, protocol_of, tasks_of


def make_parser() -> argparse.ArgumentParser:
    """Return a parser of GraphNet's flags."""
    parser = make_device_parser(
        "graph_net.torch.test_reference_device", "Store what a reference device gives."
    )
    parser.add_argument(
        "--compiler", default="inductor", help="a name, or a Python file with a compiler"
    )
    parser.add_argument("--warmup", type=int, default=5)
    parser.add_argument("--trials", type=int, default=10, help="take at least this many samples")
    parser.add_argument("--seed", type=int, default=123)
    return parser


def main(arguments: list[str] | None = None) -> int:
    """Run the samples and store their outputs; logs go to standard error too."""
    options = make_parser().parse_args(arguments)
    try:
        check_op_lib(options.op_lib)
        samples = choose_samples(options.model_path, options.allow_list)
        config = config_of(options.compiler, compiler_options(options.config))
        require_compiler(config.name, config.options)
        device = describe(options.device)
    except (ValueError, OSError, AssertionError, RuntimeError) as error:
        print(printable(f"error: {error}"), file=sys.stderr)
        return 2
    protocol = protocol_of(options.warmup, options.trials)
    protocol = replace(protocol, seed=options.seed, exact=False, warm_compile=False)
    words = DeviceLogHeader(
        LogHeader(options.log_prompt, options.warmup, options.trials), options.seed, options.op_lib
    )
    asked: dict[str, Json] = {
        "warmup": options.warmup, "trials": options.trials, "op_lib": options.op_lib,
    }  # fmt: skip
    directory = Path(options.reference_dir)
    bad: list[Record] = []
    paths: dict[str, list[str]] = {}
    lanes = Lanes(default_jobs(options.device), options.device)
    with RecordStore(directory).locked():
        tasks = tasks_of(samples, config, device, protocol, paths, bad)
        records = make_golden(GoldenStore(directory), tasks, lanes, asked)
        for record, path in pair_with_samples(records, paths, bad):
            _write_log(record, path, words, directory)
    return 0


def _write_log(record: Record, path: str, words: DeviceLogHeader, directory: Path) -> None:
    """Write the log of a sample, complete or not at all, and print it."""
    text = "".join(f"{printable(line)}\n" for line in reference_lines(record, path, words))
    write_text(log_path(directory, path), text)
    print(text, end="", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
