"""Draw every figure of the README and of these pages, from runs of our own.

``python docs/make_figures.py`` draws all of them, ``python docs/make_figures.py crabs`` one. The
captions say which figure of the paper one answers to.
"""

from __future__ import annotations

import sys
from functools import cache
from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np

import partita as pt

mpl.use("Agg")
HERE = Path(__file__).parent / "figures"
PAPER = ("minbinder", "maxpear", "minvi", "medv", "nmf-ls", "nmf-kl", "nmf-ns", "nmf-offset")


def save(figure, name: str) -> None:
    """Write a figure beside the pages."""
    HERE.mkdir(exist_ok=True)
    figure.savefig(HERE / f"{name}.png", dpi=110)
    plt.close(figure)
    print(HERE / f"{name}.png")


@cache
def galaxies():
    """The galaxies and draws of their partition, under the paper's prior."""
    X = pt.datasets.load_galaxies().data
    draws = pt.sample_mixture(
        X, prior="paper", n_draws=2_500, n_burn=2_500, n_chains=4, rng=1, n_jobs=-1
    )
    return X, draws


@cache
def crabs():
    """The crabs and draws of their partition, likewise."""
    data = pt.datasets.load_crabs()
    draws = pt.sample_mixture(
        data.data, prior="paper", n_draws=2_500, n_burn=2_500, n_chains=4, rng=1, n_jobs=-1
    )
    return data, draws


@cache
def two_small_groups():
    """Two groups of fifteen and, between them, two of three: 31 to 33 and 34 to 36."""
    random = np.random.default_rng(7)
    centres = {(-2.2, 0.0): 15, (2.2, 0.0): 15, (0.8, 2.7): 3, (-0.8, -2.7): 3}
    parts = [random.normal(c, 0.62 if n > 3 else 0.3, (n, 2)) for c, n in centres.items()]
    truth = np.repeat(np.arange(4), list(centres.values()))
    X = np.concatenate(parts)
    draws = pt.sample_mixture(X, n_draws=2_500, n_burn=2_500, n_chains=2, rng=3, n_jobs=-1)
    return X, truth, draws


def readme() -> None:
    """The galaxies: methods that disagree, and soft memberships."""
    X, draws = galaxies()
    found = {name: pt.estimate(draws, method=name, rng=0) for name in ("medv", "minvi")}
    found |= {name: pt.estimate(draws, loss=name, rng=0) for name in ("vi", "binder", "omari")}
    soft = pt.estimate(draws, loss="vi", search="nmf-kl", n_clusters=3, rng=0)
    figure, (top, bottom) = plt.subplots(
        2, 1, figsize=(8.5, 5.6), height_ratios=(2.2, 1), layout="constrained"
    )
    pt.plots.scatter(X, found, draws, density={"prior": "paper"}, reference=found["omari"], ax=top)
    top.set_xlabel("velocity (1,000 km/s)")
    top.set_title("82 galaxies: their density, and what five methods report")
    pt.plots.memberships(soft, ax=bottom)
    bottom.set_title("soft memberships in three clusters (NMF)")
    bottom.set_xlabel("galaxy, by velocity")
    save(figure, "readme")


def quickstart() -> None:
    """Similarity and memberships of the draws of the quick start."""
    draws = pt.datasets.simulate_draws(40, 60, n_clusters=3, rng=0)
    best = pt.estimate(draws, loss="vi", rng=0)
    soft = pt.estimate(draws, loss="vi", search="nmf-kl", rng=0)
    figure, (left, right) = plt.subplots(
        1, 2, figsize=(9, 3.6), width_ratios=(1, 1.4), layout="constrained"
    )
    pt.plots.similarity(draws, best, ax=left)
    pt.plots.memberships(soft, ax=right)
    save(figure, "quickstart")


def galaxy() -> None:
    """The paper's galaxy figure: the partitions of eight methods below the density."""
    X, draws = galaxies()
    table = pt.compare(draws, rng=1, n_jobs=-1)
    found = {name: table.estimates[name] for name in PAPER}
    colours = table.estimates["auto-vi"]
    ax = pt.plots.scatter(X, found, draws, density={"prior": "paper"}, reference=colours)
    ax.set_xlabel("velocity (1,000 km/s)")
    save(ax.figure, "galaxy")


def galaxy_soft() -> None:
    """The paper's soft clustering of the galaxies: NMF-kl at K = 3, 4, 5."""
    _, draws = galaxies()
    best = pt.estimate(draws, loss="vi", search="nmf-kl", rng=0, n_jobs=-1)
    axes = pt.plots.memberships_by_rank(best, [3, 4, 5], order="given", style="lines")
    save(axes[0].figure, "galaxy_soft")


def crabs_comparison() -> None:
    """The paper's crabs figure: π̂ and the partition of every method, true classes dashed."""
    data, draws = crabs()
    table = pt.compare(draws, truth=data.truth, rng=1, n_jobs=-1)
    found = {name: table.estimates[name] for name in PAPER}
    axes = pt.plots.comparison(found, draws, truth=data.truth, order="truth", columns=5)
    save(axes[0].figure, "crabs")


