"""
Covariance: three cultivars of wine
===================================
178 bottles in thirteen columns. A full covariance for each cluster has 91 numbers to learn, and its
clusters swallow their neighbours; a diagonal one finds the cultivars.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_wine
from sklearn.preprocessing import scale

import partita as pt

wine = load_wine()
X = scale(wine.data)
found = {"cultivars": wine.target}
for covariance in ("full", "diagonal"):
    draws = pt.sample_mixture(X, n_draws=1000, n_burn=2000, covariance=covariance, rng=0)
    best = pt.estimate(draws, loss="vi", rng=0)
    found[covariance] = best.labels
    agreement = pt.adjusted_rand_index(wine.target, best.labels)
    print(f"{covariance}: {best.sizes}, adjusted Rand index {agreement:.2f}")

# %%
# The bottles by their first two principal components.
_, _, axes = np.linalg.svd(X, full_matrices=False)
points = X @ axes[:2].T
figure, panels = plt.subplots(1, 3, figsize=(11, 3.4), layout="constrained")
for panel, (name, labels) in zip(panels, found.items(), strict=True):
    pt.plots.scatter(points, labels, ax=panel)
    panel.set_title(name)
    panel.set_xlabel("first component")
panels[0].set_ylabel("second component")
