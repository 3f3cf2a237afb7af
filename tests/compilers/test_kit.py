"""The conformance kit passes for good compilers and names what is wrong with bad ones."""

from __future__ import annotations

import faulthandler
import os
import signal
from collections.abc import Sequence
from typing import Any

import pytest
import torch

from graph_net.compilers import Compiler, Job, Runner, Unsupported, create
from graph_net.compilers.eager import Eager
from graph_net.graph.execute import flat_outputs
from graph_net.testing.compiler import check_compiler, examine

QUICK = ("matmul", "mutation", "nested")


def test_eager_passes_and_takes_every_graph() -> None:
    report = check_compiler(create("eager"))
    assert "mutation" in report.taken
    assert report.unsupported == {}


class Wrong(Eager):
    def compile(self, job: Job) -> Runner:
        runner = super().compile(job)

        def run(inputs: Sequence[Any]) -> Any:
            found = runner(inputs)
            return found * 1.01 if isinstance(found, torch.Tensor) else found

        return run


class Flat(Eager):
    def compile(self, job: Job) -> Runner:
        runner = super().compile(job)
        return lambda inputs: tuple(flat_outputs(runner(inputs)))


class WrongType(Eager):
    def compile(self, job: Job) -> Runner:
        runner = super().compile(job)

        def run(inputs: Sequence[Any]) -> Any:
            found = runner(inputs)
            return found.double() if isinstance(found, torch.Tensor) else found

        return run


class ForgetsMutation(Eager):
    def compile(self, job: Job) -> Runner:
        from graph_net.compilers.export import copy_inputs

        runner = super().compile(job)
        return lambda inputs: runner(copy_inputs(inputs))


class ChangesTheJob(Eager):
    def compile(self, job: Job) -> Runner:
        job.inputs[0].add_(1)
        return super().compile(job)


class ReusesMemory(Eager):
    def compile(self, job: Job) -> Runner:
        runner = super().compile(job)
        held: list[torch.Tensor] = []

        def run(inputs: Sequence[Any]) -> Any:
            found = runner(inputs)
            if not isinstance(found, torch.Tensor):
                return found
            if not held:
                held.append(torch.empty_like(found))
            return held[0].copy_(found)

        return run


class BoundToTheFirstInputs(Eager):
    def compile(self, job: Job) -> Runner:
        from graph_net.compilers.export import copy_inputs

        runner, kept = super().compile(job), copy_inputs(job.inputs)
        return lambda inputs: runner(copy_inputs(kept))


class CompilesOnce(Eager):
    def compile(self, job: Job) -> Runner:
        (job.workdir / "made").mkdir()
        return super().compile(job)


class RaisesSomethingElse(Eager):
    def compile(self, job: Job) -> Runner:
        raise NotImplementedError("aten.addmm")


class RefusesEverything(Eager):
    def compile(self, job: Job) -> Runner:
        raise Unsupported(["aten.addmm"])


class RefusesWithoutReason(Eager):
    def compile(self, job: Job) -> Runner:
        raise Unsupported([])


class Dies(Eager):
    def compile(self, job: Job) -> Runner:
        faulthandler.disable()  # pytest would print where; the death is meant
        os.kill(os.getpid(), signal.SIGILL)
        return super().compile(job)


class LeavesAProcess(Eager):
    def compile(self, job: Job) -> Runner:
        import subprocess
        import sys

        subprocess.Popen([sys.executable, "-c", "import time; time.sleep(3)"])
        return super().compile(job)


class TakesAnyOption(Eager):
    open_options = True


class HasNoVersion(Eager):
    def version(self) -> str:
        return ""


class NotThere(Eager):
    packages = ("no-such-distribution",)


@pytest.mark.parametrize(
    ("defect", "words"),
    [
        (Wrong, "results differ from eager's"),
        (Flat, "results are nested differently"),
        (WrongType, "torch.float64 instead of torch.float32"),
        (ForgetsMutation, "the inputs are left different"),
        (ChangesTheJob, "compile() changes the job's inputs"),
        (ReusesMemory, "a later call changes the result of an earlier one"),
        (BoundToTheFirstInputs, "results differ from eager's"),
        (CompilesOnce, "FileExistsError"),
        (RaisesSomethingElse, "NotImplementedError"),
        (RefusesEverything, "no compiler may refuse it"),
        (RefusesWithoutReason, "Unsupported without a reason"),
        (Dies, "died of SIGILL"),
        (LeavesAProcess, "leaves a process behind"),
        (TakesAnyOption, "an unknown option is accepted"),
        (HasNoVersion, "version() returns no text"),
        (NotThere, "pip install no-such-distribution"),
    ],
)
def test_a_planted_defect_is_named(defect: type[Compiler], words: str) -> None:
    with pytest.raises(AssertionError) as failure:
        check_compiler(defect(), graphs=QUICK)
    assert words in str(failure.value)


def test_a_death_costs_one_graph_and_the_rest_is_still_tried() -> None:
    findings = examine(Dies(), graphs=QUICK).findings
    assert findings == [f"{name}: died of SIGILL" for name in QUICK]


def test_a_device_the_compiler_does_not_have_is_named() -> None:
    assert "does not run on tpu" in examine(create("eager"), device="tpu").findings[0]
