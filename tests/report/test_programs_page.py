"""Programs on the page: with records or without, bounded in size, and safe whatever they say."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from graph_net.cli.main import main
from graph_net.corpus.shipped import VARIABLE
from graph_net.programs.spaces import registry
from graph_net.report.page import PageCounts, write_page
from graph_net.report.page_programs import BINS, HEIGHTS, POINTS, read_programs
from graph_net.results import Failure, Program, RecordError, Stage, Symptom, Task, canonical
from programs.view.shown_programs import ANSOR, COSTS, kept, shown, sleeping, steps, tile
from report.synthetic import EVIL, Reader, stored, synthetic, unpacked


@pytest.fixture(autouse=True)
def alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The space for tests is known, and no corpus is at hand."""
    place = "graph_net.testing.space:SleepingSpace"
    monkeypatch.setitem(registry.BUILT_IN, "sleeping", place)
    monkeypatch.setenv(VARIABLE, str(tmp_path / "no corpus"))


def page_of(records: Path, detailed: int = 50) -> Reader:
    target = records.parent / "report.html"
    write_page(records, target, detailed=detailed)
    return Reader(target.read_text("utf-8"))


def sections(page: Reader) -> list[str | None]:
    return [found["id"] for tag, found in page.elements if tag == "section"]


def programs_of(page: Reader) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(page.inside["data"])["programs"]
    return found


def details_of(page: Reader) -> list[Any]:
    return [unpacked(line) for line in page.inside["tasks"].split("\n") if line]


def test_programs_alone_make_a_page(tmp_path: Path) -> None:
    page = page_of(shown(tmp_path / "records"))
    assert sections(page) == ["programs"]
    assert "12 programs of 2 tasks." in page.inside["text"]
    assert "measurements" not in page.inside["text"]
    found = programs_of(page)
    assert found["name"] == ["matmul(64, 32)", "sleep1"]
    assert found["failed"] == [3, 0]
    assert found["weight"] == [None, 7]
    assert found["networks"] == ["", "net + 1"]


def test_records_and_programs_stand_on_one_page(tmp_path: Path) -> None:
    records = stored(tmp_path / "records", synthetic(12))
    assert "programs" not in sections(page_of(records))
    assert "programs" not in json.loads(page_of(records).inside["data"])
    shown(records)
    page = page_of(records)
    ids = sections(page)
    assert ids.index("programs") == ids.index("graphs") + 1
    assert len(json.loads(page.inside["data"])["rows"]["graph"]) == 12
    assert write_page(records, tmp_path / "again.html") == PageCounts(12, 12)


def test_neither_makes_none(tmp_path: Path) -> None:
    with pytest.raises(RecordError, match="holds no records"):
        write_page(tmp_path, tmp_path / "page.html")


def test_a_task_has_its_times_failures_and_code(tmp_path: Path) -> None:
    matmul, sleep = details_of(page_of(shown(tmp_path / "records")))
    assert matmul["costs"] == pytest.approx([1.1 * cost for cost in sorted(COSTS)])
    assert [(one["stage"], one["count"]) for one in matmul["failures"]] == [
        ("compile", 2),
        ("first_run", 1),
    ]
    assert [one["name"] for one in matmul["programs"]] == ["best", "typical"]
    assert matmul["programs"][0]["steps"].startswith("split(stage=0")
    assert sleep["networks"] == [["net", 3], ["other", 4]]
    assert sleep["programs"][0]["code"] == "sleep(0 µs)"
    assert (sleep["structure"], sleep["graph"]) == ("s1", "g")


