"""Triangles that pay debts: each move against a search by hand, and what must stay true."""

from __future__ import annotations

import numpy as np
import pytest

from partita.kernels import debts

LABELS = np.repeat([0, 1, 2], [4, 3, 2])


def book(seed):
    """Slacks of nine items in three clusters, symmetric, and where each item's cluster is."""
    rng = np.random.default_rng(seed)
    slack = rng.normal(0.2, 0.5, (9, 9))
    slack = np.triu(slack, 1) + np.triu(slack, 1).T
    first = np.searchsorted(LABELS, LABELS)
    last = np.searchsorted(LABELS, LABELS, side="right")
    return slack, first, last


def squares(values):
    """Σ of squared debts."""
    return (np.minimum(values, 0) ** 2).sum()


def payments(slack, i, k):
    """For every item whose triangle may pay (i, k), how much of that leaves the least squares."""
    amounts, best = np.linspace(0, 3, 3001), {}
    for j in set(range(9)) - {i, k}:
        if LABELS[j] in (LABELS[i], LABELS[k]):
            after = np.stack([slack[i, k] + amounts, slack[i, j] - amounts, slack[j, k] - amounts])
            left = (np.minimum(after, 0) ** 2).sum(axis=0)
            best[j] = amounts[np.flatnonzero(left <= left.min() + 1e-7)[0]]
    return best


@pytest.mark.parametrize("seed", range(6))
def test_a_balanced_triangle_leaves_the_least_squares(seed):
    rng = np.random.default_rng(seed)
    grid = np.linspace(-3, 3, 60_001)
    for _ in range(20):
        slack = np.zeros((3, 3))
        slack[np.triu_indices(3, 1)] = rng.normal(size=3)
        gainer, one, other = slack[np.triu_indices(3, 1)]
        paid = np.array([rng.random()])
        allowed = grid[grid >= -paid[0]]
        after = np.stack([gainer + allowed, one - allowed, other - allowed])
        least = (np.minimum(after, 0) ** 2).sum(axis=0).min()
        before = paid.copy()
        debts.balance(slack, np.array([[1, 2, 5]]), paid)
        assert paid[0] >= 0
        assert squares(slack) <= least + 1e-9
        moved = paid[0] - before[0]
        wanted = np.array([gainer + moved, one - moved, other - moved])
        assert np.allclose(slack[np.triu_indices(3, 1)], wanted, atol=1e-14)


@pytest.mark.parametrize("seed", range(8))
def test_a_pair_in_debt_is_paid_by_the_triangle_that_can_most(seed):
    slack, first, last = book(seed)
    i, k = np.argwhere(np.triu(slack, 1) < -0.05)[0]
    before, wanted = slack.copy(), payments(slack, i, k)
    triangles, paid = np.zeros((1, 3), dtype=np.int64), np.zeros(1)
    assert debts.pay(slack, first, last, i, i + 1, 0.05, 1, triangles, paid, 0) == 1
    gainer, one, other = (divmod(place, 9) for place in triangles[0])
    assert gainer == (i, k)
    (j,) = (set(one) | set(other)) - {i, k}
    assert paid[0] == pytest.approx(max(wanted.values()), abs=2e-3)
    assert paid[0] == pytest.approx(wanted[j], abs=2e-3)
    assert LABELS[j] in (LABELS[i], LABELS[k])
    assert np.array_equal(slack, slack.T)
    change = np.triu(slack - before, 1)
    assert change[gainer] == pytest.approx(paid[0])
    assert [change[one], change[other]] == pytest.approx([-paid[0]] * 2)


def test_the_squares_of_the_debts_never_rise():
    slack, first, last = book(3)
    triangles, paid = np.zeros((200, 3), dtype=np.int32), np.zeros(200)
    found, owed = 0, [squares(slack) / 2]
    for _ in range(10):
        found = debts.pay(slack, first, last, 0, 9, 1e-9, 4, triangles, paid, found)
        owed.append(squares(np.triu(slack, 1)))
        debts.balance(slack, triangles[:found], paid[:found])
        found = debts.forget(triangles[:found], paid[:found])
        debts.mirror(slack)
        owed.append(squares(np.triu(slack, 1)))
    assert found > 0
    assert (paid[:found] > 0).all()
    assert np.diff(owed).max() <= 1e-14
    assert owed[-1] < 0.9 * owed[0]


def test_what_is_owed():
    slack, _, _ = book(1)
    whole = slack.copy()
    slack[np.tril_indices(9, -1)] = np.nan
    debt, count = debts.mirror(slack)
    assert np.array_equal(slack, whole)
    above = whole[np.triu_indices(9, 1)]
    assert debt == pytest.approx(-above[above < 0].sum())
    assert count == (above < 0).sum()
