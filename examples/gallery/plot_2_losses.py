"""
Losses: what becomes of items in doubt
======================================
The same draws under four losses. VI puts doubtful galaxies with most of their company; Binder's
loss and NID leave them alone.
"""

import pandas as pd

import partita as pt

X = pt.datasets.load_galaxies().data
draws = pt.sample_mixture(X, prior="paper", n_draws=1000, n_burn=1000, n_chains=2, rng=1)
found = {loss: pt.estimate(draws, loss=loss, rng=0) for loss in ("vi", "omari", "binder", "nid")}
ax = pt.plots.scatter(X, found, draws, reference=found["nid"])
ax.set_xlabel("velocity (1,000 km/s)")

# %%
# What each partition costs under every loss: the least of a column is on its own row.
table = pd.DataFrame(
    {
        loss: [pt.expected_loss(best.labels, draws, loss=loss) for best in found.values()]
        for loss in found
    },
    index=list(found),
)
print(table.round(4))
