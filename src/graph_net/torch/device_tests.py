"""What GraphNet's two device tests share: flags, the choice of samples, paths of logs."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from graph_net.formats.graphnet import find_samples
from graph_net.formats.graphnet.device_log import PROMPT
from graph_net.graph import GraphError
from graph_net.store.files import read_text
from graph_net.torch.test_compiler import options_of, samples_of

OP_LIBS = ("default", "origin")
_CORPUS = "torch_samples/"


def make_device_parser(program: str, description: str) -> argparse.ArgumentParser:
    """Return a parser with the flags of both tests."""
    parser = argparse.ArgumentParser(prog=f"python -m {program}", description=description)
    parser.add_argument("--model-path", required=True, help="a sample, or a directory of samples")
    parser.add_argument(
        "--reference-dir", required=True, help="where the golden run and its logs are"
    )
    parser.add_argument("--device", default="cuda", help="cpu or cuda")
    parser.add_argument(
        "--op-lib", default="default", help="default, or origin for what the reference had"
    )
    parser.add_argument("--log-prompt", default=PROMPT)
    parser.add_argument("--allow-list", help="a file with one sample path per line")
    parser.add_argument("--config", help="the compiler's options: JSON, a file of it, or base64")
    return parser


def choose_samples(model_path: str, allow_list: str | None) -> list[Path]:
    """Return the samples to test; the paths of an allow-list may begin anywhere above them."""
    path = Path(model_path)
    if allow_list is None:
        return samples_of(path, None, None)
    wanted = {str(Path(line)) for line in read_text(allow_list).split("\n") if line.strip()}
    samples = [path] if (path / "model.py").is_file() else list(find_samples(path))
    chosen = [sample for sample in samples if _is_listed(sample, path, wanted)]
    if not chosen:
        raise GraphError(f"{allow_list} lists no sample of {path}")
    return chosen


def _is_listed(sample: Path, root: Path, wanted: set[str]) -> bool:
    names = {str(sample), str(sample.absolute()), sample_name(str(sample), "/")}
    if sample != root:
        names.add(str(sample.relative_to(root)))
    return not names.isdisjoint(wanted)


def sample_name(path: str, separator: str = "_") -> str:
    """Return GraphNet's name for a sample's files: its path below the corpus."""
    return path.split(_CORPUS)[-1].replace(os.sep, separator)


def log_path(reference_dir: Path, sample: str) -> Path:
    """Return the path of a sample's log in a reference directory."""
    return reference_dir / f"{sample_name(os.path.normpath(sample))}.log"


def compiler_options(text: str | None) -> str:
    """Return the compiler's options as JSON, from a file, JSON or base64."""
    if text and Path(text).is_file():
        return read_text(text)
    return text if text and text.lstrip().startswith("{") else options_of(text)


def check_op_lib(name: str) -> None:
    """Raise GraphError if an operator library is not supported."""
    if name not in OP_LIBS:
        raise GraphError(f"unknown operator library {name!r}; known: {', '.join(OP_LIBS)}")
