"""Multipliers of triangles, near a point: each change against a search by hand."""

from __future__ import annotations

import numpy as np
import pytest

from partita.kernels import relaxation

PAIRS = np.triu_indices(3, 1)  # ik, ij, jk of a triangle, at the places 1, 2 and 5 of nine


def square(values):
    """A matrix of three items with these above the diagonal."""
    u = np.zeros((3, 3))
    u[PAIRS] = values
    return u


def excess(u, change):
    """How much x_ij + x_jk - x_ik is above 1 after a change of the multiplier."""
    gainer, one, other = np.clip(u[PAIRS][:, None] + np.outer([1, -1, -1], change), 0, 1)
    return one + other - gainer - 1


@pytest.mark.parametrize("seed", range(20))
def test_a_triangle_is_met_with_equality_or_charges_nothing(seed):
    rng = np.random.default_rng(seed)
    for scale in (0.3, 1.0, 3.0):
        u, paid = square(rng.normal(0.5, scale, 3)), np.array([rng.random()])
        before, had = u.copy(), paid[0]
        relaxation.climb(u, np.array([[1, 2, 5]]), paid)
        change = paid[0] - had
        assert paid[0] >= 0
        assert np.allclose(u[PAIRS], before[PAIRS] + np.array([1, -1, -1]) * change, atol=1e-14)
        left = excess(before, np.array([change]))[0]
        assert left == pytest.approx(0, abs=1e-12) or (paid[0] == 0 and left < 0)
        # no smaller change would do
        smaller = excess(before, change * np.linspace(0, 0.999, 50))
        assert change == 0 or (np.abs(smaller) > 1e-12).all()


def test_moving_on_takes_the_point_along():
    rng = np.random.default_rng(0)
    x, u = np.zeros((6, 6)), np.triu(rng.normal(0.5, 1, (6, 6)), 1)
    pairs = np.triu_indices(6, 1)
    x[pairs] = rng.random(15)
    x += x.T
    charged = (x - u)[pairs]
    parts = [relaxation.move_on(u, x, start, start + 2) for start in (0, 2, 4)]
    assert sum(parts) == pytest.approx(np.minimum(charged, 0).sum())
    assert np.array_equal(x, x.T)
    assert np.allclose((x - u)[pairs], charged)
    assert ((x >= 0) & (x <= 1)).all()
