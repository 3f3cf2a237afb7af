"""The page without its program: headings, headline scores, failures, where it was measured.

Everything that comes from records goes through ``escape``; what the program draws later has its
place here.
"""

from __future__ import annotations

from html import escape
from urllib.parse import quote

from graph_net.printable import count_phrase
from graph_net.report.page_failures import FailureGroup
from graph_net.report.page_programs import PagePrograms
from graph_net.report.page_rows import PageEntry
from graph_net.report.page_scores import Curve, Scores
from graph_net.report.page_tables import (
    control,
    devices,
    not_counted,
    protocols,
    rooflines,
    table,
)
from graph_net.results.signature import headline_of
from graph_net.score import Bounds, Estimate, Pair, Parameters

SECTIONS = {
    "scores": "Scores",
    "curves": "Curves",
    "speedups": "Speedups",
    "regressions": "Regressions",
    "graphs": "Graphs",
    "programs": "Programs",
    "failures": "Failures",
    "control": "A/A control",
    "environment": "Environment",
}
AT = (("s", -5.0, "S(−5)"), ("s", 0.0, "S(0)"), ("es", 3.0, "ES(3)"))
SHARES = (
    ("alpha", "α", "geometric mean of the speedups of what is correct at t = 0"),
    ("beta", "β", "geometric mean of the slowdowns among them"),
    ("correct_share", "λ", "share that is correct at t = 0"),
    ("slower_share", "η", "share of the correct that is slower than eager"),
)


def head(title: str, policy: str, style: str) -> str:
    """The beginning of the page, up to its body."""
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{escape(policy)}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        f"<title>{escape(title)} · GraphNet report</title>\n<style>{style}</style>\n</head>\n"
    )


def body(
    title: str,
    made: str,
    entries: list[PageEntry],
    scores: Scores,
    clusters: list[FailureGroup],
    parameters: Parameters,
    programs: PagePrograms,
) -> str:
    """All sections that have something to show, those that the program fills still empty."""
    shown = {
        name: text
        for name, text in SECTIONS.items()
        if (programs.tasks if name == "programs" else entries)
    }
    links = "".join(f'<a href="#{name}">{text}</a>' for name, text in shown.items())
    inner = {}
    if entries:
        inner = {
            "scores": _scores(scores, parameters) + not_counted(entries, scores),
            "failures": _failures(clusters, entries),
            "control": control(entries, scores),
            "environment": devices(entries) + rooflines(entries) + protocols(entries),
        }
    sections = "".join(
        f'<section id="{name}"><h2>{text}</h2>{inner.get(name, "")}</section>\n'
        for name, text in shown.items()
    )
    counts = _measurements(entries, scores) if entries else ""
    if programs.tasks:
        of = count_phrase(len(programs.tasks), "task")
        counts += f"{count_phrase(programs.programs, 'program')} of {of}. "
    return (
        f"<body>\n<header><h1>{escape(title)}</h1><p>{counts}Made {escape(made)}.</p>"
        f"<nav>{links}</nav></header>\n<main>\n{sections}</main>\n"
        '<article id="view" hidden></article>\n'
        "<noscript><p>Curves, tables of graphs and tasks, and drawings need JavaScript.</p>"
        "</noscript>\n"
    )


def _measurements(entries: list[PageEntry], scores: Scores) -> str:
    graphs = len({entry.subject.id for entry in entries})
    apart = sum(entry.sample is None for entry in entries)
    words = "is excluded from scores and" if apart == 1 else "are excluded from scores and"
    return (
        f"{count_phrase(len(entries), 'measurement')} of {count_phrase(graphs, 'graph')} under "
        f"{count_phrase(len(scores.curves), 'configuration')}; {apart:,} {words} listed apart. "
    )


