"""Messages put together from bytes as they arrive."""

from __future__ import annotations

import pytest

from graph_net.isolate.messages import BadMessage, Inbox, encode

BAD = b"\xff" * 12


def test_a_message_before_a_bad_one_is_heard() -> None:
    arriving = Inbox().feed(encode({"stage": "compile"}, b"more") + BAD)
    assert next(arriving) == ({"stage": "compile"}, b"more")
    with pytest.raises(BadMessage, match="a message of"):
        next(arriving)


def test_a_message_may_arrive_in_pieces() -> None:
    inbox, data = Inbox(), encode({"answer": 1}, b"bytes")
    for place in range(len(data) - 1):
        assert list(inbox.feed(data[place : place + 1])) == []
    assert list(inbox.feed(data[-1:])) == [({"answer": 1}, b"bytes")]


@pytest.mark.parametrize("text", [b"[1]", b"{", b"\xff"])
def test_what_is_no_object_is_refused(text: bytes) -> None:
    data = len(text).to_bytes(4, "little") + bytes(8) + text
    with pytest.raises(BadMessage):
        list(Inbox().feed(data))
