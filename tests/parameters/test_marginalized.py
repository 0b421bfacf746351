"""Mixtures whose labels were summed out: log weights as written by hand, parameters by Stephens."""

import numpy as np
import pytest
import xarray as xr
from scipy.stats import multivariate_normal, norm

import partita as pt
from partita.errors import InvalidValueError

CHAINS, DRAWS, K = 2, 5, 3
RNG = np.random.default_rng(0)
Y = np.concatenate([RNG.normal(-3, 1, 9), RNG.normal(0, 0.5, 7), RNG.normal(4, 1, 8)])
TRUTH = np.repeat([0, 1, 2], [9, 7, 8])
X = np.column_stack([Y, RNG.normal(size=Y.size)])


def posterior(rng: np.random.Generator) -> dict[str, np.ndarray]:
    lead = (CHAINS, DRAWS)
    return {
        "w": rng.dirichlet(np.ones(K), lead),
        "mu": rng.normal([-3, 0, 4], 0.2, (*lead, K)),
        "sigma": rng.gamma(8.0, 0.1, (*lead, K)),
    }


def by_hand(values: dict[str, np.ndarray]) -> np.ndarray:
    w, mu, sigma = (values[name].reshape(-1, 1, K) for name in ("w", "mu", "sigma"))
    return np.log(w) + norm.logpdf(Y[None, :, None], mu, sigma)


def as_tree(values: dict[str, np.ndarray]) -> xr.DataTree:
    variables = {
        name: (("chain", "draw", *(f"{name}_{k}" for k in range(one.ndim - 2))), one)
        for name, one in values.items()
    }
    return xr.DataTree.from_dict({"posterior": xr.Dataset(variables)})


