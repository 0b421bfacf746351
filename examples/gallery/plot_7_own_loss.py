"""
A loss of your own
==================
The Jaccard distance between the pairs that two partitions put together. It is a ratio of sums over
their contingency table, so the search that serves the built-in losses serves it, too.
"""

from dataclasses import dataclass
from typing import ClassVar

import partita as pt


@dataclass(frozen=True)
class Jaccard(pt.losses.RatioLoss):
    """One minus: pairs together in both partitions, of the pairs together in either."""

    needs: ClassVar = "draws"
    numerator: ClassVar = pt.losses.Combination(t=1, e=1, j=-2)
    denominator: ClassVar = pt.losses.Combination(t=1, e=1, j=-1)

    def cell(self, x):
        return x * (x - 1) / 2


X = pt.datasets.load_galaxies().data
draws = pt.sample_mixture(X, prior="paper", n_draws=1000, n_burn=1000, n_chains=2, rng=1)
found = {
    "jaccard": pt.estimate(draws, loss=Jaccard(), rng=0),
    "vi": pt.estimate(draws, loss="vi", rng=0),
    "binder": pt.estimate(draws, loss="binder", rng=0),
}
for name, best in found.items():
    print(name, best.sizes, round(pt.expected_loss(best, draws, loss=Jaccard()), 4))

# %%
# Jaccard's distance ignores pairs that both partitions keep apart. Nearly all galaxies are in one
# group, so it cares for that group and for little else.
ax = pt.plots.scatter(X, found, draws, reference=found["binder"])
ax.set_xlabel("velocity (1,000 km/s)")
