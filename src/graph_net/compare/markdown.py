"""A comparison for a pull request: the answer first, then what regressed, the rest folded."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from graph_net.compare.judge import Change
from graph_net.compare.result import Comparison, Spread
from graph_net.compare.rows import Row
from graph_net.printable import count_phrase, html_table

MOST = 50
"""Rows of a kind that are written: the length of a comment is limited."""
_LONGEST = 160


def headline(comparison: Comparison) -> str:
    """Return the answer in one sentence."""
    parts = {
        "slower": comparison.count(Change.SLOWER),
        "newly failing": comparison.count(Change.NEW_FAILURE),
        "less correct": comparison.worse,
    }
    counts = ", ".join(f"{count} {change}" for change, count in parts.items() if count)
    return f"Regression: {counts}" if counts else "No regression"


def summary(comparison: Comparison) -> str:
    """Return how many graphs were compared and how they changed."""
    counts = {change.word: comparison.count(change) for change in Change} | {
        "less correct": comparison.worse,
        "more correct": comparison.better,
        "only in A": comparison.pairs.only_first,
        "only in B": comparison.pairs.only_second,
    }
    words = [f"{count:,} {word}" for word, count in counts.items() if count]
    return f"{len(comparison):,} graphs and compilers in both: {', '.join(words)}"


def spread_words(name: str, spread: Spread) -> str:
    """Return a spread in words: ``compile time: 1.04× (0.90 … 1.31, 120 graphs)``."""
    inside = f"{spread.low:.2f} … {spread.high:.2f}, {count_phrase(spread.graphs, 'graph')}"
    return f"{name}: {spread.middle:.2f}× ({inside})"


def settings_words(comparison: Comparison) -> str:
    """Return the settings in words."""
    settings = comparison.settings
    return (
        f"slower or faster: beyond {settings.threshold:g}× and eager's own noise, false discovery "
        f"rate {settings.fdr:g}; correctness: {settings.levels:g} level of t"
    )


def to_markdown(comparison: Comparison) -> str:
    """Return a comparison as Markdown."""
    order = comparison.order()
    regressed = comparison.judged.regressed[order]
    change = comparison.judged.change[order]
    gained = ~regressed & np.isin(change, [Change.FASTER, Change.FIXED])
    gained |= ~regressed & (comparison.judged.level[order] < 0)
    unsure = ~regressed & ~gained & np.isin(change, [Change.AMBIGUOUS, Change.NOT_COUNTED])
    lines = [f"### {headline(comparison)}", "", f"{summary(comparison)}.", ""]
    lines += [f"A is {_code(comparison.names[0])}, B is {_code(comparison.names[1])}.", ""]
    lines += _table(comparison.rows(order[regressed][:MOST]), int(regressed.sum()))
    for title, chosen in (("Better", gained), ("Ambiguous or not counted", unsure)):
        count = int(chosen.sum())
        if count:
            lines += ["<details>", f"<summary>{title}: {count:,}</summary>", ""]
            lines += [*_table(comparison.rows(order[chosen][:MOST]), count), "</details>", ""]
    spreads = [spread_words(*item) for item in comparison.spreads().items()]
    lines += ["<details>", "<summary>Costs and settings</summary>", ""]
    lines += [f"- {words}" for words in [*(f"{words}, B / A" for words in spreads),
                                         settings_words(comparison)]]  # fmt: skip
    return "\n".join([*lines, "", "</details>", ""])


def to_html(comparison: Comparison) -> str:
    """Return the changes as an HTML table for a notebook."""
    order = comparison.order()
    positions = order[comparison.changed[order]]
    rows = [
        (row.graph, row.compiler, *_cells(row), row.sentence)
        for row in comparison.rows(positions[:MOST])
    ]
    columns = ("graph", "compiler", "change", "A → B", "B / A", "why")
    title = f"{headline(comparison)}. {summary(comparison)}"
    return html_table(title, columns, rows, more=len(positions) - len(rows))


def _table(rows: list[Row], count: int) -> list[str]:
    if not rows:
        return []
    lines = [
        "| graph | compiler | change | speedup A → B | B / A | why |",
        "|---|---|---|---|---|---|",
    ]
    for row in rows:
        cells = (_code(row.graph), _code(row.compiler), *_cells(row), _code(row.sentence))
        lines.append(f"| {' | '.join(cells)} |")
    if count > len(rows):
        lines += ["", f"… and {count - len(rows):,} more."]
    return [*lines, ""]


def _cells(row: Row) -> tuple[str, str, str]:
    return ", ".join(change_words(row)), format_speedups(row), format_ratio(row)


def change_words(row: Row) -> Iterable[str]:
    """Yield how a graph changed, correctness included."""
    yield row.change.word
    if row.level_change:
        yield "less correct" if row.level_change > 0 else "more correct"


def format_speedups(row: Row) -> str:
    """Return the speedups over eager of both sides."""
    if row.speedups == (None, None):
        return ""
    return " → ".join("–" if value is None else f"{value:.3f}" for value in row.speedups)


def format_ratio(row: Row) -> str:
    """Return the ratio of the speedups with its interval."""
    if row.ratio is None:
        return ""
    if not row.low or row.high is None:
        return f"{row.ratio:.3f}"
    return f"{row.ratio:.3f} [{row.low:.3f}, {row.high:.3f}]"


def _code(text: str) -> str:
    """Return untrusted text as code, so that it cannot form markup, a mention or a table cell."""
    plain = " ".join(text.split()).replace("`", "'").replace("|", "\\|")
    plain = "".join(character if character.isprintable() else "?" for character in plain)
    return f"`{plain[:_LONGEST]}`" if plain else ""