def soft_heat() -> None:
    """The paper's four matrices: the truth, π̂, a conventional estimate, NMF's WH."""
    _, truth, draws = two_small_groups()
    psm = pt.posterior_similarity(draws)
    fit = pt.factorize(psm, model="ls", rank=4, rng=0)
    hard = pt.estimate(draws, method="minvi")
    figure, axes = plt.subplots(1, 4, figsize=(11.5, 3.2), layout="constrained")
    panels = {
        "posterior similarity": psm,
        "truth": pt.Draws([truth]),
        f"minvi (K = {hard.n_clusters})": pt.Draws([hard.labels]),
    }
    for ax, (name, matrix) in zip(axes, panels.items(), strict=False):
        pt.plots.similarity(matrix, order="given", colorbar=False, ax=ax)
        ax.set_title(name, fontsize=9)
        ax.set_xlabel("")
    restored = np.clip(np.asarray(fit.W) @ np.asarray(fit.H), 0, 1)  # not symmetric in general
    axes[3].imshow(restored, cmap="Blues", vmin=0, vmax=1, interpolation="nearest")
    axes[3].set_xticks([])
    axes[3].set_yticks([])
    axes[3].set_title("NMF-ls, WH", fontsize=9)
    save(figure, "soft_heat")


def soft_memberships() -> None:
    """The paper's soft clustering: Binder's loss over K, and the memberships at K = 2 and 4."""
    _, _, draws = two_small_groups()
    best = pt.estimate(draws, loss="binder", search="nmf-ls", rng=0, n_jobs=-1)
    figure = plt.figure(figsize=(8, 6.4), layout="constrained")
    top, bottom = figure.subfigures(2, 1, height_ratios=(1, 1.7))
    pt.plots.loss_by_rank(best, ax=top.subplots())
    pt.plots.memberships_by_rank(best, [2, 4], order="given", style="lines", fig=bottom)
    save(figure, "soft_memberships")


def soft_data() -> None:
    """The paper's example data: the truth and a conventional estimate."""
    X, truth, draws = two_small_groups()
    figure, axes = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
    pt.plots.scatter(X, truth, ax=axes[0])
    axes[0].set_title("truth")
    pt.plots.scatter(X, pt.estimate(draws, method="minvi"), draws, ax=axes[1])
    axes[1].set_title("minvi")
    save(figure, "soft_data")


def ball() -> None:
    """The credible ball of the galaxies."""
    X, draws = galaxies()
    best = pt.estimate(draws, loss="vi", rng=0, n_jobs=-1)
    axes = pt.plots.credible_ball(pt.credible_ball(best, draws), data=X)
    axes[-1].set_xlabel("velocity (1,000 km/s)")
    save(axes[0].figure, "ball")


def traces() -> None:
    """The chains of the galaxies."""
    save(pt.plots.traces(galaxies()[1].thin(5))[0].figure, "traces")


def numbers() -> None:
    """The posterior of K and the loss over K, for the crabs."""
    _, draws = crabs()
    best = pt.estimate(draws, loss="vi", rng=0, n_jobs=-1)
    soft = pt.estimate(draws, loss="vi", search="nmf-kl", rng=0, n_jobs=-1)
    figure, axes = plt.subplots(1, 2, figsize=(8, 2.9), layout="constrained")
    pt.plots.n_clusters(draws, best, ax=axes[0])
    pt.plots.loss_by_rank(soft, ax=axes[1])
    save(figure, "numbers")


def parameters() -> None:
    """Means and weights of the clusters of the crabs."""
    data, draws = crabs()
    best = pt.estimate(draws, loss="vi", rng=0, n_jobs=-1)
    drawn = pt.mixture.component_parameters(draws, data.data, rng=0)
    found = pt.cluster_parameters(best, draws, drawn, method="items")
    found = found.assign_coords(column=list(data.feature_names))
    axes = pt.plots.parameters(found, ["mean", "cluster_weight"])
    save(axes[0].figure, "parameters")


def modes() -> None:
    """Two modes: a posterior that holds two partitions of forty items."""
    rng = np.random.default_rng(0)
    first, second = np.repeat([0, 1, 2, 3], 10), np.repeat([0, 1, 2], [10, 15, 15])
    labels = np.where(rng.random(600)[:, None] < 0.63, first, second)
    moved = rng.random(labels.shape) < 0.08
    draws = pt.Draws(np.where(moved, rng.integers(0, 4, labels.shape), labels))
    save(pt.plots.modes(pt.summarize_modes(draws, rng=0))[0].figure, "modes")


def sure() -> None:
    """What can be said of the galaxies with how much probability, and a map of their draws."""
    _, draws = galaxies()
    best = pt.estimate(draws, loss="vi", rng=0, n_jobs=-1)
    figure, axes = plt.subplots(1, 2, figsize=(12, 3.8), layout="constrained")
    pt.plots.chips(pt.chips(draws, prob=0.5, rng=0), ax=axes[0])
    pt.plots.posterior_map(draws, best, ball=pt.credible_ball(best, draws), ax=axes[1])
    save(figure, "sure")


