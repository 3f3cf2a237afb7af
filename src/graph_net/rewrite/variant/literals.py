"""Sizes written into calls, and what they may be at other sizes of the inputs.

``view(1, 197, 768)`` of a graph captured at batch 1 says 8 at batch 8. Which of its numbers
follows is read off the shapes around it: a reshape keeps the product of each run of dimensions,
and every other number may become what dimensions of that size have become elsewhere.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice, pairwise, product
from math import prod

from graph_net.graph.graph import Node
from graph_net.graph.operators import Trait, base_name, names
from graph_net.graph.sizes import is_size_keyword, size_positions
from graph_net.graph.values import ListValue, Value

RESHAPES = names(Trait.RESHAPE)
MOST = 200
"""Assignments that are looked at for one call."""
TRIED = 24
"""Assignments that are tried."""
Path = tuple[int | str, ...]
"""Where a number stands in a call: an argument's position or keyword, then places in lists."""
Shape = tuple[int, ...]
Run = tuple[list[int], list[int]]
"""Dimensions of one shape, and those of another with the same elements."""


@dataclass(frozen=True)
class Grown:
    """What dimensions of a size have become; ``asked`` are the sizes that were to change."""

    sizes: Mapping[int, Collection[int]]
    asked: Collection[int]

    def of(self, size: int) -> Collection[int]:
        """Candidates for a number that was ``size``."""
        return self.sizes.get(size, ())

    def unlikely(self, old: Sequence[int], new: Sequence[int]) -> int:
        """How much a change asks for: each number costs, and less if it is one to change."""
        pairs = zip(old, new, strict=True)
        return sum(1 if a in self.asked else 2 for a, b in pairs if a != b)


def size_literals(node: Node) -> dict[Path, int]:
    """The whole numbers of a call that are sizes, by where they stand."""
    start, stop = size_positions(node.target)
    found: dict[Path, int] = {}
    for position in range(start, min(stop, len(node.args))):
        _collect(node.args[position], (position,), found)
    for key, value in node.kwargs:
        if is_size_keyword(key):
            _collect(value, (key,), found)
    return found


def _collect(value: Value, path: Path, found: dict[Path, int]) -> None:
    if isinstance(value, int) and not isinstance(value, bool):
        found[path] = value
    elif isinstance(value, (tuple, ListValue)):
        for place, item in enumerate(value if isinstance(value, tuple) else value.items):
            _collect(item, (*path, place), found)


def substitute(node: Node, changes: Mapping[Path, int]) -> Node:
    """The call with other numbers at some places."""
    if not changes:
        return node
    args = tuple(_changed(value, (k,), changes) for k, value in enumerate(node.args))
    kwargs = tuple((key, _changed(value, (key,), changes)) for key, value in node.kwargs)
    return replace(node, args=args, kwargs=kwargs)


def _changed(value: Value, path: Path, changes: Mapping[Path, int]) -> Value:
    if path in changes:
        return changes[path]
    if isinstance(value, tuple):
        return tuple(_changed(item, (*path, k), changes) for k, item in enumerate(value))
    if isinstance(value, ListValue):
        return ListValue(
            tuple(_changed(item, (*path, k), changes) for k, item in enumerate(value.items))
        )
    return value


def choices(
    node: Node, old_in: Shape | None, old_out: Shape | None, new_in: Shape | None, grown: Grown
) -> Iterator[dict[Path, int]]:
    """Changes to a call's sizes worth trying, the likeliest first."""
    literals = size_literals(node)
    if not literals:
        yield {}
        return
    if base_name(node.target) in RESHAPES and None not in (old_in, old_out, new_in):
        assert old_in is not None
        assert old_out is not None
        assert new_in is not None
        if len(literals) == len(old_out):
            yield from _reshaped(literals, old_in, old_out, new_in, grown)
            return
    yield {}
    yield from _replaced(literals, grown)


