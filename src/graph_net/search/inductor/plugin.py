"""Use a model of choices in Inductor: for a block, or for a process through its environment."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from graph_net.learn.learning_set import LearnError
from graph_net.programs.triton.target import Target, this_machine
from graph_net.search.inductor.choice_model import ChoiceModel, load_choices
from graph_net.search.inductor.compile_pool import one_assembler, share_assembler
from graph_net.search.inductor.finals import TIMED_BY, finals, keep_finals
from graph_net.search.inductor.hooks import choosing, hooked
from graph_net.search.inductor.queued_timing import keep_queued_timing, queued_timing
from graph_net_switch import VARIABLE

if TYPE_CHECKING:
    from graph_net.search.inductor.learned_choices import ChoiceReport, LearnedChoices

WIDENED = "GRAPH_NET_INDUCTOR_WIDENED"
"""Environment variable; set to choose from the exhaustive space."""
CACHE = "TORCHINDUCTOR_CACHE_DIR"
SHIPPED = Path(__file__).with_name("model")
"""The model shipped with the package, if there is one."""
NO_GPU = Target(name="none", arch="none", kind="none")


def model_folder() -> Path:
    """Return the folder of the default model: the environment's, else the shipped one."""
    named = os.environ.get(VARIABLE, "")
    if named:
        return Path(named)
    if not SHIPPED.exists():
        raise LearnError(
            f"no model of Inductor's choices is here: set {VARIABLE} to the folder of one "
            "(docs/inductor.md says how to train it)"
        )
    return SHIPPED


@contextmanager
def learned(model: str | Path | ChoiceModel, *, widened: bool = False) -> Iterator[ChoiceReport]:
    """Make ``torch.compile(mode="max-autotune")`` compile and time only what a model keeps.

    ``model`` is a folder or a loaded model; ``widened`` chooses from Inductor's exhaustive space,
    not from its default choices. Yields a report of the model's use. Operations outside the model's
    domain (dynamic shapes, other dtypes, other devices) are left as they are. Meanwhile Inductor
    times GPU code with a QueuedClock, the fastest choices of a short operation several times; no
    choice is compiled twice.
    """
    choices = _choices(model, widened)
    with (
        choosing(choices),
        hooked(before=choices.cut_uncompiled),
        queued_timing(choices.report.clock),
        finals(),
        one_assembler(),
        _own_cache(choices.uuid()),
    ):
        yield choices.report


def enable(model: str | Path | ChoiceModel, *, widened: bool = False) -> None:
    """Do the same for the rest of this process, from the first compilation on."""
    from torch._inductor import config

    loaded = load_choices(model) if isinstance(model, (str, Path)) else model

    def make() -> LearnedChoices:
        choices = _choices(loaded, widened)
        _add_preprocessing(choices)
        keep_queued_timing(choices.report.clock)
        keep_finals()
        return choices

    config.inductor_choices_class = make
    share_assembler()
    if not keys_have_choices():
        os.environ[CACHE] = _cache_of(f"{loaded.uuid} {widened} {TIMED_BY}")


def is_widened() -> bool:
    """Return whether the environment selects the exhaustive space."""
    return os.environ.get(WIDENED, "") not in ("", "0")


def _choices(model: str | Path | ChoiceModel, widened: bool) -> LearnedChoices:
    from graph_net.search.inductor.learned_choices import LearnedChoices

    loaded = load_choices(model) if isinstance(model, (str, Path)) else model
    return LearnedChoices(loaded, this_machine() or NO_GPU, widened)


def _add_preprocessing(choices: LearnedChoices) -> None:
    """Replace the function of an earlier handler: each compiling thread makes one."""
    from torch._inductor.select_algorithm import get_algorithm_selector_cache

    functions: list[Any] = get_algorithm_selector_cache().preprocessing_fns
    functions[:] = [one for one in functions if not _is_ours(one)] + [choices.cut_uncompiled]


def _is_ours(function: Any) -> bool:
    from graph_net.search.inductor.learned_choices import LearnedChoices

    return isinstance(getattr(function, "__self__", None), LearnedChoices)


def keys_have_choices() -> bool:
    """Return whether Inductor's graph cache key includes the choices' ``uuid`` (torch 2.13)."""
    from torch._inductor import config

    return "inductor_choices_class" in getattr(config, "_cache_config_factory_keys", ())


@contextmanager
def _own_cache(uuid: str) -> Iterator[None]:
    """Compile into a folder of this model's own if the cache key does not include the model."""
    if keys_have_choices():
        yield
        return
    before = os.environ.get(CACHE)
    os.environ[CACHE] = _cache_of(uuid)
    try:
        yield
    finally:
        if before is None:
            del os.environ[CACHE]
        else:
            os.environ[CACHE] = before


def _cache_of(uuid: str) -> str:
    from torch._inductor.runtime.cache_dir_utils import cache_dir

    from graph_net.results import digest

    return str(Path(cache_dir()) / f"graph_net_{digest('cache', uuid)[:16]}")
