"""Any graph is drawn: every call in one box, no box over another, few until they are opened."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph_net.graph import Graph
from graph_net.serve.errors import NotServed, ServeError
from graph_net.serve.layers import lay_out
from graph_net.serve.picture import BOX, MOST_OPEN, GraphPictures, parse_open
from graph_net.serve.regions import MOST, RegionKind, Wiring, children
from serve.drawn_graphs import LAYER, chain, layers

NAMES = "relu tanh sigmoid abs exp neg sin cos sqrt floor ceil round erf log1p sign square"
MANY = [f"torch.{name}" for name in NAMES.split()]


def unlike(count: int) -> Graph:
    """Calls without any order that repeats."""
    return chain([MANY[(n * n + n // 7 + n % 11 * (n // 13)) % len(MANY)] for n in range(count)])


@st.composite
def chains(draw: st.DrawFn) -> Graph:
    operators = draw(st.lists(st.sampled_from(MANY[:5]), min_size=1, max_size=70))
    repeated = operators * draw(st.integers(1, 4))
    numbers = st.tuples(st.integers(0, len(repeated) - 1), st.integers(1, len(repeated)))
    skips = [
        (a, b) for a, b in draw(st.lists(numbers, max_size=6)) if a < b - 1 and b < len(repeated)
    ]
    return chain(repeated, skips)


def rectangles(picture: dict[str, Any]) -> list[tuple[float, float, float, float]]:
    width, height = BOX
    return [(b["x"] - width / 2, b["y"], b["x"] + width / 2, b["y"] + height)
            for b in picture["boxes"]]  # fmt: skip


def overlap(a: tuple[float, ...], b: tuple[float, ...]) -> bool:
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]


def open_everything(
    pictures: GraphPictures, most: int = 60
) -> tuple[dict[str, Any], dict[str, int]]:
    opened: dict[str, int] = {}
    picture = pictures.picture(opened)
    for _ in range(most):
        closed = [box["opens"] for box in picture["boxes"] if box.get("opens")]
        if not closed:
            break
        for each in dict.fromkeys(closed):
            opened[each] = opened.get(each, 0) + 1
        picture = pictures.picture(opened)
    return picture, opened


@given(chains())
def test_opening_everything_shows_every_call_once(graph: Graph) -> None:
    picture, _ = open_everything(GraphPictures(graph), 900)
    shown = sorted(box["node"] for box in picture["boxes"] if "node" in box)
    assert shown == list(range(len(graph.nodes)))


@given(chains(), st.data())
def test_no_box_lies_over_another(graph: Graph, data: st.DataObject) -> None:
    pictures = GraphPictures(graph)
    picture, opened = open_everything(pictures, data.draw(st.integers(0, 3)))
    boxes = rectangles(picture)
    assert not [1 for n, a in enumerate(boxes) for b in boxes[n + 1 :] if overlap(a, b)]
    assert pictures.picture(opened) == picture


@given(chains(), st.data())
def test_the_way_to_a_call_opens_it(graph: Graph, data: st.DataObject) -> None:
    pictures = GraphPictures(graph)
    number = data.draw(st.integers(0, len(graph.nodes) - 1))
    picture = pictures.picture(pictures.path_to(number))
    assert number in [box.get("node") for box in picture["boxes"]]


@given(chains())
def test_children_cover_a_range_without_gaps(graph: Graph) -> None:
    found = children(Wiring.of(graph), 0, len(graph.nodes))
    assert found[0].start == 0
    assert found[-1].stop == len(graph.nodes)
    assert all(a.stop == b.start for a, b in pairwise(found))


def test_layers_are_one_box_that_opens_run_by_run() -> None:
    pictures = GraphPictures(layers(60))
    first = pictures.picture({})
    (block,) = [box for box in first["boxes"] if box["kind"] == "block"]
    assert block["label"] == "60 × 4 nodes"
    one = pictures.picture({block["opens"]: 1})
    assert [box["label"] for box in one["boxes"] if "node" in box] == [n[6:] for n in LAYER]
    assert "59 × 4 nodes" in [box["label"] for box in one["boxes"]]
    two = pictures.picture({block["opens"]: 2})
    assert two["shown"] == one["shown"] + 4
    assert [frame["label"] for frame in one["frames"]] == ["60 × 4 nodes", "nodes 0 to 3"]


def test_ten_thousand_unlike_calls_are_a_bounded_number_of_boxes() -> None:
    graph = unlike(10_000)
    pictures = GraphPictures(graph)
    first = pictures.picture({})
    assert len(graph.nodes) == 10_000
    assert 2 < first["shown"] <= MOST
    block = next(box for box in first["boxes"] if box.get("opens"))
    opened = pictures.picture({block["opens"]: 1})
    assert opened["shown"] <= first["shown"] + MOST


def test_an_open_region_is_laid_out_once() -> None:
    pictures = GraphPictures(unlike(3_000))
    blocks = [box["opens"] for box in pictures.picture({})["boxes"] if box.get("opens")]
    pictures.picture({blocks[0]: 1})
    known = {key: id(frame) for key, frame in pictures._frames.items()}
    pictures.picture({blocks[0]: 1, blocks[1]: 1})
    inner = [key for key in known if key[0] is not None]
    assert inner
    assert all(id(pictures._frames[key]) == known[key] for key in inner)


def test_readers_stand_below_what_they_read() -> None:
    laid = lay_out([BOX] * 4, [(0, 1), (0, 2), (1, 3), (2, 3)])
    assert all(laid.boxes[b].y > laid.boxes[a].y for a, b in laid.edges)
    assert laid.boxes[1].y == laid.boxes[2].y


def test_a_graph_without_calls_is_drawn() -> None:
    assert GraphPictures(chain(())).picture({})["shown"] == 0


def test_results_and_differences_are_marked() -> None:
    picture = GraphPictures(chain(MANY[:6]), {2: "only"}).picture({})
    nodes = {box["node"]: box for box in picture["boxes"] if "node" in box}
    assert nodes[2]["mark"] == "only"
    assert [number for number, box in nodes.items() if box.get("result")] == [5]
    folded = GraphPictures(layers(60), {9: "changed"}).picture({})
    assert any(box["below"] == "1 differ" for box in folded["boxes"])


@pytest.mark.parametrize(
    "text", ["x", "1", "1-", "-", "1-2-3", "1-2x", "1-2xx", "a-b", "²-3", "1-2,<b>"]
)
def test_a_damaged_address_is_refused(text: str) -> None:
    if text == "1-2x":
        assert parse_open(text) == {"1-2": 1}
        return
    with pytest.raises(ServeError, match="no region"):
        parse_open(text)


def test_regions_that_are_not_there_are_passed_over() -> None:
    pictures = GraphPictures(layers(60))
    assert (
        pictures.picture(parse_open("5-9,0-99999999x7"))["boxes"] == pictures.picture({})["boxes"]
    )
    with pytest.raises(ServeError, match="too many"):
        parse_open(",".join(f"{n}-{n + 1}" for n in range(MOST_OPEN + 1)))
    with pytest.raises(NotServed, match="no node 240"):
        pictures.path_to(240)


def test_a_loop_of_one_call_opens_to_calls() -> None:
    graph = chain((*MANY, *("torch.exp",) * 60, *MANY))
    regions = children(Wiring.of(graph), 0, len(graph.nodes))
    assert any(region.kind is RegionKind.LOOP and region.period == 1 for region in regions)
    picture, _ = open_everything(GraphPictures(graph), 90)
    assert picture["shown"] == len(graph.nodes)
