"""An oracle of GraphNet's format that shares no code with the package it judges.

``extract`` writes sample directories from FX's own code generation, as GraphNet does; ``execute``
runs a ``model.py`` that a test wrote; ``renamed`` gives a sample other names. Test-only: unlike
the package, it executes source.
"""

from __future__ import annotations

import ast
import hashlib
import json
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import fx, nn

FX_GLOBALS: dict[str, Any] = {
    f"_operator_{name}": getattr(operator, name) for name in dir(operator) if name[0] != "_"
}
SMALL = 64
"""Tensors with fewer elements are stored literally."""


def extract(
    model: nn.Module,
    inputs: tuple[Any, ...],
    directory: Path,
    dynamic: bool = False,
    device_text: str | None = None,
) -> list[Path]:
    """Capture a model call; write a sample for each graph, and say where they are.

    ``device_text`` stands in the source wherever Dynamo wrote the device of this machine.
    """
    captured: list[tuple[str, dict[str, Any]]] = []

    def keep(module: fx.GraphModule, examples: Sequence[Any]) -> Callable[..., Any]:
        names = [str(n.target) for n in module.graph.nodes if n.op == "placeholder"]
        captured.append((module.code, dict(zip(names, map(_plain, examples), strict=True))))
        return module.forward

    torch._dynamo.reset()
    with (
        torch._dynamo.config.patch(capture_scalar_outputs=True, allow_rnn=True),
        torch.random.fork_rng(),
        torch.no_grad(),
    ):
        torch.compile(model, backend=keep, dynamic=dynamic)(*inputs)
    places = [directory]
    if len(captured) > 1:
        places = [directory / f"subgraph_{i}" for i in range(len(captured))]
    for place, (code, arguments) in zip(places, captured, strict=True):
        if device_text is not None:
            code = code.replace("device(type='cpu')", device_text)
        write_files(place, module_source(code), arguments, "cpu" if device_text is None else "cuda")
    return places


def module_source(code: str) -> str:
    """The text of a ``model.py`` around the code of its ``forward``."""
    lines = ["import torch", ""]
    lines += ["from torch import device", ""] * ("device" in code)
    lines += ["from torch import inf", ""] * ("inf" in code)
    lines += ["", "class GraphModule(torch.nn.Module):", ""]
    return "\n".join([*lines, *(f"    {line}".rstrip() for line in code.strip().split("\n")), ""])


def write_files(
    directory: Path, model: str, arguments: Mapping[str, Any], device: str = "cpu"
) -> None:
    """The six files of a sample whose arguments had these values."""
    directory.mkdir(parents=True, exist_ok=True)
    metas = "\n\n".join(_meta(name, value, device) for name, value in arguments.items())
    fields = {
        "framework": "torch",
        "num_devices_required": 1,
        "num_nodes_required": 1,
        "dynamic": False,
        "model_name": directory.name,
        "source": "oracle",
        "heuristic_tag": "other",
        "dimension_generalization_passes": ["batch_call_method_view_pass"],
    }
    files = {
        "model.py": model,
        "weight_meta.py": metas,
        "input_meta.py": "",
        "input_tensor_constraints.py": _constraints(arguments),
        "graph_hash.txt": hashlib.sha256(f"v0{model}".encode()).hexdigest(),
        "graph_net.json": json.dumps(fields, indent=4),
    }
    for name, text in files.items():
        (directory / name).write_text(text, "utf-8")


def execute(directory: Path, inputs: Sequence[Any], seed: int = 0) -> Any:
    """What the ``forward`` of a sample that the test wrote returns, on the CPU."""
    source = (directory / "model.py").read_text("utf-8")
    return execute_source(source, inputs, seed)


def execute_source(source: str, inputs: Sequence[Any], seed: int = 0) -> Any:
    """Like ``execute``, for the text of a ``model.py``."""
    source = re.sub(r"(['\"])cuda(:\d+)?\1(, index=\d+)?", "'cpu'", source)
    source = source.replace(".cuda(", ".cpu(")
    namespace = dict(FX_GLOBALS)
    exec(compile(source, "model.py", "exec"), namespace)
    with torch.random.fork_rng(), torch.no_grad():
        torch.manual_seed(seed)
        return namespace["GraphModule"]().forward(*inputs)


