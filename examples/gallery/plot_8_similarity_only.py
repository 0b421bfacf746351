"""
Only a similarity matrix
========================
Sometimes the draws are gone and the matrix of how often two items were together is left. Losses and
searches that need no more work on it.
"""

import matplotlib.pyplot as plt

import partita as pt

draws = pt.datasets.simulate_draws(80, 400, n_clusters=5, noise=0.25, rng=0)
matrix = pt.posterior_similarity(draws).to_dense()  # all that is left, say

psm = pt.Similarity(matrix)
names = ("vi-lower-bound", "pear", "binder")
found = {name: pt.estimate(psm, loss=name, rng=0) for name in names}
for name, best in found.items():
    print(f"{name}: {best.n_clusters} clusters, expected loss {best.expected_loss:.4f}")
print(pt.certify(found["binder"].labels, psm))  # could another partition cost less?

# %%
# NMF needs the matrix alone, too, and says how strongly each item belongs.
soft = pt.estimate(psm, loss="pear", search="nmf-kl", rng=0)
figure, (left, right) = plt.subplots(
    1, 2, figsize=(10, 3.8), width_ratios=(1, 1.4), layout="constrained"
)
pt.plots.similarity(psm, found["binder"], ax=left)
pt.plots.memberships(soft, ax=right)
