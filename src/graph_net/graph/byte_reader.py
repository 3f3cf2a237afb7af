"""Numbers, texts and values read from bytes that may be hostile."""

from __future__ import annotations

from graph_net.graph import byte_tags as tags
from graph_net.graph.errors import GraphError, LimitExceeded
from graph_net.graph.limits import GraphLimits
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


class Reader:
    """A cursor over bytes that a ByteWriter wrote."""

    def __init__(self, data: bytes, limits: GraphLimits) -> None:
        self.data = data
        self.position = 0
        self.limits = limits
        self.texts: list[str] = []
        self.atoms = limits.atoms

    def byte(self) -> int:
        """Read the next byte."""
        if self.position >= len(self.data):
            raise GraphError("the bytes end too early")
        self.position += 1
        return self.data[self.position - 1]

    def varint(self) -> int:
        """Read a non-negative integer of at most 70 bits."""
        number = shift = 0
        while True:
            byte = self.byte()
            number |= (byte & 127) << shift
            if byte < 128:
                return number
            shift += 7
            if shift > 63:
                raise GraphError("an integer is too long")

    def signed_varint(self) -> int:
        """Read a signed integer."""
        number = self.varint()
        return -(number + 1 >> 1) if number & 1 else number >> 1

    def count(self, least_bytes: int = 1) -> int:
        """Read a count of items of ``least_bytes`` or more; raise if they cannot all follow."""
        number = self.varint()
        if number * least_bytes > len(self.data) - self.position:
            raise GraphError("a count is larger than the bytes that follow")
        return number

    def text(self) -> str:
        """Read a reference into the table of texts."""
        index = self.varint()
        if index >= len(self.texts):
            raise GraphError("a text is not in the table")
        return self.texts[index]

    def read_texts(self) -> None:
        """Read the table of texts."""
        for _ in range(self.count()):
            length = self.varint()
            if length > self.limits.text or length > len(self.data) - self.position:
                raise GraphError("a text is too long")
            raw = self.data[self.position : self.position + length]
            self.position += length
            try:
                self.texts.append(raw.decode("utf-8"))
            except UnicodeDecodeError as error:
                raise GraphError("a text is not UTF-8") from error

    def double(self) -> float:
        """Read a float of eight bytes."""
        if self.position + 8 > len(self.data):
            raise GraphError("the bytes end too early")
        self.position += 8
        return plain_float(tags.DOUBLE.unpack_from(self.data, self.position - 8)[0])

    def spend(self, atoms: int) -> None:
        """Take this many values from the budget; raise if it is exhausted."""
        self.atoms -= atoms
        if self.atoms < 0:
            raise LimitExceeded(f"more than {self.limits.atoms} values")

    def value(self, depth: int = 0) -> Value:
        """Read one value."""
        if depth > self.limits.depth:
            raise LimitExceeded("a value is nested too deeply")
        tag = self.byte()
        self.spend(1)
        if tag >= tags.SMALL:
            return tag - tags.SMALL + tags.SMALL_LOW
        match tag:  # the numbers of ``byte_tags``
            case 0:
                return None
            case 1 | 2:
                return tag == tags.TRUE
            case 3:
                return self.signed_varint()
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
                return Dtype(self.text()) if tag == tags.DTYPE else TorchConstant(self.text())
            case 13 | 14:
                return RunDevice(as_text=tag == tags.DEVICE_TYPE)
            case 15:
                return complex(self.double(), self.double())
            case 16:
                return self.reference()
            case 17:
                return self.decimal(self.byte())
        raise GraphError(f"unknown value tag {tag}")

    def reference(self) -> Value:
        """Read a reference, as ``ByteWriter.reference`` wrote it."""
        return Ref(self.text())

    def decimal(self, places: int) -> float:
        """Read a float in decimal form."""
        if places > tags.MAX_DECIMALS:
            raise GraphError("too many decimals")
        return self.signed_varint() / float(10**places)

    def numbers(self) -> tuple[bool | int | float | complex, ...]:
        """Read a list of numbers."""
        count = self.count()
        if count > self.limits.literal:
            raise LimitExceeded(f"{count} literal values; {self.limits.literal} are allowed")
        self.spend(count)
        form = self.byte()
        if form == tags.INTS:
            return tuple([self.signed_varint() for _ in range(count)])
        if form == tags.BOOLS:
            return tuple([self.byte() == 1 for _ in range(count)])
        if form == tags.DECIMALS:
            places = self.byte()
            return tuple([self.decimal(places) for _ in range(count)])
        if form == tags.RAWS:
            return tuple([self.double() for _ in range(count)])
        numbers = [self.value() for _ in range(count)]
        if not all(isinstance(number, (bool, int, float, complex)) for number in numbers):
            raise GraphError("a literal is not a number")
        return tuple(numbers)  # type: ignore[arg-type]