def sensitivity() -> None:
    """What hangs on the weight of the loss, for the galaxies."""
    found = pt.sensitivity(galaxies()[1], weights=(0.4, 0.7, 1.0, 1.3, 1.6), rng=0)
    save(pt.plots.sensitivity(found)[0, 0].figure, "sensitivity")


def flow() -> None:
    """Where galaxies go from one loss to the next, and the tree of the crabs."""
    _, draws = galaxies()
    found = {
        name: pt.estimate(draws, loss=name, rng=0, n_jobs=-1) for name in ("vi", "id", "binder")
    }
    figure, axes = plt.subplots(1, 2, figsize=(12, 3.8), layout="constrained")
    pt.plots.alluvial(found, ax=axes[0])
    crabs_draws = crabs()[1]
    best = pt.estimate(crabs_draws, loss="vi", rng=0, n_jobs=-1)
    pt.plots.dendrogram(crabs_draws, best, ax=axes[1])
    save(figure, "flow")


def choosing_losses() -> None:
    """What each loss does with the galaxies that lie between groups."""
    X, draws = galaxies()
    names = ("vi-lower-bound", "vi", "id", "omari", "pear", "binder", "nvi", "nid")
    found = {name: pt.estimate(draws, loss=name, rng=0, n_jobs=-1) for name in names}
    ax = pt.plots.scatter(X, found, draws, density={"prior": "paper"}, reference=found["nid"])
    ax.set_xlabel("velocity (1,000 km/s)")
    save(ax.figure, "choosing_losses")


def choosing_weights() -> None:
    """What the weight of VI(a) does."""
    X, draws = galaxies()
    found = {
        f"VI({a})": pt.estimate(draws, loss=pt.losses.VI(a), rng=0, n_jobs=-1)
        for a in (1.4, 1.2, 1.0, 0.8, 0.6, 0.4)
    }
    colours = found["VI(0.6)"]
    ax = pt.plots.scatter(X, found, draws, density={"prior": "paper"}, reference=colours)
    ax.set_xlabel("velocity (1,000 km/s)")
    save(ax.figure, "choosing_weights")


def choosing_searches() -> None:
    """The expected VI that each search reaches on the crabs, and where it puts those in doubt."""
    _, draws = crabs()
    names = ("auto", "lau-green", "nmf-ls", "nmf-kl", "spectral", "draws", "average", "medvedovic")
    found = {name: pt.estimate(draws, loss="vi", search=name, rng=0, n_jobs=-1) for name in names}
    best = found["auto"]
    doubt = pt.item_uncertainty(best, draws)["entropy"].to_numpy()
    items = np.argsort(-doubt, kind="stable")[:40]
    items = items[np.lexsort((-doubt[items], best.labels[items]))]
    matched = {k: pt.plots.matched_labels(best.labels, v.labels) for k, v in found.items()}
    most = 1 + max(labels.max() for labels in matched.values())
    figure, (left, right) = plt.subplots(
        1, 2, figsize=(11, 3.4), width_ratios=(1, 2.2), layout="constrained"
    )
    excess = [100 * (v.expected_loss / best.expected_loss - 1) for v in found.values()]
    left.barh(range(len(names)), excess, color="0.6")
    for row, (value, estimate) in enumerate(zip(excess, found.values(), strict=True)):
        said = f"{value:.1f}%, K = {estimate.n_clusters}"
        left.text(value + 1, row, said, va="center", fontsize=8)
    left.set_yticks(range(len(names)), names)
    left.set_xlim(0, 1.45 * max(excess))
    left.invert_yaxis()
    left.spines[["top", "right"]].set_visible(False)
    left.set_xlabel("expected VI above the least (%)")
    colours = np.array([mpl.colors.to_rgb(colour) for colour in pt.plots.palette(most)])
    right.imshow(colours[[matched[name][items] for name in names]], aspect="auto")
    right.vlines(np.arange(items.size - 1) + 0.5, -0.5, len(names) - 0.5, "white", lw=0.6)
    right.hlines(np.arange(len(names) - 1) + 0.5, -0.5, items.size - 0.5, "white", lw=2)
    right.set_yticks(range(len(names)), names)
    right.set_xticks([])
    right.spines[:].set_visible(False)
    right.set_xlabel("the 40 crabs most in doubt, by their cluster under auto")
    save(figure, "choosing_searches")


FIGURES = {
    "readme": readme,
    "quickstart": quickstart,
    "galaxy": galaxy,
    "galaxy_soft": galaxy_soft,
    "crabs": crabs_comparison,
    "soft_data": soft_data,
    "soft_heat": soft_heat,
    "soft_memberships": soft_memberships,
    "ball": ball,
    "traces": traces,
    "numbers": numbers,
    "parameters": parameters,
    "modes": modes,
    "sure": sure,
    "sensitivity": sensitivity,
    "flow": flow,
    "choosing_losses": choosing_losses,
    "choosing_weights": choosing_weights,
    "choosing_searches": choosing_searches,
}

if __name__ == "__main__":
    for wanted in sys.argv[1:] or FIGURES:
        FIGURES[wanted]()
