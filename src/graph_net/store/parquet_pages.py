"""The page headers of a Parquet file: what reading a column will unpack.

A file's footer may claim anything about its columns. A decoder allocates what a page's header says,
so the headers are read here first, and nothing is unpacked.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO

_WINDOWS = (1 << 9, 1 << 14, 1 << 20)
"""Bytes to read for a header, tried in turn: nearly all are short; one with statistics is not."""
_DEPTH = 8
_TRUE, _FALSE, _BYTE, _I16, _I32, _I64, _DOUBLE, _BINARY, _LIST, _SET, _MAP, _STRUCT = range(1, 13)
_KIND, _UNPACKED, _STORED = 1, 2, 3
_HEADERS = {0: (5, 1, 2), 2: (7, 1, 2), 3: (8, 1, 4)}
"""By kind of page (data, dictionary, data version 2): the number of the field that holds its
header, and in that header the fields of the number of values and of the encoding."""
DICTIONARY = 2


class PageError(ValueError):
    """A page header that is invalid."""


@dataclass(frozen=True, slots=True)
class Page:
    """A page as its header describes it; an index page has neither values nor an encoding."""

    kind: int
    unpacked: int
    values: int
    encoding: int


def read_pages(file: BinaryIO, column: Any) -> Iterator[Page]:
    """Yield the pages of a column chunk, given by pyarrow's metadata, in order."""
    offset = column.data_page_offset
    if column.has_dictionary_page and 0 < column.dictionary_page_offset < offset:
        offset = column.dictionary_page_offset
    end = offset + column.total_compressed_size
    if not 0 < offset <= end <= os.fstat(file.fileno()).st_size:
        raise PageError("it lies outside of the file")
    while offset < end:
        fields, size = _read_header(file, offset, end)
        page, stored = _parse_page(fields)
        yield page
        offset += size + stored
    if offset != end:
        raise PageError("its last page extends beyond its end")


def _read_header(file: BinaryIO, offset: int, end: int) -> tuple[dict[int, Any], int]:
    for window in _WINDOWS:
        data = os.pread(file.fileno(), min(window, end - offset), offset)
        try:
            return _parse_struct(data, 0, _DEPTH)
        except IndexError:
            if len(data) < window:
                break
    raise PageError("a page's header does not end")


def _parse_page(fields: dict[int, Any]) -> tuple[Page, int]:
    kind, unpacked, stored = (fields.get(key) for key in (_KIND, _UNPACKED, _STORED))
    if type(kind) is not int or type(unpacked) is not int or type(stored) is not int:
        raise PageError("a page's header lacks its sizes")
    if min(unpacked, stored) < 0:
        raise PageError("a page's header has a size below zero")
    if kind not in _HEADERS:
        return Page(kind, unpacked, 0, 0), stored
    header, *keys = _HEADERS[kind]
    inner = fields.get(header)
    values, encoding = (inner.get(key) if isinstance(inner, dict) else None for key in keys)
    if type(values) is not int or type(encoding) is not int or values < 0:
        raise PageError("a page's header does not say what it holds")
    return Page(kind, unpacked, values, encoding), stored


# -- Thrift's compact protocol, as far as page headers need it ----------------------------------


def _parse_struct(data: bytes, offset: int, depth: int) -> tuple[dict[int, Any], int]:
    """Return the fields of a structure by number, and its end; raise IndexError if cut short."""
    if not depth:
        raise PageError("a page's header is nested too deeply")
    fields: dict[int, Any] = {}
    number = 0
    while byte := data[offset]:
        offset += 1
        if byte >> 4:
            number += byte >> 4
        else:
            number, offset = _parse_signed(data, offset)
        fields[number], offset = _parse_value(byte & 15, data, offset, depth)
    return fields, offset + 1


def _parse_value(kind: int, data: bytes, offset: int, depth: int) -> tuple[Any, int]:
    if kind in (_TRUE, _FALSE):
        return kind == _TRUE, offset
    if kind == _BYTE:
        return data[offset], offset + 1
    if kind in (_I16, _I32, _I64):
        return _parse_signed(data, offset)
    if kind == _BINARY:
        length, offset = _parse_unsigned(data, offset)
        return None, offset + length
    if kind == _STRUCT:
        return _parse_struct(data, offset, depth - 1)
    raise PageError("a page's header has a field of an unknown type")


def _parse_unsigned(data: bytes, offset: int) -> tuple[int, int]:
    number = shift = 0
    while True:
        byte = data[offset]
        offset += 1
        number |= (byte & 127) << shift
        if byte < 128:
            return number, offset
        shift += 7
        if shift > 63:
            raise PageError("a page's header has a number that is too long")


def _parse_signed(data: bytes, offset: int) -> tuple[int, int]:
    number, offset = _parse_unsigned(data, offset)
    return (number >> 1) ^ -(number & 1), offset
