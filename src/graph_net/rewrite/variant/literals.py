"""Sizes written into calls, and the sizes they may become when inputs are resized.

``view(1, 197, 768)`` of a graph captured at batch 1 becomes ``view(8, 197, 768)`` at batch 8. Which
of its numbers change is inferred from the shapes around it: a reshape keeps the product of each run
of dimensions; any other number may change as dimensions of that size changed elsewhere.
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
"""The most assignments that are generated for one call."""
TRIED = 24
"""The most assignments that are tried."""
Path = tuple[int | str, ...]
"""The position of a number in a call: an argument's index or keyword, then list indices."""
Shape = tuple[int, ...]
Run = tuple[list[int], list[int]]
"""Dimensions of one shape, and those of another with the same elements."""


@dataclass(frozen=True)
class SizeChanges:
    """New sizes of dimensions by their old size; ``asked`` are the sizes set by the caller."""

    sizes: Mapping[int, Collection[int]]
    asked: Collection[int]

    def candidates(self, size: int) -> Collection[int]:
        """Return candidates for a number that was ``size``."""
        return self.sizes.get(size, ())

    def cost(self, old: Sequence[int], new: Sequence[int]) -> int:
        """Return the cost of a change: 2 per number, 1 if the caller asked for it."""
        pairs = zip(old, new, strict=True)
        return sum(1 if a in self.asked else 2 for a, b in pairs if a != b)


def size_literals(node: Node) -> dict[Path, int]:
    """Return the integers of a call that are sizes, by position."""
    start, stop = size_positions(node.target)
    literals: dict[Path, int] = {}
    for position in range(start, min(stop, len(node.args))):
        _collect(node.args[position], (position,), literals)
    for key, value in node.kwargs:
        if is_size_keyword(key):
            _collect(value, (key,), literals)
    return literals


def _collect(value: Value, path: Path, literals: dict[Path, int]) -> None:
    if isinstance(value, int) and not isinstance(value, bool):
        literals[path] = value
    elif isinstance(value, (tuple, ListValue)):
        for index, item in enumerate(value if isinstance(value, tuple) else value.items):
            _collect(item, (*path, index), literals)


def substitute(node: Node, changes: Mapping[Path, int]) -> Node:
    """Return the call with other numbers at some positions."""
    if not changes:
        return node
    args = tuple(_substitute_value(value, (k,), changes) for k, value in enumerate(node.args))
    kwargs = tuple((key, _substitute_value(value, (key,), changes)) for key, value in node.kwargs)
    return replace(node, args=args, kwargs=kwargs)


def _substitute_value(value: Value, path: Path, changes: Mapping[Path, int]) -> Value:
    if path in changes:
        return changes[path]
    if isinstance(value, tuple):
        return tuple(_substitute_value(item, (*path, k), changes) for k, item in enumerate(value))
    if isinstance(value, ListValue):
        return ListValue(
            tuple(
                _substitute_value(item, (*path, k), changes) for k, item in enumerate(value.items)
            )
        )
    return value


def candidate_changes(
    node: Node,
    old_in: Shape | None,
    old_out: Shape | None,
    new_in: Shape | None,
    changes: SizeChanges,
) -> Iterator[dict[Path, int]]:
    """Yield changes to a call's sizes worth trying, the likeliest first."""
    literals = size_literals(node)
    if not literals:
        yield {}
        return
    if base_name(node.target) in RESHAPES and None not in (old_in, old_out, new_in):
        assert old_in is not None
        assert old_out is not None
        assert new_in is not None
        if len(literals) == len(old_out):
            yield from _reshape_numbers(literals, old_in, old_out, new_in, changes)
            return
    yield {}
    yield from _replace_numbers(literals, changes)


def _replace_numbers(
    literals: Mapping[Path, int], changes: SizeChanges
) -> Iterator[dict[Path, int]]:
    """Yield one number changed, then two, and so on: few numbers depend on a size."""
    options = [
        [(path, None), *((path, n) for n in changes.candidates(old))]
        for path, old in literals.items()
    ]
    every = ({p: n for p, n in picked if n is not None} for picked in product(*options))
    yield from islice(sorted(islice(every, MOST), key=len), 1, TRIED)


def _reshape_numbers(
    literals: Mapping[Path, int], old_in: Shape, old_out: Shape, new_in: Shape, changes: SizeChanges
) -> Iterator[dict[Path, int]]:
    """Yield shapes of the same elements, run by run of dimensions."""
    paths, numbers = list(literals), list(literals.values())
    shapes = dict.fromkeys(
        shape
        for grouping in _groupings(old_in, old_out)
        for shape in _shapes(grouping, old_in, old_out, new_in, changes)
    )
    for shape in islice(sorted(shapes, key=lambda s: changes.cost(old_out, s)), TRIED):
        pairs = zip(paths, numbers, shape, strict=True)
        yield {path: new for path, old, new in pairs if old not in (-1, new)}


def _shapes(
    grouping: list[Run], old_in: Shape, old_out: Shape, new_in: Shape, changes: SizeChanges
) -> Iterator[Shape]:
    """Yield shapes in which each run has as many elements as there are now."""
    solved = []
    for ins, outs in grouping:
        changed = [k for k in ins if old_in[k] != new_in[k]]
        # An outer dimension of a run becomes an outer dimension of the result.
        inner = bool(changed) and changed[0] != ins[0]
        wanted = prod(new_in[k] for k in ins)
        solved.append(list(_solutions([old_out[k] for k in outs], wanted, changes, inner)))
    for picked in islice(product(*solved), TRIED):
        yield tuple(size for run in picked for size in run)


def _groupings(old_in: Shape, old_out: Shape) -> Iterator[list[Run]]:
    """Yield ways to match two shapes: a dimension of 1 may end a run or begin the next."""
    first = runs(old_in, old_out)
    yield first
    for side, shape in ((0, old_in), (1, old_out)):
        moved = [(list(ins), list(outs)) for ins, outs in first]
        for before, after in pairwise(moved):
            while len(after[side]) > 1 and shape[after[side][0]] == 1:
                before[side].append(after[side].pop(0))
        yield moved


def runs(old_in: Shape, old_out: Shape) -> list[Run]:
    """Return runs of dimensions of the two shapes with equal products, as short as possible."""
    result: list[Run] = []
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
                break  # a shape without elements
        result.append((ins, outs))
    if not result:
        result.append(([], []))
    result[-1][0].extend(range(i, len(old_in)))
    result[-1][1].extend(range(o, len(old_out)))
    return result


def _solutions(
    old: list[int], wanted: int, changes: SizeChanges, inner: bool
) -> Iterator[tuple[int, ...]]:
    """Yield sizes of a run with the product ``wanted``: unchanged, changed like others, scaled."""
    if prod(old) == wanted:
        yield tuple(old)
    indices = [*range(len(old))][:: -1 if inner else 1]
    combinations = islice(product(*([size, *changes.candidates(size)] for size in old)), MOST)
    fitting = [c for c in combinations if prod(c) == wanted and c != tuple(old)]
    fitting.sort(key=lambda c: (changes.cost(old, c), [c[k] == old[k] for k in indices]))
    yield from fitting
    for index in indices:
        rest = prod(old[:index]) * prod(old[index + 1 :])
        if rest and wanted % rest == 0:
            scaled = (*old[:index], wanted // rest, *old[index + 1 :])
            if scaled not in fitting and scaled != tuple(old):
                yield scaled
