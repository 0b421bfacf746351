"""Results as xarray objects, in notebooks and in a line."""

import warnings

import numpy as np
import pytest
import xarray as xr

import partita as pt

NAMES = tuple(f"<{k}>" for k in range(24))


@pytest.fixture(scope="module")
def draws() -> pt.Draws:
    made = pt.datasets.simulate_draws(24, 60, n_clusters=3, noise=0.2, rng=0)
    return pt.Draws(made.labels, chains=np.repeat([0, 1], 30), item_names=NAMES)


@pytest.fixture(scope="module")
def results(draws: pt.Draws) -> dict[str, object]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        best = pt.estimate(draws, search="nmf-kl", rng=0)
        return {
            "Estimate": best,
            "AlignedMemberships": pt.align_memberships(best, draws),
            "CredibleBall": pt.credible_ball(best, draws),
            "Modes": pt.summarize_modes(draws, rng=0),
            "Diagnosis": pt.diagnose(draws),
            "Factorization": pt.factorize(pt.posterior_similarity(draws), rank=3, rng=0),
            "Chips": pt.chips(draws, rng=0),
            "LossError": pt.loss_error(best, draws),
            "Certificate": pt.certify(best.labels, draws),
            "Comparison": pt.compare(draws, methods=["minvi"], rng=0),
            "Draws": draws,
            "Dataset": pt.datasets.load_crabs(),
            "Similarity": pt.posterior_similarity(draws),
            "MarginalizedMixture": pt.MarginalizedMixture(np.zeros((4, 3, 2)), np.zeros(4, int)),
            "Parameters": pt.mixture.component_parameters(
                draws, np.random.default_rng(0).normal(size=(24, 2)), rng=0
            ),
        }


DIMS = {
    "Estimate": {"item", "cluster"},
    "AlignedMemberships": {"item", "cluster"},
    "CredibleBall": {"item", "draw", "bound"},
    "Modes": {"mode", "item", "draw"},
    "Diagnosis": {"quantity"},
    "Factorization": {"item", "factor", "restart"},
}


@pytest.mark.parametrize("name", DIMS)
def test_to_xarray(name: str, results: dict[str, object], tmp_path) -> None:
    found = results[name].to_xarray()
    assert set(found.sizes) == DIMS[name]
    if hasattr(results[name], "labels"):
        assert (found["labels"].values == results[name].labels).all()
    found.to_netcdf(tmp_path / "a.nc", engine="h5netcdf")
    with xr.open_dataset(tmp_path / "a.nc", engine="h5netcdf") as back:
        assert back.equals(found)
        assert back.attrs == found.attrs


def test_memberships_are_by_item_and_cluster(results: dict[str, object]) -> None:
    best = results["Estimate"]
    found = best.to_xarray()
    assert found["item"].values.tolist() == list(NAMES)
    assert (found["memberships"].sel(cluster=1).values == best.memberships[:, 1]).all()
    assert found.attrs["expected_loss"] == best.expected_loss


def test_every_repr_is_short_and_html_is_escaped(results: dict[str, object]) -> None:
    for name, one in results.items():
        assert "array(" not in repr(one)
        assert len(repr(one)) < (4000 if name in ("Diagnosis", "Comparison") else 300)
        html = one._repr_html_()
        assert html.startswith("<")
        assert "<0>" not in html
    assert "&lt;0&gt;" in results["Estimate"]._repr_html_()


@pytest.mark.filterwarnings("ignore:The data type:Warning")  # Zarr's, of any text
@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("suffix", ["nc", "zarr"])
def test_to_arviz_keeps_the_estimate(suffix: str, draws, results, tmp_path) -> None:
    best, path = results["Estimate"], tmp_path / f"fit.{suffix}"
    data = draws.to_arviz(best)
    if suffix == "nc":
        data.to_netcdf(path)
        back = xr.open_datatree(path)
    else:
        groups = {name: data[name] for name in ("posterior", "partita")}  # of either kind
        tree = xr.DataTree.from_dict({k: getattr(v, "dataset", v) for k, v in groups.items()})
        tree.to_zarr(path)
        back = xr.open_datatree(path, engine="zarr", consolidated=False)
    group = back["partita"]
    assert (group["labels"].values == best.labels).all()
    assert (group["memberships"].values == best.memberships).all()
    assert (group["n_clusters"].values.ravel() == draws.n_clusters).all()
    first = np.bincount(draws.labels[0]) / 24
    assert float(group["entropy"][0, 0]) == pytest.approx(-(first * np.log2(first)).sum())
    back.close()
    assert pt.read_draws(path) == draws


@pytest.mark.filterwarnings("ignore")
def test_arviz_takes_the_parameters_as_they_are() -> None:
    az = pytest.importorskip("arviz", reason="comes with PyMC: make bayes")
    rng = np.random.default_rng(0)
    number = np.argsort(rng.random((2, 200, 2)), axis=2)
    z = number[:, :, np.repeat([0, 1], [5, 3])]
    mu = np.where(np.argsort(number, axis=2) == 0, -2.0, 3.0)
    mu += rng.normal(scale=0.01, size=mu.shape)
    found = pt.cluster_parameters(np.repeat([0, 1], [5, 3]), z, {"mu": mu})
    table = az.summary(found, round_to="none", var_names=["mu"])
    ours = found.summary().loc["mu"]
    np.testing.assert_allclose(table["mean"], ours["mean"], rtol=1e-9)
    np.testing.assert_allclose(table["sd"], ours["sd"], rtol=1e-9)
    np.testing.assert_allclose(table["ess_bulk"], ours["ess"], rtol=1e-6)
    np.testing.assert_allclose(table["r_hat"], ours["rhat"], rtol=1e-6)
    az.plot_forest(found)
    az.plot_trace(found)
