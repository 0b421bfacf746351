"""The sums of a multiplicative step of ``kl`` and ``ns`` as one kernel on a GPU, in Triton.

Written with arrays, AᵀB and V ⊘ AᵀB are n x n for every fit and go to memory and back four times an
update. Here both stay on the chip: of all that is n x n only V is read. Triton comes with PyTorch
for CUDA, and is imported only for its tensors there.
"""

from __future__ import annotations

from typing import Any

import torch
import triton  # type: ignore[import-not-found, unused-ignore]
import triton.language as tl  # type: ignore[import-not-found, unused-ignore]

ROWS, COLUMNS = 64, 64  # of V, that a program works on at once
N_WARPS = 4


@triton.jit  # type: ignore[untyped-decorator, unused-ignore]
def _kernel(  # type: ignore[no-untyped-def]
    V, A, B, out, rank, n: tl.constexpr,
    RANK: tl.constexpr, ROWS: tl.constexpr, COLUMNS: tl.constexpr, TINY: tl.constexpr,
):  # fmt: skip
    """``out[fit, k, j]`` is the sum over i of A[fit, k, i] V[i, j] / (AᵀB)[fit, i, j].

    A program has some columns j of one fit, and goes over all rows i.
    """
    fit = tl.program_id(1)
    k = tl.arange(0, RANK)
    j = tl.program_id(0) * COLUMNS + tl.arange(0, COLUMNS)
    here = (k[:, None] < rank) & (j[None, :] < n)
    at = (fit.to(tl.int64) * rank + k[:, None]) * n
    b = tl.load(B + at + j[None, :], mask=here, other=0.0)
    total = tl.zeros((RANK, COLUMNS), dtype=tl.float64)
    for first in range(0, n, ROWS):
        i = first + tl.arange(0, ROWS)
        a = tl.load(A + at + i[None, :], mask=(k[:, None] < rank) & (i[None, :] < n), other=0.0)
        v = tl.load(
            V + i.to(tl.int64)[:, None] * n + j[None, :],
            mask=(i[:, None] < n) & (j[None, :] < n), other=0.0,
        )  # fmt: skip
        fitted = tl.dot(tl.trans(a), b, input_precision="ieee") + TINY
        total += tl.dot(a, v / fitted, input_precision="ieee").to(tl.float64)
    tl.store(out + at + j[None, :], total, mask=here)


def quotient_sums(V: torch.Tensor, A: torch.Tensor, B: torch.Tensor) -> Any:
    """Σ_i A_ki V_ij / (AᵀB)_ij in float64, for every fit.

    Parameters
    ----------
    V : tensor, shape (n, n)
        Symmetric; float32, since Triton's product has no float64 on every card.
    A, B : tensors of float32, shape (..., K, n)

    Returns
    -------
    tensor of float64, shape (..., K, n)
    """
    K, n = B.shape[-2:]
    V, A, B = V.contiguous(), A.contiguous(), B.contiguous()
    n_fits = B.numel() // (K * n)
    out = torch.empty(B.shape, dtype=torch.float64, device=B.device)
    _kernel[(triton.cdiv(n, COLUMNS), n_fits)](
        V, A, B, out, K, n, RANK=max(16, triton.next_power_of_2(K)), ROWS=ROWS,
        COLUMNS=COLUMNS, TINY=1e-30, num_warps=N_WARPS,
    )  # fmt: skip
    return out
