"""The outputs of a pack's graphs: would they reveal a wrong compiler?"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from enum import Enum
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any

from graph_net.corpus.marked_region import replace_region
from graph_net.corpus.pack import Pack, PackError
from graph_net.graph import from_bytes
from graph_net.isolate import Finished, Limits, Pool, Sandbox
from graph_net.isolate.deaths import wrote_garbage
from graph_net.store.files import open_regular
from graph_net.store.journal import LineJournal

BEGIN = "<!-- outputs, made by `graph-net corpus stats` -->"
END = "<!-- end of outputs -->"
LARGE = 1e6
SAME = 1e-5
"""Outputs whose spread is below this, or below this share of the largest value, count as constant:
no tolerance is narrower."""
LONGEST_LINE = 1 << 16


class OutputKind(Enum):
    """A kind of outputs; ``UNKNOWN`` if the graph did not run to its end."""

    LIVELY = "lively"
    CONSTANT = "constant"
    NOT_FINITE = "not finite"
    LARGE = "above 1e6"
    UNKNOWN = "not run"


@dataclass(frozen=True, slots=True)
class Look:
    """The outputs of one graph; ``digest`` is of its bytes, recipes included."""

    name: str
    digest: str
    kind: OutputKind
    largest: float = 0.0
    spread: float = 0.0
    reason: str = ""


def kind_of(tensors: Iterable[Any]) -> tuple[OutputKind, float, float]:
    """Return the kind of some outputs, their largest value and their widest spread.

    One value that is not finite or too large decides; outputs are constant if each one with several
    elements is. Outputs other than floats do not count.
    """
    largest = widest = 0.0
    lively = several = False
    finite = True
    for tensor in tensors:
        if not getattr(tensor, "is_floating_point", bool)() or tensor.numel() == 0:
            continue
        low, high = float(tensor.min()), float(tensor.max())
        finite = finite and math.isfinite(low) and math.isfinite(high)
        most, spread = max(abs(low), abs(high)), high - low
        largest, widest = max(largest, most), max(widest, spread)
        several = several or tensor.numel() > 1
        lively = lively or spread > SAME * max(1.0, most)
    if not finite:
        return OutputKind.NOT_FINITE, 0.0, 0.0
    if largest > LARGE:
        return OutputKind.LARGE, largest, widest
    return OutputKind.CONSTANT if several and not lively else OutputKind.LIVELY, largest, widest


def observe(name: str, data: bytes, device: str) -> Look:
    """Run a stored graph on values, and classify its outputs."""
    from graph_net.graph.execute import flat_outputs, run

    digest = digest_of(data)
    try:
        outputs = run(from_bytes(data), device=device)
        return Look(name, digest, *kind_of(flat_outputs(outputs)))
    except MemoryError:
        raise  # the pool reports the limit
    except Exception as error:
        reason = f"{type(error).__name__}: {error}"[:200]
        return Look(name, digest, OutputKind.UNKNOWN, reason=reason)


def observe_all(
    pack: Pack, names: Sequence[str], keep: Path, jobs: int, limits: Limits, device: str = "cpu"
) -> Iterator[Look]:
    """Run graphs, each in a confined process, and append to ``keep``; skip those in it."""
    known = {look.name: look.digest for look in read_looks(keep)}
    new = ((n, d) for n, d in pack.blobs(names) if known.get(n) != digest_of(d))
    pool = Pool(limits, jobs, Sandbox(device=device))
    with LineJournal(keep, durable=False) as journal:
        for look in map(_look_of, pool.each(new, partial(_observe_item, device=device))):
            journal.append(json.dumps(_tree(look)).encode())
            yield look


def digest_of(data: bytes) -> str:
    """Return the digest of a graph's bytes, as ``Look`` has it."""
    return sha256(data).hexdigest()[:16]


def read_looks(path: Path, digests: Mapping[str, str] | None = None) -> list[Look]:
    """Return the last look of each name in a file; with ``digests``, of unchanged graphs only."""
    last: dict[str, Look] = {}
    if not path.exists():
        return []
    with open_regular(path) as file:
        while line := file.readline(LONGEST_LINE):
            try:
                tree = json.loads(line)
                look = Look(**{**tree, "kind": OutputKind(tree["kind"])})
            except (ValueError, TypeError, KeyError):
                continue  # torn by a killed writer
            if digests is None or digests.get(look.name) == look.digest:
                last[look.name] = look
    return list(last.values())


def count_outputs(pack: Pack, path: Path) -> str:
    """Summarize the outputs of a pack's graphs, from a file of looks at these graphs."""
    if not path.is_file():
        raise PackError(f"no file {path}; make it with `python -m tools.initial_values count`")
    names = [look.name for look in read_looks(path)]
    digests = {name: digest_of(data) for name, data in pack.blobs(names)}
    return summarize_outputs(read_looks(path, digests), len(pack))


def with_outputs(page: str, text: str) -> str:
    """Return the page with its region on outputs replaced."""
    return replace_region(page, BEGIN, END, text)


def summarize_outputs(looks: Sequence[Look], graphs: int) -> str:
    """Return how many graphs have outputs of each kind, and the share that reveals nothing."""
    kinds = Counter(look.kind for look in looks)
    run = len(looks) - kinds[OutputKind.UNKNOWN]
    dull = run - kinds[OutputKind.LIVELY]
    low, high = wilson_interval(dull, run)
    counts = ", ".join(
        f"{kinds[kind]} {kind.value}" for kind in OutputKind if kind is not OutputKind.UNKNOWN
    )
    return (
        f"{run:,} of {graphs:,} graphs were run on values "
        f"({kinds[OutputKind.UNKNOWN]} more were not run "
        f"to their end): {counts}. {100 * dull / max(1, run):.1f} % tell nothing "
        f"(95 % interval {100 * low:.1f} to {100 * high:.1f} %)."
    )


def wilson_interval(part: int, whole: int, z: float = 1.96) -> tuple[float, float]:
    """Return Wilson's interval of a share."""
    if whole == 0:
        return 0.0, 1.0
    share, shrink = part / whole, 1 + z * z / whole
    middle = (share + z * z / (2 * whole)) / shrink
    half = z * math.sqrt(share * (1 - share) / whole + z * z / (4 * whole * whole)) / shrink
    return max(0.0, middle - half), min(1.0, middle + half)


def _observe_item(item: tuple[str, bytes], device: str) -> dict[str, Any]:
    """Observe one graph, in a process that it may kill."""
    import torch

    torch.set_num_threads(1)
    return _tree(observe(*item, device))


def _tree(look: Look) -> dict[str, Any]:
    return {**asdict(look), "kind": look.kind.value}


def _look_of(done: Finished[tuple[str, bytes]]) -> Look:
    """Return the look of a process, its answer checked."""
    name, digest, tree = done.item[0], digest_of(done.item[1]), done.answer
    if done.death is not None:
        return Look(name, digest, OutputKind.UNKNOWN, reason=done.death.reason[:200])
    try:
        kind, largest, spread = tree["kind"], float(tree["largest"]), float(tree["spread"])
        return Look(name, digest, OutputKind(kind), largest, spread, str(tree["reason"])[:200])
    except (ValueError, TypeError, KeyError) as error:
        return Look(name, digest, OutputKind.UNKNOWN, reason=wrote_garbage(error).reason[:200])
