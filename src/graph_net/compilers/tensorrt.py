"""``tensorrt``: NVIDIA's TensorRT through Torch-TensorRT's Dynamo front end.

Follows https://docs.pytorch.org/TensorRT/dynamo/dynamo_export.html; the tests run it against a
stand-in for the vendor's package.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import ClassVar

import torch

from graph_net.compilers.compiler import Compiler, Job, Runner, Unsupported
from graph_net.compilers.export import export_program, pure_function_of
from graph_net.compilers.option import Json, Option
from graph_net.results.graph_breaks import BREAKS, GRAPHS


class TensorRT(Compiler):
    """``torch_tensorrt.dynamo.compile``; options other than these two are passed on to it.

    By default PyTorch runs the operators without a converter. ``whole`` refuses such a graph.
    """

    name = "tensorrt"
    devices = ("cuda",)
    packages = ("torch-tensorrt",)
    defaults: ClassVar[Mapping[str, Json | Option]] = {
        "whole": False,
        "optimization_level": Option(3, least=0, most=5),
    }
    open_options = True
    _remarks: Mapping[str, Json] = MappingProxyType({})

    def compile(self, job: Job) -> Runner:
        """Build an engine; ``whole`` refuses a graph that PyTorch would run in part."""
        import torch_tensorrt

        program = pure_function_of(job)
        source = export_program(job, program)
        settings = {key: value for key, value in self.options.items() if key != "whole"}
        if self.options["whole"]:
            absent = _not_converted(source)
            if absent:
                raise Unsupported(absent)
            settings["min_block_size"] = 1
        engine = torch_tensorrt.dynamo.compile(
            source,
            arg_inputs=program.examples(job),
            require_full_compilation=self.options["whole"],
            use_explicit_typing=True,  # the graph's own types, not TensorRT's choice
            cache_built_engines=True,
            reuse_cached_engines=True,
            engine_cache_dir=str(job.workdir / "tensorrt"),
            **settings,
        )
        self._remarks = _pieces(engine)

        def call(tensors: list[torch.Tensor]) -> Sequence[torch.Tensor]:
            results = engine(*tensors)
            return list(results) if isinstance(results, (list, tuple)) else [results]

        return program.runner(job, call)

    def remarks(self) -> Mapping[str, Json]:
        """Return how many engines were built, and how many parts PyTorch runs between them."""
        return self._remarks


def _pieces(built: torch.nn.Module) -> dict[str, Json]:
    """Count the parts by the names that Torch-TensorRT's partitioner gives them."""
    parts = [name for name, _ in built.named_children()]
    engines = sum(name.startswith("_run_on_acc") for name in parts)
    left = sum(name.startswith("_run_on_gpu") for name in parts)
    if not engines and not left:
        return {}
    return {GRAPHS: engines, BREAKS: left}


def _not_converted(source: torch.export.ExportedProgram) -> list[str]:
    """Return every operator without a converter, after Torch-TensorRT's decompositions."""
    from torch_tensorrt.dynamo.conversion import DYNAMO_CONVERTERS
    from torch_tensorrt.dynamo.lowering import get_decompositions

    source = source.run_decompositions(get_decompositions())
    return [
        str(node.target)
        for node in source.graph.nodes
        if node.op == "call_function" and node not in DYNAMO_CONVERTERS
    ]
