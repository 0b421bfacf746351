"""
Memberships: soft clustering by NMF
===================================
Two groups of fifteen items and, between them, two of three, as in the paper's example. The hard
estimate joins the small groups to the large; memberships show them apart.
"""

import matplotlib.pyplot as plt
import numpy as np

import partita as pt

random = np.random.default_rng(7)
centres = {(-2.2, 0.0): 15, (2.2, 0.0): 15, (0.8, 2.7): 3, (-0.8, -2.7): 3}
X = np.concatenate([random.normal(c, 0.62 if n > 3 else 0.3, (n, 2)) for c, n in centres.items()])
draws = pt.sample_mixture(X, n_draws=1000, n_burn=1000, n_chains=2, rng=3)

figure, axes = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
pt.plots.scatter(X, np.repeat(np.arange(4), list(centres.values())), ax=axes[0])
axes[0].set_title("truth")
pt.plots.scatter(X, pt.estimate(draws, method="minvi"), draws, ax=axes[1])
axes[1].set_title("average linkage, VI lower bound")

# %%
# The factorisation at K = 2 and K = 4.
best = pt.estimate(draws, loss="binder", search="nmf-ls", rng=0)
pt.plots.memberships_by_rank(best, [2, 4], order="given", style="lines")

# %%
# What the four factors restore of the similarity.
fit = pt.factorize(pt.posterior_similarity(draws), model="ls", rank=4, rng=0)
pt.plots.reconstruction(fit, draws)
