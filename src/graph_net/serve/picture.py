"""A graph drawn with some of its regions open: boxes, frames and lines, with cached layouts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate
from typing import Any

from graph_net.graph import Graph, Role
from graph_net.graph.values import refs
from graph_net.report.page_drawing import operator_kind, short_target, spec_text
from graph_net.serve.edges import lines_of
from graph_net.serve.errors import NotServed, ServeError
from graph_net.serve.layers import Layers, lay_out
from graph_net.serve.regions import Region, RegionKind, Wiring, children

BOX = (150.0, 36.0)
PAD, TITLE = 14.0, 26.0
SIDE = 36.0
"""Space for lines beside the boxes of a frame."""
MOST_SHOWN = 3_000
"""Most boxes of one picture."""
MOST_OPEN = 400
Open = Mapping[str, int]
"""The open regions by id, and for loops the number of open runs."""


def parse_open(text: str) -> dict[str, int]:
    """Parse the open regions of an address, ``12-48,60-90x2``; raise ServeError if malformed."""
    regions: dict[str, int] = {}
    for part in filter(None, text.split(",")):
        name, _, runs = part.partition("x")
        start, _, stop = name.partition("-")
        if not all(part.isascii() and part.isdecimal() for part in (start, stop, runs or "1")):
            raise ServeError(f"open={part[:40]!r} is no region; write 12-48 or 12-48x2")
        regions[f"{int(start)}-{int(stop)}"] = min(int(runs or 1), MOST_SHOWN)
    if len(regions) > MOST_OPEN:
        raise ServeError(f"{len(regions)} open regions are too many; {MOST_OPEN} at most")
    return regions


@dataclass(frozen=True)
class _Item:
    """A box or an open region, in its parent's coordinates."""

    region: Region | None
    """None for an input of the graph, whose number is ``given``."""
    input_index: int = -1
    inner: _Frame | None = None
    opens: str = ""
    """The region that a click opens."""


@dataclass(frozen=True)
class _Frame:
    items: tuple[_Item, ...]
    laid: Layers

    @property
    def size(self) -> tuple[float, float]:
        return self.laid.width + 2 * SIDE, self.laid.height + TITLE + PAD


