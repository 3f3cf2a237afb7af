"""Triton kernels along rows: softmax, layer norm, RMS norm, sum.

Imported only if triton is installed. A row that fits in a block is read once. A longer row is read
in several blocks, and twice if the result needs the whole row first. Every size is a constant, as
in the products' kernels.
"""
# mypy: ignore-errors

import triton
import triton.language as tl


@triton.jit
def softmax(x, out, ROWS: tl.constexpr, COLUMNS: tl.constexpr, BLOCK_ROWS: tl.constexpr,
            BLOCK_COLUMNS: tl.constexpr, PER_PROGRAM: tl.constexpr,
            STAGES: tl.constexpr):  # fmt: skip
    """Divide each row's exponentials by their sum; over several blocks it is updated online."""
    lanes = tl.arange(0, BLOCK_COLUMNS)[None, :]
    for turn in range(PER_PROGRAM):
        first = (tl.program_id(0) * PER_PROGRAM + turn) * BLOCK_ROWS
        rows = (first + tl.arange(0, BLOCK_ROWS))[:, None]
        if BLOCK_COLUMNS >= COLUMNS:
            inside = (rows < ROWS) & (lanes < COLUMNS)
            at = rows * COLUMNS + lanes
            values = tl.load(x + at, mask=inside, other=-1e30).to(tl.float32)
            powers = tl.exp(values - tl.max(values, axis=1)[:, None])
            result = powers / tl.sum(powers, axis=1)[:, None]
            tl.store(out + at, result.to(out.dtype.element_ty), mask=inside)
        else:
            most = tl.full((BLOCK_ROWS, BLOCK_COLUMNS), -1e30, dtype=tl.float32)
            sums = tl.zeros((BLOCK_ROWS, BLOCK_COLUMNS), dtype=tl.float32)
            for start in tl.range(0, COLUMNS, BLOCK_COLUMNS, num_stages=STAGES):
                inside = (rows < ROWS) & (start + lanes < COLUMNS)
                at = rows * COLUMNS + start + lanes
                values = tl.load(x + at, mask=inside, other=-1e30).to(tl.float32)
                higher = tl.maximum(most, values)
                sums = sums * tl.exp(most - higher) + tl.exp(values - higher)
                most = higher
            top = tl.max(most, axis=1)[:, None]
            total = tl.sum(sums * tl.exp(most - top), axis=1)[:, None]
            for start in tl.range(0, COLUMNS, BLOCK_COLUMNS, num_stages=STAGES):
                inside = (rows < ROWS) & (start + lanes < COLUMNS)
                at = rows * COLUMNS + start + lanes
                values = tl.load(x + at, mask=inside, other=-1e30).to(tl.float32)
                result = tl.exp(values - top) / total
                tl.store(out + at, result.to(out.dtype.element_ty), mask=inside)


@triton.jit
def norm(x, weight, bias, out, ROWS: tl.constexpr, COLUMNS: tl.constexpr,
         BLOCK_ROWS: tl.constexpr, BLOCK_COLUMNS: tl.constexpr, PER_PROGRAM: tl.constexpr,
         STAGES: tl.constexpr, CENTRED: tl.constexpr):  # fmt: skip
    """Divide each row by its deviation and scale it; for layer norm also centre and shift it."""
    lanes = tl.arange(0, BLOCK_COLUMNS)[None, :]
    for turn in range(PER_PROGRAM):
        first = (tl.program_id(0) * PER_PROGRAM + turn) * BLOCK_ROWS
        rows = (first + tl.arange(0, BLOCK_ROWS))[:, None]
        if BLOCK_COLUMNS >= COLUMNS:
            inside = (rows < ROWS) & (lanes < COLUMNS)
            at = rows * COLUMNS + lanes
            values = tl.load(x + at, mask=inside, other=0.0).to(tl.float32)
            if CENTRED:
                mean = tl.sum(values, axis=1)[:, None] / COLUMNS
                values = tl.where(inside, values - mean, 0.0)
            scale = tl.rsqrt(tl.sum(values * values, axis=1)[:, None] / COLUMNS + 1e-5)
            result = values * scale
            result *= tl.load(weight + lanes, mask=lanes < COLUMNS, other=0.0).to(tl.float32)
            if CENTRED:
                result += tl.load(bias + lanes, mask=lanes < COLUMNS, other=0.0).to(tl.float32)
            tl.store(out + at, result.to(out.dtype.element_ty), mask=inside)
        else:
            sums = tl.zeros((BLOCK_ROWS, BLOCK_COLUMNS), dtype=tl.float32)
            squares = tl.zeros((BLOCK_ROWS, BLOCK_COLUMNS), dtype=tl.float32)
            for start in tl.range(0, COLUMNS, BLOCK_COLUMNS, num_stages=STAGES):
                inside = (rows < ROWS) & (start + lanes < COLUMNS)
                at = rows * COLUMNS + start + lanes
                values = tl.load(x + at, mask=inside, other=0.0).to(tl.float32)
                sums += values
                squares += values * values
            square = tl.sum(squares, axis=1)[:, None] / COLUMNS
            mean = tl.sum(sums, axis=1)[:, None] / COLUMNS
            if CENTRED:
                square -= mean * mean
            scale = tl.rsqrt(square + 1e-5)
            for start in tl.range(0, COLUMNS, BLOCK_COLUMNS, num_stages=STAGES):
                real = start + lanes < COLUMNS
                inside = (rows < ROWS) & real
                at = rows * COLUMNS + start + lanes
                result = tl.load(x + at, mask=inside, other=0.0).to(tl.float32)
                if CENTRED:
                    result -= mean
                result *= scale
                result *= tl.load(weight + start + lanes, mask=real, other=0.0).to(tl.float32)
                if CENTRED:
                    result += tl.load(bias + start + lanes, mask=real, other=0.0).to(tl.float32)
                tl.store(out + at, result.to(out.dtype.element_ty), mask=inside)


@triton.jit
def row_sum(x, out, ROWS: tl.constexpr, COLUMNS: tl.constexpr, BLOCK_ROWS: tl.constexpr,
            BLOCK_COLUMNS: tl.constexpr, PER_PROGRAM: tl.constexpr, STAGES: tl.constexpr,
            SPLIT: tl.constexpr):  # fmt: skip
    """Sum each row, or each of its ``SPLIT`` parts; ``out`` is parts × rows."""
    lanes = tl.arange(0, BLOCK_COLUMNS)[None, :]
    blocks: tl.constexpr = tl.cdiv(COLUMNS, BLOCK_COLUMNS * SPLIT)
    begin = tl.program_id(1) * blocks * BLOCK_COLUMNS
    for turn in range(PER_PROGRAM):
        first = (tl.program_id(0) * PER_PROGRAM + turn) * BLOCK_ROWS
        rows = first + tl.arange(0, BLOCK_ROWS)
        sums = tl.zeros((BLOCK_ROWS, BLOCK_COLUMNS), dtype=tl.float32)
        for block in tl.range(0, blocks, num_stages=STAGES):
            columns = begin + block * BLOCK_COLUMNS + lanes
            inside = (rows[:, None] < ROWS) & (columns < COLUMNS)
            at = rows[:, None] * COLUMNS + columns
            sums += tl.load(x + at, mask=inside, other=0.0).to(tl.float32)
        result = tl.sum(sums, axis=1)
        at = tl.program_id(1) * ROWS + rows
        tl.store(out + at, result.to(out.dtype.element_ty), mask=rows < ROWS)
