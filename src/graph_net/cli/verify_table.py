"""The results of ``graph-net verify`` as a table and as JSON."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from graph_net.cli.common import err, new_table, out

if TYPE_CHECKING:
    from graph_net.golden.store import GoldenRun
    from graph_net.golden.verdict import RerunVerdict
    from graph_net.results import Interval

Results = list[tuple["GoldenRun | None", "RerunVerdict"]]


def print_environment(results: Results) -> None:
    """Print the differences between the two machines: what a regression may be due to."""
    from graph_net.golden.store import describe_machine

    pair = next(((run, v.record) for run, v in results if run and v.record), None)
    if pair is None:
        return
    run, record = pair
    then = _flatten({"compiler": asdict(run.record.config), "device": asdict(run.record.device),
                  "machine": dict(run.environment)})  # fmt: skip
    now = _flatten({"compiler": asdict(record.config), "device": asdict(record.device),
                 "machine": describe_machine()})  # fmt: skip
    changed = [key for key in sorted(then | now) if then.get(key) != now.get(key)]
    if not changed:
        err.print("same device, compiler and software as the reference")
        return
    table = new_table("", "reference", "here", title="what is different")
    for key in changed:
        table.add_row(key, then.get(key, "–"), now.get(key, "–"))
    out.print(table)


def _flatten(tree: dict[str, Any], before: str = "") -> dict[str, str]:
    flat: dict[str, str] = {}
    for key, value in tree.items():
        if isinstance(value, dict):
            flat |= _flatten(value, f"{before}{key}.")
        else:
            flat[f"{before}{key}"] = str(value)[:120]
    return flat


def print_results(results: list[RerunVerdict]) -> None:
    """Print a row per graph."""
    numbers = ("t", "times as fast", "98 % interval", "eager")
    columns = ("graph", "compiler", "outputs", *numbers, "speed", "why")
    table = new_table(*columns, title="here against the reference", numbers=numbers)
    for result in results:
        why = "; ".join(filter(None, (result.reason, result.verdict_reason)))
        cells = [result.name, result.compiler, result.standing, _level(result),
                 _value(result.speed), _bounds(result.speed), _value(result.eager),
                 result.verdict or "", why]  # fmt: skip
        table.add_row(*cells, style="red" if result.worse else None)
    out.print(table)


def _level(result: RerunVerdict) -> str:
    if result.t is None:
        return ""
    return "same bits" if result.same_bits else "equal" if result.t <= -64 else f"{result.t:.2f}"


def _value(ratio: Interval | None) -> str:
    return "" if ratio is None else f"{ratio.value:.3f}"


def _bounds(ratio: Interval | None) -> str:
    return "" if ratio is None else f"{ratio.low:.3f} … {ratio.high:.3f}"


def print_summary(results: list[RerunVerdict], t: float, margin: float) -> None:
    """Print the number of results of each kind, and what the times mean."""
    standings = Counter(str(result.standing) for result in results)
    verdicts = Counter(str(result.verdict) for result in results if result.verdict is not None)
    outputs, speeds = (
        ", ".join(f"{n} {name}" for name, n in sorted(counts.items()))
        for counts in (standings, verdicts)
    )
    err.print(
        f"outputs (to t = {t:g}): {outputs}; speed (within {margin:.0%}): {speeds or 'none'}. "
        "Times of two runs are compared as they are: a ratio includes changes of the machine, its "
        "clock and its load; eager's ratio beside it shows how much of that is not the compiler's.",
        highlight=False,
    )  # fmt: skip


def verified_json(run: GoldenRun | None, result: RerunVerdict) -> dict[str, Any]:
    """Return one graph as JSON."""
    record = result.record
    return {
        "graph": result.name,
        "graph_id": None if run is None else run.record.subject.id,
        "compiler": result.compiler,
        "outputs": str(result.standing),
        "t": result.t,
        "same_bits": result.same_bits,
        "levels": [output.t for output in result.outputs],
        "speed": None if result.speed is None else asdict(result.speed),
        "eager": None if result.eager is None else asdict(result.eager),
        "verdict": result.verdict,
        "reason": result.reason,
        "verdict_reason": result.verdict_reason,
        "regression": result.worse,
        "reference_device": None if run is None else asdict(run.record.device),
        "reference_version": None if run is None else run.record.config.version,
        "device": None if record is None else asdict(record.device),
        "version": None if record is None else record.config.version,
    }
