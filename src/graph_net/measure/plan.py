"""The configurations to measure, as users write them, and the tasks that follow."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

from graph_net.compilers.registry import parse_options
from graph_net.compilers.trusted import config_here
from graph_net.measure.protocol import MeasureLimits, Protocol
from graph_net.measure.task import Measurement
from graph_net.results import Config, Device, Subject


def parse_compilers(text: str) -> list[Config]:
    """Parse ``inductor,onnxruntime`` or ``inductor[mode=max-autotune],eager``.

    Options stand in brackets, as ``key=value`` or JSON; a compiler may be ``path/file.py:Name``.
    """
    return [config_of(*_name_and_options(part)) for part in _split(text)]


def config_of(name: str, options: str = "") -> Config:
    """Return the configuration of a compiler, with its version; its options are checked."""
    return config_here(name, parse_options(options))


def _split(text: str) -> Iterator[str]:
    depth, start = 0, 0
    for index, letter in enumerate(text):
        depth += (letter == "[") - (letter == "]")
        if letter == "," and depth == 0:
            yield text[start:index]
            start = index + 1
    yield text[start:]


def _name_and_options(part: str) -> tuple[str, str]:
    name, bracket, rest = part.strip().partition("[")
    return name.strip(), rest.rstrip("]") if bracket else ""


def make_tasks(
    graphs: Iterable[tuple[Subject, bytes]],
    configs: Sequence[Config],
    device: Device,
    protocol: Protocol,
    limits: MeasureLimits,
    done: Collection[str] = (),
    passed: Callable[[], None] = lambda: None,
) -> Iterator[Measurement]:
    """Yield a task per graph and configuration; call ``passed`` for each that was done before."""
    keys = set(done)
    for subject, data in graphs:
        for config in configs:
            task = Measurement(subject, config, device, data, protocol, limits)
            if task.key in keys:
                passed()
                continue
            keys.add(task.key)
            yield task


def default_jobs(device: str) -> int:
    """Return one builder per core; beside a GPU two cores are left to the measuring worker."""
    cores = len(os.sched_getaffinity(0))
    return max(1, cores - 2) if device.startswith("cuda") else cores