@dataclass
class GraphPictures:
    """The pictures of a graph; a region's layout is cached while the same parts are open in it."""

    graph: Graph
    marks: Mapping[int, str] = field(default_factory=dict)
    """Marks of nodes that differ from another graph: "changed" or "only"."""
    _frames: dict[tuple[Region | None, tuple[tuple[str, int], ...]], _Frame] = field(
        default_factory=dict
    )
    _children: dict[tuple[int, int], list[Region]] = field(default_factory=dict)
    _labels: dict[tuple[Region, str], dict[str, Any]] = field(default_factory=dict)
    _wires: dict[tuple[Region | None, int], list[tuple[int, int]]] = field(default_factory=dict)

    @cached_property
    def wiring(self) -> Wiring:
        """The calls by number."""
        return Wiring.of(self.graph)

    @cached_property
    def _inputs(self) -> list[Any]:
        return [entry for entry in self.graph.inputs if entry.role is Role.INPUT]

    @cached_property
    def _input_readers(self) -> list[list[int]]:
        number = {entry.name: index for index, entry in enumerate(self._inputs)}
        readers: list[list[int]] = [[] for _ in self._inputs]
        for position, node in enumerate(self.graph.nodes):
            for name in {ref.name for ref in node.refs}:
                if name in number:
                    readers[number[name]].append(position)
        return readers

    @cached_property
    def _returned(self) -> frozenset[int]:
        number = {node.name: index for index, node in enumerate(self.graph.nodes)}
        names = {ref.name for ref in refs(self.graph.output)}
        return frozenset(number[name] for name in names if name in number)

    @cached_property
    def _readers(self) -> list[int]:
        """The last reader of each node; the node itself if it has none."""
        last = list(range(len(self.graph.nodes)))
        for position, sources in enumerate(self.wiring.reads):
            for source in sources:
                last[source] = position
        return last

    @cached_property
    def _marked(self) -> list[int]:
        ones = (int(number in self.marks) for number in range(len(self.graph.nodes)))
        return [0, *accumulate(ones)]

    def count_marked(self, start: int, stop: int) -> int:
        """Count the nodes of a range that differ."""
        return self._marked[stop] - self._marked[start]

    def picture(self, open_: Open) -> dict[str, Any]:
        """Return boxes, frames and lines, ready to draw."""
        frame = self._frame(None, open_)
        drawn: dict[str, Any] = {"boxes": [], "frames": [], "edges": []}
        self._emit(frame, 0.0, 0.0, drawn)
        if len(drawn["boxes"]) > MOST_SHOWN:
            raise ServeError(f"more than {MOST_SHOWN:,} boxes; close some blocks first")
        inputs = sum(item.region is None for item in frame.items)
        drawn |= {"nodes": len(self.graph.nodes), "shown": len(drawn["boxes"]) - inputs}
        return drawn | {"open": [f"{key}x{runs}" for key, runs in open_.items()]}

    def path_to(self, position: int) -> dict[str, int]:
        """Return the regions to open so that a node is visible; raise NotServed without it."""
        if not 0 <= position < len(self.graph.nodes):
            raise NotServed(f"there is no node {position}; the graph has {len(self.graph.nodes)}")
        opened: dict[str, int] = {}
        region = Region(0, len(self.graph.nodes), RegionKind.PART)
        while True:
            inside = next(
                r for r in self._split(region.start, region.stop) if r.start <= position < r.stop
            )
            if inside.kind is RegionKind.NODE:
                return opened
            opened[inside.id] = 1
            if inside.kind is RegionKind.LOOP:
                number = (position - inside.start) // inside.period
                opened[inside.id] = number + 1
                inside = inside.run(number)
                if inside.period == 1:
                    return opened
            region = inside

    def _split(self, start: int, stop: int) -> list[Region]:
        if (start, stop) not in self._children:
            self._children[start, stop] = children(self.wiring, start, stop)
        return self._children[start, stop]

    def _frame(self, region: Region | None, open_: Open) -> _Frame:
        start, stop = (region.start, region.stop) if region else (0, len(self.graph.nodes))
        inside = {k: v for k, v in open_.items() if _within(k, start, stop)}
        key = (region, tuple(sorted(inside.items())))
        if key not in self._frames:
            if len(self._frames) > 4 * MOST_OPEN:
                self._frames.clear()
            items = self._items(region, start, stop, inside)
            sizes = [item.inner.size if item.inner else BOX for item in items]
            edges = self._edges(region, items)
            self._frames[key] = _Frame(tuple(items), lay_out(sizes, edges))
        return self._frames[key]

    def _items(self, region: Region | None, start: int, stop: int, open_: Open) -> list[_Item]:
        if region is not None and region.kind is RegionKind.LOOP:
            opened = min(open_.get(region.id, 1), region.times)
            runs = [region.run(number) for number in range(opened)]
            if region.period == 1:
                items = [_Item(Region(run.start, run.stop)) for run in runs]
            else:
                items = [_Item(run, inner=self._frame(run, open_)) for run in runs]
            rest = [_Item(region.rest(opened), opens=region.id)] if opened < region.times else []
            return items + rest
        inputs = [_Item(None, number) for number in range(len(self._inputs))] if not region else []
        return inputs + [self._item(child, open_) for child in self._split(start, stop)]

    def _item(self, child: Region, open_: Open) -> _Item:
        if child.kind is RegionKind.NODE:
            return _Item(child)
        if child.id in open_:
            return _Item(child, inner=self._frame(child, open_))
        return _Item(child, opens=child.id)

    def _edges(self, region: Region | None, items: Sequence[_Item]) -> list[tuple[int, int]]:
        """Return the edges between items, which do not depend on what is open inside them."""
        key = region, len(items)  # for a loop, the number of open runs decides
        if key not in self._wires:
            self._wires[key] = self._find_edges(items)
        return self._wires[key]

    def _find_edges(self, items: Sequence[_Item]) -> list[tuple[int, int]]:
        owner = {
            position: index
            for index, item in enumerate(items)
            if item.region
            for position in range(item.region.start, item.region.stop)
        }
        edges: dict[tuple[int, int], None] = {}
        for position, index in owner.items():
            for source in self.wiring.reads[position]:
                if owner.get(source, index) != index:
                    edges[owner[source], index] = None
        for index, item in enumerate(items):
            for position in self._input_readers[item.input_index] if item.region is None else ():
                edges[index, owner[position]] = None
        return list(edges)

    def _emit(self, frame: _Frame, dx: float, dy: float, drawn: dict[str, Any]) -> None:
        for item, placed in zip(frame.items, frame.laid.boxes, strict=True):
            x, y = placed.x + dx, placed.y + dy
            if item.inner is None:
                drawn["boxes"].append({"x": round(x, 1), "y": round(y, 1), **self._label(item)})
                continue
            width, height = item.inner.size
            assert item.region is not None
            drawn["frames"].append({
                "x": round(x - width / 2, 1), "y": round(y, 1), "width": round(width, 1),
                "height": round(height, 1), **self._title(item.region),
            })  # fmt: skip
            self._emit(item.inner, x - width / 2 + SIDE, y + TITLE, drawn)
        drawn["edges"] += [[line.path, line.kind] for line in lines_of(frame.laid, dx, dy)]

    def _title(self, region: Region) -> dict[str, Any]:
        """Return the title of a frame; runs are closed with their loop."""
        said = {
            RegionKind.LOOP: f"{region.times} × {region.period} nodes",
            RegionKind.RUN: f"nodes {region.start} to {region.stop - 1}",
        }.get(region.kind, f"{region.stop - region.start} nodes")
        closes = "" if region.kind is RegionKind.RUN else region.id
        return {"label": said, "closes": closes}

    def _label(self, item: _Item) -> dict[str, Any]:
        region = item.region
        if region is None:
            entry = self._inputs[item.input_index]
            spec = spec_text(entry.spec)
            about = f"input {entry.name}\n{spec}"
            return {"kind": "given", "label": entry.name, "below": spec, "about": about}
        if region.kind is RegionKind.NODE:
            return self._node(region.start)
        key = region, item.opens
        if key not in self._labels:
            self._labels[key] = self._block(region, item.opens)
        return self._labels[key]

    def _block(self, region: Region, opens: str) -> dict[str, Any]:
        counts = Counter(map(short_target, self.wiring.operators[region.start : region.stop]))
        differ = self.count_marked(region.start, region.stop)
        heavy = [name for name in counts if operator_kind(name) == "heavy"]
        most = max(heavy or counts, key=lambda name: counts[name])
        size = region.stop - region.start
        label = f"{region.times} × {region.period} nodes" if region.times > 1 else f"{size} nodes"
        again = opens != region.id or region.kind is RegionKind.COPY
        below = f"{differ:,} differ" if differ else "the same again" if again else f"{most} …"
        listed = ", ".join(f"{n:,} {name}" for name, n in counts.most_common(12))
        box = {
            "kind": "block", "label": label, "below": below, "opens": opens,
            "about": f"Nodes {region.start} to {region.stop - 1}: {listed}\nClick to open",
        }  # fmt: skip
        returned = any(region.start <= node < region.stop for node in self._returned)
        return (
            box | ({"mark": "changed"} if differ else {}) | ({"result": True} if returned else {})
        )

    def _node(self, number: int) -> dict[str, Any]:
        node = self.graph.nodes[number]
        spec = spec_text(node.result)
        box = {
            "kind": operator_kind(node.target), "label": short_target(node.target), "below": spec,
            "about": f"{number}: {node.name} = {node.target}\n{spec}", "node": number,
        }  # fmt: skip
        mark = self.marks.get(number)
        returned = {"result": True} if number in self._returned else {}
        return box | ({"mark": mark} if mark else {}) | returned


def _within(key: str, start: int, stop: int) -> bool:
    first, _, last = key.partition("-")
    return start <= int(first) and int(last) <= stop
