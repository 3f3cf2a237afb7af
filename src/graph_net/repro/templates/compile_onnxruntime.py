"""onnxruntime: ONNX Runtime on the file that torch.onnx writes."""

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from graph_net.repro.templates.common import tensors
from graph_net.repro.templates.exported import exported

ELEMENTS = {
    "float": (torch.float32, 1), "uint8": (torch.uint8, 2), "int8": (torch.int8, 3),
    "int16": (torch.int16, 5), "int32": (torch.int32, 6), "int64": (torch.int64, 7),
    "bool": (torch.bool, 9), "float16": (torch.float16, 10), "double": (torch.float64, 11),
    "bfloat16": (torch.bfloat16, 16),
}  # fmt: skip


def compiled(
    model: torch.nn.Module, inputs: list[Any], options: dict[str, Any]
) -> Callable[..., Any]:
    import onnxruntime as ort

    device = tensors(inputs)[0].device if tensors(inputs) else torch.device("cpu")
    names = [f"i{k}" for k in range(len(tensors(inputs)))]
    program = torch.onnx.export(
        exported(model, inputs), (), dynamo=True, verbose=False, input_names=names
    )
    level = options["level"].upper()
    settings = ort.SessionOptions()
    settings.intra_op_num_threads = torch.get_num_threads()
    settings.add_session_config_entry("session.force_spinning_stop", "1")
    settings.graph_optimization_level = getattr(
        ort.GraphOptimizationLevel,
        "ORT_DISABLE_ALL" if level == "DISABLE" else f"ORT_ENABLE_{level}",
    )
    provider = "CUDAExecutionProvider" if device.type == "cuda" else "CPUExecutionProvider"
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "graph.onnx"
        assert program is not None
        program.save(path, external_data=False)
        session = ort.InferenceSession(path, settings, providers=[provider])
    arguments = [(value.name, ELEMENTS[value.type[7:-1]][1]) for value in session.get_inputs()]
    outputs = [(v.name, tuple(v.shape), *ELEMENTS[v.type[7:-1]]) for v in session.get_outputs()]

    def call(*values: Any) -> list[torch.Tensor]:
        binding = session.io_binding()
        held = {name: t.contiguous() for name, t in zip(names, tensors(list(values)), strict=True)}
        kind, index = device.type, device.index or 0
        for name, element in arguments:
            tensor = held[name]
            binding.bind_input(name, kind, index, element, tuple(tensor.shape), tensor.data_ptr())
        results = []
        for name, shape, dtype, element in outputs:
            tensor = torch.empty(shape, dtype=dtype, device=device)
            results.append(tensor)
            binding.bind_output(name, kind, index, element, shape, tensor.data_ptr())
        session.run_with_iobinding(binding)
        return results

    return call
