"""Numbers, texts and values read back from bytes that may be hostile."""

from __future__ import annotations

from graph_net.graph.byte_tags import (
    BOOLS,
    DECIMALS,
    DEVICE_TYPE,
    DOUBLE,
    DTYPE,
    INTS,
    MAX_DECIMALS,
    RAWS,
    SMALL,
    SMALL_LOW,
    TRUE,
)
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
    """Takes back what a Writer wrote."""

    def __init__(self, data: bytes, limits: GraphLimits) -> None:
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
        return plain_float(DOUBLE.unpack_from(self.data, self.place - 8)[0])

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
