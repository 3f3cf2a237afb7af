"""Triton kernels of products: matrices, batches, convolutions, and the sum of split-K's parts.

Imported only if triton is installed. Every size is a constant of the kernel, so a program is
compiled for its workload alone, and only pointers are passed at run time.
"""
# mypy: ignore-errors

import triton
import triton.language as tl


@triton.jit
def tile_of(pid, BLOCKS_M: tl.constexpr, BLOCKS_N: tl.constexpr, GROUP_M: tl.constexpr):
    """Return the tile of a program; groups of rows share their columns in the L2 cache."""
    per_group: tl.constexpr = GROUP_M * BLOCKS_N
    group = pid // per_group
    first = group * GROUP_M
    rows = min(BLOCKS_M - first, GROUP_M)
    return first + (pid % per_group) % rows, (pid % per_group) // rows


@triton.jit
def finished(sums, bias, added, columns, at, inside, N: tl.constexpr,
             BIAS: tl.constexpr, ADD: tl.constexpr, ACTIVATION: tl.constexpr):  # fmt: skip
    """Apply the epilogue to accumulated sums."""
    if BIAS:
        sums += tl.load(bias + columns % N).to(tl.float32)
    if ADD:
        sums += tl.load(added + at, mask=inside, other=0.0).to(tl.float32)
    if ACTIVATION == "relu":
        sums = tl.maximum(sums, 0.0)
    if ACTIVATION == "relu6":
        sums = tl.minimum(tl.maximum(sums, 0.0), 6.0)
    if ACTIVATION == "gelu":
        sums = 0.5 * sums * (1.0 + tl.erf(sums * 0.7071067811865476))
    if ACTIVATION == "silu":
        sums = sums * tl.sigmoid(sums)
    return sums


@triton.jit
def matmul(a, b, bias, added, out,
           M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, TRANSPOSED: tl.constexpr,
           BIAS: tl.constexpr, ADD: tl.constexpr, ACTIVATION: tl.constexpr,
           PRECISION: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
           BLOCK_K: tl.constexpr, GROUP_M: tl.constexpr, SPLIT_K: tl.constexpr,
           BATCH: tl.constexpr):  # fmt: skip
    """Compute ``out = epilogue(a @ b)``; with split-K, store partial sums as float32."""
    row, column = tile_of(tl.program_id(0), tl.cdiv(M, BLOCK_M), tl.cdiv(N, BLOCK_N), GROUP_M)
    part = tl.program_id(1)
    batch = tl.program_id(2)
    rows = row * BLOCK_M + tl.arange(0, BLOCK_M)
    columns = column * BLOCK_N + tl.arange(0, BLOCK_N)
    inner = tl.arange(0, BLOCK_K)
    tiles: tl.constexpr = tl.cdiv(K, BLOCK_K * SPLIT_K)
    even: tl.constexpr = K % (BLOCK_K * SPLIT_K) == 0
    begin = part * tiles * BLOCK_K
    a_at = a + batch * M * K + (rows % M)[:, None] * K + (begin + inner)[None, :]
    if TRANSPOSED:
        b_at = b + batch * N * K + (columns % N)[None, :] * K + (begin + inner)[:, None]
        step: tl.constexpr = BLOCK_K
    else:
        b_at = b + batch * N * K + (begin + inner)[:, None] * N + (columns % N)[None, :]
        step: tl.constexpr = BLOCK_K * N
    sums = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for tile in range(tiles):
        if even:
            left = tl.load(a_at)
            right = tl.load(b_at)
        else:
            rest = K - begin - tile * BLOCK_K
            left = tl.load(a_at, mask=inner[None, :] < rest, other=0.0)
            right = tl.load(b_at, mask=inner[:, None] < rest, other=0.0)
        sums = tl.dot(left, right, sums, input_precision=PRECISION)
        a_at += BLOCK_K
        b_at += step
    at = rows[:, None] * N + columns[None, :]
    inside = (rows[:, None] < M) & (columns[None, :] < N)
    if SPLIT_K == 1:
        at += batch * M * N
        sums = finished(sums, bias, added, columns[None, :], at, inside, N, BIAS, ADD, ACTIVATION)
        tl.store(out + at, sums.to(out.dtype.element_ty), mask=inside)
    else:
        tl.store(out + (part * BATCH + batch) * M * N + at, sums, mask=inside)


