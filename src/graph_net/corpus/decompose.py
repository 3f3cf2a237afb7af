"""A pack of whole graphs into a pack of subgraphs, many graphs at a time."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from itertools import takewhile
from pathlib import Path

from graph_net.capture.worker import Budget
from graph_net.corpus.pack import Pack
from graph_net.corpus.subgraph_spool import Notes, Subgraphs, SubgraphSpool, encoded, pieces_of
from graph_net.corpus.subgraphs import merge_rows, write_subgraphs
from graph_net.graph import Graph, Input, Level, Node, Normal, Ref, TensorSpec, from_bytes, to_bytes
from graph_net.isolate import Finished, Needs, Pool, Sandbox
from graph_net.isolate.deaths import wrote_garbage
from graph_net.rewrite.kinds import CORPUS_KINDS, SubgraphKind, corpus_kind, kind_of

PARTITIONS = frozenset({"sole_op", "task"})
"""Kinds whose groups hold every node once: these compose to the whole graph."""
SLOW_TO_LOAD = frozenset({"fusible"})
"""Kinds that load seconds' worth of torch: before the processes fork, not in each of them."""
CHECKED_BYTES = 1 << 30
"""Graphs with more tensors than this are not run to check their pieces."""


@dataclass(frozen=True, slots=True)
class Source:
    """A graph to decompose: its name and id, its bytes, the kinds that are not known yet."""

    name: str
    id: str
    data: bytes
    kinds: tuple[str, ...]


class Decomposition:
    """The kinds of subgraphs of one pack, with the spool they wait in."""

    def __init__(self, pack: Pack, kinds: Sequence[str], spool: SubgraphSpool) -> None:
        self.pack = pack
        self.kinds = tuple(dict.fromkeys(kinds))
        self.spool = spool
        rows = sorted(pack.rows(["name", "id", "level"]).to_pylist(), key=lambda row: row["name"])
        self.ids = {row["name"]: row["id"] for row in rows}
        torch = Level.TORCH.value
        self.to_lower = dict.fromkeys(row["name"] for row in rows if row["level"] == torch)
        self._made: dict[str, SubgraphKind] = {}
        for kind in self.kinds:
            if kind not in CORPUS_KINDS:
                self._made[kind] = kind_of(kind)

    def label(self, kind: str) -> str:
        """What a kind's files are called; of one that looks at the whole pack, by what is in it."""
        if kind not in CORPUS_KINDS:
            return kind
        seen = [*sorted(self.ids.values()), *(["lowered"] if self.to_lower else [])]
        return f"{kind}-{sha256(''.join(seen).encode()).hexdigest()[:12]}"

    def missing(self, retry: bool = False) -> dict[str, tuple[str, ...]]:
        """For each graph that is not finished the kinds it lacks."""
        found: dict[str, tuple[str, ...]] = {}
        for name, graph in self.ids.items():
            lacking = []
            for kind in self.kinds:
                notes = self.spool.notes(graph, self.label(kind))
                if notes is None or (retry and notes.failed):
                    lacking.append(kind)
            if lacking:
                found[name] = tuple(lacking)
        return found

    def run(
        self,
        missing: dict[str, tuple[str, ...]],
        jobs: int,
        budget: Budget | None = None,
        check: bool = False,
        spend: float | None = None,
    ) -> Iterator[str]:
        """Decompose graphs, each in a process of its own; their names as they are finished.

        With seconds to ``spend`` the smallest come first and none is begun after them.
        """
        end = None if spend is None else time.monotonic() + spend
        budget = budget or Budget()
        self._prepare(missing, jobs, budget, check)
        sources: Iterable[Source] = self._sources(missing)
        if end is not None:
            smallest = sorted(sources, key=lambda source: len(source.data))
            sources = takewhile(lambda _: time.monotonic() < end, smallest)
        for done in self._pool(jobs, budget).each(sources, lambda one: self._work(one, check)):
            self._finish(done)
            yield done.item.name

    def _pool(self, jobs: int, budget: Budget) -> Pool:
        sandbox = Sandbox(needs=Needs(reads=(self.spool.path.absolute(),)))
        return Pool(budget.limits, jobs, sandbox)

    def _prepare(
        self, missing: dict[str, tuple[str, ...]], jobs: int, budget: Budget, check: bool
    ) -> None:
        """Load what is slow to load, and let kinds that must see every graph see them."""
        wanted = {kind for kinds in missing.values() for kind in kinds}
        if check or wanted & SLOW_TO_LOAD:
            _warm_up(wanted & SLOW_TO_LOAD)
        if missing and self.to_lower:
            _with_specifications(_SMALL)  # loads the tracer before the processes fork
        if wanted & set(CORPUS_KINDS):
            self._lower(jobs, budget)
        for kind in CORPUS_KINDS:
            if kind in wanted:
                self._made[kind] = corpus_kind(kind, self._forms())

    def _lower(self, jobs: int, budget: Budget) -> None:
        """Lower the graphs that are cut in another form than they are stored in.

        A table of what recurs is of use only if it is made of the form that is cut.
        """
        absent = [name for name in self.to_lower if self.spool.graph(self.ids[name]) is None]

        sources = self._sources(dict.fromkeys(absent, ()))
        pool = self._pool(jobs, budget)
        for done in pool.each(sources, lambda source: to_bytes(self._form(source))):
            if done.death is None:
                self.spool.put_graph(done.item.id, done.answer)

    def _forms(self) -> Iterator[Graph]:
        """Every graph in the form it is cut in; one that could not be lowered is left out."""
        for name, data in self.pack.blobs():
            if name in self.to_lower:
                stored = self.spool.graph(self.ids[name])
                if stored is None:
                    continue
                data = stored
            yield from_bytes(data, self.pack.limits)

    def _form(self, source: Source) -> Graph:
        """A graph in the form it is cut in."""
        stored = self.spool.graph(source.id) if source.name in self.to_lower else None
        graph = from_bytes(stored or source.data, self.pack.limits)
        return _with_specifications(graph)

    def _sources(self, missing: Mapping[str, tuple[str, ...]]) -> list[Source]:
        """All graphs at once, a few bytes a node.

        While a pack is being read there are threads that read ahead, and a process forked then may
        inherit a lock that nobody will open.
        """
        return [
            Source(name, self.ids[name], data, missing[name])
            for name, data in self.pack.blobs(missing)
        ]

    def _work(self, source: Source, check: bool) -> Iterator[bytes]:
        """Yield a file of pieces for each kind that the source lacks."""
        form = cache(lambda: self._form(source))
        for kind in source.kinds:
            try:
                graph = form()
                pieces = pieces_of(source.name, graph, kind, self._made[kind])
                if check and kind in PARTITIONS and graph.tensor_bytes <= CHECKED_BYTES:
                    pieces.notes.composed = _composes(graph, self._made[kind])
            except MemoryError:
                raise  # the pool says what the limit was
            except Exception as error:
                why = " ".join(f"{type(error).__name__}: {error}".split())[:300]
                pieces = Subgraphs([], Notes(source.name, kind, failed=why))
            yield encoded(pieces.rows, pieces.notes)

    def _finish(self, done: Finished[Source]) -> None:
        """Keep what was found; for the rest, a note of what the process died of."""
        source, answers = done.item, dict(zip(done.item.kinds, done.answers, strict=False))
        for kind in source.kinds:
            data = answers.get(kind)
            if isinstance(data, bytes):
                self.spool.put(source.id, self.label(kind), data)
            if data is None or self.spool.notes(source.id, self.label(kind)) is None:
                why = done.death or wrote_garbage("pieces that cannot be read")
                failed = encoded([], Notes(source.name, kind, failed=why.reason[:300]))
                self.spool.put(source.id, self.label(kind), failed)

    def notes(self) -> Iterator[Notes]:
        """What became of each graph and kind that is finished."""
        for graph in self.ids.values():
            for kind in self.kinds:
                found = self.spool.notes(graph, self.label(kind))
                if found is not None:
                    yield found

    def write(self, output: Path) -> int:
        """Make the pack of all subgraphs found; how many rows it has."""
        rows = merge_rows(
            row
            for graph in self.ids.values()
            for kind in self.kinds
            if self.spool.notes(graph, self.label(kind)) is not None
            for row in self.spool.rows(graph, self.label(kind))
        )
        write_subgraphs(output, rows)
        return len(rows)


