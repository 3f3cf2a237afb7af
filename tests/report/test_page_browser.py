"""The page in a real browser: drawn, filtered, opened, and not a word on the console."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from graph_net.corpus.pack import Pack, PackWriter
from graph_net.report.page import write_page
from graph_net.results import Config, ConfigKind, Failure, Record, Stage, Symptom
from graph_net.score import Parameters, load, score
from report.synthetic import EVIL, floored, stored, synthetic

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser"))), None)
LAYERS = 40
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="needs chromium: apt-get install chromium")


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    api = pytest.importorskip(
        "playwright.sync_api", reason="needs playwright: pip install -e .[dev]"
    )
    with api.sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield started
        started.close()


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """A page with measured records of a deep graph, synthetic ones, and hostile ones."""
    folder = tmp_path_factory.mktemp("page")
    real, deep = _measured(folder)
    records = [*real, *synthetic(240), *_hostile()]
    page = folder / "report.html"
    write_page(stored(folder / "records", records), page, Pack(folder / "pack"))
    samples = sum(len(record.timing.eager.wall) for record in real if record.timing is not None)
    return {"page": page, "records": folder / "records", "deep": deep, "count": len(records),
            "samples": samples}  # fmt: skip


def _measured(folder: Path) -> tuple[list[Record], str]:
    """Two real measurements of a graph with many equal layers, which is in a pack."""
    import torch

    from graph_net.testing.models import graph_of
    from measure.asking import measured, mine, task

    layers = [
        module
        for _ in range(LAYERS)
        for module in (
            torch.nn.Linear(4, 4),
            torch.nn.ReLU(),
            torch.nn.Tanh(),
            torch.nn.LayerNorm(4),
        )
    ]
    graph = graph_of(torch.nn.Sequential(*layers), (torch.randn(2, 4),), name="deep")
    with PackWriter(folder / "pack") as writer:
        writer.add("deep", graph)
    return measured([task("eager", graph), task(mine("Raises"), graph)], jobs=1), graph.id


def _hostile() -> list[Record]:
    good, bad = synthetic(2, seed=1)
    subject = replace(good.subject, id=EVIL, name=EVIL, model=EVIL, category=EVIL)
    failure = Failure(Stage.COMPILE, Symptom.EXCEPTION, EVIL, EVIL)
    good = replace(good, subject=subject, config=Config(ConfigKind.COMPILER, "inductor", "1.0"),
                   environment={EVIL: EVIL})  # fmt: skip
    bad = replace(bad, subject=subject, failure=failure, timing=None, outputs=())
    return [good, bad]


@pytest.fixture
def page(browser: Browser, made: dict[str, Any]) -> Iterator[Page]:
    """The page, opened; whatever is asked of the network or said on the console is an error."""
    opened = browser.new_page(viewport={"width": 1280, "height": 900})
    said: list[str] = []
    opened.on("console", lambda message: said.append(message.text))
    opened.on("pageerror", lambda error: said.append(str(error)))
    asked: list[str] = []
    opened.on("request", lambda request: asked.append(request.url))
    opened.goto(made["page"].as_uri())
    opened.wait_for_selector("body[data-ready]")
    yield opened
    assert said == []
    assert all(url.startswith(("file:", "blob:")) for url in asked)
    assert opened.evaluate("window.harmed") is None
    opened.close()


def open_graph(page: Page, graph_id: str) -> None:
    page.evaluate("id => { location.hash = 'graph=' + encodeURIComponent(id) }", graph_id)
    page.wait_for_function(
        "id => document.getElementById('view').dataset.ready === id", arg=graph_id
    )


def test_a_curve_is_drawn_for_each_compiler(page: Page, made: dict[str, Any]) -> None:
    drawn = page.locator("#curve-chart path.curve")
    names = {drawn.nth(n).get_attribute("data-compiler") for n in range(drawn.count())}
    assert names == set(load([made["records"]]))
    page.wait_for_selector("#curve-chart path.band", state="attached")


@pytest.mark.parametrize(("which", "p", "b"), [("es", 0.0, 0.1), ("s", 0.5, 0.2), ("es", 2.0, 0.3)])
def test_hovering_shows_the_scores_of_the_verb(
    page: Page, made: dict[str, Any], which: str, p: float, b: float
) -> None:
    page.select_option("#which", which)
    for name, value in (("p", p), ("b", b)):
        slider = page.locator(f"#slider-{name}")
        slider.evaluate("(e, v) => { e.value = v; e.dispatchEvent(new Event('input')) }", value)
    chart = page.locator("#curve-chart")
    chart.scroll_into_view_if_needed()
    box = chart.bounding_box()
    assert box is not None
    for share in (0.2, 0.55, 0.7, 0.85, 0.97):
        page.mouse.move(box["x"] + box["width"] * share, box["y"] + box["height"] / 2)
        lines = page.locator("#curves .tip div").all_inner_texts()
        t = float(lines[0].split("(")[1].rstrip(")").replace("−", "-"))
        shown = dict(line.rsplit(": ", 1) for line in lines[1:])
        for name, samples in load([made["records"]]).items():
            if len(samples):
                found = getattr(score(samples, Parameters(p, b), [t]), which)
                assert float(shown[name]) == pytest.approx(float(found[0, 0]), abs=6e-4)


def test_speedups_of_every_category_are_drawn(page: Page) -> None:
    assert page.locator("#violin-chart .violin").count() >= 12
    assert page.locator("#control-chart rect").count() > 10


def test_the_table_is_filtered(page: Page, made: dict[str, Any]) -> None:
    assert page.locator("#found").inner_text() == f"{made['count']} of {made['count']} measurements"
    page.fill("#search", "resnet")
    page.select_option("#by-compiler", "tvm")
    rows = page.locator("#graph-table tbody tr")
    assert 0 < rows.count() < 20
    for text in rows.all_inner_texts():
        assert "resnet" in text
        assert "tvm" in text
    page.select_option("#by-verdict", "failed")
    assert all("failed" in text for text in rows.all_inner_texts())


def test_the_table_is_sorted_both_ways_with_the_unknown_last(page: Page) -> None:
    def column() -> list[str]:
        return page.locator("#graph-table tbody td:nth-child(4)").all_inner_texts()

    def numbers() -> list[float]:
        texts = column()
        known = [text for text in texts if text]
        assert texts[: len(known)] == known
        return [float(text.rstrip("×")) for text in known]

    page.select_option("#by-compiler", "tvm")
    assert numbers() == sorted(numbers())
    page.locator("#graph-table th:nth-child(4) button").click()
    assert numbers() == sorted(numbers(), reverse=True)


def test_the_slowest_regression_comes_first(page: Page) -> None:
    texts = page.locator("#regression-table tbody td:nth-child(4)").all_inner_texts()
    speedups = [float(text.rstrip("×")) for text in texts]
    assert speedups == sorted(speedups)
    assert speedups[-1] < 1


def test_a_graph_is_opened_with_its_samples(page: Page, made: dict[str, Any]) -> None:
    open_graph(page, made["deep"])
    assert page.locator("main").is_hidden()
    assert page.locator("#view .measurement").count() == 2
    assert page.locator("#view .strip").count() == 1
    assert page.locator("#view .strip .sample").count() == 3 * made["samples"] > 0
    assert "failed: compile" in page.locator("#view").inner_text()
    operators = page.locator("#operators tr").all_inner_texts()
    assert len(operators) == 4
    assert all(str(LAYERS) in text for text in operators)
    page.go_back()
    page.wait_for_selector("main", state="visible")


def test_repeated_blocks_are_folded_and_open(page: Page, made: dict[str, Any]) -> None:
    open_graph(page, made["deep"])
    info = page.locator("#drawing-info")
    assert info.inner_text() == f"{4 * LAYERS} nodes in 1 box"
    page.locator("#drawing .block").click()
    assert info.inner_text() == f"{4 * LAYERS} nodes in 5 boxes"
    page.click("#draw-open")
    assert info.inner_text() == f"{4 * LAYERS} nodes in {4 * LAYERS} boxes"
    assert page.locator("#drawing path").count() == 4 * LAYERS
    before = page.locator("#drawing").get_attribute("viewBox")
    page.locator("#drawing").hover()
    page.mouse.wheel(0, -400)
    page.wait_for_function("v => document.getElementById('drawing').getAttribute('viewBox') !== v",
                           arg=before)  # fmt: skip
    zoomed = page.locator("#drawing").get_attribute("viewBox")
    page.mouse.down()
    page.mouse.move(300, 300, steps=3)
    page.mouse.up()
    assert page.locator("#drawing").get_attribute("viewBox") not in (before, zoomed)


def test_hostile_words_are_shown_as_words(page: Page) -> None:
    open_graph(page, EVIL)
    assert page.locator("#view h1").inner_text() == EVIL
    assert EVIL in page.locator("#view pre").all_inner_texts()
    assert page.locator("#view script, #view img").count() == 0


def test_links_of_failures_lead_to_graphs(page: Page) -> None:
    page.locator("#failures summary").first.click()
    page.locator("#failures details[open] a").first.click()
    page.wait_for_selector("#view[data-ready] .measurement")


def test_a_link_to_no_graph_says_so(page: Page) -> None:
    open_graph(page, "nothing%zz")
    assert "No such graph" in page.locator("#view").inner_text()


def test_the_data_of_the_page_is_what_was_measured(page: Page, made: dict[str, Any]) -> None:
    data = json.loads(page.locator("#data").text_content() or "")
    assert len(data["rows"]["graph"]) == made["count"]


def test_floors_are_columns_and_an_impossible_time_is_told(
    browser: Browser, tmp_path: Path, page: Page
) -> None:
    assert "headroom" not in page.inner_text("#graph-table thead")
    records = synthetic(12)
    floored(records, stored(tmp_path / "records", records), 1.0)
    write_page(tmp_path / "records", tmp_path / "floors.html")
    opened = browser.new_page()
    said: list[str] = []
    opened.on("console", lambda message: said.append(message.text))
    opened.on("pageerror", lambda error: said.append(str(error)))
    opened.goto((tmp_path / "floors.html").as_uri())
    opened.wait_for_selector("body[data-ready]")
    assert "headroom" in opened.inner_text("#graph-table thead")
    assert "impossible" in opened.inner_text("#graph-table td.impossible >> nth=0")
    timed = next(record for record in records if record.timing is not None)
    open_graph(opened, timed.subject.id)
    assert "Impossible:" in opened.inner_text("#view")
    assert "floor of the machine" in opened.inner_text("#view")
    assert said == []
    opened.close()


@pytest.mark.parametrize("width", [1280, 400])
def test_no_table_is_clipped(page: Page, made: dict[str, Any], width: int) -> None:
    page.set_viewport_size({"width": width, "height": 900})
    clipped = """() => [...document.querySelectorAll('body *')].filter(e => !e.closest('svg, pre'))
        .filter(e => !e.closest('.chart, .drawn') && e.getBoundingClientRect().right > innerWidth)
        .map(e => e.outerHTML.slice(0, 100))"""
    assert page.evaluate(clipped) == []
    open_graph(page, made["deep"])
    assert page.evaluate(clipped) == []


def test_on_a_telephone_a_row_says_what_its_values_are(page: Page) -> None:
    page.set_viewport_size({"width": 400, "height": 900})
    before = """e => getComputedStyle(e, '::before').content"""
    cells = page.locator("#graph-table tbody tr:first-child td")
    names = [cells.nth(n).evaluate(before) for n in range(cells.count())]
    assert names[1:5] == ['"compiler"', '"category"', '"speedup"', '"interval"']
    assert '"S(0)"' in page.locator("#scores .headline td:nth-child(5)").first.evaluate(before)
    page.locator("#graph-table th button", has_text="compile cold").click()
    head = page.locator("#graph-table th", has_text="compile cold")
    assert head.get_attribute("aria-sort") == "ascending"


def test_numbers_are_as_long_as_they_mean_something(page: Page, made: dict[str, Any]) -> None:
    open_graph(page, made["deep"])
    shown = page.locator("#view").inner_text()
    assert "steal seconds" in shown
    assert re.findall(r"\d\.\d{7,}", shown) == []
