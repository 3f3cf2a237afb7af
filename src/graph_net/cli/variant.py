"""``graph-net variant``: a graph in another dtype, at other sizes, or as a training step."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated

import typer

from graph_net.api.graphs import open_graph
from graph_net.api.options import parse_seconds
from graph_net.cli import options as opt
from graph_net.cli.common import err
from graph_net.printable import count_phrase, short_bytes

SET_HELP = (
    "A size: batch=8, sequence=256, image=384, INPUT:DIM=8 or SYMBOL=8; may be given several times."
)
_UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
_BINARY = {"KI": 2**10, "MI": 2**20, "GI": 2**30, "TI": 2**40}


def make_variant(
    graph: opt.Graph,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="The pack that the variant is added to.")
    ],
    dtype: Annotated[str | None, typer.Option(help="bfloat16 or float16.")] = None,
    cast: Annotated[
        str, typer.Option(help="autocast: as torch casts, float32 where it must; or all.")
    ] = "autocast",
    sizes: Annotated[list[str] | None, typer.Option("--set", help=SET_HELP)] = None,
    fits: Annotated[
        str | None, typer.Option(help="The largest size whose tensors fit into this: 2GB, 512MiB.")
    ] = None,
    about: Annotated[
        str | None, typer.Option(help="The size that takes about this long here: 10ms, 1s.")
    ] = None,
    vary: Annotated[str, typer.Option(help="Which size --fits and --about change.")] = "batch",
    training: Annotated[
        str | None, typer.Option(help="joint, forward or backward of a training step.")
    ] = None,
    device_free: Annotated[
        bool, typer.Option("--device-free", help="Refuse a graph that is bound to a device.")
    ] = False,
    public: Annotated[
        bool, typer.Option("--public", help="Replace private names by public names or ATen.")
    ] = False,
    name: Annotated[str | None, typer.Option(help="Its name; made of the changes if none.")] = None,
) -> None:
    """Make a variant of a graph and add it to a pack.

    Sizes are set first, then the dtype, then the training step is made. The changes are
    recorded in the variant's provenance; a graph whose sizes cannot be changed is refused.
    """
    resized = [parse_size(text) for text in sizes or ()]
    limit = None if fits is None else parse_bytes(fits)
    seconds = None if about is None else parse_short(about)
    if not (resized or limit or seconds or dtype or training or device_free or public):
        raise typer.BadParameter(
            "name a change: --dtype, --set, --fits, --about, --training, --device-free or --public"
        )
    from graph_net.api import variant as api
    from graph_net.corpus.pack import PackWriter

    source_name, source = open_graph(graph)
    changes = api.Changes(resized, limit, seconds, vary, dtype, cast, training, device_free, public)
    variant, labels = api.make_variant(source, changes)
    chosen = name or "@".join([source_name, *labels])
    with PackWriter(output) as writer:
        writer.add(chosen, variant)
    size = short_bytes(variant.tensor_bytes)
    err.print(
        f"{output}:{chosen}: {count_phrase(len(variant.nodes), 'node')}, inputs of {size}",
        soft_wrap=True,
    )


def parse_size(text: str) -> tuple[str, int]:
    """Return the name and the number of ``batch=8``."""
    name, equals, number = text.partition("=")
    if not equals or not number.strip().isdecimal() or not name.strip():
        raise typer.BadParameter(f"{text!r} is not a size; write batch=8")
    return name.strip(), int(number)


def parse_bytes(text: str) -> int:
    """Return the bytes of ``2GB``, ``512MiB`` or ``1000``."""
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([KMGT]I?)?B?\s*", text.upper())
    if match is None:
        raise typer.BadParameter(f"{text!r} is not a size of memory; write 2GB or 512MiB")
    return int(float(match[1]) * (_UNITS | _BINARY)[match[2] or ""])


def parse_short(text: str) -> float:
    """Return the seconds of ``10ms``, or of what ``parse_seconds`` takes."""
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*(m|u|µ)s\s*", text)
    if match is not None:
        return float(match[1]) * (1e-3 if match[2] == "m" else 1e-6)
    try:
        return parse_seconds(text)
    except ValueError as error:
        raise typer.BadParameter(f"{text!r} is not a duration; write 10ms or 1s") from error
