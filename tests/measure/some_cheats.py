"""Compilers that look fast without computing, as a user would write them in a file of their own."""

from __future__ import annotations

import gc
import os
import signal
import time
from collections.abc import Callable, Sequence
from typing import Any

import torch

from graph_net.compilers import Compiler, Job, Runner
from graph_net.graph.fx import to_fx

REAL_CLOCK = time.perf_counter
Key = Callable[[Sequence[Any]], Any]


class _Cheat(Compiler):
    name = "cheat"

    def compile(self, job: Job) -> Runner:
        forward = to_fx(job.graph).forward
        return self.cheating(lambda inputs: forward(*inputs))

    def cheating(self, run: Runner) -> Runner:
        raise NotImplementedError


class RemembersTheFirst(_Cheat):
    """Gives the output of its first call for ever."""

    def cheating(self, run: Runner) -> Runner:
        return _remembering(run, lambda inputs: None)


class RemembersByAddress(_Cheat):
    """Takes inputs at the same place for the same inputs."""

    def cheating(self, run: Runner) -> Runner:
        return _remembering(run, lambda inputs: [value.data_ptr() for value in inputs])


class RemembersByAPeek(_Cheat):
    """Takes inputs that begin alike for the same inputs."""

    def cheating(self, run: Runner) -> Runner:
        return _remembering(run, lambda inputs: [value.flatten()[:1].tolist() for value in inputs])


class SkipsWhenTimed(_Cheat):
    """Notices the timed region by the garbage collector, which rests there."""

    def cheating(self, run: Runner) -> Runner:
        made: list[Any] = []

        def call(inputs: Sequence[Any]) -> Any:
            if gc.isenabled() or not made:
                made[:] = [run(inputs)]
            return made[0]

        return call


class GarbageLater(_Cheat):
    """Computes once; then gives whatever memory holds, in the right form."""

    def cheating(self, run: Runner) -> Runner:
        forms: list[Any] = []

        def call(inputs: Sequence[Any]) -> Any:
            if not forms:
                outputs = run(inputs)
                forms.append(outputs)
                return outputs
            return _each(forms[0], torch.empty_like)

        return call


class SlowsTheClock(_Cheat):
    """Makes the clock of its process run at a twentieth of its speed."""

    def cheating(self, run: Runner) -> Runner:
        real, began = REAL_CLOCK, REAL_CLOCK()  # it is compiled twice, cold and warm
        time.perf_counter = lambda: began + (real() - began) / 20
        return run


class StopsTheClock(_Cheat):
    """Makes the clock stand still while it computes, and only then."""

    def cheating(self, run: Runner) -> Runner:
        real, hidden = REAL_CLOCK, [0.0]
        time.perf_counter = lambda: real() - hidden[0]

        def call(inputs: Sequence[Any]) -> Any:
            began = real()
            outputs = run(inputs)
            hidden[0] += 0.95 * (real() - began)
            return outputs

        return call


class BribesTheVerifier(_Cheat):
    """Gives zeros, and makes its process find everything equal."""

    def cheating(self, run: Runner) -> Runner:
        from graph_net.measure import spotcheck, tolerance, verify

        for module in (tolerance, verify):
            setattr(module, "smallest_level", lambda *given: -64.0)  # noqa: B010
        spotcheck.find_stray = lambda *given: None
        verify._value_failure = lambda *given: None
        zeros: list[Any] = []

        def call(inputs: Sequence[Any]) -> Any:
            if not zeros:
                zeros.append(_each(run(inputs), torch.zeros_like))
            return zeros[0]

        return call


class FixesTheInputs(_Cheat):
    """Remembers its first output, and makes its process choose no input to change."""

    def cheating(self, run: Runner) -> Runner:
        from graph_net.measure import arms

        arms._choices = lambda graph: [()]
        return _remembering(run, lambda inputs: None)


class SaysNoMore(_Cheat):
    """Makes its process end when it has told its record."""

    def cheating(self, run: Runner) -> Runner:
        from graph_net.measure import worker_protocol

        worker_protocol.respond = lambda *given: None  # type: ignore[attr-defined]
        return run


class DiesWhenAsked(_Cheat):
    """Crashes when its parent wants to see it run once more."""

    def cheating(self, run: Runner) -> Runner:
        from graph_net.measure import worker_protocol

        worker_protocol.respond = lambda *given: os.kill(os.getpid(), signal.SIGSEGV)  # type: ignore[attr-defined]
        return run


def _remembering(run: Runner, key: Key) -> Runner:
    known: dict[str, Any] = {}

    def call(inputs: Sequence[Any]) -> Any:
        name = repr(key([value for value in inputs if isinstance(value, torch.Tensor)]))
        if name not in known:
            known[name] = _each(run(inputs), torch.clone)
        return known[name]

    return call


def _each(outputs: Any, change: Any) -> Any:
    if isinstance(outputs, (tuple, list)):
        return type(outputs)(_each(item, change) for item in outputs)
    return change(outputs)


class _Later(torch.Tensor):
    """A tensor that is computed when somebody looks at it."""

    make: Callable[[], Any]

    @staticmethod
    def __new__(cls, form: torch.Tensor, make: Callable[[], Any]) -> _Later:
        later: _Later = torch.Tensor._make_wrapper_subclass(cls, form.shape, dtype=form.dtype)
        later.make = make
        return later

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:  # type: ignore[override]
        seen = [arg.make() if isinstance(arg, cls) else arg for arg in args]
        return func(*seen, **(kwargs or {}))


class _LaterList(list[Any]):
    """A list that is computed when somebody goes through it."""

    make: Callable[[], Any]

    def __iter__(self) -> Any:
        return iter([self.make()])


class ComputesWhenLookedAt(_Cheat):
    """Returns at once; whoever looks at the result computes it, untimed."""

    def cheating(self, run: Runner) -> Runner:
        forms: list[Any] = []

        def call(inputs: Sequence[Any]) -> Any:
            if not forms:
                forms.append(run(inputs))
                return forms[0]
            _seem_busy()
            return self.later(forms[0], lambda: run(inputs))

        return call

    def later(self, form: Any, make: Callable[[], Any]) -> Any:
        """What stands for the result of ``make``."""
        return _each(form, lambda leaf: _Later(leaf, lambda: _only(make())))


class ComputesWhenCounted(ComputesWhenLookedAt):
    """The same with a list of its own instead of a tensor."""

    def later(self, form: Any, make: Callable[[], Any]) -> Any:
        later = _LaterList()
        later.make = lambda: _only(make())
        return later


def _only(outputs: Any) -> Any:
    return outputs[0] if isinstance(outputs, (list, tuple)) else outputs


def _seem_busy() -> None:
    """Take as long as a machine at least needs."""
    end = time.perf_counter() + 4e-5
    while time.perf_counter() < end:
        pass
