"""Moves of whole clusters: split, merge, and two clusters allocated anew.

All act on the partition with (mu, T) integrated out. A pair of items (i, j) is drawn, the rest of
their clusters is queued in random order, and a side for each is drawn in turn (Dahl's
sequentially-allocated merge-split sampler). Seeds and queue do not look at the present split, so
the way back has the same queue.

References
----------
Dahl (2005), Sequentially-allocated merge-split sampler for conjugate and nonconjugate
Dirichlet process mixture models.
"""

from __future__ import annotations

import math

from partita.kernels import mixture_random as random
from partita.kernels._compile import jit
from partita.kernels.mixture_gibbs import add_item, close_slot, know, log_more, open_slot
from partita.kernels.mixture_marginal import log_marginal
from partita.kernels.mixture_proposal import allocate
from partita.kernels.mixture_types import FULL, MERGE, N_CLUSTERS, REALLOCATE, SPLIT


@jit
def split_merge(model, state, work):
    """Draw two items: propose to split their cluster, or to merge their two. Returns the cost."""
    n = state.labels.size
    if n < 2:
        return 1
    i = random.below(state.random, n)
    j = random.below(state.random, n - 1)
    if j >= i:
        j += 1
    if state.labels[i] == state.labels[j]:
        return _split(model, state, work, i, j)
    return _merge(model, state, work, i, j)


@jit
def _queue(state, work, i, j):
    """The other members of the clusters of i and j, in random order."""
    a, b = state.labels[i], state.labels[j]
    m = 0
    for item in range(state.labels.size):
        k = state.labels[item]
        if (k == a or k == b) and item != i and item != j:
            work.members[m] = item
            m += 1
    random.shuffle(state.random, work.members, m)
    return m


@jit
def _sums(model, work, side, i, m):
    """Sums of side 0 into scratch (total: vector[5], cross: matrix[5])."""
    total, cross = work.vector[5], work.matrix[5]
    total[:] = 0.0
    cross[:] = 0.0
    add_item(model, total, cross, i, 1.0)
    for a in range(m):
        item = work.members[a]
        if side[item] == 0:
            add_item(model, total, cross, item, 1.0)


@jit
def _rest(model, whole_total, whole_cross, work):
    """The whole less side 0 into scratch (total: vector[4], cross: matrix[2])."""
    p = whole_total.size
    q = whole_cross.shape[1]
    for x in range(p):
        work.vector[4, x] = whole_total[x] - work.vector[5, x]
        for y in range(q):
            work.matrix[2, x, y] = whole_cross[x, y] - work.matrix[5, x, y]
            if model.shape != FULL:
                work.matrix[2, x, y] = max(work.matrix[2, x, y], 0.0)


@jit
def _split(model, state, work, i, j):
    a = state.labels[i]
    state.tally[SPLIT, 0] += 1
    size = state.count[a]
    know(model, state, work, a)
    m = _queue(state, work, i, j)
    log_q, n0 = allocate(model, state, work, m, i, j, work.side, True)
    n1 = size - n0
    _sums(model, work, work.side, i, m)
    _rest(model, state.total[a], state.cross[a], work)
    log0 = log_marginal(model, n0, work.vector[5], work.matrix[5], work)
    log1 = log_marginal(model, n1, work.vector[4], work.matrix[2], work)
    ratio = log0 + log1 - state.log_marginal[a] - log_q
    ratio += model.log_size[n0] + model.log_size[n1] - model.log_size[size]
    ratio += log_more(model, state, state.cursor[N_CLUSTERS])
    if math.log(1.0 - random.uniform(state.random)) < ratio:
        state.tally[SPLIT, 1] += 1
        b = open_slot(state)
        state.labels[j] = b
        for c in range(m):
            if work.side[work.members[c]] == 1:
                state.labels[work.members[c]] = b
        _settle(state, work, a, n0, work.vector[5], work.matrix[5], log0)
        _settle(state, work, b, n1, work.vector[4], work.matrix[2], log1)
    return state.labels.size // 8 + 8 * m


@jit
def _settle(state, work, k, n, total, cross, log_m):
    state.count[k] = n
    state.total[k] = total
    state.cross[k] = cross
    state.log_marginal[k] = log_m
    state.known[k] = True


