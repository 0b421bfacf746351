"""The kernel for GPUs, in Triton's interpreter, which needs no GPU."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

from partita.nmf.multiplicative import has_kernel

CODE = """
import torch
from partita.nmf.gpu import quotient_sums
torch.manual_seed(0)
for fits, rank, n in ((1, 1, 5), (2, 3, 70), (1, 20, 33)):
    V = torch.rand(n, n)
    V, A, B = V + V.T, torch.rand(fits, rank, n), torch.rand(fits, rank, n)
    wanted = A @ (V / (B.mT @ A)).mT
    assert torch.allclose(quotient_sums(V, A, B), wanted.double(), rtol=1e-5)
print("same")
"""


def test_it_does_what_arrays_do():
    pytest.importorskip("torch")
    pytest.importorskip("triton")
    environment = os.environ | {"TRITON_INTERPRET": "1"}
    run = subprocess.run(
        [sys.executable, "-c", CODE], env=environment, capture_output=True, text=True, check=False
    )
    assert run.stdout.strip() == "same", run.stderr[-800:]


def test_it_is_for_cuda_tensors_alone():
    torch = pytest.importorskip("torch")
    assert not has_kernel(np.eye(3, dtype=np.float32))
    assert not has_kernel(torch.eye(3))
