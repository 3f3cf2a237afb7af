"""SQL reads what is served, within limits, and can do nothing else."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from graph_net.serve.ask_sql import SqlLimits, SqlProcess
from graph_net.serve.holdings import Holdings, find_holdings
from graph_net.store.sql import SqlError

if TYPE_CHECKING:
    from graph_net.serve.listen import Served

SHORT = SqlLimits(rows=10, seconds=0.3)
PATIENT = SqlLimits(rows=10, seconds=300.0)


@pytest.fixture(scope="module")
def holdings(folder: Path) -> Holdings:
    return find_holdings([folder])


@pytest.fixture
def process(server: Served) -> SqlProcess:
    """The process that answers what users ask."""
    return server.pages.state.users


def test_all_tables_are_one_connection(process: SqlProcess, holdings: Holdings) -> None:
    query = (
        "SELECT (SELECT count(*) FROM graphs) AS graphs, "
        "(SELECT count(*) FROM programs) AS programs, "
        "(SELECT count(DISTINCT run) FROM records) AS runs, (SELECT count(*) FROM tasks) AS tasks"
    )
    (row,) = process.ask(holdings, query, (), PATIENT).table.to_pylist()
    assert row["graphs"] == 64
    assert row["runs"] == 2
    assert row["programs"] == 16
    assert row["tasks"] > 0


def test_rows_beyond_the_limit_are_not_computed(process: SqlProcess, holdings: Holdings) -> None:
    endless = "WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t) SELECT n FROM t"
    found = process.ask(holdings, endless, (), PATIENT)
    assert found.more
    assert found.table["n"].to_pylist() == list(range(1, 11))


@pytest.mark.parametrize(
    "query",
    [
        "SELECT count(*) FROM range(100000000000)",
        "WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t) SELECT max(n) FROM t",
        "SELECT levenshtein(repeat('a', 200000), repeat('b', 200000))",
    ],
)
def test_a_question_without_end_is_ended(
    process: SqlProcess, holdings: Holdings, query: str
) -> None:
    with pytest.raises(SqlError, match=r"took more than 0\.3 s"):
        process.ask(holdings, query, (), SHORT)


def test_memory_that_the_engine_does_not_count_is_limited(
    process: SqlProcess, holdings: Holdings
) -> None:
    with pytest.raises(SqlError, match=r"(?i)memory"):
        process.ask(holdings, "SELECT list_sum(range(3000000000))", (), PATIENT)


@pytest.mark.parametrize(
    "query",
    [
        "CREATE TABLE x AS SELECT 1",
        "INSERT INTO graphs SELECT * FROM graphs",
        "DROP VIEW graphs",
        "ATTACH 'x.db'",
        "COPY (SELECT 1) TO 'x.csv'",
        "EXPORT DATABASE 'x'",
        "SET enable_external_access = true",
        "PRAGMA database_list",
        "INSTALL httpfs",
        "LOAD httpfs",
        "CALL pragma_version()",
        "SELECT 1; SELECT 2",
    ],
)
def test_only_one_select_is_answered(process: SqlProcess, holdings: Holdings, query: str) -> None:
    with pytest.raises(SqlError, match=r"only SELECT is answered|one statement"):
        process.ask(holdings, query, (), PATIENT)


@pytest.mark.parametrize(
    "query",
    [
        "SELECT * FROM read_csv('/etc/passwd')",
        "FROM '/etc/passwd'",
        "SELECT * FROM read_text('{folder}/model/README.md')",
        "SELECT * FROM read_parquet('{folder}/pack/part-00000.parquet')",
        "SELECT * FROM glob('/*')",
        "SELECT * FROM read_csv('https://evil.example/x.csv')",
        "SELECT * FROM question",
        "SELECT * FROM tables",
        "SELECT getenv('HOME')",
        "SELECT * FROM query('CREATE TABLE x AS SELECT 1')",
    ],
)
def test_files_variables_and_the_network_are_out_of_reach(
    process: SqlProcess, holdings: Holdings, folder: Path, query: str
) -> None:
    with pytest.raises(SqlError):
        process.ask(holdings, query.format(folder=folder), (), PATIENT)


def test_after_all_that_it_answers_again(process: SqlProcess, holdings: Holdings) -> None:
    answer = process.ask(holdings, "SELECT name FROM graphs WHERE name = ?", ["deep"], PATIENT)
    assert answer.table.to_pylist() == [{"name": "deep"}]


def test_a_dead_process_is_replaced(process: SqlProcess, holdings: Holdings) -> None:
    assert process._child is not None
    process._child.kill()
    process._child.wait()
    assert process.ask(holdings, "SELECT 1 AS one", (), PATIENT).table["one"][0].as_py() == 1
