"""The page and the picture of ``benchmarks.layout_gains``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from benchmarks.layout_gains_measure import Row, path_of, read_results
from graph_net.learn.studies.study import Line, StudyPicture, markdown_table
from graph_net.learn.studies.study_page import StudyPage

TITLE = "What other layouts gain on graphs of the corpus"
ABOUT = (
    "`graph-net layout` on graphs of all categories, {device}: the speed-up of the best layout "
    "over the original, timed anew with the original as control; 99 % intervals. {ranking} "
    "*Faster* is a gain beyond noise, *measured* the number of layouts that were timed to find "
    "it.{clock}"
)
LEARNED = "Layouts are ranked by what was learned from graphs of other families ({source})."
BYTES = "Layouts are ranked by the bytes they move."
CLOCK = (
    " Both are recorded and replayed as one (CUDA graphs): the times are those of the kernels, "
    "without the host's work for each of them."
)


def report(results: Path, output: Path) -> str:
    """Write the page and the picture; return the table."""
    rows = read_results(results)
    timed = sorted((row for row in rows if "gain" in row), key=lambda row: -row["gain"][0])
    if not timed:
        raise SystemExit(f"{results} has no graph that was timed")
    lines: list[Line] = [
        (row["name"], [(1.0, value, max(high - value, value - low))])
        for row in reversed(timed)
        for value, low, high in [row["gain"]]
    ]
    commands = list(dict.fromkeys(one for row in rows for one in row["commands"]))
    if any(" measure " in one for one in commands):
        paths = f"{path_of(results)} -o {path_of(output)}"
        commands.append(f"python -m benchmarks.layout_gains report {paths}")
    picture = StudyPicture(lines, "", "speed-up of the best layout", bars=True)
    table = table_of(rows, timed)
    page = StudyPage(TITLE, about(rows), "\n    ".join(commands), picture, table)
    page.write(output, "layout_gains")
    return table


def about(rows: Sequence[Row]) -> str:
    """Return what the page says of its results."""
    kind, _, name = rows[0]["device"].partition(": ")
    on_cpu, threads = kind == "cpu", rows[0]["threads"]
    count = "one thread" if threads == 1 else f"{threads} threads"
    source = rows[0]["learned_from"]
    return ABOUT.format(
        device=f"{count} of a `{name}`" if on_cpu else f"on an {name}",
        ranking=LEARNED.format(source=f"`{source}`") if source else BYTES,
        clock="" if on_cpu else CLOCK,
    )


def table_of(rows: Sequence[Row], timed: Sequence[Row]) -> str:
    """Return the count of gains, the table of those that were timed, and why others were not."""
    cells = [
        [row["name"], row["category"], str(row["sites"]), str(row["measured"]),
         "{:.3f} ({:.3f} … {:.3f})".format(*row["gain"]), row["verdict"]]
        for row in timed
    ]  # fmt: skip
    heads = ["graph", "category", "nodes to choose", "measured", "speed-up", "verdict"]
    faster = [row["gain"][0] for row in timed if row["verdict"] == "faster"]
    table = f"{len(faster)} of {len(rows)} graphs are faster"
    if faster:
        table += f", by {min(faster):.3f} to {max(faster):.3f}"
    failed = [
        f"- {row['name']}: {row.get('failed', 'no layout could be measured')}"
        for row in rows
        if "gain" not in row
    ]
    return f"{table}.\n\n{markdown_table(heads, cells)}\n\n" + "\n".join(failed)
