"""Read measured layouts for a study."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from graph_net.configs.layouts.layout_examples import GraphLayouts
    from graph_net.learn.studies.layout_folds import LayoutStudyData


def read_study_layouts(name: str, data: Path, others: Path | None) -> tuple[LayoutStudyData, str]:
    """Return layouts that eager ran, and others to judge on, with the digest of their files.

    For ``layout_compilers`` the others are what Inductor ran, of the same files if none are named.
    """
    from graph_net.api.layout_examples import read_layout_examples
    from graph_net.learn.learning_set import LearnError
    from graph_net.learn.studies.layout_folds import FEWEST, LayoutStudyData
    from graph_net.learn.studies.layout_questions import LayoutCompilers

    compares = name == LayoutCompilers.name
    second = others or (data if compares else None)
    for path in (data, second):
        if path is not None and not path.exists():
            raise LearnError(f"{path} does not exist: name a platform of layouts, or a journal")
    own = [one for one in read_layout_examples(data, compiler="eager") if len(one) >= FEWEST]
    if not own:
        raise LearnError(f"{data} has no graph with {FEWEST} layouts by eager")
    compiler = "inductor" if compares else "eager"
    beside = read_layout_examples(second, compiler=compiler) if second else []
    if not compares:
        in_set = {one.graph for one in own}
        beside = [one for one in beside if len(one) >= FEWEST and one.graph not in in_set]
    digest = " ".join(_digest(path) for path in (data, second) if path is not None)
    return LayoutStudyData(tuple(own), tuple(beside)), digest


def about_layouts(data: LayoutStudyData, seeds: int) -> str:
    """Return a sentence on the data."""
    told = _counted(data.graphs)
    told += f"; beside them {_counted(data.others)}" if data.others else ""
    return f"{told}; {seeds} seeds, mean and deviation."


def _counted(graphs: tuple[GraphLayouts, ...]) -> str:
    from graph_net.learn.studies.layout_folds import family

    families = len({family(one) for one in graphs})
    return f"{sum(map(len, graphs)):,} layouts of {len(graphs)} graphs of {families} families"


def _digest(path: Path) -> str:
    from graph_net.store.files import open_regular

    state = sha256()
    for part in sorted(path.glob("*.parquet")) if path.is_dir() else [path]:
        state.update(f"{part.name}\n".encode())
        with open_regular(part) as file:
            while block := file.read(1 << 20):
                state.update(block)
    return state.hexdigest()
