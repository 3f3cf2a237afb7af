"""A comparison for a pull request: the answer first, then what regressed, the rest folded."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from graph_net.compare.judge import Change
from graph_net.compare.result import Comparison, Spread
from graph_net.compare.rows import Row
from graph_net.printable import count_phrase, html_table

MOST = 50
"""So many rows of a kind are written; a comment on a pull request has an end."""
_LONGEST = 160


def headline(found: Comparison) -> str:
    """The answer in one sentence."""
    parts = {
        "slower": found.count(Change.SLOWER),
        "newly failing": found.count(Change.NEW_FAILURE),
        "less correct": found.worse,
    }
    told = ", ".join(f"{count} {word}" for word, count in parts.items() if count)
    return f"Regression: {told}" if told else "No regression"


def summary(found: Comparison) -> str:
    """How many graphs, and what became of them."""
    words = [f"{found.count(change):,} {change.word}" for change in Change if found.count(change)]
    words += [f"{count:,} {word} correct" for word, count in
              (("less", found.worse), ("more", found.better)) if count]  # fmt: skip
    for side, count in (("A", found.pairs.only_first), ("B", found.pairs.only_second)):
        if count:
            words.append(f"{count:,} only in {side}")
    return f"{len(found):,} graphs and compilers in both: {', '.join(words)}"


def spread_words(name: str, spread: Spread) -> str:
    """``compile time: 1.04× (0.90 … 1.31, 120 graphs)``."""
    inside = f"{spread.low:.2f} … {spread.high:.2f}, {count_phrase(spread.graphs, 'graph')}"
    return f"{name}: {spread.middle:.2f}× ({inside})"


def settings_words(found: Comparison) -> str:
    """What was asked."""
    settings = found.settings
    return (
        f"slower or faster: beyond {settings.threshold:g}× and eager's own noise, false discovery "
        f"rate {settings.fdr:g}; correctness: {settings.levels:g} level of t"
    )


def markdown(found: Comparison) -> str:
    """The whole as Markdown."""
    order = found.order()
    regressed = found.judged.regressed[order]
    change = found.judged.change[order]
    gained = ~regressed & np.isin(change, [Change.FASTER, Change.FIXED])
    gained |= ~regressed & (found.judged.level[order] < 0)
    unsure = ~regressed & ~gained & np.isin(change, [Change.AMBIGUOUS, Change.NOT_COUNTED])
    lines = [f"### {headline(found)}", "", f"{summary(found)}.", ""]
    lines += [f"A is {_code(found.names[0])}, B is {_code(found.names[1])}.", ""]
    lines += _table(found.rows(order[regressed][:MOST]), int(regressed.sum()))
    for title, chosen in (("Better", gained), ("Ambiguous or not counted", unsure)):
        count = int(chosen.sum())
        if count:
            lines += ["<details>", f"<summary>{title}: {count:,}</summary>", ""]
            lines += [*_table(found.rows(order[chosen][:MOST]), count), "</details>", ""]
    spreads = [spread_words(*item) for item in found.spreads().items()]
    lines += ["<details>", "<summary>Costs and settings</summary>", ""]
    lines += [f"- {words}" for words in [*(f"{words}, B / A" for words in spreads),
                                         settings_words(found)]]  # fmt: skip
    return "\n".join([*lines, "", "</details>", ""])


def html(found: Comparison) -> str:
    """The changes that matter as an HTML table for a notebook."""
    order = found.order()
    places = order[found.telling[order]]
    rows = [
        (row.graph, row.compiler, _change(row), speedups(row), ratio(row), row.sentence)
        for row in found.rows(places[:MOST])
    ]
    columns = ("graph", "compiler", "change", "A → B", "B / A", "why")
    title = f"{headline(found)}. {summary(found)}"
    return html_table(title, columns, rows, more=len(places) - len(rows))


def _table(rows: list[Row], count: int) -> list[str]:
    if not rows:
        return []
    lines = [
        "| graph | compiler | change | speedup A → B | B / A | why |",
        "|---|---|---|---|---|---|",
    ]
    for row in rows:
        cells = (_code(row.graph), _code(row.compiler), _change(row), speedups(row), ratio(row),
                 _code(row.sentence) if row.sentence else "")  # fmt: skip
        lines.append(f"| {' | '.join(cells)} |")
    if count > len(rows):
        lines += ["", f"… and {count - len(rows):,} more."]
    return [*lines, ""]


def _change(row: Row) -> str:
    return ", ".join(change_words(row))


def change_words(row: Row) -> Iterable[str]:
    """What became of a graph, correctness included."""
    yield row.change.word
    if row.level_change:
        yield "less correct" if row.level_change > 0 else "more correct"


def speedups(row: Row) -> str:
    """The speedups over eager of both sides."""
    if row.speedups == (None, None):
        return ""
    return " → ".join("–" if value is None else f"{value:.3f}" for value in row.speedups)


def ratio(row: Row) -> str:
    """The ratio of the speedups with its interval."""
    if row.ratio is None:
        return ""
    if not row.low or row.high is None:
        return f"{row.ratio:.3f}"
    return f"{row.ratio:.3f} [{row.low:.3f}, {row.high:.3f}]"


def _code(text: str) -> str:
    """Words of others as words: no markup, mention or table cell comes out of them."""
    plain = " ".join(text.split()).replace("`", "'").replace("|", "\\|")
    plain = "".join(letter if letter.isprintable() else "?" for letter in plain)
    return f"`{plain[:_LONGEST]}`" if plain else ""
