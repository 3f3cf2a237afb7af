"""The traits of operators: one table, looked up by an operator's name.

``operator_traits.txt`` has one line per operator: its bare name (``base_name``), then its traits. A
trait of arguments gives their positions: ``sizes@1+2`` are two arguments from the second on,
``sizes@1+`` all from there, ``inplace-flag@3`` the fourth only. Names of Paddle begin with
``paddle.``. Rules go by name so that they are the same on every torch version and need no torch;
a test checks them against torch's schemas.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import StrEnum
from functools import cache
from importlib.resources import files

__all__ = [
    "ENTER_AUTOCAST",
    "EVERY",
    "EXIT_AUTOCAST",
    "PADDLE",
    "Trait",
    "base_name",
    "names",
    "parse",
    "positions",
    "table",
]
ENTER_AUTOCAST = "torch.amp.autocast_mode._enter_autocast"
EXIT_AUTOCAST = "torch.amp.autocast_mode._exit_autocast"
EVERY = 99
"""Stands for all remaining arguments."""
PADDLE = "paddle."
_TRAIT = re.compile(r"(?P<trait>[a-z-]+)(@(?P<first>\d+)(?P<more>\+(?P<count>\d*))?)?", re.ASCII)


class Trait(StrEnum):
    """A property of an operator."""

    # Memory and order
    VIEW = "view"
    """The result may share the storage of the first argument."""
    IN_PLACE = "in-place"
    """Writes to its first argument, though its name does not end in one underscore."""
    INPLACE_FLAG = "inplace-flag"
    """Writes to its first argument if the argument at this position is true."""
    RUNNING_STATISTICS = "running-statistics"
    """Updates a running mean and variance in training."""
    CHANGES_METADATA = "changes-metadata"
    """Changes the sizes or strides that an existing tensor has."""
    OVERLAP_SAFE = "overlap-safe"
    """May write to a tensor that overlaps itself: elements stay, or strides are followed."""
    PARTIAL_WRITE = "partial-write"
    """Writes to some elements of a tensor and leaves the others."""

    # Random numbers
    RANDOM = "random"
    """Takes numbers from the random generator."""
    DROPOUT = "dropout"
    """Takes random numbers only in training."""
    RANDOM_UNLESS_TEST = "random-unless-test"
    """Paddle: takes random numbers unless ``is_test`` is true."""

    # What results depend on
    VALUE_DEPENDENT = "value-dependent"
    """Sizes of the result, or what follows, depend on values of the arguments."""
    VALUE_DEPENDENT_ON_REST = "value-dependent-on-rest"
    """As VALUE_DEPENDENT, but the first argument decides nothing unless it is the only one."""
    INDEXING = "indexing"
    """Sizes of the result depend on the values of masks among the indices."""
    SHAPE_QUERY = "shape-query"
    """Reads the sizes of a tensor and none of its values."""
    SCALAR_READ = "scalar-read"
    """Returns values of a tensor as Python numbers."""
    SIZES = "sizes"
    """Integers among these arguments are sizes, not attributes."""

    # What is computed
    POINTWISE = "pointwise"
    """Computed inside the loop that makes or reads its argument."""
    SOURCE = "source"
    """Makes a tensor, or a size, that depends on no values."""
    FACTORY = "factory"
    """Makes a tensor, on the CPU unless a device is passed."""
    CONVOLUTION = "convolution"
    """Reads all of its weights, which are all arguments except the first."""
    RECURRENT = "recurrent"
    """Has a state and a set of weights for each layer."""
    BATCH_NORM = "batch-norm"
    """Normalises by statistics of the batch; its second and third arguments scale and shift."""
    LAYER = "layer"
    """A product or norm that begins a layer, convolutions and batch norms aside."""
    PRODUCT = "product"
    """A convolution or matrix product that weights go into."""
    ONE_DTYPE = "one-dtype"
    """Refuses tensors of two floating dtypes when it runs, though fake tensors may accept them."""
    ADDITION = "addition"
    """Adds two values, as the end of a residual branch does."""
    RESHAPE = "reshape"
    """Returns the same elements in the sizes that are passed."""
    RESAMPLING = "resampling"
    """A kernel that resizes an image, each pixel from its nearest neighbours."""
    SMOOTH_RESAMPLING = "smooth-resampling"
    """As RESAMPLING, with a filter as wide as the scale (antialiased)."""
    EMBEDDING_BAG = "embedding-bag"
    """A kernel that sums rows of a table."""
    FOURIER_TRANSFORM = "fourier-transform"
    """A kernel of the fast Fourier transform."""
    ASSERTION = "assertion"
    """Computes nothing, and may raise."""

    # Elements read, written and counted
    READS_ALL = "reads-all"
    """Reads every element of every tensor argument."""
    SAME_ELEMENTS = "same-elements"
    """Returns all elements of its first argument in another form."""
    FLOPS_UNKNOWN = "flops-unknown"
    """Computes much, but torch's FLOP counter does not know it."""
    COPY = "copy"
    """Returns its argument's values in new memory."""
    UNINITIALISED = "uninitialised"
    """Returns uninitialised memory."""

    # Between a parameter and the operator that says what it is for
    WEIGHT_THROUGH = "weight-through"
    """A parameter may pass through on its way to the operator that uses it."""
    BRANCH_THROUGH = "branch-through"
    """A residual branch may pass through between its last layer and its sum."""
    KEEPS_SCALE = "keeps-scale"
    """The result is about as large as the first argument: no activation."""
    NO_OP_IN_INFERENCE = "no-op-in-inference"
    """Returns its argument unchanged in inference."""


