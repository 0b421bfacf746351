from __future__ import annotations

import json
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest
from numpy.testing import assert_allclose

import partita as pt
from partita.errors import FileError
from partita.losses import Combination, RatioLoss
from partita.search import Candidate


@dataclass(frozen=True)
class SquaredClusters:
    """A loss of no family: the squared difference in the number of clusters."""

    needs: ClassVar[str] = "draws"

    def __call__(self, truth, labels):
        return float((len(set(truth)) - len(set(labels))) ** 2)


@dataclass(frozen=True)
class Cubes(RatioLoss):
    """A loss of the ratio family that the package does not know."""

    needs: ClassVar[str] = "draws"

    def cell(self, x):
        return np.asarray(x, dtype=float) ** 3

    @property
    def numerator(self):
        return Combination(t=1, e=1, j=-2)

    @property
    def denominator(self):
        return Combination(w=1)


@dataclass(frozen=True)
class Halves:
    """A search that knows two partitions."""

    def candidates(self, evidence, loss, *, rng, n_jobs):
        n = evidence.n_items
        yield Candidate(np.zeros(n, int))
        yield Candidate(np.arange(n) * 2 // n, info={"cut": "in two"})


def test_a_loss_of_no_family_works_unregistered(draws):
    best = pt.estimate(draws, loss=SquaredClusters(), search=["average", "draws"], rng=0)
    mean = draws.n_clusters.mean()
    expected = ((draws.n_clusters - best.n_clusters) ** 2).mean()
    assert best.n_clusters == round(mean)
    assert_allclose(best.expected_loss, expected)


def test_a_loss_of_the_family_works_unregistered(draws):
    best = pt.estimate(draws, loss=Cubes(), search="average", rng=0)
    rows = draws.labels

    def by_hand(labels):
        def cubes(*parts):
            return (np.unique(np.stack(parts), axis=1, return_counts=True)[1] ** 3.0).sum()

        each = [cubes(r) + cubes(labels) - 2 * cubes(r, labels) for r in rows]
        return np.mean(each) / 60**3

    assert_allclose(best.expected_loss, by_hand(best.labels), rtol=1e-12)
    assert_allclose(
        [s.expected_loss for s in best.path[:5]], [by_hand(s.labels) for s in best.path[:5]]
    )
    assert best.expected_loss == pytest.approx(min(s.expected_loss for s in best.path))


def test_a_search_works_unregistered(draws):
    best = pt.estimate(draws, loss="binder", search=Halves(), rng=0)
    assert best.search == Halves()
    assert best.n_clusters == 2
    assert best.info["cut"] == "in two"
    pooled = pt.estimate(draws, loss="binder", search=[Halves(), "average"], rng=0)
    assert pooled.search_name == "average"
    assert pooled.expected_loss < best.expected_loss


def test_names_and_objects_are_the_same(draws):
    named = pt.estimate(draws, loss="vi", search="average", rng=0)
    built = pt.estimate(draws, loss=pt.losses.VI(a=1), search=pt.search.Linkage("average"), rng=0)
    assert np.array_equal(named.labels, built.labels)
    assert named.loss_name == built.loss_name == "vi"


def test_the_default_pools_linkage_and_draws(draws):
    best = pt.estimate(draws, rng=0)
    for name in ("average", "draws"):
        assert best.expected_loss <= pt.estimate(draws, search=name, rng=0).expected_loss + 1e-12


def test_max_clusters_bounds_linkage_and_its_path(draws):
    best = pt.estimate(draws, search=pt.search.Linkage(max_clusters=2), rng=0)
    assert best.n_clusters <= 2
    assert [step.rank for step in best.path] == [1, 2]


def test_the_path_has_every_rank_with_its_loss(draws):
    best = pt.estimate(draws, loss="omari", search="complete", rng=0)
    assert [step.rank for step in best.path] == list(range(1, 61))
    for step in best.path[::13]:
        assert step.n_clusters == step.rank
        assert_allclose(
            step.expected_loss, pt.expected_loss(step.labels, draws, loss="omari"), atol=1e-12
        )


def test_sampled_can_be_told_to_offer_fewer(draws):
    few = pt.estimate(draws, search=pt.search.Sampled(max_candidates=5), rng=0)
    every = pt.estimate(draws, search="draws", rng=0)
    assert few.expected_loss >= every.expected_loss


@pytest.mark.parametrize(
    "rng", [7, np.random.SeedSequence(7), np.random.SeedSequence(7).spawn(2)[1]]
)
def test_the_recorded_seed_gives_the_estimate_again(rng, draws):
    best = pt.estimate(draws, rng=rng)
    again = pt.estimate(draws, rng=best.seed)
    assert again.seed == best.seed
    assert np.array_equal(again.labels, best.labels)


def test_a_seed_is_recorded_even_when_none_was_given(draws):
    assert pt.estimate(draws).seed != pt.estimate(draws).seed
    generator = np.random.default_rng(1)
    assert pt.estimate(draws, rng=generator).seed != pt.estimate(draws, rng=generator).seed


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ({"loss": "vii"}, r"`loss` must be one of 'binder', 'vi'.*got 'vii'"),
        ({"search": "nearest"}, r"`search` must be one of .*got 'nearest'"),
        ({"method": "minmax"}, r"`method` must be one of 'minbinder'"),
        ({"method": "minvi", "loss": "vi"}, "not both"),
        ({"method": "minvi", "search": "draws"}, "not both"),
        ({"search": []}, "at least one search"),
        ({"rng": -1}, "`rng` must be at least 0"),
        ({"n_jobs": 0}, "`n_jobs` must be at least 1"),
    ],
)
def test_wrong_arguments_are_refused(call, message, draws):
    with pytest.raises(ValueError, match=message):
        pt.estimate(draws, **call)


