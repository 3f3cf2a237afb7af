"""Write one self-contained HTML page of a directory of records."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from graph_net import __version__
from graph_net.corpus.pack import Pack
from graph_net.report.page_assets import content_policy, embed_json, pack_json, script, style
from graph_net.report.page_data import data_of
from graph_net.report.page_drawing import drawing_of
from graph_net.report.page_failures import clusters_of
from graph_net.report.page_html import html_body, html_head
from graph_net.report.page_programs import DETAILED, PagePrograms, programs_data, read_programs
from graph_net.report.page_rows import PageEntry, read_entries
from graph_net.report.page_scores import scores_of
from graph_net.roofline.store import read_rooflines
from graph_net.score import Parameters
from graph_net.store.atomic import open_atomic
from graph_net.store.records import RecordStore


class PageCounts(NamedTuple):
    """The number of measurements and programs on a page."""

    measurements: int
    programs: int


def write_page(
    records: Path,
    output: Path,
    pack: Pack | None = None,
    parameters: Parameters = Parameters(),  # noqa: B008 - frozen
    title: str = "",
    detailed: int = DETAILED,
) -> PageCounts:
    """Write the page of a directory of records, programs, or both; return how much it shows.

    Graphs are drawn if ``pack`` holds them; the first ``detailed`` tasks have their code. The page
    appears complete or not at all.
    """
    store = RecordStore(records)
    programs = read_programs(records, detailed)
    if not programs.tasks:
        store.require()
    entries = read_entries(store, read_rooflines(records))
    output.parent.mkdir(parents=True, exist_ok=True)
    with open_atomic(output) as file:
        for text in _parts(entries, programs, pack, parameters, title or records.resolve().name):
            file.write(text.encode())
    return PageCounts(len(entries), programs.programs)


def _parts(
    entries: list[PageEntry],
    programs: PagePrograms,
    pack: Pack | None,
    parameters: Parameters,
    title: str,
) -> Iterator[str]:
    """Yield the page in parts: those drawn first come first, raw samples and graphs last."""
    scores = scores_of(entries, parameters)
    clusters = clusters_of(entries)
    drawings = _drawings(entries, pack)
    data = data_of(entries, scores, clusters, list(drawings), parameters)
    if programs.tasks:
        data["programs"] = programs_data(programs)
    version = f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC, graph-net {__version__}"
    yield html_head(title, content_policy(), style())
    yield html_body(title, version, entries, scores, list(clusters.values()), parameters, programs)
    yield f'<script type="application/json" id="data">{embed_json(data)}</script>\n'
    # Lines of base64: none can end the element, and each is unpacked when it is shown.
    yield '<script type="text/plain" id="details">'
    for entry in entries:
        yield f"{entry.detail}\n"
    yield '</script>\n<script type="text/plain" id="drawings">'
    for line in drawings.values():
        yield f"{line}\n"
    if programs.tasks:
        yield '</script>\n<script type="text/plain" id="tasks">'
        for line in programs.details:
            yield f"{line}\n"
    yield f"</script>\n<script>{script()}</script>\n</body>\n</html>\n"


def _drawings(entries: list[PageEntry], pack: Pack | None) -> dict[str, str]:
    """Return the drawings of measured graphs that a pack holds, packed, by id."""
    if pack is None:
        return {}
    measured = {entry.subject.id for entry in entries}
    names: dict[str, str] = {}
    for row in pack.rows(["name", "id"]).to_pylist():
        if row["id"] in measured:
            names.setdefault(row["id"], row["name"])
    ids = {name: graph_id for graph_id, name in names.items()}
    graphs = pack.graphs(sorted(ids)) if ids else ()
    return {ids[name]: pack_json(drawing_of(graph)) for name, graph in graphs}