def base_name(target: str) -> str:
    """Return the bare name of a target's operator: ``add_`` for ``aten.add_.Tensor``."""
    if target.startswith("method:"):
        return target[7:]
    parts = target.split(".")
    if parts[0] in ("torch", "operator", "builtins", "math", "paddle"):
        return parts[-1]
    return parts[1] if len(parts) > 1 else target


def names(trait: Trait, namespace: str = "") -> frozenset[str]:
    """Return the bare names of the operators that have a trait."""
    return frozenset(positions(trait, namespace))


def positions(trait: Trait, namespace: str = "") -> dict[str, tuple[int, int]]:
    """Return the first argument that a trait refers to, and how many, by operator."""
    return {
        name.removeprefix(namespace): traits[trait]
        for name, traits in table().items()
        if trait in traits and name.startswith(PADDLE) == (namespace == PADDLE)
    }


@cache
def table() -> dict[str, dict[Trait, tuple[int, int]]]:
    """Return every operator's traits, each with the arguments it refers to: first and count."""
    text = files("graph_net.graph").joinpath("operator_traits.txt").read_text("utf-8")
    traits_by_name: dict[str, dict[Trait, tuple[int, int]]] = {}
    for name, traits in parse(text):
        if name in traits_by_name:
            raise ValueError(f"operator_traits.txt lists {name} twice")
        traits_by_name[name] = traits
    return traits_by_name


def parse(text: str) -> Iterator[tuple[str, dict[Trait, tuple[int, int]]]]:
    """Yield the name and the traits on each line of a table; # begins a comment line."""
    for line in text.splitlines():
        name, *words = line.split()
        if name != "#":
            yield name, dict(_parse_trait(name, word) for word in words)


def _parse_trait(name: str, word: str) -> tuple[Trait, tuple[int, int]]:
    match = _TRAIT.fullmatch(word)
    if match is None or match["trait"] not in set(Trait):
        raise ValueError(f"{name} has an unknown trait {word!r}; known: {', '.join(Trait)}")
    count = int(match["count"] or EVERY) if match["more"] else int(match["first"] is not None)
    return Trait(match["trait"]), (int(match["first"] or 0), count)
