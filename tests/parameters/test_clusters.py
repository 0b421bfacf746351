"""Parameters of reported clusters: right where naive averages are wrong, and equal to theory."""

from itertools import product

import numpy as np
import pytest
import xarray as xr

import partita as pt
from partita.errors import InvalidTypeError, InvalidValueError, PartitaWarning

METHODS = ["align", "items", "conditional"]
TRUTH = np.repeat([0, 1, 2], [20, 12, 8])
MEANS = np.array([[-3.0, 0.0], [0.0, 1.0], [4.0, -2.0]])


def switched(n_draws: int = 300, seed: int = 0, noise: float = 0.02):
    """Draws whose component numbers are permuted at random, and their means."""
    rng = np.random.default_rng(seed)
    number = np.argsort(rng.random((n_draws, 3)), axis=1)  # of each true cluster
    labels = number[:, TRUTH]
    mu = np.empty((n_draws, 3, 2))
    for m in range(n_draws):
        mu[m, number[m]] = MEANS + rng.normal(scale=0.01, size=(3, 2))
    astray = rng.random(labels.shape) < noise
    return np.where(astray, rng.integers(0, 3, labels.shape), labels), mu


@pytest.mark.parametrize("method", METHODS)
def test_right_where_the_naive_average_is_wrong(method: str) -> None:
    labels, mu = switched(noise=0.002)
    naive = mu.mean(axis=0)
    assert np.ptp(naive, axis=0).max() < 0.8  # all components look alike
    found = pt.cluster_parameters(TRUTH, labels, {"mu": mu}, method=method)
    assert np.abs(found["mu"].mean(["chain", "draw"]) - MEANS).max() < 0.03
    assert found["mu"].dims == ("chain", "draw", "cluster", "mu_dim_1")


@pytest.mark.filterwarnings("ignore:Clusters are matched in few draws")
@pytest.mark.parametrize("method", METHODS)
def test_component_numbers_change_nothing(method: str) -> None:
    labels, mu = switched()
    rng = np.random.default_rng(1)
    order = np.argsort(rng.random((len(labels), 3)), axis=1)
    renamed = np.take_along_axis(order, labels, axis=1)
    moved = np.empty_like(mu)
    np.put_along_axis(moved, order[:, :, None].repeat(2, 2), mu, axis=1)
    a = pt.cluster_parameters(TRUTH, labels, {"mu": mu}, method=method)
    b = pt.cluster_parameters(TRUTH, renamed, {"mu": moved}, method=method)
    assert a.equals(b)  # to the last bit


Y, TAU = np.array([-1.0, -0.4, 0.9, 1.3, 2.1]), 2.0
PAIR = np.array([0, 0, 1, 1, 1])


def enumerated():
    """Every z of y_i ~ N(mu_z, 1), mu ~ N(0, TAU²), P(z_i = 1) = 1/2: probabilities and moments."""
    z = np.array(list(product([0, 1], repeat=Y.size)))
    log_p, mean, sd = np.zeros(len(z)), np.zeros((len(z), 2)), np.zeros((len(z), 2))
    for k in (0, 1):
        size, total = (z == k).sum(axis=1), (z == k) @ Y
        sd[:, k] = (size + TAU**-2) ** -0.5
        mean[:, k] = total * sd[:, k] ** 2
        log_p += np.log(sd[:, k]) + 0.5 * (mean[:, k] / sd[:, k]) ** 2
    p = np.exp(log_p - log_p.max())
    return z, p / p.sum(), mean, sd


def closed_forms():
    z, p, mean, _ = enumerated()
    of_items = np.take_along_axis(mean, z, axis=1)
    items = [p @ of_items[:, k == PAIR].mean(axis=1) for k in (0, 1)]
    stands = (z == PAIR).all(axis=1) | (z == 1 - PAIR).all(axis=1)
    given = [(p[stands] @ of_items[stands][:, np.argmax(k == PAIR)]) for k in (0, 1)]
    return np.array(items), np.array(given) / p[stands].sum(), p[stands].sum()


def test_closed_form_with_weights_in_place_of_draws() -> None:
    z, p, mean, _ = enumerated()
    items, given, stands = closed_forms()
    draws = pt.Draws(z, weights=p)
    found = pt.cluster_parameters(PAIR, draws, {"mu": mean}, method="items").summary()
    np.testing.assert_allclose(found.loc["mu", "mean"], items, rtol=1e-12)
    with pytest.warns(PartitaWarning, match="matched in few draws"):
        found = pt.cluster_parameters(PAIR, draws, {"mu": mean}, method="conditional").summary()
    np.testing.assert_allclose(found.loc["mu", "mean"], given, rtol=1e-12)
    np.testing.assert_allclose(found.loc["mu", "matched"], stands, rtol=1e-12)


