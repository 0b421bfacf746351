"""
Galaxies: from data to a partition
==================================
82 galaxies, their velocities in 1,000 km/s: sample partitions under the paper's Dirichlet-process
mixture, estimate one, and see who belongs together.
"""

import partita as pt

X = pt.datasets.load_galaxies().data
draws = pt.sample_mixture(X, prior="paper", n_draws=1000, n_burn=1000, n_chains=2, rng=1)
print(pt.diagnose(draws))

# %%
# The partition of least expected variation of information. Every item with its cluster, below the
# posterior predictive density; the paler, the less certain.
best = pt.estimate(draws, loss="vi", rng=0)
print(best)
ax = pt.plots.scatter(X, best, draws)
ax.set_xlabel("velocity (1,000 km/s)")

# %%
# How often each pair of galaxies shares a cluster. Items are ordered by cluster and similarity.
pt.plots.similarity(draws, best)
