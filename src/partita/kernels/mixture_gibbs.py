"""One pass over the items, each given a cluster in turn.

``explicit_items`` is Neal's (2000) algorithm 2: clusters carry (mu, T), and the weight of a new
cluster is the exact m({i}). ``collapsed_items`` is algorithm 3: (mu, T) integrated out.
Weights are taken relative to m({i}), which has the heaviest tails: a weight that underflows
belongs to a cluster that could not have been chosen.
"""

from __future__ import annotations

import math

import numpy as np

from partita.kernels import mixture_random as random
from partita.kernels._compile import jit
from partita.kernels.mixture_exp import exp_rows
from partita.kernels.mixture_marginal import draw, log_marginal
from partita.kernels.mixture_types import (
    BLOCK,
    DIRICHLET,
    FINITE,
    FULL,
    ITEM,
    N_CLUSTERS,
    N_FREE,
    NO_DATA,
)

_TOP = 600.0
_LOG_2PI = math.log(2.0 * math.pi)


@jit
def add_item(model, total, cross, i, sign):
    """Add an item to sums, or take it away."""
    x = model.x[i]
    p = x.size
    if model.shape == FULL:
        for a in range(p):
            total[a] += sign * x[a]
            for b in range(a + 1):
                cross[a, b] += sign * x[a] * x[b]
    else:
        for a in range(p):
            total[a] += sign * x[a]
            cross[a, 0] += sign * x[a] * x[a]


@jit
def recount(model, state):
    """Sizes and sums of every cluster from the labels alone, so that no rounding gathers."""
    for a in range(state.cursor[N_CLUSTERS]):
        k = state.order[a]
        state.count[k] = 0
        state.total[k] = 0.0
        state.cross[k] = 0.0
        state.known[k] = False
    for i in range(state.labels.size):
        k = state.labels[i]
        state.count[k] += 1
        add_item(model, state.total[k], state.cross[k], i, 1.0)


@jit
def open_slot(state):
    """Take a free slot into use and return it; the caller has made sure that there is one."""
    state.cursor[N_FREE] -= 1
    k = state.free[state.cursor[N_FREE]]
    state.order[state.cursor[N_CLUSTERS]] = k
    state.place[k] = state.cursor[N_CLUSTERS]
    state.cursor[N_CLUSTERS] += 1
    state.count[k] = 0
    state.total[k] = 0.0
    state.cross[k] = 0.0
    state.known[k] = False
    return k


@jit
def close_slot(state, k):
    """Give back a slot; the last in the order takes its place."""
    state.cursor[N_CLUSTERS] -= 1
    last = state.order[state.cursor[N_CLUSTERS]]
    state.order[state.place[k]] = last
    state.place[last] = state.place[k]
    state.free[state.cursor[N_FREE]] = k
    state.cursor[N_FREE] += 1


@jit
def log_more(model, state, n_clusters):
    """log V(t + 1) / V(t) of the partition prior at t clusters."""
    if model.partition == FINITE:
        return model.log_more[n_clusters]
    if model.partition == DIRICHLET:
        return math.log(state.concentration[0])
    return math.log(state.concentration[0] + model.discount * n_clusters)


@jit
def size_offset(model):
    """What is added to a cluster's size to give its weight for one more item."""
    if model.partition == FINITE:
        return model.gamma
    return -model.discount


@jit
def _exponents(model, state, k, start, stop, out):
    """log N(x_i; mu_k, T_k) - log m({i}) for the items start..stop."""
    if model.kind == NO_DATA:
        out[: stop - start] = 0.0
        return
    mean, root = state.mean[k], state.root[k]
    p = mean.size
    constant = -0.5 * p * _LOG_2PI
    m = stop - start
    for a in range(p):
        constant += math.log(root[a, a if model.shape == FULL else 0])
    for i in range(m):
        out[i] = 0.0
    if model.shape == FULL:
        _full_squares(model.xt, mean, root, start, m, out)
    else:
        for a in range(p):
            column, r, centre = model.xt[a], root[a, 0], mean[a]
            for i in range(m):
                d = r * (column[start + i] - centre)
                out[i] += d * d
    alone = model.log_alone
    for i in range(m):
        out[i] = constant - 0.5 * out[i] - alone[start + i]


@jit
def _full_squares(xt, mean, root, start, m, out):
    p = mean.size
    if p == 1:
        r, centre, column = root[0, 0], mean[0], xt[0]
        for i in range(m):
            d = r * (column[start + i] - centre)
            out[i] = d * d
        return
    if p == 2:
        first, second = xt[0], xt[1]
        r00, r10, r11 = root[0, 0], root[1, 0], root[1, 1]
        s0 = r00 * mean[0]
        s1 = r10 * mean[0] + r11 * mean[1]
        for i in range(m):
            x, y = first[start + i], second[start + i]
            d = r00 * x - s0
            e = r10 * x + r11 * y - s1
            out[i] = d * d + e * e
        return
    line = np.empty(BLOCK)
    for a in range(p):
        shift = 0.0
        for b in range(a + 1):
            shift += root[a, b] * mean[b]
        for i in range(m):
            line[i] = -shift
        for b in range(a + 1):
            r, column = root[a, b], xt[b]
            for i in range(m):
                line[i] += r * column[start + i]
        for i in range(m):
            out[i] += line[i] * line[i]


@jit
def _fill(model, state, work, k, start, stop):
    """Weights of cluster k for a block; whether any had to be cut at e^600."""
    m = stop - start
    _exponents(model, state, k, start, stop, work.exponent[k])
    return exp_rows(work.exponent[k], work.weight[k], m, _TOP)


