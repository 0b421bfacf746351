"""A mixture fitted in PyMC, from its InferenceData to a report by three lines of partita.

The labels are summed out, as NUTS needs it; what is kept instead is, for every draw and galaxy,
the log weight of each component (one ``Deterministic``). ``pip install pymc`` first.

Run in November 2026 with PyMC 5.28.5 and ArviZ 0.23.4: half a minute of the processor, five
clusters, and ``diagnose`` says not to trust the draws yet: 197 effective ones of the number of
clusters (with 1,500 draws a chain, 145 of the distance to a central draw).
"""

import numpy as np
import pymc as pm

import partita as pt

K = 6


def fitted():
    """The 82 galaxies under a mixture of six normals, four chains."""
    speed = pt.datasets.load_galaxies().data.ravel()
    with pm.Model():
        weight = pm.Dirichlet("weight", np.ones(K))
        spread = np.quantile(speed, (np.arange(K) + 0.5) / K)
        mean = pm.Normal("mean", 20, 8, shape=K, initval=spread)
        scale = pm.InverseGamma("scale", 3, 3, shape=K)
        parts = pm.Normal.dist(mean, scale, shape=K)
        log_weights = pm.math.log(weight) + pm.logp(parts, speed[:, None])
        pm.Deterministic("log_weights", log_weights)
        pm.Potential("likelihood", pm.math.logsumexp(log_weights, axis=1).sum())
        return pm.sample(500, tune=500, chains=4, cores=1, random_seed=1, progressbar=False)


def main():
    """Fit, estimate, report."""
    data = fitted()
    draws = pt.Draws.from_log_weights(data, key="log_weights", rng=0)
    best = pt.estimate(draws, loss="vi", rng=0)
    pt.report(best, draws, path="pymc_report.html")
    psm = pt.Similarity.from_log_weights(data, key="log_weights")  # exact given the draws
    print(draws, best, pt.diagnose(draws), sep="\n")
    exact = pt.expected_loss(best.labels, psm, loss="binder")
    print(f"expected Binder loss without sampled labels {exact:.4f}")


if __name__ == "__main__":
    main()
