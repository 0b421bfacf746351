"""Non-negative regression under the divergence, against its rule written out slowly."""

from __future__ import annotations

import numpy as np
import pytest

from partita.kernels.nmf_regression import LANES, divergence


def slowly(V, W, H, n_steps, tolerance):
    """Multiplicative steps, a run of LANES items at a time, until one changes too little."""
    H = H.copy()
    for start in range(0, H.shape[1], LANES):
        run = slice(start, start + LANES)
        for _ in range(n_steps):
            old = H[:, run].copy()
            H[:, run] = old * (W.T @ (V[:, run] / (W @ old))) / W.sum(axis=0)[:, None]
            if (np.abs(H[:, run] - old).max(axis=0) / H[:, run].max(axis=0)).max() <= tolerance:
                break
    return H


@pytest.mark.parametrize("tolerance", [0.2, 0.02, 0.0])
def test_steps_and_stop_are_those_of_the_rule(tolerance):
    rng = np.random.default_rng(0)
    V = rng.random((9, LANES + 3))
    W, H = rng.random((9, 4)) + 0.1, rng.random((4, LANES + 3)) + 0.1
    wanted = slowly(V, W, H, 60, tolerance)
    divergence(V, W, H, 60, tolerance)
    assert np.allclose(H, wanted, rtol=1e-10, atol=0)


def test_what_can_be_fitted_is_found():
    rng = np.random.default_rng(1)
    W, truth = rng.random((12, 3)) + 0.1, rng.random((3, 5)) + 0.1
    H = np.full((3, 5), 0.5)
    divergence(W @ truth, W, H, 20_000, 0.0)
    assert np.allclose(H, truth, rtol=1e-4, atol=0)
