"""Decomposition of a pack of whole graphs into a pack of subgraphs, in parallel."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from hashlib import sha256
from itertools import takewhile
from pathlib import Path

from graph_net.corpus.pack import Pack
from graph_net.corpus.subgraph_spool import (
    Notes,
    Subgraphs,
    SubgraphSpool,
    cut_pieces,
    encode_pieces,
)
from graph_net.corpus.subgraphs import merge_rows, write_subgraphs
from graph_net.graph import (
    Graph,
    GraphLimits,
    Input,
    Level,
    Node,
    Normal,
    Ref,
    TensorSpec,
    from_bytes,
    to_bytes,
)
from graph_net.isolate import Finished, Limits, MakePool, Pool, Sandbox, WorkPool
from graph_net.isolate.deaths import wrote_garbage
from graph_net.rewrite.kinds import CORPUS_KINDS, SubgraphKind, corpus_kind, kind_of

PARTITIONS = frozenset({"sole_op", "task"})
"""Kinds whose groups hold every node once: these compose to the whole graph."""
SLOW_TO_LOAD = frozenset({"fusible"})
"""Kinds whose imports take seconds: loaded before the processes fork."""
CHECKED_BYTES = 1 << 30
"""Bytes of tensors above which a graph is not run to check its pieces."""


@dataclass(frozen=True, slots=True)
class Source:
    """A graph to decompose: its name and id, its bytes, the kinds that it lacks."""

    name: str
    id: str
    data: bytes
    kinds: tuple[str, ...]


class Decomposition:
    """The decomposition of a pack into kinds of subgraphs, spooled to disk."""

    def __init__(self, pack: Pack, kinds: Sequence[str], spool: SubgraphSpool) -> None:
        self.pack = pack
        self.kinds = tuple(dict.fromkeys(kinds))
        self.spool = spool
        rows = sorted(pack.rows(["name", "id", "level"]).to_pylist(), key=lambda row: row["name"])
        self.ids = {row["name"]: row["id"] for row in rows}
        torch = Level.TORCH.value
        self.to_lower = dict.fromkeys(row["name"] for row in rows if row["level"] == torch)
        self._cutters: dict[str, SubgraphKind] = {}
        for kind in self.kinds:
            if kind not in CORPUS_KINDS:
                self._cutters[kind] = kind_of(kind)

    def label(self, kind: str) -> str:
        """Return the label of a kind's files; if it reads the whole pack, with a hash of it."""
        if kind not in CORPUS_KINDS:
            return kind
        contents = [*sorted(self.ids.values()), *(["lowered"] if self.to_lower else [])]
        return f"{kind}-{sha256(''.join(contents).encode()).hexdigest()[:12]}"

    def missing(self, retry: bool = False) -> dict[str, tuple[str, ...]]:
        """Return the kinds that each unfinished graph lacks, by its name."""
        missing: dict[str, tuple[str, ...]] = {}
        for name, graph in self.ids.items():
            lacking = []
            for kind in self.kinds:
                notes = self.spool.notes(graph, self.label(kind))
                if notes is None or (retry and notes.failed):
                    lacking.append(kind)
            if lacking:
                missing[name] = tuple(lacking)
        return missing

    def run(
        self,
        missing: dict[str, tuple[str, ...]],
        jobs: int,
        budget: Limits | None = None,
        check: bool = False,
        spend: float | None = None,
        make_pool: MakePool = Pool,
    ) -> Iterator[str]:
        """Decompose graphs, each in a process of its own; yield their names as they finish.

        With ``spend`` seconds the smallest come first, and none is started after that time.
        """
        end = None if spend is None else time.monotonic() + spend
        budget = budget or Limits.of(180, 10.0)
        wanted = {kind for kinds in missing.values() for kind in kinds}
        lowers = bool(missing and self.to_lower)
        ready = partial(_load, tuple(wanted & SLOW_TO_LOAD), check, lowers)
        pool = make_pool(budget, jobs, Sandbox(), ready)
        self._prepare(wanted, pool)
        sources = self._sources(missing, pool)
        if end is not None:
            smallest = sorted(sources, key=lambda source: len(source.data))
            sources = takewhile(lambda _: time.monotonic() < end, smallest)
        cutters = {kind: self._cutters[kind] for kind in wanted}
        work = partial(_cut, cutters=cutters, limits=self.pack.limits, check=check)
        for done in pool.each(sources, work):
            self._finish(done)
            yield done.item.name

    def _prepare(self, wanted: Collection[str], pool: WorkPool) -> None:
        """Create the kinds that need every graph of the pack."""
        if set(wanted) & set(CORPUS_KINDS):
            self._lower(pool)
        for kind in CORPUS_KINDS:
            if kind in wanted:
                self._cutters[kind] = corpus_kind(kind, self._forms())

    def _lower(self, pool: WorkPool) -> None:
        """Lower the graphs that are cut in another form than the stored one.

        A table of recurring patterns must be made from the form that is cut.
        """
        absent = [name for name in self.to_lower if self.spool.graph(self.ids[name]) is None]
        sources = self._sources(dict.fromkeys(absent, ()), pool)
        for done in pool.each(sources, partial(_lowered, limits=self.pack.limits)):
            if done.death is None:
                self.spool.put_graph(done.item.id, done.answer)

    def _forms(self) -> Iterator[Graph]:
        """Yield every graph in the form it is cut in, except those that cannot be lowered."""
        for name, data in self.pack.blobs():
            if name in self.to_lower:
                stored = self.spool.graph(self.ids[name])
                if stored is None:
                    continue
                data = stored
            yield from_bytes(data, self.pack.limits)

    def _sources(self, missing: Mapping[str, tuple[str, ...]], pool: WorkPool) -> Iterable[Source]:
        """Return the graphs, each in its lowered form if it has been lowered.

        If this process forks, all graphs are read at once, a few bytes per node: while a pack is
        being read, threads read ahead, and a process forked then may inherit a lock that is never
        released.
        """
        sources = (
            Source(name, self.ids[name], self._stored_form(name) or data, missing[name])
            for name, data in self.pack.blobs(missing)
        )
        return list(sources) if pool.forks_here else sources

    def _stored_form(self, name: str) -> bytes | None:
        return self.spool.graph(self.ids[name]) if name in self.to_lower else None

    def _finish(self, done: Finished[Source]) -> None:
        """Store the answers; for the kinds without one, note why the process died."""
        source, answers = done.item, dict(zip(done.item.kinds, done.answers, strict=False))
        for kind in source.kinds:
            data = answers.get(kind)
            if isinstance(data, bytes):
                self.spool.put(source.id, self.label(kind), data)
            if data is None or self.spool.notes(source.id, self.label(kind)) is None:
                why = done.death or wrote_garbage("pieces that cannot be read")
                failed = encode_pieces([], Notes(source.name, kind, failed=why.reason[:300]))
                self.spool.put(source.id, self.label(kind), failed)

    def notes(self) -> Iterator[Notes]:
        """Yield the notes of each finished graph and kind."""
        for graph in self.ids.values():
            for kind in self.kinds:
                notes = self.spool.notes(graph, self.label(kind))
                if notes is not None:
                    yield notes

    def write(self, output: Path) -> int:
        """Write the pack of all subgraphs; return how many rows it has."""
        rows = merge_rows(
            row
            for graph in self.ids.values()
            for kind in self.kinds
            if self.spool.notes(graph, self.label(kind)) is not None
            for row in self.spool.rows(graph, self.label(kind))
        )
        write_subgraphs(output, rows)
        return len(rows)


