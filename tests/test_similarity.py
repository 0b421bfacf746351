from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

import naive
import partita as pt
from partita import validate
from partita.errors import OutOfMemoryError


def kinds(draws):
    rows = draws.labels
    one_hot = (rows[:, :, None] == np.arange(rows.max() + 1)).astype(float)
    weights = draws.weights
    return {
        "dense": pt.posterior_similarity(draws),
        "implicit": pt.posterior_similarity(draws, kind="implicit"),
        "responsibilities": pt.Similarity.from_responsibilities(one_hot, weights=weights),
        "wrapped": pt.Similarity(naive.similarity(rows, weights)),
    }


@pytest.fixture(params=[False, True], ids=["plain", "weighted"])
def posterior(request):
    draws = pt.datasets.simulate_draws(37, 23, n_clusters=4, noise=0.3, rng=1)
    weights = np.random.default_rng(0).random(23) if request.param else None
    return pt.Draws(draws.labels, weights=weights)


@pytest.mark.parametrize("kind", ["dense", "implicit", "responsibilities", "wrapped"])
def test_every_backing_is_the_same_operator(kind, posterior):
    similarity = kinds(posterior)[kind]
    expected = naive.similarity(posterior.labels, posterior.weights)
    x = np.random.default_rng(1).normal(size=(37, 3))
    rows, cols = [5, 0, 5, 36], slice(3, 20, 2)
    assert similarity.shape == (37, 37)
    assert_allclose(similarity.to_dense(), expected, atol=1e-14)
    assert_allclose(np.asarray(similarity), expected, atol=1e-14)
    assert_allclose(similarity @ x, expected @ x, atol=1e-12)
    assert_allclose(similarity @ x[:, 0], expected @ x[:, 0], atol=1e-12)
    assert_allclose(similarity.block(rows, cols), expected[rows][:, cols], atol=1e-14)
    assert_allclose(similarity.block(np.arange(37) < 2, 1), expected[:2, 1:2], atol=1e-14)
    assert similarity.diagonal().tolist() == [1.0] * 37
    assert_allclose(similarity.row_sums, expected.sum(1), atol=1e-12)
    assert_allclose(similarity.frobenius2(), (expected**2).sum(), rtol=1e-12)
    labels = posterior.labels[3].astype(int) * 5 - 2
    together = labels[:, None] == labels[None, :]
    assert_allclose(similarity.own_sums(labels), (expected * together).sum(1), atol=1e-12)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("kind", ["dense", "implicit"])
def test_threads_change_nothing(kind, weighted):
    draws = pt.datasets.simulate_draws(3_000, 40, n_clusters=4, noise=0.3, rng=1)
    weights = np.random.default_rng(0).random(40) if weighted else None
    similarity = pt.posterior_similarity(pt.Draws(draws.labels, weights=weights), kind=kind)
    x = np.random.default_rng(1).normal(size=(3_000, 2))
    for found in (
        lambda n_jobs: similarity.own_sums(draws.labels[0], n_jobs=n_jobs),
        lambda n_jobs: similarity.matmul(x, n_jobs=n_jobs),
        lambda n_jobs: similarity.to_dense(n_jobs=n_jobs),
    ):
        np.testing.assert_array_equal(found(1), found(3))


def test_the_sum_of_squares_of_many_items_is_that_of_their_matrix():
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 9, (6, 500))
    draws = pt.Draws(np.concatenate([labels, labels[:1]]), weights=np.arange(1.0, 8.0))
    dense, implicit = (pt.posterior_similarity(draws, kind=kind) for kind in ("dense", "implicit"))
    assert_allclose(implicit.frobenius2(), dense.frobenius2(), rtol=1e-12)


def test_counts_are_exact(draws):
    matrix = pt.posterior_similarity(draws).to_dense()
    counts = np.rint(matrix * draws.n_draws)
    assert np.array_equal(matrix, counts / draws.n_draws)
    assert np.array_equal(matrix, matrix.T)
    assert (np.diagonal(matrix) == 1).all()


@given(
    st.integers(1, 20), st.integers(1, 6), st.integers(1, 5), st.integers(0, 2**31), st.booleans()
)
def test_dense_equals_the_definition(n, m, k, seed, weighted):
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, k, size=(m, n))
    weights = rng.random(m) + 0.01 if weighted else None
    ours = pt.posterior_similarity(pt.Draws(labels, weights=weights)).to_dense()
    assert_allclose(ours, naive.similarity(labels, weights), atol=1e-14)


def test_float32_on_request(draws):
    single = pt.posterior_similarity(draws, dtype=np.float32).to_dense(dtype=np.float32)
    assert single.dtype == np.float32
    assert_allclose(single, pt.posterior_similarity(draws).to_dense(), atol=1e-7)
    with pytest.raises(ValueError, match="`dtype` must be float32 or float64; got int32"):
        pt.posterior_similarity(draws, dtype=np.int32)


