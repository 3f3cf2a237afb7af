"""``graph-net score`` and ``graph-net plot``, as a user calls them."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from graph_net.cli import score
from graph_net.cli.main import main
from graph_net.display.terminal import Terminal
from graph_net.results import Interval, Stage, Symptom
from score.some_samples import CONFIG, record, timing
from score.test_records_scored import stored

TVM = replace(CONFIG, name="tvm")


def call(*words: object) -> int:
    with pytest.raises(SystemExit) as stop:
        main([str(word) for word in words])
    return int(stop.value.code or 0)


@pytest.fixture
def two(tmp_path: Path) -> Path:
    """Records of a compiler that always doubles the speed and of one that halves it."""
    names = [f"{'abcdefghijklm'[n]}net" for n in range(12)]
    fast = [record(name, speedup=2.0) for name in names]
    slow = [record(name, speedup=0.5, config=TVM) for name in names]
    noisy = record("noisynet", (Stage.MEASURE, Symptom.TOO_NOISY), config=TVM)
    return stored(tmp_path / "records", [*fast, *slow, noisy])


def test_the_table_ranks_and_tells_apart(two: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert call("score", two) == 0
    said = capsys.readouterr()
    assert "speedups: paired ratios" in said.out
    assert "eager (control)" in said.out
    rows = [line for line in said.out.splitlines() if "inductor" in line or "tvm" in line]
    assert "inductor" in rows[0], "the best comes first"
    assert [word in rows[0] for word in ("2.000", "12")] == [True, True]
    assert "0.500" in rows[1]
    assert "first is better" in " ".join(said.out.split())
    assert "no significant difference" not in said.out
    assert "4.000" in rows[2] or "3." in rows[2]
    assert "tvm: 1 too noisy: outputs count, without a speedup" in said.err
    assert all(word in said.out for word in ("α", "β", "λ", "η", "S(-5)", "S(0)", "ES(3)"))


def test_json_is_es_by_curve_and_t(two: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert call("score", two, "--json", "--p", "1", "--b", "0.2") == 0
    found = json.loads(capsys.readouterr().out)
    assert list(found) == ["inductor", "tvm"]
    assert list(found["tvm"]) == [str(t) for t in range(-10, 5)]
    assert found["tvm"]["-10"] == pytest.approx(0.2)
    assert found["tvm"]["0"] == pytest.approx(0.25), "p = 1 squares a slowdown"
    assert found["inductor"]["0"] == pytest.approx(2.0)


def test_a_log_is_scored_as_upstream_does(
    real_files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = real_files / "graphnet"
    assert call("score", folder / "inductor_h200.log", "--json") == 0
    (scores,) = json.loads(capsys.readouterr().out).values()
    expected = json.loads((folder / "inductor_h200.es_p0_b0.1.json").read_text())
    assert scores == pytest.approx(expected)


def test_the_interpretation_is_an_option(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    failed = stored(tmp_path, [record("a", (Stage.FIRST_RUN, Symptom.EXCEPTION))])
    found = {}
    for name in ("default", "paper"):
        assert call("score", failed, "--json", "--interpretation", name) == 0
        found[name] = json.loads(capsys.readouterr().out)["inductor"]["2"]
    assert found == {"default": pytest.approx(0.1), "paper": 1.0}


def test_the_aggregate_is_an_option(two: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert call("score", two, "--aggregate", "passbench") == 0
    said = capsys.readouterr().out
    assert " AS " in said
    assert "aggregate" not in said


def test_few_families_are_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert call("score", stored(tmp_path, [record("anet"), record("bnet")])) == 0
    assert "fewer than 10 model families" in capsys.readouterr().err


def test_of_one_graph_there_is_no_interval_over_graphs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    unsure = replace(timing(2.0), speedup=Interval(2.0, 1.5, 2.5))
    assert call("score", stored(tmp_path / "unsure", [record("a", timing=unsure)])) == 0
    said = capsys.readouterr()
    assert "one model family: no interval over graphs" in said.err
    assert "2.000" in said.out
    assert re.search(r"1\.[56]\d\d…2\.[45]\d\d", said.out)  # 2 / 1.33^0.76 … 2 · 1.33^0.76
    assert call("score", stored(tmp_path / "sure", [record("a")])) == 0
    said = capsys.readouterr()
    assert "no interval" in said.out
    assert "2.000…" not in said.out


def test_of_a_log_the_table_says_what_its_speedups_are(
    real_files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call("score", real_files / "graphnet/inductor_h200.log") == 0
    said = capsys.readouterr().out
    assert "speedups: ratios of medians" in said
    assert "intervals over model families " in said
    assert "control" not in said


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["score", "/nowhere"], "does not exist"),
        (["score", ".", "--b", "0"], "0 < b"),
        (["score", ".", "--interpretation", "kind"], "available: default"),
        (["score", ".", "--confidence", "2"], "between"),
        (["score", ".", "--aggregate", "mean"], "available: graphnet, passbench"),
        (["plot", "/nowhere"], "does not exist"),
    ],
)
def test_errors_are_a_sentence(
    words: list[str], why: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call(*words) == 1
    assert why in capsys.readouterr().err


def test_plot_draws_all_pictures(two: Path, tmp_path: Path) -> None:
    assert call("plot", two, "-o", tmp_path / "out", "--formats", "svg") == 0
    names = sorted(path.name for path in (tmp_path / "out").iterdir())
    assert names == ["ESt_result.svg", "St_result.svg", "Violin_Eval_Result.svg"]


def test_plot_draws_one_picture(two: Path, tmp_path: Path) -> None:
    words = ("plot", two, "-o", tmp_path / "out", "--kind", "est", "--formats", "pdf,png")
    assert call(*words) == 0
    names = sorted(path.name for path in (tmp_path / "out").iterdir())
    assert names == ["ESt_result.pdf", "ESt_result.png"]


def test_a_score_that_is_partly_eagers_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    taken = [{"compiled_graphs": 2, "graph_breaks": 1}, {"compiled_graphs": 0, "graph_breaks": 1}]
    records = [record(f"m{n}", environment=each) for n, each in enumerate(taken)]
    assert call("score", stored(tmp_path, records)) == 0
    said = " ".join(capsys.readouterr().err.split())
    assert "of 2 graphs 1 taken in pieces" in said
    assert "1 not compiled at all" in said


def test_at_80_columns_every_number_is_whole(
    two: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(score, "out", Terminal(width=80))
    assert call("score", two) == 0
    shown = capsys.readouterr().out
    assert max(map(len, shown.splitlines())) <= 80
    assert len(re.findall(r"\d\.\d{3}…-?\d\.\d{3}", shown)) == 3 * 8 + 1
