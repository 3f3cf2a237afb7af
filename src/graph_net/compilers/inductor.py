"""``inductor``: PyTorch's own compiler, as ``torch.compile`` calls it."""

from __future__ import annotations

import difflib
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any, ClassVar

from graph_net.compilers.compiler import Compiler, CompilerError, Job, Runner, Unsupported
from graph_net.compilers.dynamo import DynamoWatch, compilations
from graph_net.compilers.inductor_choices import NAME as CHOICES
from graph_net.compilers.inductor_choices import OPTION as CHOICES_OPTION
from graph_net.compilers.inductor_choices import model_folder, split_choices, using_choices
from graph_net.compilers.inductor_options import MODES, STORED
from graph_net.compilers.option import Json, Option
from graph_net.isolate import Needs
from graph_net.printable import first_line

SETTLED = 2
"""This many calls in a row that compile nothing end the search for frames."""
MOST_CALLS = 12
"""The search ends after this many calls in any case; Dynamo gives up on a frame after eight."""


class Inductor(Compiler):
    """``torch.compile(model)``; ``mode`` and ``fullgraph`` as there, the other options Inductor's.

    With ``choices=learned`` a model keeps few of the choices that ``mode=max-autotune`` would time.

    Where Dynamo cannot trace an operator, Python runs it between two compiled graphs, and the
    record says so. ``fullgraph`` refuses such a graph; it also makes Dynamo trace the numbers that
    are read from tensors, which it leaves to Python otherwise.
    """

    name = "inductor"
    devices = ("cpu", "cuda")
    defaults: ClassVar[Mapping[str, Json | Option]] = {
        "mode": Option("default", MODES),
        "fullgraph": False,
    }
    before_declared: ClassVar[Mapping[str, Json]] = {"fullgraph": True}
    open_options = True
    stored_options: ClassVar[Mapping[str, Option]] = {**STORED, CHOICES: CHOICES_OPTION}

    def __init__(self, options: Mapping[str, Json] | None = None) -> None:
        # One spelling, so that equal options make equal configurations.
        named = {key.replace("-", "_"): value for key, value in (options or {}).items()}
        super().__init__(split_choices(named))
        _check_options([key for key in self.options if key not in (*self.defaults, CHOICES)])
        self._remarks: dict[str, Json] = {}

    @property
    def needs(self) -> Needs:  # type: ignore[override]
        """The precompiled headers that all workers share, and the model of choices."""
        from graph_net.compilers.inductor_headers import shared_headers

        shared = shared_headers()
        model = (model_folder(),) if CHOICES in self.options else ()
        return Needs(reads=(*model, *(() if shared is None else (shared,))))

    def missing(self) -> str | None:
        """Return why it cannot be used here; with ``choices`` it needs a model."""
        try:
            if CHOICES in self.options:
                model_folder()
        except ValueError as error:
            return str(error)
        return super().missing()

    def prepare(self, device: str) -> None:
        """Probe the processor and compile its headers once, not in every worker."""
        from graph_net.compilers.inductor_headers import make_headers

        _probe(device)
        if device == "cpu":
            make_headers()

    def compile(self, job: Job) -> Runner:
        """Compile and load now; ``torch.compile`` alone would wait for the first call."""
        with _environment({}):
            return self._compile(job)

    def _compile(self, job: Job) -> Runner:
        import torch
        from torch._inductor import list_mode_options

        from graph_net.compilers.inductor_headers import private_headers
        from graph_net.graph.fx import to_fx

        _probe(job.device)  # before the cache moves: its findings belong to the machine
        mode = list_mode_options(str(self.options["mode"]))
        own = (*self.defaults, CHOICES)
        passed = {key: value for key, value in self.options.items() if key not in own}
        # Workers compile side by side already, and a pool would outlive them.
        options = {"compile_threads": 1, "cpp.threads": job.threads, **mode, **passed}
        forward, whole = to_fx(job.graph, job.device).forward, bool(self.options["fullgraph"])
        compiled = torch.compile(
            forward, fullgraph=whole, dynamic=False if whole else None, options=options
        )
        with _environment(_cache_directories(job.workdir)), private_headers(job.workdir):
            try:
                with using_choices(self.options.get(CHOICES)) as chosen:
                    pieces = _first_call(compiled, job, whole)
                self._remarks = {**pieces, **chosen}
            except Exception as error:
                reasons = _refusals(error)
                if not reasons:
                    raise
                raise Unsupported(reasons, "Dynamo") from error
            finally:
                _stop_workers()

        def run(inputs: Sequence[Any]) -> Any:
            return compiled(*inputs)

        return run

    def remarks(self) -> dict[str, Json]:
        """Return how many graphs Dynamo made of the last job's graph, and why it broke."""
        return self._remarks


