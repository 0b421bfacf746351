"""
How sure: credible ball and items in doubt
==========================================
How far does the posterior reach around the estimate, and because of whom?
"""

import partita as pt

X = pt.datasets.load_galaxies().data
draws = pt.sample_mixture(X, prior="paper", n_draws=1000, n_burn=1000, n_chains=2, rng=1)
best = pt.estimate(draws, loss="vi", rng=0)
ball = pt.credible_ball(best, draws, prob=0.95)
print(ball)

# %%
# The estimate and the edges of the ball: the coarsest, the finest and the farthest partition in it.
axes = pt.plots.credible_ball(ball, data=X)
axes[-1].set_xlabel("velocity (1,000 km/s)")

# %%
# The galaxies most in doubt.
items = pt.item_uncertainty(best, draws).sort_values("entropy", ascending=False)
shown = ["cluster", "own_similarity", "runner_up", "runner_up_similarity", "entropy"]
print(items[shown].head(8).round(3).to_string())

# %%
# The posterior of the number of clusters, with Monte Carlo errors.
pt.plots.n_clusters(draws, best)
