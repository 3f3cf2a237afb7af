"""Trace away regions computed under ``vmap``: a Batched becomes a Graph of level ``aten``.

Each region is a function of the values it reads. It is traced alone, after dispatch, where ``vmap``
has already turned the calls into those on whole tensors, and the traced operators take its place.
The resulting graph has no hidden state and is lowered like any other, before dispatch. Tensors have
no values throughout; run this in a confined process.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import torch
from torch import fx
from torch._subclasses.fake_tensor import unset_fake_temporarily
from torch.fx.experimental.proxy_tensor import make_fx

from graph_net.graph.batched import ADD, ENTER, LEAVE, LOAD, REMOVE, Batched
from graph_net.graph.errors import GraphError
from graph_net.graph.execute import call_node
from graph_net.graph.graph import Graph, Input, Node
from graph_net.graph.guard import watched_kernels
from graph_net.graph.runtime import SymbolTable, arguments, spec_of
from graph_net.graph.schema import tidy
from graph_net.graph.values import Ref, Value, map_refs, refs
from graph_net.printable import first_line
from graph_net.rewrite.lower import REPAIRED, changed_inputs, graph_of_trace, to_aten
from graph_net.rewrite.piece_inputs import as_input
from graph_net.rewrite.read_values import NO_COMPUTATION, fold_scalars, repaired_graphs
from graph_net.rewrite.variant.propagate import CPU, call_fake, fake_values

REGIONS = "vmap_regions"
"""The provenance option that holds how many regions were traced."""
_vmap = torch._C._functorch


def remove_vmap(batched: Batched) -> Graph:
    """Return the same computation in ATen operators, without ``vmap``.

    Numbers that contradict the shapes of tensors are corrected as lowering corrects them.
    """
    from torch._functorch.predispatch import lazy_load_decompositions

    lazy_load_decompositions()
    failure: GraphError | None = None
    for graph in (batched.graph, *repaired_graphs(batched.graph)):
        try:
            lowered = to_aten(_RegionTracer(batched, graph).trace())
        except GraphError as error:
            failure = failure or error
            continue
        notes: dict[str, Value] = {REGIONS: len(batched.regions)}
        if changed := changed_inputs(batched.graph, graph):
            notes[REPAIRED] = changed
        options = {**dict(lowered.provenance.options), **notes}
        return lowered.with_provenance(options=tuple(options.items()))
    assert failure is not None
    raise failure


class _RegionTracer:
    """Replaces the regions of a graph, one after another, by their traces."""

    def __init__(self, batched: Batched, graph: Graph) -> None:
        self.graph, self.internals, self.regions = graph, batched.internals, batched.regions
        self.nodes: list[Node] = []
        self.constants: list[Input] = []
        self.renamed: dict[str, Ref] = {}
        self.taken = set(graph.index)
        self.values: dict[str, Any] = {}

    def trace(self) -> Graph:
        begins = {region.start: region for region in self.regions}
        inside = {position for region in self.regions for position in region}
        scalars = dict(fold_scalars(self.graph, literal_only=False))
        with fake_values(self.graph) as self.values, watched_kernels():
            for position, node in enumerate(self.graph.nodes):
                if position in begins:
                    self._replace(begins[position])
                elif position not in inside and node.name not in self.internals:
                    self._keep(node, scalars)
        return replace(
            self.graph,
            inputs=(*self.graph.inputs, *self.constants),
            nodes=tuple(self.nodes),
            output=map_refs(self.graph.output, self._renamed_ref),
        )

    def _renamed_ref(self, ref: Ref) -> Ref:
        return self.renamed.get(ref.name, ref)

    def _keep(self, node: Node, scalars: Mapping[str, Any]) -> None:
        if node.target in NO_COMPUTATION:
            self.values[node.name] = None
        elif node.name in scalars:
            self.values[node.name] = scalars[node.name]
        else:
            self.values[node.name] = call_fake(node, self.values)
        self.nodes.append(node.with_refs(self._renamed_ref))

    def _replace(self, region: range) -> None:
        nodes = self.graph.nodes[region.start : region.stop]
        own = {node.name for node in nodes}
        read = dict.fromkeys(ref.name for node in nodes for ref in node.refs)
        inputs = [n for n in read if n not in own and isinstance(self.values[n], torch.Tensor)]
        results = self._region_outputs(region, own)
        module = self._trace_region(nodes, inputs, results)
        entries = [Node(n, "", result=spec_of(self.values[n], SymbolTable())) for n in inputs]
        source = Graph(tuple(as_input(self.graph, entry) for entry in entries), (), ())
        with unset_fake_temporarily():
            traced = graph_of_trace(module, source)  # reads the values of constants
        self._splice(traced, module, results)

    def _region_outputs(self, region: range, own: set[str]) -> list[str]:
        """Return the values of a region that are read outside it."""
        later = [ref for node in self.graph.nodes[region.stop :] for ref in node.refs]
        read = dict.fromkeys(ref.name for ref in (*later, *refs(self.graph.output)))
        return [name for name in read if name in own]

    def _trace_region(
        self, nodes: Sequence[Node], inputs: list[str], results: list[str]
    ) -> fx.GraphModule:
        def region(*tensors: Any) -> tuple[Any, ...]:
            values = {**self.values, **dict(zip(inputs, tensors, strict=True))}
            with _vmap_layers(self.internals) as make:
                for node in nodes:
                    values[node.name] = make(node, values)
            return tuple(_check_unbatched(name, values[name]) for name in results)

        try:
            traced = make_fx(region, tracing_mode="real")(*(self.values[n] for n in inputs))
        except GraphError:
            raise
        except Exception as error:
            raise GraphError(f"a vmap region cannot be traced: {first_line(error)}") from error
        traced.graph.eliminate_dead_code()
        traced.recompile()
        tidy(traced)
        return traced

    def _splice(self, traced: Graph, module: fx.GraphModule, results: list[str]) -> None:
        """Append the calls of a traced region, under free names."""
        names: dict[str, Ref] = {}

        def rename(ref: Ref) -> Ref:
            return names.get(ref.name) or self._renamed_ref(ref)

        for entry in traced.inputs:
            if entry.name not in self.graph.index:
                names[entry.name] = self._make_ref(entry.name)
                self.constants.append(replace(entry, name=names[entry.name].name))
                self.values[names[entry.name].name] = getattr(module, entry.name)
        for node in traced.nodes:
            names[node.name] = self._make_ref(node.name)
            renamed = node.with_refs(rename, names[node.name].name)
            self.nodes.append(renamed)
            self.values[renamed.name] = call_fake(renamed, self.values)
        assert isinstance(traced.output, tuple)
        for name, value in zip(results, traced.output, strict=True):
            if not isinstance(value, Ref):
                raise GraphError("a value that is not a tensor leaves a vmap region", node=name)
            self.renamed[name] = rename(value)
            self.values[name] = self.values[self.renamed[name].name]

    def _make_ref(self, name: str) -> Ref:
        while name in self.taken:
            name += "_"
        self.taken.add(name)
        return Ref(name)


def _check_unbatched(name: str, value: Any) -> Any:
    """Return the value; raise GraphError if it is still batched by a layer of the region."""
    if isinstance(value, torch.Tensor) and _vmap.is_batchedtensor(value):
        raise GraphError("a value leaves its vmap region while it is batched", node=name)
    return value


@contextmanager
def _vmap_layers(internals: Mapping[str, str]) -> Iterator[Any]:
    """Yield a function that makes calls, internals included; close layers left open."""
    levels: list[int] = []

    def make(node: Node, values: Mapping[str, Any]) -> Any:
        internal = internals.get(node.name)
        if internal is None:
            return None if node.target in NO_COMPUTATION else call_node(node, values, CPU)
        args, _ = arguments(node, values.__getitem__, CPU)
        return _call_internal(internal, args, levels)

    try:
        yield make
    finally:
        for _ in levels:
            _vmap._vmap_decrement_nesting()


def _call_internal(internal: str, args: tuple[Any, ...], levels: list[int]) -> Any:
    """Call one of torch's internals; ``levels`` are the open ones."""
    if internal == ENTER:
        levels.append(_vmap._vmap_increment_nesting(*args))
    elif internal == LEAVE:
        levels.pop()
        _vmap._vmap_decrement_nesting()
    elif internal == ADD:
        tensor, dim, level = args
        return _vmap._add_batch_dim(tensor, dim, levels[level - 1])
    elif internal == REMOVE:
        tensor, level, size, dim = args
        return _vmap._remove_batch_dim(tensor, levels[level - 1], size, dim)
    else:
        assert internal == LOAD
    return None
