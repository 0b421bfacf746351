"""A mixture fitted in NumPyro, from its MCMC object to a report by three lines of partita.

``DiscreteHMCGibbs`` samples the label of every galaxy along with the rest, so the draws are there
as they are. ``pip install numpyro`` first.
"""

import jax
import numpyro
import numpyro.distributions as dist
from numpyro.infer import MCMC, NUTS, DiscreteHMCGibbs

import partita as pt

K = 6


def model(speed):
    """A mixture of six normals."""
    weight = numpyro.sample("weight", dist.Dirichlet(jax.numpy.ones(K)))
    with numpyro.plate("components", K):
        mean = numpyro.sample("mean", dist.Normal(20, 8))
        scale = numpyro.sample("scale", dist.InverseGamma(3, 3))
    with numpyro.plate("galaxies", len(speed)):
        z = numpyro.sample("z", dist.Categorical(weight))
        numpyro.sample("speed", dist.Normal(mean[z], scale[z]), obs=speed)


def fitted():
    """The 82 galaxies, four chains."""
    speed = pt.datasets.load_galaxies().data.ravel() / 1000
    kernel = DiscreteHMCGibbs(NUTS(model), modified=True)
    settings = {"num_warmup": 500, "num_samples": 500, "num_chains": 4}
    mcmc = MCMC(kernel, **settings, chain_method="sequential", progress_bar=False)
    mcmc.run(jax.random.PRNGKey(0), speed)
    return mcmc


def main():
    """Fit, estimate, report."""
    mcmc = fitted()
    draws = pt.as_draws(mcmc)  # `z` is found
    best = pt.estimate(draws, loss="vi", rng=0)
    pt.report(best, draws, path="numpyro_report.html")
    print(draws, best, pt.diagnose(draws), sep="\n")


if __name__ == "__main__":
    main()
