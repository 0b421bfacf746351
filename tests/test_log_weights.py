"""Weights of a marginalised mixture: a similarity exact given the draws, and sampled labels."""

import numpy as np
import pytest
import xarray as xr
from scipy.special import softmax
from scipy.stats import chisquare

import partita as pt
from formats_data import ALPHA, LABELS, cmdstan, text
from partita.errors import InvalidTypeError, InvalidValueError

LOGS = np.random.default_rng(1).normal(size=(2, 30, 7, 3)) * 2
FLAT = LOGS.reshape(60, 7, 3)
NAMES = tuple("abcdefg")


def dataset():
    dims = ("chain", "draw", "obs", "cluster")
    return xr.Dataset(
        {"logw": (dims, LOGS), "mu": (dims[:2], LOGS[..., 0, 0])}, {"obs": list(NAMES)}
    )


def exact():
    p = softmax(FLAT, axis=2)
    similarity = np.einsum("mik,mjk->ij", p, p) / 60
    np.fill_diagonal(similarity, 1)
    return similarity


def test_similarity_is_the_mean_of_products():
    given = pt.Similarity.from_log_weights(FLAT)
    assert np.allclose(given.to_dense(), exact(), atol=1e-12)
    assert np.allclose(pt.Similarity.from_log_weights(LOGS + 700).to_dense(), exact(), atol=1e-12)


def test_zero_weights():
    logs = np.where(np.eye(2), 0.0, -np.inf)[None]
    assert pt.Similarity.from_log_weights(logs).to_dense().tolist() == [[1, 0], [0, 1]]
    assert pt.Draws.from_log_weights(logs, rng=0).labels.tolist() == [[0, 1]]


def test_labels_come_with_their_probabilities():
    logs = np.broadcast_to(LOGS[0, 0], (20_000, 7, 3))
    draws = pt.Draws.from_log_weights(np.ascontiguousarray(logs), rng=3)
    starts = np.cumsum(draws.n_clusters) - draws.n_clusters
    labels, p = draws.codes[starts[:, None] + draws.labels], softmax(LOGS[0, 0], axis=1)
    for item in range(7):
        counts = np.bincount(labels[:, item], minlength=3)
        assert chisquare(counts, 20_000 * p[item]).pvalue > 1e-4


def test_sampled_labels_agree_with_the_similarity():
    many = np.concatenate([FLAT] * 200)
    counted = pt.posterior_similarity(pt.Draws.from_log_weights(many, rng=0)).to_dense()
    assert np.abs(counted - exact()).max() < 0.02


def test_chains_and_names_are_kept(tmp_path):
    plain = pt.Draws.from_log_weights(LOGS, rng=0)
    assert plain.chains.tolist() == [0] * 30 + [1] * 30
    data = dataset()
    data.to_netcdf(tmp_path / "a.nc", engine="h5netcdf")
    np.savez(tmp_path / "a.npz", logw=LOGS)
    np.save(tmp_path / "a.npy", LOGS)
    for source in (data, xr.DataTree.from_dict({"posterior": data}), tmp_path / "a.nc"):
        draws = pt.Draws.from_log_weights(source, rng=0)
        assert draws.item_names == NAMES
        assert (draws.labels == plain.labels).all()
        assert pt.Similarity.from_log_weights(source, key="logw").item_names == NAMES
    for source in (tmp_path / "a.npz", tmp_path / "a.npy", {"logw": LOGS, "z": LOGS[..., 0]}):
        assert pt.Draws.from_log_weights(source, rng=0) == plain


def test_a_matrix_of_stan(tmp_path):
    path = text(tmp_path / "a.csv", cmdstan(LABELS, ALPHA))
    similarity = pt.Similarity.from_log_weights(path, key="logp").to_dense()
    together = (LABELS[:, :, None] == LABELS[:, None, :]).astype(float)
    one, other = 0.97**2 + 3 * 0.01**2, 2 * 0.97 * 0.01 + 2 * 0.01**2
    expected = np.where(together, one, other).mean(axis=0)
    np.fill_diagonal(expected, 1)
    assert np.allclose(similarity, expected, atol=1e-5)


def test_losses_on_either():
    similarity = pt.Similarity.from_log_weights(LOGS)
    draws = pt.Draws.from_log_weights(LOGS, rng=0)
    assert pt.estimate(similarity, loss="binder", search="average").expected_loss > 0
    assert pt.estimate(draws, loss="vi", search="average", rng=0).n_clusters >= 1


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (FLAT[0], "the shape"),
        (np.full((1, 2, 2), -np.inf), r"finite for at least one .* \(0, 0\)"),
        (np.array([[[np.nan, 0.0]]]), "never NaN"),
        (np.array([[[np.inf, 0.0]]]), "inf"),
        ({"a": FLAT, "b": FLAT}, r"there are 2 that may be it: 'a' .*, 'b'"),
        ({"a": FLAT[..., 0]}, "there are 0"),
    ],
)
def test_what_is_refused(given, message):
    for make in (pt.Similarity.from_log_weights, pt.Draws.from_log_weights):
        with pytest.raises(InvalidValueError, match=message):
            make(given)


def test_what_is_no_array():
    with pytest.raises(InvalidTypeError, match="array of numbers"):
        pt.Draws.from_log_weights([["x"]])
    with pytest.raises(InvalidValueError, match="left out for an array"):
        pt.Draws.from_log_weights(FLAT, key="a")


def test_a_text_table_is_refused(tmp_path):
    with pytest.raises(InvalidValueError, match="text table"):
        pt.Similarity.from_log_weights(text(tmp_path / "a.csv", "1,2\n1,1\n"))
