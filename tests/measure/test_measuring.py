"""Measuring real graphs: correctness, costs, what travels between processes."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from compilers.some_breaks import nothing_else, number_in_the_middle
from graph_net.graph import Graph, Input, Literal, TensorSpec, from_bytes
from graph_net.graph.execute import flat_outputs, run
from graph_net.isolate.messages import Inbox, encode
from graph_net.measure import Protocol
from graph_net.measure.plan import config_of, parse_compilers
from graph_net.measure.task import Measurement
from graph_net.measure.verify import check_outputs, make_reference, widen_to_float64, with_exact
from graph_net.measure.worker import Worker
from graph_net.results import Config, ConfigKind, Stage, Symptom
from graph_net.results.graph_breaks import pieces_text
from graph_net.testing.models import CASES, case_graph, graph_of
from measure.asking import FILE, QUICK, measured, mine, small_graph, task


@pytest.mark.parametrize("name", [case.name for case in CASES])
def test_eager_is_equal_to_itself(name: str, tmp_path: Path) -> None:
    record = Worker(task("eager", case_graph(name)), tmp_path).run()
    assert record.failure is None
    assert record.t == -64.0
    assert record.timing is not None
    assert record.cost.eager_peak_bytes is not None


def test_modules_in_the_current_directory_run_in_no_interpreter_of_the_lanes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "ctypes.py").write_text(f"open({str(tmp_path / 'harmed')!r}, 'w')")
    monkeypatch.chdir(tmp_path)
    (record,) = measured([task(mine("StartsPython"))])
    assert record.failure is None, record.failure
    assert not (tmp_path / "harmed").exists()


def test_inductor_is_measured_cold_and_warm() -> None:
    (record,) = measured([task("inductor")])
    assert record.failure is None, record.failure
    assert record.cost.cold_seconds is not None
    assert record.cost.warm_seconds is not None
    assert record.cost.cpu_seconds is not None
    assert record.cost.cpu_seconds > 0


def test_stages_are_announced_in_order(tmp_path: Path) -> None:
    stages: list[Stage] = []
    Worker(task("eager"), tmp_path, lambda stage, known: stages.append(stage)).run()
    assert stages == list(Stage)


def test_a_graph_that_cannot_be_read_fails_at_load() -> None:
    (record,) = measured([replace(task("eager"), graph=b"not a graph")])
    assert record.failure is not None
    assert record.failure.stage is Stage.LOAD


def test_float64_shows_who_is_nearer_to_the_truth() -> None:
    graph = case_graph("residual")
    expected = with_exact(make_reference(graph, "cpu", 0), graph, "cpu", 0)
    assert expected.exact is not None
    outputs, failure = check_outputs(list(expected.outputs), expected)
    assert failure is None
    assert all(output.t_exact == output.eager_t_exact for output in outputs)
    assert all(output.t_exact is not None and output.t_exact < -3 for output in outputs)


def test_a_widened_graph_computes_in_float64() -> None:
    graph = widen_to_float64(small_graph())
    (leaf,) = flat_outputs(run(graph))
    assert leaf.dtype == torch.float64


class Shuffles(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + torch.rand_like(x)


def test_random_numbers_are_no_failure_of_the_compiler() -> None:
    graph = graph_of(Shuffles(), (torch.randn(3),))
    expected = make_reference(graph, "cpu", 0)
    _, failure = check_outputs([expected.outputs[0] + 0.1], expected)
    assert failure is not None
    assert failure.symptom is Symptom.NONDETERMINISTIC


class Counts(torch.nn.Module):
    total: torch.Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("total", torch.zeros(2))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.total.add_(x)
        return self.total * 2


def test_a_graph_that_changes_its_inputs_starts_from_the_same_ones(tmp_path: Path) -> None:
    record = Worker(task("eager", graph_of(Counts(), (torch.ones(2),))), tmp_path).run()
    assert record.failure is None
    assert record.t == -64.0


def test_a_task_travels_whole() -> None:
    asked = task("eager")
    data = encode(asked.header(), asked.graph)
    inbox = Inbox()
    messages = [message for place in range(len(data)) for message in inbox.feed(data[place:][:1])]
    assert [Measurement.from_header(header, graph) for header, graph in messages] == [asked]
    assert from_bytes(messages[0][1]) == small_graph_of(asked)


def small_graph_of(asked: Measurement) -> object:
    return from_bytes(asked.graph)


def test_the_protocol_is_part_of_the_key() -> None:
    assert task("eager").key != task("eager", protocol=Protocol()).key


def test_compilers_are_written_with_their_options() -> None:
    first, second = parse_compilers("inductor[mode=max-autotune,max_fusion_size=8],eager")
    assert first.name == "inductor"
    assert first.options["mode"] == "max-autotune"
    assert first.options["max_fusion_size"] == 8
    assert second.name == "eager"


def test_a_file_is_its_own_version(tmp_path: Path) -> None:
    before = config_of(mine("Faithful"))
    copy = tmp_path / FILE.name
    copy.write_text(FILE.read_text() + "\n# another word\n")
    after = config_of(f"{copy}:Faithful")
    assert before.version != after.version


def test_a_record_of_a_run_is_plain_json() -> None:
    from graph_net.results import from_json, to_json

    (record,) = measured([task("eager")])
    assert from_json(json.dumps(json.loads(to_json(record)))) == record


def test_large_tasks_and_large_records_do_not_wait_for_one_another() -> None:
    """Each side may have more to say than a pipe holds while the other is speaking."""
    graphs = [with_literals(small_graph(size), 18_000) for size in range(2, 5)]
    protocol = replace(QUICK, min_blocks=60, max_blocks=60)
    tasks = [task("eager", graph, protocol=protocol) for graph in graphs]
    assert min(len(asked.graph) for asked in tasks) > 1 << 16
    found = measured(tasks)
    assert len(found) == len(tasks)
    assert all(record.failure is None for record in found)


def with_literals(graph: Graph, count: int) -> Graph:
    """The graph with one more input, nowhere used, whose values are all written down."""
    recipe = Literal(tuple(float(number) for number in range(count)))
    more = Input("more", TensorSpec((count,), "float32"), recipe)
    return replace(graph, inputs=(*graph.inputs, more))


def test_a_graph_that_dynamo_breaks_is_measured_and_the_record_says_why() -> None:
    whole = Config(ConfigKind.COMPILER, "inductor", "1", {"fullgraph": True})
    graph = number_in_the_middle()
    plain, refused = sorted(
        measured([task("inductor", graph), task("inductor", graph, config=whole)]),
        key=lambda record: record.failure is not None,
    )
    assert plain.failure is None, plain.failure
    assert plain.timing is not None
    assert plain.environment["compiled_graphs"] == 2
    assert plain.environment["graph_breaks"] == 1
    assert "sym_sum" in str(plain.environment["graph_break_reasons"])
    assert pieces_text(plain) == "2 graphs, 1 break"
    assert refused.failure is not None
    assert refused.failure.symptom is Symptom.UNSUPPORTED
    assert "refused by Dynamo" in refused.failure.message


def test_a_graph_that_dynamo_leaves_to_eager_says_so() -> None:
    (record,) = measured([task("inductor", nothing_else())])
    assert record.failure is None, record.failure
    assert record.environment["compiled_graphs"] == 0
    assert "ran eagerly" in str(record.environment["not_compiled"])
    assert pieces_text(record) == "nothing compiled"
