"""``python -m graph_net.torch.test_reference_device``: GraphNet's command, as a golden run.

The flags and the log are GraphNet's. What it leaves behind is the golden run that ``graph-net
reference`` makes, with a log beside it for every sample.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from pathlib import Path

from graph_net.compilers import require_compiler
from graph_net.formats.graphnet.device_log import DeviceWords, reference_lines
from graph_net.formats.graphnet.log import Words
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
    device_parser,
    log_path,
)
from graph_net.torch.test_compiler import protocol_of, tasks_of


def parser() -> argparse.ArgumentParser:
    """GraphNet's flags."""
    made = device_parser(
        "graph_net.torch.test_reference_device", "Store what a reference device gives."
    )
    made.add_argument(
        "--compiler", default="inductor", help="a name, or a Python file with a compiler"
    )
    made.add_argument("--warmup", type=int, default=5)
    made.add_argument("--trials", type=int, default=10, help="at least so many samples")
    made.add_argument("--seed", type=int, default=123)
    return made


def main(arguments: list[str] | None = None) -> int:
    """Run the samples and store what they give; logs go to standard error too."""
    given = parser().parse_args(arguments)
    try:
        check_op_lib(given.op_lib)
        samples = choose_samples(given.model_path, given.allow_list)
        config = config_of(given.compiler, compiler_options(given.config))
        require_compiler(config.name, config.options)
        device = describe(given.device)
    except (ValueError, OSError, AssertionError, RuntimeError) as error:
        print(printable(f"error: {error}"), file=sys.stderr)
        return 2
    protocol = replace(
        protocol_of(given.warmup, given.trials), seed=given.seed, exact=False, warm_compile=False
    )
    words = DeviceWords(
        Words(given.log_prompt, given.warmup, given.trials), given.seed, given.op_lib
    )
    asked: dict[str, Json] = {
        "warmup": given.warmup, "trials": given.trials, "op_lib": given.op_lib,
    }  # fmt: skip
    directory = Path(given.reference_dir)
    bad: list[Record] = []
    places: dict[str, list[str]] = {}
    lanes = Lanes(default_jobs(given.device), given.device)
    with RecordStore(directory).locked():
        todo = tasks_of(samples, config, device, protocol, places, bad)
        done: dict[str, Record] = {}
        for record in make_golden(GoldenStore(directory), todo, lanes, asked):
            done[record.key] = record
            _tell(record, places[record.key][0], words, directory)
        for key, paths in places.items():
            for path in paths[1:]:
                _tell(done[key], path, words, directory)
        for record in bad:
            _tell(record, record.subject.name, words, directory)
    return 0


def _tell(record: Record, path: str, words: DeviceWords, directory: Path) -> None:
    """Write the log of a sample, complete or not at all, and print it."""
    text = "".join(f"{printable(line)}\n" for line in reference_lines(record, path, words))
    write_text(log_path(directory, path), text)
    print(text, end="", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