@triton.jit
def convolution(x, w, bias, added, out,
                IMAGES: tl.constexpr, H: tl.constexpr, W: tl.constexpr, C: tl.constexpr,
                P: tl.constexpr, Q: tl.constexpr, N: tl.constexpr,
                R: tl.constexpr, S: tl.constexpr, STRIDE: tl.constexpr, PAD: tl.constexpr,
                BIAS: tl.constexpr, ADD: tl.constexpr, ACTIVATION: tl.constexpr,
                PRECISION: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
                BLOCK_K: tl.constexpr, GROUP_M: tl.constexpr, SPLIT_K: tl.constexpr):  # fmt: skip
    """Compute a convolution as (images, rows, columns) × (filter, channels), without copying x.

    ``x`` is images × H × W × C, ``w`` is N × R × S × C, ``out`` is images × P × Q × N.
    """
    M: tl.constexpr = IMAGES * P * Q
    row, column = tile_of(tl.program_id(0), tl.cdiv(M, BLOCK_M), tl.cdiv(N, BLOCK_N), GROUP_M)
    part = tl.program_id(1)
    rows = row * BLOCK_M + tl.arange(0, BLOCK_M)
    columns = column * BLOCK_N + tl.arange(0, BLOCK_N)
    inner = tl.arange(0, BLOCK_K)
    image = (rows % M) // (P * Q)
    up = (rows % (P * Q)) // Q * STRIDE - PAD
    left_edge = rows % Q * STRIDE - PAD
    of_channels: tl.constexpr = (C + BLOCK_K - 1) // BLOCK_K
    tiles: tl.constexpr = (R * S * of_channels + SPLIT_K - 1) // SPLIT_K
    sums = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for tile in range(tiles):
        step = part * tiles + tile
        tap = step // of_channels
        channels = step % of_channels * BLOCK_K + inner
        y = up + tap // S
        z = left_edge + tap % S
        seen = (y >= 0) & (y < H) & (z >= 0) & (z < W)
        real = (channels < C) & (tap < R * S)
        x_at = x + ((image * H + y) * W + z)[:, None] * C + channels[None, :]
        w_at = w + (columns % N)[None, :] * (R * S * C) + (tap * C + channels)[:, None]
        left = tl.load(x_at, mask=seen[:, None] & real[None, :], other=0.0)
        right = tl.load(w_at, mask=real[:, None], other=0.0)
        sums = tl.dot(left, right, sums, input_precision=PRECISION)
    at = rows[:, None] * N + columns[None, :]
    inside = (rows[:, None] < M) & (columns[None, :] < N)
    if SPLIT_K == 1:
        sums = finished(sums, bias, added, columns[None, :], at, inside, N, BIAS, ADD, ACTIVATION)
        tl.store(out + at, sums.to(out.dtype.element_ty), mask=inside)
    else:
        tl.store(out + part * M * N + at, sums, mask=inside)


@triton.jit
def add_parts(parts, bias, added, out, TOTAL: tl.constexpr, N: tl.constexpr,
              BIAS: tl.constexpr, ADD: tl.constexpr, ACTIVATION: tl.constexpr,
              SPLIT_K: tl.constexpr, BLOCK: tl.constexpr):  # fmt: skip
    """Add split-K's parts in a fixed order, without atomics, and apply the epilogue."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < TOTAL
    sums = tl.zeros((BLOCK,), dtype=tl.float32)
    for part in tl.static_range(SPLIT_K):
        sums += tl.load(parts + part * TOTAL + at, mask=inside, other=0.0)
    sums = finished(sums, bias, added, at % N, at, inside, N, BIAS, ADD, ACTIVATION)
    tl.store(out + at, sums.to(out.dtype.element_ty), mask=inside)