@pytest.mark.parametrize(
    "call", [{"loss": 3}, {"loss": pt.losses.VI}, {"search": 3}, {"search": pt.search.Sampled}]
)
def test_classes_and_numbers_are_not_losses_or_searches(call, draws):
    with pytest.raises(TypeError, match="must be a name"):
        pt.estimate(draws, **call)


def test_a_loss_that_lacks_its_draws_names_the_alternative(draws):
    bare = pt.Similarity(pt.posterior_similarity(draws).to_dense())
    with pytest.raises(ValueError, match="'vi' needs the posterior draws.*'vi-lower-bound'"):
        pt.estimate(bare, loss="vi")
    with pytest.raises(ValueError, match="needs the posterior draws"):
        pt.estimate(bare, loss="binder", search="draws")
    implicit = pt.posterior_similarity(draws, kind="implicit")
    assert pt.estimate(implicit, loss="vi", search="draws").n_clusters > 1


def test_a_search_that_offers_nothing_or_nonsense_is_an_error(draws):
    class Nothing:
        def candidates(self, evidence, loss, *, rng, n_jobs):
            return iter(())

    class Nonsense:
        def candidates(self, evidence, loss, *, rng, n_jobs):
            yield Candidate(np.zeros(3, int))

    with pytest.raises(ValueError, match="supplied none"):
        pt.estimate(draws, search=Nothing())
    with pytest.raises(TypeError, match="one label for each of the 60 items"):
        pt.estimate(draws, search=Nonsense())


def test_expected_loss_checks_its_labels(draws):
    for bad in ([0, 1], np.zeros((2, 3), int), np.zeros((1, 1, 60), int)):
        with pytest.raises(ValueError, match="one label for each of the 60 items"):
            pt.expected_loss(bad, draws)
    assert pt.expected_loss(np.zeros((0, 60), int), draws).shape == (0,)


