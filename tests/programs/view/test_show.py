"""A task, looked at: found by its name, its numbers right, its programs as code."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph_net.cli.main import main
from graph_net.corpus.pack import PackWriter
from graph_net.programs.collection.subgraphs import Occurrence, format_subgraphs, occurrences
from graph_net.programs.spaces import registry
from graph_net.programs.spaces.readable import format_schedule
from graph_net.programs.view.find_task import find_task
from graph_net.programs.view.histogram import histogram, short_seconds, text_histogram
from graph_net.programs.view.overview import TaskSummary, summaries, tables
from graph_net.programs.view.readable_task import Listing, listings, without_tail
from graph_net.programs.view.show import TaskView, views
from graph_net.results import Program
from graph_net.testing.space import SleepingSpace
from programs.view.shown_programs import ANSOR, COSTS, kept, shown, sleeping, tile


@pytest.fixture(autouse=True)
def space_for_tests(monkeypatch: pytest.MonkeyPatch) -> None:
    place = f"{SleepingSpace.__module__}:SleepingSpace"
    monkeypatch.setitem(registry.BUILT_IN, "sleeping", place)


def view_of(records: Path, word: str) -> TaskView:
    with tables(records) as connection:
        (found,) = views(connection, [find_task(connection, word)])
    return found


def listing_of(view: TaskView) -> Listing:
    (found,) = listings([view])
    return found


def run(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as stop:
        main(["programs", "show", *words])
    format_subgraphs = capsys.readouterr()
    return int(stop.value.code or 0), format_subgraphs.out, format_subgraphs.err


def test_every_task_has_its_numbers(tmp_path: Path) -> None:
    with tables(shown(tmp_path / "records")) as connection:
        found = {one.name: one for one in summaries(connection)}
    matmul, sleep = found["matmul(64, 32)"], found["sleep1"]
    assert (matmul.programs, matmul.failed, matmul.weights) == (8, 3, {})
    assert matmul.best == pytest.approx(1.1e-3)
    assert matmul.median == pytest.approx(3.3e-3)
    assert matmul.spread == pytest.approx(8)
    assert sleep.weights == {"net": 3, "other": 4}
    assert (sleep.weight, sleep.structure, sleep.flops) == (7, "s1", 2e6)
    assert sleep.importance == pytest.approx(7e-4)
    assert sleep.rate(sleep.best) == pytest.approx(2e10)


def test_a_view_has_the_best_the_median_and_every_failure(tmp_path: Path) -> None:
    view = view_of(shown(tmp_path / "records"), "matmul")
    assert view.costs.tolist() == pytest.approx([1.1 * cost for cost in sorted(COSTS)])
    assert view.best is not None
    assert view.typical is not None
    assert view.best.schedule == '[["SP",0,0,64,[2],1],["AN",0,1,2]]'
    assert view.best.costs == pytest.approx((1e-3, 1.2e-3))
    assert view.typical.cost == pytest.approx(3.3e-3)
    assert view.noise == pytest.approx(np.std([1, 1.2], ddof=1) / 1.1)
    kinds = [(one.stage, one.symptom, one.count, one.message) for one in view.failures]
    assert kinds == [
        ("compile", "timeout", 2, "building took too long"),
        ("first_run", "exception", 1, "[red]error[/red] while running"),
    ]


def test_of_an_even_number_the_faster_of_the_middle_is_typical(tmp_path: Path) -> None:
    view = view_of(shown(tmp_path / "records"), "sleep1")
    assert view.typical is not None
    assert (view.typical.schedule, view.typical.cost) == (tile(1), 2e-4)
    assert view.noise is None


def test_tasks_come_in_the_order_asked_for(tmp_path: Path) -> None:
    with tables(shown(tmp_path / "records")) as connection:
        tasks = [one.task for one in summaries(connection)]
        for order in (tasks, tasks[::-1]):
            assert [view.summary.task for view in views(connection, order)] == order
        assert views(connection, []) == []


def test_a_task_where_nothing_ran_is_shown_too(tmp_path: Path) -> None:
    broken = [one for one in _broken() if one.failure]
    view = view_of(kept(tmp_path / "records", broken), "matmul")
    assert (view.best, view.typical, view.costs.tolist()) == (None, None, [])
    assert view.summary.spread is None
    assert listing_of(view).best.steps == ""


def _broken() -> list[Program]:
    from programs.view.shown_programs import BROKEN, steps

    return [Program.from_log(ANSOR, steps(1), (), why) for why in BROKEN]


@pytest.mark.parametrize("word", ["matmul", '["matmul", 64, 32]', '["mat', "mat"])
def test_a_task_is_found_by_its_name_or_how_it_begins(tmp_path: Path, word: str) -> None:
    with tables(shown(tmp_path / "records")) as connection:
        (task,) = [one.task for one in summaries(connection) if one.kernel == "matmul"]
        assert find_task(connection, word) == find_task(connection, task[:6]) == task


@pytest.mark.parametrize(
    ("word", "why"),
    [
        ("matmol", "did you mean matmul"),
        ("TMUL", "did you mean matmul"),
        ("sleep", "stands for 2 tasks: .*sleep[12] on a device"),
        ("zzzzzz", "it has .*matmul"),
    ],
)
def test_a_near_miss_is_told_what_there_is(tmp_path: Path, word: str, why: str) -> None:
    records = shown(tmp_path / "records", Program.from_log(sleeping(2), tile(0), (1.0,)))
    with tables(records) as connection, pytest.raises(ValueError, match=why):
        find_task(connection, word)


def test_a_task_is_code_where_its_space_is_known(tmp_path: Path) -> None:
    found = listing_of(view_of(shown(tmp_path / "records"), "sleep1"))
    assert found.best.program == "sleep(0 µs)"
    assert found.typical.program == "sleep(1 µs)"
    assert found.note == ""


def test_a_schedule_that_is_none_of_the_space_is_told(tmp_path: Path) -> None:
    odd = Program.from_log(sleeping(tiles=1), tile(5), (1e-6,))
    found = listing_of(view_of(kept(tmp_path / "records", [odd]), "sleep1"))
    assert "not a tile" in found.note
    assert found.best.steps == "tile = 5"


class CrashingSpace(SleepingSpace):
    """Reading its workloads ends the process, as a native library may."""

    def __init__(self, *_: Any) -> None:
        os.kill(os.getpid(), signal.SIGKILL)


def test_what_kills_a_compiler_costs_the_code_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(registry.BUILT_IN, "sleeping", f"{__name__}:CrashingSpace")
    found = listing_of(view_of(shown(tmp_path / "records"), "sleep1"))
    assert "died of SIGSYS" in found.note
    assert found.best.steps == "tile = 0"


def test_schedules_that_were_not_kept_are_told(tmp_path: Path) -> None:
    records = shown(tmp_path / "records", schedules=False)
    for word in ("matmul", "sleep1"):
        found = listing_of(view_of(records, word))
        assert "not kept" in found.note
        assert found.best.steps == found.best.program == ""


def test_without_a_module_the_trace_is_written(tmp_path: Path) -> None:
    from programs.features.some_programs import program, stored, trace

    stored(tmp_path / "records", [program(trace(4, 2), 1.0)])
    found = listing_of(view_of(tmp_path / "records", "1"))
    assert found.note == "No file here has the module of this metaschedule task."
    assert found.best.steps.splitlines() == [
        "v0, v1 = SamplePerfectTile(l0, 2, 64, decision=[4, 2])",
        "Split(l0, v0, v1, 1)",
    ]


def test_without_tvm_a_line_says_so(tmp_path: Path) -> None:
    """In a process of its own, for which TVM is not installed."""
    from programs.features.some_programs import program, stored, trace

    records = stored(tmp_path / "records", [program(trace(4, 2), 1.0)])
    script = (
        "import sys; sys.modules['tvm'] = None\n"
        "from pathlib import Path\n"
        "from dataclasses import replace\n"
        "from graph_net.programs.view.overview import summaries, tables\n"
        "from graph_net.programs.view.show import views\n"
        "from graph_net.programs.view.readable_task import listings\n"
        f"with tables(Path({str(records)!r})) as c:\n"
        "    (view,) = views(c, [summaries(c)[0].task])\n"
        "(found,) = listings([replace(view, module='QQ==')])\n"
        "print(found.note, found.best.steps)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert "TVM is not installed" in done.stdout
    assert "decision=[4, 2]" in done.stdout


def test_steps_of_ansor_are_calls() -> None:
    schedule = '[["SP",2,0,128,[4,2],1],["AN",5,0,5],["XX",1,[2]],["PR",0,1,"unroll$16"]]'
    assert format_schedule("ansor", schedule).splitlines() == [
        "split(stage=2, iter=0, extent=128, lengths=[4, 2], inner_to_outer=1)",
        'annotate(stage=5, iter=0, kind="blockIdx.x")',
        "XX(1, [2])",
        'pragma(stage=0, iter=1, text="unroll$16")',
    ]


@given(st.sampled_from(["ansor", "metaschedule", "t4", "other"]), st.text())
def test_any_text_is_written_somehow(kind: str, schedule: str) -> None:
    assert isinstance(format_schedule(kind, schedule), str)
    assert isinstance(format_schedule(kind, json.dumps([schedule])), str)


def test_a_source_that_two_programs_share_is_printed_once() -> None:
    source = "\n".join(f"line {n}" for n in range(40))
    best, typical = f"# block = 1\n{source}", f"# block = 2\n# split\n{source}"
    assert without_tail(typical, best).splitlines() == [
        "# block = 2",
        "# split",
        "# … and the last 40 lines of the best program",
    ]
    assert without_tail(best, best) == best
    assert without_tail("a\nb", "c\nb") == "a\nb"


@given(st.lists(st.floats(1e-9, 1e8), min_size=1, max_size=50))
def test_a_histogram_holds_every_time(costs: list[float]) -> None:
    sorted_costs = np.sort(np.array(costs))
    found = histogram(sorted_costs)
    assert sum(found.counts) == len(costs)
    assert len(found.edges) == len(found.counts) + 1
    assert found.edges[0] == pytest.approx(min(costs))
    assert found.edges[-1] == pytest.approx(max(costs))
    lines = text_histogram(sorted_costs, 20)
    marks = " ".join(line.split()[-1] for line in lines)
    assert sum(name in " ".join(lines) for name in ("best", "median", "worst")) == 3, marks


def test_bars_are_as_long_as_their_counts() -> None:
    costs = np.array([1.0] * 4 + [2.0] * 2 + [16.0])
    lines = text_histogram(costs, 8)
    assert len(lines) == 16
    assert lines[0] == "   1.00 s ████████       4 best, median"
    assert lines[4] == "   2.00 s ████           2"
    assert lines[15].split() == ["13.5", "s", "██", "1", "worst"]
    assert text_histogram(np.empty(0)) == []


@pytest.mark.parametrize(
    ("value", "text"),
    [(1.5, "1.50 s"), (0.9999, "1.00 s"), (1.234e-5, "12.3 µs"), (5e-10, "0.500 ns"),
     (123.4, "123 s"), (12345.0, "12,345 s"), (None, "")],
)  # fmt: skip
def test_times_have_three_digits_and_a_unit(value: float | None, text: str) -> None:
    assert short_seconds(value) == text


def test_the_corpus_says_where_a_subgraph_occurs(tmp_path: Path) -> None:
    from graph_net.corpus.pack import Pack
    from graph_net.testing.models import case_graph

    graph = case_graph("residual")
    with PackWriter(tmp_path / "pack") as writer:
        writer.add("residual", graph)
    with tables(shown(tmp_path / "records")) as connection:
        summary, *_ = summaries(connection)
    one = replace(summary, structure=graph.structure, graph=graph.id)
    other, none = replace(one, task="o", graph="?"), replace(one, task="n", structure="?")
    found = occurrences([one, other, none], [Pack(tmp_path / "pack")])
    assert found[one.task] == [Occurrence("residual", 1, True)]
    assert found["o"] == [Occurrence("residual", 1, False)]
    assert found["n"] == []
    assert format_subgraphs(found["o"]) == "residual (other sizes, 1×)"
    assert format_subgraphs([Occurrence(f"g{n}", n, False) for n in range(5)]).endswith(
        "and 2 more of other sizes"
    )


def test_all_tasks_are_a_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    records = shown(tmp_path / "records")
    code, out, _ = run(capsys, "-r", str(records))
    assert code == 0
    (sleep,) = [line for line in out.splitlines() if "sleep1" in line]
    (matmul,) = [line for line in out.splitlines() if "matmul(64, 32)" in line]
    assert sleep.split()[1:] == "sleep1 net +1 7 2.0 M 4 100 µs 250 µs 4×".split()
    assert matmul.split()[3:] == "8 3 1.10 ms 3.30 ms 8×".split()
    assert "2 tasks; 12 programs, 3 failed" in out


@pytest.mark.parametrize(
    ("sort", "first"), [("best", "sleep1"), ("failed", "matmul"), ("kernel", "matmul")]
)
def test_the_table_is_sorted_and_limited(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], sort: str, first: str
) -> None:
    records = shown(tmp_path / "records")
    _, out, _ = run(capsys, "-r", str(records), "--sort", sort, "--limit", "1", "--json")
    assert [one["kernel"] for one in json.loads(out)] == [first]


def test_a_task_is_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "matmul", "-r", str(shown(tmp_path / "records")))
    assert code == 0
    for text in (
        "matmul(64, 32)",
        "best 1.10 ms, median 3.30 ms, worst 8.80 ms; 8× between best and worst",
        "[red]error[/red] while running",
        "split(stage=0, iter=0, extent=64, lengths=[2], inner_to_outer=1)",
        "typical: 3.30 ms",
    ):
        assert text in out


def test_json_has_everything(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run(capsys, "sleep1", "-r", str(shown(tmp_path / "records")), "--json")
    tree = json.loads(out)
    assert tree["code"]["best"]["program"] == "sleep(0 µs)"
    assert tree["best_program"]["schedule"] == tile(0)
    assert tree["weights"] == {"net": 3, "other": 4}
    assert sum(tree["histogram"]["counts"]) == 4


def test_code_is_cut_and_left_out_as_asked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    records = str(shown(tmp_path / "records"))
    _, out, _ = run(capsys, "matmul", "-r", records, "--lines", "1")
    assert "annotate(" not in out
    assert "1 more lines" in out
    _, out, _ = run(capsys, "matmul", "-r", records, "--no-code")
    assert "split(" not in out


def test_a_mistake_is_a_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    records = str(shown(tmp_path / "records"))
    for words, why in ((["matmol", "-r", records], "did you mean matmul"),
                       (["-r", records, "--sort", "size"], "available: time")):  # fmt: skip
        code, _, said = run(capsys, *words)
        assert code == 2
        assert why in " ".join(said.replace("│", " ").split())
    for place, why in ((tmp_path / "nothing", "programs collect"), (tmp_path, records)):
        code, _, said = run(capsys, "-r", str(place))
        assert code == 2
        assert why.replace(" ", "") in "".join(said.replace("│", "").split())
        assert "Traceback" not in said


def test_a_summary_of_hostile_details_is_still_one(tmp_path: Path) -> None:
    """Details are somebody else's JSON: of any shape."""
    for details in ('{"flops":"x","structure":[1]}', "[1]", '{"flops":-1}', ""):
        task = replace(ANSOR, details=details)
        records = kept(tmp_path / str(len(details)), [Program.from_log(task, "[]", (1.0,))])
        with tables(records) as connection:
            (found,) = summaries(connection)
        assert isinstance(found, TaskSummary)
        assert found.flops == 0


