"""Capture one zoo entry, and keep its result in two files.

The result of an entry is ``KEY.json`` (what happened) and ``KEY.bin`` (the graphs, one after
another, lengths in the JSON). Each is written aside and renamed, the JSON last: it marks a
complete result, so a killed collection resumes without losing or repeating finished work.
"""

from __future__ import annotations

import json
import re
import resource
import time
from dataclasses import asdict, dataclass, replace
from hashlib import sha256
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any

from graph_net.capture.zoo.variant import model_name
from graph_net.capture.zoo.zoo import Zoo, ZooEntry
from graph_net.graph import (
    Graph,
    GraphError,
    Input,
    Literal,
    Normal,
    Provenance,
    Role,
    TensorSpec,
    from_bytes,
    to_bytes,
)
from graph_net.results.signature import signature_of
from graph_net.store.atomic import write_bytes
from graph_net.store.files import read_bytes, read_text


@dataclass(frozen=True, slots=True)
class Result:
    """The outcome of capturing a zoo entry."""

    entry: ZooEntry
    ok: bool
    reason: str = ""
    way: str = ""
    refused: tuple[str, ...] = ()
    coverage: float | None = 1.0
    seconds: float = 0.0
    peak_bytes: int = 0
    lengths: tuple[int, ...] = ()

    @property
    def signature(self) -> str:
        """The reason with everything that varies from model to model masked."""
        return signature_of(self.reason)


class Spool:
    """A directory of results, one for each entry."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.mkdir(parents=True, exist_ok=True)

    def key(self, entry: ZooEntry) -> str:
        """Return the file name of an entry, without suffix."""
        stem = re.sub(r"\W+", "_", f"{entry.library}-{entry.name}")[:80]
        return f"{stem}-{sha256(f'{entry.library}/{entry.name}'.encode()).hexdigest()[:8]}"

    def result(self, entry: ZooEntry) -> Result | None:
        """Return the stored result of an entry, or None if it has none."""
        try:
            tree = json.loads(read_text(self.path / f"{self.key(entry)}.json"))
        except (FileNotFoundError, ValueError):
            return None
        return result_from_json(tree)

    def graphs(self, result: Result) -> list[Graph]:
        """Read the graphs of a result."""
        data = read_bytes(self.path / f"{self.key(result.entry)}.bin")
        ends = accumulate(result.lengths, initial=0)
        return [from_bytes(data[start:end]) for start, end in pairwise(ends)]

    def put(self, result: Result, blobs: list[bytes]) -> None:
        """Store a result and its graphs."""
        key = self.key(result.entry)
        if blobs:
            write_bytes(self.path / f"{key}.bin", b"".join(blobs), durable=False)
        text = json.dumps(asdict(result)).encode()
        write_bytes(self.path / f"{key}.json", text, durable=False)


def result_from_json(tree: dict[str, Any]) -> Result:
    """Return the result that ``dataclasses.asdict`` made this tree from."""
    entry = ZooEntry(**{**tree["entry"], "tags": tuple(tree["entry"]["tags"])})
    lists = {"refused": tuple(tree["refused"]), "lengths": tuple(tree["lengths"])}
    return Result(**{**tree, "entry": entry, **lists})


def capture_entry(zoo: Zoo, entry: ZooEntry) -> tuple[Result, list[bytes]]:
    """Build, capture and check one entry; a failure is a Result too."""
    from graph_net.capture.capture import capture
    from graph_net.capture.check import check_graph_runs
    from graph_net.capture.weights import without_weights
    from graph_net.graph.runtime import torch_dtype

    start = time.monotonic()
    origin = Provenance(
        library=entry.library,
        model=model_name(entry),
        category=entry.category,
        subcategory=entry.subcategory,
        tags=entry.tags,
    )
    try:
        with without_weights() as watch:
            call = zoo.build(entry)
        captured = capture(
            call.model,
            call.args,
            call.kwargs,
            provenance=origin,
            mode=call.mode,
            dtype=torch_dtype(call.dtype) if call.dtype else None,
            initial=watch.recipes(call.model),
        )
        graphs = [with_lively_inputs(graph) for graph in captured.graphs]
        for graph in graphs:
            check_graph_runs(graph)
        blobs = [to_bytes(graph) for graph in graphs]
        result = Result(
            entry,
            True,
            way=captured.way,
            refused=captured.refused,
            coverage=captured.coverage,
            seconds=time.monotonic() - start,
            peak_bytes=peak_bytes(),
            lengths=tuple(len(blob) for blob in blobs),
        )
        return result, blobs
    except MemoryError:
        raise  # the pool reports the limit
    except Exception as error:
        kind = "" if isinstance(error, GraphError) else f"{type(error).__name__}: "
        line = " ".join(f"{kind}{error}".split())[:500]
        seconds = time.monotonic() - start
        return Result(entry, False, line, seconds=seconds, peak_bytes=peak_bytes()), []


def with_lively_inputs(graph: Graph) -> Graph:
    """Return the graph with constant float inputs redrawn as normal noise.

    A zoo's zeros stand for any image; a graph run only on zeros would hide what it computes.
    """

    def redraw(entry: Input) -> Input:
        floating = isinstance(entry.spec, TensorSpec) and "float" in entry.spec.dtype
        constant = (isinstance(entry.recipe, Normal) and entry.recipe.std == 0) or (
            isinstance(entry.recipe, Literal) and len(set(entry.recipe.values)) <= 1
        )
        if entry.role is Role.INPUT and floating and constant:
            return replace(entry, recipe=Normal(0.0, 1.0))
        return entry

    return replace(graph, inputs=tuple(redraw(entry) for entry in graph.inputs))


def peak_bytes() -> int:
    """Return the peak resident memory of this process."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def warm_up() -> None:
    """Import everything a capture needs, before any worker is forked."""
    import torch

    from graph_net.capture.capture import capture
    from graph_net.capture.check import check_graph_runs

    for graph in capture(torch.nn.Linear(2, 2), (torch.zeros(1, 2),)).graphs:
        check_graph_runs(graph)
