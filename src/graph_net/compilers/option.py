"""An option of a compiler: its default, and the other values it takes."""

from __future__ import annotations

import math
from dataclasses import dataclass

Json = None | bool | int | float | str | list["Json"] | dict[str, "Json"]


@dataclass(frozen=True, slots=True)
class Option:
    """A declared option; its values have the type of the default.

    ``choices`` lists the allowed values; ``least`` and ``most`` bound a number. A plain default
    stands for ``Option(default)``.
    """

    default: Json
    choices: tuple[Json, ...] = ()
    least: float | None = None
    most: float | None = None

    def takes(self, value: Json) -> bool:
        """Return whether a user may set this value."""
        if self.choices:
            return any(type(value) is type(choice) and value == choice for choice in self.choices)
        if self.default is None:
            return True  # any type
        return self._has_type(value) and self._is_within(value)

    def takes_stored(self, value: Json) -> bool:
        """Return whether a file may set this value: one of the choices, a truth value, or a number.

        A free text or structure may reach a command line or a path, so a file can only repeat its
        default.
        """
        if self.choices or isinstance(self.default, (bool, int, float)):
            return self.takes(value)
        return type(value) is type(self.default) and value == self.default

    def refusal(self, key: str, value: Json) -> str:
        """Return why a value is refused, as text to follow the compiler's name."""
        if self.choices:
            return f" has no {key} {value!r}; it has: {', '.join(map(str, self.choices))}"
        return f"'s {key} is {self._expected()}, not {value!r}"

    def _expected(self) -> str:
        if isinstance(self.default, bool):
            return "true or false"
        if not isinstance(self.default, (int, float)):
            return f"a {type(self.default).__name__}"
        kind = "a whole number" if isinstance(self.default, int) else "a number"
        start = "" if self.least is None else f" from {self.least}"
        return kind + start + ("" if self.most is None else f" to {self.most}")

    def _has_type(self, value: Json) -> bool:
        if isinstance(self.default, float):
            number = isinstance(value, (int, float)) and not isinstance(value, bool)
            return number and math.isfinite(value)  # type: ignore[arg-type]
        return type(value) is type(self.default)

    def _is_within(self, value: Json) -> bool:
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            return True
        below = self.least is not None and value < self.least
        above = self.most is not None and value > self.most
        return not below and not above


def option_of(declared: Option | Json) -> Option:
    """Return the option that a compiler declares, perhaps by a plain default."""
    return declared if isinstance(declared, Option) else Option(declared)
