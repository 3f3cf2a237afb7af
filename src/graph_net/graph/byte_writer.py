"""Numbers, texts and values written as bytes, the alphabet of the binary form."""

from __future__ import annotations

from collections.abc import Sequence

from graph_net.graph.byte_tags import (
    BOOLS,
    COMPLEX,
    DECIMAL,
    DECIMALS,
    DEVICE,
    DEVICE_TYPE,
    DICT,
    DOUBLE,
    DTYPE,
    ELLIPSIS,
    FALSE,
    INT,
    INTS,
    LIST,
    MAX_DECIMALS,
    MIXED,
    NONE,
    RAW,
    RAWS,
    REF,
    SLICE,
    SMALL,
    SMALL_LOW,
    TEXT,
    TORCH,
    TRUE,
    TUPLE,
)
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


def decimal_form(value: float, places: int) -> int | None:
    """The whole number m with ``m / 10**places == value`` exactly, if there is a short one."""
    scaled = value * float(10**places)
    if not abs(scaled) < 1 << 46:
        return None
    whole = round(scaled)
    if whole / float(10**places) != value or (whole == 0 and str(value)[0] == "-"):
        return None
    return whole


class ByteWriter:
    """Collects bytes; texts go to a table and are written once."""

    def __init__(self) -> None:
        self.data = bytearray()
        self.texts: dict[str, int] = {}

    def branch(self) -> ByteWriter:
        """A writer of its own bytes that shares the table of texts."""
        other = ByteWriter()
        other.texts = self.texts
        return other

    def whole(self, number: int) -> None:
        """A non-negative whole number: seven bits a byte, lowest first."""
        while number > 127:
            self.data.append(number & 127 | 128)
            number >>= 7
        self.data.append(number)

    def signed(self, number: int) -> None:
        """A whole number; small magnitudes are short."""
        self.whole(number << 1 if number >= 0 else (-number << 1) - 1)

    def text(self, text: str) -> None:
        """A text, by its place in the table."""
        self.whole(self.texts.setdefault(text, len(self.texts)))

    def double(self, value: float) -> None:
        """Eight bytes of a float."""
        self.data += DOUBLE.pack(value)

    def value(self, value: Value) -> None:
        """Any argument that holds no reference."""
        data = self.data
        if value is None:
            data.append(NONE)
        elif isinstance(value, bool):
            data.append(TRUE if value else FALSE)
        elif isinstance(value, int):
            self._int(value)
        elif isinstance(value, float):
            self._float(value)
        elif isinstance(value, str):
            data.append(TEXT)
            self.text(value)
        elif isinstance(value, Ref):
            self.reference(value)
        elif isinstance(value, (tuple, ListValue)):
            items = value if isinstance(value, tuple) else value.items
            data.append(TUPLE if isinstance(value, tuple) else LIST)
            self.whole(len(items))
            for item in items:
                self.value(item)
        elif isinstance(value, Slice):
            data.append(SLICE)
            for part in (value.start, value.stop, value.step):
                self.value(part)
        elif isinstance(value, DictValue):
            data.append(DICT)
            self.whole(len(value.items))
            for key, item in value.items:
                self.text(key)
                self.value(item)
        elif isinstance(value, (Dtype, TorchConstant)):
            data.append(DTYPE if isinstance(value, Dtype) else TORCH)
            self.text(value.name)
        elif isinstance(value, RunDevice):
            data.append(DEVICE_TYPE if value.as_text else DEVICE)
        elif isinstance(value, complex):
            data.append(COMPLEX)
            self.double(value.real)
            self.double(value.imag)
        else:
            data.append(ELLIPSIS)

    def reference(self, ref: Ref) -> None:
        """A reference; what it looks like is the business of whoever knows the graph."""
        self.data.append(REF)
        self.text(ref.name)

    def numbers(self, numbers: Sequence[bool | int | float | complex]) -> None:
        """A list of numbers, in the shortest of a few forms."""
        kinds = {number.__class__ for number in numbers}
        self.whole(len(numbers))
        if kinds <= {int}:
            self.data.append(INTS)
            for number in numbers:
                self.signed(number)  # type: ignore[arg-type]
        elif kinds == {bool}:
            self.data.append(BOOLS)
            self.data += bytes(numbers)  # type: ignore[arg-type]
        elif kinds == {float}:
            self._floats(numbers)  # type: ignore[arg-type]
        else:
            self.data.append(MIXED)
            for number in numbers:
                self.value(number)

    def _floats(self, numbers: Sequence[float]) -> None:
        for places in (3, 6, MAX_DECIMALS):
            wholes = [decimal_form(number, places) for number in numbers]
            if None not in wholes:
                self.data += bytes((DECIMALS, places))
                for whole in wholes:
                    self.signed(whole)  # type: ignore[arg-type]
                return
        self.data.append(RAWS)
        for number in numbers:
            self.double(number)

    def _int(self, value: int) -> None:
        if SMALL_LOW <= value < SMALL_LOW + 256 - SMALL:
            self.data.append(value - SMALL_LOW + SMALL)
        else:
            self.data.append(INT)
            self.signed(value)

    def _float(self, value: float) -> None:
        for places in range(MAX_DECIMALS + 1):
            whole = decimal_form(value, places)
            if whole is not None:
                self.data.append(DECIMAL)
                self.data.append(places)
                self.signed(whole)
                return
        self.data.append(RAW)
        self.double(value)
