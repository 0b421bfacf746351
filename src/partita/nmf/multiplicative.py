"""Multiplicative steps in the array API; that of a divergence also as one kernel on a GPU.

V is symmetric, so one step gives H from Wᵀ, or Wᵀ from H.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from partita.nmf.model import divide, positive, row_blocks, times

if TYPE_CHECKING:
    from partita.nmf.model import Array


EPSILON = 1e-9  # R's


def scaled_by_products(xp: Any, V: Array, A: Array, B: Array, shift: Any = 0.0) -> Array:
    """max(B ∘ AV, ε) ⊘ (AAᵀB + shift + ε), of least squares."""
    above = positive(xp, B * times(xp, A, V), EPSILON)
    return above / ((A @ xp.matrix_transpose(A)) @ B + shift + EPSILON)


def scaled_by_quotients(xp: Any, V: Array, A: Array, B: Array) -> Array:
    """B ∘ A(V ⊘ AᵀB) ⊘ A11ᵀ, of a divergence.

    One more factor of next to nothing, so small that no sum can tell, keeps AᵀB from 0. Where it
    would be 0, each product of a number of A and one of B is, so that the huge quotient there
    meets a 0 and counts for nothing.
    """
    if has_kernel(V):
        from partita.nmf.gpu import quotient_sums

        whole = xp.sum(A, axis=-1, keepdims=True, dtype=xp.float64)
        return xp.astype(divide(xp, B * quotient_sums(V, A, B), whole), B.dtype)
    tiny = 1e-15 if B.dtype == xp.float32 else 1e-145
    more = xp.full_like(A[..., :1, :], tiny)
    A1, B1 = xp.concat([A, more], axis=-2), xp.concat([B, more], axis=-2)
    parts = []
    for rows in row_blocks(V, B):
        ratio = V[rows, :] / (xp.matrix_transpose(B1[..., rows]) @ A1)
        parts.append(A @ xp.matrix_transpose(ratio))
    sums = parts[0] if len(parts) == 1 else xp.concat(parts, axis=-1)
    return divide(xp, B * sums, xp.sum(A, axis=-1, keepdims=True))


def has_kernel(V: Array) -> bool:
    """Whether V is a tensor of PyTorch on a GPU, in single precision, for which Triton has one."""
    if not getattr(V, "is_cuda", False) or not str(V.dtype).endswith("float32"):
        return False
    from importlib.util import find_spec

    return find_spec("triton") is not None