@pytest.mark.parametrize("dtype", [np.uint16, np.uint32])
def test_many_clusters_take_a_wider_path(dtype):
    n = 300 if dtype == np.uint16 else 65_600
    labels = np.vstack([np.arange(n), np.arange(n) // 2, np.zeros(n, int)])
    draws = pt.Draws(labels)
    assert draws.labels.dtype == dtype
    items = np.array([0, 1, 2, n - 2, n - 1])
    block = pt.posterior_similarity(draws, kind="implicit").block(items, items)
    assert_allclose(block, naive.similarity(labels[:, items]), atol=1e-15)
    if dtype == np.uint16:
        matrix = pt.posterior_similarity(draws).to_dense()
        assert_allclose(matrix, naive.similarity(labels), atol=1e-15)


def test_the_memory_is_asked_for_many_bytes_alone(monkeypatch):
    monkeypatch.setattr(validate, "FEW_BYTES", 8 * 30**2)
    monkeypatch.setattr(validate, "free_memory", lambda: 100)
    assert pt.posterior_similarity(np.zeros((2, 30), int)).is_dense
    with pytest.raises(OutOfMemoryError, match=r"31 items would take 7\.5 KiB"):
        pt.posterior_similarity(np.zeros((2, 31), int))


def test_a_matrix_beyond_memory_is_refused_with_its_size_and_the_alternative(monkeypatch):
    monkeypatch.setattr(validate, "free_memory", lambda: 10_000)
    draws = pt.Draws(np.zeros((2, 1000), int))
    with pytest.raises(OutOfMemoryError, match=r"7.6 MiB and 9.8 KiB are free.*kind='implicit'"):
        pt.posterior_similarity(draws)
    implicit = pt.posterior_similarity(draws, kind="implicit")
    assert (implicit @ np.ones(1000)).tolist() == [1000.0] * 1000
    best = pt.estimate(draws, loss="binder", search="draws")
    assert best.n_clusters == 1


def test_a_real_matrix_beyond_memory_is_not_attempted():
    draws = pt.Draws(np.zeros((1, 3_000_000), np.uint8))
    with pytest.raises(MemoryError, match="65.5 TiB"):
        pt.posterior_similarity(draws)


@pytest.mark.parametrize(
    ("matrix", "message"),
    [
        (np.ones((2, 3)), r"square, items by items; got shape \(2, 3\)"),
        (np.ones(4), "square"),
        (np.ones((0, 0)), "at least one item"),
        ([[1.0, 0.2], [0.3, 1.0]], r"symmetric; got 0.2 at \(0, 1\) and 0.3 at \(1, 0\)"),
        ([[1.0, 1.5], [1.5, 1.0]], r"in \[0, 1\]; got 1.5 at \(0, 1\)"),
        ([[1.0, -0.5], [-0.5, 1.0]], r"in \[0, 1\]; got -0.5"),
        ([[1.0, np.nan], [np.nan, 1.0]], r"in \[0, 1\]; got nan"),
        ([[0.0, 0.5], [0.5, 0.0]], "1 on its diagonal; got 0 at item 0"),
        ([[400.0, 3.0], [3.0, 400.0]], "Divide counts"),
    ],
)
def test_what_is_not_a_similarity_is_refused(matrix, message):
    with pytest.raises(ValueError, match=message):
        pt.Similarity(matrix)


def test_a_matrix_of_words_is_a_type_error():
    with pytest.raises(TypeError, match="matrix of numbers"):
        pt.Similarity([["a", "b"], ["b", "a"]])


def test_names_come_along():
    frame = pd.DataFrame([[1, 0.5], [0.5, 1]], columns=["x", "y"])
    assert pt.Similarity(frame).item_names == ("x", "y")
    assert pt.Similarity(np.eye(2), item_names=["p", "q"]).item_names == ("p", "q")
    named = pt.Draws([[0, 1]], item_names=["p", "q"])
    assert pt.posterior_similarity(named).item_names == ("p", "q")
    with pytest.raises(ValueError, match="one name for each of the 2 items"):
        pt.Similarity(np.eye(2), item_names=["p"])


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (np.ones((2, 3)), r"shape \(draws, items, clusters\)"),
        (np.full((1, 2, 2), 0.4), "sum to 1"),
        ([[[1.5, -0.5]]], "not negative"),
        ([[[np.nan, 1.0]]], "not NaN"),
    ],
)
def test_what_are_not_responsibilities_is_refused(value, message):
    with pytest.raises(ValueError, match=message):
        pt.Similarity.from_responsibilities(value)


def test_responsibilities_follow_their_formula():
    r = np.random.default_rng(0).dirichlet(np.ones(3), size=(5, 4))
    expected = np.einsum("mik,mjk->ij", r, r) / 5
    np.fill_diagonal(expected, 1.0)
    similarity = pt.Similarity.from_responsibilities(r)
    assert_allclose(similarity.to_dense(), expected, atol=1e-14)
    assert_allclose(similarity.own_sums([0, 0, 1, 1])[0], expected[0, :2].sum(), atol=1e-14)


def test_a_product_of_a_wrong_shape_is_refused(draws):
    with pytest.raises(ValueError, match="must have 60 rows"):
        pt.posterior_similarity(draws) @ np.ones(3)
