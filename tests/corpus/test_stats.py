"""What is said of a pack is counted from it."""

from __future__ import annotations

from pathlib import Path

import pytest

from corpus.some_graphs import some_graph
from graph_net.cli.main import main
from graph_net.corpus import stats
from graph_net.corpus.card import make_card, packs_beside, size_category
from graph_net.corpus.pack import Pack, PackWriter
from graph_net.corpus.page import BEGIN, END, make_tables, with_tables
from graph_net.corpus.query import select
from graph_net.corpus.shipped import shipped_corpus

ROOT = Path(__file__).parents[2]


@pytest.fixture
def pack(tmp_path: Path) -> Pack:
    with PackWriter(tmp_path / "pack") as writer:
        for number in range(24):  # every length comes with three targets: 21 codes
            writer.add(f"g{number}", some_graph(number, library="a" if number % 3 else "b"))
    return Pack(tmp_path / "pack")


def test_graphs_are_counted_three_ways(pack: Pack) -> None:
    found = stats.count_pack(pack)
    assert (found.graphs, found.codes, found.structures) == (24, 21, 21)
    assert found.libraries == {
        "a": {"computer_vision": 8, "nlp": 8},
        "b": {"computer_vision": 4, "nlp": 4},
    }
    assert found.categories == {"computer_vision": 12, "nlp": 12}
    assert set(found.operators) == {"torch.relu", "torch.sigmoid", "method:abs"}
    assert found.batches["1"] == 1
    assert sum(found.batches.values()) == 24
    assert found.nodes[0] == 1
    assert found.nodes[-1] == 7


def test_counts_are_kept_as_they_are(pack: Pack, tmp_path: Path) -> None:
    found = stats.count_pack(pack)
    found.save(tmp_path / "stats.json")
    assert stats.load_stats(tmp_path / "stats.json") == found


def test_the_page_is_made_anew_between_its_marks(pack: Pack) -> None:
    found = stats.count_pack(pack)
    page = with_tables(f"before\n{BEGIN}\nold\n{END}\nafter\n", found)
    assert "old" not in page
    assert page.startswith("before\n")
    assert page.endswith("after\n")
    assert make_tables(found) in page
    assert with_tables(page, found) == page
    with pytest.raises(ValueError, match="the page needs"):
        with_tables("no marks", found)


def test_a_card_is_not_made_from_old_counts(pack: Pack, capsys: pytest.CaptureFixture[str]) -> None:
    stats.count_pack(pack).save(pack.path / stats.FILE)
    with PackWriter(pack.path) as writer:
        writer.add("new", some_graph(40))
    with pytest.raises(SystemExit) as stopped:
        main(["corpus", "card", str(pack.path)])
    assert stopped.value.code == 1
    assert "run `graph-net corpus stats` first" in capsys.readouterr().err


def test_the_hub_has_words_for_sizes() -> None:
    assert [size_category(n) for n in (844, 4_000, 20_000)] == ["n<1K", "1K<n<10K", "10K<n<100K"]


def test_the_shipped_counts_are_of_the_shipped_parts() -> None:
    """Run the commands of docs/corpus.md after the parts have changed."""
    pack = Pack(shipped_corpus())
    found = stats.load_stats(pack.path / stats.FILE)
    assert found.parts == stats.hash_parts(pack)
    rows = select(pack)
    assert found.graphs == len(rows)
    assert found.structures == len({row["structure"] for row in rows})
    assert found.largest["parameters"] == max(row["parameters"] for row in rows)


def test_the_page_and_the_card_say_what_was_counted() -> None:
    found = stats.load_stats(shipped_corpus() / stats.FILE)
    page = (ROOT / "docs/corpus.md").read_text("utf-8")
    assert with_tables(page, found) == page, "graph-net corpus stats --page docs/corpus.md"
    beside = packs_beside(shipped_corpus())
    assert beside == ["networks", "subgraphs"]
    text = (shipped_corpus() / "README.md").read_text("utf-8")
    assert text == make_card(found, beside), "corpus card"
