"""The pages in a real browser: drawn, opened, copied, alive, and not a word on the console."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import pytest

from graph_net.store.lock import hold_lock
from graph_net.store.records import RecordStore
from report.synthetic import EVIL, synthetic
from report.test_page_browser import CHROMIUM, browser
from serve.served_files import DEEP, OTHER

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Page

    from graph_net.serve.listen import Served

__all__ = ["browser"]
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="needs chromium: apt-get install chromium")
WIDE = """() => [...document.querySelectorAll('main *')]
    .filter(e => !e.closest('svg, pre, .chart, .drawn, .tall'))
    .filter(e => e.getBoundingClientRect().right > innerWidth + 1)
    .map(e => e.outerHTML.slice(0, 120))"""


@pytest.fixture(scope="module")
def context(browser: Browser, server: Served) -> Iterator[BrowserContext]:
    """A browser that was opened at the address of the terminal."""
    made = browser.new_context(viewport={"width": 1280, "height": 900})
    made.set_default_timeout(600_000)  # how fast the machine is decides nothing
    made.grant_permissions(["clipboard-read", "clipboard-write"])
    first = made.new_page()
    first.goto(server.address)
    first.close()
    yield made
    made.close()


@pytest.fixture
def page(context: BrowserContext, root: str) -> Iterator[Page]:
    """A page; whatever is asked of another server or said on the console is an error."""
    opened = context.new_page()
    said: list[str] = []
    opened.on("console", lambda message: said.append(message.text))
    opened.on("pageerror", lambda error: said.append(str(error)))
    asked: list[str] = []
    opened.on("request", lambda request: asked.append(request.url))
    yield opened
    assert said == []
    assert [url for url in asked if not url.startswith((f"{root}/", "blob:"))] == []
    assert opened.evaluate("window.harmed") is None
    opened.close()


def info(page: Page) -> str:
    return page.locator("#drawing-home-info").inner_text()


def test_a_graph_is_opened_block_by_block_and_the_address_says_so(page: Page, root: str) -> None:
    page.goto(f"{root}/graph?id={DEEP.id}")
    page.wait_for_selector("body[data-ready]")
    assert info(page) == "240 nodes in 1 box"
    assert page.locator("#measurements .measurement").count() == 2
    assert page.locator("#measurements .strip .sample").count() > 0
    page.locator("#drawing .block").click()
    page.wait_for_selector("#drawing-home[data-shown='5']")
    page.locator("#drawing .block").focus()
    page.keyboard.press("Enter")
    page.wait_for_selector("#drawing-home[data-shown='9']")
    assert "open=0-240x2" in page.url
    page.reload()
    page.wait_for_selector("body[data-ready]")
    assert info(page) == "240 nodes in 9 boxes"
    page.locator("#drawing g.node", has_text="tanh").first.click()
    page.wait_for_selector("#call[data-node='1']")
    assert "torch.tanh(%n0)" in page.inner_text("#call pre")
    page.locator("#drawing .frame.closes text").first.click()
    page.wait_for_selector("#drawing-home[data-shown='1']")
    assert "open=" not in page.url
    command = page.locator(".command", has_text="graph-net repro").first
    command.locator("button").click()
    assert page.evaluate("navigator.clipboard.readText()") == command.locator("code").inner_text()


def test_two_graphs_and_two_runs_stand_side_by_side(page: Page, root: str, folder: Path) -> None:
    page.goto(f"{root}/diff?a={DEEP.id}&b={OTHER.id}&at_b=120")
    page.wait_for_selector("body[data-ready]")
    assert page.locator("#drawing-a-svg, #drawing-b-svg").count() == 2
    assert page.locator("#drawing-b-svg .mark.only.at").count() == 1
    assert "only in the second" in page.inner_text("table.differences")
    page.goto(f"{root}/compare?a={folder.name}/old&b={folder.name}/new")
    page.wait_for_selector("body[data-ready]")
    drawn = page.locator("#curve-chart path.curve")
    labels = {drawn.nth(n).get_attribute("data-compiler") for n in range(drawn.count())}
    assert {label[:2] for label in labels if label} == {"A:", "B:"}
    page.goto(f"{root}/run?name={folder.name}/old")
    page.wait_for_selector("body[data-ready]")
    page.locator("#graph-table tbody a").first.click()
    page.wait_for_url(f"{root}/graph?id=*")


def test_a_run_that_goes_on_shows_itself(page: Page, root: str, folder: Path) -> None:
    going, records = folder / "going", synthetic(4)
    store = RecordStore(going)
    with hold_lock(going), store.journal() as journal:
        journal.add(records[0])
        page.goto(f"{root}/runs")
        while "going" not in page.inner_text("main"):  # it was not there when the server began
            page.wait_for_timeout(300)
            page.reload()
        page.goto(f"{root}/run?name={folder.name}/going")
        page.wait_for_selector("#live[data-measured='1']")
        assert "Running" in page.inner_text("#live h2")
        for record in records[1:]:
            journal.add(record)
        page.wait_for_selector("#live[data-measured='4']")
        assert records[-1].subject.name in page.inner_text("#live")
    page.goto("about:blank")
    for path in going.iterdir():
        path.unlink()
    going.rmdir()


def test_keys_lead_everywhere(page: Page, root: str) -> None:
    page.goto(root)
    page.wait_for_selector("body[data-page]")
    page.keyboard.press("g")
    page.wait_for_url(f"{root}/graphs")
    page.wait_for_selector("body[data-page]")
    page.keyboard.press("/")
    page.keyboard.type("deep")
    page.keyboard.press("Enter")
    page.wait_for_url("**q=deep**")
    page.wait_for_selector("body[data-page]")
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    page.wait_for_url(f"{root}/graph?id={DEEP.id}*")
    page.wait_for_selector("body[data-ready]")
    page.keyboard.press("?")
    assert page.locator("#help").is_visible()


def test_hostile_names_are_words_on_every_page_and_no_page_is_wider_than_a_telephone(
    page: Page, root: str, folder: Path
) -> None:
    page.set_viewport_size({"width": 400, "height": 900})
    page.emulate_media(color_scheme="dark")
    name, evil = folder.name, quote(EVIL)
    quoted = quote("SELECT '" + EVIL.replace("'", "''") + "'")
    paths = [f"/graph?id={evil}", f"/run?name={name}/new", "/records?q=harmed", "/graphs?q=harmed",
             f"/model?name={name}/model", f"/tasks?run={name}/tuned", f"/sql?q={quoted}",
             "/", f"/diff?a={evil}&b={DEEP.id}", f"/graph?id={DEEP.id}&open=0-240x2",
             f"/compare?a={name}/old&b={name}/new",
             f"/task?run={name}/tuned&id=matmul"]  # fmt: skip
    shown = 0
    for path in paths:
        page.goto(root + path)
        page.wait_for_selector("body[data-page]")
        if page.locator("script[src]").count() > 1:
            page.wait_for_selector("body[data-ready]")
        assert page.evaluate(WIDE) == [], path
        assert page.locator("main img").count() == 0, path
        shown += EVIL in page.locator("body").inner_text()
    assert shown >= 6
    background = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert background == "rgb(20, 23, 27)"
    page.wait_for_selector("body[data-code]")  # nothing is asked any more


ATTACK = """<!doctype html><script>
window.got = [];
const given = {credentials: "include"};
const tries = [
  fetch("TARGET/graphs.csv", given).then(r => r.text()).then(t => got.push(t)),
  fetch("TARGET/sql?q=select+1", {...given, mode: "no-cors"}).then(r => r.text())
    .then(t => { if (t) got.push(t); }),
  fetch("TARGET/graphs", {...given, method: "POST"}).then(r => got.push(r.status)),
  new Promise((yes, no) => {
    const script = document.createElement("script");
    script.src = "TARGET/assets/page.js";
    script.onload = () => { got.push("script"); yes(); };
    script.onerror = no;
    document.head.append(script);
  }),
  new Promise(done => {
    const frame = document.createElement("iframe");
    frame.src = "TARGET/graphs";
    frame.onload = () => {
      try { if (frame.contentDocument.body.innerText) got.push("frame"); } catch { }
      done();
    };
    document.documentElement.append(frame);
  }),
];
Promise.allSettled(tries).then(() => { window.over = true; });
</script>"""
"""A page of another site, which tries what a page can try."""


@pytest.fixture(scope="module")
def other_site(root: str) -> Iterator[int]:
    """Another server of this machine: to a browser a site of its own, or another port of ours."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = ATTACK.replace("TARGET", root).encode()
            self.send_response(200)
            self.send_header("content-type", "text/html")
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *parts: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server.server_address[1]
    server.shutdown()
    server.server_close()


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_another_site_in_the_same_browser_reads_nothing(
    context: BrowserContext, other_site: int, host: str
) -> None:
    page = context.new_page()
    page.goto(f"http://{host}:{other_site}/")
    page.wait_for_function("window.over === true")
    assert page.evaluate("window.got") == []
    page.close()


def test_the_policy_and_the_cookie_hold_in_the_browser(context: BrowserContext, root: str) -> None:
    page = context.new_page()
    page.goto(f"{root}/graphs")
    assert page.evaluate("document.cookie") == ""
    tried = """async () => {
      const script = document.createElement('script');
      script.textContent = 'window.harmed = 1';
      document.body.append(script);
      const image = document.createElement('div');
      image.innerHTML = '<img src="x" onerror="window.harmed = 1">';
      document.body.append(image);
      await new Promise(done => { image.firstChild.addEventListener('error', done); });
      let evaluated = null;
      try { evaluated = (0, eval)('1'); } catch { }
      let fetched = null;
      try { fetched = (await fetch('http://127.0.0.1:9/')).status; } catch { }
      return [window.harmed ?? null, evaluated, fetched];
    }"""
    assert page.evaluate(tried) == [None, None, None]
    page.close()
