"""``bladedisc``: Alibaba's BladeDISC through torch_blade.

Follows https://github.com/alibaba/BladeDISC (docs/quickstart.md): torch_blade optimises a
TorchScript module and ships in the project's own containers, not on a package index. The tests run
it against a stand-in.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import ClassVar

import torch

from graph_net.compilers.compiler import Compiler, Job, Runner, Unsupported
from graph_net.compilers.export import export_program, pure_function_of
from graph_net.compilers.option import Json
from graph_net.printable import first_line


class BladeDisc(Compiler):
    """``torch_blade.optimize`` on a trace of the graph; ``fp16`` allows half precision."""

    name = "bladedisc"
    devices = ("cpu", "cuda")
    packages = ("torch-blade",)
    defaults: ClassVar[Mapping[str, Json]] = {"fp16": False}

    def missing(self) -> str | None:
        """Return where to get it: pip has no such package."""
        if super().missing() is None:
            return None
        return "not installed: use a container of https://github.com/alibaba/BladeDISC"

    def compile(self, job: Job) -> Runner:
        """Trace the graph to TorchScript and optimise it."""
        import torch_blade

        program = pure_function_of(job)
        module = export_program(job, program).module()
        examples = program.examples(job)
        config = torch_blade.config.Config.get_current_context_or_new()
        config.optimization_pipeline = torch_blade.mlir.backend_name()
        config.enable_fp16 = bool(self.options["fp16"])
        with torch.no_grad(), config, warnings.catch_warnings():
            warnings.simplefilter("ignore")  # TorchScript calls itself deprecated
            try:
                traced = torch.jit.trace(  # type: ignore[no-untyped-call]
                    module, examples, strict=False, check_trace=False
                )
            except Exception as error:
                raise Unsupported([first_line(error, 300)], "torch.jit.trace") from error
            optimised = torch_blade.optimize(traced, allow_tracing=True, model_inputs=examples)

        def call(tensors: list[torch.Tensor]) -> Sequence[torch.Tensor]:
            results = optimised(*tensors)
            return list(results) if isinstance(results, (list, tuple)) else [results]

        return program.runner(job, call)
