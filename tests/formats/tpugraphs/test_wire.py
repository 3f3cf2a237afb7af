"""The wire format of protocol buffers: what is written is read, what is damaged is refused."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph_net.formats.tpugraphs.wire import WireMessage
from graph_net.store.lines import ReadError


def varint(value: int) -> bytes:
    found = bytearray()
    while True:
        found.append(value & 0x7F | (0x80 if value > 0x7F else 0))
        value >>= 7
        if not value:
            return bytes(found)


def field(number: int, value: int | bytes) -> bytes:
    if isinstance(value, int):
        return varint(number << 3) + varint(value % (1 << 64))
    return varint(number << 3 | 2) + varint(len(value)) + value


@given(st.lists(st.integers(-(1 << 63), (1 << 63) - 1)))
def test_repeated_numbers_are_read_packed_or_not(values: list[int]) -> None:
    packed = field(3, b"".join(varint(value % (1 << 64)) for value in values))
    single = b"".join(field(3, value) for value in values)
    assert WireMessage.parse(packed).integers(3) == tuple(values)
    assert WireMessage.parse(single).integers(3) == tuple(values)


@given(st.text(max_size=40), st.integers(0, (1 << 64) - 1))
def test_texts_numbers_and_messages_are_read(text: str, number: int) -> None:
    message = WireMessage.parse(field(1, text.encode()) + field(2, field(7, number)))
    assert message.text(1) == text
    assert message.message(2).unsigned(7) == number
    assert message.message(5).integer(1) == 0


@given(st.binary(max_size=200))
def test_any_bytes_are_a_message_or_a_read_error(data: bytes) -> None:
    try:
        message = WireMessage.parse(data)
        for number in message.fields:
            message.integers(number)
            list(message.messages(number))
    except ReadError:
        return


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"\x0a\xff\xff\x03abc", "a field of 65535 bytes, of which 3"),
        (b"\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", "more than 64 bits"),
        (b"\x08\x80", "ends within a number"),
        (b"\x0b", "wire type 3"),
    ],
)
def test_damage_is_named(data: bytes, why: str) -> None:
    with pytest.raises(ReadError, match=why):
        WireMessage.parse(data)
