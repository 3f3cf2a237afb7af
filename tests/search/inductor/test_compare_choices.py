"""The comparison with max-autotune: what is left to measure, in which order, and its report."""

from __future__ import annotations

import json
import subprocess
import sys
from argparse import Namespace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from benchmarks import inductor_choices
from benchmarks.inductor_choices import GRAPHS, GROUP, measure, pending, stem_of
from benchmarks.inductor_choices_report import report
from benchmarks.inductor_tuning import Tuning, can_run
from torch._inductor.select_algorithm import DataProcessorChoiceCallerWrapper

from graph_net.search.inductor.case import FILE, load_cases
from search.inductor.some_choices import some_model

ROOT = Path(__file__).parents[3]
BARE = """
import sys
NOT_INSTALLED = {"rich", "typer", "pyarrow", "duckdb", "lightgbm", "xgboost", "ray", "safetensors"}
class Finder:
    def find_spec(self, name, *rest):
        if name.partition(".")[0] in NOT_INSTALLED:
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Finder())
from benchmarks.inductor_choices import main
main(["all", "-o", sys.argv[1], "--seconds", "0", "--jobs", "1"])
"""


def asked(folder: Path, part: str = "all", **more: Any) -> Namespace:
    """Return the arguments of a command that has eight graphs."""
    for name in GRAPHS:
        (folder / f"{stem_of(name)}.graph").write_bytes(b"")
    shown = {"part": part, "cases": ROOT / FILE, "graphs": folder, "kinds": None, "device": "cpu"}
    return Namespace(**{**shown, "output": folder / "journal.jsonl", **more})


def names(given: Namespace, lines: list[Any]) -> list[str]:
    return [name for name, _, _ in pending(given, None, lines)]


def test_products_come_first_and_whole_graphs_last(tmp_path: Path) -> None:
    found = names(asked(tmp_path), [])
    kinds = list(dict.fromkeys(name.rpartition(" ")[0] for name in found))
    assert kinds[:2] == ["products", "convolutions"]
    assert kinds[2:4] == ["added and scaled products", "flex attention"]
    assert found[-8:] == [stem_of(name) for name in GRAPHS]
    assert names(asked(tmp_path, "graphs"), []) == found[-8:]
    assert names(asked(tmp_path, "kernels"), []) == found[:-8]
    products = [case for case in load_cases(ROOT / FILE) if case.held_out]
    assert sum(name.startswith("products") for name in found) * GROUP >= 60
    assert len(products) >= 100


def test_what_is_measured_is_left_out_and_what_failed_comes_last(tmp_path: Path) -> None:
    given = asked(tmp_path)
    first, second, *rest = names(given, [])
    cases = [case.key for case in load_cases(given.cases) if case.held_out]
    done: list[Any] = [{"group": cases[:GROUP], "part": first}, {"graph": rest[-1]}]
    assert names(given, done) == [second, *rest[:-1]]
    assert names(given, [*done, {"failed": second}]) == [*rest[:-1], second]


