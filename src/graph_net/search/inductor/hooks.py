"""Install functions in Inductor's autotuning for the duration of a block."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

Feedback = Callable[..., None]
"""Called with timings, name, input nodes, choices, a profiler and seconds of compiling."""
Preprocessing = Callable[[list[Any]], list[Any]]
Timing = Callable[..., Any]
"""Returns the milliseconds of a call; Inductor's is ``benchmark_gpu``."""
Made = TypeVar("Made", bound=Timing)


@contextmanager
def hooked(feedback: Feedback | None = None, before: Preprocessing | None = None) -> Iterator[None]:
    """Call ``feedback`` after every autotuning, and ``before`` with choices not yet compiled."""
    from torch._inductor.select_algorithm import get_algorithm_selector_cache

    cache: Any = get_algorithm_selector_cache()
    added = [(cache.feedback_saver_fns, feedback), (cache.preprocessing_fns, before)]
    for functions, function in added:
        if function is not None:
            functions.append(function)
    try:
        yield
    finally:
        for functions, function in added:
            if function in functions:
                functions.remove(function)


@contextmanager
def choosing(choices: Any) -> Iterator[None]:
    """Make Inductor use ``choices``, an InductorChoices, in every compiling thread.

    Inductor keeps one handler per thread from its first use on. The factory in the configuration
    serves future threads, and from torch 2.13 on it is part of the graph cache's key. The handler
    is set first: in a thread without one, the handler to restore later is made from the
    configuration.
    """
    from torch._inductor import config
    from torch._inductor.virtualized import V

    with (
        V.set_choices_handler(choices),
        config.patch(inductor_choices_class=lambda: choices),
    ):
        yield


@contextmanager
def timing_by(make: Callable[[Timing], Made]) -> Iterator[Made]:
    """Make Inductor time GPU code with ``make`` applied to its current clock."""
    from torch._inductor.runtime.benchmarking import benchmarker

    changed: Any = benchmarker
    before = vars(benchmarker).get("benchmark_gpu")
    made = make(changed.benchmark_gpu)
    changed.benchmark_gpu = made
    try:
        yield made
    finally:
        if before is None:
            del changed.benchmark_gpu
        else:
            changed.benchmark_gpu = before
