"""The model inside Inductor, on a CPU: its hooks fire, and its choices are Inductor's."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import torch
from torch._inductor import config
from torch._inductor.kernel.mm import mm_template
from torch._inductor.template_heuristics import triton as heuristics
from torch._inductor.virtualized import V

import graph_net.inductor
import graph_net_switch
from graph_net.compilers import create
from graph_net.compilers.compiler import CompilerError
from graph_net.programs.triton.target import H200
from graph_net.search.inductor import plugin
from graph_net.search.inductor.choice_model import save_choices
from graph_net.search.inductor.hooks import choosing, hooked
from graph_net.search.inductor.learned_choices import LearnedChoices
from graph_net.search.inductor.reading import DEFAULT
from graph_net.search.inductor.sampled_choices import SampledChoices
from graph_net.search.inductor.tile import Tile
from search.inductor.some_choices import KERNEL, RULE, some_model, some_texts

OPTIONS: dict[str, Any] = {
    "max_autotune": True,
    "max_autotune_gemm_backends": "ATEN,CPP",
    "fx_graph_cache": False,
    "autotune_num_choices_displayed": 0,
    "max_autotune_report_choices_stats": False,
    "compile_threads": 1,
}


@dataclass
class Config:
    """What Inductor takes for ``triton.Config`` where Triton is not installed."""

    kwargs: dict[str, Any]
    num_stages: int
    num_warps: int


class Tiled:
    """Gives a handler of choices the tiles of the Triton template, and notes what it returns."""

    seen: list[Any]

    def _finalize_template_configs(
        self,
        template_choices: Mapping[str, Iterator[Any]],
        kernel_inputs: Any,
        templates: Sequence[Any],
        op_name: str,
        kwarg_overrides: Any = None,
    ) -> list[Any]:
        own = [choice for choices in template_choices.values() for choice in choices]
        tiled = self.get_ktc(kernel_inputs, mm_template, op_name, {})  # type: ignore[attr-defined]
        offered = {"aten": iter(own), mm_template.uid: tiled}
        self.seen = super()._finalize_template_configs(  # type: ignore[misc]
            offered, kernel_inputs, [*templates, mm_template], op_name, kwarg_overrides
        )
        return own


class TiledLearned(Tiled, LearnedChoices):
    """What a model keeps."""


class TiledSampled(Tiled, SampledChoices):
    """What a collection draws."""


def linear(left: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
    """Multiply by a transposed matrix, as a linear layer does."""
    return torch.mm(left, right.t())


def multiply(choices: Any) -> None:
    """Compile a product of two matrices with these choices."""
    torch._dynamo.reset()
    with choosing(choices), torch.no_grad():
        left, right = torch.ones(512, 768).bfloat16(), torch.ones(1024, 768).bfloat16()
        compiled: Any = torch.compile(linear, options=OPTIONS)
        assert float(compiled(left, right)[0, 0]) == 768


def tiles(choices: Any) -> list[Tile]:
    """Return the tiles of what a handler returned."""
    return [tile for one in choices.seen if (tile := Tile.of(one.params.to_kwargs()))]


@pytest.fixture(autouse=True)
def _no_triton(monkeypatch: pytest.MonkeyPatch) -> None:
    def make(kwargs: dict[str, Any], num_stages: int, num_warps: int) -> Config:
        return Config(kwargs, num_stages, num_warps)

    monkeypatch.setattr(heuristics, "TritonConfig", make)


def test_inductor_gets_what_the_model_keeps_and_aten() -> None:
    model = some_model(device="cpu")
    learned = TiledLearned(model, H200)
    multiply(learned)
    assert [one for one in learned.seen if not Tile.of(one.params.to_kwargs())]  # ATen
    assert 1 <= len(tiles(learned)) <= KERNEL.most < learned.report.offered
    assert learned.report.operations == 1
    assert not learned.report.errors
    wide = TiledLearned(model, H200, widened=True)
    multiply(wide)
    assert wide.report.offered > 10 * learned.report.offered
    assert len(tiles(wide)) <= KERNEL.most
    # A collection: every choice of Inductor's own, and drawn ones that fit.
    sampled = TiledSampled(H200, 64)
    multiply(sampled)
    drawn = [one for one in sampled.seen if not one.annotations.get(DEFAULT, True)]
    assert len(tiles(sampled)) == 64
    assert len(drawn) == 64 - learned.report.offered
    assert all(tile.fits(2, H200.shared) for tile in tiles(sampled)[-len(drawn) :])


def test_outside_its_domain_a_model_changes_nothing(tmp_path: Path) -> None:
    save_choices(RULE, some_texts(), tmp_path / "model", "# Card\n")
    timed: list[int] = []
    with (
        graph_net.inductor.learned(tmp_path / "model") as report,
        hooked(lambda timings, *rest: timed.append(len(timings))),
    ):
        torch._dynamo.reset()
        compiled: Any = torch.compile(torch.bmm, options={**OPTIONS, "freezing": True})
        with torch.no_grad():
            compiled(torch.ones(4, 32, 96), torch.ones(4, 96, 64))
    assert timed == [2]  # ATen and a C++ template
    assert (report.untouched, report.operations, report.errors) == (1, 0, [])


def test_a_thread_that_has_not_compiled_yet_has_its_own_choices_afterwards() -> None:
    def choose() -> list[bool]:
        with graph_net.inductor.learned(some_model()):
            inside = isinstance(V.choices, LearnedChoices)
        return [inside, isinstance(V.choices, LearnedChoices)]

    with ThreadPoolExecutor(1) as threads:
        assert threads.submit(choose).result() == [True, False]


def test_a_model_that_raises_leaves_the_choices_as_they_were(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    learned = TiledLearned(some_model(device="cpu"), H200)
    monkeypatch.setattr(type(learned.model), "keep", lambda *_: 1 / 0)
    multiply(learned)
    assert len(tiles(learned)) > KERNEL.most
    assert "ZeroDivisionError" in learned.report.errors[0]


@pytest.mark.skipif(not plugin.keys_have_choices(), reason="torch 2.13 keys its cache by choices")
def test_two_models_have_two_keys_in_the_graph_cache() -> None:
    keys = []
    for margin in (0.05, 0.1):
        with graph_net.inductor.learned(some_model(margin=margin)):
            keys.append(config.save_config_portable()["inductor_choices_class"])
    assert keys[0] != keys[1]
    assert config.inductor_choices_class is None


def test_where_a_key_has_no_choices_a_model_has_its_own_cache(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(plugin, "keys_have_choices", lambda: False)
    monkeypatch.setenv(plugin.CACHE, str(tmp_path))
    folders = set()
    for margin in (0.05, 0.1, 0.05):
        with graph_net.inductor.learned(some_model(margin=margin)):
            folders.add(os.environ[plugin.CACHE])
    assert len(folders) == 2
    assert os.environ[plugin.CACHE] == str(tmp_path)


def test_the_environment_switches_a_model_on(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv(graph_net_switch.VARIABLE, raising=False)
    save_choices(RULE, some_texts(), tmp_path / "model", "# Card\n")
    with config.patch(inductor_choices_class=None):
        graph_net_switch.enable_from_environment()
        assert config.inductor_choices_class is None
        monkeypatch.setenv(graph_net_switch.VARIABLE, str(tmp_path / "model"))
        graph_net_switch.enable_from_environment()
        make: Any = config.inductor_choices_class
        made = make()
    assert isinstance(made, LearnedChoices)
    assert made.model.uuid == some_model().uuid


def test_a_model_that_is_none_does_not_break_the_import_of_torch(tmp_path: Path) -> None:
    environment = {**os.environ, graph_net_switch.VARIABLE: str(tmp_path / "nothing")}
    done = subprocess.run(
        [sys.executable, "-c", "import graph_net_switch as s; s.enable_from_environment()"],
        env={**environment, "TORCH_DEVICE_BACKEND_AUTOLOAD": "0"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert f"{graph_net_switch.VARIABLE} is ignored" in done.stderr
    assert "holds no model of choices" in done.stderr


def test_a_configuration_of_bench_asks_for_a_model(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert create("inductor", {"choices": "default"}).options == create("inductor").options
    learned = create("inductor", {"choices": "learned"})
    assert learned.options == {"mode": "max-autotune", "fullgraph": False, "choices": "learned"}
    monkeypatch.setenv(graph_net_switch.VARIABLE, str(tmp_path))
    assert learned.missing() is None
    assert tmp_path in learned.needs.reads
    with pytest.raises(CompilerError, match="has no choices 'best'"):
        create("inductor", {"choices": "best"})
