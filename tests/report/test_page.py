"""The page as a file: complete, self-contained, and safe whatever records say."""

from __future__ import annotations

import json
import random
import re
from dataclasses import replace
from pathlib import Path

import pytest

from graph_net.cli.main import main
from graph_net.corpus.pack import Pack, PackWriter
from graph_net.graph import Graph
from graph_net.measure.protocol import Protocol
from graph_net.report.page import write_page
from graph_net.report.page_assets import script
from graph_net.results import (
    Config,
    ConfigKind,
    Failure,
    RecordError,
    Stage,
    Symptom,
)
from graph_net.score import estimate, load
from report.synthetic import (
    COMPILERS,
    DEVICE,
    EVIL,
    page_of,
    stored,
    synthetic,
    timing,
    unpacked,
)


def test_a_page_stands_alone(tmp_path: Path) -> None:
    page = page_of(tmp_path, synthetic(30))
    assert not [tag for tag, _ in page.elements if tag in ("link", "iframe", "img", "object")]
    assert not [tag for tag, found in page.elements if "src" in found]
    policy = next(found["content"] for _, found in page.elements if "http-equiv" in found)
    assert policy is not None
    assert policy.startswith("default-src 'none'")
    assert "unsafe" not in policy
    links = [found["href"] or "" for tag, found in page.elements if tag == "a"]
    assert links
    assert all(link.startswith("#") for link in links)


def test_every_section_is_there(tmp_path: Path) -> None:
    page = page_of(tmp_path, synthetic(30))
    ids = [found["id"] for tag, found in page.elements if tag == "section"]
    assert ids == [
        "scores", "curves", "speedups", "regressions", "graphs", "failures", "control",
        "environment",
    ]  # fmt: skip
    for word in ("a processor", "2.13.0", "8.0 GiB", "1.50, 1.50", "contains 1"):
        assert word in page.inside["text"]


def test_scores_are_those_of_the_verb(tmp_path: Path) -> None:
    page = page_of(tmp_path, synthetic(90))
    shown = page.inside["text"]
    curves = load([tmp_path / "records"])
    assert set(curves) == set(COMPILERS)
    for samples in curves.values():
        found = estimate(samples)
        for bounds in (found.at("s", -5), found.at("es", 3), found.graphnet):
            assert bounds is not None
            assert f"{bounds.value:.3f} {bounds.low:.3f} … {bounds.high:.3f}" in shown


def test_curves_are_named_as_the_verb_names_them(tmp_path: Path) -> None:
    records = synthetic(30)
    newer = [replace(r, config=replace(r.config, version="2.0")) for r in records[::3]]
    other = [replace(r, device=replace(r.device, name="another")) for r in records[1::3]]
    page = page_of(tmp_path, [*records, *newer, *other])
    names = json.loads(page.inside["data"])["compilers"]
    assert sorted(names) == sorted(load([tmp_path / "records"]))


def test_what_is_excluded_is_counted_apart(tmp_path: Path) -> None:
    page = page_of(tmp_path, synthetic(300))
    data = json.loads(page.inside["data"])
    free = [row for row, fault in enumerate(data["rows"]["fault"]) if fault == -1]
    assert free
    assert f"{len(free)} are excluded from scores" in " ".join(page.inside["text"].split())
    blamed = {data["clusters"][data["rows"]["cluster"][row]][3] for row in free}
    assert blamed == {False}
    symptoms = {data["clusters"][data["rows"]["cluster"][row]][1] for row in free}
    assert symptoms == {"infrastructure"}


def test_what_was_too_noisy_counts_by_its_outputs_and_shows_no_speedup(tmp_path: Path) -> None:
    page = page_of(tmp_path, synthetic(300))
    data = json.loads(page.inside["data"])
    rows, clusters = data["rows"], data["clusters"]
    noise = [place for place, cluster in enumerate(clusters) if cluster[1] == "too_noisy"]
    noisy = [row for row, place in enumerate(rows["cluster"]) if place in noise]
    assert noisy
    assert {rows["fault"][row] for row in noisy} == {0}
    assert {rows["speedup"][row] for row in noisy} == {rows["ratio"][noisy[0]]} == {None}
    assert all(rows["t"][row] is not None for row in noisy)
    assert {clusters[rows["cluster"][row]][3] for row in noisy} == {False}
    assert f"{len(noisy)} were too noisy" in page.inside["text"]


def test_the_page_has_every_number_of_the_protocol(tmp_path: Path) -> None:
    settings = Protocol(seconds=1.25, seed=7).settings
    records = [replace(r, protocol=settings.hash, settings=settings) for r in synthetic(3)]
    text = "".join(page_of(tmp_path, records).inside["text"].split())
    assert "seconds1.25" in text
    assert "seed7" in text


def test_of_earlier_records_the_page_says_why_the_protocol_is_missing(tmp_path: Path) -> None:
    records = [replace(each, protocol=Protocol(seconds=2.0).hash) for each in synthetic(1)]
    page = page_of(tmp_path, [*records, *synthetic(3)[1:]])
    assert "seconds2.0" in "".join(page.inside["text"].split())
    assert "an earlier version, which did not store its settings" in page.inside["text"]


def test_failures_that_are_alike_stand_together(tmp_path: Path) -> None:
    first, second, *_ = synthetic(30)
    alike = [
        replace(
            record, failure=Failure(Stage.COMPILE, Symptom.EXCEPTION, text), timing=None, outputs=()
        )
        for text, record in zip(("E: size 3", "E: size 4"), (first, second), strict=True)
    ]
    page = page_of(tmp_path, alike)
    assert sum(tag == "details" for tag, _ in page.elements) == 1
    shown = page.inside["text"]
    assert "E: size 3" in shown
    assert "and alike" in shown
    assert "size #" not in shown
    assert "inductor 1, tvm 1" in page.inside["text"]


