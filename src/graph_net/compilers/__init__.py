"""Compilers: one file each, one protocol, one conformance kit."""

from graph_net.compilers.compiler import Compiler, CompilerError, Job, Runner, Unsupported
from graph_net.compilers.option import Json, Option
from graph_net.compilers.registry import available, compiler_names, create, require_compiler

__all__ = [
    "Compiler",
    "CompilerError",
    "Job",
    "Json",
    "Option",
    "Runner",
    "Unsupported",
    "available",
    "compiler_names",
    "create",
    "require_compiler",
]