def test_save_and_load(draws, tmp_path):
    named = pt.Draws(draws.labels, item_names=[f"item {i}" for i in range(60)])
    best = pt.estimate(named, loss=pt.losses.VI(a=0.5), search="average", rng=2**90)
    best.save(tmp_path / "best.npz")
    back = pt.Estimate.load(tmp_path / "best.npz")
    assert np.array_equal(back.labels, best.labels)
    assert (back.loss, back.search, back.seed) == (best.loss, best.search, best.seed)
    assert back.item_names == best.item_names
    assert back.expected_loss == best.expected_loss
    for ours, theirs in zip(best.path, back.path, strict=True):
        assert ours.rank == theirs.rank
        assert ours.expected_loss == theirs.expected_loss
        assert np.array_equal(ours.labels, theirs.labels)


def test_an_estimate_by_unknown_parts_keeps_their_names(draws, tmp_path):
    best = pt.estimate(draws, loss=SquaredClusters(), search=Halves(), rng=0)
    best.save(tmp_path / "best.npz")
    back = pt.Estimate.load(tmp_path / "best.npz")
    assert back.loss_name == "SquaredClusters()"
    assert back.search_name == "Halves()"


def test_a_file_that_holds_no_estimate_is_refused(draws, tmp_path):
    draws.save(tmp_path / "draws.npz")
    with pytest.raises(OSError, match="does not hold an estimate"):
        pt.Estimate.load(tmp_path / "draws.npz")


@pytest.mark.parametrize(
    "search",
    [
        "auto",
        pt.search.adapted("auto", time_limit=600.0)[0],
        pt.search.Greedy(effort=0.5, starts=("draws", pt.search.Linkage("average"))),
    ],
)
def test_a_search_made_of_others_comes_back(draws, tmp_path, search):
    best = pt.estimate(draws, search=search, rng=0)
    best.save(tmp_path / "best.npz")
    back = pt.Estimate.load(tmp_path / "best.npz")
    assert back.search == best.search
    assert repr(back) == repr(best)


@dataclass(frozen=True)
class Mine:
    """A search of a user's own that holds something."""

    held: object

    def candidates(self, evidence, loss, *, rng, n_jobs):
        yield pt.search.Candidate(np.zeros(evidence.n_items, dtype=np.int64))


@pytest.mark.parametrize(
    "held",
    [[object()], [[1, 2], [3]], np.eye(3), [1j], np.array(["2026-01-01"], "M8[D]"), [None, "a"]],
    ids=["object", "ragged", "matrix", "complex", "date", "mixed"],
)
def test_a_search_that_holds_what_json_does_not_is_saved_as_words(draws, tmp_path, held):
    best = pt.estimate(draws, search=Mine(held), rng=0)
    best.save(tmp_path / "best.npz")
    assert pt.Estimate.load(tmp_path / "best.npz").search == repr(Mine(held))


@pytest.mark.parametrize(
    "labels",
    [[10**400, 1], [2**63], ["x", "y"], [True, False], [[0, 1]], [0.5], [None], "01", 7, {}],
    ids=lambda value: str(value)[:12],
)
def test_labels_of_a_start_that_are_none_are_refused(draws, tmp_path, labels):
    path = tmp_path / "best.npz"
    how = pt.search.Greedy(starts=(draws.labels[0],))
    pt.estimate(draws, search=how, rng=0).save(path)
    with np.load(path) as file:
        arrays = {name: file[name] for name in file.files}
    about = json.loads(str(arrays["about"]))
    about["search"]["fields"]["starts"] = [{"labels": labels}]
    np.savez(path, **{**arrays, "about": np.array(json.dumps(about))})
    with pytest.raises(FileError, match="does not hold an estimate"):
        pt.Estimate.load(path)


@pytest.mark.parametrize("kind", [np.asarray, list, lambda x: np.char.mod("c%d", x).astype("S")])
def test_a_search_that_starts_from_labels_comes_back(draws, tmp_path, kind):
    how = pt.search.Greedy(starts=(kind(draws.labels[0]), pt.search.Linkage("average")))
    best = pt.estimate(draws, search=how, rng=0)
    best.save(tmp_path / "best.npz")
    back = pt.Estimate.load(tmp_path / "best.npz")
    assert repr(back) == repr(best)
    assert back.search.starts[1] == how.starts[1]
    assert pt.losses.VI()(back.search.starts[0], draws.labels[0]) == 0
    assert pt.estimate(draws, search=back.search, rng=0).expected_loss == best.expected_loss


