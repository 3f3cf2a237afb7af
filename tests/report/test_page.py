"""The page as a file: complete, self-contained, and safe whatever records say."""

from __future__ import annotations

import json
import random
import re
import zlib
from base64 import b64decode
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from graph_net.cli.main import main
from graph_net.corpus.pack import Pack, PackWriter
from graph_net.corpus.records import RecordStore
from graph_net.graph import Graph
from graph_net.graph.work import Work
from graph_net.measure.protocol import Protocol
from graph_net.record import (
    Config,
    Cost,
    Device,
    Failure,
    Interval,
    Output,
    Record,
    RecordError,
    Samples,
    Stage,
    Subject,
    Symptom,
    Timing,
    Verdict,
    to_json,
)
from graph_net.record.peaks import Peaks, identity
from graph_net.report.page import write_page
from graph_net.report.page_assets import script
from graph_net.roofline.store import Rooflines, read_rooflines, write_rooflines
from graph_net.score import estimate, load

DEVICE = Device("cpu", "a processor", 2, 1, 8 << 30, "Linux x86_64", "3.11", {"torch": "2.13.0"})
COMPILERS = ("inductor", "tvm", "onnxruntime")
CATEGORIES = ("computer_vision", "nlp", "audio", "multimodal")
FAMILIES = "resnet vit bert gpt swin unet convnext whisper clip mixer esm yolo".split()
EVIL = "<script>window.harmed = 1</script><img src=x onerror='window.harmed=1'>\"'&</script>"
FAILURES = (
    (Stage.COMPILE, Symptom.UNSUPPORTED, "Unsupported: aten.grid_sampler_2d"),
    (Stage.FIRST_RUN, Symptom.EXCEPTION, "RuntimeError: shapes 3 and 4 do not match"),
    (Stage.COMPILE, Symptom.TIMEOUT, "compiling took more than 600 s"),
    (Stage.VERIFY, Symptom.NON_FINITE, "output 0 is not finite"),
)
FREE = (
    (Stage.MEASURE, Symptom.TOO_NOISY, "eager differs from itself by 80 %"),
    (Stage.LOAD, Symptom.INFRASTRUCTURE, "the worker was killed from outside"),
)


def timing(speedup: float, noise: float, draw: random.Random, blocks: int = 5) -> Timing:
    """Samples around a speedup, as noisy as asked for."""

    def arm(seconds: float) -> Samples:
        return Samples(tuple(seconds * draw.lognormvariate(0, noise) for _ in range(4 * blocks)))

    verdict = Verdict.FASTER if speedup > 1.05 else Verdict.SAME
    verdict = Verdict.SLOWER if speedup < 0.95 else verdict
    off = draw.lognormvariate(0, noise / 4)
    return Timing(
        arm(1e-3), arm(1e-3), arm(1e-3 / speedup),
        Interval(speedup, speedup * (1 - noise), speedup * (1 + noise)),
        Interval(off, off * (1 - noise / 2), off * (1 + noise / 2)), verdict,
    )  # fmt: skip


def synthetic(count: int, seed: int = 0, blocks: int = 5) -> list[Record]:
    """Records of ``count`` measurements: successes, failures and what counts against nobody."""
    draw = random.Random(seed)  # noqa: S311
    made = []
    for number in range(count):
        graph, compiler = divmod(number, len(COMPILERS))
        family = FAMILIES[graph % len(FAMILIES)]
        subject = Subject(
            f"{graph:032x}", f"s{graph}", f"timm/{family}{graph}", "timm", f"{family}{graph}",
            CATEGORIES[graph % len(CATEGORIES)],
        )  # fmt: skip
        known: dict[str, Any] = {
            "subject": subject,
            "config": Config("compiler", COMPILERS[compiler], "1.0"),
            "device": DEVICE,
            "protocol": "p",
            "cost": Cost(draw.uniform(1, 60), draw.uniform(0.1, 9), 5.0, 1 << 28, 1 << 26, 1 << 27),
            "environment": {"load": 1.5},
            "started": f"2026-11-15T08:{number % 60:02d}:00Z",
        }
        speedup = draw.lognormvariate(0.3 - 0.3 * compiler, 0.5)
        times = timing(speedup, 0.02, draw, blocks)
        output = Output("float32", (2, 3), draw.uniform(-7, 0), 1e-4, 1e-5, -6.5, -6.4)
        kind = draw.random()
        if kind < 0.82:
            known |= {"timing": times, "outputs": (output,)}
        else:
            choice = draw.choice(FREE if kind > 0.95 else FAILURES)
            known["failure"] = Failure(*choice)
            if choice[1] is Symptom.TOO_NOISY:
                known |= {"timing": times, "outputs": (output,)}
        made.append(Record(**known))
    return made


def stored(path: Path, records: list[Record]) -> Path:
    """A store of records, as parts."""
    path.mkdir(parents=True, exist_ok=True)
    # A journal in one go: the real one is synced after every record.
    (path / "run-0.jsonl").write_text("".join(f"{to_json(record)}\n" for record in records))
    RecordStore(path).compact()
    return path


