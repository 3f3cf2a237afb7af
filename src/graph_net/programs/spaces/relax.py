"""Tasks of a graph: the functions that TVM's Relax fuses it into, and the subgraph each computes.

Relax names the functions; the nodes of ours that one contains are tracked through every pass.
Exporting keeps a node's name, decomposing records the origin of a new call, importing and
legalising write bindings in the order of the calls, and fusing keeps the arguments of a function's
calls.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from graph_net.compilers.compiler import Job, Unsupported
from graph_net.compilers.export import export_uncached, pure_function_of
from graph_net.compilers.silence import silent
from graph_net.compilers.tvm import import_to_relax, tvm_target
from graph_net.graph import Graph, GraphError
from graph_net.programs.spaces.metaschedule import workload_of
from graph_net.programs.spaces.space import Workload
from graph_net.rewrite.carve import Carver

OUTPUT = "gv"
"""Relax's name for the result of a fused function."""
MOVES = ("reshape", "transpose", "broadcast_to", "expand_dims", "squeeze", "cast")
FEW, MOST = 0.01, 0.99
"""Shares of a node's work: below FEW it is computed elsewhere, from MOST on it is computed here."""
Call = tuple[str, tuple[str, ...]]
"""A function's name and its arguments."""


@dataclass(frozen=True)
class FoundTask:
    """A workload of a graph: how often it occurs, and the subgraph it computes."""

    workload: Workload
    weight: int
    subgraph: Graph | None
    """None if it computes only a part of a call, such as transposing a weight."""


Owners = dict[str, str]
"""Relax's variables, and the node of the graph that each was made for."""


def tasks_of(graph: Graph, cores: int) -> list[FoundTask]:
    """Return the tasks of a graph; raise Unsupported if TVM cannot import it."""
    import tvm
    from tvm import relax
    from tvm.s_tir.meta_schedule.relax_integration import extract_tasks

    program = pure_function_of(Job(graph, (), "cpu", Path()))
    if graph.symbols:
        raise Unsupported(["sizes that are not known"])
    source = export_uncached(program, torch.device("cpu"))
    module, translated = import_to_relax(source)
    owners = _owners(module["main"], translated, _nodes(source, program.graph))
    target = tvm_target(cores)
    steps = relax.transform
    with silent(), target:
        plain = tvm.transform.Sequential(
            [
                steps.LegalizeOps(),
                steps.CanonicalizeBindings(),  # drops unused results
                steps.DeadCodeElimination(),
                steps.AnnotateTIROpPattern(),
            ]
        )(module)
        fused = steps.FuseOps()(plain)
        ready = steps.FuseTIR()(fused)
        tasks = extract_tasks(ready, target)
    sites = _sites(fused, _calls(plain, owners))
    carver = Carver(program.graph)
    results = []
    for task in tasks:
        name = str(task.task_name)
        workload = workload_of(task.dispatched[0], name)
        results.append(FoundTask(workload, int(task.weight), _carved(carver, sites.get(name))))
    return results


def _nodes(source: Any, graph: Graph) -> dict[str, str]:
    """Return the node of the graph for each call of an exported program."""
    exported = [node.name for node in source.graph.nodes if node.op == "call_function"]
    if len(exported) == len(graph.nodes):
        return dict(zip(exported, (node.name for node in graph.nodes), strict=True))
    names = {node.name for node in graph.nodes}  # one call may have become several
    return {name: name for name in exported if name in names}


def _owners(main: Any, translated: list[tuple[Any, list[str]]], nodes: dict[str, str]) -> Owners:
    """Return the node that each variable of the imported function belongs to.

    The importer translates calls in order, so the bindings written since the previous call's result
    belong to this call.
    """
    results: Owners = {}
    for call, variables in translated:
        sources = call.meta.get("from_node") or ()
        node = nodes.get(sources[0].name) if sources else None
        for variable in variables:
            results.setdefault(variable, node or "")
    return _up_to(results, (str(binding.var.name) for binding in _bindings(main)))


