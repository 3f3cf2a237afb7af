"""Croissant metadata of a data set of programs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from graph_net.corpus.croissant import Edition, file_object, file_set, make_document
from graph_net.programs.dataset.columns import ABOUT, DESCRIPTIONS, kind_of, plain, schema_of
from graph_net.programs.dataset.dataset import PATTERNS, digest, files, platforms

FILE = "croissant.json"


def croissant(folder: Path, described: str, version: str, published: str) -> str:
    """Return the metadata as JSON-LD: a record set for each table of each platform."""
    objects: list[Any] = []
    records: list[Any] = []
    for name, path in platforms(folder).items():
        for table, parts in files(path).items():
            for part in parts:
                place = part.relative_to(folder).as_posix()
                objects.append(file_object(place, part.stat().st_size, digest(part)))
            whole = f"{name}_{table}_files"
            pattern = f"{name}/{PATTERNS[table]}"
            objects.append(file_set(whole, f"The {table} of {name}.", pattern))
            records.append(_records(f"{name}_{table}", whole, table, parts))
    return make_document(
        Edition("graph-net-programs", described, version, published), objects, records
    )


def _records(name: str, source: str, table: str, parts: Sequence[Path]) -> Mapping[str, Any]:
    kind = kind_of(table, parts)
    return {
        "@type": "cr:RecordSet",
        "@id": name,
        "name": name,
        "description": ABOUT[kind],
        "field": [_field(name, source, kind, field) for field in schema_of(table, parts)],
    }


def _field(name: str, source: str, table: str, field: pa.Field) -> dict[str, Any]:
    kind = plain(field.type)
    many = pa.types.is_list(kind)
    described: dict[str, Any] = {
        "@type": "cr:Field",
        "@id": f"{name}/{field.name}",
        "name": field.name,
        "description": DESCRIPTIONS[table][field.name],
        "dataType": _type(kind.value_type if many else kind),
        "source": {"fileSet": {"@id": source}, "extract": {"column": field.name}},
    }
    return {**described, "repeated": True} if many else described


def _type(kind: pa.DataType) -> str:
    if pa.types.is_floating(kind):
        return "sc:Float"
    if pa.types.is_boolean(kind):
        return "sc:Boolean"
    if pa.types.is_timestamp(kind):
        return "sc:DateTime"
    return "sc:Integer" if pa.types.is_integer(kind) else "sc:Text"
