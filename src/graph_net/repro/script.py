"""Write one standalone script: the graph as source, its inputs, the compiler, the comparison.

Only calls of the allow-list, plain identifiers and numbers of a graph become code; every text from
a dataset is written as a quoted string.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, replace
from pathlib import Path

import torch

from graph_net.formats.graphnet.source import model_source
from graph_net.graph import Graph, GraphError, Level, Node, RunDevice, to_json
from graph_net.graph.devices import makes_tensor
from graph_net.graph.effects import changed_values, draws_random
from graph_net.graph.targets import is_overload
from graph_net.repro.inputs import inputs_source, number
from graph_net.results import FAMILIES, Config, Json, short_name

TEMPLATES = Path(__file__).with_name("templates")
POSSIBLE = {
    "eager": ("compile_eager",),
    "inductor": ("compile_inductor",),
    "onnxruntime": ("exported", "compile_onnxruntime"),
    "openvino": ("exported", "compile_openvino"),
}
"""The compilers a script can be written for, and the parts each needs."""
OWN = ("compile_own",)
PURE = frozenset({"onnxruntime", "openvino"})
"""Compilers that take pure functions of tensors."""
_LIBRARIES = frozenset({"torchvision"})
"""Libraries whose import registers operators of the same name."""
_RULE = "# " + "-" * 78
_ENDING = """if __name__ == "__main__":
    asked = (OPTIONS, TOLERANCE, CHANGED, DRAWS_RANDOM, PURE, SECONDS)
    sys.exit(main(GraphModule(), make_inputs, compiled, *asked))
"""


class ReproError(ValueError):
    """No script can be written for this graph and compiler."""


@dataclass(frozen=True)
class _Part:
    imports: tuple[str, ...]
    title: str
    body: str


def _section(title: str, body: str) -> str:
    return f"{_RULE}\n# {title}\n\n\n{body}"


def write_script(
    name: str,
    graph: Graph,
    config: Config,
    device: str = "cpu",
    t: float = -3.0,
    seconds: float = 5.0,
    seed: int = 0,
    source: str | None = None,
) -> str:
    """Return the text of a script that compares eager with a compiler on this graph.

    ``source`` is the file of a user's own compiler, which becomes part of the script: passing it is
    trusting it. Such a script needs graph_net.
    """
    _check(graph, config.name, source is not None)
    options = dict(config.options) if source is None else _own_options(graph, config, source)
    graph = _with_device(graph, device)
    model = _split(model_source(graph, device))
    names = ("values", "common", *POSSIBLE.get(config.name, OWN), "harness")
    helpers = [_split((TEMPLATES / f"{name}.py").read_text("utf-8")) for name in names]
    imports = {line for part in (model, *helpers) for line in part.imports}
    text = "\n\n\n".join(
        [
            _heading(name, graph, config),
            "\n".join([*sorted({*imports, "import sys"}, key=_import_order), *_libraries(graph)]),
            _section("The graph", model.body),
            _section("Its inputs", inputs_source(graph, device, seed)),
            _section("What is asked", _settings(graph, config, options, t, seconds)),
            *(_section(part.title, part.body) for part in helpers),
            _ENDING,
        ]
    )
    ast.parse(text)  # never hand out a script that does not parse
    return text


def _own_options(graph: Graph, config: Config, source: str) -> dict[str, Json]:
    """Return the options for the part that runs a user's own compiler."""
    return {
        "source": source,
        "class": config.name.rpartition(":")[2],
        "graph": to_json(graph),
        "options": dict(config.options),
    }


def _check(graph: Graph, compiler: str, own: bool) -> None:
    if compiler not in POSSIBLE and not own:
        names = ", ".join(POSSIBLE)
        raise ReproError(
            f"a script for {short_name(compiler)} is not possible yet; it is for: {names}"
        )
    if graph.level is Level.PADDLE:
        raise ReproError("a script for a graph of Paddle's operators is not possible yet")
    if compiler in PURE and changed_values(graph) & {entry.name for entry in graph.inputs}:
        raise ReproError(
            f"the graph changes its inputs, which a script for {compiler} cannot show yet; "
            "eager and inductor can"
        )
    odd = next((name for name in graph.index if not name.isascii()), None)
    if odd is not None:
        # Python normalises such names, and two may become one.
        raise GraphError("a name that is not plain ASCII", node=odd[:80])


