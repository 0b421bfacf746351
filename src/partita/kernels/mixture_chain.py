"""A chain moved forward: scans of items, moves of clusters, the concentration, what is recorded.

``advance`` stops when its budget is spent, its rows are full or it needs more slots, in the midst
of a scan if need be, and goes on from there: how often it returns never changes a draw.
"""

from __future__ import annotations

import math

from partita.kernels import mixture_random as random
from partita.kernels._compile import jit
from partita.kernels.mixture_gibbs import collapsed_items, explicit_items, recount
from partita.kernels.mixture_marginal import draw
from partita.kernels.mixture_moves import reallocate, split_merge
from partita.kernels.mixture_proposal import set_proxy
from partita.kernels.mixture_types import (
    DIRICHLET,
    FINITE,
    FULL,
    ITEM,
    MOVES,
    N_CLUSTERS,
    N_FREE,
    NO_DATA,
    PROXY_SCANS,
    SCANS,
    STORED,
)


@jit
def advance(model, state, work, plan, labels, traces, budget):
    """Run scans until something ends; return (needs more slots, rows written).

    Parameters
    ----------
    plan : (7,) int64
        Burn-in scans, all scans, thinning, item pass (0 none, 1 explicit, 2 collapsed),
        split-merge moves a scan, reallocations a scan, scans over which the proxy learns.
    labels : (rows, n)
        Draws, canonical.
    traces : (rows, 3)
        Number of clusters, concentration, log joint.
    """
    n = state.labels.size
    rows = 0
    spent = 0
    while state.cursor[SCANS] < plan[1] and rows < labels.shape[0] and spent < budget:
        if state.cursor[ITEM] < n:
            cost, full = _items(model, state, work, plan[3], budget - spent)
            spent += cost
            if full:
                return True, rows
            if state.cursor[ITEM] < n:
                break
            if plan[3] != 0:
                recount(model, state)
        while state.cursor[MOVES] < plan[4] + plan[5] and spent < budget:
            if state.cursor[N_FREE] == 0:
                return True, rows
            if state.cursor[MOVES] < plan[4]:
                spent += split_merge(model, state, work)
            else:
                spent += reallocate(model, state, work)
            state.cursor[MOVES] += 1
        if state.cursor[MOVES] < plan[4] + plan[5]:
            break
        log_joint = _finish_scan(model, state, work, plan)
        spent += 60 * state.cursor[N_CLUSTERS] + n
        kept = state.cursor[SCANS] - plan[0]
        if kept > 0 and kept % plan[2] == 0:
            _store(state, work, labels[rows])
            traces[rows, 0] = state.cursor[N_CLUSTERS]
            traces[rows, 1] = state.concentration[0]
            traces[rows, 2] = log_joint
            rows += 1
            state.cursor[STORED] += 1
    return False, rows


@jit
def _items(model, state, work, how, budget):
    if how == 0:
        state.cursor[ITEM] = state.labels.size
        return 1, False
    if how == 1:
        return explicit_items(model, state, work, budget)
    return collapsed_items(model, state, work, budget)


@jit
def _finish_scan(model, state, work, plan):
    """New concentration, new (mu, T) for every cluster, the proxy; returns the log joint."""
    update_concentration(model, state)
    value = draw_parameters(model, state, work)
    state.cursor[SCANS] += 1
    state.cursor[ITEM] = 0
    state.cursor[MOVES] = 0
    if state.cursor[SCANS] <= plan[6] and plan[4] + plan[5] > 0:
        learn_proxy(model, state)
        set_proxy(model, state, work)
    return value + log_partition(model, state) + model.log_joint_const


@jit
def draw_parameters(model, state, work):
    """(mu, T) of every cluster given its items; returns the sum of log marginals."""
    value = 0.0
    for a in range(state.cursor[N_CLUSTERS]):
        k = state.order[a]
        total, cross = state.total[k], state.cross[k]
        state.log_marginal[k] = draw(
            model, state.count[k], total, cross, state.mean[k], state.root[k], work, state.random
        )
        state.known[k] = True
        value += state.log_marginal[k]
    return value


