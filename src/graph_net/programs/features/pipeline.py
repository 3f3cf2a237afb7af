"""Compute and store the missing features of a store's programs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from graph_net.isolate import WorkPool
from graph_net.programs.features import feature_kinds as kinds
from graph_net.programs.features.failures import Lost
from graph_net.programs.features.feature_kinds import FeatureKind
from graph_net.programs.features.feature_store import FeatureStore
from graph_net.programs.features.part_writer import FeaturePartWriter
from graph_net.programs.features.training_batches import programs_by_key
from graph_net.programs.features.tvm_features import TaskSchedules, extract
from graph_net.programs.spaces import SpaceError, Workload
from graph_net.programs.spaces.ansor_steps import CPU_LENGTH, GPU_LENGTH, encode_steps
from graph_net.programs.spaces.primitives import TraceEncoder
from graph_net.programs.store.program_store import ProgramStore
from graph_net.programs.store.workload_table import WorkloadStore
from graph_net.store.sql import Sql

ROWS = 1024
Encode = Callable[[Sequence[str]], NDArray[np.float32]]


class Making:
    """Computes the features of the programs of one directory and stores them in another."""

    def __init__(self, records: Path, store: FeatureStore, retry: bool = False) -> None:
        self.records, self.store, self.retry = records, store, retry

    def primitives(self) -> Iterator[int]:
        """Encode all programs as primitive sequences; yield how many programs were done."""
        for kind, where, encode in _sequences():
            yield from self._sequence(kind, where, encode)

    def count(self, where: str = "true") -> int:
        """Count measurements; a program measured twice counts twice."""
        ((number,),) = self._ask(f"SELECT count(*) FROM programs WHERE {where}").fetchall()  # noqa: S608
        return int(number)

    def _sequence(self, kind: FeatureKind, where: str, encode: Encode) -> Iterator[int]:
        known = self.store.known(kind, self.retry)
        asked = self._ask(f"SELECT program, schedule FROM programs WHERE {where}")  # noqa: S608
        with FeaturePartWriter(self.store, kind) as parts:
            while rows := asked.fetchmany(ROWS):
                fresh = {key: text for key, text in rows if text is not None}
                keys = np.fromiter(fresh, np.uint64, len(fresh))
                new = keys[~known.has(keys)]
                known.add(new)
                found = _encoded([fresh[key] for key in new.tolist()], encode)
                for key, features in zip(new.tolist(), found, strict=True):
                    parts.add(((key,), features))
                yield len(rows)

    def missing(
        self, kind: FeatureKind, shipped: FeatureStore | None = None
    ) -> dict[str, list[int]]:
        """Return the programs without features of a kind that takes TVM, by task.

        ``shipped`` is another store whose features need not be computed.
        """
        programs = programs_by_key(
            self.records, kind, "format = 'metaschedule' AND schedule IS NOT NULL"
        )
        known = self.store.known(kind, self.retry)
        if shipped is not None:
            known.add(shipped.keys(kind))
        _, first = np.unique(programs.key, return_index=True)
        first = first[~known.has(programs.key[first])]
        missing: dict[str, list[int]] = {}
        for task, program in zip(
            programs.task[first].tolist(), programs.program[first].tolist(), strict=True
        ):
            missing.setdefault(programs.tasks[task], []).append(program)
        return {task: missing[task] for task in sorted(missing)}

    def through_tvm(
        self, kind: FeatureKind, missing: dict[str, list[int]], pool: WorkPool
    ) -> Iterator[Lost | None]:
        """Compute features through TVM; yield None per program, or the reason for failing."""
        numbers: dict[tuple[str, str], int] = {}
        with FeaturePartWriter(self.store, kind) as parts:
            for task, schedule, found in extract(kind, self._subjects(missing, numbers), pool):
                number = numbers.pop((task, schedule))
                lost = found if isinstance(found, Lost) else None
                parts.add(((task, number), found if isinstance(found, Lost) else [found]))
                yield lost

    def _subjects(
        self, missing: dict[str, list[int]], numbers: dict[tuple[str, str], int]
    ) -> Iterator[TaskSchedules]:
        """Yield the tasks with their schedules; nothing is being read between yields.

        The caller forks processes then, and one forked while a thread reads may hang.
        """
        modules = self._modules()
        for task, programs in missing.items():
            wanted = set(programs)
            rows = self._ask(
                """SELECT DISTINCT program, schedule, workload::VARCHAR, kernel::VARCHAR,
                   target::VARCHAR FROM programs WHERE task = ?""", [task]
            ).fetchall()  # fmt: skip
            rows = [row for row in rows if row[0] in wanted]
            _, _, workload, kernel, target = rows[0]
            numbers.update({(task, row[1]): row[0] for row in rows})
            module = modules.get(workload, "")
            subject = Workload("metaschedule", kernel or workload, workload, module)
            yield TaskSchedules(task, subject, target, tuple(row[1] for row in rows))

    def _modules(self) -> dict[str, str]:
        source = WorkloadStore(self.records).source()
        table = source if isinstance(source, pa.Table) else source.to_table()
        names = (table[name].to_pylist() for name in ("workload", "module"))
        return dict(zip(*names, strict=True))

    def _ask(self, question: str, values: Sequence[Any] = ()) -> Any:
        connection = Sql(threads=1)
        ProgramStore(self.records).create_view(connection)
        return connection.execute(question, list(values))


def _sequences() -> list[tuple[FeatureKind, str, Encode]]:
    """Return the sequence kinds, the SQL condition of their programs, and their encoders."""
    cpu = "format = 'ansor' AND starts_with(target::VARCHAR, 'llvm')"
    gpu = "format = 'ansor' AND NOT starts_with(target::VARCHAR, 'llvm')"
    return [
        (kinds.METASCHEDULE, "format = 'metaschedule'", TraceEncoder().encode),
        (kinds.ANSOR_CPU, cpu, lambda texts: encode_steps(texts, CPU_LENGTH)),
        (kinds.ANSOR_GPU, gpu, lambda texts: encode_steps(texts, GPU_LENGTH)),
    ]


def _encoded(texts: Sequence[str], encode: Encode) -> list[Sequence[NDArray[Any]] | Lost]:
    """Encode many texts at once; if one is damaged, encode them one by one."""
    try:
        return [[array] for array in encode(texts)]
    except SpaceError as error:
        if len(texts) == 1:
            return [Lost(str(error)[:300])]
        return [_encoded([text], encode)[0] for text in texts]
