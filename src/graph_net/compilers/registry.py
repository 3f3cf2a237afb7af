"""Finds compilers: those that come with the package, entry points, and a user's own file."""

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
"""What GraphNet calls them."""


def compiler_names() -> list[str]:
    """The names of all compilers, installed or not."""
    return [*BUILT_IN, *sorted({p.name for p in entry_points(group=GROUP)} - BUILT_IN.keys())]


def available() -> dict[str, str | None]:
    """Every compiler, and why it cannot be used here (None where it can)."""
    return {name: create(name).missing() for name in compiler_names()}


def create(name: str, options: Mapping[str, Json] | None = None) -> Compiler:
    """The compiler with this name, or the class that ``path/to/file.py:Name`` points to."""
    return _class_of(ALIASES.get(name, name))(options)


def usable(name: str, options: Mapping[str, Json] | None = None) -> Compiler:
    """The compiler with this name; raises, with the command that helps, if it is not there."""
    compiler = create(name, options)
    missing = compiler.missing()
    if missing:
        raise CompilerError(f"{name} cannot be used here: {missing}")
    return compiler


def _class_of(name: str) -> type[Compiler]:
    for point in entry_points(group=GROUP):
        if point.name == name:
            return _checked(point.load(), name)
    if name in BUILT_IN:
        module, _, attribute = BUILT_IN[name].partition(":")
        return _checked(getattr(importlib.import_module(module), attribute), name)
    path, _, attribute = name.partition(":")
    if path.endswith(".py"):
        return _from_file(Path(path), attribute)
    raise CompilerError(f"unknown compiler {name!r}; known: {', '.join(compiler_names())}")


def _from_file(path: Path, attribute: str) -> type[Compiler]:
    """A user's own class. Naming a file on the command line is asking for it to be run."""
    if not path.is_file():
        raise CompilerError(f"there is no file {path}")
    module = run_user_file(path)
    made = [
        value
        for value in vars(module).values()
        if isinstance(value, type)
        and issubclass(value, Compiler)
        and value.__module__ == module.__name__
    ]
    if not attribute and len(made) == 1:
        return made[0]
    if not attribute:
        names = ", ".join(value.__name__ for value in made) or "none"
        raise CompilerError(f"{path} defines {names}; say which: {path}:Name")
    return _checked(getattr(module, attribute, None), f"{path}:{attribute}")


def _checked(found: object, name: str) -> type[Compiler]:
    if isinstance(found, type) and issubclass(found, Compiler):
        return found
    raise CompilerError(f"{name} is no subclass of graph_net.compilers.Compiler")


def parse_options(text: str) -> dict[str, Json]:
    """Options from ``{"key": value}`` or ``key=value,…``, values JSON where they can be."""
    text = text.strip()
    if not text:
        return {}
    if text.startswith("{"):
        try:
            found = json.loads(text)
        except ValueError as error:
            raise CompilerError(f"options are not JSON: {error}") from error
        return dict(found)
    options: dict[str, Json] = {}
    for part in text.split(","):
        key, equals, value = part.partition("=")
        if not equals or not key.strip():
            raise CompilerError(f"{part!r} is not key=value")
        try:
            options[key.strip()] = json.loads(value)
        except ValueError:
            options[key.strip()] = value.strip()
    return options
