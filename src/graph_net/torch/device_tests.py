"""What GraphNet's two device tests share: flags, the choice of samples, where a log goes."""

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


def device_parser(program: str, description: str) -> argparse.ArgumentParser:
    """The flags that both tests have."""
    made = argparse.ArgumentParser(prog=f"python -m {program}", description=description)
    made.add_argument("--model-path", required=True, help="a sample, or a directory of samples")
    made.add_argument(
        "--reference-dir", required=True, help="where the golden run and its logs are"
    )
    made.add_argument("--device", default="cuda", help="cpu or cuda")
    made.add_argument(
        "--op-lib", default="default", help="default, or origin for what the reference had"
    )
    made.add_argument("--log-prompt", default=PROMPT)
    made.add_argument("--allow-list", help="a file with one sample path a line")
    made.add_argument("--config", help="the compiler's options: JSON, a file of it, or base64")
    return made


def choose_samples(model_path: str, allow_list: str | None) -> list[Path]:
    """The samples to test; the paths of an allow-list may begin anywhere above them."""
    path = Path(model_path)
    if allow_list is None:
        return samples_of(path, None, None)
    wanted = {str(Path(line)) for line in read_text(allow_list).split("\n") if line.strip()}
    found = [path] if (path / "model.py").is_file() else list(find_samples(path))
    kept = [sample for sample in found if _listed(sample, path, wanted)]
    if not kept:
        raise GraphError(f"{allow_list} lists no sample of {path}")
    return kept


def _listed(sample: Path, root: Path, wanted: set[str]) -> bool:
    names = {str(sample), str(sample.absolute()), sample_name(str(sample), "/")}
    if sample != root:
        names.add(str(sample.relative_to(root)))
    return not names.isdisjoint(wanted)


def sample_name(path: str, between: str = "_") -> str:
    """What GraphNet calls a sample's files: its path, from the corpus on."""
    return path.split(_CORPUS)[-1].replace(os.sep, between)


def log_path(reference_dir: Path, sample: str) -> Path:
    """The log of a sample in a reference directory."""
    return reference_dir / f"{sample_name(os.path.normpath(sample))}.log"


def compiler_options(text: str | None) -> str:
    """The compiler's options as JSON, however they were given."""
    if text and Path(text).is_file():
        return read_text(text)
    return text if text and text.lstrip().startswith("{") else options_of(text)


def check_op_lib(name: str) -> None:
    """Raise on operator libraries that are not here."""
    if name not in OP_LIBS:
        raise GraphError(
            f"there is no operator library {name!r} here; there are: {', '.join(OP_LIBS)}"
        )
