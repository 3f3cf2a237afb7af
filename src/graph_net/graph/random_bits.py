"""A counter-based random generator and its distributions, written once for numpy and torch.

Word i of a stream depends only on the stream and on i, so any part of a tensor can be drawn
without the rest. A `Workspace` holds the library that computes: numpy on the CPU, torch on any
device. Both perform only integer operations, table look-ups and single float32 operations, each
of which is exact or rounded in one way (IEEE 754). Nothing depends on a mathematical library or on
fused operations, so the values agree to the last bit.
"""

import functools
import math
from dataclasses import dataclass
from hashlib import blake2b
from statistics import NormalDist
from types import ModuleType
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

Array: TypeAlias = Any
"""A numpy array or a torch tensor, whichever library the workspace holds."""

BLOCK_WORDS = 1024
"""Words per block, the smallest part of a stream that can be drawn."""
LANES = 1 << 16
LARGEST_NORMAL = 6.2
"""No value that `normal` draws is farther from the mean, in units of std."""
_HALF_BLOCK = 2 * BLOCK_WORDS
_GRID = 1 << 20
_LOW_32 = (1 << 32) - 1
_MASK_64 = (1 << 64) - 1
# The finaliser of splitmix64: Stafford's variant 13 of MurmurHash3's.
_ROUNDS = ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB), (31, 1))


def _signed(word: int) -> int:
    """Return the number whose two's complement has the low 64 bits of word."""
    word &= _MASK_64
    return word - (1 << 64) if word >> 63 else word


@dataclass(frozen=True, slots=True)
class Stream:
    """An endless sequence of random 64-bit words: word i is a hash of ``key + i * gamma``."""

    key: int
    gamma: int


def stream(name: str, seed: int) -> Stream:
    """Return the stream of a name under a seed, the same on every machine."""
    text = f"{seed}\0{name}".encode("utf-8", "surrogatepass")
    digest = blake2b(text, digest_size=16, person=b"graph_net").digest()
    gamma = int.from_bytes(digest[8:], "little") | 1
    # A step with few changes between neighbouring bits hashes badly (Steele, Lea, Flood 2014).
    if (gamma ^ gamma >> 1).bit_count() < 24:
        gamma ^= 0xAAAA_AAAA_AAAA_AAAA
    return Stream(int.from_bytes(digest[:8], "little"), gamma)


class Workspace:
    """A stream, the library that computes its values, and memory reused for every chunk.

    Fresh memory for every chunk would cost more in page faults than the drawing itself.
    """

    def __init__(self, stream: Stream, lib: ModuleType, device: object, words: int) -> None:
        self.lib = lib
        self._stream = stream
        self._device_option = {} if lib is np else {"device": device}
        # The two names and defaults that differ. numpy's default mode copies the output.
        self.shift_right = np.right_shift if lib is np else lib.bitwise_right_shift
        self._take = functools.partial(np.take, mode="clip") if lib is np else lib.take
        self._arrays: dict[str, Array] = {}
        counters = lib.arange(words, dtype=lib.int64, **self._device_option)
        self._steps = counters * _signed(stream.gamma)

    def array(self, role: str, size: int, dtype: str) -> Array:
        """Return the buffer of this role, with whatever was left in it."""
        buffer = self._arrays.get(role)
        if buffer is None or len(buffer) < size:
            buffer = self.lib.empty(size, dtype=getattr(self.lib, dtype), **self._device_option)
            self._arrays[role] = buffer
        return buffer[:size]

    def words(self, block: int, blocks: int) -> Array:
        """Return the words of some blocks, from this one on, as signed 64-bit integers."""
        lib, count = self.lib, blocks * BLOCK_WORDS
        base = _signed(self._stream.key + block * BLOCK_WORDS * self._stream.gamma)
        word = self.array("words", count, "int64")
        shifted = self.array("shifted", count, "int64")
        lib.add(self._steps[:count], base, out=word)
        for shift, factor in _ROUNDS:
            self.shift_right(word, shift, out=shifted)
            # Signed integers shift copies of the sign in; the hash needs zeros.
            lib.bitwise_and(shifted, _MASK_64 >> shift, out=shifted)
            lib.bitwise_xor(word, shifted, out=word)
            if factor != 1:
                lib.multiply(word, _signed(factor), out=word)
        return word

    def lanes(self, words: Array, bits: int) -> Array:
        """Return the words cut into integers of 16 or 32 bits, lowest first, widened to 64.

        The order is that of little-endian machines, the only ones supported.
        """
        narrow = words.view(getattr(self.lib, f"uint{bits}"))
        lanes = self.array("lanes", len(narrow), "int64")
        lanes[...] = narrow
        return lanes

    def quantiles(self, lanes: Array, scale: float) -> Array:
        """Return the normal quantiles that lanes of 16 bits index, times scale."""
        out = self.array("quantiles", len(lanes), "float32")
        if self.lib is np and len(lanes) < LANES:
            self._take(normal_quantiles(), lanes, out=out)
            return np.multiply(out, np.float32(scale), out=out)
        # The same products, made once for the 65,536 entries instead of for every value.
        if "table" not in self._arrays:
            table = normal_quantiles() * np.float32(scale)
            self._arrays["table"] = self.lib.asarray(table, **self._device_option)
        self._take(self._arrays["table"], lanes, out=out)
        return out