@pytest.mark.parametrize("method", ["items", "conditional"])
@pytest.mark.filterwarnings("ignore:Clusters are matched in few draws")
def test_closed_form_to_monte_carlo_error(method: str) -> None:
    z, p, mean, sd = enumerated()
    rng = np.random.default_rng(0)
    at = rng.choice(len(z), 40_000, p=p)
    mu = mean[at] + sd[at] * rng.normal(size=(at.size, 2))
    table = pt.cluster_parameters(PAIR, z[at], {"mu": mu}, method=method).summary().loc["mu"]
    exact = closed_forms()[METHODS.index(method) - 1]
    error = table["sd"] / np.sqrt(table["matched"] * at.size)
    assert (np.abs(table["mean"] - exact) < 4 * error).all()


def test_parameters_of_items() -> None:
    labels, mu = switched()
    theta = mu[np.arange(len(mu))[:, None], labels]
    by_item = pt.cluster_parameters(TRUTH, labels, {"theta": theta}, by="item", method="items")
    by_component = pt.cluster_parameters(TRUTH, labels, {"mu": mu}, method="items")
    np.testing.assert_allclose(by_item["theta"].values, by_component["mu"].values, rtol=1e-12)
    with pytest.raises(InvalidValueError, match="'items' or 'conditional' with by='item'"):
        pt.cluster_parameters(TRUTH, labels, {"theta": theta}, by="item")


def test_weights_and_shares() -> None:
    labels = [[0, 0, 1, 1], [1, 1, 1, 0]]
    found = pt.cluster_parameters([0, 0, 1, 1], labels, {"mu": np.zeros((2, 2))})
    assert found["cluster_weight"].values.tolist() == [[[0.5, 0.5], [0.75, 0.25]]]
    assert found["matched_share"].values.tolist() == [[[1.0, 1.0], [1.0, 0.5]]]


def test_what_all_draws_agree_on_has_no_spread() -> None:
    found = pt.cluster_parameters([0, 0, 0, 1, 1], [[0, 0, 0, 1, 1]] * 7, {"mu": [[0.1, 0.7]] * 7})
    table = found.summary()
    assert (table["sd"] == 0).all()
    assert table["mean"].tolist() == [0.1, 0.7, 0.6, 0.4]


def test_a_cluster_that_no_component_stands_for_is_nan_and_named() -> None:
    labels = [[0, 0, 0, 0]] * 3 + [[0, 0, 1, 1]]
    with pytest.warns(PartitaWarning, match="1 in 25%"):
        found = pt.cluster_parameters([0, 0, 1, 1], labels, {"mu": [[1.0, 2.0]] * 4})
    assert np.isnan(found["mu"].values[0, :3, 1]).all()
    assert found.summary().loc[("mu", 1), "matched"] == 0.25


@pytest.mark.filterwarnings("ignore:Clusters are matched in few draws")
def test_chips() -> None:
    draws = [[0, 0, 1, 1], [0, 0, 1, 1], [0, 0, 0, 1], [0, 0, 1, 1]]
    part = pt.chips(draws, prob=0.9, rng=0)
    assert part.labels.tolist() == [0, 0, -1, 1]
    mu = np.array([[1.0, 2.0]] * 4)
    kept = pt.cluster_parameters(part, draws, {"mu": mu}, method="conditional")
    assert kept["cluster"].values.tolist() == [0, 1]
    assert (kept["mu"].values == mu).all()  # it stands in every draw
    whole = pt.cluster_parameters([0, 0, 1, 1], draws, {"mu": mu}, method="conditional")
    assert np.isnan(whole["mu"].values[0, 2]).all()


def test_clusters_go_by_the_names_they_were_given() -> None:
    labels, mu = switched()
    words = np.array(["low", "mid", "high"])[TRUTH]
    found = pt.cluster_parameters(words, labels, {"mu": mu})
    assert found["cluster"].values.tolist() == ["high", "low", "mid"]
    assert abs(float(found["mu"].sel(cluster="high").mean(["chain", "draw"])[0]) - 4) < 0.01


