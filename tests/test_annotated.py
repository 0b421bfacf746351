"""AnnData by what it offers: a stand-in with the same parts, and the package where there is one."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import partita as pt
from partita.errors import InvalidTypeError, InvalidValueError

LABELS = pt.datasets.simulate_draws(25, 8, n_clusters=3, rng=0).labels


@pytest.fixture(params=["stand-in", "anndata"])
def adata(request):
    obs = pd.DataFrame(
        {f"leiden_{m}": pd.Categorical(row.astype(str)) for m, row in enumerate(LABELS)}
    )
    obs.index = [f"cell{i}" for i in range(25)]
    obs["n_genes"] = np.arange(25.0)
    if request.param == "anndata":
        return pytest.importorskip("anndata").AnnData(np.zeros((25, 2)), obs=obs)
    return SimpleNamespace(obs=obs, obsm={}, obsp={}, uns={})


@pytest.mark.parametrize("keys", ["leiden_", [f"leiden_{m}" for m in range(8)]])
def test_columns_are_draws(adata, keys):
    found = pt.as_draws(adata, keys=keys)
    assert found == pt.Draws(LABELS, item_names=adata.obs.index)


def test_keys_must_be_there(adata):
    with pytest.raises(InvalidValueError, match="`keys` must name the columns.*'leiden_0'"):
        pt.as_draws(adata)
    with pytest.raises(InvalidValueError, match="louvain"):
        pt.as_draws(adata, keys=["louvain"])
    with pytest.raises(InvalidValueError, match="`keys` must be left out"):
        pt.as_draws(LABELS, keys="leiden")


def test_an_estimate_is_written(adata):
    runs = pt.as_draws(adata, keys="leiden_")
    best = pt.estimate(runs, search="nmf-kl", rng=0)
    pt.to_anndata(best, adata, runs, key_added="found", min_similarity=0.5)
    assert adata.obs["found"].astype(int).tolist() == best.labels.tolist()
    assert adata.obs["found"].dtype == "category"
    table = pt.item_uncertainty(best, runs)
    for name in ("own_similarity", "probability", "entropy"):
        assert np.array_equal(adata.obs[f"found_{name}"], table[name], equal_nan=True)
    assert np.array_equal(adata.obsm["found_memberships"], best.memberships)
    assert adata.uns["found"]["loss"] == best.loss_name
    dense = pt.posterior_similarity(runs).to_dense()
    sparse = adata.obsp["found_similarity"].toarray()
    assert np.allclose(sparse, np.where(dense >= 0.5, dense, 0))


def test_what_is_wrong(adata):
    best = pt.estimate([[0, 1]], rng=0)
    with pytest.raises(InvalidValueError, match="25 observations; got 2"):
        pt.to_anndata(best, adata)
    with pytest.raises(InvalidTypeError, match="AnnData"):
        pt.to_anndata(best, {})
