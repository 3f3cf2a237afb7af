"""The tags that values begin with in the binary form."""

from __future__ import annotations

import struct

(NONE, TRUE, FALSE, INT, RAW, TEXT, ELLIPSIS, TUPLE, LIST, DICT, SLICE, DTYPE, TORCH, DEVICE,
 DEVICE_TYPE, COMPLEX, REF, DECIMAL) = range(18)  # fmt: skip
SMALL, SMALL_LOW = 64, -16
"""Tags from SMALL on are the integers from SMALL_LOW on, in one byte."""
DOUBLE = struct.Struct("<d")
MAX_DECIMALS = 9
INTS, DECIMALS, RAWS, BOOLS, MIXED = range(5)
"""Forms of a list of numbers."""
