"""The programs of the page in a real browser: listed, sorted, opened, and not a word too many."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from graph_net.corpus.shipped import VARIABLE
from graph_net.programs.spaces import registry
from graph_net.report.page import write_page
from programs.view.shown_programs import shown
from report.synthetic import EVIL, stored, synthetic
from report.test_page_browser import CHROMIUM, browser
from report.test_programs_page import evil_programs

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

__all__ = ["browser"]
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="needs chromium: apt-get install chromium")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A page with programs alone, one of its four tasks without code; one with records too."""
    folder = tmp_path_factory.mktemp("programs")
    with pytest.MonkeyPatch.context() as patch:
        place = "graph_net.testing.space:SleepingSpace"
        patch.setitem(registry.BUILT_IN, "sleeping", place)
        patch.setenv(VARIABLE, str(folder / "no corpus"))
        shown(folder / "alone", *evil_programs())
        write_page(folder / "alone", folder / "alone.html", detailed=3)
        stored(folder / "both", synthetic(12))
        shown(folder / "both")
        write_page(folder / "both", folder / "both.html")
    return folder


@pytest.fixture(params=["alone", "both"])
def page(browser: Browser, made: Path, request: pytest.FixtureRequest) -> Iterator[Page]:
    opened = browser.new_page(viewport={"width": 1280, "height": 900})
    said: list[str] = []
    opened.on("console", lambda message: said.append(message.text))
    opened.on("pageerror", lambda error: said.append(str(error)))
    opened.goto((made / f"{request.param}.html").as_uri())
    opened.wait_for_selector("body[data-ready]")
    yield opened
    assert said == []
    assert opened.evaluate("window.harmed") is None
    opened.close()


def open_task(page: Page, name: str) -> None:
    page.locator("#task-table tbody a", has_text=name).first.click()
    page.wait_for_selector("#view[data-ready]")


def test_tasks_are_listed_with_a_picture_each(page: Page) -> None:
    rows = page.locator("#task-table tbody tr")
    assert rows.count() in (2, 4)
    assert page.locator("#task-table svg.small rect").count() >= rows.count()
    page.fill("#task-search", "sleep1")
    assert page.locator("#tasks-found").inner_text() in ("1 of 2 tasks", "1 of 4 tasks")
    assert "7" in rows.first.inner_text()


def test_the_table_of_tasks_is_sorted(page: Page) -> None:
    page.locator("#task-table th button", has_text="best").click()
    assert page.locator("#task-table th[aria-sort=ascending]").inner_text().startswith("best")
    assert "sleep1" in page.locator("#task-table tbody tr").first.inner_text()


def test_a_task_is_opened_with_its_picture_and_its_code(page: Page) -> None:
    open_task(page, "matmul(64, 32)")
    assert page.locator("main").is_hidden()
    assert page.locator("#times-chart rect.times").count() == 5
    assert page.locator("#times-chart .tick").count() == 5
    text = page.locator("#view").inner_text()
    for word in ("Best program: 1.10 ms", "Typical program: 3.30 ms", "building took too long"):
        assert word in text
    codes = page.locator("#view pre.code").all_inner_texts()
    assert codes[1].startswith("split(stage=0, iter=0, extent=64, lengths=[2]")
    page.go_back()
    page.wait_for_selector("main", state="visible")


def test_a_link_to_no_task_says_so(page: Page) -> None:
    page.evaluate("location.hash = 'task=nothing'")
    page.wait_for_selector("#view[data-ready=nothing]")
    assert "No such task" in page.locator("#view").inner_text()


@pytest.mark.parametrize("page", ["alone"], indirect=True)
def test_hostile_programs_are_shown_as_words(page: Page) -> None:
    assert "Code is here for the 3 tasks" in page.locator("#programs").inner_text()
    links = page.locator("#task-table tbody a", has_text=EVIL)
    assert links.count() == 2
    for place in range(2):
        page.evaluate("location.hash = ''")
        page.wait_for_selector("main", state="visible")
        links.nth(place).click()
        page.wait_for_selector("#view h1")
        assert EVIL in page.locator("#view h1").inner_text()
        assert page.locator("#view script, #view img").count() == 0


@pytest.mark.parametrize("page", ["alone"], indirect=True)
def test_a_task_without_code_says_where_it_is(page: Page) -> None:
    open_task(page, "sleep1")
    assert "graph-net programs show" in page.locator("#view").inner_text()
    assert page.locator("#view svg.small").count() == 1
