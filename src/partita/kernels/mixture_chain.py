"""A chain moved forward: scans of items, moves of clusters, the concentration, what is recorded.

``advance`` stops when its budget is spent, its rows are full or it needs more slots, in the midst
of a scan if need be, and goes on from there: how often it returns never changes a draw.
"""

from __future__ import annotations

import math

from partita.kernels import mixture_random as random
from partita.kernels._compile import inner, jit
from partita.kernels.mixture_gibbs import explicit_items
from partita.kernels.mixture_marginal import draw
from partita.kernels.mixture_moves import move
from partita.kernels.mixture_proposal import set_proxy
from partita.kernels.mixture_slots import log_more, recount
from partita.kernels.mixture_types import (
    COLLAPSED,
    DIRICHLET,
    EXPLICIT,
    FINITE,
    ITEM,
    MOVES,
    N_CLUSTERS,
    N_FREE,
    NO_DATA,
    PROXY_SCANS,
    REALLOCATE,
    SCANS,
    STORED,
)

# Fewer proposals than _RARE tell nothing. Large reallocations rarer than one in _RARE are taken to
# be hardly worth their time, down to 1 / _FEW of the most that a scan may have.
_EVERY, _RARE, _FEW = 50.0, 2000, 16.0


@jit
def advance(model, state, work, plan, labels, traces, budget):
    """Run scans until something ends; return (needs more slots, rows written).

    Parameters
    ----------
    plan : (7,) int64
        Burn-in scans, all scans, thinning, item pass (NO_ITEMS, EXPLICIT, or COLLAPSED: a
        caller's business), split-merge moves a scan, reallocations a scan at most, scans over
        which the proxy learns.
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
            if plan[3] == COLLAPSED:
                break
            cost, full = 1, False
            if plan[3] == EXPLICIT:
                cost, full = explicit_items(model, state, work, budget - spent)
            else:
                state.cursor[ITEM] = n
            spent += cost
            if full:
                return True, rows
            if state.cursor[ITEM] < n:
                break
        if state.cursor[MOVES] == 0:
            recount(model.x, state)
        n_moves = plan[4] + _n_reallocations(state, plan)
        while state.cursor[MOVES] < n_moves and spent < budget:
            if state.cursor[N_FREE] == 0:
                return True, rows
            spent += move(model, state, work, state.cursor[MOVES] >= plan[4])
            state.cursor[MOVES] += 1
        if state.cursor[MOVES] < n_moves:
            break
        log_joint = _finish_scan(model, state, work, plan)
        spent += 60 * state.cursor[N_CLUSTERS] + n
        kept = state.cursor[SCANS] - plan[0]
        if kept > 0 and kept % plan[2] == 0:
            _store(state.labels, work.relabel, labels[rows])
            traces[rows, 0] = state.cursor[N_CLUSTERS]
            traces[rows, 1] = state.concentration[0]
            traces[rows, 2] = log_joint
            rows += 1
            state.cursor[STORED] += 1
    return False, rows


@inner
def _finish_scan(model, state, work, plan):
    """New concentration, new (mu, T) for every cluster, the proxy; returns the log joint."""
    t = state.cursor[N_CLUSTERS]
    n = state.labels.size
    update_concentration(model.sizes, n, t, state.concentration, state.random)
    value = draw_parameters(model, state, work)
    state.cursor[SCANS] += 1
    state.cursor[ITEM] = 0
    state.cursor[MOVES] = 0
    if state.cursor[SCANS] <= plan[6] and plan[4] + plan[5] > 0:
        learn_proxy(model.prior, state)
        set_proxy(
            model.proxy,
            state.proxy,
            work.scratch.matrix[0],
            state.proxy_inverse,
            state.proxy_log_det,
        )
    if state.cursor[SCANS] in (plan[0] // 2, plan[0]):
        _settle_reallocations(state, plan)
    value += log_partition(model.sizes, state.order, state.count, t, n, state.concentration[0])
    return value + model.log_joint_const


@inner
def _n_reallocations(state, plan):
    """Reallocations in the present scan; a broken number a scan is spread evenly."""
    scan = state.cursor[SCANS]
    if scan < plan[0] or plan[0] == 0:
        return plan[5]
    rate = state.reallocate[0]
    return int((scan + 1) * rate) - int(scan * rate)


@inner
def _settle_reallocations(state, plan):
    """How many reallocations a scan are worth their time, from the latter half of burn-in.

    Enough for a large change every ``_EVERY`` scans, at most the planned number. Where even an
    upper bound on the rate of large changes is below 1 / ``_RARE`` the number falls with the
    square of the bound: passing over the items makes the small changes, but that large ones do
    not occur takes many proposals to show.
    """
    proposed, large = state.tally[REALLOCATE, 0], state.tally[REALLOCATE, 2]
    share = 1.0
    if proposed >= _RARE:
        share = min(1.0, (_RARE * (large + 3.0) / proposed) ** 2)
        if share == 1.0:
            share = min(1.0, proposed / (_EVERY * max(large, 1) * max(plan[5], 1)))
        share = max(share, 1.0 / _FEW)
    state.reallocate[0] = share * plan[5]
    state.tally[:] = 0


@jit
def draw_parameters(model, state, work):
    """(mu, T) of every cluster given its items; returns the sum of log marginals."""
    value = 0.0
    for a in range(state.cursor[N_CLUSTERS]):
        k = state.order[a]
        state.log_marginal[k] = draw(
            model.prior,
            state.count[k],
            state.total[k],
            state.cross[k],
            state.mean[k],
            state.root[k],
            work.scratch,
            state.random,
        )
        state.known[k] = True
        value += state.log_marginal[k]
    return value


@jit
def learn_proxy(prior, state):
    """Running mean of the pooled covariance within clusters.

    The weight of a scan grows with its number: the way from the start is forgotten, yet all
    modes that were visited count, not only the last.
    """
    if prior.kind == NO_DATA and state.cursor[PROXY_SCANS] > 0:
        return
    state.cursor[PROXY_SCANS] += 1
    rate = 2.0 / (state.cursor[PROXY_SCANS] + 1.0)
    p, q = state.proxy.shape
    for x in range(p):
        for y in range(x + 1 if q == p else 1):
            other = y if q == p else x
            s = prior.scale[x, y] / prior.df
            for a in range(state.cursor[N_CLUSTERS]):
                k = state.order[a]
                s += state.cross[k, x, y]
                s -= state.total[k, x] * state.total[k, other] / state.count[k]
            s /= state.labels.size + 1.0
            state.proxy[x, y] += rate * (s - state.proxy[x, y])
            if q == p:
                state.proxy[y, x] = state.proxy[x, y]


@inner
def update_concentration(sizes, n, t, concentration, rng):
    """The concentration given the number of clusters t: exact for the Dirichlet process
    (Escobar & West 1995), a slice step in its logarithm for Pitman-Yor.
    """
    if sizes.conc_shape == 0.0 or sizes.kind == FINITE:
        return
    if sizes.kind != DIRICHLET:
        _slice_concentration(sizes, n, t, concentration, rng)
        return
    x = random.gamma(rng, concentration[0] + 1.0)
    y = random.gamma(rng, float(n))
    rate = sizes.conc_rate - math.log(x / (x + y))
    shape = sizes.conc_shape + t
    if random.uniform(rng) * (shape - 1.0 + n * rate) >= shape - 1.0:
        shape -= 1.0
    concentration[0] = random.gamma(rng, shape) / rate


@inner
def _log_concentration(sizes, n, t, log_a):
    """Log density of log concentration given the number of clusters, Pitman-Yor."""
    a = math.exp(log_a)
    value = sizes.conc_shape * log_a - sizes.conc_rate * a
    value += math.lgamma(a + 1.0) - math.lgamma(a + n)
    for k in range(1, t):
        value += math.log(a + sizes.discount * k)
    return value


@inner
def _slice_concentration(sizes, n, t, concentration, rng):
    now = math.log(concentration[0])
    level = _log_concentration(sizes, n, t, now) + math.log(1.0 - random.uniform(rng))
    low = now - 2.0 * random.uniform(rng)
    high = low + 2.0
    while _log_concentration(sizes, n, t, low) > level:
        low -= 2.0
    while _log_concentration(sizes, n, t, high) > level:
        high += 2.0
    while True:
        new = low + random.uniform(rng) * (high - low)
        if _log_concentration(sizes, n, t, new) >= level:
            concentration[0] = math.exp(new)
            return
        if new < now:
            low = new
        else:
            high = new


@inner
def log_partition(sizes, order, count, t, n, concentration):
    """Log p(partition | concentration) + log p(concentration), up to a constant."""
    value = 0.0
    for a in range(t):
        value += sizes.log_size[count[order[a]]]
    for k in range(1, t):
        value += log_more(sizes, concentration, k)
    if sizes.kind == FINITE:
        value += sizes.log_more[0]
    else:
        value += math.lgamma(concentration + 1.0) - math.lgamma(concentration + n)
        if sizes.conc_shape > 0.0:
            value += (sizes.conc_shape - 1.0) * math.log(concentration)
            value -= sizes.conc_rate * concentration
    return value


@inner
def _store(labels, relabel, row):
    """The labels, numbered by first appearance."""
    for k in range(relabel.size):
        relabel[k] = -1
    fresh = 0
    for i in range(row.size):
        k = labels[i]
        if relabel[k] < 0:
            relabel[k] = fresh
            fresh += 1
        row[i] = relabel[k]
