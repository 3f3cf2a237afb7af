"""SQL over a directory of records."""

from __future__ import annotations

from typing import Any

from graph_net.programs.store.columns import COLUMNS
from graph_net.programs.store.program_store import ProgramStore
from graph_net.programs.store.task_table import TaskStore
from graph_net.programs.store.workload_table import WorkloadStore
from graph_net.results import RecordError
from graph_net.store.record_columns import SCHEMA
from graph_net.store.record_sql import create_records
from graph_net.store.records import RecordStore
from graph_net.store.sql import Sql, SqlError

RESULTS = ("kind", "structure", "config", "device", "seconds", "failure")
_RESULTS = """CREATE VIEW results AS
    SELECT 'compiler' AS kind, structure, config, device_name AS device,
        candidate_seconds AS seconds, symptom AS failure FROM records
    UNION ALL
    SELECT kind, coalesce(known.structure, if(json_valid(details::VARCHAR),
            json_extract_string(details::VARCHAR, '$.structure'), NULL), ''),
        printf('%016x', program), device_name, cost, symptom::VARCHAR
    FROM programs LEFT JOIN (SELECT workload, any_value(structure) AS structure FROM tasks
        WHERE structure <> '' GROUP BY workload) AS known USING (workload)"""
"""Results of compilers and tuners alike: one row per result, with the structure to join by."""


def query(store: RecordStore, question: str) -> tuple[list[str], list[tuple[Any, ...]]]:
    """Return the column names and rows of a question in SQL.

    It sees ``records``, ``programs``, ``results`` of both, ``tasks``, ``workloads`` and nothing
    else on this machine.
    """
    programs = ProgramStore(store.path)
    if not programs.parts():
        store.require()
    with Sql() as sql:
        create_records(sql, store)
        programs.create_view(sql)
        sql.register("tasks", TaskStore(store.path).source())
        sql.execute(_RESULTS)
        if "workloads" in question.lower():  # modules are large
            sql.register("workloads", WorkloadStore(store.path).source())
        try:
            return sql.ask(question)
        except SqlError as error:
            tables = {"records": SCHEMA.names, "programs": COLUMNS, "results": RESULTS}
            columns = ", ".join(f"{name} ({', '.join(names)})" for name, names in tables.items())
            raise RecordError(f"{error}. The tables are {columns}, tasks and workloads") from error