def _with_device(graph: Graph, device: str) -> Graph:
    """Return the graph with the device named wherever a tensor is made, unless it is the CPU."""
    if device == "cpu":
        return graph

    def place(node: Node) -> Node:
        if not makes_tensor(node.target) or any(key == "device" for key, _ in node.kwargs):
            return node
        return replace(node, kwargs=(*node.kwargs, ("device", RunDevice())))

    return replace(graph, nodes=tuple(map(place, graph.nodes)))


def _settings(
    graph: Graph, config: Config, options: dict[str, Json], t: float, seconds: float
) -> str:
    levels = {name: (10.0 ** (a * t), 10.0 ** (r * t)) for name, (a, r) in FAMILIES.items()}
    levels |= {"complex64": levels["float32"], "complex128": levels["float64"]}
    table = "\n".join(f"    torch.{kind}: {number(pair)}," for kind, pair in levels.items())
    changed = changed_values(graph)
    positions = [i for i, entry in enumerate(graph.inputs) if entry.name in changed]
    return "\n".join(
        [
            "# Allowed difference from eager: absolute, and relative to the value.",
            f"TOLERANCE = {{\n{table}\n}}",
            f"OPTIONS: dict[str, Any] = {number(options)}",
            f"CHANGED = {number(positions)}  # inputs that the graph changes",
            f"DRAWS_RANDOM = {any(draws_random(node) for node in graph.nodes)}",
            f"PURE = {config.name in PURE}  # the compiler gives tensors only",
            f"SECONDS = {number(seconds)}  # of timing",
        ]
    )


def _heading(name: str, graph: Graph, config: Config) -> str:
    origin = graph.provenance
    facts = {
        "graph": name,
        "id": graph.id,
        "from": " ".join(word for word in (origin.library, origin.model) if word),
        "compiler": f"{config.label} {config.version}".strip(),
        "written with torch": torch.__version__,
    }
    lines = [f"# {key}: {fact!a}" for key, fact in facts.items()]
    return "\n".join(
        [
            f"# Eager against {short_name(config.name)!a}: one graph, standalone; needs torch and "
            f"the compiler{'' if config.name in POSSIBLE else ', which needs graph_net'}.",
            "# Written by `graph-net repro`. Inputs have the values that were measured.",
            "# Exit code: 0 the problem is shown (or the process dies of it), 1 it is not, 2 eager",
            "# fails itself. The last line says which.",
            *lines,
        ]
    )


def _split(text: str) -> _Part:
    """Return a module's imports, except those of other parts, its title and its body."""
    tree = ast.parse(text)
    lines = text.splitlines()
    first = tree.body[0]
    is_text = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
    rest = tree.body[1:] if is_text else tree.body
    imports, start = [], 0
    for statement in rest:
        if not isinstance(statement, (ast.Import, ast.ImportFrom)):
            break
        source = "\n".join(lines[statement.lineno - 1 : statement.end_lineno])
        start = statement.end_lineno or start
        if not source.startswith("from graph_net"):
            imports.append(source)
    title = (ast.get_docstring(tree) or "").partition("\n")[0]
    return _Part(tuple(imports), title, "\n".join(lines[start:]).strip("\n"))


def _import_order(line: str) -> tuple[bool, bool, str]:
    ours = "torch" in line.split()[1]
    return ours, line.startswith("from "), line


def _libraries(graph: Graph) -> list[str]:
    spaces = {node.target.split(".")[0] for node in graph.nodes if is_overload(node.target)}
    return [f"import {name}  # registers operators" for name in sorted(spaces & _LIBRARIES)]