@jit
def explicit_items(model, state, work, budget):
    """Give items a cluster from State.cursor on; return the work done and whether it ran out of
    slots. Stops at the end of a block once ``budget`` is spent.
    """
    n = state.labels.size
    done = 0
    while state.cursor[ITEM] < n:
        start = state.cursor[ITEM]
        stop = min(start + BLOCK, n)
        high = False
        for a in range(state.cursor[N_CLUSTERS]):
            high |= _fill(model, state, work, state.order[a], start, stop)
        full = _explicit_block(model, state, work, start, stop, high)
        done += (stop - start) * (state.cursor[N_CLUSTERS] + 4)
        if full:
            return done, True
        if done >= budget:
            break
    return done, False


@jit
def _explicit_block(model, state, work, start, stop, high):
    offset = size_offset(model)
    cursor, order, count, labels = state.cursor, state.order, state.count, state.labels
    cumulative, weight = work.cumulative, work.weight
    n_clusters = cursor[N_CLUSTERS]
    fresh = math.exp(log_more(model, state, n_clusters) + model.log_size[1])
    for i in range(start, stop):
        if cursor[N_FREE] == 0:
            cursor[ITEM] = i
            return True
        k = labels[i]
        count[k] -= 1
        if count[k] == 0:
            close_slot(state, k)
        if cursor[N_CLUSTERS] != n_clusters:
            n_clusters = cursor[N_CLUSTERS]
            fresh = math.exp(log_more(model, state, n_clusters) + model.log_size[1])
        j = i - start
        if high:
            _log_weights(state, work, j, offset, fresh)
        else:
            total = 0.0
            for a in range(n_clusters):
                s = order[a]
                total += (count[s] + offset) * weight[s, j]
                cumulative[a] = total
            cumulative[n_clusters] = total + fresh
        u = random.uniform(state.random) * cumulative[n_clusters]
        a = 0
        while a < n_clusters and u >= cumulative[a]:
            a += 1
        if a == n_clusters:
            k = open_slot(state)
            _start_cluster(model, state, work, k, i)
            high |= _fill(model, state, work, k, start, stop)
        else:
            k = order[a]
        count[k] += 1
        labels[i] = k
    cursor[ITEM] = stop
    return False


@jit
def _log_weights(state, work, j, offset, fresh):
    """The weights of one item where some would overflow: shifted by the largest."""
    n_clusters = state.cursor[N_CLUSTERS]
    top = 0.0
    for a in range(n_clusters):
        top = max(top, work.exponent[state.order[a], j])
    total = 0.0
    for a in range(n_clusters):
        s = state.order[a]
        total += (state.count[s] + offset) * math.exp(work.exponent[s, j] - top)
        work.cumulative[a] = total
    work.cumulative[n_clusters] = total + fresh * math.exp(-top)


@jit
def _start_cluster(model, state, work, k, i):
    """Draw (mu, T) of a cluster that holds item i alone."""
    if model.kind == NO_DATA:
        return
    add_item(model, state.total[k], state.cross[k], i, 1.0)
    draw(
        model, 1, state.total[k], state.cross[k], state.mean[k], state.root[k], work, state.random
    )


@jit
def collapsed_items(model, state, work, budget):
    """The same with (mu, T) integrated out; sums are kept up to date as items move."""
    n = state.labels.size
    offset = size_offset(model)
    done = 0
    total = np.empty_like(state.total[0])
    cross = np.empty_like(state.cross[0])
    while state.cursor[ITEM] < n and done < budget:
        i = state.cursor[ITEM]
        if state.cursor[N_FREE] == 0:
            return done, True
        _take_out(model, state, i)
        n_clusters = state.cursor[N_CLUSTERS]
        top = model.log_alone[i] + log_more(model, state, n_clusters) + model.log_size[1]
        work.cumulative[n_clusters] = top
        for a in range(n_clusters):
            k = state.order[a]
            know(model, state, work, k)
            total[:] = state.total[k]
            cross[:] = state.cross[k]
            add_item(model, total, cross, i, 1.0)
            value = log_marginal(model, state.count[k] + 1, total, cross, work)
            value += math.log(state.count[k] + offset) - state.log_marginal[k]
            work.cumulative[a] = value
            top = max(top, value)
        k = _choose(state, work, n_clusters, top)
        add_item(model, state.total[k], state.cross[k], i, 1.0)
        state.count[k] += 1
        state.known[k] = False
        state.labels[i] = k
        state.cursor[ITEM] += 1
        done += 50 * (n_clusters + 1)
    return done, False


@jit
def know(model, state, work, k):
    """See to it that log m(S_k) is known."""
    if not state.known[k]:
        state.log_marginal[k] = log_marginal(
            model, state.count[k], state.total[k], state.cross[k], work
        )
        state.known[k] = True


@jit
def _take_out(model, state, i):
    k = state.labels[i]
    add_item(model, state.total[k], state.cross[k], i, -1.0)
    state.count[k] -= 1
    state.known[k] = False
    if state.count[k] == 0:
        close_slot(state, k)


@jit
def _choose(state, work, n_clusters, top):
    total = 0.0
    for a in range(n_clusters + 1):
        total += math.exp(work.cumulative[a] - top)
    u = random.uniform(state.random) * total
    for a in range(n_clusters):
        u -= math.exp(work.cumulative[a] - top)
        if u < 0.0:
            return state.order[a]
    return open_slot(state)
