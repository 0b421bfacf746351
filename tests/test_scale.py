"""Draws gone over in blocks of items give what the same draws give when they are held."""

from __future__ import annotations

import signal
import time

import numpy as np
import pytest

import partita as pt
from partita import evidence as evidence_module
from partita.draws import _blocks, cluster_sums, contingency, offsets_of, own_sums, spread
from partita.parallel import items as _items
from partita.search import NMF, Greedy, _large


@pytest.fixture(scope="module")
def labels():
    """Two hundred items in five clusters, one draw in ten of every item at random."""
    rng = np.random.default_rng(3)
    planted = np.arange(200) * 5 // 200
    noise = rng.random((60, 200)) < 0.1
    return np.where(noise, rng.integers(0, 5, (60, 200)), planted)


class Held:
    """A store whose blocks are parts of an array."""

    def __init__(self, array):
        self.array, self.shape, self.dtype = array, array.shape, array.dtype

    def read(self, draws, items):
        return self.array[draws, items]


@pytest.fixture
def small(monkeypatch):
    """Everything counts as large, in blocks of few items."""
    monkeypatch.setattr(_items, "_LEAST", 32)
    monkeypatch.setattr(_blocks, "_LARGE", 0)
    monkeypatch.setattr(evidence_module, "LARGE", 100)


@pytest.fixture
def both(labels, small):
    """The same draws in memory, told to be gone over in blocks, and in a store."""
    weights = np.linspace(1, 2, 60)
    return pt.Draws(labels, weights=weights), pt.Draws(Held(labels), weights=weights)


def whole(labels):
    """The same draws without a word of blocks: what to compare with."""
    return pt.Draws(labels, weights=np.linspace(1, 2, 60))


def one_hot(draws):
    rows = np.asarray(draws.labels) + offsets_of(draws)[:-1, None]
    z = np.zeros((draws.n_items, offsets_of(draws)[-1]))
    for row in rows:
        z[np.arange(draws.n_items), row] = 1.0
    return z


def test_sums_over_blocks_are_products_with_the_indicator(both):
    rng = np.random.default_rng(0)
    for draws in both:
        z, x = one_hot(draws), rng.random((draws.n_items, 3))
        weights = np.repeat(draws.probabilities, draws.n_clusters)
        np.testing.assert_allclose(cluster_sums(draws, x, 3), z.T @ x, rtol=1e-12)
        table = rng.random((z.shape[1], 2))
        np.testing.assert_allclose(spread(draws, table), z @ (weights[:, None] * table))
        partition = np.arange(draws.n_items) % 4
        (counts,) = contingency(draws, [partition])
        np.testing.assert_array_equal(counts.table, z.T @ np.eye(4)[partition])
        similarity = (z * weights) @ z.T
        same = partition[:, None] == partition
        np.testing.assert_allclose(own_sums(draws, partition), (similarity * same).sum(axis=1))


@pytest.mark.parametrize("name", sorted(pt.losses.NAMES))
def test_expected_losses_in_blocks_are_those_of_draws_held(both, labels, monkeypatch, name):
    rng = np.random.default_rng(1)
    partitions = np.concatenate([rng.integers(0, 6, (3, 200)), labels[:1]])
    found = [pt.expected_loss(partitions, draws, loss=name) for draws in both]
    np.testing.assert_array_equal(found[0], found[1])
    monkeypatch.setattr(_blocks, "_LARGE", 10**9)
    np.testing.assert_allclose(found[0], pt.expected_loss(partitions, whole(labels), loss=name))


