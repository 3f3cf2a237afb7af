"""Graphs are handed over as pure functions of tensors, converted once a directory."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from graph_net.compilers import Job, Unsupported
from graph_net.compilers.export import copy_inputs, export_program, form_path, pure_function_of
from graph_net.compilers.indices import plain_indices
from graph_net.compilers.unsupported import find_unsupported
from graph_net.graph.execute import flat_outputs, make_inputs, run
from graph_net.store.atomic import caching
from graph_net.testing.compiler_graphs import GRAPHS
from graph_net.testing.models import case_graph


def job_of(name: str, workdir: Path) -> Job:
    graph = GRAPHS[name]() if name in GRAPHS else case_graph(name)
    return Job(graph, tuple(make_inputs(graph)), "cpu", workdir)


@pytest.mark.parametrize("name", [*GRAPHS, "residual", "recurrent", "windows"])
def test_a_program_computes_what_its_graph_does(name: str, tmp_path: Path) -> None:
    job = job_of(name, tmp_path)
    program = pure_function_of(job)
    module = export_program(job, program).module()
    runner = program.runner(job, lambda tensors: module(*tensors))
    given, reference = copy_inputs(job.inputs), copy_inputs(job.inputs)
    with torch.inference_mode(), torch.random.fork_rng():
        wanted = run(job.graph, reference)
        torch.manual_seed(0)
        found = runner(given)
    for have, want in zip(flat_outputs(found), flat_outputs(wanted), strict=True):
        torch.testing.assert_close(have, want, equal_nan=True, rtol=2e-2, atol=2e-2)
    torch.testing.assert_close(given, reference)


def test_only_what_is_computed_leaves_the_program(tmp_path: Path) -> None:
    program = pure_function_of(job_of("nested", tmp_path))
    assert len(program.outputs) == 2
    assert program.changed == ()


def test_a_changed_input_comes_out_once_more(tmp_path: Path) -> None:
    assert pure_function_of(job_of("mutation", tmp_path)).changed == ("state",)


def test_a_number_among_the_inputs_is_fixed(tmp_path: Path) -> None:
    assert pure_function_of(job_of("number", tmp_path)).inputs == ("x",)


def test_the_exported_program_is_made_once_and_holds_no_values(tmp_path: Path) -> None:
    job = job_of("matmul", tmp_path)
    export_program(job, pure_function_of(job))
    (file,) = tmp_path.iterdir()
    written = file.stat().st_mtime_ns
    assert export_program(job, pure_function_of(job)).example_inputs is None
    assert file.stat().st_mtime_ns == written


def test_another_graph_in_the_same_directory_has_a_file_of_its_own(tmp_path: Path) -> None:
    assert form_path(job_of("matmul", tmp_path), "x") != form_path(job_of("conv", tmp_path), "x")


def test_a_file_that_was_not_finished_is_never_seen(tmp_path: Path) -> None:
    path = tmp_path / "form"

    def interrupted() -> None:
        with caching(path) as aside:
            aside.write_text("half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert list(tmp_path.iterdir()) == []


def test_copies_keep_layout_and_kind() -> None:
    plain = torch.randn(4, 3).t()
    with torch.inference_mode():
        made = torch.randn(2)
    first, second, third = copy_inputs([plain, made, 7])
    assert first.stride() == plain.stride()
    assert (first.is_inference(), second.is_inference(), third) == (False, True, 7)


def test_indices_become_plain(tmp_path: Path) -> None:
    job = job_of("views", tmp_path)
    program = pure_function_of(job)
    source = plain_indices(export_program(job, program).run_decompositions())
    for node in source.graph.nodes:
        if node.op == "call_function":
            numbers = [value for value in node.args[1:] if isinstance(value, int)]
            assert all(0 <= value <= 4 for value in numbers), node
    wanted = run(job.graph)
    assert torch.equal(source.module()(*program.examples(job))[0], wanted)


def test_all_refused_operators_are_named_not_the_first(tmp_path: Path) -> None:
    job = job_of("matmul", tmp_path)
    source = export_program(job, pure_function_of(job))

    def attempt(program: torch.export.ExportedProgram) -> None:
        targets = {str(node.target) for node in program.graph.nodes}
        if targets & {"aten.matmul.default", "aten.gelu.default"}:
            raise NotImplementedError

    names = find_unsupported(source, attempt)
    assert names == ["aten.matmul.default(float32, float32)", "aten.gelu.default(float32)"]


def test_unsupported_names_each_reason_once() -> None:
    error = Unsupported(["aten.a", "aten.b", "aten.a"])
    assert error.reasons == ("aten.a", "aten.b")
