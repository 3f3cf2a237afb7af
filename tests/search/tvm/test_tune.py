"""Tuning a small graph with TVM, end to end, in as few trials as show it."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import nn

import graph_net as gn
from graph_net.compilers.compiler import CompilerError
from graph_net.compilers.registry import create
from graph_net.learn.cost_model import CostModel
from graph_net.learn.model_registry import model_from_text
from graph_net.learn.read_set import read_set
from graph_net.programs.spaces import tvm_gauge
from graph_net.programs.spaces.metaschedule import cores
from graph_net.search.measurer import SearchError
from graph_net.search.tvm.session import JOURNAL

pytest.importorskip("tvm")


@pytest.fixture(scope="module")
def graph() -> gn.Graph:
    return gn.capture(nn.Linear(32, 16), (torch.randn(8, 32),))


def use_tvm() -> None:
    """Start TVM's threads in this process, one per core."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TVM_NUM_THREADS", str(cores()))
        tvm_gauge._runner(cores())()


@pytest.fixture(scope="module")
def tuned(graph: gn.Graph, tmp_path_factory: pytest.TempPathFactory) -> tuple[object, Path]:
    """A tuning that was stopped in the middle of a line, and then went on.

    The process has used TVM before: forked trials do not wait for its threads.
    """
    use_tvm()
    work = tmp_path_factory.mktemp("tune")
    gn.tune(graph, trials=4, batch=2, work=work, progress=False)
    (journal,) = work.glob(f"*/{JOURNAL}")
    before = journal.read_bytes()
    journal.write_bytes(before + b'{"task": {"work')
    again = gn.tune(graph, trials=6, batch=2, work=work, progress=False)
    assert journal.read_bytes().startswith(before)
    return again, journal


def test_goes_on_after_a_kill_and_measures_nothing_twice(tuned: tuple[object, Path]) -> None:
    result, journal = tuned
    lines = journal.read_bytes().splitlines()
    assert len(lines) == len(set(lines)) == result.trials <= 6  # type: ignore[attr-defined]


def test_tells_what_was_gained_with_an_interval(tuned: tuple[object, Path]) -> None:
    final = tuned[0].final  # type: ignore[attr-defined]
    assert final.speedup.low <= final.speedup.value <= final.speedup.high


def test_the_result_is_a_config_that_bench_measures(
    tuned: tuple[object, Path], graph: gn.Graph
) -> None:
    config = tuned[0].config  # type: ignore[attr-defined]
    records = gn.bench([graph], config, seconds=0.2, threads=1, jobs=1, progress=False)
    (record,) = records
    assert record.failure is None
    assert record.config.options["digest"] == config.options["digest"]


def test_a_database_that_was_changed_is_refused(tuned: tuple[object, Path]) -> None:
    config = tuned[0].config  # type: ignore[attr-defined]
    changed = {**config.options, "digest": "0" * 16}
    from graph_net.compilers.tvm_database import build_with

    with pytest.raises(CompilerError, match="tune again"):
        build_with(None, None, Path(str(changed["database"])), str(changed["digest"]))


def test_without_a_database_the_configuration_is_as_it_was() -> None:
    assert create("tvm").options == {"trials": 0, "seed": 0}


def test_a_graph_needs_a_trial_for_each_task(graph: gn.Graph, tmp_path: Path) -> None:
    with pytest.raises(SearchError, match="fewer than"):
        gn.tune(graph, trials=1, work=tmp_path, progress=False)


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> tuple[CostModel, CostModel]:
    """A model of loops, and one of loops and machine code, learned from three programs."""
    from learn.some_schedules import real_records

    records = real_records(tmp_path_factory.mktemp("records"))
    cheap, good = (model_from_text("lightgbm[rounds=5,threads=1,least_in_leaf=1]") for _ in "ab")
    cheap.fit(read_set(records, "tiles").data)
    good.fit(read_set(records, "tiles+code").data)
    return cheap, good


def test_a_model_of_compiled_programs_ranks_what_a_cheaper_one_drafts(
    graph: gn.Graph, models: tuple[CostModel, CostModel], tmp_path: Path
) -> None:
    draft, model = models
    tuned = gn.tune(
        graph, trials=4, batch=2, model=model, draft=draft, work=tmp_path, progress=False
    )
    assert tuned.trials == 4
    assert not tuned.problems


def test_a_model_of_compiled_programs_and_a_draft_go_together(
    graph: gn.Graph, models: tuple[CostModel, CostModel], tmp_path: Path
) -> None:
    draft, model = models
    with pytest.raises(SearchError, match="give a draft"):
        gn.tune(graph, model=model, work=tmp_path, progress=False)
    with pytest.raises(SearchError, match="goes with a model of compiled programs"):
        gn.tune(graph, model=draft, draft=draft, work=tmp_path, progress=False)


def test_other_compilers_are_not_tuned(graph: gn.Graph) -> None:
    with pytest.raises(SearchError, match="available: tvm"):
        gn.tune(graph, "inductor")
