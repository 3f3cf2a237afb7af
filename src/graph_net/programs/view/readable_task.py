"""What a task computes and what its schedules are, as code.

Modules and schedules come from files: they are parsed and replayed, never run, each task in a
process with limits that may crash. Without the space's compiler, or without the module, the
schedule is printed from its JSON alone, and the listing says so.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from graph_net.isolate import Died, Limits, call
from graph_net.programs.spaces import SpaceError, Workload, space_names, space_of
from graph_net.programs.spaces.readable import format_schedule
from graph_net.programs.view.show import ShownProgram, TaskView

SECONDS, GIGABYTES = 60, 16.0
MOST = 1 << 18
"""Most characters of one text."""
TAIL = 20
"""Common lines at the end that are worth omitting."""
NO_SCHEDULE = "The schedules of this file were not kept (--no-schedules)."


@dataclass(frozen=True)
class Code:
    """A program, and the decisions that lead to it from the computation; empty if unknown."""

    program: str
    steps: str


@dataclass(frozen=True)
class Listing:
    """A task as code; ``note`` says in one line what is missing and why."""

    computation: str
    best: Code
    typical: Code
    note: str = ""


def listings(views: Iterable[TaskView]) -> Iterator[Listing]:
    """Yield the tasks as code, in order; compilers are loaded once."""
    ready = _Ready()
    for view in views:
        yield _listing(view, ready)


def _listing(view: TaskView, ready: _Ready) -> Listing:
    """Return a task as code."""
    chosen = [one for one in (view.best, view.typical) if one is not None]
    kind = view.summary.format
    if kind not in space_names():
        return plain_listing(view, "")
    if view.workload is None:
        return plain_listing(view, f"No file here has the module of this {kind} task.")
    if why := ready.missing(kind):
        return plain_listing(view, why)
    try:
        limits = Limits.of(SECONDS, GIGABYTES)
        answer = call(lambda: _codes(view.workload, view.summary.target, chosen), limits)
    except Died as error:
        why = str(error).removeprefix("SpaceError: ")[:200]
        return plain_listing(view, f"Not shown as the {kind} space has it: {why}.")
    codes = [Code(*texts) for texts in answer["codes"]] or [Code("", "")]
    typical = Code(without_tail(codes[-1].program, codes[0].program), codes[-1].steps)
    return Listing(answer["computation"], codes[0], typical, answer["note"])


def without_tail(program: str, other: str) -> str:
    """Return a program without the trailing lines it shares with another, if those are most of it.

    Triton programs are one source with different constants, which is not printed twice.
    """
    lines, same = program.splitlines(), 0
    for mine, theirs in zip(reversed(lines), reversed(other.splitlines()), strict=False):
        if mine != theirs:
            break
        same += 1
    if program == other or same < TAIL or 2 * same < len(lines):
        return program
    return "\n".join([*lines[:-same], f"# … and the last {same} lines of the best program"])


class _Ready:
    """Loads what the processes of a space need, once, before forking."""

    def __init__(self) -> None:
        self._known: dict[str, str] = {}

    def missing(self, kind: str) -> str:
        """Return why a space cannot be used here; empty if it can."""
        if kind not in self._known:
            self._known[kind] = self._load(kind)
        return self._known[kind]

    def _load(self, kind: str) -> str:
        if kind != "metaschedule":
            return ""
        try:
            from graph_net.compilers.tvm_ready import load_intrinsics

            load_intrinsics()
        except ImportError as error:
            return (
                f"TVM is not installed ({error}), so the module is not shown and schedules are "
                "written from their traces; pip install 'graph-net[compilers]'."
            )
        return ""


def _codes(workload: Workload | None, target: str, chosen: list[ShownProgram]) -> dict[str, Any]:
    """Return everything as texts; runs in a process of its own."""
    if workload is None:
        raise SpaceError("no workload")
    space = space_of(workload, target)
    codes, note = [], ""
    for one in chosen:
        try:
            if not one.schedule:
                raise SpaceError(NO_SCHEDULE)
            codes.append([space.code(one.schedule)[:MOST], space.steps(one.schedule)[:MOST]])
        except SpaceError as error:
            note = str(error)
            codes.append(["", format_schedule(workload.space, one.schedule)[:MOST]])
    return {"computation": space.computation()[:MOST], "codes": codes, "note": note}


def plain_listing(view: TaskView, note: str = "") -> Listing:
    """Return a task with its schedules printed from JSON alone; no compiler is loaded."""
    codes = []
    for one in (view.best, view.typical):
        schedule = one.schedule if one is not None else ""
        if one is not None and not schedule:
            note = NO_SCHEDULE
        codes.append(
            Code("", format_schedule(view.summary.format, schedule)[:MOST] if schedule else "")
        )
    return Listing(view.summary.name[:MOST], codes[0], codes[1], note)
