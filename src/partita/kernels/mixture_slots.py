"""Clusters as slots: which are in use, how large they are, what their items add up to.

Items carry slot numbers, so that when a cluster dies no item need be relabelled.
"""

from __future__ import annotations

import math

from partita.kernels._compile import inner, jit
from partita.kernels.mixture_types import DIRICHLET, FINITE, N_CLUSTERS, N_FREE


@inner
def add_item(x, total, cross, sign):
    """Add an item to sums, or take it away; the lower triangle of the products alone is kept."""
    p = x.size
    if cross.shape[1] == p:
        for a in range(p):
            total[a] += sign * x[a]
            for b in range(a + 1):
                cross[a, b] += sign * x[a] * x[b]
    else:
        for a in range(p):
            total[a] += sign * x[a]
            cross[a, 0] += sign * x[a] * x[a]


@inner
def clear(total, cross):
    """Sums of nothing."""
    for a in range(total.size):
        total[a] = 0.0
        for b in range(cross.shape[1]):
            cross[a, b] = 0.0


@jit
def recount(x, state):
    """Sizes and sums of every cluster from the labels alone, so that no rounding gathers."""
    for a in range(state.cursor[N_CLUSTERS]):
        k = state.order[a]
        state.count[k] = 0
        state.known[k] = False
        clear(state.total[k], state.cross[k])
    for i in range(state.labels.size):
        k = state.labels[i]
        state.count[k] += 1
        add_item(x[i], state.total[k], state.cross[k], 1.0)


@inner
def open_slot(cursor, order, place, free):
    """Take a free slot into use and return it; the caller has made sure that there is one."""
    cursor[N_FREE] -= 1
    k = free[cursor[N_FREE]]
    order[cursor[N_CLUSTERS]] = k
    place[k] = cursor[N_CLUSTERS]
    cursor[N_CLUSTERS] += 1
    return k


@inner
def close_slot(cursor, order, place, free, k):
    """Give back a slot; the last in the order takes its place."""
    cursor[N_CLUSTERS] -= 1
    last = order[cursor[N_CLUSTERS]]
    order[place[k]] = last
    place[last] = place[k]
    free[cursor[N_FREE]] = k
    cursor[N_FREE] += 1


@inner
def log_more(sizes, concentration, n_clusters):
    """Log V(t + 1) / V(t) of the partition prior at t clusters."""
    if sizes.kind == FINITE:
        return sizes.log_more[n_clusters]
    if sizes.kind == DIRICHLET:
        return math.log(concentration)
    return math.log(concentration + sizes.discount * n_clusters)


@inner
def size_offset(sizes):
    """What is added to a cluster's size to give its weight for one more item."""
    if sizes.kind == FINITE:
        return sizes.gamma
    return -sizes.discount
