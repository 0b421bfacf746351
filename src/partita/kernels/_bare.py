"""Arrays without the counting of references, which in loops of few steps takes longer than they do.

A tuple of arrays that goes from one compiled function to another counts each of them, up and down.
What :func:`bare` returns is not counted: whoever called with the arrays holds them meanwhile.
"""

from __future__ import annotations

from numba import types
from numba.core import cgutils
from numba.extending import intrinsic


def _stripped(context, builder, kind, value):
    """The value with no owner in any of its arrays."""
    if isinstance(kind, types.Array):
        array = context.make_array(kind)(context, builder, value)
        array.meminfo = cgutils.get_null_value(array.meminfo.type)
        array.parent = cgutils.get_null_value(array.parent.type)
        return array._getvalue()
    if isinstance(kind, types.BaseTuple):
        for a, part in enumerate(kind.types):
            one = builder.extract_value(value, a)
            value = builder.insert_value(value, _stripped(context, builder, part, one), a)
    return value


@intrinsic
def bare(typingctx, value):
    """Return an array, or a tuple that may hold some, whose references are not counted."""

    def emit(context, builder, signature, args):
        return _stripped(context, builder, signature.args[0], args[0])

    return value(value), emit
