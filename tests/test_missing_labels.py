"""Draws that leave items out: what they are, their similarity, and every verb on them."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest

import partita as pt
from partita.errors import InvalidValueError

N_DRAWS, N_ITEMS = 30, 18
RNG = np.random.default_rng(734)
LABELS = pt.datasets.simulate_draws(N_ITEMS, N_DRAWS, n_clusters=3, rng=1).labels.astype(int)
OBSERVED = RNG.random(LABELS.shape) < 0.8
HOLES = np.where(OBSERVED, LABELS, -1)


def naive(labels, observed, weights=None):
    """Co-clustered over co-observed, by a loop over draws and pairs."""
    m, n = labels.shape
    weights = np.ones(m) if weights is None else weights
    together, seen = np.zeros((n, n)), np.zeros((n, n))
    for w, row, there in zip(weights, labels, observed, strict=True):
        for i in range(n):
            for j in range(n):
                if there[i] and there[j]:
                    seen[i, j] += w
                    together[i, j] += w * (row[i] == row[j])
    return together, seen


@pytest.fixture(scope="module")
def holes():
    return pt.Draws(HOLES, missing=-1)


class TestWhatIsMissing:
    FLOATS = np.where(OBSERVED, LABELS, np.nan)
    OBJECTS = np.where(OBSERVED, LABELS.astype(object), None)
    FRAME = pd.DataFrame(OBJECTS, columns=[f"i{k}" for k in range(N_ITEMS)])

    @pytest.mark.parametrize(
        "given",
        [
            FLOATS,
            OBJECTS,
            OBJECTS.tolist(),
            np.ma.masked_array(LABELS, ~OBSERVED),
            FRAME,
            FRAME.astype("Int64"),
            FRAME.astype("category"),
            np.where(OBSERVED, LABELS.astype(str).astype(object), np.nan),
        ],
        ids=["nan", "None", "lists", "masked", "frame", "NA", "categories", "text"],
    )
    def test_every_way_to_say_it(self, given, holes):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            found = pt.as_draws(given, orient="draws")
        assert np.array_equal(found.observed, OBSERVED)
        assert np.array_equal(found.n_clusters, holes.n_clusters)
        assert pt.Draws(found.labels, observed=found.observed) == holes

    def test_labels_are_canonical_among_those_there(self, holes):
        for row, there, own in zip(holes.labels, OBSERVED, LABELS, strict=True):
            assert np.array_equal(row[there], pt.partitions.canonical(own[there]))
        given = np.split(holes.codes, np.cumsum(holes.n_clusters)[:-1])
        for codes, row, there, own in zip(given, holes.labels, OBSERVED, LABELS, strict=True):
            assert np.array_equal(codes[row[there]], own[there])

    def test_the_label_that_is_not_there_means_nothing(self):
        other = np.where(OBSERVED, LABELS, RNG.integers(0, 9, LABELS.shape))
        assert pt.Draws(other, observed=OBSERVED) == pt.Draws(LABELS, observed=OBSERVED)

    def test_noise_may_be_clusters_of_their_own(self):
        found = pt.Draws([[0, 0, -1, -1], [3, -1, 3, 3]], missing=-1, noise="singleton")
        assert found.observed is None
        assert found.labels.tolist() == [[0, 0, 1, 2], [0, 1, 0, 0]]

    def test_none_missing_is_no_mask(self):
        assert pt.Draws(LABELS, observed=np.ones_like(OBSERVED)).observed is None

    def test_what_is_done_with_draws_keeps_it(self, holes, tmp_path):
        both = pt.Draws.concat([holes, pt.Draws(LABELS)])
        assert np.array_equal(both.observed, np.vstack([OBSERVED, np.ones_like(OBSERVED)]))
        assert np.array_equal(holes.take([3, 5]).observed, OBSERVED[[3, 5]])
        assert pt.Draws(np.vstack([HOLES, HOLES]), missing=-1).unique().n_draws <= N_DRAWS
        holes.save(tmp_path / "draws.npz")
        assert pt.read_draws(tmp_path / "draws.npz") == holes

    @pytest.mark.parametrize("write", ["csv", "npy", "parquet", "nc"])
    def test_readers(self, write, holes, tmp_path):
        path, how = tmp_path / f"draws.{write}", {}
        if write == "csv":
            pd.DataFrame(self.FLOATS).astype("Int64").to_csv(path, index=False)
        elif write == "npy":
            np.save(path, self.FLOATS)
        elif write == "parquet":
            pytest.importorskip("pyarrow")
            frame = pd.DataFrame(self.FLOATS, columns=[f"z[{k}]" for k in range(1, N_ITEMS + 1)])
            frame.to_parquet(path)
        else:
            xarray = pytest.importorskip("xarray")
            pytest.importorskip("h5netcdf")
            array = xarray.DataArray(self.FLOATS, dims=("draw", "item"), name="labels")
            array.to_netcdf(path, engine="h5netcdf")
        assert pt.read_draws(path, **how) == holes

    def test_readers_take_a_label_for_missing(self, holes, tmp_path):
        np.savetxt(tmp_path / "draws.csv", HOLES, fmt="%d", delimiter=",")
        assert pt.read_draws(tmp_path / "draws.csv", missing=-1) == holes
        words = pd.DataFrame(np.where(OBSERVED, LABELS.astype(str).astype(object) + "x", "noise"))
        words.to_csv(tmp_path / "words.csv", index=False)
        assert pt.read_draws(tmp_path / "words.csv", missing="noise") == holes
        np.save(tmp_path / "draws.npy", HOLES)
        with pytest.raises(InvalidValueError, match="stored=False"):
            pt.read_draws(tmp_path / "draws.npy", missing=-1, stored=True)

    def test_a_draw_of_nothing_is_refused(self):
        with pytest.raises(InvalidValueError, match="draw 1 has none"):
            pt.Draws([[0, 1], [-1, -1]], missing=-1)


class TestSimilarity:
    @pytest.mark.parametrize("weights", [None, RNG.random(N_DRAWS)], ids=["equal", "weighted"])
    @pytest.mark.parametrize("kind", ["dense", "implicit"])
    def test_is_the_double_loop(self, weights, kind):
        draws = pt.Draws(HOLES, missing=-1, weights=weights)
        together, seen = naive(LABELS, OBSERVED, None if weights is None else draws.probabilities)
        found = pt.posterior_similarity(draws, kind=kind)
        expected = together / seen
        if weights is None:
            assert np.array_equal(found.to_dense(), expected)
        np.testing.assert_allclose(found.to_dense(), expected, atol=1e-12)
        np.testing.assert_allclose(found.observed_together(slice(None), slice(None)), seen)
        x = RNG.random((N_ITEMS, 2))
        np.testing.assert_allclose(found @ x, expected @ x)
        np.testing.assert_allclose(found.row_sums, expected.sum(axis=1))
        np.testing.assert_allclose(found.frobenius2(), (expected**2).sum())
        labels = RNG.integers(0, 4, N_ITEMS)
        own = (expected * (labels[:, None] == labels)).sum(axis=1)
        np.testing.assert_allclose(found.own_sums(labels), own)

    def test_with_one_item_missing_the_others_are_as_ever_to_the_last_bit(self):
        observed = np.ones_like(OBSERVED)
        observed[0, -1] = False
        found = pt.posterior_similarity(pt.Draws(LABELS, observed=observed)).to_dense()
        whole = pt.posterior_similarity(pt.Draws(LABELS)).to_dense()
        assert np.array_equal(found[:-1, :-1], whole[:-1, :-1])

    def test_across_tiles(self):
        labels = RNG.integers(0, 5, (40, 300))
        there = RNG.random(labels.shape) < 0.7
        found = pt.posterior_similarity(pt.Draws(labels, observed=there)).to_dense()
        same = np.einsum("mi,mj->ij", there, there, dtype=float)
        hot = (labels[..., None] == np.arange(5)) & there[..., None]
        agree = np.einsum("mik,mjk->ij", hot, hot, dtype=float)
        np.fill_diagonal(same, agree.diagonal())
        assert np.array_equal(found, agree / same)

    def test_pairs_never_together_must_be_told(self):
        draws = pt.Draws([[0, 0, -1], [-1, 0, 0]], missing=-1)
        with pytest.raises(InvalidValueError, match="items 0 and 2 together.*unobserved="):
            pt.posterior_similarity(draws)
        with pytest.raises(InvalidValueError, match="unobserved="):
            pt.estimate(draws)
        found = pt.posterior_similarity(draws, unobserved=0.25).to_dense()
        assert found.tolist() == [[1, 1, 0.25], [1, 1, 1], [0.25, 1, 1]]


# What each verb does with draws that have missing labels: a call that works on their similarity,
# or None where it needs whole draws and says so.
BEST = LABELS[0]
WORKS = {
    "cluster_uncertainty": lambda data: pt.cluster_uncertainty(BEST, data),
    "compare": lambda data: pt.compare(data, methods=["minvi", "auto-binder"], rng=0).frame.drop(
        columns="seconds"
    ),
    "estimate": lambda data: pd.Series(pt.estimate(data, rng=0).labels),
    "expected_loss": lambda data: pd.Series([pt.expected_loss(BEST, data, loss="pear")]),
    "item_uncertainty": lambda data: pt.item_uncertainty(BEST, data),
}
REFUSES = {
    "align_memberships": lambda data: pt.align_memberships(BEST, data),
    "chips": pt.chips,
    "cluster_parameters": lambda data: pt.cluster_parameters(BEST, data, {}),
    "credible_ball": lambda data: pt.credible_ball(BEST, data),
    "diagnose": pt.diagnose,
    "loss_error": lambda data: pt.loss_error(BEST, data),
    "predict_memberships": lambda data: pt.predict_memberships(BEST, data, np.zeros((1, 3, 2))),
    "sensitivity": pt.sensitivity,
    "stability": lambda data: pt.stability(BEST, data),
    "summarize_modes": pt.summarize_modes,
}
# Those that take no draws, or are tested above or elsewhere with them.
OTHERS = {
    "adjusted_rand_index", "as_draws", "certify", "choose_n_clusters", "consensus", "factorize",
    "from_numpyro", "from_pymc",
    "posterior_n_clusters", "posterior_similarity", "rand_index", "read_draws", "report",
    "sample_mixture", "to_anndata", "variation_of_information",
}  # fmt: skip


class TestEveryVerb:
    def test_none_is_forgotten(self):
        verbs = {
            name
            for name in pt.__all__
            if callable(getattr(pt, name)) and not isinstance(getattr(pt, name), type)
        }
        assert verbs == WORKS.keys() | REFUSES.keys() | OTHERS

    @pytest.mark.parametrize("verb", WORKS)
    def test_uses_the_mask(self, verb, holes):
        together, seen = naive(LABELS, OBSERVED)
        alone = pt.Similarity(together / seen)
        pd.testing.assert_frame_equal(
            pd.DataFrame(WORKS[verb](holes)), pd.DataFrame(WORKS[verb](alone)), check_names=False
        )

    @pytest.mark.parametrize("verb", REFUSES)
    def test_or_refuses(self, verb, holes):
        with pytest.raises(InvalidValueError, match="labels are missing"):
            REFUSES[verb](holes)

    @pytest.mark.parametrize("loss", list(pt.losses.NAMES))
    def test_losses(self, loss, holes):
        if pt.losses.NAMES[loss].needs == "draws":
            with pytest.raises(InvalidValueError, match="labels are missing.*vi-lower-bound"):
                pt.estimate(holes, loss=loss)
        else:
            assert pt.estimate(holes, loss=loss, rng=0).n_clusters >= 1

    def test_default_loss(self, holes):
        assert pt.estimate(holes, rng=0).loss_name == "vi-lower-bound"

    def test_number_of_clusters_counts_those_there(self, holes):
        found = pt.posterior_n_clusters(holes).index
        sizes = {np.unique(row[there]).size for row, there in zip(LABELS, OBSERVED, strict=True)}
        assert set(found) == sizes

    def test_arviz_refuses(self, holes):
        with pytest.raises(InvalidValueError, match="labels are missing"):
            holes.to_arviz()


class TestOrientation:
    FRAME = pd.DataFrame(LABELS.T, index=[f"cell{k}" for k in range(N_ITEMS)])
    MANY = pd.DataFrame(np.tile(LABELS.T, (3, 1)))

    def test_items_in_rows(self):
        frame = self.FRAME.rename(columns=str)
        assert pt.Draws(LABELS.T, orient="items") == pt.Draws(LABELS)
        assert pt.as_draws(LABELS.T.tolist(), orient="items") == pt.Draws(LABELS)
        assert pt.as_draws(frame, orient="items").item_names == tuple(frame.index)

    def test_a_frame_that_looks_like_items_is_asked_about(self):
        named = self.MANY.set_axis([f"c{k}" for k in range(len(self.MANY))])
        for frame in (named, self.MANY.astype("category")):
            with pytest.raises(InvalidValueError, match=r"`orient` must be given.*'items'"):
                pt.as_draws(frame)
            with pytest.raises(InvalidValueError, match=r"`orient` must be given"):
                pt.estimate(frame)
            assert pt.as_draws(frame, orient="items").n_draws == N_DRAWS
            assert pt.as_draws(frame, orient="draws").n_items == N_DRAWS

    def test_others_are_draws(self):
        assert pt.as_draws(self.MANY).n_items == N_DRAWS
        names = pd.MultiIndex.from_product([["chain"], range(len(self.MANY))])
        assert pt.as_draws(self.MANY.set_axis(names)).n_items == N_DRAWS
        stan = pd.DataFrame(LABELS, columns=[f"z[{k + 1}]" for k in range(N_ITEMS)])
        assert pt.as_draws(stan).n_items == N_ITEMS

    def test_a_file_too(self, tmp_path):
        named = self.MANY.set_axis([f"c{k}" for k in range(len(self.MANY))])
        named.to_csv(tmp_path / "runs.csv")
        with pytest.raises(InvalidValueError, match="orient='items'.*--orient items"):
            pt.read_draws(tmp_path / "runs.csv")
        found = pt.read_draws(tmp_path / "runs.csv", orient="items")
        assert (found.n_draws, found.item_names) == (N_DRAWS, tuple(named.index))


@pytest.mark.slow
def test_many_items_never_form_the_matrix():
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 6, 6_000)
    labels = np.where(rng.random((30, 6_000)) < 0.85, truth, rng.integers(0, 6, (30, 6_000)))
    draws = pt.Draws(labels, observed=rng.random(labels.shape) < 0.8)
    similarity = pt.Similarity.from_draws(draws, unobserved=0.0)
    best = pt.estimate(similarity, rng=0)
    assert not similarity.is_dense
    assert pt.adjusted_rand_index(best.labels, truth) > 0.99
