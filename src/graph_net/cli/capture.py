"""``graph-net capture``: a model of the user's own into a pack."""

from __future__ import annotations

from typing import Annotated

import typer

from graph_net.cli import options as opt
from graph_net.cli.common import err
from graph_net.printable import count_phrase

INPUT_HELP = (
    "An input, in order or by name: x=float32[2,3,224,224], ids=int64[1,128]:30522 (whole numbers "
    "below 30522), scale=0.5. Once for each; by default those of the file."
)
DYNAMIC_HELP = (
    "A size that may change: batch=x.0 (dimension 0 of x), batch:2..64=x.0,mask.0 with bounds and "
    "two dimensions. Once for each."
)


def capture_own_model(
    model: Annotated[
        str, typer.Argument(metavar="FILE.py:NAME", help="Your own file, which is run.")
    ],
    output: opt.OutputPack,
    inputs: Annotated[list[str] | None, typer.Option("--input", "-i", help=INPUT_HELP)] = None,
    dynamic: Annotated[list[str] | None, typer.Option(help=DYNAMIC_HELP)] = None,
    name: Annotated[
        str, typer.Option(help="The graph's name in the pack; file/name by default.")
    ] = "",
    weights: Annotated[
        bool, typer.Option(help="Build real parameters, whose distribution the graph keeps.")
    ] = True,
    mode: Annotated[
        str, typer.Option(help="inference, training, or its forward or backward part.")
    ] = "inference",
    dtype: Annotated[str, typer.Option(help="Cast the model first: bfloat16, float16.")] = "",
) -> None:
    """Capture a model or function of your own: its file is run, its graphs are packed.

    NAME is an nn.Module, a class of one, a function that needs no argument and returns a module or
    a pair (module, inputs), or a function of tensors, which is captured itself. A model that
    cannot be captured whole gives its pieces, NAME/0, NAME/1, …
    """
    from graph_net.api.capture import capture_file

    captured, names = capture_file(
        model, output, inputs or (), dynamic or (), name=name, weights=weights, mode=mode,
        dtype=dtype,
    )  # fmt: skip
    for reason in captured.refused:
        err.print(f"refused by {reason}", highlight=False, soft_wrap=True)
    nodes = sum(len(graph.nodes) for graph in captured.graphs)
    counts = f"{count_phrase(len(names), 'graph')} with {count_phrase(nodes, 'node')}"
    err.print(f"{counts} in {output}; `graph-net show {output}:{names[0]}`")