def _warm_up(kinds: Iterable[str]) -> None:
    """Load torch, and use kinds once, on a convolution with what usually follows one."""
    import torch

    import graph_net.rewrite.compose  # noqa: F401 - what a check needs

    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # a pool of threads does not survive a fork
    image = TensorSpec((1, 2, 4, 4), "float32")
    inputs = (
        Input("x", image, Normal(0.0, 1.0)),
        Input("w", TensorSpec((2, 2, 1, 1), "float32"), Normal(0.0, 1.0)),
    )
    nodes = (
        Node("conv", "aten.conv2d.default", (Ref("x"), Ref("w")), result=image),
        Node("relu", "aten.relu.default", (Ref("conv"),), result=image),
        Node("add", "aten.add.Tensor", (Ref("relu"), Ref("x")), result=image),
    )
    graph = Graph(inputs, nodes, (Ref("add"),), Level.ATEN)
    try:
        for kind in kinds:
            kind_of(kind)(graph)
    finally:
        torch.set_num_threads(threads)


def _with_specifications(graph: Graph) -> Graph:
    """The graph itself at level ``aten``; one as Dynamo writes it is lowered first."""
    if graph.level is not Level.TORCH:
        return graph
    from graph_net.rewrite.lower import to_aten
    from graph_net.validate.fake_run import walk

    return walk(to_aten(graph)).graph


_SMALL = Graph(
    (Input("x", TensorSpec((2,), "float32"), Normal(0.0, 1.0)),),
    (Node("relu", "torch.relu", (Ref("x"),)),),
    (Ref("relu"),),
)


def _composes(graph: Graph, kind: Callable[[Graph], Iterable[Sequence[str]]]) -> bool:
    """Whether the pieces, run one after another, give the graph's own outputs, bit for bit."""
    import torch

    from graph_net.graph.execute import digest, run
    from graph_net.rewrite.carve import Carver
    from graph_net.rewrite.compose import run_pieces

    torch.set_num_threads(1)
    carver = Carver(graph)
    pieces = [carver.carve(group) for group in kind(graph)]
    return digest(run_pieces(graph, pieces)) == digest(run(graph))
