"""The dataset card of a pack, as the Hugging Face Hub reads it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa

from graph_net.corpus.columns import SCHEMA
from graph_net.corpus.pack import is_pack
from graph_net.corpus.page import make_tables
from graph_net.corpus.stats import Stats

FILE = "README.md"
TAGS = ("computational-graphs", "compilers", "pytorch", "benchmark", "graph-ml")
DESCRIPTIONS = {
    "name": "library and model: the key of a graph",
    "id": "hash of the computation with its sizes and dtypes",
    "structure": "hash of the computation without them",
    "level": "which operators: `aten` or `torch`",
    "framework": "what it was captured from",
    "framework_version": "and which version",
    "library": "the model library",
    "model": "the library's own name for the model",
    "category": "computer_vision, nlp, audio, multimodal, scientific or other",
    "subcategory": "such as classification or causal_lm",
    "tags": "such as the model's family",
    "nodes": "number of calls",
    "inputs": "number of inputs, parameters included",
    "symbols": "number of sizes that may vary",
    "parameters": "number of elements of all parameters",
    "tensor_bytes": "bytes of all inputs",
    "dtypes": "dtypes of the inputs",
    "operators": "the operators it calls",
    "graph": "the graph itself, `graph_net.graph.from_bytes`",
}


BESIDE = {
    "networks": "TenSet's 120 networks, which differ in their sizes alone",
    "subgraphs": "what the graphs are cut into, with kind, occurrences and models",
}
"""Packs in subdirectories of a pack: configurations of its card."""


def make_card(stats: Stats, beside: Sequence[str] = ()) -> str:
    """Return the card: front matter for tools, then text; ``beside`` are keys of BESIDE."""
    lines = ["---", "license: mit", "pretty_name: GraphNet corpus of computational graphs"]
    lines += ["task_categories:", "- graph-ml", "tags:", *(f"- {tag}" for tag in TAGS)]
    lines += ["size_categories:", f"- {size_category(stats.graphs)}"]
    lines += ["configs:", "- config_name: default", "  default: true", "  data_files:"]
    lines += ["  - split: train", "    path: part-*.parquet"]
    for name in beside:
        lines += [f"- config_name: {name}", "  data_files:", "  - split: train"]
        lines += [f"    path: {name}/part-*.parquet"]
    lines += ["dataset_info:", "  config_name: default", "  features:"]
    for field in SCHEMA:
        lines += _feature(field)
    lines += ["  splits:", "  - name: train", f"    num_examples: {stats.graphs}"]
    lines += [f"    num_bytes: {stats.pack_bytes}", f"  download_size: {stats.pack_bytes}", "---"]
    packs = "".join(f"- `{name}/`: {BESIDE[name]}\n" for name in beside)
    return (
        "\n".join(lines) + "\n" + _text(stats) + (f"\nPacks beside it:\n\n{packs}" if packs else "")
    )


def packs_beside(path: Path) -> list[str]:
    """List the packs of BESIDE that exist."""
    return [name for name in BESIDE if is_pack(path / name)]


def _feature(field: pa.Field) -> list[str]:
    if pa.types.is_list(field.type):
        return [f"  - name: {field.name}", "    sequence: string"]
    return [f"  - name: {field.name}", f"    dtype: {field.type}"]


def size_category(number: int) -> str:
    """Return the Hub's category for a number of rows."""
    for limit, category in ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K")):
        if number < limit:
            return category
    return "100K<n<1M"


def _text(stats: Stats) -> str:
    columns = "\n".join(f"| `{name}` | {DESCRIPTIONS[name]} |" for name in SCHEMA.names)
    return f"""
# Computational graphs of {stats.codes:,} models

Whole models of {len(stats.libraries)} libraries as graphs of ATen operators, captured without
weights. Each row is a graph; nothing is executed to read it.

```python
from graph_net.corpus.pack import Pack

pack = Pack("corpus")
graph = pack.graph("{stats.longest["name"]}")
```

{make_tables(stats)}

## Columns

| column | what it is |
|---|---|
{columns}

`mini.json` names a small selection that covers the categories and the operators. `croissant.json`
describes these files for tools that read Croissant. There are no weights and no personal data:
tensors are recipes. Made by `graph-net corpus card`.
"""
