"""``graph-net compare``, as a user or a CI job calls it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from compare.some_runs import stored, timed
from graph_net.cli.main import main
from graph_net.results import Config, ConfigKind, Stage, Subject, Symptom
from score.some_samples import record

HOSTILE = "a|b`</details>\n# heading [red]x[/red] @everyone\x1b[31m"


def call(*words: object) -> int:
    with pytest.raises(SystemExit) as stop:
        main([str(word) for word in words])
    return int(stop.value.code or 0)


@pytest.fixture
def runs(tmp_path: Path) -> tuple[Path, Path]:
    """A run and one in which a graph is slower, one breaks, and one is faster."""
    names = ["slow", "breaks", "quick", "same"]
    first = [timed(name, 2.0, seed) for seed, name in enumerate(names)]
    second = [
        timed("slow", 1.5, 10),
        record("breaks", (Stage.COMPILE, Symptom.CRASH)),
        timed("quick", 3.0, 11),
        timed("same", 2.0, 12),
    ]
    return stored(tmp_path / "a", first), stored(tmp_path / "b", second)


def test_the_exit_code_tells_a_regression(
    runs: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    assert call("compare", *runs) == 1
    said = capsys.readouterr()
    assert "Regression: 1 slower, 1 newly failing" in said.out
    assert all(word in said.out for word in ("slow", "quick", "compile crash"))
    assert "│ same " not in said.out
    assert call("compare", runs[0], runs[0]) == 0
    assert "No regression" in capsys.readouterr().out
    assert call("compare", *runs, "--all") == 1
    assert "│ same " in capsys.readouterr().out


def test_json_has_everything(runs: tuple[Path, Path], capsys: pytest.CaptureFixture[str]) -> None:
    assert call("compare", *runs, "--json") == 1
    found = json.loads(capsys.readouterr().out, parse_constant=lambda word: pytest.fail(word))
    assert found["regressions"] == 2
    assert found["counts"]["slower"] == 1
    changes = {row["graph"]: row["change"] for row in found["graphs"]}
    assert changes == {
        "slow": "slower",
        "breaks": "new failure",
        "quick": "faster",
        "same": "same",
    }


def test_markdown_has_the_answer_first_and_the_rest_folded(
    runs: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call("compare", *runs, "--markdown", "-") == 1
    said = capsys.readouterr().out
    assert said.startswith("### Regression: 1 slower, 1 newly failing\n")
    shown, folded = said.split("<details>", 1)
    assert "`slow`" in shown
    assert "`quick`" not in shown
    assert "`quick`" in folded
    assert said.count("<details>") == said.count("</details>")
    assert call("compare", *runs, "--markdown", tmp_path / "x.md") == 1
    assert (tmp_path / "x.md").read_text("utf-8") == said


def test_words_of_others_stay_words(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    subject = Subject("id", "id", HOSTILE)
    runs = [
        stored(tmp_path / str(speed), [timed("", speed, subject=subject)]) for speed in (2.0, 1.5)
    ]
    assert call("compare", *runs, "--markdown", "-") == 1
    said = capsys.readouterr().out
    (line,) = [line for line in said.splitlines() if "heading" in line]
    assert line.startswith("| `a\\|b'</details> # heading [red]x[/red] @everyone?[31m` |")
    assert call("compare", *runs) == 1
    assert "[red]x[/red]" in capsys.readouterr().out.replace("\n", "")


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["/nowhere", "/nowhere"], "does not exist"),
        (["A"], "--between OLD NEW"),
        (["A", "B", "--threshold", "0.5"], "--threshold"),
        (["A", "B", "--fdr", "2"], "--fdr"),
        (["A", "--between", "inductor", "glow"], "no records of 'glow'"),
        (["A", "B", "--compiler", "[x"], "is not a configuration"),
        (["A", "B", "--compiler", "inductor[mode]"], "is not key=value"),
        (["A", "EMPTY"], "holds no results"),
    ],
)
def test_a_question_without_sense_exits_with_2(
    runs: tuple[Path, Path],
    tmp_path: Path,
    words: list[str],
    why: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "empty").mkdir()
    places = {"A": runs[0], "B": runs[1], "EMPTY": tmp_path / "empty"}
    assert call("compare", *(places.get(word, word) for word in words)) == 2
    said = capsys.readouterr()
    assert why in said.err
    assert "Traceback" not in said.err


def test_a_damaged_part_exits_with_2(
    runs: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    (part,) = runs[1].glob("*.parquet")
    part.write_bytes(part.read_bytes()[:-9])
    assert call("compare", *runs) == 2
    assert capsys.readouterr().err.startswith("error: ")


@pytest.mark.parametrize(
    "word", ["mine.py:Traced", "work/mine.py:Traced", "work/mine.py", "ABSOLUTE"]
)
def test_a_compiler_of_ones_own_is_found_under_every_name_that_bench_takes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], word: str
) -> None:
    monkeypatch.chdir(tmp_path)
    own = Config(ConfigKind.COMPILER, f"{tmp_path / 'work' / 'mine.py'}:Traced", "1+abc", {})
    names = [f"net{number}" for number in range(4)]
    mine = [timed(name, 1.0, config=own) for name in names]
    place = stored(tmp_path / "records", [*mine, *(timed(name, 2.0) for name in names)])
    word = own.name if word == "ABSOLUTE" else word
    call("compare", place, "--between", word, "inductor")
    said = capsys.readouterr().out
    assert "4 faster" in said, said
    assert str(tmp_path / "work") not in said
