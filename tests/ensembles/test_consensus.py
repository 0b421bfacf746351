"""Many runs of a clusterer as draws, and the number of clusters that they agree on."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("sklearn")

from sklearn.cluster import DBSCAN, AgglomerativeClustering, KMeans
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score

import partita as pt
from partita.errors import InvalidTypeError, InvalidValueError, PartitaWarning

X, TRUTH = make_blobs(120, centers=4, cluster_std=0.4, random_state=0)


@pytest.fixture(scope="module")
def runs():
    return pt.consensus(KMeans(n_init=1), X, n_runs=44, rng=0)


class TestRuns:
    def test_the_same_on_any_number_of_threads(self, runs):
        assert pt.consensus(KMeans(n_init=1), X, n_runs=44, rng=0, n_jobs=1) == runs
        assert pt.consensus(KMeans(n_init=1), X, n_runs=44, rng=0, n_jobs=3) == runs
        assert pt.consensus(KMeans(n_init=1), X, n_runs=44, rng=1) != runs

    def test_sees_a_part_and_varies_what_is_usual(self, runs):
        assert (runs.observed.sum(axis=1) == 96).all()
        asked, counts = np.unique(runs.traces["n_clusters"], return_counts=True)
        assert asked.tolist() == list(range(2, 13))
        assert (counts == 4).all()
        assert np.array_equal(runs.n_clusters, runs.traces["n_clusters"])

    def test_a_run_is_the_clusterer_itself(self):
        found = pt.consensus(AgglomerativeClustering(3), X, n_runs=2, subsample=1, vary={}, rng=0)
        assert found.observed is None
        labels = AgglomerativeClustering(3).fit_predict(X)
        assert all(adjusted_rand_score(labels, row) == 1 for row in found.labels)

    def test_finds_the_clusters(self, runs):
        best = pt.estimate(runs, rng=0)
        assert adjusted_rand_score(TRUTH, best.labels) == 1

    def test_settings_that_are_no_numbers_are_positions(self):
        kinds = ["ward", "average"]
        found = pt.consensus(AgglomerativeClustering(), X, vary={"linkage": kinds}, n_runs=4, rng=0)
        assert sorted(found.traces["linkage"]) == [0, 0, 1, 1]

    def test_a_function_and_documents(self):
        documents = [f"{word} {k}" for word in ("cat", "dog") for k in range(10)]

        def by_word(texts, rng, size):
            assert isinstance(texts, list)
            return [text[:size] for text in texts]

        found = pt.consensus(by_word, documents, vary={"size": [1, 3]}, n_runs=30, rng=0)
        assert pt.estimate(found, rng=0).n_clusters == 2

    def test_a_frame_names_its_items(self):
        frame = pd.DataFrame(X, index=[f"cell{k}" for k in range(len(X))])
        found = pt.consensus(KMeans(2, n_init=1), frame, n_runs=2, rng=0)
        assert found.item_names == tuple(frame.index)

    def test_noise(self):
        lone = np.vstack([X, [[99.0, 99.0]]])
        how = {"n_runs": 3, "subsample": 1, "rng": 0}
        absent = pt.consensus(DBSCAN(), lone, **how)
        assert not absent.observed[:, -1].any()
        alone = pt.consensus(DBSCAN(), lone, noise="singleton", **how)
        assert alone.observed is None
        assert (np.sum(alone.labels == alone.labels[:, -1:], axis=1) == 1).all()

    def test_ctrl_c_keeps_what_is_done(self):
        count = iter(range(100))

        def interrupted(data, rng):
            if next(count) == 5:
                raise KeyboardInterrupt
            return rng.integers(0, 2, len(data))

        with pytest.warns(PartitaWarning, match="5 of 20 are done"):
            found = pt.consensus(interrupted, X, n_runs=20, rng=0, n_jobs=1)
        assert found.n_draws == 5

    def test_ctrl_c_before_the_first(self):
        def interrupted(data, rng):
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            pt.consensus(interrupted, X, n_runs=20, n_jobs=1)

    def test_what_is_wrong(self):
        with pytest.raises(InvalidTypeError, match="`estimator` must be a clusterer"):
            pt.consensus("kmeans", X)
        with pytest.raises(InvalidValueError, match="settings of KMeans; got 'n_cluster'"):
            pt.consensus(KMeans(), X, vary={"n_cluster": [2]})
        with pytest.raises(InvalidTypeError, match="`vary` must map names"):
            pt.consensus(KMeans(), X, vary={"n_clusters": []})
        with pytest.raises(InvalidValueError, match="`subsample`"):
            pt.consensus(KMeans(), X, subsample=1.5)


class TestChoice:
    def test_against_the_definitions(self):
        labels = np.random.default_rng(0).integers(0, 3, (40, 15))
        traces = {"n_clusters": np.repeat([2, 3], 20)}
        table = pt.choose_n_clusters(pt.Draws(labels, traces=traces), rng=0)
        for k, rows in ((2, labels[:20]), (3, labels[20:])):
            values = np.array(
                [(rows[:, i] == rows[:, j]).mean() for i in range(15) for j in range(i)]
            )
            assert table.loc[k, "pac"] == np.mean((values > 0.1) & (values < 0.9))
            levels = np.linspace(0, 1, 200_001)
            cdf = np.searchsorted(np.sort(values), levels, side="right") / values.size
            assert table.loc[k, "area"] == pytest.approx(np.trapezoid(cdf, levels), abs=1e-4)
        growth = table["area"].iloc[1] / table["area"].iloc[0] - 1
        assert table["delta"].iloc[1] == pytest.approx(growth)

    def test_finds_four(self, runs):
        table = pt.choose_n_clusters(runs, rng=0)
        assert table["pac"].idxmin() == 4
        assert table["expected_loss"].idxmin() == 4
        assert (table["n_runs"] == 4).all()

    def test_one_seed_one_table(self, runs):
        one, other = (pt.choose_n_clusters(runs, rng=3, n_jobs=n) for n in (1, 2))
        pd.testing.assert_frame_equal(one, other)

    def test_without_a_trace_the_numbers_that_runs_have(self):
        table = pt.choose_n_clusters([[0, 0, 1], [0, 1, 2], [0, 1, 1]], rng=0)
        assert table["n_runs"].to_dict() == {2: 2, 3: 1}
        assert np.isnan(table.loc[3, "stability"])

    def test_many_items(self):
        labels = np.random.default_rng(0).integers(0, 2, (4, 3_000))
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert pt.choose_n_clusters(labels, n_splits=1, rng=0)["n_runs"].tolist() == [4]


def test_a_similarity_of_few_round_values_is_searched():
    """Rows of ones, halves and zeros differ in few bits, which a hash must not lose."""
    labels = np.random.default_rng(0).integers(0, 5, (2, 200))
    similarity = pt.Similarity(pt.posterior_similarity(labels).to_dense())
    assert pt.estimate(similarity, rng=0).n_clusters >= 5
