"""One pass over the items with (mu, T) integrated out: Neal's (2000) algorithm 3.

Slower than the pass with explicit parameters, since every item needs every cluster's marginal
with and without it; kept as the check that the two agree.
"""

from __future__ import annotations

import math

import numpy as np

from partita.kernels import mixture_random as random
from partita.kernels._compile import inner, jit
from partita.kernels.mixture_chain import advance
from partita.kernels.mixture_marginal import log_marginal
from partita.kernels.mixture_slots import (
    add_item,
    clear,
    close_slot,
    log_more,
    open_slot,
    size_offset,
)
from partita.kernels.mixture_types import ITEM, N_CLUSTERS, N_FREE, SCANS


@jit
def advance_collapsed(model, state, work, plan, labels, traces, budget):
    """Like ``mixture_chain.advance``, with this pass."""
    rows = 0
    spent = 0
    while state.cursor[SCANS] < plan[1] and rows < labels.shape[0] and spent < budget:
        spent += state.labels.size
        if state.cursor[ITEM] < state.labels.size:
            cost, full = _items(model, state, work, budget - spent)
            spent += cost
            if full:
                return True, rows
            if state.cursor[ITEM] < state.labels.size:
                break
        full, more = advance(model, state, work, plan, labels[rows:], traces[rows:], budget - spent)
        rows += more
        if full:
            return True, rows
    return False, rows


@inner
def _items(model, state, work, budget):
    """Give items a cluster from State.cursor on; the work done, whether it ran out of slots.

    Sums are kept up to date as items move.
    """
    cursor, order, count = state.cursor, state.order, state.count
    offset = size_offset(model.sizes)
    total, cross = np.empty_like(work.total[0]), np.empty_like(work.cross[0])
    done = 0
    while cursor[ITEM] < state.labels.size and done < budget:
        i = cursor[ITEM]
        if cursor[N_FREE] == 0:
            return done, True
        k = state.labels[i]
        add_item(model.x[i], state.total[k], state.cross[k], -1.0)
        count[k] -= 1
        state.known[k] = False
        if count[k] == 0:
            close_slot(cursor, order, state.place, state.free, k)
        n_clusters = cursor[N_CLUSTERS]
        more = log_more(model.sizes, state.concentration[0], n_clusters)
        top = model.log_alone[i] + more + model.sizes.log_size[1]
        work.cumulative[n_clusters] = top
        for a in range(n_clusters):
            value = _log_weight(model, state, work, order[a], i, total, cross)
            value += math.log(count[order[a]] + offset)
            work.cumulative[a] = value
            top = max(top, value)
        a = _choose(work.cumulative, n_clusters, top, state.random)
        if a < n_clusters:
            k = order[a]
        else:
            k = open_slot(cursor, order, state.place, state.free)
            count[k] = 0
            clear(state.total[k], state.cross[k])
        add_item(model.x[i], state.total[k], state.cross[k], 1.0)
        count[k] += 1
        state.known[k] = False
        state.labels[i] = k
        cursor[ITEM] += 1
        done += 50 * (n_clusters + 1)
    return done, False


@inner
def _log_weight(model, state, work, k, i, total, cross):
    """Log m(S_k with i) - log m(S_k)."""
    scratch = work.scratch
    n = state.count[k]
    if not state.known[k]:
        state.log_marginal[k] = log_marginal(
            model.prior, n, state.total[k], state.cross[k], scratch
        )
        state.known[k] = True
    total[:] = state.total[k]
    cross[:] = state.cross[k]
    add_item(model.x[i], total, cross, 1.0)
    return log_marginal(model.prior, n + 1, total, cross, scratch) - state.log_marginal[k]


@inner
def _choose(log_weight, last, top, rng):
    total = 0.0
    for a in range(last + 1):
        total += math.exp(log_weight[a] - top)
    u = random.uniform(rng) * total
    for a in range(last):
        u -= math.exp(log_weight[a] - top)
        if u < 0.0:
            return a
    return last
