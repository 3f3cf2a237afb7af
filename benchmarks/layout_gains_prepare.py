"""The graphs and the predictors of ``benchmarks.layout_gains``, written for another machine."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import numpy as np

from benchmarks.layout_gains_measure import (
    GRAPH,
    PLAN,
    PREDICTORS,
    TASK,
    GainPlan,
    GainTask,
    command_of,
)
from graph_net.api.collect_layouts import WHERE, GraphChoice, choose_layout_graphs
from graph_net.api.learn_layouts import LayoutExamples, read_collection
from graph_net.configs.layouts.plan import LayoutTask
from graph_net.learn.layout_model_files import is_layout_model, save_layouts
from graph_net.score.family import family_of
from graph_net.store.atomic import write_bytes, write_text

ALIKE = 7
"""Letters that the names of related families share."""
FROM = 200
"""Graphs of the corpus that a collection may have."""
MOST_SECONDS = {"cuda": 0.02, "cpu": 0.08}
"""Longest original of a graph of the collection."""


def prepare(chosen: argparse.Namespace) -> None:
    """Write a folder for each graph, and the predictors; what is there is not learned again."""
    examples = read_collection(chosen.learn_from) if chosen.learn_from else None
    tasks = choose_tasks(chosen, examples)
    families = sorted({_family(task) for task in tasks})
    shares = [families[n :: max(1, chosen.predictors)] for n in range(max(1, chosen.predictors))]
    share_of = {family: str(n) for n, share in enumerate(shares) for family in share}
    for number, task in enumerate(tasks):
        folder = chosen.work / "graphs" / f"{number:02}"
        folder.mkdir(parents=True, exist_ok=True)
        write_bytes(folder / GRAPH, task.graph)
        predictor = share_of[_family(task)] if examples else ""
        described = GainTask(task.subject.name, task.subject.category, _family(task), predictor)
        write_text(folder / TASK, json.dumps(asdict(described), indent=1) + "\n")
    for number, share in enumerate(shares if examples else []):
        _save(chosen.work / PREDICTORS / str(number), examples, share)
    source = str(chosen.learn_from) if examples else ""
    plan = GainPlan(chosen.device, source, command_of(chosen))
    write_text(chosen.work / PLAN, json.dumps(asdict(plan), indent=1) + "\n")


def choose_tasks(chosen: argparse.Namespace, examples: LayoutExamples | None) -> list[LayoutTask]:
    """Return graphs of all categories in turn; with a collection those that it has, and quick."""
    most = FROM if examples else chosen.graphs
    tasks = choose_layout_graphs(GraphChoice(where=chosen.where or WHERE, count=most))
    if examples is not None:
        quick = {
            one.graph
            for one in examples.layouts
            if np.median(one.seconds) <= MOST_SECONDS[chosen.device]
        }
        tasks = [task for task in tasks if task.subject.id in quick]
    return tasks[: chosen.graphs]


def _family(task: LayoutTask) -> str:
    return family_of(task.subject.library, task.subject.model)


def is_related(one: str, other: str) -> bool:
    """Return whether two families are one, or their names begin alike: PocketTTS has two."""
    library, _, name = one.partition("/")
    return one == other or (len(name) >= ALIKE and other.startswith(f"{library}/{name[:ALIKE]}"))


def _save(folder: Path, examples: LayoutExamples | None, without: Sequence[str]) -> None:
    """Learn without some families and their relatives; keep a folder that was made of the same."""
    assert examples is not None
    families = {one.family for one in examples.graphs.values()}
    without = sorted(f for f in families if any(is_related(f, one) for one in without))
    about = folder / "without.json"
    text = json.dumps([examples.target, len(examples.layouts), *without]) + "\n"
    if not (is_layout_model(folder) and about.exists() and about.read_text("utf-8") == text):
        predictor = examples.learn(without)
        save_layouts(predictor, folder)
        write_text(about, text)
        print(f"{folder}: {predictor.name}, without {', '.join(without)}", flush=True)
