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
WORDS = {"float": "float32", "double": "float64", "float8e8m0": "float8_e8m0fnu"} | {
    f"float8{form}": f"float8_{form}" for form in ("e4m3fn", "e4m3fnuz", "e5m2", "e5m2fnuz")
}
"""ONNX's types whose names are not torch's."""


class OnnxRuntime(Compiler):
    """ONNX Runtime; ``level`` is how much it may rewrite the graph."""

    name = "onnxruntime"
    devices = ("cpu", "cuda")
    packages = ("onnxruntime", "onnx", "onnxscript")
    defaults: ClassVar[Mapping[str, Json | Option]] = {"level": Option("all", LEVELS)}

    def compile(self, job: Job) -> Runner:
        """Load the ONNX file (written first where the directory has none) into a session."""
        program = pure_function_of(job)
        path = onnx_file(job, program)
        session = self._session(path, job)
        return program.runner(job, _bound(session, job.device))

    def _session(self, path: Path, job: Job) -> Any:
        import onnxruntime as ort

        options = ort.SessionOptions()
        options.intra_op_num_threads = job.threads
        options.inter_op_num_threads = 1
        options.log_severity_level = 4  # errors come as exceptions anyway
        # Threads spin as usual during a call; between calls they would take time from what is
        # measured in turn.
        options.add_session_config_entry("session.force_spinning_stop", "1")
        level = f"ORT_{_long(str(self.options['level']).upper())}"
        options.graph_optimization_level = getattr(ort.GraphOptimizationLevel, level)
        provider = "CUDAExecutionProvider" if job.device.startswith("cuda") else None
        if provider and provider not in ort.get_available_providers():
            raise CompilerError("this onnxruntime has no CUDA: pip install onnxruntime-gpu")
        providers = [provider or "CPUExecutionProvider"]
        try:
            return ort.InferenceSession(path, options, providers=providers)
        except Exception as error:
            if type(error).__name__ not in ("NotImplemented", "InvalidGraph", "Fail"):
                raise
            reasons = _without_kernel(path, providers) or [_short(error)]
            raise Unsupported(reasons, "ONNX Runtime") from error


def _long(level: str) -> str:
    return "DISABLE_ALL" if level == "DISABLE" else f"ENABLE_{level}"


def _short(error: Exception) -> str:
    return re.sub(r"\s+", " ", str(error))[:300]


def _bound(session: Any, device: str) -> Function:
    """Calls a session on the memory of torch's tensors: nothing is copied on either side.

    An output whose size only a run tells is in memory of the session's own.
    """
    place, _, number = device.partition(":")
    index = int(number or 0)
    taken = {value.name: value for value in session.get_inputs()}
    order = [(int(name[1:]), name) for name in taken]  # onnx_file names them i0, i1, …
    kinds = {name: _element(value.type) for name, value in taken.items()}
    made = [(v.name, tuple(v.shape), *_element(v.type)) for v in session.get_outputs()]
    empty = torch.zeros(1, dtype=torch.float64, device=device)  # memory for what has no element

    def call(tensors: list[torch.Tensor]) -> Sequence[torch.Tensor]:
        binding = session.io_binding()
        held = []
        for position, name in order:
            tensor = tensors[position].contiguous()
            held.append(tensor)  # a copy made by contiguous() must live until the run is over
            pointer = tensor.data_ptr() or empty.data_ptr()
            binding.bind_input(name, place, index, kinds[name][1], tuple(tensor.shape), pointer)
        results: list[Any] = []
        for name, shape, dtype, element in made:
            if not all(isinstance(size, int) for size in shape):
                binding.bind_output(name, place, index)
                results.append(None)
                continue
            tensor = torch.empty(shape, dtype=dtype, device=device)
            results.append(tensor)
            pointer = tensor.data_ptr() or empty.data_ptr()
            binding.bind_output(name, place, index, element, shape, pointer)
        session.run_with_iobinding(binding)
        if any(result is None for result in results):
            given = zip(results, binding.get_outputs(), made, strict=True)
            # DLPack has no word for a truth value in older versions: its bytes have the type.
            results = [
                torch.utils.dlpack.from_dlpack(value).view(one[2]) if result is None else result
                for result, value, one in given
            ]
        return results

    return call


def _element(kind: str) -> tuple[torch.dtype, int]:
    """torch's and ONNX's word for ``tensor(float)``."""
    import onnx

    word = kind[len("tensor(") : -1]
    dtype = getattr(torch, WORDS.get(word, word), None)
    if not isinstance(dtype, torch.dtype):
        raise Unsupported([f"torch has no tensors of type {kind}"], "graph-net")
    return dtype, int(onnx.TensorProto.DataType.Value(word.upper()))


def _without_kernel(path: Path, providers: list[str]) -> list[str]:
    """Every operator of the file that no kernel takes with the types it is called with."""
    import onnx
    from onnxruntime.capi import onnxruntime_pybind11_state as state

    model = onnx.shape_inference.infer_shapes(onnx.load(path, load_external_data=False))
    kinds = _types(model)
    versions = {entry.domain: entry.version for entry in model.opset_import}
    kernels: dict[tuple[str, str], list[Any]] = {}
    for kernel in state.get_all_opkernel_def():
        if kernel.provider in providers:
            kernels.setdefault((kernel.domain, kernel.op_name), []).append(kernel)
    found = []
    for node in model.graph.node:
        schema = onnx.defs.get_schema(node.op_type, versions.get(node.domain, 1), node.domain)
        if schema.has_function or schema.has_context_dependent_function:
            continue  # it falls apart into others
        words = {}
        for formal, name in zip(schema.inputs, node.input, strict=False):
            words[formal.type_str] = kinds.get(name)
        if not any(_takes(k, schema, words) for k in kernels.get((node.domain, node.op_type), ())):
            typed = ", ".join(str(word) for word in words.values() if word)
            found.append(f"{node.op_type}({typed})")
    return found


def _takes(kernel: Any, schema: Any, words: dict[str, str | None]) -> bool:
    low, high = kernel.version_range
    if not low <= schema.since_version <= high:
        return False
    return all(
        words.get(key) is None or words[key] in allowed
        for key, allowed in kernel.type_constraints.items()
    )


def _types(model: Any) -> dict[str, str]:
    import onnx

    def word(number: int) -> str:
        return f"tensor({onnx.TensorProto.DataType.Name(number).lower()})"

    graph = model.graph
    values = (*graph.input, *graph.value_info, *graph.output)
    found = {value.name: word(value.type.tensor_type.elem_type) for value in values}
    found.update({tensor.name: word(tensor.data_type) for tensor in graph.initializer})
    return found
