"""Pictures: what is on them, in which files, and that colour is never all there is."""

from __future__ import annotations

import json
import math
import runpy
import sys
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from matplotlib.collections import PolyCollection

from graph_net import plot_ESt, plot_St, plot_violin
from graph_net.report.plots import PlotKind, draw
from graph_net.report.plots_curves import _corners, curves_figure
from graph_net.report.plots_lines import Line, line_of, lines_of, read_scores
from graph_net.report.plots_style import COLOURS, line_style, shorten
from graph_net.report.plots_violin import groups_of, violin_figure
from graph_net.results import RecordError, Stage, Symptom
from graph_net.score import Fault, Parameters, ScoredGraph, columns, score
from score.some_samples import record
from score.test_records_scored import stored

LOG = """P [Processing] samples/timm/resnet18
P [Datatype][eager]: float32
P [Datatype][compiled]: float32
P [DataType] eager:['float32'] compiled:['float32'] match:True
P [Correctness][equal]: 1
P [Correctness][all_close_atol_1.00E+00_rtol_1.00E+00]: 1
P [Speedup][e2e]: 1.5
"""


def samples(count: int = 40, category: str = "nlp", level: float = -4.5) -> list[ScoredGraph]:
    random = np.random.default_rng(0)
    return [
        ScoredGraph(math.exp(random.normal()), level, Fault.NONE, f"g{n}", f"f{n % 13}", category)
        for n in range(count)
    ]