@functools.cache
def normal_quantiles() -> npt.NDArray[np.float32]:
    """Return the 65,536 equally likely values that stand for a normal variable.

    They are rounded to a grid of 2**-20: no quantile lies so close to the midpoint of two grid
    points that the last digit of a platform's logarithm could move it (a test measures this).
    """
    quantile = NormalDist().inv_cdf
    lower = [round(quantile((lane + 0.5) / LANES) * _GRID) for lane in range(LANES // 2)]
    whole = np.array([*lower, *(-value for value in reversed(lower))], dtype=np.float32)
    return whole / np.float32(_GRID)


def normal(space: Workspace, words: Array, out: Array, mean: float, std: float) -> None:
    """Write four values per word, normal with this mean and std.

    With a and b drawn from the quantiles, a + b and a - b are two independent normal values.
    The sums take millions of values where the table has 65,536, so ties are rare. b lies half a
    block after a, so that every operation is on contiguous memory.
    """
    lanes = space.lanes(words, 16)
    drawn = space.quantiles(lanes, std * math.sqrt(0.5)).reshape(-1, 2, _HALF_BLOCK)
    pairs = out.reshape(-1, 2, _HALF_BLOCK)
    first, second = drawn[:, 0], drawn[:, 1]
    if mean:
        space.lib.add(first, mean, out=first)
    space.lib.add(first, second, out=pairs[:, 0])
    space.lib.subtract(first, second, out=pairs[:, 1])


def uniform(space: Workspace, words: Array, out: Array, low: float, step: float) -> None:
    """Write two values per word: low plus an integer below 2**24 times step."""
    lanes = space.lanes(words, 32)
    space.shift_right(lanes, 8, out=lanes)
    out[...] = lanes
    space.lib.multiply(out, step, out=out)
    space.lib.add(out, low, out=out)


def integers(space: Workspace, words: Array, out: Array, low: int, count: int) -> None:
    """Write two values per word: low plus an integer below count, which is 2**24 at most."""
    lanes = space.lanes(words, 32)
    space.lib.multiply(lanes, count, out=lanes)
    space.shift_right(lanes, 32, out=lanes)
    space.lib.add(lanes, _signed(low), out=out)


def wide_integers(space: Workspace, words: Array, out: Array, low: int, count: int) -> None:
    """Write one value per word: low plus an integer below count, which is 2**64 at most."""
    if count > _MASK_64:
        space.lib.add(words, _signed(low), out=out)
        return
    # The high half of the 128-bit product, by 32-bit digits.
    word_low, word_high = words & _LOW_32, (words >> 32) & _LOW_32
    count_low, count_high = count & _LOW_32, count >> 32
    middle = word_high * count_low + ((word_low * count_low >> 32) & _LOW_32)
    other = word_low * count_high + (middle & _LOW_32)
    high = word_high * count_high + ((middle >> 32) & _LOW_32) + ((other >> 32) & _LOW_32)
    space.lib.add(high, _signed(low), out=out)


def chances(space: Workspace, words: Array, out: Array, p: float) -> None:
    """Write two booleans per word, each true with probability p."""
    space.lib.less(space.lanes(words, 32), round(p * (1 << 32)), out=out)
