"""One pass over the items, each given a cluster in turn: Neal's (2000) algorithm 2.

Clusters carry (mu, T), and the weight of a new cluster is the exact m({i}). Weights are taken
relative to m({i}), which has the heaviest tails: a weight that underflows belongs to a cluster
that could not have been chosen.

References
----------
Neal (2000), Markov chain sampling methods for Dirichlet process mixture models.
"""

from __future__ import annotations

import math

from partita.kernels import mixture_random as random
from partita.kernels._compile import inner
from partita.kernels.mixture_density import log_ratios
from partita.kernels.mixture_exp import exp_rows
from partita.kernels.mixture_marginal import draw
from partita.kernels.mixture_slots import (
    add_item,
    clear,
    close_slot,
    log_more,
    open_slot,
    size_offset,
)
from partita.kernels.mixture_types import BLOCK, ITEM, N_CLUSTERS, N_FREE, NO_DATA

_TOP = 600.0


@inner
def explicit_items(model, state, work, budget):
    """Give items a cluster from State.cursor on.

    Returns the work done and whether it ran out of slots; stops at the end of a block once
    ``budget`` is spent.
    """
    n = state.labels.size
    cursor = state.cursor
    done = 0
    while cursor[ITEM] < n and done < budget:
        start = cursor[ITEM]
        stop = min(start + BLOCK, n)
        high = stop < start
        for a in range(cursor[N_CLUSTERS]):
            high |= _fill(model, state.mean, state.root, work, state.order[a], start, stop)
        full = _block(model, state, work, start, stop, high)
        done += (stop - start) * (cursor[N_CLUSTERS] + 4)
        if full:
            return done, True
    return done, False


@inner
def _fill(model, mean, root, work, k, start, stop):
    """Weights of cluster k for a block; whether any had to be cut at e^600."""
    line = work.exponent[k]
    if model.prior.kind == NO_DATA:
        for i in range(stop - start):
            line[i] = 0.0
    else:
        log_ratios(model.xt, mean[k], root[k], model.log_alone, start, stop, line)
    return exp_rows(line, work.weight[k], stop - start, _TOP)


@inner
def _block(model, state, work, start, stop, high):
    offset = size_offset(model.sizes)
    concentration = state.concentration[0]
    cursor, order, count, labels = state.cursor, state.order, state.count, state.labels
    cumulative, weight = work.cumulative, work.weight
    n_clusters = -1
    fresh = 0.0
    for i in range(start, stop):
        if cursor[N_FREE] == 0:
            cursor[ITEM] = i
            return True
        k = labels[i]
        count[k] -= 1
        if count[k] == 0:
            close_slot(cursor, order, state.place, state.free, k)
        if cursor[N_CLUSTERS] != n_clusters:
            n_clusters = cursor[N_CLUSTERS]
            fresh = log_more(model.sizes, concentration, n_clusters) + model.sizes.log_size[1]
            fresh = math.exp(fresh)
        total = 0.0
        j = i - start
        for a in range(n_clusters):
            s = order[a]
            total += (count[s] + offset) * weight[s, j]
            cumulative[a] = total
        cumulative[n_clusters] = total + fresh
        if high:
            _log_weights(cursor, order, count, work.exponent, cumulative, j, offset, fresh)
        u = random.uniform(state.random) * cumulative[n_clusters]
        a = 0
        while a < n_clusters and u >= cumulative[a]:
            a += 1
        if a < n_clusters:
            k = order[a]
        else:
            k = open_slot(cursor, order, state.place, state.free)
            count[k] = 0
            _begin(model, state, work, k, i)
            high |= _fill(model, state.mean, state.root, work, k, start, stop)
        count[k] += 1
        labels[i] = k
    cursor[ITEM] = stop
    return False


@inner
def _log_weights(cursor, order, count, exponent, cumulative, j, offset, fresh):
    """The weights of one item where some would overflow: shifted by the largest."""
    n_clusters = cursor[N_CLUSTERS]
    top = 0.0
    for a in range(n_clusters):
        top = max(top, exponent[order[a], j])
    total = 0.0
    for a in range(n_clusters):
        s = order[a]
        total += (count[s] + offset) * math.exp(exponent[s, j] - top)
        cumulative[a] = total
    cumulative[n_clusters] = total + fresh * math.exp(-top)


@inner
def _begin(model, state, work, k, i):
    """Draw (mu, T) of a cluster that holds item i alone."""
    clear(state.total[k], state.cross[k])
    add_item(model.x[i], state.total[k], state.cross[k], 1.0)
    one = count_of_one(state.labels)
    draw(
        model.prior,
        one,
        state.total[k],
        state.cross[k],
        state.mean[k],
        state.root[k],
        work.scratch,
        state.random,
    )


@inner
def count_of_one(labels):
    """1, as the integer that counts are: a literal would have ``draw`` compiled once more."""
    return min(labels.size, 1)
