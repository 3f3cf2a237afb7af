"""A graph of 10,000 nodes on a page. Claims: the first picture within a second, a block in 200 ms.

Requests are a browser's, to a server on this machine, for graphs that it has not seen: of equal
layers, and without anything that repeats. The baseline, in the same run, is what a viewer does that
draws every node: read the graph and lay all of it out, with the same layout. The clock is the
processor time of the server and of its process for SQL, which other work on the machine does not
change much; ``--wall`` takes the time on the wall instead.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

import graph_net as gn
from benchmarks.common import show, verdict
from graph_net.corpus.pack import Pack, PackWriter
from graph_net.graph import Graph, Input, Node, TensorSpec
from graph_net.graph.recipe import Normal
from graph_net.graph.values import Ref
from graph_net.serve.layers import lay_out
from graph_net.serve.listen import Served
from graph_net.serve.picture import BOX
from graph_net.serve.regions import Wiring

SPEC = TensorSpec((2, 4), "float32")
NAMES = "relu tanh sigmoid abs exp neg sin cos sqrt floor ceil round erf sign"
OPERATORS = [f"torch.{name}" for name in NAMES.split()]
MOST_FIRST, MOST_OPEN = 1.0, 0.2
LEAST_RATIO = 20.0
KINDS = ("layers", "unlike")


def graph_of(kind: str, count: int) -> Graph:
    """Return a graph of so many calls, with a skip over every third."""
    layer = OPERATORS[:8]
    targets = [
        layer[n % 8] if kind == "layers" else OPERATORS[hash_of(n) % 14] for n in range(count)
    ]
    nodes = []
    for number, target in enumerate(targets):
        before = Ref(f"n{number - 1}") if number else Ref("x")
        if number % 8 == 7:
            nodes.append(Node(f"n{number}", "torch.add", (before, Ref(f"n{number - 5}")), (), SPEC))
        else:
            nodes.append(Node(f"n{number}", target, (before,), (), SPEC))
    return Graph((Input("x", SPEC, Normal(None, None)),), tuple(nodes), (Ref(nodes[-1].name),))


def hash_of(number: int) -> int:
    """Return a number that looks drawn, the same in every run."""
    return (number * 2654435761 ^ number >> 3) >> 7 & 0xFFFF


def processor_clock(server: Served) -> Callable[[], float]:
    """Return a clock of the processor time of this process and of the one that answers SQL."""
    tick = os.sysconf("SC_CLK_TCK")

    def clock() -> float:
        child = server.pages.state.own._child
        if child is None:
            return time.process_time()
        fields = Path(f"/proc/{child.pid}/stat").read_text().rpartition(")")[2].split()
        return time.process_time() + (int(fields[11]) + int(fields[12])) / tick

    return clock


class Browser:
    """Requests over one connection, with the cookie."""

    def __init__(self, address: str, clock: Callable[[], float]) -> None:
        self.clock = clock
        parts = urlsplit(address)
        self.connection = HTTPConnection(parts.netloc)
        self.connection.request("GET", f"{parts.path}?{parts.query}")
        answer = self.connection.getresponse()
        answer.read()
        self.cookie = (answer.getheader("set-cookie") or "").partition(";")[0]

    def get(self, path: str, **query: str) -> tuple[float, bytes]:
        """Return the seconds that an answer took, and the answer."""
        begin = self.clock()
        headers = {"cookie": self.cookie}
        self.connection.request("GET", f"{path}?{urlencode(query)}", headers=headers)
        answer = self.connection.getresponse()
        body = answer.read()
        if answer.status != 200:
            raise RuntimeError(f"{path}: {answer.status}")
        return self.clock() - begin, body


def everything(pack: Path, name: str, clock: Callable[[], float]) -> float:
    """Return the seconds that reading a graph and laying out every node takes."""
    begin = clock()
    wiring = Wiring.of(Pack(pack).graph(name))
    edges = [(source, reader) for reader, each in enumerate(wiring.reads) for source in each]
    lay_out([BOX] * len(wiring.operators), edges)
    return clock() - begin


def measure(browser: Browser, pack: Path, graph: Graph, name: str) -> dict[str, float]:
    """Return the first picture, the slowest of ten blocks opened one by one, and everything."""
    first, body = browser.get("/graph", id=graph.id)
    picture = body.partition(b'id="picture">')[2].partition(b"</script>")[0]
    blocks: dict[str, int] = {}
    times = []
    for _ in range(10):
        boxes: list[dict[str, Any]] = json.loads(picture)["boxes"]
        closed = [box["opens"] for box in boxes if box.get("opens")]
        block = closed[len(closed) // 2]
        blocks[block] = blocks.get(block, 0) + 1
        opened = ",".join(f"{key}x{runs}" for key, runs in blocks.items())
        took, picture = browser.get("/picture.json", id=graph.id, open=opened)
        times.append(took)
    return {"first": first, "open": statistics.median(times), "slowest": max(times),
            "everything": everything(pack, name, browser.clock)}  # fmt: skip


def cells(middle: dict[str, float]) -> list[str]:
    """Return the figures of a kind of graph, and the ratio of everything to the first picture."""
    keys = ("first", "open", "slowest", "everything")
    ratio = middle["everything"] / middle["first"]
    return [*(f"{middle[key] * 1e3:,.0f} ms" for key in keys), f"{ratio:.1f} ×"]


def judge(kind: str, middle: dict[str, float], nodes: int) -> bool:
    """Say whether the claims hold for a kind of graph."""
    first = f"{kind}: the first picture of {nodes:,} nodes within {MOST_FIRST:g} s"
    ratio = f"{kind}: a block in at most 1/{LEAST_RATIO:g} of what drawing every node takes"
    return all([
        verdict(middle["first"] <= MOST_FIRST, first),
        verdict(middle["open"] <= MOST_OPEN, f"{kind}: a block within {MOST_OPEN * 1e3:g} ms"),
        verdict(middle["open"] * LEAST_RATIO <= middle["everything"], ratio),
    ])  # fmt: skip


def main() -> int:
    """Measure both kinds, and say whether the claims hold."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, default=10_000)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--wall", action="store_true", help="Measure the time on the wall.")
    options = parser.parse_args()
    rows, holds = [], True
    with tempfile.TemporaryDirectory() as folder:
        pack = Path(folder) / "pack"
        graphs = {f"{kind}{n}": graph_of(kind, options.nodes + 8 * n)
                  for kind in KINDS for n in range(options.repeats)}  # fmt: skip
        with PackWriter(pack) as writer:
            for name, graph in graphs.items():
                writer.add(name, graph)
        with gn.serve(folder) as server:
            clock = time.perf_counter if options.wall else processor_clock(server)
            browser = Browser(server.address, clock)
            browser.get("/graphs")  # the process for SQL has started, as it has for a user
            for kind in KINDS:
                found = [measure(browser, pack, graph, name)
                         for name, graph in graphs.items() if name.startswith(kind)]  # fmt: skip
                middle = {key: statistics.median(one[key] for one in found) for key in found[0]}
                rows.append([kind, *cells(middle)])
                holds &= judge(kind, middle, options.nodes)
    head = ["graph", "first picture", "a block", "slowest of 10", "every node", "ratio"]
    show(f"{options.nodes:,} nodes, medians of {options.repeats} graphs", head, rows)
    return 0 if holds else 1


if __name__ == "__main__":
    sys.exit(main())
