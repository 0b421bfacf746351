"""A chain at the level of the kernels, for tests that change the data under it."""

from __future__ import annotations

import numpy as np

from partita import kernels
from partita.mixture import assembly
from partita.mixture.moves import ITEMS


def advance(model, state, *, n_draws, n_burn=0, thin=1, items="explicit", sm=2, re=1):
    """Run a chain; returns the state (it may have grown), labels and traces."""
    n = model.x.shape[0]
    labels, traces = np.zeros((n_draws, n), np.uint32), np.zeros((n_draws, 3))
    plan = np.array([n_burn, n_burn + n_draws * thin, thin, ITEMS[items], sm, re, n_burn])
    state.cursor[:3] = 0
    step = kernels.mixture_chain.advance
    if items == "collapsed":
        step = kernels.mixture_collapsed.advance_collapsed
    work, at = assembly.make_work(model, state.order.size), 0
    while at < n_draws:
        full, rows = step(model, state, work, plan, labels[at:], traces[at:], 10**7)
        at += rows
        if full:
            state = assembly.more_slots(state)
            work = assembly.make_work(model, state.order.size)
    return state, labels, traces


def fresh(model, labels, concentration=1.0, seed=0):
    random = assembly.seed_state(np.random.SeedSequence(seed))
    return assembly.make_state(model, np.asarray(labels), concentration, random)
