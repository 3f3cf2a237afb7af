"""MetaSchedule for the ``tvm`` compiler: every trial in a fork of the process that tunes.

TVM's own builder starts fresh Python processes that import for half a minute, so that most trials
time out; a fork has everything loaded. A fork also contains a schedule that crashes or never
finishes compiling.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from graph_net.compilers.tvm_ready import load_intrinsics
from graph_net.isolate import INHERITED, Died, Limits, call

BUILD_SECONDS = 30
RUN_SECONDS = 10


def tune_module(
    module: Any, target: Any, work: Path, trials: int, seed: int, cost_model: Any = None
) -> Any:
    """Return the module built with the best schedule found for each of its tasks.

    ``cost_model`` is the name of a MetaSchedule model or a ``PyCostModel``; None is the default.
    """
    import tvm
    from tvm import relax
    from tvm.s_tir.meta_schedule.relax_integration import tune_relax

    work.mkdir(parents=True, exist_ok=True)
    with target:
        module = relax.get_pipeline("zero")(module)  # legalise and fuse
    database = tune_relax(
        module,
        {},
        target,
        str(work),
        max_trials_global=trials,
        num_trials_per_iter=min(trials, 16),
        builder=_builder(work),
        runner=_runner(),
        cost_model=cost_model or ("xgb" if find_spec("xgboost") else "random"),
        seed=seed or 1,
    )
    with target, database, tvm.transform.PassContext(opt_level=3):
        module = relax.transform.MetaScheduleApplyDatabase()(module)
    return tvm.compile(module, target)


def _builder(work: Path) -> Any:
    load_intrinsics()  # once, before the forks
    from tvm.ir.utils import derived_object
    from tvm.s_tir.meta_schedule.builder import BuilderResult, PyBuilder
    from tvm.s_tir.meta_schedule.builder.local_builder import default_build

    @derived_object
    class Builder(PyBuilder):  # type: ignore[misc]
        """Builds each program in a fork."""

        def build(self, build_inputs: list[Any]) -> list[Any]:
            results = []
            for candidate in build_inputs:
                # One directory per program: TVM removes all of it after the run.
                path = Path(tempfile.mkdtemp(prefix="trial-", dir=work)) / "program.so"

                def make(candidate: Any = candidate, path: Path = path) -> str:
                    built = default_build(candidate.mod, candidate.target, None)
                    built.export_library(str(path))
                    return str(path)

                value, failure = in_fork(make, BUILD_SECONDS)
                results.append(BuilderResult(value, failure))
            return results

    return Builder()


def _runner() -> Any:
    import tvm
    from tvm.ir.utils import derived_object
    from tvm.s_tir.meta_schedule.runner import EvaluatorConfig, PyRunner
    from tvm.s_tir.meta_schedule.runner.local_runner import (
        LocalRunnerFuture,
        default_alloc_argument,
        default_run_evaluator,
    )

    config = EvaluatorConfig(number=3, repeat=1, min_repeat_ms=20, enable_cpu_cache_flush=False)

    @derived_object
    class Runner(PyRunner):  # type: ignore[misc]
        """Runs each program in a fork."""

        def run(self, runner_inputs: list[Any]) -> list[Any]:
            results = []
            for candidate in runner_inputs:
                path = str(candidate.artifact_path)
                shapes = tuple(info.as_json() for info in candidate.args_info)

                def measure(path: str = path, shapes: Any = shapes) -> list[float]:
                    device = tvm.cpu()
                    arguments = default_alloc_argument(device, shapes, 1)
                    loaded = tvm.runtime.load_module(path)
                    return list(default_run_evaluator(loaded, device, config, arguments))

                value, failure = in_fork(measure, RUN_SECONDS)
                results.append(LocalRunnerFuture(value, failure))
            return results

    return Runner()


def in_fork(work: Callable[[], Any], seconds: int) -> tuple[Any, str | None]:
    """Return the result of ``work`` in a fork of this confined process, or why it failed."""
    try:
        return call(work, Limits(seconds, None), INHERITED), None
    except Died as error:
        return None, str(error)[:2000]
