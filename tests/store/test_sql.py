"""A question sees the tables it is given and nothing else of the machine."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from graph_net.store.sql import Sql, SqlError


@pytest.fixture
def sql() -> Sql:
    found = Sql(memory="1GiB", threads=1)
    found.register("t", pa.table({"a": [1, 2, 3], "b": ["x", "y", None]}))
    return found


def test_an_answer_comes_as_rows_as_a_table_and_as_arrays(sql: Sql) -> None:
    question = "SELECT a, b FROM t WHERE a > 1 ORDER BY a"
    assert sql.ask(question) == (["a", "b"], [(2, "y"), (3, None)])
    assert sql.table(question).to_pydict() == {"a": [2, 3], "b": ["y", None]}
    assert sql.arrays(question)["a"].tolist() == [2, 3]
    assert sql.execute("SELECT sum(a) FROM t WHERE a < ?", [3]).fetchone() == (3,)


@pytest.mark.parametrize(
    "question",
    [
        "SELECT * FROM read_text('{file}')",
        "SELECT * FROM '{file}'",
        "COPY (SELECT 1) TO '{folder}/new.csv'",
        "ATTACH '{folder}/new.db'",
        "INSTALL httpfs",
        "LOAD '{file}'",
        "SET enable_external_access = true",
        "SET memory_limit = '900GB'",
        "SELECT * FROM secret",
    ],
)
@pytest.mark.parametrize("asked", ["ask", "table", "arrays"])
def test_a_question_reaches_nothing_outside(
    sql: Sql, tmp_path: Path, question: str, asked: str
) -> None:
    secret = pa.table({"a": [1]})  # DuckDB would find it by its name
    assert secret.num_rows
    (tmp_path / "file.txt").write_text("secret")
    words = question.format(file=tmp_path / "file.txt", folder=tmp_path)
    with pytest.raises(SqlError) as caught:
        getattr(sql, asked)(words)
    assert "\n" not in str(caught.value)
    assert [path.name for path in tmp_path.iterdir()] == ["file.txt"]


@pytest.mark.parametrize("question", ["SELECT 1; SELECT 2", "", "SELECT a / 'x' FROM t", "SELECT"])
def test_what_is_no_one_question_is_one_sentence(sql: Sql, question: str) -> None:
    for asked in (sql.ask, sql.table, sql.arrays):
        with pytest.raises(SqlError) as caught:
            asked(question)
        assert "\n" not in str(caught.value)
