"""Every view has an address, and every table is a file."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from report.synthetic import EVIL
from serve.served_files import DEEP, FORMULA, OTHER
from serve.test_text import Elements

if TYPE_CHECKING:
    import httpx


def names(folder: Path, *each: str) -> list[str]:
    return [f"{folder.name}/{one}" for one in each]


def addresses(folder: Path) -> list[tuple[str, dict[str, str]]]:
    old, new, tuned, model = names(folder, "old", "new", "tuned", "model")
    return [
        ("/", {}), ("/graphs", {}), ("/runs", {}), ("/records", {}), ("/programs", {}),
        ("/tasks", {"run": tuned}), ("/task", {"run": tuned, "id": "matmul"}),
        ("/models", {}), ("/model", {"name": model}), ("/sql", {}),
        ("/sql", {"q": "FROM records"}), ("/sql", {"q": "SELECT 1 AS x, 2 AS x"}),
        ("/run", {"name": new}),
        ("/compare", {"a": old, "b": new, "change": "new-failure"}),
        ("/graph", {"id": DEEP.id}), ("/graph", {"id": "deep", "open": "0-240x2", "at": "100"}),
        ("/graph", {"id": EVIL}), ("/graph", {"id": FORMULA}),
        ("/diff", {"a": DEEP.id, "b": OTHER.id, "at_a": "5", "at_b": "120"}),
        ("/diff", {"a": EVIL, "b": EVIL}),
    ]  # fmt: skip


def test_every_page_shows_hostile_names_as_text(reader: httpx.Client, folder: Path) -> None:
    told = 0
    for path, query in addresses(folder):
        answer = reader.get(path, params=query)
        assert answer.status_code == 200, (path, query, answer.text[-400:])
        page = Elements(answer.text)
        assert "img" not in page.tags, path
        scripts = answer.text.count("<script")
        assert page.tags.count("script") == scripts, path
        assert not any(value and value.startswith("javascript") for value in page.values), path
        told += EVIL in page.text
    assert told >= 8


@pytest.mark.parametrize(
    ("path", "status"),
    [("/graph?id=nothing", 404), ("/run?name=nothing", 404), ("/model?name=x", 404),
     ("/task?run=x&id=y", 404), ("/nothing", 404), ("/graphs.exe", 404), ("/assets/../x", 404),
     ("/graph?id=deep&at=9999", 404), ("/graph?id=deep&at=-1", 400), ("/graph?id=deep&open=x", 400),
     ("/sql?q=DROP+VIEW+graphs", 400), ("/graphs?where=nonsense(", 400),
     ("/node.json?id=deep&node=x", 400),
     ("/run?name={old}&p=x", 400), ("/assets/none.js", 404)],
)  # fmt: skip
def test_what_cannot_be_shown_is_said(
    reader: httpx.Client, folder: Path, path: str, status: int
) -> None:
    answer = reader.get(path.replace("{old}", names(folder, "old")[0]))
    assert answer.status_code == status
    assert "Traceback" not in answer.text


def test_graphs_are_filtered_by_any_column_and_by_sql(reader: httpx.Client) -> None:
    def found(**query: object) -> str:
        page = Elements(reader.get("/graphs", params=query).text)  # type: ignore[arg-type]
        return page.text.partition("Show these")[2].partition("Download")[0].strip()

    assert found() == "64 graphs"
    assert found(q="deep") == "1 graph"
    assert found(col=["nodes", "name"], op=[">", "contains"], val=["40", "small"]) == "21 graphs"
    assert found(where="list_contains(operators, 'torch.tanh')") == "3 graphs"
    assert found(col="model", op="=", val=EVIL) == "2 graphs"
    assert found(q="100%_") == "0 graphs"
    assert found(col="nothing; DROP", op=">", val="1") == "64 graphs"


def test_a_table_goes_on_and_is_sorted(reader: httpx.Client) -> None:
    page = reader.get("/graphs", params={"sort": "nodes", "down": "1"}).text
    assert page.index(">deep<") < page.index(">other<") < page.index(">small59<")
    assert "page 1 of 2" in page
    assert 'rel="next"' in page
    second = reader.get("/graphs", params={"page": "2"}).text
    assert 'rel="prev"' in second
    assert second.count("<tr>") == 1 + 14


def test_tables_are_files(reader: httpx.Client) -> None:
    text = reader.get("/graphs.csv", params={"col": "nodes", "op": "<", "val": "4"})
    assert text.headers["content-disposition"] == 'attachment; filename="graphs.csv"'
    rows = list(csv.DictReader(io.StringIO(text.text)))
    assert {row["name"] for row in rows} == {EVIL, f"'{FORMULA}", "small00", "small01"}
    file = reader.get("/records.parquet")
    table = pq.read_table(pa.BufferReader(file.content))
    assert table.num_rows == 36 + 2 + 36 + 2
    assert "eager_wall" in table.column_names
    asked = reader.get("/sql.csv", params={"q": "SELECT name FROM graphs WHERE nodes > 200"})
    assert asked.text.splitlines() == ['"name"', '"deep"', '"other"']


def test_a_picture_and_a_call_are_data(reader: httpx.Client) -> None:
    picture = reader.get("/picture.json", params={"id": "deep", "open": "0-240"}).json()
    assert picture["nodes"] == 240
    assert picture["open"] == ["0-240x1"]
    call = reader.get("/node.json", params={"id": "deep", "node": 5}).json()
    assert call["call"] == "torch.tanh(%n4)"
    assert call["reads"] == [[4, "n4", "float32[2, 4]"]]
    assert call["readers"] == [[6, "n6", "torch.sigmoid"]]


def test_the_samples_of_every_measurement_are_on_the_page_of_a_graph(reader: httpx.Client) -> None:
    page = reader.get("/graph", params={"id": DEEP.id}).text
    details = page.partition('id="details">')[2].partition("</script>")[0]
    assert len(details.splitlines()) == 2
    assert "graph-net repro" in page
    assert "graph-net bisect" in page
