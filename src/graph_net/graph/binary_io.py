"""Numbers, texts and values as bytes: the alphabet that the binary form is written in."""

from __future__ import annotations

import struct
from collections.abc import Sequence

from graph_net.graph.errors import GraphError, LimitExceeded
from graph_net.graph.limits import Limits
from graph_net.graph.values import (
    DictValue,
    Dtype,
    ListValue,
    Ref,
    RunDevice,
    Slice,
    TorchConstant,
    Value,
    plain_float,
)

(NONE, TRUE, FALSE, INT, RAW, TEXT, ELLIPSIS, TUPLE, LIST, DICT, SLICE, DTYPE, TORCH, DEVICE,
 DEVICE_TYPE, COMPLEX, REF, DECIMAL) = range(18)  # fmt: skip
SMALL, SMALL_LOW = 64, -16
"""Tags from SMALL on are the whole numbers from SMALL_LOW on, in one byte."""
_DOUBLE = struct.Struct("<d")
MAX_DECIMALS = 9
INTS, DECIMALS, RAWS, BOOLS, MIXED = range(5)


def decimal_form(value: float, places: int) -> int | None:
    """The whole number m with ``m / 10**places == value`` exactly, if there is a short one."""
    scaled = value * float(10**places)
    if not abs(scaled) < 1 << 46:
        return None
    whole = round(scaled)
    if whole / float(10**places) != value or (whole == 0 and str(value)[0] == "-"):
        return None
    return whole


class Writer:
    """Collects bytes; texts go to a table and are written once."""

    def __init__(self) -> None:
        self.data = bytearray()
        self.texts: dict[str, int] = {}

    def branch(self) -> Writer:
        """A writer of its own bytes that shares the table of texts."""
        other = Writer()
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
        self.data += _DOUBLE.pack(value)

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


class Reader:
    """Takes the same things back out of bytes that may be hostile."""

    def __init__(self, data: bytes, limits: Limits) -> None:
        self.data = data
        self.place = 0
        self.limits = limits
        self.texts: list[str] = []
        self.atoms = limits.atoms

    def byte(self) -> int:
        """The next byte."""
        if self.place >= len(self.data):
            raise GraphError("the bytes end too early")
        self.place += 1
        return self.data[self.place - 1]

    def whole(self) -> int:
        """A non-negative whole number of at most 70 bits."""
        number = shift = 0
        while True:
            byte = self.byte()
            number |= (byte & 127) << shift
            if byte < 128:
                return number
            shift += 7
            if shift > 63:
                raise GraphError("a whole number is too long")

    def signed(self) -> int:
        """A whole number with its sign."""
        number = self.whole()
        return -(number + 1 >> 1) if number & 1 else number >> 1

    def count(self, least_bytes: int = 1) -> int:
        """A count of things that take at least so many bytes each; more cannot follow."""
        number = self.whole()
        if number * least_bytes > len(self.data) - self.place:
            raise GraphError("a count is larger than the bytes that follow")
        return number

    def text(self) -> str:
        """A text of the table."""
        index = self.whole()
        if index >= len(self.texts):
            raise GraphError("a text is not in the table")
        return self.texts[index]

    def read_texts(self) -> None:
        """The table of texts."""
        for _ in range(self.count()):
            length = self.whole()
            if length > self.limits.text or length > len(self.data) - self.place:
                raise GraphError("a text is too long")
            raw = self.data[self.place : self.place + length]
            self.place += length
            try:
                self.texts.append(raw.decode("utf-8"))
            except UnicodeDecodeError as error:
                raise GraphError("a text is not UTF-8") from error

    def double(self) -> float:
        """A float from eight bytes."""
        if self.place + 8 > len(self.data):
            raise GraphError("the bytes end too early")
        self.place += 8
        return plain_float(_DOUBLE.unpack_from(self.data, self.place - 8)[0])

    def spend(self, atoms: int) -> None:
        """Count values against the budget."""
        self.atoms -= atoms
        if self.atoms < 0:
            raise LimitExceeded(f"more than {self.limits.atoms} values")

    def value(self, depth: int = 0) -> Value:
        """One value."""
        if depth > self.limits.depth:
            raise LimitExceeded("a value is nested too deeply")
        tag = self.byte()
        self.spend(1)
        if tag >= SMALL:
            return tag - SMALL + SMALL_LOW
        match tag:
            case 0:
                return None
            case 1 | 2:
                return tag == TRUE
            case 3:
                return self.signed()
            case 4:
                return self.double()
            case 5:
                return self.text()
            case 6:
                return ...
            case 7:
                return tuple([self.value(depth + 1) for _ in range(self.count())])
            case 8:
                return ListValue(tuple([self.value(depth + 1) for _ in range(self.count())]))
            case 9:
                return DictValue(
                    tuple([(self.text(), self.value(depth + 1)) for _ in range(self.count(2))])
                )
            case 10:
                return Slice(self.value(depth + 1), self.value(depth + 1), self.value(depth + 1))
            case 11 | 12:
                return Dtype(self.text()) if tag == DTYPE else TorchConstant(self.text())
            case 13 | 14:
                return RunDevice(as_text=tag == DEVICE_TYPE)
            case 15:
                return complex(self.double(), self.double())
            case 16:
                return self.reference()
            case 17:
                return self.decimal(self.byte())
        raise GraphError(f"unknown value tag {tag}")

    def reference(self) -> Value:
        """A reference, as ``Writer.reference`` wrote it."""
        return Ref(self.text())

    def decimal(self, places: int) -> float:
        """A float from its decimal form."""
        if places > MAX_DECIMALS:
            raise GraphError("too many decimals")
        return self.signed() / float(10**places)

    def numbers(self) -> tuple[bool | int | float | complex, ...]:
        """A list of numbers."""
        count = self.count()
        if count > self.limits.literal:
            raise LimitExceeded(f"{count} literal values; {self.limits.literal} are allowed")
        self.spend(count)
        form = self.byte()
        if form == INTS:
            return tuple([self.signed() for _ in range(count)])
        if form == BOOLS:
            return tuple([self.byte() == 1 for _ in range(count)])
        if form == DECIMALS:
            places = self.byte()
            return tuple([self.decimal(places) for _ in range(count)])
        if form == RAWS:
            return tuple([self.double() for _ in range(count)])
        found = [self.value() for _ in range(count)]
        for number in found:
            if not isinstance(number, (bool, int, float, complex)):
                raise GraphError("a literal is no number")
        return tuple(found)  # type: ignore[arg-type]
