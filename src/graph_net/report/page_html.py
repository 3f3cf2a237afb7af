"""The page without its program: headings, headline scores, failures, the environment.

Everything that comes from records goes through ``escape``. Sections that the program draws are
empty here.
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
    control_table,
    device_tables,
    excluded_table,
    protocol_tables,
    roofline_table,
    table,
)
from graph_net.results import Interval
from graph_net.results.signature import headline_of
from graph_net.score import Estimate, Pair, Parameters

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


def html_head(title: str, policy: str, style: str) -> str:
    """Return the beginning of the page, up to its body."""
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{escape(policy)}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        f"<title>{escape(title)} · GraphNet report</title>\n<style>{style}</style>\n</head>\n"
    )


def html_body(
    title: str,
    version: str,
    entries: list[PageEntry],
    scores: Scores,
    clusters: list[FailureGroup],
    parameters: Parameters,
    programs: PagePrograms,
) -> str:
    """Return all sections that have something to show; the program fills the empty ones."""
    shown = sections_shown(entries, programs)
    links = "".join(f'<a href="#{name}">{text}</a>' for name, text in shown.items())
    sections = html_sections(entries, scores, clusters, parameters, shown)
    counts = count_measurements(entries, scores) if entries else ""
    if programs.tasks:
        tasks = count_phrase(len(programs.tasks), "task")
        counts += f"{count_phrase(programs.programs, 'program')} of {tasks}. "
    return (
        f"<body>\n<header><h1>{escape(title)}</h1><p>{counts}Made {escape(version)}.</p>"
        f"<nav>{links}</nav></header>\n<main>\n{sections}</main>\n"
        '<article id="view" hidden></article>\n'
        "<noscript><p>Curves, tables of graphs and tasks, and drawings need JavaScript.</p>"
        "</noscript>\n"
    )


def sections_shown(entries: list[PageEntry], programs: PagePrograms) -> dict[str, str]:
    """Return the headings of the sections that have something to show."""
    return {
        name: text
        for name, text in SECTIONS.items()
        if (programs.tasks if name == "programs" else entries)
    }


def html_sections(
    entries: list[PageEntry],
    scores: Scores,
    clusters: list[FailureGroup],
    parameters: Parameters,
    shown: dict[str, str],
    links: str = "#graph=",
) -> str:
    """Return the sections' static content; ``links`` precede the id of a graph."""
    inner = {}
    if entries:
        inner = {
            "scores": _scores(scores, parameters) + excluded_table(entries, scores),
            "failures": _failures(clusters, entries, links),
            "control": control_table(entries, scores),
            "environment": device_tables(entries)
            + roofline_table(entries)
            + protocol_tables(entries),
        }
    return "".join(
        f'<section id="{name}"><h2>{text}</h2>{inner.get(name, "")}</section>\n'
        for name, text in shown.items()
    )


def count_measurements(entries: list[PageEntry], scores: Scores) -> str:
    """Return a sentence with the number of measurements, graphs and configurations."""
    graphs = len({entry.subject.id for entry in entries})
    excluded = sum(entry.sample is None for entry in entries)
    verb = "is" if excluded == 1 else "are"
    return (
        f"{count_phrase(len(entries), 'measurement')} of {count_phrase(graphs, 'graph')} under "
        f"{count_phrase(len(scores.curves), 'configuration')}; {excluded:,} {verb} "
        "excluded from scores and listed apart. "
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
        "by side; 95 % intervals cover the choice of model families (1,000 draws) and the error "
        "of each measurement. The control is eager against itself in the same measurements: its "
        "distance from 1 is noise. "
    )
    if few:
        note += "! fewer than ten families: intervals do not cover failures that none shows. "
    if any(c.estimate is not None and c.estimate.alone for c in scores.curves):
        note += "One family: intervals of measuring alone, not over graphs. "
    return f'{table(names, rows, "headline")}<p class="note">{note}</p>{_pairs(scores.pairs)}'


def _row(curve: Curve, number: int) -> list[str]:
    version = f" <small>{escape(curve.config.version)}</small>" if curve.config.version else ""
    name = f'<span class="key c{number % 7}"></span>{escape(curve.label)}{version}'
    if curve.estimate is None:
        return [name, "0", "0"] + ["–"] * (len(AT) + 2 + len(SHARES))
    return [name, *_cells(curve.estimate)]


def _cells(scores: Estimate) -> list[str]:
    families = f"{scores.families:,}{'!' if scores.uncertain else ''}"
    cells = [_cell(scores.at(which, t)) for which, t, _ in AT]
    cells += [_cell(scores.graphnet), _cell(scores.passbench)]
    cells += [f"{scores.at(which, 0.0).value:.3f}" for which, _, _ in SHARES]
    return [f"{scores.samples:,}", families, *cells]


def _cell(score: Interval | None) -> str:
    if score is None:
        return "–"
    return f"<b>{score.value:.3f}</b> <small>{score.low:.3f} … {score.high:.3f}</small>"


def _pairs(pairs: tuple[Pair, ...]) -> str:
    """Return a table of pairs; the intervals are those that the pairs were tested by."""
    rows = []
    for pair in pairs:
        verdict = "first is better" if pair.significant else "no significant difference"
        ratio = _cell(pair.ratio) if pair.graphs else "–"
        rows.append([
            escape(pair.first), escape(pair.second), ratio, f"{pair.graphs:,}",
            f"{pair.families:,}", f"{pair.p_value:.2g}",
            verdict if pair.graphs else "no graph in common",
        ])  # fmt: skip
    if not rows:
        return ""
    names = ["first", "second", "times", "graphs", "families", "p-value", "verdict"]
    note = "Intervals are corrected for the number of tests; significant if 1 lies outside."
    return (
        f"<h3>Pairs, on the graphs both have</h3>{table(names, rows, 'pairs')}"
        f'<p class="note">{note}</p>'
    )


def _failures(clusters: list[FailureGroup], entries: list[PageEntry], links: str) -> str:
    if not clusters:
        return "<p>None.</p>"
    blamed = [cluster for cluster in clusters if cluster.blamed]
    excluded = [cluster for cluster in clusters if not cluster.blamed]
    parts = ["".join(_cluster(cluster, entries, links) for cluster in blamed) or "<p>None.</p>"]
    if excluded:
        parts.append("<h3>Not the compiler's: too noisy, or caused by the machine</h3>")
        parts += [_cluster(cluster, entries, links) for cluster in excluded]
    return "".join(parts)


def _cluster(cluster: FailureGroup, entries: list[PageEntry], links: str) -> str:
    compilers = ", ".join(f"{name} {n:,}" for name, n in cluster.compilers.most_common())
    examples = "".join(
        f'<li><a href="{escape(links)}{quote(entries[index].subject.id, safe="")}">'
        f"{escape(entries[index].subject.name)}</a> · {escape(entries[index].config.label)}</li>"
        for index in cluster.examples
    )
    headline = escape(headline_of(cluster.message) or "no message")
    alike = " <small>and alike</small>" if cluster.varied else ""
    return (
        f'<details class="cluster"><summary><b class="count">{cluster.count:,}</b>'
        f'<span class="stage">{cluster.stage} · {cluster.symptom}</span> '
        f"<code>{headline}</code>{alike}</summary><p>{escape(compilers)}</p>"
        f"<pre>{escape(cluster.message)}</pre><ul>{examples}</ul></details>\n"
    )