def _replaced(literals: Mapping[Path, int], grown: Grown) -> Iterator[dict[Path, int]]:
    """One number changed, then two, …: few of them follow a size."""
    options = [
        [(path, None), *((path, n) for n in grown.of(old))] for path, old in literals.items()
    ]
    every = ({p: n for p, n in picked if n is not None} for picked in product(*options))
    yield from islice(sorted(islice(every, MOST), key=len), 1, TRIED)


def _reshaped(
    literals: Mapping[Path, int], old_in: Shape, old_out: Shape, new_in: Shape, grown: Grown
) -> Iterator[dict[Path, int]]:
    """Shapes of the same elements, run by run of dimensions."""
    paths, numbers = list(literals), list(literals.values())
    shapes = dict.fromkeys(
        shape
        for found in _groupings(old_in, old_out)
        for shape in _shapes(found, old_in, old_out, new_in, grown)
    )
    for shape in islice(sorted(shapes, key=lambda s: grown.unlikely(old_out, s)), TRIED):
        pairs = zip(paths, numbers, shape, strict=True)
        yield {path: new for path, old, new in pairs if old not in (-1, new)}


def _shapes(
    found: list[Run], old_in: Shape, old_out: Shape, new_in: Shape, grown: Grown
) -> Iterator[Shape]:
    """Shapes in which each run has as many elements as there are now."""
    solved = []
    for ins, outs in found:
        changed = [k for k in ins if old_in[k] != new_in[k]]
        # What varies on the outside of a run varies on the outside of what it becomes.
        inner = bool(changed) and changed[0] != ins[0]
        wanted = prod(new_in[k] for k in ins)
        solved.append(list(_solutions([old_out[k] for k in outs], wanted, grown, inner)))
    for picked in islice(product(*solved), TRIED):
        yield tuple(size for run in picked for size in run)


def _groupings(old_in: Shape, old_out: Shape) -> Iterator[list[Run]]:
    """Ways to see one shape in the other: a dimension of 1 may end a run or begin the next."""
    first = runs(old_in, old_out)
    yield first
    for side, shape in ((0, old_in), (1, old_out)):
        moved = [(list(ins), list(outs)) for ins, outs in first]
        for before, after in pairwise(moved):
            while len(after[side]) > 1 and shape[after[side][0]] == 1:
                before[side].append(after[side].pop(0))
        yield moved


def runs(old_in: Shape, old_out: Shape) -> list[Run]:
    """Runs of dimensions of the two shapes with equal products, as short as they can be."""
    found: list[Run] = []
    i = o = 0
    while i < len(old_in) and o < len(old_out):
        ins, outs, left, right = [i], [o], old_in[i], old_out[o]
        i, o = i + 1, o + 1
        while left != right:
            if left < right and i < len(old_in):
                left, ins, i = left * old_in[i], [*ins, i], i + 1
            elif right < left and o < len(old_out):
                right, outs, o = right * old_out[o], [*outs, o], o + 1
            else:
                break  # no element at all
        found.append((ins, outs))
    if not found:
        found.append(([], []))
    found[-1][0].extend(range(i, len(old_in)))
    found[-1][1].extend(range(o, len(old_out)))
    return found


def _solutions(old: list[int], wanted: int, grown: Grown, inner: bool) -> Iterator[tuple[int, ...]]:
    """Sizes of one run whose product is ``wanted``: as they were, grown like others, or scaled."""
    if prod(old) == wanted:
        yield tuple(old)
    places = [*range(len(old))][:: -1 if inner else 1]
    combinations = islice(product(*([size, *grown.of(size)] for size in old)), MOST)
    fitting = [c for c in combinations if prod(c) == wanted and c != tuple(old)]
    fitting.sort(key=lambda c: (grown.unlikely(old, c), [c[k] == old[k] for k in places]))
    yield from fitting
    for place in places:
        rest = prod(old[:place]) * prod(old[place + 1 :])
        if rest and wanted % rest == 0:
            scaled = (*old[:place], wanted // rest, *old[place + 1 :])
            if scaled not in fitting and scaled != tuple(old):
                yield scaled
