"""What the outputs of a pack's graphs are like: whether a wrong compiler could be seen in them."""

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

from graph_net.corpus.marked_region import with_region
from graph_net.corpus.pack import Pack, PackError
from graph_net.graph import from_bytes
from graph_net.isolate import Finished, Limits, Pool, Sandbox
from graph_net.isolate.deaths import wrote_garbage
from graph_net.store.files import open_regular

BEGIN = "<!-- outputs, made by `graph-net corpus stats` -->"
END = "<!-- end of outputs -->"
LARGE = 1e6
SAME = 1e-5
"""Outputs that spread less than this, or than this part of the largest, are constant: no tolerance
is narrower."""
LONGEST_LINE = 1 << 16


class OutputKind(Enum):
    """What the outputs of a graph are like; ``UNKNOWN`` where it did not run to its end."""

    LIVELY = "lively"
    CONSTANT = "constant"
    NOT_FINITE = "not finite"
    LARGE = "above 1e6"
    UNKNOWN = "not run"


@dataclass(frozen=True, slots=True)
class Look:
    """The outputs of one graph; ``digest`` is that of its bytes, values' recipes included."""

    name: str
    digest: str
    kind: OutputKind
    largest: float = 0.0
    spread: float = 0.0
    reason: str = ""


def kind_of(tensors: Iterable[Any]) -> tuple[OutputKind, float, float]:
    """The kind of some outputs, the largest value and the widest spread among them.

    One value that is not finite or too large is enough; constant are they where each of those with
    more than one element is. Outputs that are no floats do not count.
    """
    largest = widest = 0.0
    lively = asked = False
    finite = True
    for tensor in tensors:
        if not getattr(tensor, "is_floating_point", bool)() or tensor.numel() == 0:
            continue
        low, high = float(tensor.min()), float(tensor.max())
        finite = finite and math.isfinite(low) and math.isfinite(high)
        most, spread = max(abs(low), abs(high)), high - low
        largest, widest = max(largest, most), max(widest, spread)
        asked = asked or tensor.numel() > 1
        lively = lively or spread > SAME * max(1.0, most)
    if not finite:
        return OutputKind.NOT_FINITE, 0.0, 0.0
    if largest > LARGE:
        return OutputKind.LARGE, largest, widest
    return OutputKind.CONSTANT if asked and not lively else OutputKind.LIVELY, largest, widest


def look(name: str, data: bytes, device: str) -> Look:
    """Run a stored graph on values and look at what comes out."""
    from graph_net.graph.execute import flat_outputs, run

    digest = digest_of(data)
    try:
        outputs = run(from_bytes(data), device=device)
        return Look(name, digest, *kind_of(flat_outputs(outputs)))
    except MemoryError:
        raise  # the pool says what the limit was
    except Exception as error:
        return Look(
            name, digest, OutputKind.UNKNOWN, reason=f"{type(error).__name__}: {error}"[:200]
        )


def look_at_all(
    pack: Pack, names: Sequence[str], keep: Path, jobs: int, limits: Limits, device: str = "cpu"
) -> Iterator[Look]:
    """Run graphs, each in a confined process, and keep what is seen; those kept are passed over."""
    known = {seen.name: seen.digest for seen in looks(keep)}
    keep.parent.mkdir(parents=True, exist_ok=True)
    new = ((n, d) for n, d in pack.blobs(names) if known.get(n) != digest_of(d))
    pool = Pool(limits, jobs, Sandbox(device=device))
    with keep.open("ab", buffering=0) as file:
        for seen in map(_seen, pool.each(new, partial(_look, device=device))):
            file.write(json.dumps(_tree(seen)).encode() + b"\n")
            yield seen


def digest_of(data: bytes) -> str:
    """The digest that a look is kept under."""
    return sha256(data).hexdigest()[:16]


def looks(path: Path, digests: Mapping[str, str] | None = None) -> list[Look]:
    """What was kept, the last of each name; with ``digests``, of graphs that are what they were."""
    found: dict[str, Look] = {}
    if not path.exists():
        return []
    with open_regular(path) as file:
        while line := file.readline(LONGEST_LINE):
            try:
                tree = json.loads(line)
                seen = Look(**{**tree, "kind": OutputKind(tree["kind"])})
            except (ValueError, TypeError, KeyError):
                continue  # torn, as a killed writer leaves it
            if digests is None or digests.get(seen.name) == seen.digest:
                found[seen.name] = seen
    return list(found.values())


def count_outputs(pack: Pack, path: Path) -> str:
    """What the outputs of a pack's graphs are like, from what was kept of these very graphs."""
    if not path.is_file():
        raise PackError(f"nothing kept at {path}; `python -m tools.initial_values count` keeps it")
    names = [seen.name for seen in looks(path)]
    digests = {name: digest_of(data) for name, data in pack.blobs(names)}
    return summary(looks(path, digests), len(pack))


def with_outputs(page: str, text: str) -> str:
    """The page, its region on outputs made anew."""
    return with_region(page, BEGIN, END, text)


def summary(seen: Sequence[Look], graphs: int) -> str:
    """How many graphs have outputs of each kind, and the share of those that tell nothing."""
    kinds = Counter(one.kind for one in seen)
    run = len(seen) - kinds[OutputKind.UNKNOWN]
    dull = run - kinds[OutputKind.LIVELY]
    low, high = interval(dull, run)
    count_outputs = ", ".join(
        f"{kinds[kind]} {kind.value}" for kind in OutputKind if kind is not OutputKind.UNKNOWN
    )
    return (
        f"{run:,} of {graphs:,} graphs were run on values "
        f"({kinds[OutputKind.UNKNOWN]} more were not run "
        f"to their end): {count_outputs}. {100 * dull / max(1, run):.1f} % tell nothing "
        f"(95 % interval {100 * low:.1f} to {100 * high:.1f} %)."
    )


def interval(part: int, whole: int, z: float = 1.96) -> tuple[float, float]:
    """Wilson's interval for a share."""
    if whole == 0:
        return 0.0, 1.0
    share, shrink = part / whole, 1 + z * z / whole
    middle = (share + z * z / (2 * whole)) / shrink
    half = z * math.sqrt(share * (1 - share) / whole + z * z / (4 * whole * whole)) / shrink
    return max(0.0, middle - half), min(1.0, middle + half)


def _look(item: tuple[str, bytes], device: str) -> dict[str, Any]:
    """Look at one graph, in the process that may die of it."""
    import torch

    torch.set_num_threads(1)
    return _tree(look(*item, device))


def _tree(seen: Look) -> dict[str, Any]:
    return {**asdict(seen), "kind": seen.kind.value}


def _seen(done: Finished[tuple[str, bytes]]) -> Look:
    """What a process saw, as far as it can be believed."""
    name, digest = done.item[0], digest_of(done.item[1])
    if done.death is not None:
        return Look(name, digest, OutputKind.UNKNOWN, reason=done.death.reason[:200])
    tree = done.answer
    try:
        kind, largest, spread = (
            OutputKind(tree["kind"]),
            float(tree["largest"]),
            float(tree["spread"]),
        )
        return Look(name, digest, kind, largest, spread, str(tree["reason"])[:200])
    except (ValueError, TypeError, KeyError) as error:
        return Look(name, digest, OutputKind.UNKNOWN, reason=wrote_garbage(error).reason[:200])
