"""A mixture of five Gaussians on iris, fitted in NumPyro: from ``mcmc.run`` to a report.

The model knows nothing of partita. ``pip install numpyro funsor scikit-learn`` first.
"""

import jax
import jax.numpy as jnp
import numpyro
import numpyro.distributions as dist
from numpyro.infer import MCMC, NUTS
from sklearn.datasets import load_iris

import partita as pt

K = 5


def model(flowers):
    """Five components with a mean and a scale for each column; NumPyro sums the labels out."""
    weight = numpyro.sample("weight", dist.Dirichlet(jnp.full(K, 2.0)))
    with numpyro.plate("component", K):
        mean = numpyro.sample("mean", dist.Normal(flowers.mean(axis=0), 3.0).to_event(1))
        scale = numpyro.sample("scale", dist.Gamma(4.0, 10.0).expand([4]).to_event(1))
    with numpyro.plate("item", len(flowers)):
        z = numpyro.sample("z", dist.Categorical(weight), infer={"enumerate": "parallel"})
        numpyro.sample("flower", dist.Normal(mean[z], scale[z]).to_event(1), obs=flowers)


def main():
    """Fit, estimate, describe, report."""
    settings = {"num_warmup": 500, "num_samples": 500, "num_chains": 4}
    mcmc = MCMC(NUTS(model), **settings, chain_method="sequential", progress_bar=False)
    mcmc.run(jax.random.PRNGKey(0), load_iris().data)
    mixture = pt.from_numpyro(model, mcmc, rng=0)
    best = pt.estimate(mixture, rng=0)
    pt.report(best, mixture, path="numpyro_report.html")
    found = pt.cluster_parameters(best, mixture, mcmc)
    print(mixture, best, pt.diagnose(mixture), found.summary().round(2), sep="\n")


if __name__ == "__main__":
    main()
