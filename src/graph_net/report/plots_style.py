"""The style of pictures: colours everybody can distinguish, sizes that fit a column, files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Okabe and Ito's colours without their yellow, which is too faint for a line on white.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
# Colour is never the only difference: printed in grey, lines differ by dash and marker.
DASHES: tuple[Any, ...] = ("-", (0, (5, 1.5)), (0, (1.5, 1.2)), (0, (6, 1.5, 1.5, 1.5)))
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
GREY = "#6B6B6B"
FORMATS = ("png", "svg", "pdf")
NAMES = 60
"""Characters of a name before it is cut in the middle."""
STYLE: dict[Any, Any] = {
    "font.family": "DejaVu Sans",
    "font.size": 9,
    "axes.labelsize": 9,
    "axes.linewidth": 0.7,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "xtick.labelsize": 8,
    "ytick.labelsize": 8,
    "legend.fontsize": 8,
    "legend.frameon": False,
    "pdf.fonttype": 42,  # editable text; publishers refuse matplotlib's default, Type 3
    "svg.fonttype": "none",  # text stays text: small, searchable
    "svg.hashsalt": "graph-net",  # the same numbers give the same file
    "path.simplify": True,
}


@contextmanager
def plot_style() -> Iterator[None]:
    """Apply our style inside the block; matplotlib's own settings are left alone."""
    import matplotlib as mpl

    with mpl.rc_context(STYLE):
        yield


def new_figure(width: float, height: float) -> Figure:
    """Return an empty figure of a size in inches, not registered with pyplot."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def line_style(number: int) -> dict[str, Any]:
    """Return colour, dash and marker of the n-th line, unique among the first 28."""
    turn = number // len(COLOURS)
    return {
        "color": COLOURS[number % len(COLOURS)],
        "linestyle": DASHES[(number + 2 * turn) % len(DASHES)],
        "marker": MARKERS[(number + 3 * turn) % len(MARKERS)],
    }


def shorten(name: str) -> str:
    """Return a name that fits a legend."""
    # A dollar sign would be read as the start of a formula.
    text = name.replace("$", r"\$")
    if len(text) <= NAMES:
        return text
    return f"{text[: NAMES // 2]}…{text[-NAMES // 2 + 1 :]}"


def save(figure: Figure, folder: Path, stem: str, formats: Sequence[str] = FORMATS) -> list[Path]:
    """Save a figure and return its files, one per format."""
    unknown = [kind for kind in formats if kind not in FORMATS]
    if unknown or not formats:
        given = ", ".join(unknown) or "none"
        raise ValueError(f"unknown format {given!r}; available: {', '.join(FORMATS)}")
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for kind in formats:
        path = folder / f"{stem}.{kind}"
        # Without a date the same figure is the same file.
        stamp: dict[str, Any] = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(kind, {})
        with plot_style():
            figure.savefig(path, format=kind, dpi=300, metadata=stamp)
        paths.append(path)
    return paths
