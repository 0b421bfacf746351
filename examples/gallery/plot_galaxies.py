"""
82 galaxies: from velocities to a partition
===========================================
The whole way on data that come with the package.
"""

import partita as pt

X = pt.datasets.load_galaxies().data
draws = pt.sample_mixture(X, prior="paper", n_draws=500, n_burn=500, n_chains=2, rng=1)
best = pt.estimate(draws, loss="vi", search="nmf-kl", rng=0)
print(best)

# %%
# The items in the middle of the plot are the sure ones.
pt.plots.similarity(draws, best)
