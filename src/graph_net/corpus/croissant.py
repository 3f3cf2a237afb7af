"""Croissant metadata of a pack: the contents of its files, for generic tools."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from graph_net.corpus.card import DESCRIPTIONS
from graph_net.corpus.columns import SCHEMA
from graph_net.corpus.stats import Stats

FILE = "croissant.json"
URL = "https://github.com/PaddlePaddle/GraphNet"
CONTEXT: dict[str, Any] = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "citeAs": "cr:citeAs",
    "column": "cr:column",
    "conformsTo": "dct:conformsTo",
    "cr": "http://mlcommons.org/croissant/",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "dct": "http://purl.org/dc/terms/",
    "equivalentProperty": "cr:equivalentProperty",
    "examples": {"@id": "cr:examples", "@type": "@json"},
    "extract": "cr:extract",
    "field": "cr:field",
    "fileProperty": "cr:fileProperty",
    "fileObject": "cr:fileObject",
    "fileSet": "cr:fileSet",
    "format": "cr:format",
    "includes": "cr:includes",
    "isLiveDataset": "cr:isLiveDataset",
    "jsonPath": "cr:jsonPath",
    "key": "cr:key",
    "md5": "cr:md5",
    "parentField": "cr:parentField",
    "path": "cr:path",
    "recordSet": "cr:recordSet",
    "references": "cr:references",
    "regex": "cr:regex",
    "repeated": "cr:repeated",
    "replace": "cr:replace",
    "samplingRate": "cr:samplingRate",
    "sc": "https://schema.org/",
    "separator": "cr:separator",
    "source": "cr:source",
    "subField": "cr:subField",
    "transform": "cr:transform",
}
"""The context that Croissant 1.0 prescribes, verbatim."""


def make_croissant(stats: Stats, version: str, published: str, sizes: dict[str, int]) -> str:
    """Return the metadata as JSON-LD; ``sizes`` has the bytes of each part."""
    parts = [file_object(name, sizes[name], digest) for name, digest in sorted(stats.parts.items())]
    together = file_set("parts", "All parts of the pack.", "part-*.parquet")
    records = {
        "@type": "cr:RecordSet",
        "@id": "graphs",
        "name": "graphs",
        "description": "One record a graph.",
        "key": {"@id": "graphs/name"},
        "field": [_field(field) for field in SCHEMA],
    }
    described = (
        f"Computational graphs of {stats.codes:,} models from {len(stats.libraries)} "
        "libraries, captured without weights."
    )
    edition = Edition("graph-net-corpus", described, version, published)
    return make_document(edition, [*parts, together], [records])


@dataclass(frozen=True)
class Edition:
    """An edition of a data set."""

    name: str
    description: str
    version: str
    published: str


def make_document(edition: Edition, files: list[Any], records: list[Any]) -> str:
    """Return a data set's metadata as JSON-LD: its files and their records."""
    tree = {
        "@context": CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": "http://mlcommons.org/croissant/1.0",
        "name": edition.name,
        "description": edition.description,
        "license": "https://opensource.org/license/mit",
        "url": URL,
        "version": edition.version,
        "datePublished": edition.published,
        "citeAs": "GraphNet, arXiv 2510.24035",
        "distribution": files,
        "recordSet": records,
    }
    return json.dumps(tree, indent=1) + "\n"


def file_object(name: str, size: int, digest: str) -> dict[str, Any]:
    """Return the entry of a Parquet file."""
    return {
        "@type": "cr:FileObject",
        "@id": name,
        "name": name,
        "contentUrl": name,
        "contentSize": f"{size} B",
        "encodingFormat": "application/x-parquet",
        "sha256": digest,
    }


def file_set(name: str, description: str, includes: str) -> dict[str, Any]:
    """Return the entry of Parquet files with the same columns."""
    return {
        "@type": "cr:FileSet",
        "@id": name,
        "name": name,
        "description": description,
        "encodingFormat": "application/x-parquet",
        "includes": includes,
    }


def read_part_sizes(folder: Path, stats: Stats) -> dict[str, int]:
    """Return the bytes of each part that was counted."""
    return {name: (folder / name).stat().st_size for name in stats.parts}


def _field(field: pa.Field) -> dict[str, Any]:
    kind = field.type.value_type if pa.types.is_list(field.type) else field.type
    described: dict[str, Any] = {
        "@type": "cr:Field",
        "@id": f"graphs/{field.name}",
        "name": field.name,
        "description": DESCRIPTIONS[field.name],
        "dataType": "sc:Integer" if pa.types.is_integer(kind) else "sc:Text",
        "source": {"fileSet": {"@id": "parts"}, "extract": {"column": field.name}},
    }
    if pa.types.is_list(field.type):
        described["repeated"] = True
    return described