def test_failures_in_a_row_end_the_process_and_the_command_continues(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[str] = []

    def fail(*given: Any) -> Any:
        calls.append("tried")
        raise RuntimeError("an illegal memory access")

    monkeypatch.setattr(inductor_choices, "measure_graph", fail)
    monkeypatch.setattr(inductor_choices, "load_choices", lambda _: some_model())
    given = asked(tmp_path, "graphs", model=tmp_path, seconds=1e6, jobs=1)
    assert measure(given) == 1
    assert len(calls) == 2
    monkeypatch.setattr(inductor_choices, "measure_graph", lambda path, _: {"graph": path.stem})
    assert measure(given) == 0
    lines = [json.loads(line) for line in given.output.read_bytes().splitlines()]
    assert [line["failed"] for line in lines[:2]] == [stem_of(name) for name in GRAPHS[:2]]
    assert [line["graph"] for line in lines[-2:]] == [stem_of(name) for name in GRAPHS[:2]]


def test_a_part_of_scaled_products_takes_longer_by_its_choices(tmp_path: Path) -> None:
    sizes = {name: size for name, size, _ in pending(asked(tmp_path, "kernels"), None, [])}
    added = [size for name, size in sizes.items() if name.startswith("added")]
    assert max(added) == inductor_choices.MANY
    assert sizes["products 0"] == 1


def test_a_failure_is_told_though_what_came_after_it_was_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def some(path: Path, _: Any) -> Any:
        if path.stem == stem_of(GRAPHS[0]):
            raise RuntimeError("an illegal memory access")
        return {"graph": path.stem}

    monkeypatch.setattr(inductor_choices, "measure_graph", some)
    monkeypatch.setattr(inductor_choices, "load_choices", lambda _: some_model())
    given = asked(tmp_path, "graphs", model=tmp_path, seconds=1e6, jobs=1)
    assert measure(given) == 1


def test_the_only_choice_of_flex_attention_is_run_though_inductor_does_not_time_it() -> None:
    ran: list[int] = []
    request = SimpleNamespace(make_run_fn=lambda *inputs, out: lambda: ran.append(len(inputs)))
    layout = SimpleNamespace(device=torch.device("cpu"), size=[2, 4, 8, 16], dtype=torch.float16)
    layout.stride = list(torch.empty(layout.size).stride())
    inputs = [attention_input(name) for name in ("query", "key", "value")]
    only = SimpleNamespace(
        name="flex_attention_0",
        input_nodes=inputs,
        layout=layout,
        bmreq=request,
        hash_key=lambda: "tile",
    )
    tuning = Tuning()
    assert tuning.note_single([only]) == [only]
    assert tuning.note_single([only, only]) == [only, only]
    tuning.stop()
    assert list(tuning.names.values()) == ["tile"]
    assert ran == [3]


def attention_input(name: str) -> Any:
    """Return an input of attention as Inductor's nodes show themselves."""
    made = torch.empty(2, 4, 8, 16, dtype=torch.float16)
    return SimpleNamespace(
        get_name=lambda: name,
        get_size=lambda: list(made.shape),
        get_stride=lambda: list(made.stride()),
        get_dtype=lambda: made.dtype,
        get_device=lambda: made.device,
    )


def test_a_report_forgets_a_failure_that_was_measured_later(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cost = {mode: {"tuning": 1.0, "wall": 1, "choices": 9} for mode in ("max-autotune", "learned")}
    cost["learned"] = {"tuning": 0.1, "wall": 1, "choices": 2}
    times = {"max-autotune": 1.0, "learned": 1.0}
    graph = {"part": "a", "graph": "a", "cost": cost, "times": times}
    lines = [{"failed": "a", "why": "lost"}, graph]
    journal = tmp_path / "journal.jsonl"
    journal.write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert report(journal) == 0
    journal.write_text(journal.read_text() + '{"failed": "b", "why": "lost"}\n')
    assert report(journal) == 1
    assert "failed: b" in capsys.readouterr().out


def test_what_has_no_times_does_not_hold(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cost = {mode: {"tuning": 0, "wall": 1, "choices": 0} for mode in ("max-autotune", "stock")}
    key = load_cases(ROOT / FILE)[0].key
    group = {"group": [key], "cost": cost | {"learned": cost["stock"]}, "kernels": {}}
    group["kernels"] = {key: {"max-autotune": float("nan"), "learned": 1.0}}
    journal = tmp_path / "journal.jsonl"
    journal.write_text(json.dumps(group) + "\n")
    assert report(journal) == 1
    assert "products: 1 of 1 have no time" in capsys.readouterr().out


@pytest.mark.parametrize(("seconds", "answer"), [(0.15, 0), (0.25, 1)])
def test_tuning_is_claimed_of_each_kind_and_shown_of_all(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], seconds: float, answer: int
) -> None:
    kinds = {case.kind: case.key for case in load_cases(ROOT / FILE) if case.held_out}
    lines = []
    for kind, spent in (("products", seconds), ("convolutions", 0.1)):
        cost = {
            "max-autotune": {"tuning": 1.0, "wall": 1, "choices": 9},
            "learned": {"tuning": spent, "wall": 1, "choices": 2},
        }
        kernels = {kinds[kind]: {"max-autotune": 1.0, "learned": 1.0, "aten": float("nan")}}
        lines.append({"group": [kinds[kind]], "cost": cost, "kernels": kernels})
    journal = tmp_path / "journal.jsonl"
    journal.write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert report(journal) == answer
    shown = capsys.readouterr().out
    assert f"products: tuning at most 1/5 of max-autotune's: {seconds:.3f}" in shown
    assert f"products and convolutions together, tuning: {(seconds + 0.1) / 2:.3f}" in shown


@pytest.mark.parametrize(("packed", "runs"), [(True, False), (False, True)])
def test_a_choice_that_packs_its_weights_is_not_run_alone(packed: bool, runs: bool) -> None:
    choice: Any = SimpleNamespace(name="mm", input_nodes=[], layout=None, bmreq=1, description="")
    assert can_run(DataProcessorChoiceCallerWrapper(choice, None, None) if packed else choice) == (
        runs
    )


def test_measuring_needs_nothing_but_torch_and_numpy(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", BARE, str(tmp_path / "journal.jsonl")],
        cwd=ROOT,
        env={"PYTHONPATH": f"{ROOT / 'src'}:{ROOT}", "PATH": ""},
        capture_output=True,
        text=True,
    )
    assert "out of time before products 0" in done.stdout, done.stderr