def test_words_of_records_stay_words(tmp_path: Path) -> None:
    good, bad = synthetic(2)
    good = replace(
        good,
        subject=replace(good.subject, id=EVIL, name=EVIL, model=EVIL, category=EVIL, library=EVIL),
        config=Config(ConfigKind.COMPILER, EVIL, EVIL, {EVIL: EVIL}),
        device=replace(DEVICE, name=EVIL, system=EVIL, software={EVIL: EVIL}),
        protocol=EVIL,
        started=EVIL,
        environment={EVIL: EVIL},
    )
    failure = Failure(Stage.COMPILE, Symptom.EXCEPTION, EVIL, EVIL)
    bad = replace(bad, failure=failure, timing=None, outputs=(), subject=good.subject)
    harmless = page_of(tmp_path / "a", synthetic(2))
    page = page_of(tmp_path / "b", [good, bad])
    scripts = [tag for tag, _ in page.elements if tag == "script"]
    assert len(scripts) == sum(tag == "script" for tag, _ in harmless.elements) == 4
    assert "img" not in [tag for tag, _ in page.elements]
    assert EVIL in page.inside["text"]
    assert EVIL in json.loads(page.inside["data"])["graphs"]["name"]


def test_raw_samples_of_the_three_arms_are_on_the_page(tmp_path: Path) -> None:
    records = [record for record in synthetic(30) if record.failure is None]
    page = page_of(tmp_path, records)
    data = json.loads(page.inside["data"])
    rows, lines = data["rows"], page.inside["details"].split("\n")
    assert len(lines) == len(records) + 1
    given = {(r.subject.id, r.config.name): r.timing for r in records}
    for graph, compiler, line in zip(rows["graph"], rows["compiler"], lines, strict=False):
        found = given[data["graphs"]["id"][graph], data["compilers"][compiler]]
        assert found is not None
        arms = (found.eager, found.control, found.candidate)
        for shown, arm in zip(unpacked(line)["wall"], arms, strict=True):
            assert shown == pytest.approx([value * 1e6 for value in arm.wall], rel=1e-4)


def test_graphs_are_drawn_where_a_pack_holds_them(tmp_path: Path) -> None:
    from graph_net.testing.models import case_graph

    graph: Graph = case_graph("residual")
    with PackWriter(tmp_path / "pack") as writer:
        writer.add("residual", graph)
    first, *others = synthetic(12)
    first = replace(first, subject=replace(first.subject, id=graph.id))
    page = page_of(tmp_path, [first, *others], Pack(tmp_path / "pack"))
    graphs = json.loads(page.inside["data"])["graphs"]
    assert dict(zip(graphs["id"], graphs["drawing"], strict=True))[graph.id] == 0
    assert sorted(set(graphs["drawing"])) == [-1, 0]
    drawn = unpacked(page.inside["drawings"].split("\n")[0])
    assert [drawn["targets"][op] for op in drawn["op"]] == [node.target for node in graph.nodes]


def test_a_pack_of_other_graphs_draws_none(tmp_path: Path) -> None:
    from graph_net.testing.models import case_graph

    with PackWriter(tmp_path / "pack") as writer:
        writer.add("residual", case_graph("residual"))
    page = page_of(tmp_path, synthetic(6), Pack(tmp_path / "pack"))
    assert set(json.loads(page.inside["data"])["graphs"]["drawing"]) == {-1}


def test_the_verb_writes_the_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    records = stored(tmp_path / "records", synthetic(12))
    with pytest.raises(SystemExit) as stop:
        main(["report", str(records), "-o", str(tmp_path / "new/page.html"), "--title", "Mine"])
    assert not stop.value.code
    assert "12 measurements" in capsys.readouterr().err
    assert "<h1>Mine</h1>" in (tmp_path / "new/page.html").read_text("utf-8")


def test_nothing_is_written_where_nothing_was_measured(tmp_path: Path) -> None:
    with pytest.raises(RecordError, match="holds no records"):
        write_page(tmp_path, tmp_path / "page.html")
    assert list(tmp_path.iterdir()) == []


def test_a_measurement_made_again_counts_once(tmp_path: Path) -> None:
    before = next(record for record in synthetic(9) if record.failure is None)
    again = replace(before, started="2027-01-01T00:00:00Z", timing=timing(
        3.0, 0.01, random.Random(0)))  # noqa: S311 # fmt: skip
    page = page_of(tmp_path, [before, again])
    assert json.loads(page.inside["data"])["rows"]["speedup"] == [3]


def test_measurements_of_two_protocols_are_of_two_curves(tmp_path: Path) -> None:
    before = next(record for record in synthetic(9) if record.failure is None)
    other = replace(before, protocol="q", settings=None)
    data = json.loads(page_of(tmp_path, [before, other]).inside["data"])
    assert sorted(data["rows"]["compiler"]) == [0, 1]
    assert len(set(data["compilers"])) == 2
    assert f"{before.config.label} protocol q" in data["compilers"]


def test_thousands_of_records_make_a_page_that_can_be_sent(tmp_path: Path) -> None:
    records = stored(tmp_path / "records", synthetic(5000, blocks=2))
    target = tmp_path / "page.html"
    assert write_page(records, target) == (5000, 0)
    assert target.stat().st_size < 8 << 20
    assert re.search(r"5,000 measurements", target.read_text("utf-8"))


def test_no_two_parts_of_the_program_have_a_name_in_common() -> None:
    """They are one function: a second function of a name would quietly replace the first."""
    names = re.findall(r"^(?:async )?(?:function|const|let) (\w+)", script(), re.MULTILINE)
    assert len(names) > 60
    assert len(names) == len(set(names))
