"""Draw the picture of the README: a posterior similarity, ordered by the estimate."""

from __future__ import annotations

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import partita as pt

draws = pt.datasets.simulate_draws(60, 1000, n_clusters=4, noise=0.25, rng=4)
psm = pt.posterior_similarity(draws).to_dense()
answers = {
    "MinBinder": pt.estimate(draws, method="minbinder"),
    "least expected VI": pt.estimate(draws, loss="vi", rng=0),
}

figure, axes = plt.subplots(1, 3, figsize=(11, 3.9), layout="constrained")
order = np.argsort(answers["least expected VI"].labels, kind="stable")
image = axes[0].imshow(psm[np.ix_(order, order)], cmap="viridis", vmin=0, vmax=1)
axes[0].set_title("posterior similarity")
for ax, (name, best) in zip(axes[1:], answers.items(), strict=True):
    labels = best.labels[order]
    ax.imshow(labels[:, None] == labels[None, :], cmap="viridis", vmin=0, vmax=1)
    ax.set_title(f"{name}: {best.n_clusters} clusters")
for ax in axes:
    ax.set_xlabel("item")
    edges = np.flatnonzero(np.diff(answers["least expected VI"].labels[order])) + 0.5
    for edge in edges:
        ax.axhline(edge, color="white", linewidth=0.7)
        ax.axvline(edge, color="white", linewidth=0.7)
figure.colorbar(image, ax=axes, label="probability of sharing a cluster", shrink=0.85)
figure.savefig(Path(__file__).parent / "similarity.png", dpi=110)