@pytest.fixture(scope="module")
def saved(draws, tmp_path_factory):
    """The arrays of an estimate with memberships and a path."""
    path = tmp_path_factory.mktemp("saved") / "best.npz"
    search = pt.search.NMF("ls", ranks=(2, 3), n_init=1)
    pt.estimate(draws, loss="binder", search=search, rng=0).save(path)
    with np.load(path) as file:
        return {name: file[name] for name in file.files}


ONES = np.ones((3, 2))
WRONG = {
    "rows of memberships": {"memberships": ONES},
    "columns of memberships": {"memberships": np.ones((60, 1))},
    "a vector of memberships": {"memberships": np.ones(60)},
    "text for memberships": {"memberships": np.full((60, 3), "x")},
    "labels far apart": {"labels": np.arange(60) * 10**12},
    "negative labels": {"labels": np.arange(60) - 3},
    "no labels": {"labels": np.zeros(0, np.int64)},
    "labels of draws": {"labels": np.zeros((2, 60), np.int64)},
    "floats for labels": {"labels": np.zeros(60)},
    "too few names": {"item_names": np.array(["a"])},
    "numbers for names": {"item_names": np.arange(60)},
    "history": {"history": np.zeros(7)},
    "labels of a step": {"path/0/labels": np.zeros(3, np.int64)},
    "far labels of a step": {"path/0/labels": np.full(60, 10**12)},
    "memberships of a step": {"path/1/memberships": ONES},
    "restarts": {"path/1/restart_labels": np.zeros(3)},
    "about": {"about": np.array("[]")},
    "deep about": {"about": np.array("[" * 10**5)},
    "about in bytes": {"about": np.zeros(9, "S3")},
}


@pytest.mark.parametrize("wrong", WRONG)
def test_a_saved_estimate_that_does_not_fit_together_is_refused(saved, tmp_path, wrong):
    np.savez(tmp_path / "best.npz", **{**saved, **WRONG[wrong]})
    with pytest.raises(FileError, match="does not hold an estimate that partita saved"):
        pt.Estimate.load(tmp_path / "best.npz")


@pytest.mark.parametrize("field", ["expected_loss", "loss", "search", "path", "info", "seed"])
def test_what_is_said_about_an_estimate_is_checked(saved, tmp_path, field):
    about = json.loads(str(saved["about"]))
    for value in (None, "x", [1], {"class": "VI", "fields": [3]}, [{"rank": "x"}]):
        np.savez(tmp_path / "best.npz", **{**saved, "about": json.dumps({**about, field: value})})
        with pytest.raises(FileError, match="does not hold an estimate"):
            pt.Estimate.load(tmp_path / "best.npz")


def test_a_frame_has_a_row_an_item(draws):
    frame = pt.estimate(draws, method="minvi").to_frame()
    assert frame.shape == (60, 1)
    assert frame.index.name == "item"


def test_a_loss_that_is_not_finite_is_refused(draws):
    class Broken:
        needs = "draws"

        def __call__(self, truth, labels):
            return float("nan")

    with pytest.raises(ValueError, match="`loss` must be finite"):
        pt.estimate(draws.take(slice(0, 3)), loss=Broken(), search="draws")


@pytest.mark.parametrize("kind", ["dense", "implicit"])
def test_a_similarity_of_draws_brings_them_along(kind, draws):
    psm = pt.posterior_similarity(draws, kind=kind)
    assert pt.estimate(psm).loss_name == "vi-lower-bound"
    expected = pt.estimate(draws, loss="vi", search="draws").expected_loss
    assert pt.estimate(psm, loss="vi", search="draws").expected_loss == expected
