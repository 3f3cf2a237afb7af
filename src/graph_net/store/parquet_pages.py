"""The pages of a Parquet file by their own headers: what reading a column will unpack.

A file's footer may say anything of its columns. Whoever decodes a page makes room for what the
page's header says, so the headers are read here first, and nothing is unpacked.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO

_WINDOWS = (1 << 9, 1 << 14, 1 << 20)
"""Bytes in which a header is looked for: nearly all are short, one with statistics is not."""
_DEPTH = 8
_TRUE, _FALSE, _BYTE, _I16, _I32, _I64, _DOUBLE, _BINARY, _LIST, _SET, _MAP, _STRUCT = range(1, 13)
_KIND, _UNPACKED, _STORED = 1, 2, 3
_HEADERS = {0: (5, 1, 2), 2: (7, 1, 2), 3: (8, 1, 4)}
"""By kind of page (data, dictionary, data of version 2): the field of its header, and in it those
of the number of values and of the encoding."""
DICTIONARY = 2


class PageError(ValueError):
    """What should be the header of a page is none."""


@dataclass(frozen=True, slots=True)
class Page:
    """A page as its header describes it; an index page has neither values nor an encoding."""

    kind: int
    unpacked: int
    values: int
    encoding: int


def read_pages(file: BinaryIO, column: Any) -> Iterator[Page]:
    """The pages of a column of a row group (its metadata, as pyarrow gives it), in order."""
    place = column.data_page_offset
    if column.has_dictionary_page and 0 < column.dictionary_page_offset < place:
        place = column.dictionary_page_offset
    end = place + column.total_compressed_size
    if not 0 < place <= end <= os.fstat(file.fileno()).st_size:
        raise PageError("it lies outside of the file")
    while place < end:
        fields, size = _header(file, place, end)
        page, stored = _page(fields)
        yield page
        place += size + stored
    if place != end:
        raise PageError("its last page is longer than it")


def _header(file: BinaryIO, place: int, end: int) -> tuple[dict[int, Any], int]:
    for window in _WINDOWS:
        data = os.pread(file.fileno(), min(window, end - place), place)
        try:
            return _struct(data, 0, _DEPTH)
        except IndexError:
            if len(data) < window:
                break
    raise PageError("a page's header does not end")


def _page(fields: dict[int, Any]) -> tuple[Page, int]:
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


def _struct(data: bytes, place: int, depth: int) -> tuple[dict[int, Any], int]:
    """The fields of a structure by number, and where it ends; IndexError where it does not."""
    if not depth:
        raise PageError("a page's header is nested too deeply")
    fields: dict[int, Any] = {}
    number = 0
    while byte := data[place]:
        place += 1
        if byte >> 4:
            number += byte >> 4
        else:
            number, place = _signed(data, place)
        fields[number], place = _value(byte & 15, data, place, depth)
    return fields, place + 1


def _value(kind: int, data: bytes, place: int, depth: int) -> tuple[Any, int]:
    if kind in (_TRUE, _FALSE):
        return kind == _TRUE, place
    if kind == _BYTE:
        return data[place], place + 1
    if kind in (_I16, _I32, _I64):
        return _signed(data, place)
    if kind == _BINARY:
        length, place = _unsigned(data, place)
        return None, place + length
    if kind == _STRUCT:
        return _struct(data, place, depth - 1)
    raise PageError("a page's header has a field that none has")


def _unsigned(data: bytes, place: int) -> tuple[int, int]:
    found = shift = 0
    while True:
        byte = data[place]
        place += 1
        found |= (byte & 127) << shift
        if byte < 128:
            return found, place
        shift += 7
        if shift > 63:
            raise PageError("a page's header has a number that is too long")


def _signed(data: bytes, place: int) -> tuple[int, int]:
    found, place = _unsigned(data, place)
    return (found >> 1) ^ -(found & 1), place
