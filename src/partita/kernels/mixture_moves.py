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
from partita.kernels._compile import inner
from partita.kernels.mixture_marginal import log_marginal
from partita.kernels.mixture_proposal import allocate
from partita.kernels.mixture_slots import add_item, clear, close_slot, log_more, open_slot
from partita.kernels.mixture_types import MERGE, N_CLUSTERS, REALLOCATE, SPLIT


@inner
def move(model, state, work, anew):
    """Propose one move and settle it; returns its cost.

    With ``anew`` two clusters are allocated anew. Otherwise two items are drawn, and their
    cluster is split or their two clusters merged.
    """
    labels, rng, sizes = state.labels, state.random, model.sizes
    n_clusters = state.cursor[N_CLUSTERS]
    if labels.size < 2 or (anew and n_clusters < 2):
        return 1
    i, j = _pair(labels, rng, anew)
    a, b = labels[i], labels[j]
    what = REALLOCATE if anew else (SPLIT if a == b else MERGE)
    state.tally[what, 0] += 1
    ratio = -_present(model, state, work, a, b)
    size = state.count[a] + (0 if what == SPLIT else state.count[b])
    n0 = size
    m = 0
    if what != MERGE:
        m = _queue(labels, work.members, i, j, rng)
        log_q, n0 = _allocate(model, state, work, m, i, j, False, -math.inf)
        ratio -= log_q
        if what == REALLOCATE and _unchanged(labels, work.members, m, work.side, b):
            return labels.size // 8 + 8 * m
    _sums(model.x, state, work, i, a, b, m, what)
    for s in range(1 if what == MERGE else 2):
        n = size - n0 if s else n0
        ratio += sizes.log_size[n]
        work.log_marginal[s] = log_marginal(
            model.prior, n, work.total[s], work.cross[s], work.scratch
        )
        ratio += work.log_marginal[s]
    if what == SPLIT:
        ratio += log_more(sizes, state.concentration[0], n_clusters)
    elif what == MERGE:
        ratio -= log_more(sizes, state.concentration[0], n_clusters - 1)
    else:
        pairs = _pairs(state.order, state.count, n_clusters, labels.size)
        more = 2 * (n0 * (size - n0) - state.count[a] * state.count[b])
        ratio += math.log(pairs / float(pairs + more))
    cost = labels.size // 8 + 8 * m
    threshold = math.log(1.0 - random.uniform(rng))
    # The probability of the way back only lowers the ratio: most merges end here, and the way
    # back is followed no further than it takes to refuse.
    if threshold >= ratio:
        return cost
    if what != SPLIT:
        if what == MERGE:
            m = _queue(labels, work.members, i, j, rng)
        for c in range(m):
            work.side[1, work.members[c]] = labels[work.members[c]] == b
        back, _ = _allocate(model, state, work, m, i, j, True, threshold - ratio)
        if threshold >= ratio + back:
            return cost + 8 * m
    state.tally[what, 1] += 1
    state.tally[what, 2] += what == REALLOCATE and _is_large(labels, work.members, m, work.side, b)
    _settle(state, work, j, a, b, m, n0, size - n0, what)
    return cost + 8 * m


@inner
def _pair(labels, rng, apart):
    """Two different items, uniformly; of different clusters if ``apart``."""
    n = labels.size
    while True:
        i = random.below(rng, n)
        j = random.below(rng, n)
        if i != j and not (apart and labels[i] == labels[j]):
            return i, j


@inner
def _present(model, state, work, a, b):
    """Log marginals and size weights of the clusters as they are."""
    value = 0.0
    for s in range(1 if a == b else 2):
        k = b if s else a
        if not state.known[k]:
            state.log_marginal[k] = log_marginal(
                model.prior, state.count[k], state.total[k], state.cross[k], work.scratch
            )
            state.known[k] = True
        value += state.log_marginal[k] + model.sizes.log_size[state.count[k]]
    return value


@inner
def _queue(labels, members, i, j, rng):
    """The other members of the clusters of i and j, in random order."""
    a, b = labels[i], labels[j]
    m = 0
    for item in range(labels.size):
        k = labels[item]
        if k in (a, b) and item != i and item != j:
            members[m] = item
            m += 1
    random.shuffle(rng, members, m)
    return m


@inner
def _allocate(model, state, work, m, i, j, present, floor):
    """Draw sides into row 0 of ``work.side``, or follow those in row 1."""
    return allocate(
        model.x,
        model.proxy,
        (state.proxy_inverse, state.proxy_log_det[0]),
        work.members,
        m,
        (i, j),
        work.side[1 if present else 0],
        not present,
        floor,
        (work.side_matrix, work.side_vector),
        state.random,
    )


@inner
def _unchanged(labels, members, m, side, b):
    """Whether the proposed sides are the present clusters."""
    c = 0
    while c < m and (labels[members[c]] == b) == (side[0, members[c]] == 1):
        c += 1
    return c == m


@inner
def _is_large(labels, members, m, side, b):
    """Whether a tenth of the items or more would change clusters, whichever is named which."""
    changed = 0
    for c in range(m):
        changed += (labels[members[c]] == b) != (side[0, members[c]] == 1)
    return 10 * min(changed, m + 2 - changed) > m


@inner
def _sums(x, state, work, i, a, b, m, what):
    """Sums of the clusters that are proposed: all of both, or side 0 and the rest."""
    p, q = work.cross[0].shape
    first, rest = (1, 0) if what == MERGE else (0, 1)
    for u in range(p):
        work.total[rest, u] = state.total[a, u]
        if what != SPLIT:
            work.total[rest, u] += state.total[b, u]
        for v in range(q):
            work.cross[rest, u, v] = state.cross[a, u, v]
            if what != SPLIT:
                work.cross[rest, u, v] += state.cross[b, u, v]
    if what == MERGE:
        return
    clear(work.total[first], work.cross[first])
    add_item(x[i], work.total[first], work.cross[first], 1.0)
    for c in range(m):
        item = work.members[c]
        if work.side[0, item] == 0:
            add_item(x[item], work.total[first], work.cross[first], 1.0)
    for u in range(p):
        work.total[rest, u] -= work.total[first, u]
        for v in range(q):
            work.cross[rest, u, v] -= work.cross[first, u, v]


@inner
def _settle(state, work, j, a, b, m, n0, n1, what):
    """Make the proposed clusters the present ones."""
    labels = state.labels
    if what == SPLIT:
        b = open_slot(state.cursor, state.order, state.place, state.free)
        labels[j] = b
    for c in range(m):
        item = work.members[c]
        labels[item] = a if what == MERGE or work.side[0, item] == 0 else b
    if what == MERGE:
        labels[j] = a
        close_slot(state.cursor, state.order, state.place, state.free, b)
    for s in range(1 if what == MERGE else 2):
        k = b if s else a
        state.count[k] = n1 if s else n0
        state.log_marginal[k] = work.log_marginal[s]
        state.known[k] = True
        for u in range(work.total.shape[1]):
            state.total[k, u] = work.total[s, u]
            for v in range(work.cross.shape[2]):
                state.cross[k, u, v] = work.cross[s, u, v]


@inner
def _pairs(order, count, n_clusters, n):
    """Number of ordered pairs of items in different clusters."""
    value = n * n
    for a in range(n_clusters):
        value -= count[order[a]] ** 2
    return value
