"""``tvm``: Apache TVM's Relax, on the exported program, for this processor."""

from __future__ import annotations

import os
import platform
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import torch

from graph_net.compilers.compiler import Compiler, Job, Runner, Unsupported
from graph_net.compilers.export import Function, export_program, form_path, pure_function_of
from graph_net.compilers.indices import plain_indices
from graph_net.compilers.option import Json, Option
from graph_net.compilers.silence import silent
from graph_net.compilers.tvm_database import build_with, database_digest
from graph_net.compilers.unsupported import find_unsupported
from graph_net.isolate import Needs
from graph_net.printable import error_line
from graph_net.store.atomic import caching


class Tvm(Compiler):
    """Relax for LLVM; with ``trials`` above 0 MetaSchedule first tunes with that many programs.

    Untuned TVM runs naive loops, so tuned and untuned are different configurations. ``database`` is
    a folder that ``graph-net tune`` wrote, ``digest`` the hash of what it held then.
    """

    name = "tvm"
    packages = ("apache-tvm", "apache-tvm-ffi")
    modules = ("tvm", "tvm_ffi")
    defaults: ClassVar[Mapping[str, Json | Option]] = {
        "trials": Option(0, least=0, most=1 << 20),
        "seed": Option(0, least=0, most=(1 << 31) - 1),
        "database": Option(""),
        "digest": Option(""),
    }

    def __init__(self, options: Mapping[str, Json] | None = None) -> None:
        super().__init__(options)
        for key in ("database", "digest"):
            if not self.options[key]:  # as in configurations from before databases
                del self.options[key]

    @property
    def needs(self) -> Needs:  # type: ignore[override]
        """Allow reading the database."""
        return Needs(reads=(Path(self._database),)) if self._database else Needs()

    @property
    def _database(self) -> str:
        return str(self.options.get("database", ""))

    def compile(self, job: Job) -> Runner:
        """Import, tune if asked for, and build a library that the directory keeps."""
        # TVM reads this when the first parallel loop starts the pool.
        os.environ["TVM_NUM_THREADS"] = str(job.threads)
        program = pure_function_of(job)
        tuned = f"trials{self.options['trials']}-{self.options['seed']}"
        if self._database:
            tuned = f"database-{database_digest(Path(self._database))}"
        library = form_path(job, f"{tuned}.so")
        if not library.exists():
            module, _ = import_to_relax(export_program(job, program))
            with silent():
                built = self._build(module, job)
            with caching(library) as aside:
                built.export_library(str(aside))
        return program.runner(job, _load(str(library)))

    def _build(self, module: Any, job: Job) -> Any:
        import tvm

        target = tvm_target(job.threads)
        if self._database:
            digest = str(self.options.get("digest", ""))
            return build_with(module, target, Path(self._database), digest)
        if not self.options["trials"]:
            return tvm.compile(module, target)
        from graph_net.compilers.tvm_tuning import tune_module

        work = job.workdir / "metaschedule"
        trials, seed = int(self.options["trials"]), int(self.options["seed"])  # type: ignore[arg-type]
        return tune_module(module, target, work, trials, seed)


def tvm_target(threads: int) -> Any:
    """Return TVM's target for this processor."""
    import tvm

    attributes: dict[str, Any] = {"kind": "llvm", "num-cores": threads}
    if platform.machine() in ("x86_64", "AMD64"):
        attributes["mcpu"] = tvm.get_global_func("target.llvm_get_system_cpu")()
    return tvm.target.Target(attributes)


Names = list[tuple[torch.fx.Node, list[str]]]
"""Calls in order, with the Relax variables that hold their results."""


def import_to_relax(source: torch.export.ExportedProgram) -> tuple[Any, Names]:
    """Return the program in Relax with its PyTorch types, and the variables of its calls."""
    with silent(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        source = source.run_decompositions()
        try:
            module, names = _translate(source)
        except Exception as error:
            reasons = find_unsupported(source, _translate) or [error_line(error, 300)]
            raise Unsupported(reasons, "TVM's importer") from error
    expected = [node.meta["val"] for node in source.graph.output_node().args[0]]
    fields = module["main"].ret_ty.fields
    wrong = [
        f"makes {have.dtype} of a result that is {str(want.dtype).removeprefix('torch.')}"
        for want, have in zip(expected, fields, strict=True)
        if str(have.dtype) != str(want.dtype).removeprefix("torch.")
    ]
    if wrong:
        raise Unsupported(wrong, "graph-net, because TVM's importer")
    return module, names


def _translate(source: torch.export.ExportedProgram) -> tuple[Any, Names]:
    from tvm.relax.frontend.torch.exported_program_translator import ExportedProgramImporter

    importer = ExportedProgramImporter()
    module = importer.from_exported_program(plain_indices(source), False, False, False, None)
    calls = [(n, v) for n, v in importer.env.items() if n.op == "call_function"]
    return module, [(node, _names(value)) for node, value in calls]


def _names(value: Any) -> list[str]:
    """Return the variables in a result, which may be a tuple of results."""
    from tvm import relax

    if isinstance(value, relax.Var):
        return [str(value.name)]
    parts = value.fields if isinstance(value, relax.Tuple) else value
    return [n for p in parts for n in _names(p)] if isinstance(parts, list | tuple) else []


def _load(library: str) -> Function:
    import tvm
    from tvm import relax

    device = tvm.cpu()
    machine = relax.VirtualMachine(tvm.runtime.load_module(library), device)
    main = machine["main"]

    def call(tensors: list[torch.Tensor]) -> Sequence[torch.Tensor]:
        arguments = [tvm.runtime.from_dlpack(tensor.contiguous()) for tensor in tensors]
        return [torch.utils.dlpack.from_dlpack(part) for part in main(*arguments)]

    return call
