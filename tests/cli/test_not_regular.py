"""A FIFO where a file should be is one sentence at once, and the work on the others goes on."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from cli.calling import Cli
from graph_net.corpus.pack import Pack


@pytest.fixture
def pipe(tmp_path: Path) -> Path:
    """A FIFO that nobody writes to: whoever opens it to read waits for ever."""
    os.mkfifo(tmp_path / "pipe.json")
    return tmp_path / "pipe.json"


@pytest.mark.parametrize(
    "words",
    [
        ["show", "PIPE"],
        ["run", "PIPE"],
        ["list", "PIPE"],
        ["score", "PIPE"],
        ["compare", "PIPE", "PIPE"],
        ["ingest", "PIPE"],
        ["validate", "PACK", "--names", "PIPE"],
        ["bench", "PACK", "--compilers", "FILE"],
        ["plot", "PIPE"],
        ["import", "FOLDER", "-o", "OUT"],
        ["query", "SELECT 1", "-r", "FOLDER"],
        ["programs", "show", "-r", "FOLDER"],
    ],
    ids=lambda words: words[0],
)
def test_a_pipe_is_one_sentence(cli: Cli, pack: Path, pipe: Path, words: list[str]) -> None:
    folder = pipe.parent / "folder"
    folder.mkdir()
    for name in ("a.json", "part-00000.parquet", "programs-2-0.parquet"):
        os.mkfifo(folder / name)
    (pipe.parent / "mine.py").symlink_to(pipe)
    places = {"PIPE": pipe, "PACK": pack, "FOLDER": folder, "OUT": pipe.parent / "out",
              "FILE": pipe.parent / "mine.py"}  # fmt: skip
    answer = cli(*(places.get(word, word) for word in words))
    assert answer.code != 0
    assert answer.err.count("\n") == 1
    assert "Traceback" not in answer.err


def test_a_golden_run_that_is_a_pipe_is_damaged(cli: Cli, pipe: Path) -> None:
    answer = cli("verify", pipe.parent)
    assert answer.code == 2
    assert "1 damaged" in answer.err
    assert "FIFO" in answer.out


def test_samples_beside_one_that_is_a_pipe_are_imported(
    cli: Cli, zoo: Path, tmp_path: Path
) -> None:
    (zoo / "noisy" / "weight_meta.py").unlink()
    os.mkfifo(zoo / "noisy" / "weight_meta.py")
    answer = cli("import", zoo, "-o", tmp_path / "out", "-j", "2")
    assert answer.code == 3
    assert "weight_meta.py cannot be read: it is a FIFO" in answer.out
    assert len(Pack(tmp_path / "out")) == 4


def test_samples_beside_one_whose_name_is_not_utf8_are_imported_and_validated(
    cli: Cli, zoo: Path, tmp_path: Path
) -> None:
    (zoo / "noisy").rename(zoo / os.fsdecode(b"nois\xe9"))
    answer = cli("import", zoo, "-o", tmp_path / "out", "-j", "2")
    assert answer.code == 3
    assert r"nois\xe9" in answer.out
    assert len(Pack(tmp_path / "out")) == 4
    answer = cli("validate", zoo, "-j", "2")
    assert answer.code == 1
    assert r"nois\xe9" in answer.out
    assert "5 graphs" in answer.err
    assert "1 failed" in answer.err


def test_a_sample_whose_name_is_not_utf8_is_one_sentence(cli: Cli, zoo: Path) -> None:
    (zoo / "noisy").rename(zoo / os.fsdecode(b"nois\xe9"))
    answer = cli("run", zoo / os.fsdecode(b"nois\xe9"))
    assert answer.code == 1
    assert r"the name nois\xe9 is not UTF-8" in answer.err


def test_samples_beside_one_whose_name_is_not_utf8_are_measured(
    cli: Cli, zoo: Path, tmp_path: Path
) -> None:
    for name in ("gpt_cuda", "residual", "breaks"):
        (zoo / name).rename(tmp_path / name)
    (tmp_path / "residual").rename(zoo / os.fsdecode(b"residu\xe9"))
    words = ("--compilers", "eager", "--seconds", "0.05", "--threads", "1", "-j", "1")
    answer = cli("bench", zoo, *words, "-o", tmp_path / "records")
    assert answer.code == 0
    assert r"residu\xe9: load" in answer.err
    assert "noisy: " in answer.err
