"""
Methods: every estimate of the crabs
====================================
200 crabs of two species and both sexes, five measurements: the paper's methods side by side, and
how near each is to the truth.
"""

import partita as pt

crabs = pt.datasets.load_crabs()
draws = pt.sample_mixture(crabs.data, prior="paper", n_draws=400, n_burn=800, n_chains=2, rng=1)
methods = {name: {"method": name} for name in ("minbinder", "maxpear", "minvi", "medv")}
methods |= {name: {"loss": "vi", "search": name} for name in ("auto", "nmf-ls", "nmf-ns")}
table = pt.compare(draws, methods=methods, truth=crabs.truth, rng=0)
print(table)

# %%
# The similarity, and the pairs that each method puts together. True classes are dashed.
pt.plots.comparison(table, draws, truth=crabs.truth, order="truth")