def test_the_small_picture_has_a_bar_where_there_is_a_program(tmp_path: Path) -> None:
    task = replace(ANSOR, workload="w", kernel="k")
    costs = [1.0] * 10 + [2.0] * 5 + [64.0, 900.0]
    programs = [Program.from_log(task, steps(n), (cost,)) for n, cost in enumerate(costs)]
    heights = programs_of(page_of(kept(tmp_path / "records", programs)))["heights"][0]
    assert len(heights) == BINS
    bars = {place: HEIGHTS.index(height) for place, height in enumerate(heights) if height != "0"}
    assert bars == {0: 35, BINS // 6: 18, BINS - 1: 7}


def test_a_task_where_nothing_ran_has_no_picture(tmp_path: Path) -> None:
    failure = Failure(Stage.COMPILE, Symptom.EXCEPTION, "no")
    page = page_of(kept(tmp_path / "records", [Program.from_log(ANSOR, steps(1), (), failure)]))
    found = programs_of(page)
    assert (found["heights"], found["best"]) == ([""], [None])
    assert details_of(page)[0]["programs"] == []


def test_code_is_there_for_the_tasks_that_take_longest(tmp_path: Path) -> None:
    programs = [
        Program.from_log(sleeping(n, net=weight), tile(1), (cost,))
        for n, (weight, cost) in enumerate([(1, 1.0), (9, 0.5), (3, 1.0), (1, 0.1)])
    ]
    page = page_of(kept(tmp_path / "records", programs), detailed=2)
    found = programs_of(page)
    assert found["name"] == ["sleep1", "sleep2", "sleep0", "sleep3"]
    assert found["detailed"] == len(details_of(page)) == 2
    assert programs_of(page_of(tmp_path / "records", detailed=0))["detailed"] == 0


def test_ten_thousand_tasks_make_a_page_that_can_be_sent(tmp_path: Path) -> None:
    tasks = [Task("ansor", f'["conv2d", {n}, 64, 56, 56]', "conv2d", "llvm") for n in range(10_000)]
    programs = [
        Program.from_log(task, steps(n % 7 + 1 + k), (1e-3 * (1 + k * n % 13),))
        for n, task in enumerate(tasks)
        for k in range(2)
    ]
    records = kept(tmp_path / "records", programs)
    target = tmp_path / "page.html"
    assert write_page(records, target, detailed=20) == PageCounts(0, 20_000)
    assert target.stat().st_size < 3 << 20


def test_of_many_times_some_are_kept_the_ends_among_them(tmp_path: Path) -> None:
    programs = [Program.from_log(ANSOR, steps(n), (1.0 + n,)) for n in range(3 * POINTS)]
    (detail,) = details_of(page_of(kept(tmp_path / "records", programs)))
    assert len(detail["costs"]) == POINTS
    assert (detail["costs"][0], detail["costs"][-1]) == (1, 3 * POINTS)
    assert detail["costs"] == sorted(detail["costs"])


def evil_programs() -> list[Program]:
    """Everything a file can name, named by somebody who means harm."""
    details = canonical(
        {"weights": {EVIL: 2}, "module": {"tiles": 3, EVIL: EVIL}, "structure": EVIL}
    )
    failure = Failure(Stage.COMPILE, Symptom.EXCEPTION, EVIL)
    one = Task("sleeping", EVIL, EVIL, EVIL, details)
    two = Task("ansor", json.dumps([EVIL, EVIL]), EVIL, EVIL, "[]")
    return [
        Program.from_log(one, tile(1), (1.0,), extra=canonical(EVIL)),
        Program.from_log(one, tile(2), (), failure),
        Program.from_log(two, canonical([[EVIL, EVIL]]), (1.0, 2.0)),
        Program.from_log(two, canonical([[EVIL, 1]]), (3.0, 2.0)),
    ]


def test_words_of_programs_stay_words(tmp_path: Path) -> None:
    harmless = page_of(shown(tmp_path / "a"))
    page = page_of(kept(tmp_path / "b", evil_programs()))
    scripts = [tag for tag, _ in page.elements if tag == "script"]
    assert len(scripts) == sum(tag == "script" for tag, _ in harmless.elements) == 5
    assert "img" not in [tag for tag, _ in page.elements]
    assert EVIL in programs_of(page)["name"]
    assert {one["workload"] for one in details_of(page)} == {EVIL, json.dumps([EVIL, EVIL])}


def test_the_verb_counts_programs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    records = shown(tmp_path / "records")
    with pytest.raises(SystemExit) as stop:
        main(["report", str(records), "-o", str(tmp_path / "page.html"), "--tasks", "1"])
    assert not stop.value.code
    assert "0 measurements, 12 programs" in capsys.readouterr().err
    assert programs_of(Reader((tmp_path / "page.html").read_text("utf-8")))["detailed"] == 1


def test_a_directory_without_programs_has_no_tasks(tmp_path: Path) -> None:
    assert read_programs(tmp_path).tasks == ()
