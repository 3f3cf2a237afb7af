"""What `graph-net layout` gains on graphs of the corpus: the proven speed-up of each, or none.

    python -m benchmarks.layout_gains --learn-from build/layouts/layouts.jsonl -o docs/studies/cpu

Graphs come from all categories in turn, as in a collection; with ``--learn-from`` they are graphs
of the collection, and layouts are ranked by what was learned from the graphs of other families.
Otherwise they are ranked by the bytes they move. The winner is timed anew against the original,
with the original as control, and counts only if it is faster with 99 % confidence. Results are kept
in ``--work``: killed, the same command goes on.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from graph_net.api.collect_layouts import WHERE, GraphChoice, choose_layout_graphs
from graph_net.api.layout import layout
from graph_net.api.layout_examples import read_layout_examples
from graph_net.configs.layouts.layout_examples import GraphLayouts
from graph_net.configs.layouts.layout_predictor import BytesMoved, LayoutPredictor, learn_layouts
from graph_net.configs.layouts.plan import LayoutTask
from graph_net.graph import from_bytes
from graph_net.learn.studies.study import Line, StudyPicture, markdown_table
from graph_net.learn.studies.study_page import StudyPage
from graph_net.score.family import family_of
from graph_net.store.journal import LineJournal, whole_lines

GRAPHS, FROM = 24, 200
"""Graphs that are searched, and those of the corpus that a collection may have."""
Row = dict[str, Any]
TITLE = "What other layouts gain on graphs of the corpus"
ABOUT = (
    "`graph-net layout` on graphs of all categories, one thread: the speed-up of the best layout "
    "over the original, timed anew with the original as control; 99 % intervals. *Faster* is a "
    "gain beyond noise, *measured* the number of layouts that were timed to find it."
)


@dataclass(frozen=True)
class Predictors:
    """Predictors for graphs of a collection, each learned from the graphs of other families."""

    examples: tuple[GraphLayouts, ...]
    families: Mapping[str, str]
    """Family of each graph of the corpus, by its name."""

    def without(self, name: str) -> LayoutPredictor:
        """Return what was learned without the family of a graph; bytes moved if from nothing."""
        if not self.examples:
            return BytesMoved()
        family = self.families[name]
        return learn_layouts([e for e in self.examples if self.families[e.name] != family])


def search(task: LayoutTask, predictors: Predictors, chosen: argparse.Namespace) -> Row:
    """Return what a search found for one graph, or why there is no answer."""
    row: Row = {"name": task.subject.name, "category": task.subject.category}
    try:
        result = layout(
            from_bytes(task.graph),
            device=chosen.device,
            learn_from=predictors.without(task.subject.name),
            threads=chosen.threads,
            jobs=1,
            progress=False,
        )
    except ValueError as error:
        return row | {"failed": str(error)[:300]}
    row |= {"sites": result.sites, "measured": len(result.outcome.measured)}
    if result.outcome.proven:
        best = result.outcome.best or result.outcome.proven[0]
        gain = best.timing.speedup
        row |= {"gain": [gain.value, gain.low, gain.high], "verdict": str(best.timing.verdict)}
    return row


def page(rows: Sequence[Row], chosen: argparse.Namespace) -> str:
    """Write the page and the picture; return the table."""
    timed = sorted((row for row in rows if "gain" in row), key=lambda row: -row["gain"][0])
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
    failed = [f"- {row['name']}: {row['failed']}" for row in rows if "failed" in row]
    table += ".\n\n" + markdown_table(heads, cells) + "\n\n" + "\n".join(failed)
    lines: list[Line] = [
        (row["name"], [(1.0, value, max(high - value, value - low))])
        for row in reversed(timed)
        for value, low, high in [row["gain"]]
    ]
    command = "python -m benchmarks.layout_gains"
    command += " --learn-from build/layouts/layouts.jsonl" if chosen.learn_from else ""
    picture = StudyPicture(lines, "", "speed-up of the best layout", bars=True)
    page = StudyPage(TITLE, ABOUT, f"{command} -o {chosen.output}", picture, table)
    page.write(chosen.output, "layout_gains")
    return table


def main() -> None:
    """Search what is missing, and write the page."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--graphs", type=int, default=GRAPHS)
    parser.add_argument("--where", default=WHERE, help="which graphs of the corpus, in SQL")
    parser.add_argument("--learn-from", type=Path, help="journal of a collection on this device")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--work", type=Path, default=Path("build/layout_gains"))
    parser.add_argument("-o", "--output", type=Path, default=Path("build/studies"))
    chosen = parser.parse_args()
    chosen.work.mkdir(parents=True, exist_ok=True)
    path = chosen.work / "gains.jsonl"
    known: dict[str, Row] = {}
    for line in whole_lines(path) if path.exists() else ():
        row = json.loads(line)
        known[row["name"]] = row
    most = chosen.graphs if chosen.learn_from is None else FROM
    tasks = choose_layout_graphs(GraphChoice(where=chosen.where, count=most))
    families = {
        one.subject.name: family_of(one.subject.library, one.subject.model) for one in tasks
    }
    examples = read_layout_examples(chosen.learn_from) if chosen.learn_from else []
    predictors = Predictors(tuple(one for one in examples if one.name in families), families)
    collected = {one.name for one in predictors.examples} or set(families)
    tasks = [task for task in tasks if task.subject.name in collected][: chosen.graphs]
    for task in tasks:
        name = task.subject.name
        if name not in known:
            known[name] = search(task, predictors, chosen)
            print(known[name], flush=True)
            with LineJournal(path) as journal:
                journal.append(json.dumps(known[name]).encode())
    print(page([known[task.subject.name] for task in tasks], chosen))


if __name__ == "__main__":
    main()