def _load(kinds: Sequence[str], check: bool, lowers: bool) -> None:
    """Load slow imports before processes fork."""
    if check or kinds:
        _warm_up(kinds)
    if lowers:
        _lower_with_specs(_SMALL)  # loads the tracer


def _lowered(source: Source, limits: GraphLimits) -> bytes:
    """Return a graph in the form it is cut in."""
    return to_bytes(_lower_with_specs(from_bytes(source.data, limits)))


def _cut(
    source: Source, cutters: Mapping[str, SubgraphKind], limits: GraphLimits, check: bool
) -> Iterator[bytes]:
    """Yield a file of pieces for each kind that the source lacks."""
    form = cache(lambda: _lower_with_specs(from_bytes(source.data, limits)))
    for kind in source.kinds:
        try:
            graph = form()
            pieces = cut_pieces(source.name, graph, kind, cutters[kind])
            if check and kind in PARTITIONS and graph.tensor_bytes <= CHECKED_BYTES:
                pieces.notes.composed = _is_composition(graph, cutters[kind])
        except MemoryError:
            raise  # the pool reports the limit
        except Exception as error:
            why = " ".join(f"{type(error).__name__}: {error}".split())[:300]
            pieces = Subgraphs([], Notes(source.name, kind, failed=why))
        yield encode_pieces(pieces.rows, pieces.notes)


def _warm_up(kinds: Iterable[str]) -> None:
    """Load torch, and use kinds once, on a convolution with its usual successors."""
    import torch

    import graph_net.rewrite.compose  # noqa: F401 - for the check

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


def _lower_with_specs(graph: Graph) -> Graph:
    """Return the graph at level ``aten``; one at level ``torch`` is lowered first."""
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


def _is_composition(graph: Graph, kind: Callable[[Graph], Iterable[Sequence[str]]]) -> bool:
    """Return whether the pieces, run in order, give the graph's own outputs, bit for bit."""
    import torch

    from graph_net.graph.execute import digest, run
    from graph_net.rewrite.carve import Carver
    from graph_net.rewrite.compose import run_pieces

    torch.set_num_threads(1)
    carver = Carver(graph)
    pieces = [carver.carve(group) for group in kind(graph)]
    return digest(run_pieces(graph, pieces)) == digest(run(graph))