def _first_call(compiled: Callable[..., Any], job: Job, whole: bool) -> dict[str, Json]:
    """Compile every frame by calling; return the remarks on them."""
    import torch

    from graph_net.compilers.export import copy_inputs

    # By default Dynamo breaks the graph where a number is read; a whole graph must not break.
    capture = torch._dynamo.config.patch(capture_scalar_outputs=True, allow_rnn=True)
    with capture if whole else nullcontext(), torch.inference_mode():
        watch = DynamoWatch()
        compiled(*copy_inputs(job.inputs))
        pieces = watch.pieces()
        if pieces.breaks:
            _compile_rest(compiled, job)
    return pieces.remarks


def _compile_rest(compiled: Callable[..., Any], job: Job) -> None:
    """Call until nothing is compiled any more.

    After a break, the next frame is compiled for the number or size that Python found there. In a
    graph that draws random numbers this value changes, and the frame is compiled once more, for any
    value. That is part of the cost of compiling.
    """
    from graph_net.compilers.export import copy_inputs

    quiet_calls = 0
    for _ in range(MOST_CALLS):
        inputs, before = copy_inputs(job.inputs), compilations()
        compiled(*inputs)
        quiet_calls = quiet_calls + 1 if compilations() == before else 0
        if quiet_calls == SETTLED:
            return


def _probe(device: str) -> None:
    """Import Inductor and find the processor's vector instructions, which takes compilations.

    With a GPU they are only needed when a part of a graph runs on the processor.
    """
    import torch._inductor.config as config

    # With more threads, importing the rest would start a pool of processes. The import also asks
    # whether there is a GPU, after which forks could not use it unless NVML answers.
    nvml = {"PYTORCH_NVML_BASED_CUDA_CHECK": "1"}
    with _environment(nvml), config.patch(compile_threads=1):
        import torch._inductor.compile_fx  # noqa: F401
        from torch._inductor.cpu_vec_isa import pick_vec_isa

        if device == "cpu":
            pick_vec_isa()


def _check_options(names: list[str]) -> None:
    if not names:
        return  # torch need not be imported
    import torch._inductor.config as config

    known = config.get_config_copy()
    for name in names:
        if name not in known:
            near = difflib.get_close_matches(name, known, 3, 0.5)
            hint = f" did you mean {', '.join(near)}?" if near else ""
            raise CompilerError(
                f"inductor has no option {name!r};{hint} it has mode, fullgraph and those of "
                "torch._inductor.config"
            )


def _cache_directories(workdir: Path) -> dict[str, str]:
    """Return the variables that direct the caches of Inductor and Triton here."""
    return {
        "TORCHINDUCTOR_CACHE_DIR": str((workdir / "inductor").absolute()),
        "TRITON_CACHE_DIR": str((workdir / "triton").absolute()),
    }


@contextmanager
def _environment(values: Mapping[str, str]) -> Iterator[None]:
    """Set these variables, then restore the whole environment: Inductor sets some itself."""
    before = dict(os.environ)
    os.environ.update(values)
    try:
        yield
    finally:
        for key in os.environ.keys() - before.keys():
            del os.environ[key]
        os.environ.update(before)


def _refusals(error: Exception) -> list[str]:
    """Return what Dynamo or Inductor declares unsupported; nothing for an ordinary failure."""
    from torch._dynamo.exc import Unsupported as DynamoUnsupported
    from torch._inductor.exc import MissingOperatorWithDecomp, MissingOperatorWithoutDecomp

    from graph_net.compilers.export import error_chain

    kinds = (DynamoUnsupported, MissingOperatorWithDecomp, MissingOperatorWithoutDecomp)
    return [first_line(e, 300) for e in error_chain(error) if isinstance(e, kinds)]


def _stop_workers() -> None:
    """End the pool that ``compile_threads`` above 1 starts; it would outlive the run."""
    from torch._inductor.async_compile import shutdown_compile_workers

    shutdown_compile_workers()