@jit
def learn_proxy(model, state):
    """Running mean of the pooled covariance within clusters, the past fading."""
    if model.kind == NO_DATA and state.cursor[PROXY_SCANS] > 0:
        return
    state.cursor[PROXY_SCANS] += 1
    rate = max(1.0 / state.cursor[PROXY_SCANS], 0.01)
    n = state.labels.size
    for x in range(state.proxy.shape[0]):
        for y in range(x + 1 if model.shape == FULL else 1):
            other = y if model.shape == FULL else x
            s = model.scale[x, y] / model.df
            for a in range(state.cursor[N_CLUSTERS]):
                k = state.order[a]
                s += state.cross[k, x, y]
                s -= state.total[k, x] * state.total[k, other] / state.count[k]
            s /= n + 1.0
            state.proxy[x, y] += rate * (s - state.proxy[x, y])
            if model.shape == FULL:
                state.proxy[y, x] = state.proxy[x, y]


@jit
def update_concentration(model, state):
    """The concentration given the number of clusters: exact for the Dirichlet process
    (Escobar & West 1995), a slice step in its logarithm for Pitman-Yor.
    """
    if model.conc_shape == 0.0 or model.partition == FINITE:
        return
    n = state.labels.size
    t = state.cursor[N_CLUSTERS]
    rng = state.random
    if model.partition != DIRICHLET:
        _slice_concentration(model, state)
        return
    x = random.gamma(rng, state.concentration[0] + 1.0)
    y = random.gamma(rng, float(n))
    rate = model.conc_rate - math.log(x / (x + y))
    shape = model.conc_shape + t
    if random.uniform(rng) * (shape - 1.0 + n * rate) >= shape - 1.0:
        shape -= 1.0
    state.concentration[0] = random.gamma(rng, shape) / rate


@jit
def _log_concentration(model, state, log_a):
    """Log density of log concentration given the number of clusters, Pitman-Yor."""
    a = math.exp(log_a)
    value = model.conc_shape * log_a - model.conc_rate * a
    value += math.lgamma(a + 1.0) - math.lgamma(a + state.labels.size)
    for t in range(1, state.cursor[N_CLUSTERS]):
        value += math.log(a + model.discount * t)
    return value


@jit
def _slice_concentration(model, state):
    rng = state.random
    now = math.log(state.concentration[0])
    level = _log_concentration(model, state, now) + math.log(1.0 - random.uniform(rng))
    low = now - 2.0 * random.uniform(rng)
    high = low + 2.0
    while _log_concentration(model, state, low) > level:
        low -= 2.0
    while _log_concentration(model, state, high) > level:
        high += 2.0
    while True:
        new = low + random.uniform(rng) * (high - low)
        if _log_concentration(model, state, new) >= level:
            state.concentration[0] = math.exp(new)
            return
        if new < now:
            low = new
        else:
            high = new


@jit
def log_partition(model, state):
    """log p(partition | concentration) + log p(concentration), up to a constant for FINITE."""
    n = state.labels.size
    t = state.cursor[N_CLUSTERS]
    value = 0.0
    for a in range(t):
        value += model.log_size[state.count[state.order[a]]]
    if model.partition == FINITE:
        for k in range(1, t):
            value += model.log_more[k]
        return value
    a = state.concentration[0]
    value += math.lgamma(a + 1.0) - math.lgamma(a + n)
    for k in range(1, t):
        value += math.log(a + model.discount * k)
    if model.conc_shape > 0.0:
        value += (model.conc_shape - 1.0) * math.log(a) - model.conc_rate * a
    return value


@jit
def _store(state, work, row):
    """The labels, numbered by first appearance."""
    work.relabel[:] = -1
    fresh = 0
    for i in range(row.size):
        k = state.labels[i]
        if work.relabel[k] < 0:
            work.relabel[k] = fresh
            fresh += 1
        row[i] = work.relabel[k]
