"""``graph-net variant``."""

from __future__ import annotations

from pathlib import Path

import pytest
import typer

from cli.calling import Cli
from graph_net.api.variant import eager_seconds
from graph_net.cli.variant import parse_bytes, parse_short, parse_size
from graph_net.corpus.pack import Pack, PackWriter
from graph_net.graph.execute import flat_outputs, run
from graph_net.testing.models import case_graph


@pytest.fixture
def pack(tmp_path: Path) -> Path:
    path = tmp_path / "some.pack"
    with PackWriter(path) as writer:
        writer.add("residual", case_graph("residual"))
    return path


def test_a_variant_is_added_to_a_pack(tmp_path: Path, cli: Cli, pack: Path) -> None:
    place = tmp_path / "variants"
    answer = cli(
        *("variant", f"{pack}:residual", "--set", "batch=3", "--dtype", "bfloat16", "-o", place)
    )
    assert answer.code == 0, answer.err
    (name,) = Pack(place).names()
    assert name == "residual@batch=3@bfloat16"
    made = Pack(place).graph(name)
    (leaf,) = flat_outputs(run(made))
    assert leaf.shape[0] == 3
    assert made.provenance.option("variant_of") == Pack(pack).graph("residual").id


def test_memory_and_training_go_together(tmp_path: Path, cli: Cli, pack: Path) -> None:
    place = tmp_path / "variants"
    answer = cli(
        *("variant", f"{pack}:residual", "--fits", "1MB", "--training", "joint"),
        *("--name", "mine", "-o", place),
    )
    assert answer.code == 0, answer.err
    made = Pack(place).graph("mine")
    assert made.provenance.option("variant_fits_bytes") == 1_000_000
    assert made.provenance.option("mode") == "training"


def test_names_that_are_public_stay(tmp_path: Path, cli: Cli, pack: Path) -> None:
    place = tmp_path / "variants"
    assert cli("variant", f"{pack}:residual", "--public", "-o", place).code == 0
    made = Pack(place).graph("residual@public")
    assert made.id == Pack(pack).graph("residual").id


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "name a change"),
        (("--set", "batch"), "'batch' is not a size; write batch=8"),
        (("--fits", "much"), "'much' is not a size of memory"),
        (("--about", "soon"), "'soon' is not a duration"),
        (("--dtype", "int8"), "no variant has dtype 'int8'; known: bfloat16, float16"),
        (("--set", "sequence=4"), "no input has a size called 'sequence'"),
        (("--training", "twice"), "choose one of joint, forward, backward"),
    ],
)
def test_mistakes_are_answered_in_a_sentence(
    tmp_path: Path, cli: Cli, pack: Path, words: tuple[str, ...], said: str
) -> None:
    answer = cli("variant", f"{pack}:residual", *words, "-o", tmp_path / "variants")
    assert answer.code in (1, 2)
    assert said in " ".join(answer.err.replace("│", " ").split())
    assert "Traceback" not in answer.err
    assert not (tmp_path / "variants").exists()


def test_sizes_and_times_are_read() -> None:
    assert parse_size("batch=8") == ("batch", 8)
    assert [parse_bytes(t) for t in ("2GB", "512MiB", "7", "1.5k")] == [2 * 10**9, 2**29, 7, 1500]
    assert [parse_short(t) for t in ("10ms", "1s", "250us")] == pytest.approx([0.01, 1.0, 2.5e-4])
    with pytest.raises(typer.BadParameter):
        parse_bytes("2 lots")


def test_a_run_takes_time() -> None:
    assert eager_seconds(case_graph("residual")) > 0
