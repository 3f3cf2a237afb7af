"""Bring records of several places into one directory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from graph_net.display.display import Display, display_of

if TYPE_CHECKING:
    from graph_net.store.counting import Precedence
    from graph_net.store.records import RecordStore


@dataclass(frozen=True)
class SyncedSource:
    """A source of records, and one line that summarizes what was copied from it."""

    source: str
    summary: str
    failed: bool = False
    """Whether nothing could be read from it."""


def sync(
    sources: Sequence[str | Path], output: Path, *, progress: Display | bool = True
) -> Iterator[SyncedSource]:
    """Yield each place when its records and programs are in the directory ``output``.

    A place is a directory, or an address that pyarrow reads. Of several results of one key the
    latest stays, in whatever order the places come; a place that cannot be read costs itself.
    """
    from graph_net.store.records import RecordStore

    store = RecordStore(output)
    store.path.mkdir(parents=True, exist_ok=True)
    with store.locked(), display_of(progress).progress("places", len(sources)) as advance:
        known = store.precedences()
        for source in sources:
            yield _add(store, str(source), known)
            advance()
        if store.journals():
            store.compact()


def _add(store: RecordStore, source: str, known: dict[str, Precedence]) -> SyncedSource:
    from graph_net.printable import count_phrase, first_line
    from graph_net.programs.store import sync_parts
    from graph_net.store import sync_records
    from graph_net.store.fetch import fetched
    from graph_net.store.records import RecordStore

    try:
        with fetched(source, (*sync_records.PATTERNS, *sync_parts.PATTERNS)) as folder:
            if folder.resolve() == store.path.resolve():
                return SyncedSource(source, "is the directory they go to", failed=True)
            counts = sync_records.add_store(store, RecordStore(folder), known)
            programs = sync_parts.add_parts(store.path, folder)
            published = sync_parts.has_published(folder)
    except (OSError, ValueError) as error:  # also what Arrow says of a damaged file
        return SyncedSource(source, first_line(error), failed=True)
    said = [f"{count_phrase(counts.added, 'record')} added, {counts.passed} already there"]
    if programs:
        said.append(f"{count_phrase(programs, 'program')} added")
    if published:
        said.append("its published programs stay where they are: read them there")
    if counts.damaged:
        said.append(f"{count_phrase(counts.damaged, 'row')} damaged ({counts.why})")
    empty = not (counts.added or counts.passed or programs or published)
    return SyncedSource(source, "; ".join(said), failed=bool(counts.damaged) and empty)
