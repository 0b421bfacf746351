"""Growing a sub-partition: which draws still hold it, and what each further item would cost.

``slots[r, c]`` is the cluster of the sub-partition that cluster c of draw r is, or the last slot,
"none of them". ``counts[i, s]`` is the weight of the draws that hold the sub-partition and have
item i in slot s: the weight that would be left if i were added there.
"""

from __future__ import annotations

import numpy as np

from partita.kernels._compile import jit


@jit
def drop(draws, weights, alive, slots, item, slot, counts):
    """Let go of the draws that do not have ``item`` in ``slot``."""
    m, n = draws.shape
    for r in range(m):
        if alive[r] and slots[r, np.int64(draws[r, item])] != slot:
            alive[r] = False
            for i in range(n):
                counts[i, slots[r, np.int64(draws[r, i])]] -= weights[r]


@jit
def open_cluster(draws, weights, alive, slots, item, slot, counts):
    """Make the cluster of ``item``, until now none of them, cluster ``slot`` in every draw."""
    m, n = draws.shape
    none = counts.shape[1] - 1
    for r in range(m):
        if alive[r]:
            own = np.int64(draws[r, item])
            slots[r, own] = slot
            for i in range(n):
                if np.int64(draws[r, i]) == own:
                    counts[i, none] -= weights[r]
                    counts[i, slot] += weights[r]