def test_a_task_of_tvm_is_shown_as_its_code(tmp_path: Path) -> None:
    pytest.importorskip("tvm", reason="needs apache-tvm")
    from tvm import IRModule, te

    from graph_net.programs.formats import MetaScheduleWorkload, write_workloads
    from graph_net.programs.spaces.metaschedule import MetaScheduleSpace, workload_of
    from graph_net.programs.store.workload_table import WorkloadStore
    from graph_net.results import Task

    left, right = te.placeholder((8, 16), name="left"), te.placeholder((16, 4), name="right")
    over = te.reduce_axis((0, 16), name="k")
    product = te.compute(
        (8, 4), lambda i, j: te.sum(left[i, over] * right[over, j], axis=over), name="product"
    )
    work = workload_of(IRModule({"main": te.create_prim_func([left, right, product])}), "mm")
    space = MetaScheduleSpace(work)
    task = Task("metaschedule", work.hash, "mm", space.target, "{}")
    drawn = list(space.sample(2, 1))
    programs = [Program.from_log(task, one, (1e-3 * (n + 1),)) for n, one in enumerate(drawn)]
    bad = replace(task, workload="999", kernel="bad")
    records = kept(tmp_path / "records", [*programs, Program.from_log(bad, drawn[0], (1.0,))])
    file = tmp_path / "database_workload.json"
    with file.open("wb") as lines:
        write_workloads(
            [MetaScheduleWorkload(work.hash, work.module), MetaScheduleWorkload("999", "QUFBQQ==")],
            lines,
        )
    WorkloadStore(records).add(file)
    view = view_of(records, "mm")
    found = listing_of(view)
    assert 'T.sblock("product")' in found.computation
    assert "T.grid(8, 4, 16)" in found.computation
    assert found.best.program != found.computation
    assert "sch.get_sblock" in found.best.steps
    assert found.note == ""
    broken = listing_of(view_of(records, "bad"))
    assert broken.note.startswith("Not shown as the metaschedule space has it")
    assert "GetSBlock" in broken.best.steps
