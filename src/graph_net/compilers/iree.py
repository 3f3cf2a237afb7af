"""``iree``: IREE through StableHLO, with its LLVM code generator for this processor."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import ClassVar

import torch

from graph_net.compilers.compiler import Compiler, Job, Runner, Unsupported
from graph_net.compilers.export import Function, export_program, form_path, pure_function_of
from graph_net.compilers.option import Json, Option
from graph_net.compilers.silence import silent
from graph_net.compilers.stablehlo import stablehlo_file
from graph_net.store.atomic import caching

LEVELS = ("O0", "O1", "O2", "O3")
CPU = 1  # kDLCPU of the DLPack standard


class Iree(Compiler):
    """IREE on the CPU; ``level`` is its ``--iree-opt-level``."""

    name = "iree"
    packages = ("iree-base-compiler", "iree-base-runtime", "torch-mlir")
    modules = ("iree.compiler", "iree.runtime", "torch_mlir")
    defaults: ClassVar[Mapping[str, Json | Option]] = {"level": Option("O2", LEVELS)}

    def compile(self, job: Job) -> Runner:
        """Compile to a module file in the work directory, and load it."""
        program = pure_function_of(job)
        source = stablehlo_file(job, program)
        module = form_path(job, f"{self.options['level']}.vmfb")
        if not module.exists():
            self._build(source, module)
        copied = _written_inputs(export_program(job, program))
        return program.runner(job, _load(module, job.threads, copied))

    def _build(self, source: Path, module: Path) -> None:
        from iree.compiler import CompilerToolError, compile_file

        with caching(module) as aside, silent():
            try:
                compile_file(
                    str(source),
                    output_file=str(aside),
                    target_backends=["llvm-cpu"],
                    input_type="stablehlo",
                    extra_args=[
                        "--iree-llvmcpu-target-cpu=host",
                        "--iree-input-demote-f64-to-f32=false",  # it would change the types
                        f"--iree-opt-level={self.options['level']}",
                    ],
                )
            except CompilerToolError as error:
                raise Unsupported(_complaints(str(error)), "IREE") from error


def _complaints(text: str) -> list[str]:
    """Return the errors that the compiler printed, without their locations."""
    lines = [line.partition("error: ")[2].strip() for line in text.splitlines()]
    return [line[:300] for line in lines if line] or [text.strip()[:300]]


def _written_inputs(source: torch.export.ExportedProgram) -> set[int]:
    """Return the positions of the inputs that IREE might write to.

    IREE updates a copy of an argument in the argument's own memory. Follow each update to the
    tensor it starts from; a needless position costs only a copy.
    """
    graph = source.run_decompositions().graph
    positions = {node: position for position, node in enumerate(graph.find_nodes(op="placeholder"))}
    written = set()
    for node in graph.nodes:
        name = str(node.target)
        if "scatter" in name or "index_put" in name or "aten.copy" in name or "fill" in name:
            base = node
            while base not in positions and base.all_input_nodes:
                base = base.all_input_nodes[0]
            if base in positions:
                written.add(positions[base])
    return written


def _load(module: Path, threads: int, copied: set[int]) -> Function:
    from iree import runtime

    # With one thread the calling thread does the work; a pool of one would only add a switch.
    if threads == 1:
        driver = "local-sync"
    else:
        runtime.flags.parse_flags(f"--task_topology_group_count={threads}")
        driver = "local-task"
    device = runtime.get_device(driver, cache=False)
    instance = runtime.VmInstance()
    hal = runtime.create_hal_module(instance, device)
    loaded = runtime.VmModule.mmap(instance, str(module))
    context = runtime.VmContext(instance, modules=[hal, loaded])
    function = loaded.lookup_function("main")

    def call(tensors: list[torch.Tensor]) -> Sequence[torch.Tensor]:
        # Both lists hold views of the tensors' memory.
        arguments = runtime.VmVariantList(len(tensors))
        for position, tensor in enumerate(tensors):
            held = tensor.clone() if position in copied else tensor
            capsule = held.contiguous().__dlpack__()
            arguments.push_ref(device.from_dlpack_capsule(capsule))
        results = runtime.VmVariantList(1)
        context.invoke(function, arguments, results)
        views = [results.get_as_object(k, runtime.HalBufferView) for k in range(len(results))]
        capsules = [device.create_dlpack_capsule(view, CPU, 0) for view in views]
        return [torch.utils.dlpack.from_dlpack(capsule) for capsule in capsules]

    return call
