"""openvino: OpenVINO on the exported program."""

import sys
from collections.abc import Callable
from typing import Any

import torch

from graph_net.repro.templates.common import tensors
from graph_net.repro.templates.exported import exported


def compiled(
    model: torch.nn.Module, inputs: list[Any], options: dict[str, Any]
) -> Callable[..., Any]:
    sys.modules.setdefault("openvino_telemetry", None)  # type: ignore[arg-type]  # no reports
    import openvino

    source = openvino.convert_model(exported(model, inputs))
    for port, value in zip(source.inputs, tensors(inputs), strict=True):
        port.get_node().set_partial_shape(openvino.PartialShape(list(value.shape)))
    source.validate_nodes_and_infer_types()
    config = {
        "PERFORMANCE_HINT": options["hint"],
        "INFERENCE_PRECISION_HINT": options["precision"],
        "INFERENCE_NUM_THREADS": torch.get_num_threads(),
    }
    request = openvino.Core().compile_model(source, "CPU", config).create_infer_request()

    def call(*values: Any) -> list[torch.Tensor]:
        for number, tensor in enumerate(tensors(list(values))):
            request.set_input_tensor(number, openvino.Tensor(tensor.contiguous().numpy()))
        request.infer()
        count = len(request.model_outputs)
        return [torch.from_numpy(request.get_output_tensor(k).data.copy()) for k in range(count)]

    return call
