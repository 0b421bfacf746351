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


def _emit(context, builder, signature, args, n_vectors, unroll):
    """Emit out[:] = sum over m of weights[m] * table[rows[m], column : column + 8 * n_vectors]."""
    parts = [
        cgutils.create_struct_proxy(kind)(context, builder, value=value)
        for kind, value in zip(signature.args, args, strict=True)
        if isinstance(kind, types.Array)
    ]
    table, rows, weights, out = (part.data for part in parts)
    start, stop, width, column = (
        value
        for kind, value in zip(signature.args, args, strict=True)
        if not isinstance(kind, types.Array)
    )
    zero = ir.Constant(_VECTOR, [0.0] * LANES)
    sums = [
        [cgutils.alloca_once_value(builder, zero) for _ in range(n_vectors)] for _ in range(unroll)
    ]

    def add(m, lane):
        row = builder.zext(builder.load(builder.gep(rows, [m])), _INDEX)
        offset = builder.add(builder.mul(row, width), column)
        weight = _spread(builder, builder.load(builder.gep(weights, [m])))
        for v in range(n_vectors):
            values = _load(builder, table, builder.add(offset, _index(LANES * v)))
            product = builder.fmul(weight, values, flags=("fast",))
            total = builder.fadd(builder.load(sums[lane][v]), product, flags=("fast",))
            builder.store(total, sums[lane][v])

    whole = builder.sdiv(builder.sub(stop, start), _index(unroll))
    with cgutils.for_range(builder, whole) as loop:
        first = builder.add(start, builder.mul(loop.index, _index(unroll)))
        for lane in range(unroll):
            add(builder.add(first, _index(lane)), lane)
    rest = builder.add(start, builder.mul(whole, _index(unroll)))
    with cgutils.for_range(builder, builder.sub(stop, rest)) as loop:
        add(builder.add(rest, loop.index), 0)
    for v in range(n_vectors):
        total = builder.load(sums[0][v])
        for lane in range(1, unroll):
            total = builder.fadd(total, builder.load(sums[lane][v]), flags=("fast",))
        pointer = builder.bitcast(
            builder.gep(out, [builder.add(column, _index(LANES * v))]), _VECTOR.as_pointer()
        )
        builder.store(total, pointer).align = 4
    return context.get_dummy_value()


def _summing(n_vectors, unroll):
    @intrinsic
    def rows_sum(typingctx, table, rows, weights, start, stop, width, column, out):
        signature = types.void(
            table, rows, weights, types.intp, types.intp, types.intp, types.intp, out
        )

        def codegen(context, builder, signature, args):
            return _emit(context, builder, signature, args, n_vectors, unroll)

        return signature, codegen

    return rows_sum


_sum_1 = _summing(1, 4)
_sum_2 = _summing(2, 4)
_sum_3 = _summing(3, 2)
_sum_4 = _summing(4, 2)


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
    for start in range(0, n, 1024):
        stop = min(n, start + 1024)
        column = 0
        while column + 32 <= width:
            _sum_4(table, rows, weights, start, stop, width, column, block)
            column += 32
        if column + 24 <= width:
            _sum_3(table, rows, weights, start, stop, width, column, block)
        elif column + 16 <= width:
            _sum_2(table, rows, weights, start, stop, width, column, block)
        elif column < width:
            _sum_1(table, rows, weights, start, stop, width, column, block)
        for k in range(width):
            out[k] += block[k]