def same(one: Any, other: Any) -> bool:
    """Whether two nested results are equal bit for bit, containers and dtypes included."""
    if isinstance(one, torch.Tensor) and isinstance(other, torch.Tensor):
        alike = one.dtype == other.dtype and one.shape == other.shape
        return alike and _bits(one) == _bits(other)
    if type(one) is not type(other):
        return False
    if isinstance(one, (list, tuple)):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, dict):
        return list(one) == list(other) and all(same(one[key], other[key]) for key in one)
    return bool(one == other)


def renamed(directory: Path, target: Path) -> None:
    """The same sample with all arguments and local names replaced, written to ``target``."""
    tree = ast.parse((directory / "model.py").read_text("utf-8"))
    forward = next(n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef))
    arguments = [argument.arg for argument in forward.args.args[1:]]
    stored = [n.id for n in ast.walk(forward) if isinstance(n, ast.Name)]
    assigned = [
        n.id
        for n in ast.walk(forward)
        if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store) and n.id not in arguments
    ]
    names = {name: f"tensor_{i}" for i, name in enumerate(arguments)}
    names |= {name: f"v{i}" for i, name in enumerate(dict.fromkeys(assigned))}
    assert set(names) <= set(stored) | set(arguments)
    for node in ast.walk(forward):
        if isinstance(node, ast.arg):
            node.arg = names.get(node.arg, node.arg)
        elif isinstance(node, ast.Name):
            node.id = names.get(node.id, node.id)
    target.mkdir(parents=True)
    for file in directory.iterdir():
        text = file.read_text("utf-8")
        if file.name in ("weight_meta.py", "input_tensor_constraints.py"):
            for name in arguments:
                text = text.replace(f'"{name}"', f'"{names[name]}"')
        (target / file.name).write_text(ast.unparse(tree) if file.name == "model.py" else text)


def _plain(value: Any) -> Any:
    if isinstance(value, torch.SymInt):
        return int(value.node.hint)
    return value.detach().clone() if isinstance(value, torch.Tensor) else value


def _bits(tensor: torch.Tensor) -> bytes:
    plain = tensor.detach().resolve_conj().resolve_neg().contiguous().reshape(-1)
    return bytes(plain.view(torch.uint8).numpy().tobytes())


def _meta(name: str, value: Any, device: str) -> str:
    tensor = value if isinstance(value, torch.Tensor) else torch.tensor(value)
    floating = tensor.dtype.is_floating_point
    wide = tensor.double() if floating else tensor
    lines = [
        f"class Program_weight_tensor_meta_{name}:",
        f'    name = "{name}"',
        f"    shape = {list(tensor.shape)}",
        f'    dtype = "{tensor.dtype}"',
        f'    device = "{device}"',
        f"    mean = {wide.mean().item():.3f}" if floating else "    mean = None",
        f"    std = {wide.std(correction=0).item():.3f}" if floating else "    std = None",
    ]
    if tensor.numel() < SMALL:
        lines.append(f"    data = [{', '.join(map(_literal, tensor.flatten().tolist()))}]")
    else:
        lines.append("    data = None")
        if tensor.dtype in (torch.int64, torch.int32):
            lines += [f"    min_val = {tensor.min()}", f"    max_val = {tensor.max()}"]
    return "\n".join([*lines, ""])


def _literal(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.6f}" if abs(value) != float("inf") else f'float("{value}")'
    return repr(value)


def _constraints(arguments: Mapping[str, Any]) -> str:
    """Leading sizes of what is no weight vary, as in most public samples."""
    symbols: dict[int, str] = {}
    shapes = []
    for name in sorted(arguments):
        value = arguments[name]
        dims = [str(size) for size in value.shape] if isinstance(value, torch.Tensor) else []
        if dims and "_parameters_" not in name and "_buffers_" not in name:
            dims[0] = symbols.setdefault(int(dims[0]), f"S{len(symbols)}")
        shapes.append(f'    ([{", ".join(dims)}], "{name}"),')
    prefix = "dynamic_dim_constraint_"
    examples = ", ".join(f"{symbol}: {size}" for size, symbol in symbols.items())
    return "\n".join(
        [
            "from sympy import Symbol, Expr, Rel, Eq",
            "",
            *(f'{symbol} = Symbol("{symbol}")' for symbol in symbols.values()),
            "",
            f"{prefix}symbols = [{', '.join(symbols.values())}]",
            f"{prefix}symbol2example_value = {{{examples}}}",
            f"{prefix}relations = []",
            f"{prefix}input_shapes = [",
            *shapes,
            "]",
            "",
        ]
    )
