"""A weighted sum of table rows on explicit vectors.

numba leaves this loop scalar, ten times slower; so it is written in LLVM's own vectors of eight
floats, which every target lowers to what it has.
"""

from __future__ import annotations

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from partita.kernels._compile import inner

LANES = 8
MOST = 4  # vectors that are summed at once
_UNROLL = 4  # terms of a sum that do not wait for each other
TERMS = 1024  # of a sum in single precision
_FLOAT = ir.FloatType()
_VECTOR = ir.VectorType(_FLOAT, LANES)
_INDEX = ir.IntType(64)


def _index(value):
    return ir.Constant(_INDEX, value)


def _load(builder, base, offset):
    """Eight floats from ``base + offset``, aligned or not."""
    pointer = builder.bitcast(builder.gep(base, [offset]), _VECTOR.as_pointer())
    loaded = builder.load(pointer)
    loaded.align = 4
    return loaded


def _spread(builder, scalar):
    """A vector with the scalar in every lane."""
    one = builder.insert_element(ir.Constant(_VECTOR, ir.Undefined), scalar, _index(0))
    mask = ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES)
    return builder.shuffle_vector(one, ir.Constant(_VECTOR, ir.Undefined), mask)


def _emit(context, builder, signature, args, n_vectors):
    """Emit out[:] = Σ_m weights[m] * table[rows[base + m], column : column + 8 * n_vectors]."""
    parts = [
        cgutils.create_struct_proxy(kind)(context, builder, value=value)
        for kind, value in zip(signature.args, args, strict=True)
        if isinstance(kind, types.Array)
    ]
    table, rows, weights, out = (part.data for part in parts)
    base, start, stop, width, column, _ = (
        value
        for kind, value in zip(signature.args, args, strict=True)
        if not isinstance(kind, types.Array)
    )
    rows = builder.gep(rows, [base])
    zero = ir.Constant(_VECTOR, [0.0] * LANES)
    sums = [
        [cgutils.alloca_once_value(builder, zero) for _ in range(n_vectors)] for _ in range(_UNROLL)
    ]

    def add(m, lane):
        row = builder.zext(builder.load(builder.gep(rows, [m])), _INDEX)
        offset = builder.add(builder.mul(row, width), column)
        weight = _spread(builder, builder.load(builder.gep(weights, [m])))
        for v in range(n_vectors):
            values = _load(builder, table, builder.add(offset, _index(LANES * v)))
            product = builder.fmul(weight, values, flags=("contract",))
            total = builder.fadd(builder.load(sums[lane][v]), product, flags=("contract",))
            builder.store(total, sums[lane][v])

    whole = builder.sdiv(builder.sub(stop, start), _index(_UNROLL))
    with cgutils.for_range(builder, whole) as loop:
        first = builder.add(start, builder.mul(loop.index, _index(_UNROLL)))
        for lane in range(_UNROLL):
            add(builder.add(first, _index(lane)), lane)
    rest = builder.add(start, builder.mul(whole, _index(_UNROLL)))
    with cgutils.for_range(builder, builder.sub(stop, rest)) as loop:
        add(builder.add(rest, loop.index), 0)
    for v in range(n_vectors):
        total = builder.load(sums[0][v])
        for lane in range(1, _UNROLL):
            total = builder.fadd(total, builder.load(sums[lane][v]), flags=("contract",))
        pointer = builder.bitcast(
            builder.gep(out, [builder.add(column, _index(LANES * v))]), _VECTOR.as_pointer()
        )
        builder.store(total, pointer).align = 4
    return context.get_dummy_value()


def _emit_blocks(context, builder, signature, args):
    """Emit the sums of ``_emit`` for columns from k to end, one to four blocks of eight."""
    *rest, k, end, out = args
    n_blocks = builder.sdiv(builder.sub(end, k), _index(LANES))
    for n_vectors in range(1, MOST + 1):
        with builder.if_then(builder.icmp_signed("==", n_blocks, _index(n_vectors))):
            _emit(context, builder, signature, (*rest, k, end, out), n_vectors)
    return context.get_dummy_value()


@intrinsic
def sum_blocks(typingctx, table, rows, weights, base, start, stop, width, k, end, out):
    """Add rows of a table up; see ``weighted_rows``.

    ``out[k:end]`` becomes the sum of ``weights[m] * table[r, k:end]``, m from start to stop, where
    r is number ``base`` + m in memory of ``rows``. There are one to four blocks of eight columns;
    how a sum is rounded does not depend on the columns that are summed with it.
    """
    size = types.intp
    signature = types.void(table, rows, weights, size, size, size, size, size, size, out)
    return signature, _emit_blocks


@inner
def weighted_rows(table, rows, weights, width, block, out):
    """``out[k]`` becomes the sum over m of ``weights[m] * table[rows[m], k]``, k < width.

    Parameters
    ----------
    table : (R, width) float32, C order, ``width`` a multiple of eight
    rows : (M,) uint32; weights : (M,) float32
    block : (width,) float32, scratch
    out : (width,) float64

    Sums of 1,024 terms are taken in float32 and added up in float64.
    """
    n = rows.shape[0]
    for k in range(width):
        out[k] = 0.0
    for start in range(0, n, TERMS):
        stop = min(n, start + TERMS)
        for k in range(0, width, MOST * LANES):
            end = min(width, k + MOST * LANES)
            sum_blocks(table, rows, weights, 0, start, stop, width, k, end, block)
        for k in range(width):
            out[k] += block[k]