@jit
def _merge(model, state, work, i, j):
    a, b = state.labels[i], state.labels[j]
    state.tally[MERGE, 0] += 1
    n0, n1 = state.count[a], state.count[b]
    know(model, state, work, a)
    know(model, state, work, b)
    total, cross = work.vector[5], work.matrix[5]
    total[:] = state.total[a] + state.total[b]
    cross[:] = state.cross[a] + state.cross[b]
    log_m = log_marginal(model, n0 + n1, total, cross, work)
    ratio = log_m - state.log_marginal[a] - state.log_marginal[b]
    ratio += model.log_size[n0 + n1] - model.log_size[n0] - model.log_size[n1]
    ratio -= log_more(model, state, state.cursor[N_CLUSTERS] - 1)
    threshold = math.log(1.0 - random.uniform(state.random))
    # The way back only lowers the ratio: most merges end here, before the queue is walked.
    if threshold >= ratio:
        return 40
    m = _queue(state, work, i, j)
    for c in range(m):
        work.side[work.members[c]] = state.labels[work.members[c]] == b
    log_q, _ = allocate(model, state, work, m, i, j, work.side, False)
    if threshold < ratio + log_q:
        state.tally[MERGE, 1] += 1
        state.labels[j] = a
        for c in range(m):
            state.labels[work.members[c]] = a
        _settle(state, work, a, n0 + n1, total, cross, log_m)
        close_slot(state, b)
    return state.labels.size // 8 + 8 * m


@jit
def reallocate(model, state, work):
    """Draw two items of different clusters and allocate the members of both anew.

    The pair is uniform over pairs in different clusters; their number enters the ratio.
    """
    n = state.labels.size
    if state.cursor[N_CLUSTERS] < 2:
        return 1
    i = random.below(state.random, n)
    j = random.below(state.random, n)
    while state.labels[i] == state.labels[j]:
        i = random.below(state.random, n)
        j = random.below(state.random, n)
    state.tally[REALLOCATE, 0] += 1
    a, b = state.labels[i], state.labels[j]
    know(model, state, work, a)
    know(model, state, work, b)
    m = _queue(state, work, i, j)
    size = state.count[a] + state.count[b]
    log_q, n0 = allocate(model, state, work, m, i, j, work.side, True)
    n1 = size - n0
    log0, log1 = _two_sides(model, state, work, a, b, i, m, n0, n1)
    ratio = log0 + log1 - state.log_marginal[a] - state.log_marginal[b] - log_q
    ratio += model.log_size[n0] + model.log_size[n1]
    ratio -= model.log_size[state.count[a]] + model.log_size[state.count[b]]
    ratio += math.log(_pairs(state)) - math.log(
        _pairs(state) + 2.0 * (n0 * n1 - state.count[a] * state.count[b])
    )
    threshold = math.log(1.0 - random.uniform(state.random))
    if threshold >= ratio:
        return n // 8 + 8 * m
    for c in range(m):
        work.other_side[work.members[c]] = state.labels[work.members[c]] == b
    back, _ = allocate(model, state, work, m, i, j, work.other_side, False)
    if threshold < ratio + back:
        state.tally[REALLOCATE, 1] += 1
        for c in range(m):
            state.labels[work.members[c]] = b if work.side[work.members[c]] else a
        _settle(state, work, a, n0, work.vector[5], work.matrix[5], log0)
        _settle(state, work, b, n1, work.vector[4], work.matrix[2], log1)
    return n // 8 + 16 * m


@jit
def _two_sides(model, state, work, a, b, i, m, n0, n1):
    """Log marginals of the two sides; their sums stay in scratch."""
    _sums(model, work, work.side, i, m)
    whole_total, whole_cross = work.vector[4], work.matrix[2]
    whole_total[:] = state.total[a] + state.total[b]
    whole_cross[:] = state.cross[a] + state.cross[b]
    _rest(model, whole_total, whole_cross, work)
    log0 = log_marginal(model, n0, work.vector[5], work.matrix[5], work)
    log1 = log_marginal(model, n1, work.vector[4], work.matrix[2], work)
    return log0, log1


@jit
def _pairs(state):
    """Ordered pairs of items in different clusters."""
    n = float(state.labels.size)
    value = n * n
    for a in range(state.cursor[N_CLUSTERS]):
        c = float(state.count[state.order[a]])
        value -= c * c
    return value
