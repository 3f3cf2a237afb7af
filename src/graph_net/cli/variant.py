"""``graph-net variant``: a graph in another dtype, at other sizes, or as a training step."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated

import typer

from graph_net.api.graphs import open_graph
from graph_net.api.options import parse_seconds
from graph_net.cli.common import GRAPH_HELP, err
from graph_net.printable import count_phrase, short_bytes

SET_HELP = (
    "A size: batch=8, sequence=256, image=384, INPUT:DIM=8 or SYMBOL=8; may be given several times."
)
_UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
_BINARY = {"KI": 2**10, "MI": 2**20, "GI": 2**30, "TI": 2**40}


def make_variant(
    graph: Annotated[str, typer.Argument(metavar="PACK_OR_DIR[:NAME]", help=GRAPH_HELP)],
    output: Annotated[
        Path, typer.Option("--output", "-o", help="The pack that the variant is added to.")
    ],
    dtype: Annotated[str | None, typer.Option(help="bfloat16 or float16.")] = None,
    cast: Annotated[
        str, typer.Option(help="autocast: as torch casts, float32 where it must; or all.")
    ] = "autocast",
    sizes: Annotated[list[str] | None, typer.Option("--set", help=SET_HELP)] = None,
    fits: Annotated[
        str | None, typer.Option(help="The largest size whose tensors take so much: 2GB, 512MiB.")
    ] = None,
    about: Annotated[
        str | None, typer.Option(help="The size that takes about so long here: 10ms, 1s.")
    ] = None,
    vary: Annotated[str, typer.Option(help="Which size --fits and --about change.")] = "batch",
    training: Annotated[
        str | None, typer.Option(help="joint, forward or backward of a training step.")
    ] = None,
    device_free: Annotated[
        bool, typer.Option("--device-free", help="Refuse a graph that is bound to a device.")
    ] = False,
    public: Annotated[
        bool, typer.Option("--public", help="Public names or ATen in the place of private names.")
    ] = False,
    name: Annotated[str | None, typer.Option(help="Its name; made of the changes if none.")] = None,
) -> None:
    """Make a variant of a graph and add it to a pack.

    Sizes are set first, then the dtype, then the training step is made. What was done stands in
    the variant's provenance; a graph whose sizes cannot be changed is refused with the place.
    """
    wanted = [parse_size(text) for text in sizes or ()]
    limit = None if fits is None else parse_bytes(fits)
    seconds = None if about is None else parse_short(about)
    if not (wanted or limit or seconds or dtype or training or device_free or public):
        raise typer.BadParameter("say what to change: --dtype, --set, --fits, --about, --training")
    from graph_net.api import variant as api
    from graph_net.corpus.pack import PackWriter

    known, found = open_graph(graph)
    changes = api.Changes(wanted, limit, seconds, vary, dtype, cast, training, device_free, public)
    made, words = api.make_variant(found, changes)
    chosen = name or "@".join([known, *words])
    with PackWriter(output) as writer:
        writer.add(chosen, made)
    size = short_bytes(made.tensor_bytes)
    err.print(
        f"{output}:{chosen}: {count_phrase(len(made.nodes), 'node')}, inputs of {size}",
        soft_wrap=True,
    )


def parse_size(text: str) -> tuple[str, int]:
    """``batch=8`` as a word and a number."""
    word, equals, number = text.partition("=")
    if not equals or not number.strip().isdecimal() or not word.strip():
        raise typer.BadParameter(f"{text!r} is no size; write batch=8")
    return word.strip(), int(number)


def parse_bytes(text: str) -> int:
    """Bytes of ``2GB``, ``512MiB`` or ``1000``."""
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([KMGT]I?)?B?\s*", text.upper())
    if found is None:
        raise typer.BadParameter(f"{text!r} is no size of memory; write 2GB or 512MiB")
    return int(float(found[1]) * (_UNITS | _BINARY)[found[2] or ""])


def parse_short(text: str) -> float:
    """Seconds of ``10ms``, or of whatever ``parse_seconds`` takes."""
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*(m|u|µ)s\s*", text)
    if found is not None:
        return float(found[1]) * (1e-3 if found[2] == "m" else 1e-6)
    try:
        return parse_seconds(text)
    except ValueError as error:
        raise typer.BadParameter(f"{text!r} is no time; write 10ms or 1s") from error
