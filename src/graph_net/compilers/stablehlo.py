"""A program as StableHLO text, which torch-mlir writes and XLA and IREE read."""

from __future__ import annotations

import re
import warnings
from pathlib import Path

import torch

from graph_net.compilers.compiler import Job, Unsupported
from graph_net.compilers.export import PureFunction, export_program, form_path
from graph_net.compilers.indices import plain_indices
from graph_net.compilers.silence import silent
from graph_net.compilers.unsupported import find_unsupported
from graph_net.store.atomic import caching


def stablehlo_file(job: Job, program: PureFunction) -> Path:
    """Return the path of a program's StableHLO text, written once per directory."""
    path = form_path(job, "stablehlo.mlir")
    if path.exists():
        return path
    with silent():
        source = _decompose(export_program(job, program))
        try:
            text = _translate(source)
        except Exception as error:
            reasons = find_unsupported(source, lambda alone: _translate(_decompose(alone)))
            raise Unsupported(reasons or [_error_line(error)], "torch-mlir") from error
    with caching(path) as aside:
        aside.write_text(text, "utf-8")
    return path


def _decompose(source: torch.export.ExportedProgram) -> torch.export.ExportedProgram:
    """Return the program in the operators that torch-mlir supports."""
    from torch_mlir.fx import get_decomposition_table

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return plain_indices(source.run_decompositions(get_decomposition_table()))


def _translate(source: torch.export.ExportedProgram) -> str:
    from torch_mlir.fx import export_and_import

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        module = export_and_import(
            source, output_type="stablehlo", func_name="main", decomposition_table={}
        )
    return _inline_constants(str(module.operation.get_asm()))


def _inline_constants(text: str) -> str:
    """Write constants where they are used, since XLA does not read the section at the end.

    A resource is its alignment (four bytes) and then the data that ``dense<"0x…">`` takes.
    """
    text, marker, section = text.partition("{-#")
    blobs = dict(re.findall(r'([\w.$-]+): "0x[0-9A-Fa-f]{8}([0-9A-Fa-f]*)"', section))
    if not marker or not blobs:
        return text + marker + section

    def dense(match: re.Match[str]) -> str:
        return f'dense<"0x{blobs[match[1]]}">'

    return re.sub(r"dense_resource<([\w.$-]+)>", dense, text)


def _error_line(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    telling = [line for line in lines if "error:" in line] or lines
    return f"{type(error).__name__}: {telling[0][:300]}" if telling else type(error).__name__
