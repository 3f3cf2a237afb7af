"""A folder of samples, and the command line called in this process."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
import torch

import oracle
from cli.calling import Answer, Cli
from formats.small_models import SMALL
from graph_net.cli.main import main


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str]) -> Cli:
    """Runs ``graph-net`` with these words."""

    def run(*words: str | Path) -> Answer:
        capsys.readouterr()
        with pytest.raises(SystemExit) as caught:
            main([str(word) for word in words])
        printed = capsys.readouterr()
        code = caught.value.code
        return Answer(code if isinstance(code, int) else 0, printed.out, printed.err)

    return run


@pytest.fixture(scope="session")
def _zoo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("cli") / "zoo"
    for name in ("residual", "gpt_cuda", "noisy", "breaks"):
        small = SMALL[name]
        with torch.random.fork_rng():
            torch.manual_seed(0)
            oracle.extract(
                small.build().eval(), small.inputs(), root / name, device_text=small.device_text
            )
    return root


@pytest.fixture
def zoo(_zoo: Path, tmp_path: Path) -> Path:
    """A folder with five samples, two of them of one model; a copy that a test may change."""
    return Path(shutil.copytree(_zoo, tmp_path / "zoo"))


@pytest.fixture
def pack(zoo: Path, tmp_path: Path, cli: Cli) -> Path:
    """A pack of all five."""
    assert cli("import", zoo, "-o", tmp_path / "pack", "-j", "1").code == 0
    return tmp_path / "pack"


@pytest.fixture
def bad(zoo: Path) -> Path:
    """The same folder with a sixth sample that cannot be read."""
    directory = Path(shutil.copytree(zoo / "noisy", zoo / "bad"))
    source = (directory / "model.py").read_text()
    (directory / "model.py").write_text(source.replace("torch.rand_like", "torch.load"))
    return zoo