def _up_to(owners: Owners, variables: Iterator[str]) -> Owners:
    """Assign unknown variables to the owner of the next known one."""
    known, pending = {}, []
    for variable in variables:
        pending.append(variable)
        if variable in owners:
            known.update(dict.fromkeys(pending, owners[variable]))
            pending = []
    return known


@dataclass(frozen=True)
class _Calls:
    """The calls of a function before fusing: callee, arguments, and the node each is for."""

    made: dict[Call, list[str]]
    """The variables that hold a call's result; equal calls are interchangeable."""
    owners: Owners
    work: dict[str, float]
    """Work to compute each variable, in operations."""
    total: dict[str, float]
    """Work of all variables of a node."""

    def computed(self, variables: Iterable[str]) -> frozenset[str]:
        """Return the nodes that these variables compute; none if one of the nodes is split.

        A linear layer is a transposition, a product and a reshape, and the reshape fuses with what
        follows: the layer counts as computed where the product is. Attention is several products
        and is computed by none.
        """
        inside: dict[str, float] = defaultdict(float)
        for variable in variables:
            if self.owners.get(variable):
                inside[self.owners[variable]] += self.work[variable]
        shares = {node: work / self.total[node] for node, work in inside.items()}
        if any(FEW < share < MOST for share in shares.values()):
            return frozenset()
        return frozenset(node for node, share in shares.items() if share >= MOST)


def _calls(module: Any, owners: Owners) -> _Calls:
    bindings = list(_bindings(module["main"]))
    owners = _up_to(owners, (str(binding.var.name) for binding in bindings))
    functions = _work(module)
    made: dict[Call, list[str]] = {}
    work: dict[str, float] = {}
    total: dict[str, float] = defaultdict(float)
    for binding in bindings:
        call, variable = _call(binding.value), str(binding.var.name)
        if call is not None:
            made.setdefault(call, []).append(variable)
            work[variable] = functions[call[0]]
            total[owners.get(variable, "")] += work[variable]
    return _Calls(made, owners, work, total)


def _work(module: Any) -> dict[str, float]:
    """Return each function's floating-point operations; close to 0 if it only moves data."""
    from tvm.s_tir.analysis import estimate_tir_flops

    work = {}
    for variable in module.get_global_vars():
        name = str(variable.name_hint)
        if name != "main":
            flops = float(estimate_tir_flops(type(module)({variable: module[variable]})))
            work[name] = flops or (1e-6 if name.startswith(MOVES) else 1.0)
    return work


def _sites(fused: Any, calls: _Calls) -> dict[str, frozenset[str]]:
    """Return the nodes of the graph that each function's first call computes."""
    functions = {str(name.name_hint): fused[name] for name in fused.get_global_vars()}
    sites: dict[str, frozenset[str]] = {}
    for binding in _bindings(fused["main"]):
        call, value = _call(binding.value), binding.value
        if call is not None:
            name, variables = call[0], [str(binding.var.name)]
        elif hasattr(value, "op") and hasattr(value.op, "name_hint"):
            name = str(value.op.name_hint)
            variables = list(_variables(functions[name], calls))
        else:
            continue
        sites.setdefault(name, calls.computed(variables))
    return sites


def _variables(function: Any, calls: _Calls) -> Iterator[str]:
    """Yield the variables that the calls of a fused function had before fusing."""
    for binding in _bindings(function):
        call, variable = _call(binding.value), str(binding.var.name)
        if variable in calls.work and variable != OUTPUT:
            yield variable
        elif call in calls.made:
            yield calls.made[call][0]


def _bindings(function: Any) -> Iterator[Any]:
    for block in function.body.blocks:
        yield from block.bindings


def _call(value: Any) -> Call | None:
    """Return the callee and arguments of a ``call_tir``."""
    if not hasattr(value, "op") or getattr(value.op, "name", "") != "relax.call_tir":
        return None
    function, arguments = value.args[0], value.args[1]
    fields = arguments.fields if hasattr(arguments, "fields") else [arguments]
    return str(function.name_hint), tuple(str(getattr(part, "name", part)) for part in fields)


def _carved(carver: Carver, nodes: frozenset[str] | None) -> Graph | None:
    if not nodes:
        return None
    try:
        return carver.carve(nodes, kind="task")
    except GraphError:
        return None
