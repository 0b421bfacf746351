"""The relaxed clique-partitioning problem, by multipliers of triangles that stay near a point.

With x in [0, 1] and a point x0, the least of Σ d x + ε/2 Σ (x - x0)² under triangle inequalities
x_ij + x_jk - x_ik ≤ 1 is reached by their multipliers, one after another. What is kept is
u = x0 - c/ε, where c is d plus what the triangles charge, so that x is u cut off at 0 and 1; and
the multipliers, in units of ε. Everything lies above the diagonal of square matrices.
"""

from __future__ import annotations

from partita.kernels._compile import inner, jit


@inner
def _cut_off(u):
    """The nearest number of [0, 1]."""
    return min(max(u, 0.0), 1.0)


@inner
def _change(one, other, rest):
    """The e, nearest to 0, for which one - e, other - e and rest - e, cut off, add up to 2.

    With ``rest`` = 1 - u_ik that is where a triangle holds with equality.
    """
    low = min(min(one, other), rest)
    middle = max(min(one, other), min(max(one, other), rest))
    if middle - low >= 1.0:  # two at 1, one at 0, for all of a range
        return min(max(low, 0.0), middle - 1.0)
    return min(0.5 * (middle + low - 1.0), (one + other + rest - 2.0) / 3.0)


@jit
def climb(u, triangles, paid):
    """Make the most of every triangle's multiplier, in turn, ``u`` following.

    A row of ``triangles`` holds the places in ``u`` of the pairs ik, ij and jk.
    """
    flat = u.ravel()
    for t in range(paid.shape[0]):
        gainer, one, other = triangles[t]
        change = _change(flat[one], flat[other], 1.0 - flat[gainer])
        change = max(change, -paid[t])
        if change != 0.0:
            paid[t] += change
            flat[gainer] += change
            flat[one] -= change
            flat[other] -= change


@jit
def move_on(u, x, start, stop):
    """Let x be the point to stay near, in rows ``start .. stop - 1``; ``x`` is symmetric.

    Returns Σ min(0, c) over these, in units of ε: the bound, but for the multipliers' own sum.
    """
    total = 0.0
    for i in range(start, stop):
        for k in range(i + 1, u.shape[0]):
            total += min(0.0, x[i, k] - u[i, k])
            near = _cut_off(u[i, k])
            u[i, k] += near - x[i, k]
            x[i, k] = near
            x[k, i] = near
    return total
