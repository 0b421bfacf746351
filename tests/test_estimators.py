"""The scikit-learn estimators against scikit-learn's own checks."""

import numpy as np
import pytest

import partita as pt

sklearn = pytest.importorskip("sklearn")

from sklearn.base import clone  # noqa: E402
from sklearn.metrics import adjusted_rand_score  # noqa: E402
from sklearn.model_selection import cross_val_score  # noqa: E402
from sklearn.pipeline import make_pipeline  # noqa: E402
from sklearn.preprocessing import FunctionTransformer, StandardScaler  # noqa: E402
from sklearn.utils.estimator_checks import parametrize_with_checks  # noqa: E402

from partita.estimators import (  # noqa: E402
    ConsensusClusterer,
    DPMixture,
    NMFClusterer,
    PartitionEstimator,
)

SMALL = (
    PartitionEstimator(),
    NMFClusterer(ranks=(2, 3), n_init=2),
    DPMixture(n_draws=100, n_burn=100),
    ConsensusClusterer(n_runs=40),
)


def _cannot_apply(estimator):
    if isinstance(estimator, DPMixture | ConsensusClusterer):
        return {}
    why = "it clusters measurements; these estimators take labels or similarities"
    return {"check_clustering": why}


@pytest.mark.filterwarnings("ignore")
@parametrize_with_checks(SMALL, expected_failed_checks=_cannot_apply)
def test_scikit_learns_checks(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def draws():
    return pt.datasets.simulate_draws(40, 150, n_clusters=3, rng=0)


@pytest.mark.parametrize("kind", [PartitionEstimator, NMFClusterer])
def test_labels_are_those_of_estimate(draws, kind):
    fitted = kind(loss="vi", random_state=3).fit(draws.labels.T)
    how = "auto" if kind is PartitionEstimator else "nmf-kl"
    wanted = pt.estimate(draws, loss="vi", search=how, rng=3)
    assert np.array_equal(fitted.labels_, wanted.labels)
    assert fitted.estimate_.expected_loss == wanted.expected_loss
    similarity = pt.posterior_similarity(draws)
    matrix = kind(metric="precomputed", random_state=3).fit(similarity.to_dense())
    wanted = pt.estimate(pt.Similarity(similarity.to_dense()), search=how, rng=3)
    assert np.array_equal(matrix.labels_, wanted.labels)


def test_a_number_of_clusters_and_a_limit_are_those_of_estimate(draws):
    items = draws.labels.T
    fitted = PartitionEstimator(n_clusters=2, random_state=3).fit(items)
    assert fitted.n_clusters_ == 2
    assert np.array_equal(fitted.labels_, pt.estimate(draws, n_clusters=2, rng=3).labels)
    with pytest.warns(pt.errors.PartitaWarning, match="`time_limit` was too short"):
        fitted = PartitionEstimator(time_limit=1e-9, random_state=3).fit(items)
    assert fitted.estimate_.info["cut_short"]


def test_any_numbers_name_clusters(draws):
    named = np.array([-2.0, 7.0, 0.0, 1e6])[draws.labels.T % 4]
    plain = PartitionEstimator(random_state=0).fit(draws.labels.T % 4)
    assert np.array_equal(PartitionEstimator(random_state=0).fit_predict(named), plain.labels_)


def test_memberships_of_new_items(draws):
    items = draws.labels.T
    fitted = NMFClusterer(ranks=[3], random_state=0).fit(items[:-4])
    shares = fitted.transform(items[-4:])
    assert shares.shape == (4, 3)
    assert np.allclose(shares.sum(axis=1), 1)
    # The clusters are runs of neighbours, so the last items belong with most of those before them.
    last = np.bincount(fitted.labels_[-9:]).argmax()
    assert np.array_equal(shares.argmax(axis=1), np.full(4, last))
    again = fitted.transform(items[:-4])
    assert adjusted_rand_score(again.argmax(axis=1), fitted.labels_) > 0.8
    similarity = pt.posterior_similarity(draws).to_dense()
    matrix = NMFClusterer(ranks=[3], random_state=0, metric="precomputed").fit(similarity[:-4, :-4])
    assert np.allclose(matrix.transform(similarity[-4:, :-4]), shares, atol=1e-6)


def test_output_in_a_frame(draws):
    model = NMFClusterer(ranks=[3], random_state=0).set_output(transform="pandas")
    frame = model.fit_transform(draws.labels.T)
    assert list(frame.columns) == ["nmfclusterer0", "nmfclusterer1", "nmfclusterer2"]


def two_groups(rng, n=60):
    return np.concatenate([rng.normal(-4, 1, (n, 2)), rng.normal(4, 1, (n, 2))])


def test_mixture_predicts_new_items():
    rng = np.random.default_rng(0)
    model = DPMixture(n_draws=300, n_burn=300, random_state=0).fit(two_groups(rng))
    new = two_groups(rng, 30)
    shares = model.predict_proba(new)
    assert np.allclose(shares.sum(axis=1), 1)
    assert adjusted_rand_score(np.repeat([0, 1], 30), model.predict(new)) == 1
    # Far from both groups the nearer is the one to join; farther still the wider, in no more doubt.
    assert (
        model.predict([[20.0, 20.0], [-20.0, -20.0]]).tolist()
        == model.predict([[4.0, 4.0], [-4.0, -4.0]]).tolist()
    )
    farthest = model.predict_proba([[1000.0, 1000.0]])
    assert farthest.sum() == pytest.approx(1.0)
    assert farthest.max() > 0.5
    # What was seen is likelier than what was not.
    assert model.score_samples([[4.0, 4.0]])[0] > model.score_samples([[20.0, -20.0]])[0] + 5


def test_cross_validated_pipeline():
    rng = np.random.default_rng(1)
    data = two_groups(rng) * [1.0, 1000.0]
    data = data[rng.permutation(len(data))]
    kinds = {
        covariance: make_pipeline(
            StandardScaler(),
            DPMixture(covariance=covariance, n_draws=150, n_burn=150, random_state=0),
        )
        for covariance in ("full", "spherical")
    }
    scores = {name: cross_val_score(kind, data, cv=3) for name, kind in kinds.items()}
    assert all(np.isfinite(values).all() for values in scores.values())
    # Two round groups: after scaling, one variance is enough.
    assert scores["spherical"].mean() > scores["full"].mean() - 0.1


def test_clone_and_pipeline_keep_the_answer(draws):
    model = make_pipeline(FunctionTransformer(), PartitionEstimator(loss="binder", random_state=0))
    first = model.fit_predict(draws.labels.T)
    assert np.array_equal(clone(model).fit_predict(draws.labels.T), first)


@pytest.mark.parametrize("kind", [PartitionEstimator, NMFClusterer])
def test_weights_of_draws_are_routed_through_a_pipeline(draws, kind):
    # Half of the draws hold one cluster alone; a weight of 0 takes them out.
    one = np.zeros_like(draws.labels)
    items = np.concatenate([draws.labels, one]).T
    weight = np.repeat([1.0, 0.0], draws.n_draws)
    words = {"ranks": [3], "n_init": 2} if kind is NMFClusterer else {}
    plain = kind(random_state=0, **words).fit(draws.labels.T)
    with sklearn.config_context(enable_metadata_routing=True):
        model = kind(random_state=0, **words).set_fit_request(draw_weight=True)
        pipe = make_pipeline(FunctionTransformer(), model)
        pipe.fit(items, draw_weight=weight)
    assert np.array_equal(pipe[-1].labels_, plain.labels_)
    assert pipe[-1].estimate_.expected_loss == pytest.approx(plain.estimate_.expected_loss)
    if kind is NMFClusterer:
        shares = pipe[-1].transform(items[:4])
        assert np.allclose(shares, plain.transform(draws.labels.T[:4]), atol=1e-6)
    with pytest.raises(pt.errors.InvalidValueError, match="draw_weight"):
        kind(metric="precomputed").fit(np.eye(3), draw_weight=[1, 1, 1])


def test_what_is_wrong_is_said():
    with pytest.warns(pt.errors.PartitaWarning, match="measurements go to DPMixture"):
        PartitionEstimator(random_state=0).fit(np.random.default_rng(0).normal(size=(8, 2)))
    with pytest.raises(pt.errors.InvalidValueError, match="square similarity"):
        PartitionEstimator(metric="precomputed").fit(np.ones((3, 2)))
    draws = pt.Draws([[0, 0, 1], [0, 1, 1]])
    with pytest.raises(pt.errors.InvalidTypeError, match=r"got Draws. Pass draws.labels.T, or use"):
        PartitionEstimator().fit(draws)
    with pytest.raises(pt.errors.InvalidTypeError, match="to_dense.*metric='precomputed'"):
        PartitionEstimator(metric="precomputed").fit(pt.posterior_similarity(draws))
    with pytest.raises(pt.errors.InvalidValueError, match="metric"):
        PartitionEstimator(metric="cosine").fit(np.ones((3, 2)))
