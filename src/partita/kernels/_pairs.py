"""Compare the labels of rows with those of columns, draw by draw: the compiled part.

The work goes as in a matrix product. A cache block of `ROWS` x `_COLS` pairs is counted by chunks
of draws: the labels of a chunk are copied into contiguous panels, `_GROUP` rows or one vector of
columns wide, and a row group meets a column panel in registers. There a comparison is two
instructions on `VECTOR` bytes: compare (all ones where equal), subtract. Counters are as wide as a
label, so a chunk has 255 draws; after it they are added to 32-bit sums, and a sum divided by the
number of draws is the correctly rounded similarity. With weights the lanes are 64 bits wide and
hold sums of weights in the order of the draws: a pair that is always together gets the same sum
as all weights together, hence exactly 1.

The vectors are plain LLVM, no instruction set's own: 64 bytes are one register on AVX-512, two
on AVX2, four on NEON, and six rows of them leave room for the operands.
"""

from __future__ import annotations

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from partita.kernels._compile import jit

VECTOR = 64
ROWS = 96
STEP = 24  # rows of whole groups and whole squares
_COLS = 512
_GROUP = 6
_SLOT = 8  # a row group is copied eight labels wide, in one move; two of them are unused
_CHUNK = 255
_CHUNK_WEIGHTED = 128  # so that panels of 64-bit lanes fit the first cache too
_EDGE = 8  # the result is written in squares of this edge, straight and transposed

_I32, _I64, _F32, _F64 = ir.IntType(32), ir.IntType(64), ir.FloatType(), ir.DoubleType()


