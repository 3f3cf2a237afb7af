"""What Triton's programs are compared with: eager torch, called as networks call it."""

from typing import Any

import pytest
from torch.utils._python_dispatch import TorchDispatchMode

from graph_net.programs.triton import H200, TritonSpace, workload_of
from graph_net.programs.triton.layers import Module, along, batched, conv, linear
from graph_net.programs.triton.workload_data import WorkloadData


class Called(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Notes what torch computes; views are not worth a note."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.names: list[str] = []

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        if not func.is_view:
            self.names.append(func.overloadpacket.__name__)
        return func(*args, **(kwargs or {}))


@pytest.mark.parametrize(
    "module",
    [
        linear(33, 50, 130, "tf32", "bias_add_relu"),
        linear(17, 40, 70, "float16", "silu"),
        {**linear(17, 40, 70, "float16", "bias_gelu"), "transposed": False},
        batched(3, 20, 24, 40, "float16", True),
        batched(2, 20, 40, 24, "bfloat16", False),
        conv(2, 9, 20, 24, 3, "float16", "bias_relu6", 2),
        conv(1, 7, 33, 16, 3, "float16", "bias_add_relu"),
        along("softmax", 10, 70, "float32"),
        along("rms_norm", 6, 57, "bfloat16"),
    ],
)
def test_what_is_compared_with_computes_the_same(module: Module) -> None:
    data = WorkloadData(TritonSpace(workload_of(module), H200.text).family, "cpu")
    data.tensors["out"].copy_(data.with_torch()().reshape(data.tensors["out"].shape))  # type: ignore[attr-defined]
    data.verify()


@pytest.mark.parametrize(
    ("module", "calls"),
    [
        (linear(8, 12, 16, "float16", "bias_gelu"), ["addmm", "gelu"]),
        (linear(8, 12, 16, "float16", "bias_add"), ["addmm", "add"]),
        (linear(8, 12, 16, "float16", "silu"), ["mm", "silu"]),
        (batched(3, 8, 12, 16, "float16", True), ["bmm"]),
        (batched(3, 8, 12, 16, "float16", False), ["bmm"]),
        (conv(2, 8, 16, 16, 3, "tf32", "bias_relu"), ["convolution", "relu"]),
    ],
)
def test_torch_is_called_as_networks_call_it(module: Module, calls: list[str]) -> None:
    data = WorkloadData(TritonSpace(workload_of(module), H200.text).family, "cpu")
    with Called() as called:
        data.with_torch()()
    assert called.names == calls
