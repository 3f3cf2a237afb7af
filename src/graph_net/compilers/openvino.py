"""``openvino``: Intel's OpenVINO, on the exported program.

On some machines its code kills the process with SIGILL at the first inference; like every compiler
it runs in a process of its own.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import torch

from graph_net.compilers.compiler import Compiler, Job, Runner, Unsupported
from graph_net.compilers.export import Function, export_program, pure_function_of
from graph_net.compilers.option import Json, Option
from graph_net.compilers.unsupported import find_unsupported

HINTS = ("LATENCY", "THROUGHPUT", "CUMULATIVE_THROUGHPUT")
PRECISIONS = ("f32", "bf16", "f16")


class OpenVino(Compiler):
    """OpenVINO on the CPU; ``hint`` and ``precision`` are its performance and inference hints."""

    name = "openvino"
    packages = ("openvino",)
    defaults: ClassVar[Mapping[str, Json | Option]] = {
        "hint": Option("LATENCY", HINTS),
        "precision": Option("f32", PRECISIONS),
    }

    def compile(self, job: Job) -> Runner:
        """Convert and compile; OpenVINO keeps its own files in the directory."""
        openvino = _openvino()
        program = pure_function_of(job)
        source = export_program(job, program)
        shapes = [node.meta["val"] for node in source.graph.find_nodes(op="placeholder")]
        try:
            model = _convert(source)
        except Exception as error:
            text = " ".join(str(error).split())[:300]
            reasons = find_unsupported(source, _convert) or [text]
            raise Unsupported(reasons, "OpenVINO's importer") from error
        config = {
            "PERFORMANCE_HINT": self.options["hint"],
            "INFERENCE_PRECISION_HINT": self.options["precision"],
            "INFERENCE_NUM_THREADS": job.threads,
            "CACHE_DIR": str(job.workdir / "openvino"),
        }
        for port, value in zip(model.inputs, shapes, strict=True):
            port.get_node().set_partial_shape(openvino.PartialShape(list(value.shape)))
        model.validate_nodes_and_infer_types()
        compiled = openvino.Core().compile_model(model, "CPU", config)
        outputs = [node.meta["val"].dtype for node in source.graph.output_node().args[0]]
        return program.runner(job, _bind(compiled, outputs))


def _convert(source: torch.export.ExportedProgram) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return _openvino().convert_model(source)


def _openvino() -> Any:
    """Import OpenVINO without the package that reports every conversion to the vendor.

    That package starts a process each time; without it OpenVINO uses its own stub.
    """
    sys.modules.setdefault("openvino_telemetry", None)  # type: ignore[arg-type]
    import openvino

    return openvino


def _bind(compiled: Any, outputs: list[torch.dtype]) -> Function:
    openvino = _openvino()
    request = compiled.create_infer_request()
    kinds = [port.get_element_type() for port in compiled.inputs]

    def call(tensors: list[torch.Tensor]) -> Sequence[torch.Tensor]:
        for number, (tensor, kind) in enumerate(zip(tensors, kinds, strict=True)):
            held = tensor.contiguous()
            # numpy has no bfloat16: pass the bytes with OpenVINO's own type.
            array = (held.view(torch.int16) if held.dtype is torch.bfloat16 else held).numpy()
            shared = openvino.Tensor(array, held.shape, kind) if array.size else None
            request.set_input_tensor(number, shared or openvino.Tensor(kind, list(held.shape)))
        request.infer()
        results = []
        for number, dtype in enumerate(outputs):
            part = request.get_output_tensor(number)
            # The request owns its results and overwrites them in the next call.
            if dtype is torch.bfloat16:
                raw = torch.frombuffer(bytearray(part.data.tobytes()), dtype=dtype)
                results.append(raw.reshape(tuple(part.shape)))
            else:
                results.append(torch.from_numpy(part.data.copy()))
        return results

    return call
