"""``graph-net ingest``: records that were made elsewhere."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from graph_net.cli.common import err


def ingest_files(
    files: Annotated[list[Path], typer.Argument(help="Files of records, as a bundle leaves them.")],
    records: Annotated[Path, typer.Option("--output", "-o", help="Where the records go.")] = Path(
        "build/records"
    ),
) -> None:
    """Add the records of files to a directory of records; what it has already is passed over."""
    from graph_net.corpus.records import RecordStore
    from graph_net.measure.journal import read_journal

    store = RecordStore(records)
    with store.locked():
        known = store.final_keys()
        for path in files:
            added = passed = 0
            with store.journal() as journal:
                for record in read_journal(path):
                    if record.key in known:
                        passed += 1
                        continue
                    journal.add(record)
                    if record.final:
                        known.add(record.key)
                    added += 1
            err.print(f"{path}: {added} records added, {passed} were there")
        store.compact()