def _scores(scores: Scores, parameters: Parameters) -> str:
    names = ["compiler", "graphs", "families", *(text for _, _, text in AT), "aggregate", "AS"]
    names += [f'<abbr title="{escape(why)}">{letter}</abbr>' for _, letter, why in SHARES]
    rows = [_row(curve, number) for number, curve in enumerate(scores.curves)]
    if scores.control is not None:
        rows.append(["eager (control)", *_cells(scores.control)])
    few = any(c.estimate is not None and c.estimate.uncertain for c in scores.curves)
    note = (
        f"p = {parameters.p:g}, b = {parameters.b:g}, tolerances as in "
        f"“{parameters.interpretation.name}”. Speedups are paired ratios, of samples taken side "
        "by side; 95 % intervals hold the choice of model families (1,000 draws) and the doubt of "
        "each measurement. The control is eager against itself in the same measurements: what its "
        "score differs from 1 by is noise. "
    )
    if few:
        note += "! fewer than ten families: failures that none of them shows are not in it. "
    if any(c.estimate is not None and c.estimate.alone for c in scores.curves):
        note += "One family: no interval over graphs, the doubt of measuring alone. "
    return f'{table(names, rows, "headline")}<p class="note">{note}</p>{_pairs(scores.pairs)}'


def _row(curve: Curve, number: int) -> list[str]:
    version = f" <small>{escape(curve.config.version)}</small>" if curve.config.version else ""
    name = f'<span class="key c{number % 7}"></span>{escape(curve.label)}{version}'
    found = curve.estimate
    if found is None:
        return [name, "0", "0"] + ["–"] * (len(AT) + 2 + len(SHARES))
    return [name, *_cells(found)]


def _cells(found: Estimate) -> list[str]:
    families = f"{found.families:,}{'!' if found.uncertain else ''}"
    cells = [_cell(found.at(which, t)) for which, t, _ in AT]
    cells += [_cell(found.graphnet), _cell(found.passbench)]
    cells += [f"{found.at(which, 0.0).value:.3f}" for which, _, _ in SHARES]
    return [f"{found.samples:,}", families, *cells]


def _cell(bounds: Bounds | None) -> str:
    if bounds is None:
        return "–"
    return f"<b>{bounds.value:.3f}</b> <small>{bounds.low:.3f} … {bounds.high:.3f}</small>"


def _pairs(pairs: tuple[Pair, ...]) -> str:
    """Which compiler is better; the intervals are those that the pairs were tested by."""
    rows = []
    for pair in pairs:
        verdict = "first is better" if pair.apart else "no significant difference"
        ratio = _cell(pair.ratio) if pair.graphs else "–"
        rows.append([
            escape(pair.first), escape(pair.second), ratio, f"{pair.graphs:,}",
            f"{pair.families:,}", f"{pair.p_value:.2g}",
            verdict if pair.graphs else "no graph in common",
        ])  # fmt: skip
    if not rows:
        return ""
    names = ["first", "second", "times", "graphs", "families", "p-value", "verdict"]
    note = "Intervals are as wide as so many tests at once need: a verdict is that 1 lies outside."
    return (
        f"<h3>Who is better, on the graphs both have</h3>{table(names, rows, 'pairs')}"
        f'<p class="note">{note}</p>'
    )


def _failures(clusters: list[FailureGroup], entries: list[PageEntry]) -> str:
    if not clusters:
        return "<p>None.</p>"
    blamed = [cluster for cluster in clusters if cluster.blamed]
    free = [cluster for cluster in clusters if not cluster.blamed]
    parts = ["".join(_cluster(cluster, entries) for cluster in blamed) or "<p>None.</p>"]
    if free:
        parts.append("<h3>Not the compiler's: too noisy, or the machine's doing</h3>")
        parts += [_cluster(cluster, entries) for cluster in free]
    return "".join(parts)


def _cluster(cluster: FailureGroup, entries: list[PageEntry]) -> str:
    who = ", ".join(f"{name} {n:,}" for name, n in cluster.compilers.most_common())
    examples = "".join(
        f'<li><a href="#graph={quote(entries[place].subject.id, safe="")}">'
        f"{escape(entries[place].subject.name)}</a> · {escape(entries[place].config.label)}</li>"
        for place in cluster.examples
    )
    headline = escape(headline_of(cluster.message) or "no message")
    alike = " <small>and alike</small>" if cluster.varied else ""
    return (
        f'<details class="cluster"><summary><b class="count">{cluster.count:,}</b>'
        f'<span class="stage">{cluster.stage} · {cluster.symptom}</span> '
        f"<code>{headline}</code>{alike}</summary><p>{escape(who)}</p>"
        f"<pre>{escape(cluster.message)}</pre><ul>{examples}</ul></details>\n"
    )
