"""``xla``: XLA through StableHLO and the CPU client that comes with JAX."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import torch

from graph_net.compilers.compiler import Compiler, Job, Runner, Unsupported
from graph_net.compilers.export import Function, pure_function_of
from graph_net.compilers.option import Json, Option
from graph_net.compilers.stablehlo import stablehlo_file
from graph_net.printable import first_line

REFUSALS = ("unsupported op", "UNIMPLEMENTED")
"""Words of errors with which XLA declines a program, as opposed to failing on it."""


class Xla(Compiler):
    """XLA as JAX uses it; ``level`` is its optimisation level, -1 for XLA's own choice."""

    name = "xla"
    packages = ("jaxlib", "jax", "torch-mlir")
    defaults: ClassVar[Mapping[str, Json | Option]] = {"level": Option(-1, least=-1, most=3)}

    def compile(self, job: Job) -> Runner:
        """Compile the StableHLO text; the directory keeps the text, not the machine code."""
        program = pure_function_of(job)
        text = stablehlo_file(job, program).read_text("utf-8")
        return program.runner(job, self._load(text, job.threads))

    def _load(self, text: str, threads: int) -> Function:
        # JAX has no public way to take StableHLO; this is the layer below its own jit.
        from jax._src.lib import _jax
        from jax._src.lib import xla_client as xla

        before = os.environ.get("NPROC")
        os.environ["NPROC"] = str(threads)  # the only way to size its thread pool
        try:
            client = xla.make_cpu_client(asynchronous=False)
        finally:
            os.environ.pop("NPROC")
            if before is not None:
                os.environ["NPROC"] = before
        device = client.local_devices()[0]
        options = xla.CompileOptions()
        if self.options["level"] != -1:
            options.executable_build_options.optimization_level = self.options["level"]
        try:
            loaded = client.compile_and_load(text, _jax.DeviceList((device,)), options)
        except _jax.JaxRuntimeError as error:
            if not any(refusal in str(error) for refusal in REFUSALS):
                raise
            raise Unsupported([first_line(error, 300)], "XLA") from error

        def call(tensors: list[torch.Tensor]) -> Sequence[torch.Tensor]:
            arrays = [_array(tensor, device) for tensor in tensors]
            results = loaded.execute_sharded(arrays)
            parts = results.disassemble_into_single_device_arrays()
            capsules = [_jax.buffer_to_dlpack_managed_tensor(part[0]) for part in parts]
            return [torch.utils.dlpack.from_dlpack(capsule) for capsule in capsules]

        return call


def _array(tensor: torch.Tensor, device: Any) -> Any:
    from jax._src.lib import _jax

    capsule = tensor.contiguous().__dlpack__()
    return _jax.dlpack_managed_tensor_to_buffer(capsule, device, None)
