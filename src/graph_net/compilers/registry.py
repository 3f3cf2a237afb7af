"""Find compilers: those that come with the package, entry points, and a user's own file."""

from __future__ import annotations

import importlib
import json
from collections.abc import Mapping
from importlib.metadata import entry_points
from pathlib import Path

from graph_net.compilers.compiler import Compiler, CompilerError
from graph_net.compilers.option import Json
from graph_net.user_file import run_user_file

GROUP = "graph_net.compilers"
BUILT_IN = {
    "eager": "graph_net.compilers.eager:Eager",
    "inductor": "graph_net.compilers.inductor:Inductor",
    "onnxruntime": "graph_net.compilers.onnxruntime:OnnxRuntime",
    "tvm": "graph_net.compilers.tvm:Tvm",
    "xla": "graph_net.compilers.xla:Xla",
    "iree": "graph_net.compilers.iree:Iree",
    "openvino": "graph_net.compilers.openvino:OpenVino",
    "tensorrt": "graph_net.compilers.tensorrt:TensorRT",
    "bladedisc": "graph_net.compilers.bladedisc:BladeDisc",
    "cinn": "graph_net.compilers.cinn:Cinn",
}
ALIASES = {"nope": "eager"}
"""Names of the original GraphNet."""


def compiler_names() -> list[str]:
    """Return the names of all compilers, installed or not."""
    return [*BUILT_IN, *sorted({p.name for p in entry_points(group=GROUP)} - BUILT_IN.keys())]


def available() -> dict[str, str | None]:
    """Return every compiler with why it cannot be used here (None if it can)."""
    return {name: create(name).missing() for name in compiler_names()}


def create(name: str, options: Mapping[str, Json] | None = None) -> Compiler:
    """Return the compiler with this name, or the class that ``path/to/file.py:Name`` points to."""
    return _class_of(ALIASES.get(name, name))(options)


def require_compiler(name: str, options: Mapping[str, Json] | None = None) -> Compiler:
    """Return the compiler; raise CompilerError, with the command that helps, if it is missing."""
    compiler = create(name, options)
    missing = compiler.missing()
    if missing:
        raise CompilerError(f"{name} cannot be used here: {missing}")
    return compiler


def _class_of(name: str) -> type[Compiler]:
    for point in entry_points(group=GROUP):
        if point.name == name:
            return _check_class(point.load(), name)
    if name in BUILT_IN:
        module, _, attribute = BUILT_IN[name].partition(":")
        return _check_class(getattr(importlib.import_module(module), attribute), name)
    path, _, attribute = name.partition(":")
    if path.endswith(".py"):
        return _from_file(Path(path), attribute)
    raise CompilerError(f"unknown compiler {name!r}; known: {', '.join(compiler_names())}")


def _from_file(path: Path, attribute: str) -> type[Compiler]:
    """Return a user's own class. Naming a file on the command line is asking for it to be run."""
    if not path.is_file():
        raise CompilerError(f"{path} does not exist; give the path of a Python file")
    module = run_user_file(path)
    classes = [
        value
        for value in vars(module).values()
        if isinstance(value, type)
        and issubclass(value, Compiler)
        and value.__module__ == module.__name__
    ]
    if not attribute and len(classes) == 1:
        return classes[0]
    if not attribute:
        names = ", ".join(value.__name__ for value in classes) or "none"
        raise CompilerError(f"{path} defines {names}; name one as {path}:Name")
    return _check_class(getattr(module, attribute, None), f"{path}:{attribute}")


def _check_class(value: object, name: str) -> type[Compiler]:
    if isinstance(value, type) and issubclass(value, Compiler):
        return value
    raise CompilerError(f"{name} is not a subclass of graph_net.compilers.Compiler")


def parse_options(text: str) -> dict[str, Json]:
    """Parse ``{"key": value}`` or ``key=value,…``; values that parse as JSON are JSON."""
    text = text.strip()
    if not text:
        return {}
    if text.startswith("{"):
        try:
            return dict(json.loads(text))
        except ValueError as error:
            raise CompilerError(f"options are not JSON: {error}") from error
    options: dict[str, Json] = {}
    for part in text.split(","):
        key, equals, value = part.partition("=")
        if not equals or not key.strip():
            raise CompilerError(f"{part!r} is not key=value; write level=3,mode=fast")
        try:
            options[key.strip()] = json.loads(value)
        except ValueError:
            options[key.strip()] = value.strip()
    return options