@pytest.mark.parametrize("search", ["auto", "nmf-ls", "average", "medvedovic", "draws"])
def test_a_store_memory_and_threads_give_one_answer(both, search):
    chosen = NMF("ls", ranks=(3, 5), n_init=2, polish=True) if search == "nmf-ls" else search
    first = pt.estimate(both[0], search=chosen, rng=4)
    again = pt.estimate(both[1], search=chosen, rng=4, n_jobs=2)
    np.testing.assert_array_equal(first.labels, again.labels)
    assert first.expected_loss == again.expected_loss
    assert first.info.get("objective") == again.info.get("objective")
    assert "in blocks of 32 items" in again.info["evidence"]
    if search != "draws":
        assert pt.adjusted_rand_index(again.labels, np.arange(200) * 5 // 200) == 1.0


@pytest.mark.parametrize("loss", sorted(set(pt.losses.NAMES) - {"zero-one"}))
def test_rounds_end_at_or_below_where_greedy_moves_end(both, labels, monkeypatch, loss):
    found = pt.estimate(both[1], loss=loss, search=Greedy(), rng=0)
    monkeypatch.setattr(_blocks, "_LARGE", 10**9)
    held = pt.estimate(whole(labels), loss=loss, search=Greedy(), rng=0)
    assert found.expected_loss <= held.expected_loss * 1.01 + 1e-9


def test_polish_never_raises_the_loss_from_any_start(both):
    rng = np.random.default_rng(5)
    for k in (1, 2, 12):
        start = rng.integers(0, k, 200)
        found = pt.estimate(both[1], search=Greedy(starts=(start,)), rng=0)
        assert found.expected_loss <= pt.expected_loss(start, both[1])
        value = pt.expected_loss(found.labels, both[0])
        assert found.expected_loss == pytest.approx(value, rel=1e-12)


def refused_of_many(to_dense):
    def of_few(self, **options):
        assert self.n_items < 200
        return to_dense(self, **options)

    return of_few


@pytest.mark.parametrize("search", ["auto", "greedy", NMF("ls", ranks=(5,), n_init=2, polish=True)])
@pytest.mark.parametrize("loss", ["pear", "vi-lower-bound"])
def test_few_labels_of_many_items_need_no_matrix_for_a_loss_that_is_of_one(
    labels, monkeypatch, search, loss
):
    draws = pt.Draws(labels)
    matrix = pt.posterior_similarity(draws)
    monkeypatch.setattr(evidence_module, "LARGE", 100)
    monkeypatch.setattr(evidence_module, "_DENSE_ITEMS", 100)
    monkeypatch.setattr(_large, "N_LANDMARKS", 60)
    for name in ("target", "representatives", "factorization"):
        monkeypatch.setattr(f"partita.nmf.{name}.MANY", 100)
    monkeypatch.setattr("partita.nmf.representatives.LANDMARKS", 80)
    monkeypatch.setattr(pt.Similarity, "to_dense", refused_of_many(pt.Similarity.to_dense))
    found = pt.estimate(draws, loss=loss, search=search, rng=0)
    assert "never formed" in found.info["evidence"]
    monkeypatch.undo()
    assert found.expected_loss == pytest.approx(pt.expected_loss(found.labels, matrix, loss=loss))
    assert found.expected_loss <= pt.estimate(matrix, loss=loss, rng=0).expected_loss + 0.01


@pytest.fixture
def ctrl_c():
    """Raise the signal itself; a shell that runs the tests in the background has it ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield lambda: signal.raise_signal(signal.SIGINT)
    signal.signal(signal.SIGINT, before)


STAGES = ["at once", "found", "extend", "StreamedState", "settle", "polish"]


@pytest.mark.parametrize("stage", STAGES)
def test_ctrl_c_gives_the_best_so_far_in_every_stage(both, monkeypatch, ctrl_c, stage):
    """In the middle of a pass that an answer needs, it waits for the end of the pass."""
    from partita.search import _problem, _representatives

    def change(place, name, before):
        plain = getattr(place, name)

        def changed(*args, **options):
            monkeypatch.undo()
            monkeypatch.setattr(_blocks, "_LARGE", 0)
            return before(plain, *args, **options)

        monkeypatch.setattr(place, name, changed)

    def at_once(plain, *args, **options):
        ctrl_c()
        return plain(*args, **options)

    def when_found(plain, *args, **options):
        ends = plain(*args, **options)
        ctrl_c()
        return ends

    search = Greedy()
    if stage in ("at once", "found"):
        change(_problem.Problem, "search", at_once if stage == "at once" else when_found)
    elif stage == "polish":
        search = NMF("ls", ranks=(5,), n_init=2, polish=True)
        change(_representatives, "sample", at_once)
    else:
        change(_representatives, stage, at_once)
    with pytest.warns(pt.errors.PartitaWarning, match="interrupted"):
        found = pt.estimate(both[1], search=search, rng=0)
    least = (
        0.6 if stage in ("at once", "found") else 0.9
    )  # a draw, one label in ten of which is noise
    assert pt.adjusted_rand_index(found.labels, np.arange(200) * 5 // 200) > least
    assert found.expected_loss == pytest.approx(pt.expected_loss(found.labels, both[1]), rel=1e-12)


def test_a_second_ctrl_c_does_not_wait(both, monkeypatch, ctrl_c):
    from partita.search import _representatives

    def twice(*_, **__):
        ctrl_c()
        ctrl_c()
        pytest.fail("It went on.")

    monkeypatch.setattr(_representatives, "extend", twice)
    with pytest.raises(KeyboardInterrupt, match="no partition had been found yet"):
        pt.estimate(both[1], search=Greedy(), rng=0)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.fixture
def endless(monkeypatch, ctrl_c):
    """Fits that would go on for ever, in which Ctrl-C comes so many times."""
    from partita.nmf import descent

    plain, calls = descent.descend, []

    def change(times):
        def going_on(*args, **options):
            found = plain(*args, **options)
            calls.append(1)
            if len(calls) == 5:
                for _ in range(times):
                    ctrl_c()  # on a thread perhaps, while it is the main thread's to hear of
            while len(calls) >= 5 and not descent.is_up():
                time.sleep(0.01)
            return found

        monkeypatch.setattr(descent, "descend", going_on)

    return change


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_ctrl_c_ends_restarts_at_their_next_look(labels, endless, n_jobs):
    endless(1)
    search = NMF("ls", ranks=(8, 9), n_init=20)
    with pytest.warns(pt.errors.PartitaWarning, match="interrupted"):
        best = pt.estimate(labels, search=search, rng=0, n_jobs=n_jobs)
    assert best.info["cut_short"]
    assert best.expected_loss == pytest.approx(pt.expected_loss(best.labels, labels))


def test_a_second_ctrl_c_does_not_wait_for_restarts(labels, endless):
    endless(2)  # on this thread: two signals raised on another come to this one as one
    with pytest.raises(KeyboardInterrupt, match="no partition had been found yet"):
        pt.estimate(labels, search=NMF("ls", ranks=(8, 9), n_init=20), rng=0, n_jobs=1)


@pytest.mark.parametrize("model", ["ls", "kl"])
def test_ctrl_c_gives_the_ranks_that_were_done(labels, monkeypatch, model):
    from partita import nmf

    plain = nmf.factorize_ranks

    def one_then_interrupted(*args, **options):
        yield next(plain(*args, **options))
        raise KeyboardInterrupt

    monkeypatch.setattr(nmf, "factorize_ranks", one_then_interrupted)
    with pytest.warns(pt.errors.PartitaWarning, match="nterrupted"):
        found = pt.estimate(labels, search=NMF(model, ranks=(4, 5), n_init=1), rng=0)
    assert [step.rank for step in found.path] == [4]


def test_ctrl_c_gives_the_ranks_that_were_done_where_there_is_a_matrix(labels, monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("partita.search.nmf.polish", interrupted)
    search = NMF("ls", ranks=(4, 5), n_init=1, polish=True)
    with pytest.warns(pt.errors.PartitaWarning, match="interrupted"):
        found = pt.estimate(pt.Draws(labels), search=search, rng=0)
    assert [step.rank for step in found.path] == [4, 5]
    monkeypatch.setattr("partita.nmf.factorize_ranks", interrupted)
    with pytest.raises(KeyboardInterrupt):
        pt.estimate(pt.Draws(labels), search=search, rng=0)


def test_a_matrix_that_does_not_fit_names_what_does(monkeypatch):
    monkeypatch.setattr("partita.validate.free_memory", lambda: 1000)
    similarity = pt.Similarity.from_draws(np.zeros((2, 1_600), dtype=int))
    with pytest.raises(pt.errors.OutOfMemoryError, match=r"1,600 items .*solver=\"fast\""):
        pt.factorize(similarity, model="kl", rank=3, solver="mu")


def test_the_shell_reads_a_store_and_says_so(labels, tmp_path, capsys, monkeypatch):
    from partita.cli import main

    np.save(tmp_path / "a.npy", labels.astype(np.uint8))
    words = ["estimate", str(tmp_path / "a.npy"), "--stored", "--seed", "0"]
    assert main(words) == 0
    said = capsys.readouterr().out
    assert "draws read whole from a store" in said
    assert "12,000 labels being no more than 50,000,000" in said
    monkeypatch.setattr(_blocks, "_LARGE", 0)
    monkeypatch.setattr(evidence_module, "LARGE", 100)
    assert main(words) == 0
    said = capsys.readouterr().out
    assert "in blocks of 200 items; similarity never formed (200 items, more than 100)" in said
    assert main([*words[:2], *words[3:]]) == 0
    assert "draws in memory, in blocks of 200 items" in capsys.readouterr().out


@pytest.mark.parametrize("search", ["nmf-kl", "average", "medvedovic", "greedy"])
def test_few_items_have_their_matrix_however_many_the_draws_and_wherever(
    labels, monkeypatch, search
):
    """Landmarks are for many items; many draws, or a store, are no reason for them."""
    how = NMF("kl", ranks=(4, 5), n_init=2) if search == "nmf-kl" else search
    plain = pt.estimate(pt.Draws(labels), search=how, rng=4)
    assert plain.info["evidence"].startswith("draws in memory; similarity a matrix")
    few = pt.estimate(pt.Draws(Held(labels)), search=how, rng=4)
    assert few.info["evidence"].startswith("draws read whole from a store (Held), 12,000 labels")
    monkeypatch.setattr(_blocks, "_LARGE", 1000)
    many = pt.estimate(pt.Draws(labels), search=how, rng=4)
    kept = pt.estimate(pt.Draws(Held(labels)), search=how, rng=4)
    assert kept.info["evidence"].startswith("draws in a store (Held), in blocks of 200 items; simi")
    for one in (few, many, kept):
        assert "landmarks" not in one.info
        np.testing.assert_array_equal(one.labels, plain.labels)
        assert one.expected_loss == pytest.approx(plain.expected_loss, rel=1e-12)
        assert one.info.get("objective") == plain.info.get("objective")


@pytest.mark.parametrize("loss", ["pear", "vi-lower-bound", "binder"])
def test_losses_on_the_matrix_are_searched_on_it_however_many_the_draws(labels, monkeypatch, loss):
    plain = pt.estimate(pt.Draws(labels), loss=loss, rng=4)
    monkeypatch.setattr(_blocks, "_LARGE", 1000)
    many = pt.estimate(pt.Draws(Held(labels)), loss=loss, rng=4)
    assert "searched_under" not in many.info
    assert many.expected_loss <= plain.expected_loss + 1e-12
    polished = NMF("ls", ranks=(2, 3), n_init=2, polish=True)
    found = pt.estimate(pt.Draws(Held(labels)), loss=loss, search=polished, rng=4)
    assert found.expected_loss <= plain.expected_loss + 1e-12


@pytest.mark.parametrize("weighted", [False, True])
def test_the_matrix_of_draws_that_memory_does_not_hold_is_counted_run_by_run(
    labels, monkeypatch, weighted
):
    from partita.similarity import _implicit

    weights = np.linspace(0, 2, 60) if weighted else None
    expected = pt.posterior_similarity(pt.Draws(labels, weights=weights)).to_dense()
    monkeypatch.setattr(_implicit, "_READ", 1500)
    implicit = pt.Similarity.from_draws(pt.Draws(Held(labels), weights=weights))
    found = implicit._backing.dense(np.float64, 1)
    if weighted:
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-14)
    else:
        np.testing.assert_array_equal(found, expected)


def test_a_store_that_breaks_off_is_an_error_and_no_answer(labels, small):
    class Broken(Held):
        is_broken = False

        def read(self, draws, items):
            if items.start >= 96 and self.is_broken:
                raise pt.errors.FileError("'a.zarr' is truncated or corrupt: chunk 0.3.")
            return super().read(draws, items)

    store = Broken(np.array(labels))
    draws = pt.Draws(store)
    store.is_broken = True
    with pytest.raises(pt.errors.FileError, match=r"corrupt: chunk 0\.3"):
        pt.estimate(draws, rng=0, n_jobs=2)
    store.is_broken = False
    store.array[0, 0] = 9
    with pytest.raises(pt.errors.FileError, match="not those that were there"):
        pt.estimate(draws, rng=0, n_jobs=2)


def test_balls_and_tables_of_items_are_those_of_draws_held(both, labels, monkeypatch):
    center = np.arange(200) * 5 // 200
    balls = [pt.credible_ball(center, draws) for draws in both]
    tables = [pt.item_uncertainty(center, draws) for draws in both]
    monkeypatch.setattr(_blocks, "_LARGE", 10**9)
    ball = pt.credible_ball(center, whole(labels))
    table = pt.item_uncertainty(center, whole(labels))
    for one, other in zip(balls, tables, strict=True):
        assert one.radius == pytest.approx(ball.radius, rel=1e-12)
        np.testing.assert_array_equal(one.horizontal.labels, ball.horizontal.labels)
        for column in ("own_similarity", "probability", "entropy", "expected_vi"):
            np.testing.assert_allclose(other[column], table[column], atol=1e-12)


def test_ctrl_c_before_any_answer_says_what_to_do(labels, monkeypatch):
    from partita.search import _problem

    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(_problem.Problem, "search", interrupted)
    with pytest.raises(KeyboardInterrupt, match=r"no partition had been found .* `time_limit`"):
        pt.estimate(labels, rng=0)


def test_a_dask_array_is_said_to_be_one(labels, small):
    da = pytest.importorskip("dask.array")
    best = pt.estimate(pt.Draws(da.from_array(labels, chunks=(-1, 80))), search="draws")
    assert "a store (an array of Dask)" in best.info["evidence"]


@pytest.mark.parametrize("k", [1, 3, 5, 8])
def test_exactly_as_many_clusters_in_blocks_too(both, k):
    for draws in both:
        assert pt.estimate(draws, n_clusters=k, rng=0).n_clusters == k
