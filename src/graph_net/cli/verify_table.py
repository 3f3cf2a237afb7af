"""What ``graph-net verify`` found, as a table and as JSON."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from rich.table import Table

from graph_net.cli.common import err, out

if TYPE_CHECKING:
    from graph_net.golden.store import GoldenRun
    from graph_net.golden.verdict import RerunVerdict
    from graph_net.results import Interval

Results = list[tuple["GoldenRun | None", "RerunVerdict"]]


def show_environment(results: Results) -> None:
    """Print what differs between the two machines; what does not, a regression is not due to."""
    from graph_net.golden.store import describe_machine

    pair = next(((run, v.record) for run, v in results if run and v.record), None)
    if pair is None:
        return
    run, record = pair
    then = _flat({"compiler": asdict(run.record.config), "device": asdict(run.record.device),
                  "machine": dict(run.environment)})  # fmt: skip
    now = _flat({"compiler": asdict(record.config), "device": asdict(record.device),
                 "machine": describe_machine()})  # fmt: skip
    changed = [key for key in sorted(then | now) if then.get(key) != now.get(key)]
    if not changed:
        err.print("same device, compiler and software as the reference")
        return
    table = Table(title="what is different", title_justify="left")
    for name in ("", "reference", "here"):
        table.add_column(name, overflow="fold")
    for key in changed:
        table.add_row(key, then.get(key, "–"), now.get(key, "–"))
    out.print(table)


def _flat(tree: dict[str, Any], before: str = "") -> dict[str, str]:
    found: dict[str, str] = {}
    for key, value in tree.items():
        if isinstance(value, dict):
            found |= _flat(value, f"{before}{key}.")
        else:
            found[f"{before}{key}"] = str(value)[:120]
    return found


def show_table(results: list[RerunVerdict]) -> None:
    """Print a row a graph."""
    table = Table(title="here against the reference", title_justify="left")
    for name in ("graph", "compiler", "outputs"):
        table.add_column(name, overflow="fold")
    for name in ("t", "times as fast", "98 % interval", "eager"):
        table.add_column(name, justify="right")
    table.add_column("speed")
    table.add_column("why", overflow="fold")
    for each in results:
        speed = each.verdict or ""
        why = "; ".join(filter(None, (each.reason, each.verdict_reason)))
        cells = [each.name, each.compiler, each.standing, _level(each), _value(each.speed),
                 _bounds(each.speed), _value(each.eager), speed, why]  # fmt: skip
        table.add_row(*cells, style="red" if each.worse else None)
    out.print(table)


def _level(each: RerunVerdict) -> str:
    if each.t is None:
        return ""
    return "same bits" if each.same_bits else "equal" if each.t <= -64 else f"{each.t:.2f}"


def _value(found: Interval | None) -> str:
    return "" if found is None else f"{found.value:.3f}"


def _bounds(found: Interval | None) -> str:
    return "" if found is None else f"{found.low:.3f} … {found.high:.3f}"


def show_summary(results: list[RerunVerdict], t: float, margin: float) -> None:
    """Print how many of each kind there are, and what the times mean."""
    standings = Counter(str(each.standing) for each in results)
    verdicts = Counter(str(each.verdict) for each in results if each.verdict is not None)
    words = [
        ", ".join(f"{n} {word}" for word, n in sorted(counts.items()))
        for counts in (standings, verdicts)
    ]
    err.print(
        f"outputs (to t = {t:g}): {words[0]}; speed (within {margin:.0%}): {words[1] or 'none'}. "
        "Times of two runs are compared as they are: a ratio says what changed between the runs, "
        "the machine, its clock and its load included; eager's ratio beside it says what of that "
        "is not the compiler's.",
        highlight=False,
    )  # fmt: skip


def tree_of(run: GoldenRun | None, each: RerunVerdict) -> dict[str, Any]:
    """One graph as JSON."""
    record = each.record
    return {
        "graph": each.name,
        "graph_id": None if run is None else run.record.subject.id,
        "compiler": each.compiler,
        "outputs": str(each.standing),
        "t": each.t,
        "same_bits": each.same_bits,
        "levels": [output.t for output in each.outputs],
        "speed": None if each.speed is None else asdict(each.speed),
        "eager": None if each.eager is None else asdict(each.eager),
        "verdict": each.verdict,
        "reason": each.reason,
        "verdict_reason": each.verdict_reason,
        "regression": each.worse,
        "reference_device": None if run is None else asdict(run.record.device),
        "reference_version": None if run is None else run.record.config.version,
        "device": None if record is None else asdict(record.device),
        "version": None if record is None else record.config.version,
    }
