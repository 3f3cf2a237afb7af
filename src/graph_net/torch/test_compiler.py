"""``python -m graph_net.torch.test_compiler``: GraphNet's command, measured our way.

The flags and the log are GraphNet's. ``--warmup`` and ``--trials`` are lower bounds here: a graph
is warmed up until it stops getting faster, and sampled, interleaved with eager, until the result
is certain enough or the time is up.
"""

from __future__ import annotations

import argparse
import base64
import json
import math
import sys
from collections.abc import Iterator
from pathlib import Path

from graph_net.compilers import require_compiler
from graph_net.corpus.open_sample import open_sample
from graph_net.corpus.subjects import subject_of
from graph_net.formats.graphnet import find_samples
from graph_net.formats.graphnet.log import Words, log_lines
from graph_net.graph import GraphError, to_bytes
from graph_net.measure import Measurement, Protocol, measure
from graph_net.measure.device import describe
from graph_net.measure.plan import config_of, default_jobs
from graph_net.measure.timing import PER_ROUND
from graph_net.printable import printable, utf8_name
from graph_net.results import Config, Device, Failure, Record, Stage, Subject, Symptom
from graph_net.results.signature import message_of, signature_of
from graph_net.store.files import read_text


def parser() -> argparse.ArgumentParser:
    """GraphNet's flags."""
    made = argparse.ArgumentParser(
        prog="python -m graph_net.torch.test_compiler", description="Test compiler performance."
    )
    made.add_argument("--model-path", required=True, help="a sample, or a directory of samples")
    made.add_argument(
        "--compiler", default="inductor", help="a name, or a Python file with a compiler"
    )
    made.add_argument("--device", default="cuda", help="cpu or cuda")
    made.add_argument("--warmup", type=int, default=3)
    made.add_argument("--trials", type=int, default=5, help="at least so many samples")
    made.add_argument("--log-prompt", default="graph-net-test-compiler-log")
    made.add_argument("--allow-list", help="a file with one relative sample path a line")
    made.add_argument("--model-path-prefix", help="what the allow-list's paths are relative to")
    made.add_argument("--config", help="the compiler's options: JSON in base64")
    return made


def samples_of(path: Path, allow_list: str | None, prefix: str | None) -> list[Path]:
    """The samples to test, in order."""
    if allow_list is not None:
        root = Path(prefix) if prefix else path
        lines = read_text(allow_list).splitlines()
        return [root / line.strip() for line in lines if line.strip()]
    if (path / "model.py").is_file():
        return [path]
    found = list(find_samples(path))
    if not found:
        raise GraphError(f"{path} is no sample and holds none")
    return found


def options_of(text: str | None) -> str:
    """The options as JSON; they come in base64."""
    if not text:
        return ""
    try:
        return json.dumps(json.loads(base64.b64decode(text, validate=True)))
    except ValueError as error:
        raise GraphError(f"--config is no JSON in base64: {error}") from error


def protocol_of(warmup: int, trials: int) -> Protocol:
    """The usual protocol with at least so many calls before, and so many samples."""
    usual = Protocol()
    blocks = max(usual.min_blocks, math.ceil(trials / PER_ROUND))
    return Protocol(
        warm_calls=max(usual.warm_calls, warmup),
        min_blocks=blocks,
        max_blocks=max(blocks, usual.max_blocks),
    )


def tasks_of(
    samples: list[Path],
    config: Config,
    device: Device,
    protocol: Protocol,
    places: dict[str, list[str]],
    bad: list[Record],
) -> Iterator[Measurement]:
    """A task for each distinct graph; a sample that cannot be read becomes a record at once.

    ``places`` gathers by key where a graph lies: samples that hold the same are measured once.
    """
    for sample in samples:
        name = utf8_name(str(sample))
        try:
            graph = open_sample(sample)
        except (GraphError, OSError) as error:
            why = message_of(error)
            failure = Failure(Stage.LOAD, Symptom.EXCEPTION, why, signature_of(why))
            bad.append(Record(Subject(name, "", name), config, device, protocol.hash, failure))
            continue
        task = Measurement(subject_of(name, graph), config, device, to_bytes(graph), protocol)
        places.setdefault(task.key, []).append(name)
        if len(places[task.key]) == 1:
            yield task


def main(arguments: list[str] | None = None) -> int:
    """Test the samples; the log goes to standard error."""
    given = parser().parse_args(arguments)
    try:
        samples = samples_of(Path(given.model_path), given.allow_list, given.model_path_prefix)
        config = config_of(given.compiler, options_of(given.config))
        require_compiler(config.name, config.options)
        device = describe(given.device)
    except (ValueError, OSError, AssertionError, RuntimeError) as error:
        print(printable(f"error: {error}"), file=sys.stderr)
        return 1
    protocol = protocol_of(given.warmup, given.trials)
    words = Words(given.log_prompt, given.warmup, given.trials)
    bad: list[Record] = []
    places: dict[str, list[str]] = {}
    run = measure(
        tasks_of(samples, config, device, protocol, places, bad),
        jobs=default_jobs(given.device),
        compilers=[config.name],
        device=device.kind,
    )
    done: dict[str, Record] = {}
    for record in run:
        done[record.key] = record
        _print(record, places[record.key][0], words)
    for key, paths in places.items():
        for path in paths[1:]:
            _print(done[key], path, words)
    for record in bad:
        _print(record, record.subject.name, words)
    return 0


def _print(record: Record, path: str, words: Words) -> None:
    for line in log_lines(record, path, words):
        print(printable(line), file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