def switched(n_draws: int = 200) -> tuple[pt.MarginalizedMixture, np.ndarray]:
    rng = np.random.default_rng(1)
    order = np.argsort(rng.random((n_draws, K)), axis=1)
    mu = np.array([-3.0, 0.0, 4.0])[order] + rng.normal(scale=0.02, size=(n_draws, K))
    log_weights = norm.logpdf(Y[None, :, None], mu[:, None], 1.0)
    return pt.MarginalizedMixture(log_weights, np.repeat([0, 1], n_draws // 2), seed=3), mu


@pytest.mark.parametrize("method", ["align", "items"])
def test_parameters_by_responsibilities(method: str) -> None:
    mixture, mu = switched()
    found = pt.cluster_parameters(TRUTH, mixture, {"mu": mu}, method=method)
    assert found["mu"].sizes == {"chain": 2, "draw": 100, "cluster": 3}
    limit = 0.01 if method == "align" else 0.4  # means of items take their doubts in
    assert np.abs(found["mu"].mean(["chain", "draw"]) - [-3, 0, 4]).max() < limit
    with pytest.raises(InvalidValueError, match="must have the 3 components of the mixture.*got 2"):
        pt.cluster_parameters(TRUTH, mixture, {"mu": mu[:, :2]})


def test_stephens_agrees_with_the_sampled_labels() -> None:
    mixture, mu = switched()
    soft = pt.cluster_parameters(TRUTH, mixture, {"mu": mu})
    hard = pt.cluster_parameters(TRUTH, mixture.draws, {"mu": mu})
    assert (soft["mu"].values == hard["mu"].values).all()
    by_mean = np.argsort(mu, axis=1)  # the means are far apart
    w = np.take_along_axis(mixture.responsibilities().mean(axis=1), by_mean, axis=1)
    np.testing.assert_allclose(soft["cluster_weight"].values.reshape(-1, K), w, rtol=1e-9)


def test_other_numbers_of_clusters_than_components() -> None:
    mixture, mu = switched()
    two = pt.cluster_parameters((TRUTH == 2).astype(int), mixture, {"mu": mu})
    assert float(two["mu"].sel(cluster=1).mean()) == pytest.approx(4.0, abs=0.01)
    with pytest.warns(pt.errors.PartitaWarning, match="matched in few draws"):
        four = pt.cluster_parameters(np.where(np.arange(24) == 8, 3, TRUTH), mixture, {"mu": mu})
    assert np.isfinite(four["mu"].sel(cluster=[0, 1, 2])).all()
    assert np.isnan(four["mu"].sel(cluster=3)).all()


def renumbered(order: np.ndarray, by_component: np.ndarray) -> np.ndarray:
    """The components, along the last axis, with those of every draw in an order of its own."""
    at = order.reshape(len(order), *[1] * (by_component.ndim - 2), K)
    return np.take_along_axis(by_component, at, axis=-1)


@pytest.mark.filterwarnings("ignore:Clusters are matched in few draws")
def test_component_numbers_change_no_bit() -> None:
    rng = np.random.default_rng(5)
    m, new = 200, 6
    log_weights = rng.normal(0, 3, (m, Y.size, K)) + switched(m)[0].log_weights
    log_weights[rng.random(log_weights.shape) < 0.05] = -np.inf
    log_weights[..., 0] = np.maximum(log_weights[..., 0], -50)
    mu, later = rng.normal(size=(m, K)), rng.normal(0, 3, (m, new, K))
    order = np.argsort(rng.random((m, K)), axis=1)
    chains = np.repeat([0, 1], m // 2)
    one = pt.MarginalizedMixture(log_weights, chains, seed=3)
    two = pt.MarginalizedMixture(renumbered(order, log_weights), chains, seed=3)
    assert (one.draws.labels == two.draws.labels).all()
    assert (renumbered(order, one.responsibilities()) == two.responsibilities()).all()
    assert (one.similarity.to_dense() == two.similarity.to_dense()).all()
    given = {"mu": mu}, {"mu": renumbered(order, mu)}
    for a, b in ((one, two), (one.draws, two.draws)):
        for method in ("align", "items", "conditional"):
            found = [
                pt.cluster_parameters(TRUTH, draws, params, method=method)
                for draws, params in zip((a, b), given, strict=True)
            ]
            assert found[0].equals(found[1])
        for method in ("align", "items"):
            first = pt.predict_memberships(TRUTH, a, later, method=method)
            second = pt.predict_memberships(TRUTH, b, renumbered(order, later), method=method)
            assert (first == second).all()


def test_it_is_taken_as_draws() -> None:
    mixture, _ = switched()
    assert pt.as_draws(mixture) is mixture.draws
    assert mixture.draws.n_chains == 2
    assert mixture.similarity.shape == (24, 24)
    assert repr(mixture) == "MarginalizedMixture(200 draws of 24 items, 3 components)"
    np.testing.assert_allclose(mixture.responsibilities(slice(5)).sum(axis=2), 1.0)


def test_pymc_log_weights() -> None:
    pm = pytest.importorskip("pymc")
    values = posterior(np.random.default_rng(0))
    with pm.Model(coords={"star": [f"s{i}" for i in range(Y.size)]}) as model:
        w = pm.Dirichlet("w", np.ones(K))
        mu, sigma = pm.Normal("mu", shape=K), pm.HalfNormal("sigma", shape=K)
        pm.NormalMixture("y", w=w, mu=mu, sigma=sigma, observed=Y, dims="star")
    mixture = pt.from_pymc(model, as_tree(values), rng=0)
    np.testing.assert_allclose(mixture.log_weights, by_hand(values), rtol=0, atol=1e-10)
    assert mixture.chains.tolist() == [0] * DRAWS + [1] * DRAWS
    assert mixture.draws.item_names[:2] == ("s0", "s1")


def test_pymc_components_in_a_list_and_weights_of_items() -> None:
    pm = pytest.importorskip("pymc")
    rng = np.random.default_rng(0)
    values = {
        "w": rng.dirichlet(np.ones(2), (CHAINS, DRAWS, Y.size)),
        "mean": rng.normal(size=(CHAINS, DRAWS, 2, 2)),
    }
    with pm.Model() as model:
        w = pm.Dirichlet("w", np.ones(2), shape=(Y.size, 2))
        mean = pm.Normal("mean", shape=(2, 2))
        parts = [pm.MvNormal.dist(mean[k], np.eye(2)) for k in range(2)]
        pm.Mixture("x", w=w, comp_dists=parts, observed=X)
        pm.NormalMixture("y", w=w, mu=mean[:, 0], sigma=1.0, observed=Y)
    mixture = pt.from_pymc(model, as_tree(values), key="x")
    for m, one in enumerate(mixture.log_weights):
        weights = values["w"].reshape(-1, Y.size, 2)[m]
        means = values["mean"].reshape(-1, 2, 2)[m]
        dense = np.column_stack([multivariate_normal.logpdf(X, mu) for mu in means])
        np.testing.assert_allclose(one, np.log(weights) + dense, rtol=0, atol=1e-10)
    with pytest.raises(InvalidValueError, match="`key` must name the mixture.*'x', 'y'"):
        pt.from_pymc(model, as_tree(values))
    with pytest.raises(InvalidValueError, match="must have the posterior of 'mean'"):
        pt.from_pymc(model, as_tree({"w": values["w"]}), key="x")


class Fitted:
    """What of NumPyro's MCMC is used."""

    def __init__(self, values: dict[str, np.ndarray], *args: object) -> None:
        self.values, self._args, self._kwargs = values, args, {}

    def get_samples(self, group_by_chain: bool) -> dict[str, np.ndarray]:
        assert group_by_chain
        return self.values


@pytest.mark.parametrize("is_discrete", [True, False])
def test_numpyro_log_weights(is_discrete: bool) -> None:
    numpyro = pytest.importorskip("numpyro")
    dist = numpyro.distributions
    numpyro.enable_x64()

    def model(y: np.ndarray) -> None:
        w = numpyro.sample("w", dist.Dirichlet(np.ones(K)))
        with numpyro.plate("component", K):
            mu = numpyro.sample("mu", dist.Normal(0, 5))
            sigma = numpyro.sample("sigma", dist.HalfNormal(2))
        with numpyro.plate("item", len(y)):
            if is_discrete:
                z = numpyro.sample("z", dist.Categorical(w), infer={"enumerate": "parallel"})
                numpyro.sample("y", dist.Normal(mu[z], sigma[z]), obs=y)
            else:
                parts = dist.Normal(mu, sigma)
                numpyro.sample("y", dist.MixtureSameFamily(dist.Categorical(w), parts), obs=y)

    values = posterior(np.random.default_rng(0))
    mixture = pt.from_numpyro(model, Fitted(values, Y), rng=0)
    np.testing.assert_allclose(mixture.log_weights, by_hand(values), rtol=0, atol=1e-10)
    with pytest.raises(InvalidValueError, match="`key` must be one of"):
        pt.from_numpyro(model, Fitted(values, Y), key="mu")


def test_numpyro_several_sites_of_an_item() -> None:
    numpyro = pytest.importorskip("numpyro")
    dist = numpyro.distributions
    numpyro.enable_x64()

    def model(x: np.ndarray) -> None:
        w = numpyro.sample("w", dist.Dirichlet(np.ones(K)))
        with numpyro.plate("component", K):
            mu = numpyro.sample("mu", dist.Normal(0, 5).expand([2]).to_event(1))
        with numpyro.plate("item", len(x), dim=-2):
            z = numpyro.sample("z", dist.Categorical(w), infer={"enumerate": "parallel"})
            with numpyro.plate("column", 2, dim=-1):
                numpyro.sample("x", dist.Normal(mu[z[:, 0]], 1.0), obs=x)

    rng = np.random.default_rng(0)
    values = {
        "w": rng.dirichlet(np.ones(K), (CHAINS, DRAWS)),
        "mu": rng.normal(size=(CHAINS, DRAWS, K, 2)),
    }
    mixture = pt.from_numpyro(model, Fitted(values, X), rng=0)
    w, mu = values["w"].reshape(-1, 1, K), values["mu"].reshape(-1, 1, K, 2)
    hand = np.log(w) + norm.logpdf(X[None, :, None, :], mu).sum(axis=-1)
    np.testing.assert_allclose(mixture.log_weights, hand, rtol=0, atol=1e-10)


def test_files_of_cmdstan_are_a_chain_each(tmp_path) -> None:
    """As Stan writes them: components from 1, the first index the quickest, comments around."""
    mixture, mu = switched(40)
    names = [f"mu.{k + 1}" for k in range(K)]
    names += [f"log_w.{n + 1}.{k + 1}" for k in range(K) for n in range(Y.size)]
    for chain in (0, 1):
        rows = [
            np.r_[-1.0, mu[m], mixture.log_weights[m].T.ravel()]
            for m in np.flatnonzero(mixture.chains == chain)
        ]
        lines = [",".join(map(repr, map(float, row))) for row in rows]
        text = ["# stan_version_major = 2", ",".join(["lp__", *names]), "# Adaptation", *lines]
        place = tmp_path / f"out_{9 + chain}.csv"  # 10 comes after 9
        place.write_text("\n".join([*text, "# Elapsed Time: 1 seconds", ""]))
    files = str(tmp_path / "out_*.csv")
    draws = pt.Draws.from_log_weights(files, key="log_w", rng=3)
    assert draws.n_chains == 2
    assert (draws.labels == mixture.draws.labels).all()
    found = pt.cluster_parameters(TRUTH, draws, files)
    wanted = pt.cluster_parameters(TRUTH, mixture.draws, {"mu": mu})
    assert (found["mu"].values == wanted["mu"].values).all()
    similarity = pt.Similarity.from_log_weights(files, key="log_w").to_dense()
    assert (similarity == mixture.similarity.to_dense()).all()
    with pytest.raises(pt.errors.FileError, match="matches no file"):
        pt.Draws.from_log_weights(str(tmp_path / "none_*.csv"), key="log_w")


@pytest.mark.slow
@pytest.mark.filterwarnings("default")  # the sampler's own
def test_pymc_agrees_with_a_model_whose_means_are_ordered() -> None:
    pm = pytest.importorskip("pymc")
    y = np.concatenate([np.random.default_rng(k).normal(5 * k, 0.5, 80) for k in range(3)])
    settings = {"chains": 2, "cores": 1, "random_seed": 1, "progressbar": False}
    posteriors = {}
    for transform in (None, pm.distributions.transforms.ordered):
        with pm.Model() as model:
            w = pm.Dirichlet("w", np.ones(3))
            start = np.array([10.0, 0.0, 5.0]) if transform is None else np.array([0.0, 5.0, 10.0])
            how = {"transform": transform} if transform else {}
            mu = pm.Normal("mu", 5, 10, shape=3, initval=start, **how)
            pm.NormalMixture("y", w=w, mu=mu, sigma=0.5, observed=y)
            posteriors[transform] = pm.sample(1000, **settings)
        if transform is None:
            mixture = pt.from_pymc(model, posteriors[None], rng=0)
    truth = np.repeat([0, 1, 2], 80)
    found = pt.cluster_parameters(truth, mixture, posteriors[None])["mu"].mean(["chain", "draw"])
    ordered = posteriors[transform]["posterior"]["mu"].mean(["chain", "draw"])
    assert np.abs(found.values - ordered.values).max() < 0.02


@pytest.mark.slow
@pytest.mark.filterwarnings("default")  # the sampler's own
def test_numpyro_agrees_with_a_model_whose_means_are_ordered() -> None:
    numpyro = pytest.importorskip("numpyro")
    pytest.importorskip("funsor")
    import jax

    dist = numpyro.distributions
    y = np.concatenate([np.random.default_rng(k).normal(5 * k, 0.5, 80) for k in range(3)])

    def model(y: np.ndarray, is_ordered: bool) -> None:
        w = numpyro.sample("w", dist.Dirichlet(np.ones(3)))
        prior = dist.Normal(5, 10).expand([3]).to_event(1)
        if is_ordered:
            prior = dist.ImproperUniform(dist.constraints.ordered_vector, (), event_shape=(3,))
            mu = numpyro.sample("mu", prior)
            numpyro.factor("prior", dist.Normal(5, 10).log_prob(mu).sum())
        else:
            mu = numpyro.sample("mu", prior)
        with numpyro.plate("item", len(y)):
            z = numpyro.sample("z", dist.Categorical(w), infer={"enumerate": "parallel"})
            numpyro.sample("y", dist.Normal(mu[z], 0.5), obs=y)

    fits = {}
    for is_ordered, start in ((False, [10.0, 0.0, 5.0]), (True, [0.0, 5.0, 10.0])):
        begin = numpyro.infer.init_to_value(values={"mu": np.array(start)})
        kernel = numpyro.infer.NUTS(model, init_strategy=begin)
        fits[is_ordered] = numpyro.infer.MCMC(
            kernel, num_warmup=500, num_samples=1000, num_chains=2, chain_method="sequential",
            progress_bar=False,
        )  # fmt: skip
        fits[is_ordered].run(jax.random.PRNGKey(0), y, is_ordered)
    mixture = pt.from_numpyro(model, fits[False], rng=0)
    truth = np.repeat([0, 1, 2], 80)
    found = pt.cluster_parameters(truth, mixture, fits[False])["mu"].mean(["chain", "draw"])
    assert np.abs(found.values - fits[True].get_samples()["mu"].mean(axis=0)).max() < 0.02