def test_the_three_commands_take_graphnets_flags(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = tmp_path / "inductor.log"
    log.write_text(LOG, "utf-8")
    place = ["--benchmark-path", str(log), "--output-dir", str(tmp_path / "out")]
    numbers = ["--negative-speedup-penalty", "0.0", "--fpdb", "0.1"]
    extended = ["--positive-tolerance-interpretation", "mismatch_extended"]
    assert plot_St.main([*place, *numbers]) == 0
    assert plot_ESt.main([*place, *numbers, *extended]) == 0
    assert plot_violin.main(place) == 0
    made = {path.name for path in (tmp_path / "out").iterdir()}
    stems = ("St_result", "ESt_result", "Violin_Eval_Result")
    assert made == {f"{stem}.{kind}" for stem in stems for kind in ("png", "svg", "pdf")}
    assert str(tmp_path / "out/St_result.svg") in capsys.readouterr().out.split()


@pytest.mark.parametrize("name", ["plot_St", "plot_ESt", "plot_violin"])
def test_a_command_says_what_is_wrong_in_a_sentence(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", [name, "--benchmark-path", "/nowhere"])
    monkeypatch.delitem(sys.modules, f"graph_net.{name}", raising=False)
    with pytest.raises(SystemExit, match="1"):
        runpy.run_module(f"graph_net.{name}", run_name="__main__")
    assert capsys.readouterr().err.startswith("error: /nowhere does not exist")


def test_files_are_what_their_names_say_and_the_same_each_time(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_text(LOG, "utf-8")
    first = draw(PlotKind.EST, [tmp_path / "a.log"], tmp_path / "one")
    again = draw(PlotKind.EST, [tmp_path / "a.log"], tmp_path / "two")
    heads = {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}
    for one, two in zip(first, again, strict=True):
        data = one.read_bytes()
        assert data.startswith(heads[one.suffix[1:]])
        assert data == two.read_bytes()
        # Publishers refuse fonts of type 3.
        assert b"/Type3" not in data


def test_a_format_that_is_unknown_names_the_others(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_text(LOG, "utf-8")
    with pytest.raises(ValueError, match="gif'; available: png, svg, pdf"):
        draw(PlotKind.ST, [tmp_path / "a.log"], tmp_path, formats=["gif"])


def test_every_source_is_drawn(tmp_path: Path) -> None:
    log, result = tmp_path / "flat/a.log", tmp_path / "tree/cv/b.json"
    for path in (log, result):
        path.parent.mkdir(parents=True)
    log.write_text(LOG, "utf-8")
    data = {"eager": ["float32"], "compiled": ["float32"]}
    close = {"[equal]": [1], "[all_close_atol_1.00E+00_rtol_1.00E+00]": [1]}
    tree = {"performance": {"speedup": {"e2e": 2.0}, "datatype": data}, "correctness": close}
    result.write_text(json.dumps(tree), "utf-8")
    scores = tmp_path / "scores.json"
    scores.write_text(json.dumps({"tvm": {"-1": 0.5, "0": 0.7}}), "utf-8")
    records = stored(tmp_path / "records", [record("resnet18"), record("vit")])
    sources = [tmp_path / "flat", tmp_path / "tree", scores, records]
    assert [line.name for line in lines_of(sources, "es")] == ["a", "cv", "tvm", "inductor"]


def test_records_are_drawn_at_any_t_and_logs_at_whole_ones() -> None:
    fine = line_of("a", columns(samples(level=-4.53)), "s", Parameters())
    assert not fine.whole
    # The step lies where the records have it, not at the next whole level.
    assert fine.values[fine.ts == -4.5][0] > fine.values[fine.ts == -4.6][0] == pytest.approx(0.1)
    whole = line_of("a", columns(samples(level=-4.0)), "s", Parameters())
    assert (whole.whole, len(whole.ts)) == (True, 15)


def test_a_line_slopes_up_to_zero_and_jumps_beyond() -> None:
    ts = np.array([-1.0, 0.0, 1.0, 2.0])
    corners, places = _corners(Line("a", ts, ts, None, None, whole=True))
    assert list(zip(corners, places, strict=True)) == [
        (-1.0, 0), (0.0, 1), (1.0, 1), (1.0, 2), (2.0, 2), (2.0, 3),
    ]  # fmt: skip


def test_curves_have_values_bands_and_names() -> None:
    found = columns(samples())
    line = line_of("inductor", found, "es", Parameters(p=0.5))
    figure = curves_figure([line], "es", Parameters(p=0.5))
    (axes,) = figure.axes
    expected = score(found, Parameters(p=0.5)).es[0]
    marked = next(drawn for drawn in axes.lines if len(drawn.get_xdata()) == 15)  # type: ignore[arg-type]
    assert list(marked.get_ydata()) == pytest.approx(list(expected))  # type: ignore[arg-type]
    assert any(isinstance(drawn, PolyCollection) for drawn in axes.collections)
    assert [text.get_text() for text in figure.legends[0].texts] == ["inductor (n = 40)"]
    assert "p = 0.5, b = 0.1" in axes.get_title(loc="left")
    assert axes.get_ylabel() == "ES(t)"


def test_violins_stand_by_category_and_only_for_what_is_right() -> None:
    wrong = [ScoredGraph(99.0, None, Fault.ACCURACY, "w", "w", "nlp")]
    curves = {
        "inductor": columns([*samples(20), *samples(15, "vision"), *wrong]),
        "tvm": columns(samples(30)),
    }
    found = groups_of(curves)
    counts = {c: {n: len(logs) for n, logs in group.items()} for c, group in found.items()}
    assert counts == {"nlp": {"inductor": 20, "tvm": 30}, "vision": {"inductor": 15}}
    figure = violin_figure(curves)
    assert [tick.get_text() for tick in figure.axes[0].get_xticklabels()] == ["nlp", "vision"]
    assert len(figure.axes[0].collections) >= 3


def test_without_categories_each_curve_is_a_violin() -> None:
    curves = {name: columns(samples(20, "")) for name in ("a", "b")}
    assert {name: list(group) for name, group in groups_of(curves).items()} == {
        "a": ["a"],
        "b": ["b"],
    }


def test_folders_that_are_categories_are_a_violin_each() -> None:
    curves = {name: columns(samples(20, name)) for name in ("cv", "nlp")}
    assert [list(group) for group in groups_of(curves).values()] == [["cv"], ["nlp"]]


def test_nothing_right_is_nothing_to_draw(tmp_path: Path) -> None:
    failed = stored(tmp_path, [record("a", (Stage.COMPILE, Symptom.EXCEPTION))])
    with pytest.raises(RecordError, match="no result of these sources is correct"):
        draw(PlotKind.VIOLIN, [failed], tmp_path / "out")
    noisy = stored(tmp_path / "noisy", [record("a", (Stage.LOAD, Symptom.INFRASTRUCTURE))])
    with pytest.raises(RecordError, match="no measurement of these sources counts"):
        draw(PlotKind.ST, [noisy], tmp_path / "out")


@pytest.mark.parametrize("text", ["[]", "{}", '{"a": 1}', '{"0": "x"}', '{"0": -1}', '{"a": {}}'])
def test_json_that_is_no_score_is_not_taken_for_one(tmp_path: Path, text: str) -> None:
    path = tmp_path / "x.json"
    path.write_text(text, "utf-8")
    assert read_scores(path) is None


def test_no_two_lines_look_alike() -> None:
    looks = [tuple(map(str, line_style(number).values())) for number in range(28)]
    assert len(set(looks)) == len(looks)
    plain = {(str(line_style(n)["linestyle"]), line_style(n)["marker"]) for n in range(7)}
    assert len(plain) == 7, "without colour, dash and marker still differ"


# Machado, Oliveira and Fernandes (2009): how colours look without red or green receptors.
PROTAN = np.array([[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216],
                   [-0.003882, -0.048116, 1.051998]])  # fmt: skip
DEUTAN = np.array([[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413],
                   [-0.011820, 0.042940, 0.968881]])  # fmt: skip
TO_XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])


def lab(colour: str, eye: np.ndarray) -> np.ndarray:
    rgb = np.array([int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)])
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    xyz = TO_XYZ @ np.clip(eye @ linear, 0, 1) / np.array([0.9505, 1.0, 1.089])
    f = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


@pytest.mark.parametrize("eye", [np.eye(3), PROTAN, DEUTAN], ids=["all", "protan", "deutan"])
def test_colours_are_told_apart_by_every_eye(eye: np.ndarray) -> None:
    seen = [lab(colour, eye) for colour in COLOURS]
    assert min(float(np.linalg.norm(a - b)) for a, b in combinations(seen, 2)) > 12


def test_long_names_and_dollars_are_harmless() -> None:
    assert len(shorten("x" * 500)) <= 61
    figure = curves_figure(
        [line_of("$a_{$", columns(samples()), "s", Parameters())], "s", Parameters()
    )
    figure.savefig("/dev/null", format="png")
