"""``graph-net show``: a graph's origin, sizes, operators and cost."""

from __future__ import annotations

from collections import Counter
from typing import Annotated

import typer
from rich.table import Table

from graph_net.api.describe import count_flops_confined, python_source
from graph_net.api.graphs import open_graph
from graph_net.cli import options as opt
from graph_net.cli.common import out
from graph_net.display.terminal import lines
from graph_net.graph import Graph, Ref, Role, TensorSpec, to_json
from graph_net.graph.values import refs
from graph_net.printable import count_phrase, printable, short_bytes, short_count


def show_graph(
    graph: opt.Graph,
    json: Annotated[
        bool, typer.Option("--json", help="Print the graph as canonical JSON.")
    ] = False,
    code: Annotated[bool, typer.Option("--code", help="Print the graph as Python source.")] = False,
    flops: Annotated[
        bool, typer.Option(help="Count floating-point operations (loads torch: seconds).")
    ] = True,
    operators: Annotated[int, typer.Option(help="How many operators to list; 0 for all.")] = 15,
) -> None:
    """Show a graph: its origin, its sizes, its operators, its cost."""
    name, opened = open_graph(graph)
    if json:
        typer.echo(to_json(opened, indent=1))
    elif code:
        typer.echo(printable(python_source(opened), lines=True), nl=False)
    else:
        for table in (
            summary_table(name, opened, flops),
            input_table(opened),
            operator_table(opened, operators),
        ):
            out.print(table)


def summary_table(name: str, graph: Graph, flops: bool) -> Table:
    """Return the hashes, the origin and the sizes of a graph; ``flops`` counts its operations."""
    table = Table(title=name, show_header=False, title_justify="left")
    table.add_column(style="bold")
    table.add_column(overflow="fold")
    origin = graph.provenance
    framework = f"{origin.framework} {origin.framework_version}".strip()
    parts = (origin.library, origin.model, origin.category, origin.subcategory, framework)
    rows = {
        "id": graph.id,
        "structure": graph.structure,
        "level": graph.level.value,
        "from": " · ".join(filter(None, parts)),
        "nodes": f"{len(graph.nodes):,}",
        "inputs": f"{len(graph.inputs):,}",
        "parameters": f"{short_count(graph.parameters)} ({graph.parameters:,})",
        "tensors": short_bytes(graph.tensor_bytes),
        "outputs": str(sum(1 for _ in refs(graph.output))),
    }
    if graph.symbols:
        rows["symbols"] = ", ".join(f"{s.name} = {s.example}" for s in graph.symbols)
    if graph.constraints:
        rows["constraints"] = ", ".join(c.text for c in graph.constraints)
    if flops:
        rows["FLOPs"] = _flops(graph)
    for key, value in rows.items():
        table.add_row(key, value)
    return table


def _flops(graph: Graph) -> str:
    total, reason = count_flops_confined(graph)
    if total is None:
        return f"unknown: {reason}"
    return f"{short_count(total)} ({total:,}; matrix products, convolutions, attention)"


def input_table(graph: Graph) -> Table:
    """Return the inputs by role: how many, how large, of which dtypes."""
    table = Table(title="inputs", title_justify="left")
    for column in ("role", "count", "elements", "size", "dtypes", "examples"):
        table.add_column(column, justify="right" if column in ("count", "elements") else "left")
    for role in Role:
        entries = [entry for entry in graph.inputs if entry.role is role]
        if not entries:
            continue
        specs = [(e.name, e.spec) for e in entries if isinstance(e.spec, TensorSpec)]
        shapes = [f"{name} {_shape(spec)}" for name, spec in specs]
        shown = shapes if role is Role.INPUT and len(shapes) <= 6 else shapes[:1]
        table.add_row(
            role.value,
            f"{len(entries):,}",
            short_count(sum(spec.elements(graph.bindings) for _, spec in specs)),
            short_bytes(sum(spec.bytes(graph.bindings) for _, spec in specs)),
            ", ".join(sorted({spec.dtype for _, spec in specs})),
            lines("\n".join(map(printable, shown)) + (" …" if len(shown) < len(shapes) else "")),
        )
    return table


def _shape(spec: TensorSpec) -> str:
    return "[" + ", ".join(str(getattr(dim, "text", dim)) for dim in spec.shape) + "]"


def operator_table(graph: Graph, most: int) -> Table:
    """Return the operators of a graph by their number of calls, at most ``most`` of them."""
    counts = Counter(node.target for node in graph.nodes)
    table = Table(title=f"operators ({count_phrase(len(counts), 'kind')})", title_justify="left")
    table.add_column("operator")
    table.add_column("calls", justify="right")
    table.add_column("reads parameters", justify="right")
    parameters = {Ref(e.name) for e in graph.inputs if e.role is Role.PARAMETER}
    reading = Counter(
        node.target for node in graph.nodes if any(ref in parameters for ref in node.refs)
    )
    for target, count in counts.most_common(most or None):
        table.add_row(target, f"{count:,}", f"{reading[target]:,}" if reading[target] else "")
    if most and len(counts) > most:
        rest = sum(counts.values()) - sum(count for _, count in counts.most_common(most))
        table.add_row(f"… {len(counts) - most} more", f"{rest:,}", "")
    return table
