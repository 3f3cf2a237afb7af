"""Numbers, texts and values as bytes: the primitives of the binary form."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import TypeVar

from graph_net.graph import byte_tags as tags
from graph_net.graph.values import (
    DictValue,
    Dtype,
    ListValue,
    Ref,
    RunDevice,
    Slice,
    TorchConstant,
    Value,
)

T = TypeVar("T")


def decimal_form(value: float, places: int) -> int | None:
    """Return the integer m with ``m / 10**places == value`` exactly, or None if m is long."""
    scaled = value * float(10**places)
    if not abs(scaled) < 1 << 46:
        return None
    number = round(scaled)
    if number / float(10**places) != value or (number == 0 and str(value)[0] == "-"):
        return None
    return number


class ByteWriter:
    """Collects bytes; texts go into a table and are written once."""

    def __init__(self) -> None:
        self.data = bytearray()
        self.texts: dict[str, int] = {}

    def varint(self, number: int) -> None:
        """Write a non-negative integer: seven bits per byte, lowest first."""
        while number > 127:
            self.data.append(number & 127 | 128)
            number >>= 7
        self.data.append(number)

    def signed_varint(self, number: int) -> None:
        """Write an integer; small magnitudes take few bytes."""
        self.varint(number << 1 if number >= 0 else (-number << 1) - 1)

    def each(self, items: Collection[T], write: Callable[[T], None]) -> None:
        """Write a count, then every item."""
        self.varint(len(items))
        for item in items:
            write(item)

    def pair(self, pair: tuple[str, Value]) -> None:
        """Write a key and its value."""
        self.text(pair[0])
        self.value(pair[1])

    def text(self, text: str) -> None:
        """Write a text as its index in the table."""
        self.varint(self.texts.setdefault(text, len(self.texts)))

    def double(self, value: float) -> None:
        """Write a float as eight bytes."""
        self.data += tags.DOUBLE.pack(value)

    def value(self, value: Value) -> None:
        """Write any value."""
        data = self.data
        if value is None:
            data.append(tags.NONE)
        elif isinstance(value, bool):
            data.append(tags.TRUE if value else tags.FALSE)
        elif isinstance(value, int):
            self._int(value)
        elif isinstance(value, float):
            self._float(value)
        elif isinstance(value, str):
            data.append(tags.TEXT)
            self.text(value)
        elif isinstance(value, Ref):
            self.reference(value)
        elif isinstance(value, (tuple, ListValue)):
            items = value if isinstance(value, tuple) else value.items
            data.append(tags.TUPLE if isinstance(value, tuple) else tags.LIST)
            self.each(items, self.value)
        elif isinstance(value, Slice):
            data.append(tags.SLICE)
            for part in (value.start, value.stop, value.step):
                self.value(part)
        elif isinstance(value, DictValue):
            data.append(tags.DICT)
            self.each(value.items, self.pair)
        elif isinstance(value, (Dtype, TorchConstant)):
            data.append(tags.DTYPE if isinstance(value, Dtype) else tags.TORCH)
            self.text(value.name)
        elif isinstance(value, RunDevice):
            data.append(tags.DEVICE_TYPE if value.as_text else tags.DEVICE)
        elif isinstance(value, complex):
            data.append(tags.COMPLEX)
            self.double(value.real)
            self.double(value.imag)
        else:
            data.append(tags.ELLIPSIS)

    def reference(self, ref: Ref) -> None:
        """Write a reference by name; a writer that knows the graph overrides this."""
        self.data.append(tags.REF)
        self.text(ref.name)

    def numbers(self, numbers: Sequence[bool | int | float | complex]) -> None:
        """Write a list of numbers in the shortest of a few forms."""
        kinds = {number.__class__ for number in numbers}
        self.varint(len(numbers))
        if kinds <= {int}:
            self.data.append(tags.INTS)
            for number in numbers:
                self.signed_varint(number)  # type: ignore[arg-type]
        elif kinds == {bool}:
            self.data.append(tags.BOOLS)
            self.data += bytes(numbers)  # type: ignore[arg-type]
        elif kinds == {float}:
            self._floats(numbers)  # type: ignore[arg-type]
        else:
            self.data.append(tags.MIXED)
            for number in numbers:
                self.value(number)

    def _floats(self, numbers: Sequence[float]) -> None:
        for places in (3, 6, tags.MAX_DECIMALS):
            integers = [decimal_form(number, places) for number in numbers]
            if None not in integers:
                self.data += bytes((tags.DECIMALS, places))
                for integer in integers:
                    self.signed_varint(integer)  # type: ignore[arg-type]
                return
        self.data.append(tags.RAWS)
        for number in numbers:
            self.double(number)

    def _int(self, value: int) -> None:
        if tags.SMALL_LOW <= value < tags.SMALL_LOW + 256 - tags.SMALL:
            self.data.append(value - tags.SMALL_LOW + tags.SMALL)
        else:
            self.data.append(tags.INT)
            self.signed_varint(value)

    def _float(self, value: float) -> None:
        for places in range(tags.MAX_DECIMALS + 1):
            integer = decimal_form(value, places)
            if integer is not None:
                self.data.append(tags.DECIMAL)
                self.data.append(places)
                self.signed_varint(integer)
                return
        self.data.append(tags.RAW)
        self.double(value)