def fill(left, right, weights, mirror, strip, out):
    """Write the share of draws, or of weight, in which items of ``left`` and ``right`` agree.

    Parameters
    ----------
    left, right : (n_draws, n_rows) and (n_draws, n_cols) uint8, uint16 or uint32, C-contiguous
    weights : (n_draws,) float64, or None
    mirror : whether ``left`` is ``right``, and pairs i < j are to be written both ways round
    strip : row start and stop, column start and stop
    out : (n_rows, n_cols) float64 or float32, C-contiguous
    """
    chunk, lane, held = _CHUNK, left.dtype, np.int32
    total = float(left.shape[0])
    if weights is not None:
        chunk, lane, held = _CHUNK_WEIGHTED, np.dtype(np.uint64), np.float64
        total = float(np.cumsum(weights)[-1])  # one after another, as the kernel adds
    rows = np.empty(chunk * _SLOT * (ROWS // _GROUP), lane)
    cols = np.empty(chunk * VECTOR // lane.itemsize, lane)
    sums = np.empty(ROWS * _COLS, held)
    fill_blocks(left, right, weights, total, mirror, strip, chunk, rows, cols, sums, out)


@jit
def fill_blocks(left, right, weights, total, mirror, strip, chunk, rows, cols, sums, out):
    """Go through a strip by cache blocks, in the scratch ``rows``, ``cols`` and ``sums``."""
    lanes = VECTOR // cols.itemsize
    for top in range(strip[0], strip[1], ROWS):
        bottom = min(top + ROWS, strip[1])
        start = max(strip[2], top) if mirror else strip[2]
        for stop in range(strip[3], start, -_COLS):
            edge = max(start, stop - _COLS)
            sums[:] = 0
            for draw in range(0, left.shape[0], chunk):
                n_draws = min(chunk, left.shape[0] - draw)
                _pack_groups(left, draw, n_draws, top, bottom, rows)
                for last in range(stop, edge, -lanes):
                    below = min(bottom, last - 1) if mirror else bottom
                    if below > top:
                        _pack_panel(right, draw, n_draws, last - lanes, lanes, cols)
                        at = (stop - last) * ROWS
                        _count_panel(rows, cols, weights, draw, n_draws, top, below, sums, at)
            if mirror:
                _write_both(sums, total, top, bottom, edge, stop, lanes, out)
            else:
                _write(sums, total, top, bottom, edge, stop, lanes, out)


@jit
def _pack_groups(labels, draw, n_draws, top, bottom, rows):
    for start in range(top, bottom, _GROUP):
        at = (start - top) // _GROUP * _SLOT * n_draws
        if start + _SLOT <= labels.shape[1]:
            _copy_slots(labels, draw, n_draws, start, rows, at)
        else:
            _copy_edge(labels, draw, n_draws, start, _SLOT, rows, at)


@jit
def _pack_panel(labels, draw, n_draws, start, lanes, cols):
    if start >= 0:
        _copy_vectors(labels, draw, n_draws, start, cols, 0)
    else:
        _copy_edge(labels, draw, n_draws, start, lanes, cols, 0)


@jit
def _copy_edge(labels, draw, n_draws, start, width, out, at):
    """Copy what there is of a panel that reaches over an edge; the rest is never written out."""
    for m in range(n_draws):
        for j in range(max(0, -start), min(width, labels.shape[1] - start)):
            out[at + m * width + j] = labels[draw + m, start + j]


@jit
def _count_panel(rows, cols, weights, draw, n_draws, top, bottom, sums, at):
    row = 0
    for _ in range(top, bottom, _GROUP):
        _tally(rows, row, cols, n_draws, sums, at, weights, draw)
        row += _SLOT * n_draws
        at += _GROUP * (VECTOR // cols.itemsize)


@jit
def _write(sums, total, top, bottom, start, stop, lanes, out):
    for right in range(stop, start, -lanes):
        at = (stop - right) * ROWS
        left = max(start, right - lanes)
        for r in range(top, bottom):
            here = at + (r - top + 1) * lanes
            source, target = sums[here - (right - left) : here], out[r, left:right]
            for j in range(right - left):
                target[j] = source[j] / total


@jit
def _write_both(sums, total, top, bottom, start, stop, lanes, out):
    for r in range(max(top, start), min(bottom, stop)):
        out[r, r] = 1
    for right in range(stop, start, -lanes):
        at = (stop - right) * ROWS
        for i in range(0, bottom - top, _EDGE):
            r = top + i
            for c in range(right - lanes, right, _EDGE):
                here = at + i * lanes + c - (right - lanes)
                if r + _EDGE <= min(bottom, c) and c >= start:
                    _write_square(sums, here, lanes, total, out, r, c)
                else:
                    _write_corner(sums, here, lanes, total, out, r, bottom, c, start)


@jit
def _write_corner(sums, at, lanes, total, out, r, bottom, c, start):
    """Write those pairs of a square that are above the diagonal and inside the strip."""
    for i in range(min(_EDGE, bottom - r)):
        for j in range(max(0, start - c, r + i + 1 - c), _EDGE):
            value = sums[at + i * lanes + j] / total
            out[r + i, c + j] = value
            out[c + j, r + i] = value


def _splat(builder, value, lanes):
    vector = ir.VectorType(value.type, lanes)
    one = builder.insert_element(ir.Constant(vector, ir.Undefined), value, _I32(0))
    first = ir.Constant(ir.VectorType(_I32, lanes), [0] * lanes)
    return builder.shuffle_vector(one, ir.Constant(vector, ir.Undefined), first)


def _array(context, builder, signature, args, k):
    return context.make_array(signature.args[k])(context, builder, args[k])


def _pointer(builder, base, offset, vector):
    return builder.bitcast(builder.gep(base, [offset]), vector.as_pointer())


class _DrawLoop:
    """A loop over draws in LLVM, from its opening to ``close``, that carries vectors along."""

    def __init__(self, builder, n_draws, carried=()):
        self.builder, self.n_draws, self.before = builder, n_draws, builder.block
        self.body = builder.append_basic_block("draw")
        self.after = builder.append_basic_block("draws_done")
        builder.branch(self.body)
        builder.position_at_end(self.body)
        self.index = self._phi(_I64(0))
        self.carried = [self._phi(value) for value in carried]

    def _phi(self, value):
        phi = self.builder.phi(value.type)
        phi.add_incoming(value, self.before)
        return phi

    def close(self, carried=()):
        """Go on with the next draw and these vectors, or leave after the last."""
        following = self.builder.add(self.index, _I64(1))
        for phi, value in zip([self.index, *self.carried], [following, *carried], strict=True):
            phi.add_incoming(value, self.body)
        more = self.builder.icmp_signed("<", following, self.n_draws)
        self.builder.cbranch(more, self.body, self.after)
        self.builder.position_at_end(self.after)


def _copy(labels, out, width):
    """Copy ``width`` labels of each draw to ``out``, widened to its type."""
    signature = types.void(labels, types.intp, types.intp, types.intp, out, types.intp)
    narrow, wide = (ir.VectorType(ir.IntType(a.dtype.bitwidth), width) for a in (labels, out))

    def generate(context, builder, signature, args):
        source = _array(context, builder, signature, args, 0)
        target = builder.gep(_array(context, builder, signature, args, 4).data, [args[5]])
        n_items = builder.extract_value(source.shape, 1)
        corner = builder.add(builder.mul(args[1], n_items), args[3])
        first = builder.gep(source.data, [corner])
        loop = _DrawLoop(builder, args[2])
        row = builder.mul(loop.index, n_items)
        value = builder.load(_pointer(builder, first, row, narrow), align=1)
        if narrow != wide:
            value = builder.zext(value, wide)
        slot = builder.mul(loop.index, _I64(width))
        builder.store(value, _pointer(builder, target, slot, wide), align=1)
        loop.close()
        return context.get_dummy_value()

    return signature, generate


@intrinsic
def _copy_slots(_, labels, draw, n_draws, start, out, at):
    return _copy(labels, out, _SLOT)


@intrinsic
def _copy_vectors(_, labels, draw, n_draws, start, out, at):
    return _copy(labels, out, VECTOR * 8 // out.dtype.bitwidth)


def _compare(builder, rows, cols, label, n_draws, begin, grow):
    """Compare a row group with a column panel draw by draw, from tallies to tallies."""
    loop = _DrawLoop(builder, n_draws, begin)
    where = builder.mul(loop.index, _I64(label.count))
    panel = builder.load(_pointer(builder, cols, where, label), align=1)
    here = builder.gep(rows, [builder.mul(loop.index, _I64(_SLOT))])
    tallies = []
    for i, tally in enumerate(loop.carried):
        own = _splat(builder, builder.load(builder.gep(here, [_I64(i)])), label.count)
        same = builder.icmp_unsigned("==", panel, own)
        tallies.append(grow(tally, same, loop.index))
    loop.close(tallies)
    return tallies


def _places(context, builder, signature, args, vector):
    """Return where a row group's labels, a panel's labels and their sums begin."""
    rows, cols, sums = (_array(context, builder, signature, args, k).data for k in (0, 2, 4))
    first = builder.gep(sums, [args[5]])
    places = [_pointer(builder, first, _I64(i * vector.count), vector) for i in range(_GROUP)]
    return builder.gep(rows, [args[1]]), cols, places


@intrinsic
def _tally(_, rows, row, cols, n_draws, sums, at, weights, draw):
    """Add to the sums of a row group and a column panel the draws in which they agree."""
    intp = types.intp
    signature = types.void(rows, intp, cols, intp, sums, intp, weights, intp)
    if isinstance(weights, types.NoneType):
        return signature, _counting(rows.dtype.bitwidth)
    return signature, _weighing()


def _counting(bits):
    """Count in lanes as wide as a label, then widen to the 32 bits of the sums."""
    counter = ir.VectorType(ir.IntType(bits), VECTOR * 8 // bits)  # and a label
    total = ir.VectorType(_I32, counter.count)

    def generate(context, builder, signature, args):
        def grow(tally, same, _):
            return builder.sub(tally, builder.sext(same, counter))

        *panels, places = _places(context, builder, signature, args, total)
        begin = [ir.Constant(counter, [0] * counter.count)] * _GROUP
        tallies = _compare(builder, *panels, counter, args[3], begin, grow)
        for place, tally in zip(places, tallies, strict=True):
            count = builder.zext(tally, total) if bits < 32 else tally
            builder.store(builder.add(builder.load(place, align=4), count), place, align=4)
        return context.get_dummy_value()

    return generate


def _weighing():
    """Add the weights of those draws instead, one after another, to sums of 64 bits."""
    lanes = VECTOR // 8
    label, total = ir.VectorType(_I64, lanes), ir.VectorType(_F64, lanes)

    def generate(context, builder, signature, args):
        first = builder.gep(_array(context, builder, signature, args, 6).data, [args[7]])
        nothing = ir.Constant(total, [0.0] * lanes)

        def grow(tally, same, m):
            weight = _splat(builder, builder.load(builder.gep(first, [m])), lanes)
            return builder.fadd(tally, builder.select(same, weight, nothing))

        *panels, places = _places(context, builder, signature, args, total)
        begin = [builder.load(place, align=8) for place in places]
        tallies = _compare(builder, *panels, label, args[3], begin, grow)
        for place, tally in zip(places, tallies, strict=True):
            builder.store(tally, place, align=8)
        return context.get_dummy_value()

    return generate


def _transpose(builder, square):
    """Swap off-diagonal halves, quarters, ... of a square of vectors until it is transposed."""
    square, edge = list(square), len(square)
    step = edge // 2
    while step:
        low = [j + edge - step if j & step else j for j in range(edge)]
        high = [j + edge if j & step else j + step for j in range(edge)]
        for i in range(edge):
            if not i & step:
                pair = square[i], square[i + step]
                for k, lanes in ((i, low), (i + step, high)):
                    mask = ir.Constant(ir.VectorType(_I32, edge), lanes)
                    square[k] = builder.shuffle_vector(*pair, mask)
        step //= 2
    return square


@intrinsic
def _write_square(_, sums, at, lanes, total, out, r, c):
    """Divide a square of sums and write it at (r, c), and transposed at (c, r)."""
    intp = types.intp
    signature = types.void(sums, intp, intp, types.float64, out, intp, intp)
    exact = ir.VectorType(_F64, _EDGE)
    held = ir.VectorType(_I32, _EDGE) if sums.dtype == types.int32 else exact
    kept = ir.VectorType(_F32, _EDGE) if out.dtype == types.float32 else exact

    def generate(context, builder, signature, args):
        source = builder.gep(_array(context, builder, signature, args, 0).data, [args[1]])
        target = _array(context, builder, signature, args, 4)
        n_cols = builder.extract_value(target.shape, 1)
        total, square = _splat(builder, args[3], _EDGE), []
        for i in range(_EDGE):
            place = _pointer(builder, source, builder.mul(args[2], _I64(i)), held)
            value = builder.load(place, align=4)
            value = builder.fdiv(value if held == exact else builder.sitofp(value, exact), total)
            square.append(value if kept == exact else builder.fptrunc(value, kept))
        for values, row, col in (
            (square, args[5], args[6]),
            (_transpose(builder, square), args[6], args[5]),
        ):
            corner = builder.gep(target.data, [builder.add(builder.mul(row, n_cols), col)])
            for i, value in enumerate(values):
                place = _pointer(builder, corner, builder.mul(n_cols, _I64(i)), kept)
                builder.store(value, place, align=4)
        return context.get_dummy_value()

    return signature, generate
