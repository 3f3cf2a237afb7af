"""``onnxruntime``: Microsoft's ONNX Runtime, on a file that torch.onnx writes."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import torch

from graph_net.compilers.compiler import Compiler, CompilerError, Job, Runner, Unsupported
from graph_net.compilers.export import Function, pure_function_of
from graph_net.compilers.onnx_file import onnx_file
from graph_net.compilers.option import Json, Option

LEVELS = ("disable", "basic", "extended", "layout", "all")
DTYPE_NAMES = {"float": "float32", "double": "float64", "float8e8m0": "float8_e8m0fnu"} | {
    f"float8{form}": f"float8_{form}" for form in ("e4m3fn", "e4m3fnuz", "e5m2", "e5m2fnuz")
}
"""torch's names for ONNX's element types, where they differ."""


class OnnxRuntime(Compiler):
    """ONNX Runtime; ``level`` is its graph optimisation level."""

    name = "onnxruntime"
    devices = ("cpu", "cuda")
    packages = ("onnxruntime", "onnx", "onnxscript")
    defaults: ClassVar[Mapping[str, Json | Option]] = {"level": Option("all", LEVELS)}

    def compile(self, job: Job) -> Runner:
        """Load the graph's ONNX file into a session."""
        program = pure_function_of(job)
        path = onnx_file(job, program)
        session = self._session(path, job)
        return program.runner(job, _bind(session, job.device))

    def _session(self, path: Path, job: Job) -> Any:
        import onnxruntime as ort

        options = ort.SessionOptions()
        options.intra_op_num_threads = job.threads
        options.inter_op_num_threads = 1
        options.log_severity_level = 4  # errors come as exceptions anyway
        # Threads spin during a call; between calls they would take time from the others measured.
        options.add_session_config_entry("session.force_spinning_stop", "1")
        level = f"ORT_{_level_name(str(self.options['level']).upper())}"
        options.graph_optimization_level = getattr(ort.GraphOptimizationLevel, level)
        provider = "CUDAExecutionProvider" if job.device.startswith("cuda") else None
        if provider and provider not in ort.get_available_providers():
            raise CompilerError("this onnxruntime lacks CUDA; pip install onnxruntime-gpu")
        providers = [provider or "CPUExecutionProvider"]
        try:
            return ort.InferenceSession(path, options, providers=providers)
        except Exception as error:
            if type(error).__name__ not in ("NotImplemented", "InvalidGraph", "Fail"):
                raise
            reasons = _without_kernel(path, providers) or [_one_line(error)]
            raise Unsupported(reasons, "ONNX Runtime") from error


def _level_name(level: str) -> str:
    return "DISABLE_ALL" if level == "DISABLE" else f"ENABLE_{level}"


def _one_line(error: Exception) -> str:
    return re.sub(r"\s+", " ", str(error))[:300]


def _bind(session: Any, device: str) -> Function:
    """Return a function that runs a session on the memory of torch's tensors, without copies.

    An output whose size is only known after a run is in the session's own memory.
    """
    kind, _, number = device.partition(":")
    index = int(number or 0)
    inputs = {value.name: value for value in session.get_inputs()}
    order = [(int(name[1:]), name) for name in inputs]  # onnx_file names them i0, i1, …
    kinds = {name: _element_type(value.type) for name, value in inputs.items()}
    outputs = [(v.name, tuple(v.shape), *_element_type(v.type)) for v in session.get_outputs()]
    empty = torch.zeros(1, dtype=torch.float64, device=device)  # for tensors of no elements

    def call(tensors: list[torch.Tensor]) -> Sequence[torch.Tensor]:
        binding = session.io_binding()
        held = []
        for position, name in order:
            tensor = tensors[position].contiguous()
            held.append(tensor)  # a copy made by contiguous() must live until the run is over
            pointer = tensor.data_ptr() or empty.data_ptr()
            binding.bind_input(name, kind, index, kinds[name][1], tuple(tensor.shape), pointer)
        results: list[Any] = []
        for name, shape, dtype, element in outputs:
            if not all(isinstance(size, int) for size in shape):
                binding.bind_output(name, kind, index)
                results.append(None)
                continue
            tensor = torch.empty(shape, dtype=dtype, device=device)
            results.append(tensor)
            pointer = tensor.data_ptr() or empty.data_ptr()
            binding.bind_output(name, kind, index, element, shape, pointer)
        session.run_with_iobinding(binding)
        if any(result is None for result in results):
            # Older versions of DLPack have no boolean type: view the bytes as one.
            results = [
                torch.utils.dlpack.from_dlpack(value).view(output[2]) if result is None else result
                for result, value, output in zip(
                    results, binding.get_outputs(), outputs, strict=True
                )
            ]
        return results

    return call


def _element_type(kind: str) -> tuple[torch.dtype, int]:
    """Return torch's dtype and ONNX's number for ``tensor(float)``."""
    import onnx

    name = kind[len("tensor(") : -1]
    dtype = getattr(torch, DTYPE_NAMES.get(name, name), None)
    if not isinstance(dtype, torch.dtype):
        raise Unsupported([f"torch has no tensors of type {kind}"], "graph-net")
    return dtype, int(onnx.TensorProto.DataType.Value(name.upper()))


def _without_kernel(path: Path, providers: list[str]) -> list[str]:
    """Return every operator of the file that has no kernel for the types it is called with."""
    import onnx
    from onnxruntime.capi import onnxruntime_pybind11_state as state

    model = onnx.shape_inference.infer_shapes(onnx.load(path, load_external_data=False))
    kinds = _value_types(model)
    versions = {entry.domain: entry.version for entry in model.opset_import}
    kernels: dict[tuple[str, str], list[Any]] = {}
    for kernel in state.get_all_opkernel_def():
        if kernel.provider in providers:
            kernels.setdefault((kernel.domain, kernel.op_name), []).append(kernel)
    missing = []
    for node in model.graph.node:
        schema = onnx.defs.get_schema(node.op_type, versions.get(node.domain, 1), node.domain)
        if schema.has_function or schema.has_context_dependent_function:
            continue  # it is expanded into others
        types = {}
        for formal, name in zip(schema.inputs, node.input, strict=False):
            types[formal.type_str] = kinds.get(name)
        if not any(_takes(k, schema, types) for k in kernels.get((node.domain, node.op_type), ())):
            typed = ", ".join(str(kind) for kind in types.values() if kind)
            missing.append(f"{node.op_type}({typed})")
    return missing


def _takes(kernel: Any, schema: Any, types: dict[str, str | None]) -> bool:
    low, high = kernel.version_range
    if not low <= schema.since_version <= high:
        return False
    return all(
        types.get(key) is None or types[key] in allowed
        for key, allowed in kernel.type_constraints.items()
    )


def _value_types(model: Any) -> dict[str, str]:
    import onnx

    def type_name(number: int) -> str:
        return f"tensor({onnx.TensorProto.DataType.Name(number).lower()})"

    graph = model.graph
    values = (*graph.input, *graph.value_info, *graph.output)
    types = {value.name: type_name(value.type.tensor_type.elem_type) for value in values}
    types.update({tensor.name: type_name(tensor.data_type) for tensor in graph.initializer})
    return types
