"""The wire format of protocol buffers, read with limits: enough to read HLO and tuning data.

A message is parsed one level at a time, so that depth costs nothing until it is read; no value is
copied before it is used.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from graph_net.store.lines import ReadError

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5
MOST_FIELDS = 1 << 22
"""The most fields of one message; TpuGraphs' largest graph has some 50,000 instructions."""
MOST_TEXT = 1 << 16
"""The most bytes of a name."""


def read_varint(data: memoryview, offset: int) -> tuple[int, int]:
    """Return an unsigned number of at most 64 bits, and the position after it."""
    value = shift = 0
    while True:
        if offset >= len(data):
            raise ReadError("the message ends within a number")
        byte = data[offset]
        offset += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & (1 << 64) - 1, offset
        shift += 7
        if shift > 63:
            raise ReadError("a number has more than 64 bits")


def to_signed(value: int) -> int:
    """Return the int64 that an unsigned number of 64 bits stands for."""
    return value - (1 << 64) if value >> 63 else value


@dataclass(frozen=True)
class WireMessage:
    """The fields of a message by number, in order: numbers, or bytes that are not parsed."""

    fields: dict[int, list[int | memoryview]]

    @staticmethod
    def parse(data: bytes | memoryview) -> WireMessage:
        """Return the fields of a message; raise ReadError if it is damaged."""
        view, offset, count = memoryview(data), 0, 0
        fields: dict[int, list[int | memoryview]] = {}
        while offset < len(view):
            tag, offset = read_varint(view, offset)
            value, offset = _value(view, offset, tag & 7)
            if not 0 < tag >> 3 < 1 << 29:
                raise ReadError(f"{tag >> 3} is not the number of a field")
            fields.setdefault(tag >> 3, []).append(value)
            count += 1
            if count > MOST_FIELDS:
                raise ReadError(f"a message has more than {MOST_FIELDS} fields")
        return WireMessage(fields)

    def has(self, number: int) -> bool:
        """Return whether a field is present."""
        return number in self.fields

    def integer(self, number: int) -> int:
        """Return an int64, 0 where the field is absent; the last one counts."""
        value = self.fields.get(number, [0])[-1]
        if not isinstance(value, int):
            raise ReadError(f"field {number} is not a number")
        return to_signed(value)

    def unsigned(self, number: int) -> int:
        """Return a uint64, 0 where the field is absent."""
        return self.integer(number) % (1 << 64)

    def integers(self, number: int) -> tuple[int, ...]:
        """Return a repeated int64, packed or not."""
        numbers: list[int] = []
        for value in self.fields.get(number, ()):
            if isinstance(value, int):
                numbers.append(to_signed(value))
            else:
                numbers += _packed(value)
        return tuple(numbers)

    def text(self, number: int) -> str:
        """Return a string, empty where the field is absent."""
        value = self.fields.get(number, [memoryview(b"")])[-1]
        if isinstance(value, int) or len(value) > MOST_TEXT:
            raise ReadError(f"field {number} is not a text of at most {MOST_TEXT} bytes")
        try:
            return bytes(value).decode()
        except UnicodeDecodeError as error:
            raise ReadError(f"field {number} is not UTF-8") from error

    def message(self, number: int) -> WireMessage:
        """Return a nested message, empty if the field is absent; repeated parts are merged."""
        parts = list(self.raw(number))
        return WireMessage.parse(parts[0] if len(parts) == 1 else b"".join(parts))

    def messages(self, number: int) -> Iterator[WireMessage]:
        """Yield the messages of a repeated field."""
        for data in self.raw(number):
            yield WireMessage.parse(data)

    def raw(self, number: int) -> Iterator[memoryview]:
        """Yield the bytes of the messages of a field, not parsed."""
        for value in self.fields.get(number, ()):
            if isinstance(value, int):
                raise ReadError(f"field {number} is a number where a message should be")
            yield value


def _value(view: memoryview, offset: int, kind: int) -> tuple[int | memoryview, int]:
    if kind == VARINT:
        return read_varint(view, offset)
    if kind == BYTES:
        size, offset = read_varint(view, offset)
    elif kind in (FIXED64, FIXED32):
        size = 8 if kind == FIXED64 else 4
    else:
        raise ReadError(f"wire type {kind} is not read here")
    if size > len(view) - offset:
        raise ReadError(f"a field of {size} bytes, of which {len(view) - offset} are there")
    return view[offset : offset + size], offset + size


def _packed(data: memoryview) -> list[int]:
    numbers, offset = [], 0
    while offset < len(data):
        value, offset = read_varint(data, offset)
        numbers.append(to_signed(value))
    return numbers
