"""Tables of the measurement conditions: device, protocol, noise, excluded measurements."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from html import escape
from itertools import product

import numpy as np

from graph_net.measure.protocol import VERSION, Protocol
from graph_net.printable import count_phrase
from graph_net.report.page_rows import CurveKey, PageEntry
from graph_net.report.page_scores import Scores
from graph_net.results import BLAMELESS, ProtocolSettings, Symptom
from graph_net.roofline.floor import SUSPECTS, Headroom

USUAL_SECONDS = (5.0, 0.1, 0.2, 0.5, 1.0, 2.0, 3.0, 4.0, 10.0, 15.0, 20.0, 30.0, 60.0)
"""Common values of ``bench --seconds``: earlier records have only a hash of their settings."""


def table(names: Sequence[str], rows: Sequence[Sequence[str]], kind: str = "") -> str:
    """Return a table of cells that are HTML already."""
    heads = "".join(f'<th scope="col">{name}</th>' for name in names)
    lines = "".join(f"<tr>{_cells(names, row)}</tr>\n" for row in rows)
    return (
        f'<div class="wide"><table class="{kind}"><thead><tr>{heads}</tr></thead>'
        f"<tbody>{lines}</tbody></table></div>"
    )


def _cells(names: Sequence[str], row: Sequence[str]) -> str:
    """Return cells that carry the name of their column, for screens too narrow for a heading."""
    plain = [escape(re.sub(r"<[^>]*>", "", name)) for name in names]
    return "".join(
        f'<td data-name="{name}">{cell}</td>' if name else f"<td>{cell}</td>"
        for name, cell in zip(plain, row, strict=True)
    )


def excluded_table(entries: list[PageEntry], scores: Scores) -> str:
    """Return how many measurements of each compiler are excluded from scores, and why."""
    excluded = [entry for entry in entries if entry.sample is None]
    noisy = sum(entry.too_noisy for entry in entries)
    note = f"{noisy:,} were too noisy: their outputs count, without a speedup." if noisy else ""
    if not excluded:
        return f'<p class="note" id="not-counted">Every measurement counts. {note}</p>'
    symptoms = [symptom for symptom in Symptom if symptom in BLAMELESS]
    counts = Counter((e.curve, e.failure.symptom) for e in excluded if e.failure is not None)
    rows = [
        [escape(scores.curves[index].label), *(f"{counts[curve, name]:,}" for name in symptoms)]
        for curve, index in scores.index.items()
        if any(counts[curve, name] for name in symptoms)
    ]
    names = ["compiler", *(str(symptom).replace("_", " ") for symptom in symptoms)]
    below = f'<p class="note">{note}</p>' if note else ""
    return f'<div id="not-counted"><h3>Excluded from scores</h3>{table(names, rows)}{below}</div>'


def control_table(entries: list[PageEntry], scores: Scores) -> str:
    """Return eager's distance from itself, the noise floor, by compiler."""
    groups: dict[CurveKey, list[tuple[float, float, float]]] = defaultdict(list)
    for entry in entries:
        if entry.measured is not None:
            groups[entry.curve].append(entry.measured.noise)
    rows = []
    for curve, index in scores.index.items():
        if groups[curve]:
            value, low, high = np.array(groups[curve]).T
            off = np.abs(np.log(value))
            holds = np.mean((low <= 1) & (high >= 1))
            spread = [f"{np.expm1(np.quantile(off, share)):.2%}" for share in (0.5, 0.95, 1)]
            label = escape(scores.curves[index].label)
            rows.append([label, f"{len(value):,}", *spread, f"{holds:.1%}"])
    if not rows:
        return "<p>Nothing was timed.</p>"
    names = [
        "compiler",
        "timed",
        "off by: median",
        "95th percentile",
        "worst",
        "contains 1",
    ]
    return (
        "<p>Eager is measured twice in every timing, the second time as the control. Nothing "
        "changed between the two, so their difference is noise, and no verdict is given "
        "within it. Honest intervals contain 1 about as often as the protocol's confidence says: "
        f"99 % unless it was changed.</p>{table(names, rows, 'noise')}"
    )


