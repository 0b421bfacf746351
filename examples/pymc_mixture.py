"""A mixture of five Gaussians on iris, fitted in PyMC: from ``pm.sample`` to a report.

The model knows nothing of partita. ``pip install pymc scikit-learn`` first. Sampling takes five
minutes of the processor.
"""

import numpy as np
import pymc as pm
from pytensor import tensor
from sklearn.datasets import load_iris

import partita as pt

K = 5


def model_of(flowers):
    """Five components with a mean and a scale for each column, labels summed out."""
    with pm.Model() as model:
        weight = pm.Dirichlet("weight", np.full(K, 2.0))
        mean = pm.Normal("mean", flowers.mean(axis=0), 3.0, shape=(K, 4))
        scale = pm.Gamma("scale", 4.0, 10.0, shape=(K, 4))
        parts = [pm.MvNormal.dist(mean[k], chol=tensor.diag(scale[k])) for k in range(K)]
        pm.Mixture("flower", w=weight, comp_dists=parts, observed=flowers)
    return model


def main():
    """Fit, estimate, describe, report."""
    model = model_of(load_iris().data)
    settings = {"chains": 2, "cores": 1, "random_seed": 1, "progressbar": False}
    idata = pm.sample(300, tune=300, model=model, **settings)
    mixture = pt.from_pymc(model, idata, rng=0)
    best = pt.estimate(mixture, rng=0)
    pt.report(best, mixture, path="pymc_report.html")
    found = pt.cluster_parameters(best, mixture, idata)
    print(mixture, best, pt.diagnose(mixture), found.summary().round(2), sep="\n")


if __name__ == "__main__":
    main()
