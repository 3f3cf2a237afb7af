"""``python -m graph_net.torch.test_compiler``: GraphNet's command with our measurements.

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
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from graph_net.compilers import require_compiler
from graph_net.corpus.open_sample import open_sample
from graph_net.corpus.subjects import subject_of
from graph_net.formats.graphnet import find_samples
from graph_net.formats.graphnet.log import LogHeader, log_lines
from graph_net.graph import GraphError, to_bytes
from graph_net.measure import Measurement, Protocol, measure
from graph_net.measure.device import describe
from graph_net.measure.plan import config_of, default_jobs
from graph_net.measure.timing import PER_ROUND
from graph_net.printable import printable, utf8_name
from graph_net.results import Config, Device, Failure, Record, Stage, Subject, Symptom
from graph_net.results.signature import message_of, signature_of
from graph_net.store.files import read_text


def make_parser() -> argparse.ArgumentParser:
    """Return a parser of GraphNet's flags."""
    parser = argparse.ArgumentParser(
        prog="python -m graph_net.torch.test_compiler", description="Test compiler performance."
    )
    parser.add_argument("--model-path", required=True, help="a sample, or a directory of samples")
    parser.add_argument(
        "--compiler", default="inductor", help="a name, or a Python file with a compiler"
    )
    parser.add_argument("--device", default="cuda", help="cpu or cuda")
    parser.add_argument("--warmup", type=int, default=3)
    parser.add_argument("--trials", type=int, default=5, help="take at least this many samples")
    parser.add_argument("--log-prompt", default="graph-net-test-compiler-log")
    parser.add_argument("--allow-list", help="a file with one relative sample path per line")
    parser.add_argument("--model-path-prefix", help="what the allow-list's paths are relative to")
    parser.add_argument("--config", help="the compiler's options: JSON in base64")
    return parser


def samples_of(path: Path, allow_list: str | None, prefix: str | None) -> list[Path]:
    """Return the samples to test, in order."""
    if allow_list is not None:
        root = Path(prefix) if prefix else path
        lines = read_text(allow_list).splitlines()
        return [root / line.strip() for line in lines if line.strip()]
    if (path / "model.py").is_file():
        return [path]
    samples = list(find_samples(path))
    if not samples:
        raise GraphError(f"{path} is not a sample and holds none")
    return samples


def options_of(text: str | None) -> str:
    """Return the compiler's options as JSON; they come in base64."""
    if not text:
        return ""
    try:
        return json.dumps(json.loads(base64.b64decode(text, validate=True)))
    except ValueError as error:
        raise GraphError(f"--config is not JSON in base64: {error}") from error


def protocol_of(warmup: int, trials: int) -> Protocol:
    """Return the default protocol with at least this many warm-up calls and samples."""
    default = Protocol()
    blocks = max(default.min_blocks, math.ceil(trials / PER_ROUND))
    return Protocol(
        warm_calls=max(default.warm_calls, warmup),
        min_blocks=blocks,
        max_blocks=max(blocks, default.max_blocks),
    )


def tasks_of(
    samples: list[Path],
    config: Config,
    device: Device,
    protocol: Protocol,
    paths: dict[str, list[str]],
    bad: list[Record],
) -> Iterator[Measurement]:
    """Yield a task per distinct graph; a sample that cannot be read becomes a record in ``bad``.

    ``paths`` collects the samples of each task by its key: equal graphs are measured once.
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
        paths.setdefault(task.key, []).append(name)
        if len(paths[task.key]) == 1:
            yield task


def pair_with_samples(
    records: Iterable[Record], paths: Mapping[str, list[str]], bad: Iterable[Record]
) -> Iterator[tuple[Record, str]]:
    """Yield every record with each sample that it is of, as records come; unreadable ones last."""
    done: dict[str, Record] = {}
    for record in records:
        done[record.key] = record
        yield record, paths[record.key][0]
    for key, samples in paths.items():
        for path in samples[1:]:
            yield done[key], path
    for record in bad:
        yield record, record.subject.name


def main(arguments: list[str] | None = None) -> int:
    """Test the samples; the log goes to standard error."""
    options = make_parser().parse_args(arguments)
    try:
        samples = samples_of(
            Path(options.model_path), options.allow_list, options.model_path_prefix
        )
        config = config_of(options.compiler, options_of(options.config))
        require_compiler(config.name, config.options)
        device = describe(options.device)
    except (ValueError, OSError, AssertionError, RuntimeError) as error:
        print(printable(f"error: {error}"), file=sys.stderr)
        return 1
    protocol = protocol_of(options.warmup, options.trials)
    words = LogHeader(options.log_prompt, options.warmup, options.trials)
    bad: list[Record] = []
    paths: dict[str, list[str]] = {}
    records = measure(
        tasks_of(samples, config, device, protocol, paths, bad),
        jobs=default_jobs(options.device),
        compilers=[config.name],
        device=device.kind,
    )
    for record, path in pair_with_samples(records, paths, bad):
        for line in log_lines(record, path, words):
            print(printable(line), file=sys.stderr, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