class Reader(HTMLParser):
    """What a browser would make of a page: elements with their attributes, and texts."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.inside: dict[str, str] = {}
        self._open: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        self.elements.append((tag, found))
        self._open = [*self._open, found.get("id") or tag] if tag == "script" else self._open

    def handle_endtag(self, tag: str) -> None:
        self._open = self._open[:-1] if tag == "script" else self._open

    def handle_data(self, data: str) -> None:
        key = self._open[-1] if self._open else "text"
        self.inside[key] = self.inside.get(key, "") + data


def page_of(tmp_path: Path, records: list[Record], pack: Pack | None = None) -> Reader:
    """The page of records, parsed."""
    target = tmp_path / "report.html"
    write_page(stored(tmp_path / "records", records), target, pack)
    return Reader(target.read_text("utf-8"))


def unpacked(line: str) -> Any:
    return json.loads(zlib.decompress(b64decode(line)))


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
    for word in ("a processor", "2.13.0", "8.0 GiB", "1.50, 1.50", "interval holds 1"):
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
        config=Config("compiler", EVIL, EVIL, {EVIL: EVIL}),
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
    again = replace(before, protocol="q", started="2027-01-01T00:00:00Z", timing=timing(
        3.0, 0.01, random.Random(0)))  # noqa: S311 # fmt: skip
    page = page_of(tmp_path, [before, again])
    assert json.loads(page.inside["data"])["rows"]["speedup"] == [3]


def test_thousands_of_records_make_a_page_that_can_be_sent(tmp_path: Path) -> None:
    records = stored(tmp_path / "records", synthetic(5000, blocks=2))
    target = tmp_path / "page.html"
    assert write_page(records, target) == (5000, 0)
    assert target.stat().st_size < 8 << 20
    assert re.search(r"5,000 measurements", target.read_text("utf-8"))


def floored(records: list[Record], path: Path, seconds: float) -> None:
    """Keep a roofline beside records, by which every graph takes so long at least."""
    peaks = Peaks("x", "a processor", 1e9, 1e9, 0, {"float32": 1e9})
    work = {record.subject.id: Work(int(seconds * 1e9), 0) for record in records}
    write_rooflines(path, Rooflines({identity(DEVICE): peaks}, work))


def test_floors_are_on_the_page_where_a_roofline_was_measured(tmp_path: Path) -> None:
    records = synthetic(30)
    page = page_of(tmp_path, records)
    assert "No roofline was measured" in page.inside["text"]
    assert set(json.loads(page.inside["data"])["rows"]["floor"]) == {None}
    floored(records, tmp_path / "records", 1e-5)
    page = page_of(tmp_path, records)
    rows = json.loads(page.inside["data"])["rows"]
    timed = [place for place, speedup in enumerate(rows["speedup"]) if speedup is not None]
    assert {rows["floor"][place] for place in timed} == {1e-5}
    assert all(10 < rows["headroom"][place] < 400 for place in timed)
    assert not any(rows["impossible"])
    assert "Headroom" in page.inside["text"]


def test_graphs_whose_flops_are_unknown_are_marked(tmp_path: Path) -> None:
    records = synthetic(30)
    path = stored(tmp_path / "records", records)
    floored(records, path, 1e-5)
    known = read_rooflines(path)
    missing = {
        name: replace(work, reason="lstm is not counted") for name, work in known.work.items()
    }
    write_rooflines(path, Rooflines(known.peaks, missing))
    page = page_of(tmp_path, records)
    rows = json.loads(page.inside["data"])["rows"]
    timed = [place for place, speedup in enumerate(rows["speedup"]) if speedup is not None]
    assert {rows["floor"][place] for place in timed} == {1e-5}
    assert set(rows["headroom"]) == {None}
    assert "FLOPs unknown" in page.inside["text"]
    told = unpacked(page.inside["details"].split("\n")[timed[0]])
    assert told["floor"]["reason"] == "FLOPs unknown: lstm is not counted"


def test_what_is_faster_than_possible_is_flagged(tmp_path: Path) -> None:
    records = synthetic(30)
    floored(records, stored(tmp_path / "records", records), 1.0)
    page = page_of(tmp_path, records)
    data = json.loads(page.inside["data"])
    flags = data["rows"]["impossible"]
    assert flags == [speedup is not None for speedup in data["rows"]["speedup"]]
    assert "faster than this machine can be" in page.inside["text"]
    told = unpacked(page.inside["details"].split("\n")[flags.index(True)])
    assert "below the memory floor" in told["floor"]["reason"]


def test_no_two_parts_of_the_program_have_a_name_in_common() -> None:
    """They are one function: a second function of a name would quietly replace the first."""
    names = re.findall(r"^(?:async )?(?:function|const|let) (\w+)", script(), re.MULTILINE)
    assert len(names) > 60
    assert len(names) == len(set(names))
