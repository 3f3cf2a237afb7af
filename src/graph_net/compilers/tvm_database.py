"""A MetaSchedule database: ``graph-net tune`` writes it, the compiler ``tvm`` builds with it."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path
from typing import Any

from graph_net.compilers.compiler import CompilerError
from graph_net.store.files import read_bytes

FILES = ("database_workload.json", "database_tuning_record.json")
MOST_BYTES = 256 << 20


def database_digest(folder: Path) -> str:
    """Return the hash of a database's bytes; raise CompilerError if there is none."""
    try:
        data = [read_bytes(folder / name, MOST_BYTES) for name in FILES]
    except OSError as error:
        raise CompilerError(
            f"{folder} holds no database of MetaSchedule: `graph-net tune` writes one"
        ) from error
    return sha256(b"\0".join(sha256(part).digest() for part in data)).hexdigest()[:16]


def build_with(module: Any, target: Any, folder: Path, digest: str) -> Any:
    """Return the module built with a database's schedules; other functions stay unchanged."""
    import tvm
    from tvm import relax
    from tvm.s_tir.meta_schedule.database import JSONDatabase

    if digest and database_digest(folder) != digest:
        raise CompilerError(f"{folder} was changed since it was tuned: tune again")
    with target:
        module = relax.get_pipeline("zero")(module)  # legalise and fuse, as the tuner did
    database = JSONDatabase(*(str(folder / name) for name in FILES), allow_missing=False)
    with target, database, tvm.transform.PassContext(opt_level=3):
        module = relax.transform.MetaScheduleApplyDatabase()(module)
    return tvm.compile(module, target)