def in_containers(labels, mu):
    by_chain = {"z": labels.reshape(2, -1, 40), "mu": mu.reshape(2, -1, 3, 2)}
    dims = {"z": ("chain", "draw", "item"), "mu": ("chain", "draw", "component", "axis")}
    coords = {"axis": ["x", "y"], "component": ["a", "b", "c"]}
    data = xr.Dataset({k: (dims[k], v) for k, v in by_chain.items()}, coords)
    data["alpha"] = (("chain", "draw"), np.ones((2, len(labels) // 2)))
    return data


class InferenceData(dict):
    """What of ArviZ's class before 1.0 is used: a mapping of groups that can be written."""

    def groups(self) -> list[str]:
        return list(self)

    def to_netcdf(self, path: str) -> None:
        raise NotImplementedError


def test_containers_agree_with_plain_arrays() -> None:
    labels, mu = switched()
    data = in_containers(labels, mu)
    draws = pt.as_draws(data["z"])
    plain = pt.cluster_parameters(TRUTH, draws, {"mu": mu})["mu"].values
    tree = xr.DataTree.from_dict({"posterior": data})
    named = data["z"].copy(data=np.array(["a", "b", "c"])[data["z"].values])
    for given, params in [
        (draws, data), (draws, tree), (draws, InferenceData(posterior=data)),
        (draws, {"mu": data["mu"]}), (draws, data["mu"]),
        (draws, data.transpose("component", ...)), (pt.as_draws(named), data),
        (draws, {"mu": data["mu"].values}),
    ]:  # fmt: skip
        found = pt.cluster_parameters(TRUTH, given, params)
        assert found["mu"].shape == (2, 150, 3, 2)
        assert (found["mu"].values.reshape(plain.shape) == plain).all()
    assert found.summary().index[0] == ("mu[0]", 0)
    assert pt.cluster_parameters(TRUTH, draws, data).summary().index[0] == ("mu[x]", 0)


def test_first_code() -> None:
    labels, mu = switched()
    right = pt.cluster_parameters(TRUTH, labels, {"mu": mu})
    assert right.equals(pt.cluster_parameters(TRUTH, labels + 1, {"mu": mu}, first_code=1))
    numbered = xr.DataArray(mu, dims=("draw", "component", "axis"), coords={"component": [1, 2, 3]})
    by_name = pt.cluster_parameters(TRUTH, labels + 1, {"mu": numbered})
    assert (by_name["mu"].values == right["mu"].values).all()
    with pytest.raises(InvalidValueError, match=r"3 components, 0 to 2; got 3.*first_code=1"):
        pt.cluster_parameters(TRUTH, labels + 1, {"mu": mu})
    padded = np.concatenate([mu, mu[:, :1]], axis=1)
    with pytest.warns(PartitaWarning, match="no draw has a cluster in the first"):
        pt.cluster_parameters(TRUTH, labels + 1, {"mu": padded})


def test_padding_where_the_number_of_components_varies() -> None:
    labels = np.array([[0, 0, 1, 1], [0, 0, 0, 0]])
    mu = np.array([[1.0, 2.0], [1.5, np.nan]])
    found = pt.cluster_parameters([0, 0, 1, 1], labels, {"mu": mu}, method="items")
    assert found["mu"].values.tolist() == [[[1.0, 2.0], [1.5, 1.5]]]


def test_dim() -> None:
    labels, mu = switched()
    swapped = mu.swapaxes(1, 2)
    right = pt.cluster_parameters(TRUTH, labels, {"mu": mu})["mu"].values
    found = pt.cluster_parameters(TRUTH, labels, {"mu": swapped}, dim=1)
    assert (found["mu"].values == right).all()
    data = in_containers(labels, mu)
    data["rate"] = (("chain", "draw", "season"), np.ones((2, 150, 4)))
    draws = pt.as_draws(data["z"])
    with pytest.raises(InvalidValueError, match=r"`dim` must name.*'mu' has 3, 'rate' has 4"):
        pt.cluster_parameters(TRUTH, draws, data)
    found = pt.cluster_parameters(TRUTH, draws, data, dim="component")
    assert "rate" not in found
    assert (found["mu"].values.reshape(right.shape) == right).all()


def test_a_chain_that_ended_early_ends_in_nan() -> None:
    """As an interrupted run leaves it: every draw that was kept counts, and no other."""
    labels, mu = switched()
    draws = pt.Draws(labels[:200], chains=np.repeat([0, 1], [150, 50]))
    found = pt.cluster_parameters(TRUTH, draws, {"mu": mu[:200]})
    assert found["mu"].sizes == {"chain": 2, "draw": 150, "cluster": 3, "mu_dim_1": 2}
    assert np.isnan(found["mu"].values[1, 50:]).all()
    assert np.isfinite(found["mu"].values[1, :50]).all()
    table = found.summary()
    one_chain = pt.cluster_parameters(TRUTH, labels[:200], {"mu": mu[:200]}).summary()
    columns = ["mean", "sd", "hdi_low", "hdi_high", "matched"]
    np.testing.assert_allclose(table[columns], one_chain[columns], rtol=1e-12)
    last = draws.take(np.r_[100:150, 150:200])  # the last of each chain, as diagnose takes them
    even = pt.cluster_parameters(TRUTH, last, {"mu": mu[np.r_[100:200]]}).summary()
    np.testing.assert_allclose(table["rhat"], even["rhat"], rtol=1e-12)
    weighted = pt.Draws(draws.labels, chains=draws.chains, weights=np.arange(1, 201))
    assert (
        pt.cluster_parameters(TRUTH, weighted, {"mu": mu[:200]}).summary()["matched"] == 1
    ).all()


def test_what_is_wrong_is_said_with_lengths() -> None:
    labels, mu = switched()
    draws = pt.Draws(labels, chains=np.repeat([0, 1], 150))
    cases = [
        (draws.thin(2), {"mu": mu}, r"the 150 draws of `draws` first, \(2, 75, ...\).*\(300, 3, 2"),
        (draws, {"mu": mu.reshape(2, -1, 3, 2)[:1]}, r"\(2, 150, ...\) or \(300, ...\).*\(1, 150"),
        (draws, {"mu": mu[:, :2]}, r"2 components, 0 to 1; got 2"),
        (draws, {"mu": mu, "s": mu[:, :2]}, r"'mu' has 3, 's' has 2"),
        (draws, {"mu": mu[:, 0, 0]}, r"must have an axis for the components"),
        (draws, {"matched_share": mu}, r"must not hold 'matched_share'"),
    ]
    for given, params, said in cases:
        with pytest.raises(InvalidValueError, match=said):
            pt.cluster_parameters(TRUTH, given, params)
    with pytest.raises(InvalidValueError, match=r"unique\(\) leaves them"):
        pt.cluster_parameters(TRUTH, draws.unique(), {"mu": mu[: draws.unique().n_draws]})
    with pytest.raises(InvalidTypeError, match="`params` must map names to arrays"):
        pt.cluster_parameters(TRUTH, draws, mu)
    with pytest.raises(InvalidTypeError, match=r"`params\['name'\]` must hold numbers"):
        pt.cluster_parameters(TRUTH, draws, {"name": np.full((300, 3), "a")})
    with pytest.raises(InvalidValueError, match="one label for each of the 40 items; got 3"):
        pt.cluster_parameters([0, 0, 1], draws, {"mu": mu})


def test_summary_is_what_arviz_says() -> None:
    stats = pytest.importorskip("arviz_stats.base").array_stats
    rng = np.random.default_rng(0)
    labels = np.tile(TRUTH, (4000, 1))
    draws = pt.Draws(labels, chains=np.repeat(range(4), 1000))
    mu = rng.gamma(3.0, size=(4000, 3))
    found = pt.cluster_parameters(TRUTH, draws, {"mu": mu})
    table = found.summary(prob=0.9).loc["mu"]
    ours = found["mu"].values
    for k in range(3):
        low, high = stats.hdi(ours[:, :, k].ravel(), 0.9)
        assert (table.loc[k, "hdi_low"], table.loc[k, "hdi_high"]) == (low, high)
        assert table.loc[k, "mean"] == pytest.approx(ours[:, :, k].mean(), rel=1e-12)
        assert table.loc[k, "sd"] == pytest.approx(ours[:, :, k].std(ddof=1), rel=1e-12)
        reference = stats.rhat(ours[:, :, k])
        assert table.loc[k, "rhat"] == pytest.approx(float(reference), abs=1e-6)


def test_parameters_of_our_own_sampler() -> None:
    X = pt.datasets.load_galaxies().data
    draws = pt.sample_mixture(X, n_draws=60, n_burn=60, n_chains=2, rng=0)
    labels = (X[:, 0] > 15).astype(int) + (X[:, 0] > 30)
    params = pt.mixture.component_parameters(draws, X, rng=0)
    found = pt.cluster_parameters(labels, draws, params, method="items")
    assert found["mean"].shape == (2, 60, 3, 1)
    m = 7
    means, _ = params.of_draw(m)
    of_items = means[draws.labels[m]]
    first = of_items[labels == 0].mean()
    assert float(found["mean"].isel(chain=0, draw=m, cluster=0, column=0)) == pytest.approx(first)
