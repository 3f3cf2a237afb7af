"""A program as an ONNX file, written once."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import torch

from graph_net.compilers.compiler import Job, Unsupported
from graph_net.compilers.export import PureFunction, error_chain, export_program, form_path
from graph_net.compilers.form_cache import get_or_make
from graph_net.printable import error_line


def onnx_file(job: Job, program: PureFunction) -> Path:
    """Return the path of the program's ONNX file, with inputs i0, i1, … and outputs o0, o1, ….

    Parameters are inputs, so the file stays far below protobuf's limit of two gigabytes whatever
    the model weighs.
    """

    def make(path: Path) -> None:
        _write(export_program(job, program), program, path)

    return get_or_make(job, form_path(job, "onnx"), ("onnx", "onnxscript", "onnx-ir"), make)


def _write(source: torch.export.ExportedProgram, program: PureFunction, path: Path) -> None:
    with _quiet():
        try:
            exported = torch.onnx.export(
                source,
                (),
                dynamo=True,
                verbose=False,
                input_names=[f"i{k}" for k in range(len(program.inputs))],
                output_names=[f"o{k}" for k in range(len(program.outputs) + len(program.changed))],
            )
        except Exception as error:
            raise Unsupported(_not_in_onnx(source) or [_reason(error)], "torch.onnx") from error
        assert exported is not None
        exported.save(path, external_data=False)


def _reason(error: BaseException) -> str:
    """Return the innermost message: the exporter wraps it in pages of advice."""
    *_, last = error_chain(error)
    return error_line(last, 300)


def _not_in_onnx(source: torch.export.ExportedProgram) -> list[str]:
    """Return every operator without a translation to ONNX; the exporter stops at the first."""
    from torch.onnx._internal.exporter import _decomp
    from torch.onnx._internal.exporter._registration import ONNXRegistry

    registry = ONNXRegistry.from_torchlib()
    overloads = _decomp.get_onnx_implemented_overloads(registry)
    try:
        table = _decomp.create_onnx_friendly_decomposition_table({*overloads})
        source = source.run_decompositions(table)
    except Exception:
        return []
    return [
        str(node.target)
        for node in source.graph.nodes
        if isinstance(node.target, torch._ops.OpOverload) and node.target not in overloads
    ]


@contextmanager
def _quiet() -> Iterator[None]:
    """Silence the exporter's warnings and logging; what matters comes as an exception."""
    logger = logging.getLogger("torch.onnx")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logger.setLevel(level)
