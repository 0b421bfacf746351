"""A mixture fitted in NumPyro, from its MCMC object to a report by three lines of partita.

The labels are summed out, as NUTS needs it; what is kept instead is, for every draw and galaxy,
the log weight of each component (``deterministic``). ``pip install numpyro`` first. Labels that a
model samples itself, say with ``DiscreteHMCGibbs``, are found by ``pt.as_draws(mcmc)``.

Run in November 2026 with NumPyro 0.22.0 and JAX 0.10.2: 26 s of the processor, five clusters, and
nothing that ``diagnose`` holds against the draws.
"""

import jax
import jax.numpy as jnp
import numpyro
import numpyro.distributions as dist
from numpyro.infer import MCMC, NUTS, init_to_value

import partita as pt

K = 6


def model(speed):
    """A mixture of six normals."""
    weight = numpyro.sample("weight", dist.Dirichlet(jnp.ones(K)))
    mean = numpyro.sample("mean", dist.Normal(20, 8).expand([K]))
    scale = numpyro.sample("scale", dist.InverseGamma(3, 3).expand([K]))
    logs = jnp.log(weight) + dist.Normal(mean, scale).log_prob(speed[:, None])
    numpyro.deterministic("log_weights", logs)
    numpyro.factor("likelihood", jax.nn.logsumexp(logs, axis=1).sum())


def fitted():
    """The 82 galaxies, four chains."""
    speed = jnp.asarray(pt.datasets.load_galaxies().data.ravel())
    spread = jnp.quantile(speed, (jnp.arange(K) + 0.5) / K)
    kernel = NUTS(model, init_strategy=init_to_value(values={"mean": spread}))
    settings = {"num_warmup": 500, "num_samples": 500, "num_chains": 4}
    mcmc = MCMC(kernel, **settings, chain_method="sequential", progress_bar=False)
    mcmc.run(jax.random.PRNGKey(0), speed)
    return mcmc


def main():
    """Fit, estimate, report."""
    mcmc = fitted()
    draws = pt.Draws.from_log_weights(mcmc, key="log_weights", rng=0)
    best = pt.estimate(draws, loss="vi", rng=0)
    pt.report(best, draws, path="numpyro_report.html")
    print(draws, best, pt.diagnose(draws), sep="\n")


if __name__ == "__main__":
    main()