def device_tables(entries: list[PageEntry]) -> str:
    """Return the devices and their load."""
    groups: dict[str, list[PageEntry]] = defaultdict(list)
    for entry in entries:
        groups[entry.device.hash].append(entry)
    parts = []
    for members in groups.values():
        device = members[0].device
        times = sorted(entry.started for entry in members if entry.started)
        loads = [entry.load for entry in members if entry.load is not None]
        facts = {
            "kind": device.kind,
            "cores, threads used": f"{device.cores}, {device.threads}",
            "memory": f"{device.memory_bytes / 2**30:.1f} GiB",
            "system": device.system,
            "python": device.python,
            **dict(device.software),
            "measurements": f"{len(members):,}",
            "from, to": f"{times[0]} … {times[-1]}" if times else "",
            "load, median and worst": f"{np.median(loads):.2f}, {max(loads):.2f}" if loads else "",
        }
        rows = [[escape(key), escape(str(value))] for key, value in facts.items() if value]
        parts.append(f"<h3>{escape(device.name)}</h3>{table(['', ''], rows, 'facts')}")
    return "".join(parts)


def roofline_table(entries: list[PageEntry]) -> str:
    """Return how near measurements come to their floors; impossible ones are flagged."""
    groups: dict[str, list[Headroom]] = defaultdict(list)
    for entry in entries:
        if entry.headroom is not None:
            groups[entry.config.label].append(entry.headroom)
    if not groups:
        return (
            '<p class="note" id="roofline">No roofline was measured for these records; '
            "<code>graph-net roofline RECORDS</code> adds floors and headroom.</p>"
        )
    rows = []
    for label, members in sorted(groups.items()):
        ratios = [headroom.ratio for headroom in members if headroom.ratio is not None]
        spread = [f"{np.quantile(ratios, s):.3g}×" if ratios else "–" for s in (0, 0.5)]
        unknown = f"{len(members) - len(ratios):,}"
        bounds = Counter(headroom.floor.bound for headroom in members)
        bound_by = ", ".join(f"{n:,} by {bound}" for bound, n in bounds.most_common())
        impossible = sum(headroom.impossible for headroom in members)
        counts = f"{len(members):,}", unknown
        rows.append([escape(label), *counts, *spread, escape(bound_by), f"{impossible:,}"])
    names = ["compiler", "with a floor", "FLOPs unknown", "nearest to it", "median", "bound",
             "impossible"]  # fmt: skip
    warning = ""
    if any(headroom.impossible for members in groups.values() for headroom in members):
        warning = f'<p class="warning">Some are faster than this machine can be: {SUSPECTS}.</p>'
    return f'<div id="roofline"><h3>Headroom</h3>{warning}{table(names, rows)}</div>'


def protocol_tables(entries: list[PageEntry]) -> str:
    """Return the settings of every protocol."""
    counts = Counter(entry.protocol for entry in entries)
    settings = {entry.protocol: entry.settings for entry in entries if entry.settings is not None}
    parts = []
    if len(counts) > 1:
        parts.append(
            f'<p class="warning">{len(counts)} protocols: compare measurements within one only.</p>'
        )
    for name, count in counts.most_common():
        parts.append(
            f"<h3>Protocol <code>{escape(name[:12])}</code>, "
            f"{count_phrase(count, 'measurement')}</h3>"
        )
        parts.append(_settings(name, settings.get(name)))
    return "".join(parts)


def _find_settings(name: str) -> ProtocolSettings | None:
    """Return the settings with this hash, if they are common ones."""
    for version, seconds in product(range(1, VERSION + 1), USUAL_SECONDS):
        settings = ProtocolSettings(version, Protocol(seconds=seconds).settings.values)
        if settings.hash == name:
            return settings
    return None


def _settings(name: str, stored: ProtocolSettings | None) -> str:
    settings = stored or _find_settings(name)
    if settings is None:
        return "<p>These records are of an earlier version, which did not store its settings.</p>"
    rows = [[escape(key), escape(str(value))] for key, value in sorted(settings.values.items())]
    return table(["", ""], [*rows, ["version", str(settings.version)]], "facts")
