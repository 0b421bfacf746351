"""Every figure, on small, large and degenerate input."""

from __future__ import annotations

import io
from dataclasses import dataclass
from functools import cache

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.axes import Axes

import partita as pt
from partita import plots


@dataclass(frozen=True, eq=False)
class Case:
    draws: pt.Draws
    best: pt.Estimate
    X: np.ndarray
    truth: np.ndarray


def _case(draws, labels, n_columns):
    n = draws.n_items
    labels = np.asarray(labels)
    soft = np.eye(labels.max() + 1)[labels]
    path = tuple(
        pt.estimation.Step(k, k, 1.0 / k, labels=np.arange(n) * k // n) for k in (1, 2) if k <= n
    )
    best = pt.Estimate(labels, 0.5, pt.losses.VI(), "test", soft, path)
    X = np.random.default_rng(0).normal(size=(n, n_columns)) + labels[:, None]
    return Case(draws, best, X, np.arange(n) * 2 // n)


@cache
def case(name):
    if name == "small":
        draws = pt.datasets.simulate_draws(40, 60, n_clusters=3, noise=0.2, rng=0)
        return _case(draws, np.arange(40) * 3 // 40, 2)
    if name == "large":
        draws = pt.datasets.simulate_draws(20_000, 40, n_clusters=30, noise=0.2, rng=0)
        return _case(draws, np.arange(20_000) * 30 // 20_000, 3)
    if name == "one cluster":
        return _case(pt.Draws(np.zeros((5, 12), dtype=int)), np.zeros(12, dtype=int), 1)
    if name == "two items":
        return _case(pt.Draws([[0, 0], [0, 1], [0, 1]]), [0, 1], 2)
    if name == "singletons":
        return _case(pt.Draws([np.arange(90)] * 3), np.arange(90), 1)
    raise KeyError(name)


CASES = ("small", "large", "one cluster", "two items", "singletons")


@cache
def fit(name):
    """W and H of K columns; of a made-up large one, since the fit itself is not what is drawn."""
    c = case(name)
    if c.draws.n_items <= 100:
        rank = min(3, c.draws.n_items)
        return pt.factorize(pt.posterior_similarity(c.draws), model="ns", rank=rank, rng=0)
    small = pt.factorize(pt.posterior_similarity([[0, 0, 1]]), model="ls", rank=2, rng=0)
    W = c.best.memberships + 0.01
    from dataclasses import replace

    return replace(small, W=W, H=W.T, rank=W.shape[1])


CALLS = {
    "similarity": lambda c, _: plots.similarity(c.draws, c.best, truth=c.truth),
    "reconstruction": lambda c, f: plots.reconstruction(f, c.draws, c.best, truth=c.truth),
    "memberships": lambda c, _: plots.memberships(c.best, order="estimate"),
    "memberships-by-rank": lambda c, _: plots.memberships_by_rank(c.best, None, c.draws),
    "loss": lambda c, _: plots.loss_by_rank(c.best),
    "n-clusters": lambda c, _: plots.n_clusters(c.draws, c.best),
    "scatter": lambda c, _: plots.scatter(c.X, c.best, c.draws),
    "ball": lambda c, _: plots.credible_ball(pt.credible_ball(c.best, c.draws), c.draws),
    "comparison": lambda c, _: plots.comparison(
        {"one": c.best, "other": c.truth}, c.draws, truth=c.truth
    ),
    "traces": lambda c, _: plots.traces(c.draws),
    "parameters": lambda c, _: plots.parameters(described(c)),
    "choice": lambda c, _: plots.choice(pt.choose_n_clusters(c.draws, n_splits=1, rng=0)),
    "modes": lambda c, _: plots.modes(pt.summarize_modes(c.draws, n_init=1, rng=0)),
    "chips": lambda c, _: plots.chips(pt.chips(c.draws, prob=0.5, width=1, rng=0)),
    "sensitivity": lambda c, _: plots.sensitivity(hangs(c)),
    "alluvial": lambda c, _: plots.alluvial({"estimate": c.best, "truth": c.truth}),
    "dendrogram": lambda c, _: plots.dendrogram(c.draws, c.best),
    "map": lambda c, _: plots.posterior_map(
        c.draws, c.best, ball=pt.credible_ball(c.best, c.draws)
    ),
}


def hangs(c):
    """The sensitivity of draws; of a made-up large one, since the search is not what is drawn."""
    if c.draws.n_items <= 100:
        return pt.sensitivity(c.draws, rng=0)
    small = pt.sensitivity([[0, 0, 1], [0, 1, 1]], losses="binder", rng=0)
    frame = small.frame.iloc[[0, 0]].reset_index(drop=True)
    frame["low"], frame["high"] = [0.5, 1.0], [1.0, 1.5]
    return pt.Sensitivity(frame, np.stack([c.best.labels, c.truth]), c.best.labels)


def described(c):
    widest = int(c.draws.n_clusters.max())
    mu = np.random.default_rng(0).normal(size=(c.draws.n_draws, widest, 2))
    return pt.cluster_parameters(c.best, c.draws, {"mu": mu}, method="items")


def test_every_figure_is_tried_here():
    assert set(CALLS) == set(plots.NAMES)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("kind", sorted(plots.NAMES))
def test_is_drawn(kind, name):
    drawn = CALLS[kind](case(name), fit(name) if kind == "reconstruction" else None)
    found = np.ravel(np.asarray(drawn, dtype=object))
    assert all(isinstance(ax, Axes) for ax in found)
    file = io.BytesIO()
    found[0].get_figure().savefig(file, format="png", dpi=50)
    image = plt.imread(io.BytesIO(file.getvalue()))
    assert image[..., :3].std() > 0.01  # not blank


@pytest.mark.parametrize("kind", ["svg", "pdf"])
def test_vector_formats(kind):
    c = case("small")
    file = io.BytesIO()
    plots.similarity(c.draws, c.best).figure.savefig(file, format=kind)
    assert len(file.getvalue()) > 5_000


ONE_PANEL = {
    "similarity": lambda c, ax: plots.similarity(c.draws, c.best, ax=ax),
    "memberships": lambda c, ax: plots.memberships(c.best, ax=ax),
    "loss": lambda c, ax: plots.loss_by_rank(c.best, ax=ax),
    "n-clusters": lambda c, ax: plots.n_clusters(c.draws, ax=ax),
    "scatter": lambda c, ax: plots.scatter(c.X, c.best, ax=ax),
    "chips": lambda c, ax: plots.chips(pt.chips(c.draws, rng=0), ax=ax),
    "alluvial": lambda c, ax: plots.alluvial([c.best, c.truth], ax=ax),
    "dendrogram": lambda c, ax: plots.dendrogram(c.draws, n_clusters=3, ax=ax),
    "map": lambda c, ax: plots.posterior_map(
        c.draws, c.best, modes=pt.summarize_modes(c.draws, n_modes=2, rng=0), ax=ax
    ),
}


@pytest.mark.parametrize("kind", sorted(ONE_PANEL))
def test_draws_on_the_axes_given(kind):
    ax = plt.subplots()[1]
    assert ONE_PANEL[kind](case("small"), ax) is ax
    assert len(plt.get_fignums()) == 1


@pytest.mark.parametrize("kind", sorted(set(CALLS) - set(ONE_PANEL)))
def test_draws_in_the_figure_given(kind):
    c, figure = case("small"), plt.figure()
    calls = {
        "reconstruction": lambda: plots.reconstruction(fit("small"), c.draws, fig=figure),
        "memberships-by-rank": lambda: plots.memberships_by_rank(c.best, [1], c.draws, fig=figure),
        "ball": lambda: plots.credible_ball(
            pt.credible_ball(c.best, c.draws), data=c.X, fig=figure
        ),
        "comparison": lambda: plots.comparison({"one": c.best}, c.draws, fig=figure),
        "traces": lambda: plots.traces(c.draws, fig=figure),
        "parameters": lambda: plots.parameters(described(c), "mu", fig=figure),
        "choice": lambda: plots.choice(pt.choose_n_clusters(c.draws, rng=0), fig=figure),
        "modes": lambda: plots.modes(pt.summarize_modes(c.draws, rng=0), fig=figure),
        "sensitivity": lambda: plots.sensitivity(hangs(c), fig=figure),
    }
    found = calls[kind]()
    assert all(ax.get_figure() is figure for ax in np.ravel(found))
    assert len(plt.get_fignums()) == 1
